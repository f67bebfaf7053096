// networking.md 3.1: a daemon that is killed while what a device has goes to its bridge has lost nothing: wherever that
// was, the next one ends where this one would have.
#include "host_plan_fixture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace pvc::policy {
namespace {

struct host_under_way {
    toy_kernel kernel;
    host_ports ports{};
};

std::vector<model::network_change> all_steps(const host_plan& plan) {
    std::vector<model::network_change> all;
    for (const auto& unit : plan.units) {
        all.insert(all.end(), unit.steps.begin(), unit.steps.end());
    }
    return all;
}

// One look of a daemon: what it notes before, and so many of its steps. How many it had.
std::size_t go_on(host_under_way& host, const config::node_config& config, std::size_t most = 1000) {
    const auto seen = host.kernel.state();
    host.ports = ports_after_look(host.ports, config, seen);
    const auto steps = all_steps(plan_host(config, seen, host.ports));
    host.ports = with_ports_of(std::move(host.ports), steps, seen);
    for (std::size_t at = 0; at < std::min(most, steps.size()); ++at) {
        EXPECT_EQ(host.kernel.apply(steps[at]), "") << to_text(steps[at]);
    }
    return steps.size();
}

void end(host_under_way& host, const config::node_config& config) {
    for (int look = 0; go_on(host, config) != 0; ++look) {
        ASSERT_LT(look, 10) << "it never ends";
    }
}

// "10.0.0.2/24 on brcluster", "route 10.9.0.0/16 via 10.0.0.250 (…) on brcluster", "eth0 in brcluster"
std::multiset<std::string> picture(const toy_kernel& kernel) {
    std::multiset<std::string> all;
    const auto state = kernel.state();
    for (const auto& link : state.links()) {
        all.insert(fmt::format("{} in {}", link.name, state.name_of(link.master)));
    }
    for (const auto& one : state.addresses()) {
        all.insert(fmt::format(
            "{} on {}",
            to_text(model::add_address{
                .device = {}, .address = one.address, .scope = one.scope, .peer = one.peer, .settings = one.settings}),
            state.name_of(one.link)));
    }
    for (const auto& one : state.link_routes()) {
        all.insert(fmt::format("{} of table {} on {}", to_text(one.is), one.table, state.name_of(one.link)));
    }
    for (const auto& one : state.neighbours()) {
        all.insert(fmt::format("neighbour {} on {}", to_text(one.is), state.name_of(one.link)));
    }
    for (const auto& one : state.connected_routes()) {
        all.insert(fmt::format("network {} metric {} on {}", one.network.text(), one.metric, state.name_of(one.link)));
    }
    return all;
}

// What is on both is there as a move left it, or by a DHCP client, which knows of the device alone and renews its lease
// there.
TEST(renewed_leases, the_bridge_has_a_lease_for_as_long_as_the_device) {
    const auto config = config_of(network_words::all_on("eth0"));
    const auto lease = [](std::uint32_t valid, const std::string& text) {
        return model::link_address{
            .address = *parse_host_address(text), .is_permanent = valid == model::forever, .lifetime = {valid, valid}};
    };
    struct ends {
        std::string address;
        std::uint32_t on_bridge;
        std::uint32_t on_device;
        std::uint32_t after;
    };
    for (const auto& row :
         {ends{"10.0.0.77/24", 20, 600, 600}, ends{"10.0.0.77/24", 600, 20, 20},
          ends{"10.0.0.77/24", 20, model::forever, model::forever}, ends{"10.0.0.77/24", model::forever, 600, 600},
          // Of no network of the bridge: only what stays goes along.
          ends{"fd77::77/64", 20, model::forever, model::forever}}) {
        host_under_way host{bare_host({"eth0"})};
        end(host, config);
        host.kernel.add_address("brcluster", lease(row.on_bridge, row.address));
        host.kernel.add_address("eth0", lease(row.on_device, row.address));
        const auto left = [&](const std::string& device) {
            const auto state = host.kernel.state();
            const auto all = state.addresses_of(host.kernel.link(device).index);
            const auto found = std::ranges::find_if(
                all, [&](const model::link_address& one) { return one.address.text() == row.address; });
            return found == all.end() ? 0U : found->lifetime.valid;
        };
        go_on(host, config, 1);  // and killed
        EXPECT_EQ(left("brcluster"), row.after) << row.address << " while the device has it";
        EXPECT_EQ(left("eth0"), row.on_device) << row.address;
        end(host, config);
        EXPECT_EQ(left("eth0"), 0U) << row.address;
        EXPECT_EQ(left("brcluster"), row.after) << row.address << ' ' << row.on_bridge << ' ' << row.on_device;
    }
}

// Killed after each step, and once more after some of the next one's.
void expect_one_end(const host_under_way& fresh, const config::node_config& config) {
    auto unhurt = fresh;
    end(unhurt, config);
    const auto expected = picture(unhurt.kernel);
    auto counted = fresh;
    const auto steps = go_on(counted, config);
    constexpr std::size_t every = 5;
    for (std::size_t first = 0; first <= steps; ++first) {
        auto killed = fresh;
        go_on(killed, config, first);
        auto once = killed;
        end(once, config);
        ASSERT_EQ(picture(once.kernel), expected) << "killed after step " << first;
        auto rest = killed;
        const auto more = go_on(rest, config);
        for (std::size_t second = first % every; second <= more; second += every) {
            auto twice = killed;
            go_on(twice, config, second);
            end(twice, config);
            ASSERT_EQ(picture(twice.kernel), expected) << "killed after steps " << first << " and " << second;
        }
    }
}

model::network_route way(const std::string& to, const std::string& gateway = "", std::uint32_t metric = 0) {
    return {.to = *parse_host_address(to),
            .gateway = gateway.empty() ? std::nullopt : std::optional(*parse_address(gateway)),
            .metric = metric};
}

// As people have them: by addresses of the bridge's network and of others, with far ends, on-link, of two families.
toy_kernel host_with_all(const std::string& device) {
    auto kernel = bare_host({"eth0", "eth1", "eth2"});
    for (const auto* name : {"eth0", "eth1", "eth2"}) {
        kernel.apply(model::set_up{name});
    }
    for (const auto* one : {"10.0.0.9/24", "10.0.0.2/24", "192.168.5.7/24", "203.0.113.7/32", "fd55::7/64"}) {
        kernel.add_address(device, one);
    }
    kernel.add_address_with_peer(device, "198.51.100.7/32", "198.51.100.1");
    kernel.add_address(device,
                       {.address = *parse_host_address("10.88.0.8/24"), .settings = {.flags = model::no_prefix_route}});
    // The second one of each has no route of its own, or one beside.
    for (const auto* one : {"10.44.0.18/24", "fd44::14/64"}) {
        kernel.add_address(device,
                           {.address = *parse_host_address(one), .settings = {.flags = model::no_prefix_route}});
    }
    kernel.add_address(device, "10.44.0.19/24");
    kernel.add_address(device, "fd44::13/64");
    auto beside = way("10.44.0.0/24", "", 100);
    beside.protocol = 2;
    beside.source = *parse_address("10.44.0.18");
    beside.scope = model::link_scope;
    auto beside_too = beside;
    beside_too.source = *parse_address("10.44.0.19");
    auto beside_six = way("fd44::/64", "", 100);
    beside_six.protocol = 2;
    auto made = way("10.88.0.0/24", "", 425);
    made.protocol = 2;
    made.source = *parse_address("10.88.0.8");
    made.scope = model::link_scope;
    auto claimed = way("0.0.0.0/0", "203.0.113.1");
    claimed.is_onlink = true;
    auto several = way("10.94.0.0/16");
    several.ways = {{.gateway = *parse_address("10.0.0.250")}, {.gateway = *parse_address("10.0.0.251")}};
    for (const auto& one :
         {way("192.0.2.1/32"), way("10.77.0.0/16", "192.0.2.1"), way("10.78.0.0/16", "10.0.0.250", 7),
          way("10.78.0.0/16", "10.0.0.251", 7), way("10.79.0.0/16", "198.51.100.1"), claimed, made, several, beside,
          beside_too, beside_six, way("10.45.0.0/16", "10.44.0.1"), way("fd99::/64", "", 100),
          way("::/0", "fd55::250", 1024), way("fd77::/48", "fd99::1", 5)}) {
        kernel.add_route(device, {.is = one});
    }
    kernel.add_route(device, {.is = way("0.0.0.0/0", "10.0.0.250"), .table = 100});
    kernel.apply(
        model::add_neighbour{device, {.address = *parse_address("10.0.0.77"), .hardware = {2, 0, 0, 0, 0, 1}}});
    kernel.apply(model::add_neighbour{device, {.address = *parse_address("10.0.0.78"), .is_proxy = true}});
    kernel.apply(model::add_neighbour{device, {.address = *parse_address("fd55::78"), .is_proxy = true}});
    return kernel;
}

network_words three_devices() {
    network_words words;
    words.cluster_mtu = words.storage_mtu = 1500;
    return words;
}

TEST(killed_moves, all_that_a_device_had_is_on_its_bridge_wherever_a_daemon_was_killed) {
    const host_under_way fresh{host_with_all("eth0")};
    auto words = network_words::all_on("eth0");
    words.cluster_mtu = words.storage_mtu = 1500;
    for (const auto* gateway : {"None", "10.0.2.1"}) {
        words.gateway = gateway;
        expect_one_end(fresh, config_of(words));
    }
    auto unhurt = fresh;
    end(unhurt, config_of(three_devices()));
    const auto seen = unhurt.kernel.state();
    const auto before = fresh.kernel.state();
    EXPECT_EQ(std::ranges::count(seen.link_routes(), unhurt.kernel.link("brcluster").index, &model::link_route::link),
              static_cast<std::ptrdiff_t>(before.link_routes().size()));
    expect_one_end(fresh, config_of(three_devices()));
}

TEST(killed_moves, a_host_whose_devices_are_other_ones_by_now) {
    // The bridge before had other things, too.
    const auto before = config_of(three_devices());
    host_under_way host{host_with_all("eth0")};
    end(host, before);
    auto words = three_devices();
    words.cluster_device = "eth1";
    words.storage_device = "eth0";
    expect_one_end(host, config_of(words));
    words.storage_device = "eth1";
    expect_one_end(host, config_of(words));
}

// What a step in the middle would have lost, had all gone before it came.
TEST(killed_moves, nothing_is_ever_nowhere) {
    const auto config = config_of(three_devices());
    host_under_way host{host_with_all("eth0")};
    const auto before = host.kernel.state();
    const auto steps = all_steps(plan_host(config, before));
    for (const auto& step : steps) {
        ASSERT_EQ(host.kernel.apply(step), "") << to_text(step);
        const auto seen = host.kernel.state();
        for (const auto& was : before.link_routes()) {
            EXPECT_TRUE(std::ranges::any_of(
                seen.link_routes(),
                [&](const model::link_route& one) { return one.is.is_like(was.is) && one.table == was.table; }))
                << to_text(was.is) << " is nowhere after: " << to_text(step);
        }
        for (const auto& was : before.addresses()) {
            EXPECT_TRUE(std::ranges::any_of(
                seen.addresses(),
                [&](const model::link_address& one) { return one.address == was.address && one.peer == was.peer; }))
                << was.address.text() << " is nowhere after: " << to_text(step);
        }
        for (const auto& was : before.neighbours()) {
            EXPECT_NE(std::ranges::find(seen.neighbours(), was.is, &model::link_neighbour::is), seen.neighbours().end())
                << to_text(was.is) << " is nowhere after: " << to_text(step);
        }
    }
}

// One that another host has there by now is not overwritten.
TEST(killed_moves, neighbours_that_somebody_entered_go_along) {
    const auto config = config_of(three_devices());
    host_under_way host{host_with_all("eth0")};
    end(host, config);
    const auto seen = host.kernel.state();
    ASSERT_EQ(seen.neighbours().size(), 3U);
    for (const auto& one : seen.neighbours()) {
        EXPECT_EQ(seen.name_of(one.link), "brcluster") << to_text(one.is);
    }
    const model::given_neighbour other{.address = *parse_address("10.0.0.77"), .hardware = {2, 0, 0, 0, 0, 9}};
    host.kernel.apply(model::add_neighbour{"eth0", other});
    const auto plan = plan_host(config, host.kernel.state(), host.ports);
    EXPECT_EQ(steps_of(plan), "");
    EXPECT_NE(remarks_of(plan.remarks)
                  .find("warning network-device-configured: neighbour 10.0.0.77 at 02:00:00:00:00:09 of eth0 is not "
                        "moved to brcluster, which has another one of its address\n"),
              std::string::npos)
        << remarks_of(plan.remarks);
}

}  // namespace
}  // namespace pvc::policy
