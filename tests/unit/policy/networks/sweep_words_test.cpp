// What --against-host says of what a node daemon left is what the sweep of a start does.
#include "client_plan_fixture.hpp"

#include <functional>
#include <set>
#include <string>
#include <vector>

namespace pvc::policy {
namespace {

constexpr std::string_view of_record =
    "if its network is gone by then: would remove, each as the record of node daemons has it: ";

// vmbr400 with vlan400, as a daemon leaves them, but for what is told.
struct swept_row {
    std::string_view what;
    std::vector<std::string> said;
    bool goes = false;
    std::function<void(toy_kernel&)> more{};
    std::set<std::string, std::less<>> named{};
    bool is_recorded = false;
};

void give_address(toy_kernel& kernel) {
    kernel.add_address("vmbr400", "192.0.2.10/24");
}

void add_machine(toy_kernel& kernel) {
    kernel.add(link_named("vnet0", "tun"));
    kernel.apply(model::set_master{"vnet0", "vmbr400"});
}

void stand_upon(toy_kernel& kernel) {
    auto upper = link_named("vlan400.10", "vlan");
    upper.vlan_id = 10;
    upper.lower = kernel.link("vlan400").index;
    kernel.add(upper);
}

std::vector<swept_row> swept_rows() {
    return {
        {.what = "as a node daemon left it",
         .said = {"if no client network has such a number: would remove, as left by a node daemon: vmbr400, vlan400"},
         .goes = true},
        {.what = "on record: whether its network is there a running daemon knows",
         .said = {std::string(of_record) + "vmbr400, vlan400"},
         .goes = true,
         .is_recorded = true},
        {.what = "on record, and somebody made use of it",
         .said = {std::string(of_record) + "vmbr400, vlan400",
                  "what would go with these links: vmbr400 has routes that lead over it; vlan400 has a traffic filter"},
         .goes = true,
         .more =
             [](toy_kernel& kernel) {
                 kernel.add_route("vmbr400", {.is = {.to = *parse_host_address("198.51.100.0/24")}});
                 kernel.edit("vlan400").has_traffic_filter = true;
             },
         .is_recorded = true},
        {.what = "on record, and the host's files name the bridge since",
         .said = {"if network 400 is gone: left alone for now: the network configuration of this host names vmbr400, "
                  "which a node daemon made: its links stay"},
         .named = {"vmbr400"},
         .is_recorded = true},
        {.what = "the host's files name the bridge",
         .said = {"left alone, though a client network may want its name: vmbr400 (the network configuration of this "
                  "host names it)"},
         .named = {"vmbr400"}},
        {.what = "somebody gave it an address",
         .said = {"left alone, unless a client network has its number: vmbr400 (it has 192.0.2.10/24)"},
         .more = give_address},
        {.what = "on record, and somebody gave it an address",
         .said = {"if network 400 is gone: left alone for now: vmbr400 has 192.0.2.10/24, which somebody gave to it: "
                  "its links stay until that is gone"},
         .more = give_address,
         .is_recorded = true},
        {.what = "a machine is in it",
         .said = {"if network 400 is gone: left alone for now: vnet0 uses its links: they stay"},
         .more = add_machine},
        {.what = "something stands on its base, and it is on record",
         .said = {"if network 400 is gone: left alone for now: vlan400.10 uses its links: they stay"},
         .more = stand_upon,
         .is_recorded = true},
    };
}

TEST(sweep_words, each_reason_in_words_and_in_steps) {
    const auto config = config_of(client_words());
    for (const auto& one : swept_rows()) {
        auto kernel = host_of(config);
        settle(kernel, bridged(400), config);
        own_bridges own;
        whose_links whose{{}, one.named};
        if (one.is_recorded) {
            own[400] = {kernel.link("vmbr400").index, false};
            whose.bases["vlan400"] = {kernel.link("vlan400").index, true};
        }
        if (one.more) {
            one.more(kernel);
        }
        EXPECT_EQ(describe_sweep(config, kernel.state(), own, whose, true), one.said) << one.what;
        carry_out(kernel, plan_sweep({}, config, kernel.state(), own, whose));
        EXPECT_EQ(kernel.has("vmbr400"), !one.goes) << one.what;
        EXPECT_EQ(kernel.has("vlan400"), !one.goes) << one.what;
    }
}

// The keeper begins no sweep then.
TEST(sweep_words, nothing_is_promised_as_long_as_the_hosts_names_are_not_known) {
    const auto config = config_of(client_words());
    auto kernel = host_of(config);
    settle(kernel, bridged(400), config);
    EXPECT_EQ(describe_sweep(config, kernel.state(), {}, {}, false),
              std::vector<std::string>{"left by a node daemon, and left alone as long as what this host's own "
                                       "configuration names is not known: vmbr400, vlan400"});
}

}  // namespace
}  // namespace pvc::policy
