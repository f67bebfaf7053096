// networking.md 7.3, 7.4: an ACL means here what it means to the nft program. What is accepted nft accepts, with the
// same expressions; what nft refuses is refused; what it accepts besides is given to it. It loads nothing: nft prints
// what it would send.
#include "contract/filter/acl_texts.hpp"
#include "contract/filter/meaning.hpp"
#include "contract/filter/nft_program.hpp"
#include "pvcnoded/policy/networks/acl.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace pvc::contract {
namespace {

nft_answer ask_nft(const std::string& acl) {
    return nft_check("add table inet filter\nadd chain inet filter x\nadd rule inet filter x counter " + acl + "\n");
}

std::vector<model::filter_expression> whole(const policy::parsed_acl& acl) {
    auto all = acl.ahead;
    all.emplace_back(model::count_packet{});
    all.insert(all.end(), acl.body.begin(), acl.body.end());
    return all;
}

// docs/firewall.md: a protocol that was one of several is not taken for the last of them.
bool is_ambiguous(const policy::parsed_acl& ours) {
    return ours.problem.find("conflicts with a choice of several") != std::string::npos;
}

void expect_agreement(const std::string& text) {
    const auto ours = policy::parse_acl(text);
    const auto nft = ask_nft(text);
    EXPECT_TRUE(nft.is_accepted || !ours.is_accepted()) << text << "\nis refused by nft: " << nft.output;
    EXPECT_TRUE(!nft.is_accepted || ours.is_accepted() || ours.is_beyond || is_ambiguous(ours))
        << text << "\nis never given to nft, which accepts it: " << ours.problem;
    if (ours.is_accepted() && nft.is_accepted) {
        EXPECT_EQ(meaning_of(whole(ours)), meaning_of_nft(nft.output)) << text << "\n" << nft.output;
    }
}

// An address of Ethernet with the family that a verdict needs: nft asks for both before it counts. One of several
// families: nft answers in the words of the last one, ours in words for either.
bool is_otherwise_in_nft(const std::string& text) {
    const auto has = [&](const char* words) { return text.find(words) != std::string::npos; };
    return has("reject") && (has("ether") || has("nfproto {") || has("nfproto == {"));
}

class acl_and_nft : public testing::Test {
protected:
    void SetUp() override {
        if (!has_nft()) {
            GTEST_SKIP() << "no nft program, or no network namespaces here";
        }
    }
};

TEST_F(acl_and_nft, what_is_accepted_means_the_same) {
    for (const auto& text : accepted_acls()) {
        const auto ours = policy::parse_acl(text);
        EXPECT_TRUE(ours.is_accepted()) << text << "\n" << ours.problem;
        const auto nft = ask_nft(text);
        EXPECT_TRUE(nft.is_accepted) << text << "\n" << nft.output;
        EXPECT_EQ(meaning_of(whole(ours)), meaning_of_nft(nft.output)) << text << "\n" << nft.output;
    }
}

TEST_F(acl_and_nft, what_nft_refuses_is_refused) {
    for (const auto& text : refused_acls()) {
        EXPECT_FALSE(policy::parse_acl(text).is_accepted()) << text;
        EXPECT_FALSE(ask_nft(text).is_accepted) << text;
    }
}

TEST_F(acl_and_nft, what_nft_alone_knows_is_given_to_it) {
    for (const auto& text : beyond_acls()) {
        const auto ours = policy::parse_acl(text);
        EXPECT_TRUE(ours.is_beyond) << text << "\n" << ours.problem;
        const auto nft = ask_nft(text);
        EXPECT_TRUE(nft.is_accepted) << text << "\n" << nft.output;
    }
}

// Names of the files that nft asks, aliases too: "ssh", "www". Not those of protocols that no byte holds (mptcp, 262:
// nft takes it for 6, which is TCP; it is refused here).
std::set<std::string> names_of_file(const std::string& path) {
    std::set<std::string> names;
    std::ifstream in(path);
    for (std::string line; std::getline(in, line);) {
        std::istringstream words(line.substr(0, line.find('#')));
        std::string name;
        std::string number;
        constexpr int largest = 255;
        const bool is_there = static_cast<bool>(words >> name >> number);
        if (is_there && (number.find('/') != std::string::npos || std::stoi(number) <= largest)) {
            names.insert(name);
            while (words >> name) {
                names.insert(name);
            }
        }
    }
    return names;
}

// One answer for all of them, an entry for each that nft takes.
void expect_same_names(const std::string& before, std::set<std::string> names,
                       const std::vector<std::string_view>& ours) {
    names.insert(ours.begin(), ours.end());
    const auto text_of = [&](const std::string& name) { return before + name + " accept"; };
    for (int round = 0; round < 2; ++round) {
        std::string all = "add table inet filter\nadd chain inet filter x\n";
        for (const auto& name : names) {
            all += "add rule inet filter x counter " + text_of(name) + "\n";
        }
        const auto nft = nft_check(all);
        // Those that nft has no number for, and words of its grammar.
        const auto refused = std::erase_if(names, [&](const std::string& name) {
            return nft.output.find("add rule inet filter x counter " + text_of(name) + "\n") != std::string::npos &&
                   !policy::parse_acl(text_of(name)).is_accepted();
        });
        if (refused > 0) {
            continue;
        }
        ASSERT_TRUE(nft.is_accepted) << nft.output;
        std::istringstream rules(nft.output);
        std::string rule;
        auto name = names.begin();
        std::string part;
        const auto compare = [&] {
            if (!rule.empty()) {
                ASSERT_NE(name, names.end());
                const auto parsed = policy::parse_acl(text_of(*name));
                EXPECT_TRUE(parsed.is_accepted()) << *name << ": " << parsed.problem;
                EXPECT_EQ(meaning_of(whole(parsed)), meaning_of_nft(rule)) << *name << "\n" << rule;
                ++name;
            }
            rule.clear();
        };
        while (std::getline(rules, part)) {
            if (part.empty()) {
                compare();
            } else {
                rule += part + "\n";
            }
        }
        compare();
        EXPECT_EQ(name, names.end());
        return;
    }
    FAIL() << "nft refuses names that are taken here";
}

TEST_F(acl_and_nft, names_of_ports_mean_the_same) {
    expect_same_names("tcp dport ", names_of_file("/etc/services"), policy::names_of_services());
}

TEST_F(acl_and_nft, names_of_protocols_mean_the_same) {
    expect_same_names("meta l4proto ", names_of_file("/etc/protocols"), policy::names_of_protocols());
}

TEST_F(acl_and_nft, whatever_is_put_together_of_the_words_of_the_grammar) {
    int accepted = 0;
    acl_writer writer(20251);
    for (int i = 0; i < 250; ++i) {
        const auto text = writer.next();
        if (is_otherwise_in_nft(text)) {
            continue;
        }
        accepted += policy::parse_acl(text).is_accepted() ? 1 : 0;
        expect_agreement(text);
    }
    EXPECT_GT(accepted, 50);
}

}  // namespace
}  // namespace pvc::contract
