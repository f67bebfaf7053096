// The addresses that only the primary has, on a simulated daemon (networking.md 6, cases 36 to 38;
// node-lifecycle.md 7.4, 7.5, AC85, AC87, AC136).
#include "pvcnoded/role/primary_role.hpp"
#include "unit/role/role_fixture.hpp"

namespace pvc::node {
namespace {

const std::string upstream = "10.98.1.254/24 on brupstream";
const std::string cluster_one = "10.98.0.254/24 on brcluster";
const std::string storage_one = "10.254.0.254/24 on brstorage";
const std::string metadata = "169.254.169.254/32 on lo";
// As the machine tells them: by device.
const std::string all_of_them = cluster_one + ", " + storage_one + ", " + upstream + ", " + metadata;

// Whatever it is asked to give up takes a minute.
class hanging_part final : public core::subject, public core::role_part {
public:
    explicit hanging_part(core::node_context& node) : node_(node) {}
    [[nodiscard]] std::string_view name() const override { return "hanging"; }
    async::awaitable<void> take_up(policy::role_phase /*which*/, core::session& /*s*/) override { co_return; }
    async::awaitable<void> give_up(policy::role_phase /*which*/, core::session* /*s*/) override {
        co_await async::sleep_for(node_.clock(), 60s, "a service that does not end");
    }

private:
    core::node_context& node_;
};

class role_addresses_test : public role_fixture {
protected:
    // hv1 has the networking function, is secondary, and hv2 is named.
    sim_node& stage_networking(sim::node_settings settings = {}) {
        put_peer("hv2", "coordinator", "run", "secondary");
        put_peer("hv3", "coordinator", "run", "secondary");
        ensemble.put(primary_key, "hv2");
        settings.networking = true;
        sim_node& hv1 = add(std::move(settings));
        if (has_hanging_part) {
            hv1.plug_in = [](assembly& all) {
                all.make = [before = std::move(all.make)](core::node_context& node) {
                    auto made = before(node);
                    made.pop_back();
                    made.insert(made.begin(), std::make_unique<hanging_part>(node));
                    made.push_back(
                        std::make_unique<role::primary_role>(node, core::all_that_are<core::role_part>(made)));
                    return made;
                };
            };
        }
        hv1.start();
        EXPECT_TRUE(hv1.run_until_ready()) << hv1.log();
        return hv1;
    }
    // The same, and it has taken the role.
    sim_node& stage_primary(sim::node_settings settings = {}) {
        sim_node& hv1 = stage_networking(std::move(settings));
        ensemble.put(primary_key, "hv1");
        seconds_until([&] { return role_of(hv1) == "primary"; }, 60s);
        beat(1s);
        return hv1;
    }
    static std::string calls_of(sim_node& node) {
        std::string all;
        for (const auto& call : node.addresses.calls) {
            all += call + "\n";
        }
        node.addresses.calls.clear();
        return all;
    }
    bool has_hanging_part = false;
    // Without the node's own ones.
    static std::string there(const sim_node& node) {
        std::string all = node.kernel.text();
        for (const std::string own :
             {"10.98.0.1/24 on brcluster", "10.254.0.1/24 on brcluster", "10.254.0.1/24 on brstorage"}) {
            for (const auto& text : {own + ", ", ", " + own, own}) {
                const auto at = all.find(text);
                if (at != std::string::npos) {
                    all.erase(at, text.size());
                    break;
                }
            }
        }
        return all;
    }
};

TEST_F(role_addresses_test, case_36_a_takeover_adds_them_in_the_order_of_phases) {
    auto& hv1 = stage_networking();
    EXPECT_EQ(calls_of(hv1), "");
    ensemble.put(primary_key, "hv1");
    seconds_until([&] { return role_of(hv1) == "primary"; }, 60s);
    EXPECT_EQ(calls_of(hv1),
              "add " + upstream + "\nadd " + cluster_one + "\nadd " + storage_one + "\nadd " + metadata + "\n");
    EXPECT_EQ(there(hv1), all_of_them);
    EXPECT_EQ(hv1.addresses.announced,
              (std::vector<std::string>{"10.98.1.254 on brupstream", "10.98.0.254 on brcluster",
                                        "10.254.0.254 on brstorage"}));
}

TEST_F(role_addresses_test, R88_a_look_that_is_not_answered_sees_nothing) {
    auto& hv1 = stage_primary();
    calls_of(hv1);
    hv1.network.hang();
    beat(70s);
    EXPECT_EQ(calls_of(hv1), "");
    EXPECT_EQ(hv1.times_logged("was gone"), 0U);
    EXPECT_EQ(there(hv1), all_of_them);
    // What must go goes all the same.
    ensemble.put(primary_key, "hv2");
    seconds_until([&] { return role_of(hv1) == "secondary"; }, 120s);
    EXPECT_EQ(there(hv1), "");
    hv1.network.end_hang();
    beat(5s);
    EXPECT_EQ(there(hv1), "");
}

// What was seen to be missing still is.
TEST_F(role_addresses_test, R88_what_was_missing_before_is_added_without_another_look) {
    auto& hv1 = stage_primary();
    hv1.addresses.broken.insert_or_assign("add", failure(errc::refused, "add", "Operation not permitted"));
    hv1.kernel.remove_all_addresses();
    beat(2s);
    EXPECT_EQ(there(hv1), "");
    hv1.network.hang();
    beat(4s);
    hv1.addresses.broken.clear();
    beat(10s);
    EXPECT_EQ(there(hv1), all_of_them);
}

TEST_F(role_addresses_test, case_38_a_relinquish_removes_them_in_that_order_and_leaves_the_own_ones) {
    auto& hv1 = stage_networking();
    ensemble.put(primary_key, "hv1");
    seconds_until([&] { return role_of(hv1) == "primary"; }, 60s);
    beat(1s);
    calls_of(hv1);
    ensemble.put(primary_key, "hv2");
    seconds_until([&] { return role_of(hv1) == "secondary"; }, 120s);
    beat(1s);
    EXPECT_EQ(calls_of(hv1), "remove " + upstream + "\nremove " + cluster_one + "\nremove " + storage_one +
                                 "\nremove " + metadata + "\n");
    EXPECT_EQ(hv1.kernel.text(), "10.98.0.1/24 on brcluster, 10.254.0.1/24 on brstorage");
}

TEST_F(role_addresses_test, case_37_and_ac85_shared_devices_have_one_bridge) {
    auto& hv1 = stage_primary({.upstream_device = "ens5", .storage_device = "ens5"});
    EXPECT_EQ(there(hv1),
              "10.98.1.254/24 on brcluster, 10.98.0.254/24 on brcluster, 10.254.0.254/24 on brcluster, " + metadata);
}

// README ruling 83.
TEST_F(role_addresses_test, a_bridge_with_another_hardware_address_is_announced) {
    auto& hv1 = stage_primary();
    beat(10s);
    std::vector<std::pair<std::string, time_point>> frames;
    hv1.addresses.on_frame = [&](const std::string& device, const ip::address& address, netlink::announced_as which) {
        if (which == netlink::announced_as::request) {
            frames.emplace_back(address.to_string() + " on " + device, loop.clock().now());
        }
    };
    const time_point begun = loop.clock().now();
    ASSERT_TRUE(hv1.kernel.apply(model::set_hardware{"brcluster", {0x06, 0, 0, 0, 0, 9}}));
    beat(8s);
    ASSERT_EQ(frames.size(), 5U) << hv1.log();
    for (const auto& [what, when] : frames) {
        EXPECT_EQ(what, "10.98.0.254 on brcluster");
    }
    EXPECT_LE(frames.front().second - begun, 500ms);
    EXPECT_EQ(hv1.times_logged("brcluster has the hardware address 06:00:00:00:00:09 now, announcing 10.98.0.254/24"),
              1U);
    frames.clear();
    beat(60s);
    EXPECT_TRUE(frames.empty());
}

// It was killed as it was primary, or could not remove them: neighbours looked for the address there until they asked.
TEST_F(role_addresses_test, a_peer_that_starts_may_have_had_them_so_that_they_are_announced) {
    auto& hv1 = stage_primary();
    put_peer("hv3", "coordinator", "stop", "secondary");
    beat(10s);
    std::map<std::string, int> frames;
    std::optional<time_point> first;
    hv1.addresses.on_frame = [&](const std::string& device, const ip::address& address, netlink::announced_as which) {
        if (which == netlink::announced_as::request) {
            first = first.value_or(loop.clock().now());
            ++frames[address.to_string() + " on " + device];
        }
    };
    const time_point begun = loop.clock().now();
    ensemble.put("/nodes/hv3/daemonstate", "init");
    beat(8s);
    ASSERT_TRUE(first) << hv1.log();
    EXPECT_LE(*first - begun, 500ms);
    EXPECT_EQ(frames["10.98.1.254 on brupstream"], 5);
    EXPECT_EQ(frames["10.98.0.254 on brcluster"], 5);
    frames.clear();
    ensemble.put("/nodes/hv3/daemonstate", "stop");
    beat(60s);
    EXPECT_TRUE(frames.empty()) << "it goes, and has nothing that was not believed before";
}

// Looks take at most a tenth of the time, counted from the one before: neighbours lost the address for 5 s.
TEST_F(role_addresses_test, a_look_that_hung_long_ago_delays_no_announcement) {
    auto& hv1 = stage_primary();
    hv1.network.hang();
    hv1.network.lose_events();
    beat(2s);
    hv1.network.end_hang();
    beat(60s);
    std::optional<time_point> announced;
    hv1.addresses.on_frame = [&](const std::string& /*device*/, const ip::address& /*address*/,
                                 netlink::announced_as /*which*/) {
        announced = announced.value_or(loop.clock().now());
    };
    const time_point begun = loop.clock().now();
    ASSERT_TRUE(hv1.kernel.apply(model::set_hardware{"brcluster", {0x06, 0, 0, 0, 0, 9}}));
    beat(8s);
    ASSERT_TRUE(announced) << hv1.log();
    EXPECT_LE(*announced - begun, 500ms);
}

// Who is named does not matter to that: the address is here.
TEST_F(role_addresses_test, a_bridge_with_another_hardware_address_is_announced_whoever_is_named) {
    auto& hv1 = stage_primary();
    beat(10s);
    std::size_t frames = 0;
    hv1.addresses.on_frame = [&](const std::string& /*device*/, const ip::address& /*address*/,
                                 netlink::announced_as which) {
        frames += which == netlink::announced_as::request ? 1 : 0;
    };
    ensemble.put(primary_key, "??");
    ASSERT_TRUE(hv1.kernel.apply(model::set_hardware{"brcluster", {0x06, 0, 0, 0, 0, 9}}));
    beat(8s);
    EXPECT_EQ(frames, 5U) << hv1.log();
    EXPECT_EQ(role_of(hv1), "primary");
}

// It had never gone, so that the kernel told nobody when it was added anew.
TEST_F(role_addresses_test, a_bridge_with_another_hardware_address_is_announced_also_of_what_was_only_found) {
    auto& hv1 = stage_primary();
    const failure refused(errc::refused, "brcluster", "Operation not permitted");
    hv1.addresses.broken.insert_or_assign("remove brcluster", refused);
    hv1.addresses.broken.insert_or_assign("add brcluster", refused);
    ensemble.put(primary_key, "hv2");
    seconds_until([&] { return role_of(hv1) == "secondary"; }, 120s);
    ensemble.put(primary_key, "hv1");
    seconds_until([&] { return role_of(hv1) == "primary"; }, 120s);
    beat(10s);
    hv1.addresses.broken.clear();
    beat(60s);
    std::size_t frames = 0;
    hv1.addresses.on_frame = [&](const std::string& /*device*/, const ip::address& /*address*/,
                                 netlink::announced_as which) {
        frames += which == netlink::announced_as::request ? 1 : 0;
    };
    ASSERT_TRUE(hv1.kernel.apply(model::set_hardware{"brcluster", {0x06, 0, 0, 0, 0, 9}}));
    beat(8s);
    EXPECT_EQ(frames, 5U) << hv1.log();
}

// Who is out of touch may have a successor already.
TEST_F(role_addresses_test, a_bridge_with_another_hardware_address_is_announced_once_in_touch) {
    auto& hv1 = stage_primary();
    beat(10s);
    std::size_t frames = 0;
    hv1.addresses.on_frame = [&](const std::string& /*device*/, const ip::address& /*address*/,
                                 netlink::announced_as which) {
        frames += which == netlink::announced_as::request ? 1 : 0;
    };
    hv1.connector.link().cut();
    ASSERT_TRUE(hv1.kernel.apply(model::set_hardware{"brcluster", {0x06, 0, 0, 0, 0, 9}}));
    beat(4s);
    EXPECT_EQ(frames, 0U);
    hv1.connector.link().mend();
    beat(30s);  // with the next look after that
    EXPECT_EQ(frames, 5U) << hv1.log();
}

TEST_F(role_addresses_test, nothing_is_announced_once_the_role_is_to_go) {
    auto& hv1 = stage_networking();
    ensemble.put(primary_key, "hv1");
    seconds_until([&] { return role_of(hv1) == "primary"; }, 60s);
    std::size_t late = 0;
    hv1.addresses.on_frame = [&](const std::string& /*device*/, const ip::address& /*address*/,
                                 netlink::announced_as /*which*/) { late += role_of(hv1) == "primary" ? 0 : 1; };
    hv1.addresses.call_time = 3s;  // they are still here
    ensemble.put(primary_key, "hv2");
    seconds_until([&] { return role_of(hv1) == "secondary"; }, 120s);
    EXPECT_EQ(late, 0U);
}

// The kernel did it after the call was given up.
TEST_F(role_addresses_test, what_was_added_late_is_announced) {
    auto& hv1 = stage_networking();
    hv1.addresses.call_time = 11s;
    ensemble.put(primary_key, "hv1");
    seconds_until([&] { return !hv1.addresses.calls.empty(); }, 60s);
    beat(12s);
    hv1.addresses.end_slowness();
    seconds_until([&] { return role_of(hv1) == "primary"; }, 120s);
    beat(20s);
    const auto& told = hv1.addresses.announced;
    EXPECT_NE(std::ranges::find(told, "10.98.1.254 on brupstream"), told.end()) << hv1.log();
}

// Added once, announced once, and there until the last user goes.
TEST_F(role_addresses_test, equal_addresses_on_one_bridge_are_one) {
    auto& hv1 = stage_primary({.upstream_device = "ens5", .upstream_floating_ip = "10.98.0.254/24"});
    EXPECT_EQ(calls_of(hv1), "add " + cluster_one + "\nadd " + storage_one + "\nadd " + metadata + "\n");
    ensemble.put(primary_key, "hv2");
    seconds_until([&] { return role_of(hv1) == "secondary"; }, 120s);
    EXPECT_EQ(calls_of(hv1), "remove " + cluster_one + "\nremove " + storage_one + "\nremove " + metadata + "\n");
    EXPECT_EQ(there(hv1), "");
}

// The reference takes the prefix length of the node's own address.
TEST_F(role_addresses_test, another_prefix_length_is_replaced_and_removed) {
    auto& hv1 = stage_networking();
    hv1.kernel.add("brcluster", "10.98.0.254/16");
    ensemble.put(primary_key, "hv1");
    seconds_until([&] { return role_of(hv1) == "primary"; }, 60s);
    beat(1s);
    EXPECT_EQ(there(hv1), all_of_them);
    hv1.kernel.add("brcluster", "10.98.0.254/16");
    ensemble.put(primary_key, "hv2");
    seconds_until([&] { return role_of(hv1) == "secondary"; }, 120s);
    beat(1s);
    EXPECT_EQ(there(hv1), "");
}

TEST_F(role_addresses_test, one_that_appears_on_a_secondary_goes_for_what_is_known_then) {
    sim_node& hv1 = stage_networking();
    hv1.kernel.add("brcluster", "10.98.0.254/16");
    EXPECT_TRUE(run_until([&] { return hv1.logged("primary_node says hv2"); }, 10s)) << hv1.log();
    EXPECT_FALSE(hv1.logged("no record of this boot"));
}

TEST_F(role_addresses_test, one_that_the_kernel_refuses_is_told_of_once_and_comes_later) {
    auto& hv1 = stage_networking();
    const std::string call = "add brstorage";
    hv1.addresses.broken.insert_or_assign(call, failure(errc::refused, storage_one, "Permission denied"));
    ensemble.put(primary_key, "hv1");
    seconds_until([&] { return role_of(hv1) == "primary"; }, 60s);
    beat(30s);
    EXPECT_EQ(there(hv1), cluster_one + ", " + upstream + ", " + metadata);
    EXPECT_EQ(hv1.times_logged("cannot add " + storage_one + ": refused: Permission denied, trying again"), 1U)
        << "its subject once";
    hv1.addresses.broken.clear();
    EXPECT_LT(seconds_until([&] { return there(hv1) == all_of_them; }, 20s), 6.0);
    EXPECT_TRUE(hv1.logged("this could be done after all: add " + storage_one));
}

// Its bridge is made anew, with the node's own address and those of the primary.
TEST_F(role_addresses_test, a_bridge_that_somebody_deletes_comes_back_with_all_its_addresses) {
    auto& hv1 = stage_primary();
    hv1.kernel.remove_device("brstorage");
    EXPECT_LT(seconds_until([&] { return there(hv1) == all_of_them; }, 20s), 2.0);
    EXPECT_TRUE(hv1.kernel.text().find("10.254.0.1/24 on brstorage") != std::string::npos);
}

TEST_F(role_addresses_test, a_card_that_is_called_as_a_bridge_gets_none) {
    auto& hv1 = stage_networking();
    hv1.kill();
    hv1.kernel.remove_device("brupstream");
    hv1.kernel.add_card("brupstream");
    hv1.start();
    EXPECT_TRUE(hv1.run_until_ready()) << hv1.log();
    ensemble.put(primary_key, "hv1");
    seconds_until([&] { return role_of(hv1) == "primary"; }, 60s);
    beat(40s);
    EXPECT_EQ(there(hv1), cluster_one + ", " + storage_one + ", " + metadata);
    EXPECT_EQ(hv1.times_logged("brupstream is no bridge"), 1U);
    hv1.kernel.remove_device("brupstream");
    EXPECT_LT(seconds_until([&] { return there(hv1) == all_of_them; }, 20s), 2.0);
}

// Its device is a port of the host's own bridge, over which the host reaches that network.
TEST_F(role_addresses_test, a_bridge_without_a_port_takes_no_network_from_the_host) {
    auto& hv1 = stage_networking();
    hv1.kill();
    hv1.kernel.remove_device("brupstream");
    ASSERT_TRUE(hv1.kernel.apply(model::make_bridge{"br0"}));
    ASSERT_TRUE(hv1.kernel.apply(model::set_up{"br0"}));
    ASSERT_TRUE(hv1.kernel.apply(model::set_master{"ens4", "br0"}));
    hv1.kernel.add("br0", "10.98.1.5/24");
    hv1.start();
    EXPECT_TRUE(hv1.run_until_ready()) << hv1.log();
    ensemble.put(primary_key, "hv1");
    seconds_until([&] { return role_of(hv1) == "primary"; }, 60s);
    beat(40s);
    EXPECT_EQ(there(hv1), "10.98.1.5/24 on br0, " + cluster_one + ", " + storage_one + ", " + metadata);
    EXPECT_EQ(hv1.times_logged("10.98.1.254/24 on brupstream is not added: that bridge has no port, and this host, "
                               "which reaches the network over br0, would lose it"),
              1U)
        << hv1.log();
    hv1.kernel.remove("br0", *parse_host_address("10.98.1.5/24"));
    ASSERT_TRUE(hv1.kernel.apply(model::set_master{"ens4", ""}));
    EXPECT_LT(seconds_until([&] { return there(hv1) == all_of_them; }, 40s), 2.0) << there(hv1);
}

TEST_F(role_addresses_test, one_that_somebody_took_away_is_added_again) {
    auto& hv1 = stage_primary();
    EXPECT_FALSE(hv1.logged("was gone"));
    hv1.kernel.remove("brupstream", *parse_host_address("10.98.1.254/24"));
    EXPECT_LT(seconds_until([&] { return there(hv1) == all_of_them; }, 60s), 1.0);
    beat(1s);
    EXPECT_EQ(hv1.times_logged("10.98.1.254/24 on brupstream was gone, adding it again"), 1U) << hv1.log();
}

// Each local action takes at most 10 s: five of them, and the role is there; what is missing follows.
TEST_F(role_addresses_test, a_kernel_that_hangs_does_not_keep_the_role_from_going_on) {
    auto& hv1 = stage_networking();
    hv1.addresses.hang();
    ensemble.put(primary_key, "hv1");
    EXPECT_LT(seconds_until([&] { return role_of(hv1) == "primary"; }, 120s), 60.0);
    EXPECT_EQ(there(hv1), "");
    hv1.addresses.end_hang();
    EXPECT_LT(seconds_until([&] { return there(hv1) == all_of_them; }, 60s), 20.0);
}

TEST_F(role_addresses_test, a_removal_that_fails_is_tried_again_after_the_role_is_gone) {
    auto& hv1 = stage_primary();
    hv1.addresses.broken.insert_or_assign("remove", failure(errc::refused, "brcluster", "Operation not permitted"));
    ensemble.put(primary_key, "hv2");
    seconds_until([&] { return role_of(hv1) == "secondary"; }, 120s);
    beat(8s);
    EXPECT_EQ(there(hv1), all_of_them);
    EXPECT_EQ(hv1.times_logged("cannot remove " + upstream), 1U);
    hv1.addresses.broken.clear();
    EXPECT_LT(seconds_until([&] { return there(hv1) == ""; }, 20s), 6.0);
}

// What it has cannot be seen, and what has to go goes all the same.
TEST_F(role_addresses_test, a_look_that_fails_keeps_nothing) {
    auto& hv1 = stage_primary();
    hv1.network.broken.insert_or_assign("look", failure(errc::unavailable, "links", "No buffer space available"));
    ensemble.put("/nodes/hv1/routerstate", "secondary");
    ensemble.put(primary_key, "hv2");
    EXPECT_LT(seconds_until([&] { return there(hv1) == ""; }, 20s), 2.0);
}

TEST_F(role_addresses_test, ac26_an_isolated_primary_has_none_a_second_after_the_limit) {
    auto& hv1 = stage_primary();
    hv1.connector.link().cut();
    loop.run_for(50s);
    EXPECT_EQ(there(hv1), all_of_them);
    EXPECT_TRUE(run_until([&] { return hv1.daemon().context().role.now() != model::router_state::primary; }, 20s));
    loop.run_for(100ms);
    EXPECT_EQ(there(hv1), "");
}

// Addresses first: services that hang do not keep them.
TEST_F(role_addresses_test, ac136_a_service_that_hangs_does_not_keep_the_addresses) {
    has_hanging_part = true;
    auto& hv1 = stage_primary();
    hv1.connector.link().cut();
    EXPECT_TRUE(run_until([&] { return hv1.daemon().context().role.now() != model::router_state::primary; }, 70s));
    loop.run_for(900ms);
    EXPECT_EQ(there(hv1), "");
}

TEST_F(role_addresses_test, a_stop_leaves_none) {
    auto& hv1 = stage_primary();
    ensemble.put("/nodes/hv2/daemonstate", "stop");
    ensemble.put("/nodes/hv3/daemonstate", "stop");
    hv1.stop();
    EXPECT_EQ(there(hv1), "");
}

// The read that justifies it must be less than 2 s old when it starts (node-lifecycle.md 3.1, rule 8).
TEST_F(role_addresses_test, an_addition_that_starts_too_late_is_asked_for_anew) {
    auto& hv1 = stage_networking();
    hv1.connector.link().answer_delay = 2500ms;
    ensemble.put(primary_key, "hv1");
    beat(60s);
    EXPECT_EQ(there(hv1), "");  // each answer comes too late
    hv1.connector.link().answer_delay = {};
    seconds_until([&] { return there(hv1) == all_of_them; }, 60s);
}

// What the kernel comes to only when its proof has grown old is not done, and so nobody hears of it.
TEST_F(role_addresses_test, an_addition_that_was_held_up_is_refused) {
    auto& hv1 = stage_networking();
    hv1.addresses.hang();
    ensemble.put(primary_key, "hv1");
    beat(3s);
    ASSERT_EQ(calls_of(hv1), "add " + upstream + "\n");
    ensemble.put(primary_key, "hv2");
    beat(2s);
    hv1.addresses.end_hang();
    beat(15s);
    EXPECT_TRUE(hv1.addresses.announced.empty());
    EXPECT_EQ(there(hv1), "");
}

// Also where this node has not heard yet that another is named.
TEST_F(role_addresses_test, an_addition_that_was_held_up_is_refused_before_the_role_is_known_to_be_gone) {
    auto& hv1 = stage_networking();
    hv1.addresses.hang();
    ensemble.put(primary_key, "hv1");
    beat(3s);
    ASSERT_EQ(calls_of(hv1), "add " + upstream + "\n");
    hv1.connector.link().answer_delay = 30s;  // and the word of it
    ensemble.put(primary_key, "hv2");
    hv1.addresses.end_hang();
    beat(1s);
    EXPECT_TRUE(hv1.addresses.announced.empty());
    EXPECT_EQ(there(hv1), "");
}

TEST_F(role_addresses_test, a_node_without_the_function_has_none_and_asks_for_none) {
    put_peer("hv2", "coordinator", "run", "secondary");
    ensemble.put(primary_key, "hv1");
    auto& hv1 = add_running({.has_ready_bridges = true});
    hv1.kernel.add("brcluster", "10.98.0.254/24");
    seconds_until([&] { return role_of(hv1) == "primary"; }, 60s);
    EXPECT_EQ(calls_of(hv1), "");
    EXPECT_EQ(there(hv1), cluster_one);
}

}  // namespace
}  // namespace pvc::node
