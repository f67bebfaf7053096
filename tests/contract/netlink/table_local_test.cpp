// Of which addresses the real kernel takes packets (table local), and which rules name devices (networking.md 3.1).
#include "contract/netlink/real_network.hpp"

#include <algorithm>

namespace pvc::contract {
namespace {

using namespace model;

class kernel_table_local : public network_suite<real_network> {
protected:
    // "10.0.0.1/24 fd00::1/64": of which none are taken; but for those of the link.
    awaitable<std::string> untaken() {
        const auto seen = co_await look();
        std::string text;
        for (const auto& one : seen.addresses()) {
            if (!one.is_taken && one.is_global()) {
                text += (text.empty() ? "" : " ") + one.address.text();
            }
        }
        co_return text;
    }
};

TEST_F(kernel_table_local, addresses_of_both_families) {
    bench.run([this]() -> awaitable<void> {
        co_await plug_in_up("eth0");
        EXPECT_TRUE(co_await becomes_running("eth0", true));
        const add_address v4{"eth0", at("10.0.0.1/24")};
        const add_address v6{"eth0", at("fd00::1/64")};
        co_await done(v4);
        co_await done(v6);
        // One that nobody is sure of yet is none of them.
        ip_command("address add fd00::2/64 dev eth0");
        auto all = co_await untaken();
        EXPECT_EQ(all, "");
        ip_command("address del fd00::2/64 dev eth0");
        ip_command("route flush table local");
        ip_command("-6 route flush table local");
        all = co_await untaken();
        EXPECT_EQ(all, "10.0.0.1/24") << "the other one is new: its route may be yet to come";
        co_await async::sleep_for(bench.clock(), 4s, "an address that is not new");
        all = co_await untaken();
        EXPECT_EQ(all, "10.0.0.1/24 fd00::1/64");
        // By whomever it is: the address takes its packets, and a second such route there cannot be.
        ip_command("route add local 10.0.0.1 dev eth0 table local");
        all = co_await untaken();
        EXPECT_EQ(all, "fd00::1/64");
        ip_command("route del local 10.0.0.1 dev eth0 table local");
        const network_route local{.to = at("10.0.0.1/32"),
                                  .source = address("10.0.0.1"),
                                  .scope = host_scope,
                                  .protocol = 2,
                                  .is_local = true};
        co_await done(add_route{local, "eth0", local_table});
        co_await done(remove_address{"eth0", v6.address});
        co_await done(v6);
        all = co_await untaken();
        EXPECT_EQ(all, "");
        EXPECT_NE(ip_output("-6 route show table local dev eth0").find("fd00::1"), std::string::npos);
        co_await done(remove_address{"eth0", v4.address});
        co_await done(remove_address{"eth0", v6.address});
        EXPECT_EQ(ip_output("route show table local dev eth0"), "");
        EXPECT_EQ(ip_output("-6 route show table local dev eth0").find("fd00::1"), std::string::npos);
    });
}

// Its own question comes back to it, as if another machine had the address.
TEST_F(kernel_table_local, an_address_that_another_machine_answered_for_is_not_taken) {
    bench.run([this]() -> awaitable<void> {
        co_await plug_in_up("eth0");
        for (const auto* words : {"link add mirror type bridge mcast_snooping 0", "link set mirror up"}) {
            ip_command(words);
        }
        ip_command("link set " + bench.far_end("eth0") + " master mirror");
        ip_command("link set " + bench.far_end("eth0") + " type bridge_slave hairpin on");
        EXPECT_TRUE(co_await becomes_running("eth0", true));
        co_await done(set_sysctl{"net/ipv6/conf/all/enhanced_dad", "0"});
        co_await done(set_sysctl{"net/ipv6/conf/eth0/enhanced_dad", "0"});
        ip_command("address add fd00::9/64 dev eth0");
        std::string all;
        for (int times = 0; times < 100 && all.empty(); ++times) {
            co_await async::sleep_for(bench.clock(), 100ms, "the kernel's question");
            all = co_await untaken();
        }
        EXPECT_EQ(all, "fd00::9/64");
        EXPECT_NE(ip_output("-6 address show dev eth0").find("dadfailed"), std::string::npos);
        co_await done(remove_address{"eth0", at("fd00::9/64")});
        co_await done(add_address{"eth0", at("fd00::9/64")});
        all = co_await untaken();
        EXPECT_EQ(all, "") << "the daemon's own are not asked for";
    });
}

// Of its route nobody is told when that is made, or missing; a look that comes too early looks once more.
TEST_F(kernel_table_local, a_new_address_of_ipv6_is_looked_at_again_when_it_can_be_judged) {
    bench.run([this]() -> awaitable<void> {
        async::wakeup changed;
        const auto watch = bench.stack().watch(changed);
        co_await plug_in_up("eth0");
        co_await becomes_running("eth0", true);
        co_await done(add_address{"eth0", at("fd00::1/64")});
        const auto is_taken = [this]() -> awaitable<bool> {
            const auto seen = co_await look();
            const auto there = seen.addresses_of(seen.find("eth0")->index);
            const auto one = std::ranges::find(there, at("fd00::1/64"), &link_address::address);
            co_return one != there.end() && one->is_taken;
        };
        ip_command("-6 route del local fd00::1 table local");
        co_await quiet(changed);
        const bool at_first = co_await is_taken();
        EXPECT_TRUE(at_first) << "it is new";
        const auto begun = bench.clock().now();
        bool is_seen = false;
        while (!is_seen && bench.clock().now() < begun + 8s &&
               co_await changed.wait_until(bench.clock(), begun + 8s, "another look")) {
            is_seen = !co_await is_taken();
        }
        EXPECT_TRUE(is_seen);
    });
}

TEST_F(kernel_table_local, rules_that_name_devices) {
    bench.run([this]() -> awaitable<void> {
        ip_command("rule add iif eth0 lookup 100 pref 77");
        ip_command("rule add from 10.0.0.1 oif eth1 lookup 1000 pref 78");
        ip_command("rule add from 10.0.0.1 lookup 100 pref 79");
        ip_command("-6 rule add iif eth0 lookup 7 pref 80");
        ip_command("rule add not iif eth0 lookup 100 pref 81");
        const auto rules = co_await bench.stack().device_rules(soon());
        ASSERT_CO_TRUE(rules);
        EXPECT_EQ(*rules, (std::vector<netlink::device_rule>{{"eth0", "ip rule 77 (iif eth0, table 100)"},
                                                             {"eth1", "ip rule 78 (oif eth1, table 1000)"},
                                                             {"eth0", "ip rule 81 (not iif eth0, table 100)"},
                                                             {"eth0", "ip -6 rule 80 (iif eth0, table 7)"}}));
    });
}

TEST_F(kernel_table_local, rules_of_packet_filters_that_name_devices) {
    bench.run([this]() -> awaitable<void> {
        co_await plug_in_up("eth0");
        EXPECT_EQ(
            std::system(
                "nft 'table inet fw { chain c { iifname eth0 tcp dport 22 accept; iif eth0 drop; oifname != "
                "\"eth0\" oifname \"eth*\" drop; iifname vmbr7 drop; tcp dport 9 drop; }; }; table ip6 six { chain "
                "d { oif eth0 accept; }; }; table bridge b { chain e { iifname eth0 accept; }; }'"),
            0);
        const auto rules = co_await bench.stack().device_rules(soon());
        ASSERT_CO_TRUE(rules);
        std::vector<std::string> of_card;
        for (const auto& one : *rules) {
            if (one.device == "eth0") {
                of_card.push_back(one.text);
            }
        }
        std::ranges::sort(of_card);
        EXPECT_EQ(of_card, (std::vector<std::string>{
                               "iif eth0 in chain c of table inet fw", "iifname eth0 in chain c of table inet fw",
                               "oif eth0 in chain d of table ip6 six", "oifname != eth0 in chain c of table inet fw"}));
    });
}

}  // namespace
}  // namespace pvc::contract
