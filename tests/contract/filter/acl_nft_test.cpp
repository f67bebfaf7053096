// networking.md 7.3, 7.4: an ACL means here what it means to the nft program. What is accepted nft accepts, with the
// same expressions; what nft refuses is refused; what it accepts besides is given to it. It loads nothing: nft prints
// what it would send.
#include "contract/filter/acl_texts.hpp"
#include "contract/filter/meaning.hpp"
#include "contract/filter/nft_program.hpp"
#include "pvcnoded/policy/networks/acl.hpp"

#include <gtest/gtest.h>

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
