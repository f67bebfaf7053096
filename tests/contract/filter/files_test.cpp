// networking.md 7.2: the nft program takes the files as they are written, replaces this one table with them, and means
// by each rule what is loaded into the kernel (cases 41 to 45, 48 to 50, 52).
#include "contract/filter/meaning.hpp"
#include "contract/filter/nft_program.hpp"
#include "pvcnoded/policy/networks/firewall.hpp"

#include <gtest/gtest.h>

#include <unistd.h>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

namespace pvc::contract {
namespace {

namespace fs = std::filesystem;
using model::client_network;

client_network network_of(std::uint32_t vni) {
    client_network network;
    network.vni = vni;
    network.ip4.network = parse_host_address("10.1.1.0/24").value();
    network.ip4.gateway = parse_address("10.1.1.1").value();
    network.ip6.network = parse_host_address("fd00:1::/64").value();
    network.ip6.gateway = parse_address("fd00:1::1").value();
    return network;
}

std::vector<client_network> networks_with_acls() {
    auto first = network_of(1001);
    first.acls_in = {{"ssh", "tcp dport 22 ct state new accept"},
                     {"web", "ip saddr { 10.0.0.1, 10.0.1.0/24 } tcp dport { 80, 443 } accept"},
                     {"bad", "tcp dport nosuch accept"},
                     {"evil\"; add table ip evil", "accept; add table ip evil"},
                     {"empty", ""},
                     {"ping", "icmp type echo-request limit rate 5/second accept comment \"a;b\""},
                     {"rest", "log prefix \"dropped #1; \" level info drop"}};
    first.acls_out = {{"reset", "ip6 daddr fd00::/16 reject with tcp reset"}};
    return {first, network_of(10000)};
}

// The folder as the daemon has it.
class files_and_nft : public testing::Test {
protected:
    void SetUp() override {
        if (!has_nft()) {
            GTEST_SKIP() << "no nft program, or no network namespaces here";
        }
        fs::create_directories(folder_ / "nft/static");
        fs::create_directories(folder_ / "nft/networks");
    }
    void TearDown() override { fs::remove_all(folder_); }

    void write(const policy::wanted_filter& wanted) {
        std::ofstream(folder_ / "nft/base.nft") << policy::base_file(folder_.string());
        for (const auto& file : wanted.files) {
            std::ofstream(folder_ / "nft/networks" / file.name) << file.text;
        }
    }
    [[nodiscard]] std::string load_it() const { return "include \"" + (folder_ / "nft/base.nft").string() + "\"\n"; }

    fs::path folder_ = fs::temp_directory_path() / ("filter-files-" + std::to_string(getpid()));
};

TEST_F(files_and_nft, case_41_without_networks) {
    write(policy::firewall_of({}, {}));
    const auto listed = nft_load_and_list(load_it());
    EXPECT_TRUE(listed.is_accepted);
    EXPECT_EQ(listed.output,
              "table inet filter {\n"
              "\tchain forward {\n\t\ttype filter hook forward priority filter; policy accept;\n\t}\n\n"
              "\tchain input {\n\t\ttype filter hook input priority filter; policy accept;\n\t}\n"
              "}\n");
}

TEST_F(files_and_nft, each_rule_means_what_is_loaded) {
    const auto networks = networks_with_acls();
    const auto wanted = policy::firewall_of(networks, {});
    EXPECT_EQ(wanted.refused.size(), 2U);
    std::map<std::string, std::size_t> at;
    std::string chains = "add table inet filter\nadd chain inet filter forward\nadd chain inet filter input\n";
    for (const auto& file : wanted.files) {
        std::istringstream in(file.text);
        for (std::string line; std::getline(in, line);) {
            if (line.starts_with("add chain ")) {
                chains += line + "\n";
            }
            if (!line.starts_with("add rule ")) {
                continue;
            }
            std::istringstream words(line);
            std::string chain;
            for (int i = 0; i < 5; ++i) {
                words >> chain;
            }
            const auto found = std::ranges::find(wanted.chains, chain, &policy::wanted_chain::name);
            ASSERT_NE(found, wanted.chains.end()) << line;
            const auto& rule = found->rules.at(at[chain]++).rule;
            const auto nft = nft_check(chains + line + "\n");
            EXPECT_TRUE(nft.is_accepted) << line << nft.output;
            EXPECT_EQ(meaning_of(rule.expressions), meaning_of_nft(nft.output)) << line;
        }
    }
    for (const auto& chain : wanted.chains) {
        EXPECT_EQ(at[chain.name], chain.rules.size());
    }
}

TEST_F(files_and_nft, cases_42_to_45_48_49_52_all_of_it_is_taken) {
    write(policy::firewall_of(networks_with_acls(), {}));
    const auto listed = nft_load_and_list(load_it());
    EXPECT_TRUE(listed.is_accepted) << listed.output;
    for (const auto* line :
         {"ip protocol icmp iifname \"vmbr1001\" counter packets 0 bytes 0 accept",
          "ip6 daddr fd00:1::/64 counter packets 0 bytes 0 jump vxlan10000-in",
          "counter packets 0 bytes 0 tcp dport 22 ct state new accept",
          "counter packets 0 bytes 0 ip saddr { 10.0.0.1, 10.0.1.0/24 } tcp dport { 80, 443 } accept",
          "counter packets 0 bytes 0 log prefix \"dropped #1; \" level info drop"}) {
        EXPECT_NE(listed.output.find(line), std::string::npos) << line << "\n" << listed.output;
    }
    EXPECT_EQ(listed.output.find("evil"), std::string::npos);
    EXPECT_LT(listed.output.find("vmbr10000"), listed.output.find("vmbr1001\""));
}

TEST_F(files_and_nft, case_50_tables_of_others_stay_and_loading_it_twice_is_the_same) {
    write(policy::firewall_of(networks_with_acls(), {}));
    const auto once = nft_load_and_list(load_it());
    const std::string other = "add table ip other\nadd chain ip other x\nadd rule ip other x counter\n";
    const auto twice = nft_load_and_list(other + load_it() + load_it());
    EXPECT_TRUE(twice.is_accepted) << twice.output;
    EXPECT_EQ(once.output, twice.output);
    // If all tables were flushed, there would be no chain.
    EXPECT_TRUE(nft_load_and_list(other + load_it() + "flush chain ip other x\n").is_accepted);
}

}  // namespace
}  // namespace pvc::contract
