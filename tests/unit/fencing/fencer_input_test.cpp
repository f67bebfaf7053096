// Bad input of a fence, in whole daemons: keys of boards, records, nodes that go or hang in the middle. A clear line
// with the node's name, that node left as it is, all others served. Acceptance cases AC46, AC48, AC52, AC53, AC129,
// AC133; zookeeper-schema.md 39, 46.
#include "unit/fencing/fencer_fixture.hpp"

namespace pvc::node {
namespace {

class fencer_input : public fencer_fixture {};

struct bad_key {
    const char* name;
    const char* key;
    std::optional<std::string> value;
};

class fencer_keys : public fencer_fixture, public ::testing::WithParamInterface<bad_key> {};

TEST_P(fencer_keys, it_is_named_and_left_and_the_others_are_served) {
    const auto& bad = GetParam();
    sim_node& hv1 = start();
    put_machine(vm1);
    add_hv5(hv1);
    run_with_beats(60s, {"hv2", "hv3", "hv5"});
    const std::string path = std::string("/nodes/hv3/") + bad.key;
    if (bad.value) {
        ensemble.put(path, *bad.value);
    } else {
        EXPECT_TRUE(ensemble.remove(path));
    }
    dead_for(300s);
    EXPECT_EQ(state(), "dead") << hv1.log();
    EXPECT_EQ(offs(), std::vector<std::string>());
    EXPECT_TRUE(other_board.is_machine_on);
    EXPECT_EQ(value(std::string("/domains/") + vm1 + "/node"), "hv3");
    const auto said = hv1.log().find("node hv3 was not seen off (");
    ASSERT_NE(said, std::string::npos) << hv1.log();
    EXPECT_LT(hv1.log().find(bad.key, said), hv1.log().find('\n', said)) << hv1.log().substr(said, 300);
    EXPECT_EQ(value("/nodes/hv5/daemonstate"), "fenced") << hv1.log();
    EXPECT_EQ(hv1.log().find("Passw0rd"), std::string::npos);
    EXPECT_LE(beat_gaps("hv1", died).front(), 5.1);
}

INSTANTIATE_TEST_SUITE_P(each, fencer_keys,
                         ::testing::Values(bad_key{"host_missing", "ipmihostname", std::nullopt},
                                           bad_key{"user_missing", "ipmiusername", std::nullopt},
                                           bad_key{"password_missing", "ipmipassword", std::nullopt},
                                           bad_key{"host_empty", "ipmihostname", ""},
                                           bad_key{"host_blanks", "ipmihostname", "hv3 -lom"},
                                           bad_key{"host_quotes", "ipmihostname", "\"hv3'-lom\""},
                                           bad_key{"host_lines", "ipmihostname", "hv3-lom\nhv2-lom"},
                                           bad_key{"user_lines", "ipmiusername", "ad\nmin"},
                                           bad_key{"password_lines", "ipmipassword", "Pass\nw0rd"},
                                           bad_key{"host_long", "ipmihostname", std::string(10240, 'h')},
                                           bad_key{"user_long", "ipmiusername", std::string(10240, 'u')},
                                           bad_key{"password_long", "ipmipassword", std::string(10240, 'p')}),
                         [](const auto& info) { return std::string(info.param.name); });

// Blanks and quotes are what passwords are made of.
TEST_F(fencer_input, a_password_may_have_blanks_and_quotes) {
    sim_node& hv1 = start();
    board.password = "a 'b' \"c\" $d";
    ensemble.put("/nodes/hv3/ipmipassword", *board.password);
    dead_for(150s);
    EXPECT_EQ(state(), "fenced") << hv1.log();
}

TEST_F(fencer_input, records_that_are_cut_foreign_or_from_the_future_hold_up_nobody) {
    sim_node& hv1 = start();
    put_machine(vm1);
    const std::string folder = "/var/lib/pvc/fences/";
    const auto id = [&](duration ago) { return model::fence_record_id(loop.clock().wall_now() - ago, "hv3"); };
    hv1.host.files[folder + id(3s) + ".json"] = R"({"version":1,"id":")";
    hv1.host.files[folder + id(2s) + ".json"] =
        R"({"version":999,"id":")" + id(2s) + R"(","coordinator":"hv1","node":"hv3"})";
    hv1.host.files[folder + id(1s) + ".json"] = "[]";
    model::fence_record another;
    another.id = id(4s);
    another.coordinator = "hv9";
    another.node = "hv3";
    another.keepalive_id = another.mark_id = 5;
    another.fenced_id = 6;
    hv1.host.files[folder + another.id + ".json"] = to_text(another);
    // By a clock that was ahead.
    model::fence_record future = another;
    future.id = id(-24h * 365);
    future.coordinator = "hv1";
    future.fenced_id.reset();
    hv1.host.files[folder + future.id + ".json"] = to_text(future);
    dead_for(120s);
    EXPECT_EQ(state(), "fenced") << hv1.log();
    EXPECT_EQ(value(std::string("/domains/") + vm1 + "/node"), "hv2");
    EXPECT_EQ(offs(), (std::vector<std::string>{"off", "on"})) << hv1.log();
}

// Ruling 45: by a clock that was ahead, they would be of this hour for ever.
TEST_F(fencer_input, fences_of_a_later_year_keep_no_node_off) {
    sim_node& hv1 = start();
    for (const int fence : {1, 2}) {
        model::fence_record future;
        future.begun.wall = loop.clock().wall_now() + 24h * 365 * fence;
        future.id = model::fence_record_id(future.begun.wall, "hv3");
        future.coordinator = "hv1";
        future.node = "hv3";
        future.keepalive_id = future.mark_id = 5;
        future.fenced_id = 100 + fence;
        future.outcome = model::fence_outcome::done;
        hv1.host.files["/var/lib/pvc/fences/" + future.id + ".json"] = to_text(future);
    }
    dead_for(120s);
    EXPECT_EQ(state(), "fenced") << hv1.log();
    EXPECT_EQ(offs(), (std::vector<std::string>{"off", "on"})) << hv1.log();
}

TEST_F(fencer_input, R45_who_is_fenced_for_the_third_time_within_an_hour_is_left_off_which_is_said_each_hour) {
    sim_node& hv1 = start();
    for (const int fence : {1, 2}) {
        model::fence_record before;
        before.begun.wall = loop.clock().wall_now() - 10min * fence;
        before.id = model::fence_record_id(before.begun.wall, "hv3");
        before.coordinator = "hv1";
        before.node = "hv3";
        before.keepalive_id = before.mark_id = 5;
        before.fenced_id = 100 + fence;
        before.commands.emplace_back().what = "chassis power off";
        before.outcome = model::fence_outcome::done;
        hv1.host.files["/var/lib/pvc/fences/" + before.id + ".json"] = to_text(before);
    }
    dead_for(120s);
    EXPECT_EQ(state(), "fenced") << hv1.log();
    EXPECT_EQ(offs(), std::vector<std::string>{"off"}) << hv1.log();
    dead_for(150min);
    EXPECT_EQ(offs(), std::vector<std::string>{"off"});
    EXPECT_EQ(lines_with(hv1, "it was fenced for the third time within an hour [fence-kept-off]"), 3) << hv1.log();
}

TEST_F(fencer_input, a_list_of_machines_that_nobody_knows_fills_no_record) {
    sim_node& hv1 = start();
    put_machine(vm1);
    std::string list = vm1;
    for (int i = 0; i < 2'000; ++i) {
        list += fmt::format(" 00000000-0000-4000-8000-{:012}", i);
    }
    ensemble.put("/nodes/hv3/runningdomains", list);
    dead_for(200s);
    EXPECT_EQ(value(std::string("/domains/") + vm1 + "/node"), "hv2");
    const auto seen = record(hv1);
    EXPECT_EQ(seen.outcome, model::fence_outcome::done) << hv1.log();
    EXPECT_EQ(seen.machines.size(), 101U);
    EXPECT_EQ(seen.machines_left_out, 1'900U);
}

TEST_F(fencer_input, a_node_whose_keys_are_deleted_in_the_middle_is_left) {
    for (const std::string key : {"/keepalive", "/daemonstate", "/domainstate"}) {
        SCOPED_TRACE(key);
        sim_node& hv1 = nodes.empty() ? start() : nodes.front();
        put_peer("hv3", "hypervisor", "run", "client");
        run_with_beats(30s, {"hv2", "hv3"});
        died = loop.clock().now();
        dead_for(45s);
        ASSERT_EQ(state(), "dead") << hv1.log();
        EXPECT_TRUE(ensemble.remove("/nodes/hv3" + key));
        dead_for(240s);
        EXPECT_EQ(offs(), std::vector<std::string>()) << hv1.log();
        EXPECT_EQ(value("/nodes/hv1/daemonstate"), "run");
        EXPECT_EQ(lock_children("/config/fence_lock").size(), 0U);
    }
}

// AC129: in `init` one that has checked in since it registered is dead after a minute, one that has not never is.
TEST_F(fencer_input, AC129_an_init_that_hangs) {
    sim_node& hv1 = start();
    put_machine(vm1);
    ensemble.put("/nodes/hv3/daemonstate", "init");
    run_with_beats(10s, {"hv2", "hv3"});
    died = loop.clock().now();
    dead_for(50s);
    EXPECT_EQ(state(), "init") << hv1.log();
    dead_for(20s);
    EXPECT_EQ(state(), "dead") << hv1.log();
    dead_for(60s);
    EXPECT_EQ(state(), "fenced") << hv1.log();
}

TEST_F(fencer_input, AC129_an_init_that_never_checked_in) {
    sim_node& hv1 = start();
    put_machine(vm1);
    ensemble.put("/nodes/hv3/daemonstate", "init");
    dead_for(600s);
    EXPECT_EQ(state(), "init") << hv1.log();
    EXPECT_EQ(offs(), std::vector<std::string>());
    EXPECT_EQ(lines_with(hv1, "[fence-forgotten]"), 1) << hv1.log();
}

// AC46: a clock that is behind writes old times, and lives.
TEST_F(fencer_input, AC46_what_a_heartbeat_says_does_not_matter) {
    sim_node& hv1 = start();
    for (int beat = 0; beat < 30; ++beat) {
        ensemble.put("/nodes/hv3/keepalive", beat % 3 == 0 ? "1600000000" : beat % 3 == 1 ? "garbage" : "");
        run_with_beats(5s, {"hv2"});
    }
    EXPECT_EQ(state(), "run") << hv1.log();
}

// zookeeper-schema.md 39: a value an hour ahead does not keep it alive.
TEST_F(fencer_input, ZK39_a_heartbeat_from_the_future) {
    sim_node& hv1 = start();
    ensemble.put("/nodes/hv3/keepalive", "1800000000");
    dead_for(45s);
    EXPECT_EQ(state(), "dead") << hv1.log();
}

// zookeeper-schema.md 46: at a version whose trees have no such key.
TEST_F(fencer_input, ZK46_the_fence_lock_is_made_where_it_is_missing) {
    sim_node& hv1 = start();
    ASSERT_EQ(value("/config/fence_lock"), "<missing>");
    dead_for(45s);
    EXPECT_EQ(state(), "dead") << hv1.log();
    EXPECT_EQ(value("/config/fence_lock"), "");
    EXPECT_EQ(lock_children("/config/fence_lock").size(), 1U) << "under it the node is marked, and fenced";
    EXPECT_LE(times("/config/fence_lock", died).front(), when("/daemonstate", "dead"));
}

// AC52 as ruling 39 amends it: the recovery of the first is over before the second one is ordered off.
TEST_F(fencer_input, AC52_two_dead_hypervisors_one_after_the_other) {
    sim_node& hv1 = start();
    put_machine(vm1);
    add_hv5(hv1);
    std::vector<std::ptrdiff_t> orders_when_flushed;
    ensemble.observe([&](const recorded_change& change) {
        if (change.path == "/nodes/hv3/domainstate" && change.data == "flushed") {
            orders_when_flushed.push_back(std::ranges::count(third_board.heard(), "off"));
        }
    });
    run_with_beats(60s, {"hv2", "hv3", "hv5"});
    died = loop.clock().now();
    dead_for(150s);
    EXPECT_EQ(state(), "fenced") << hv1.log();
    EXPECT_EQ(value("/nodes/hv5/daemonstate"), "fenced") << hv1.log();
    EXPECT_EQ(orders_when_flushed, std::vector<std::ptrdiff_t>{0}) << "nor is it ordered off before";
    EXPECT_EQ(std::ranges::count(third_board.heard(), "off"), 1) << hv1.log();
    const auto flushed = times("/nodes/hv3/domainstate", died);
    const auto second = times("/nodes/hv5/fenceproof", died);
    ASSERT_FALSE(flushed.empty() || second.empty());
    EXPECT_LE(flushed.back(), second.front());
    EXPECT_LE(times("/nodes/hv5/daemonstate", died).front(), 40.0) << "marks run side by side";
}

// AC53: nobody fences himself, whatever becomes of his key.
TEST_F(fencer_input, AC53_its_own_key_is_no_business_of_its_fencer) {
    sim_node& hv1 = start();
    run_with_beats(60s, {"hv2", "hv3"});
    EXPECT_TRUE(ensemble.remove("/nodes/hv1/keepalive"));
    run_with_beats(100s, {"hv2", "hv3"});
    EXPECT_EQ(std::ranges::count(values_written("/nodes/hv1/daemonstate"), "dead"), 0) << hv1.log();
    EXPECT_EQ(hv1.log().find("[fence-begun]"), std::string::npos);
}

// AC133: with a heartbeat each second.
TEST_F(fencer_input, AC133_with_an_interval_of_a_second) {
    sim_node& hv1 = start("hypervisor", {.coordinators = {"hv1"}, .keepalive_interval = 1});
    put_machine(vm1);
    dead_for(40s);
    EXPECT_EQ(state(), "fenced") << hv1.log();
    EXPECT_LE(when("/daemonstate", "dead"), 12.0);
    EXPECT_EQ(value(std::string("/domains/") + vm1 + "/node"), "hv2");
}

// AC48, t=66: what has been switched off is carried to its end.
TEST_F(fencer_input, AC48_maintenance_after_the_first_off_changes_nothing) {
    sim_node& hv1 = start();
    put_machine(vm1);
    board.answer_time = 3s;
    dead_for(60s);
    ASSERT_TRUE(run_until([&] { return std::ranges::count(board.heard(), "off") == 1; }, 20s)) << hv1.log();
    ensemble.put("/config/maintenance", "True");
    dead_for(60s);
    EXPECT_EQ(state(), "fenced") << hv1.log();
    EXPECT_EQ(value(std::string("/domains/") + vm1 + "/node"), "hv2");
}

}  // namespace
}  // namespace pvc::node
