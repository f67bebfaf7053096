// The mechanics of the reference's hand-over, with its defects: node-lifecycle.md 7, hazards H02, H10, H11 and the read
// lock of zookeeper-schema.md 4.3.
#include "sim/foreign/foreign_fixture.hpp"

#include "pvcnoded/model/lock_name.hpp"
#include "pvcnoded/model/node_payloads.hpp"

namespace pvc::sim {
namespace {

using names = std::vector<std::string>;

class foreign_hand_over : public foreign_test {
protected:
    // hv1 is primary beside hv2; both have just ticked.
    void stage(const foreign_timings& timings = {}, reference_level level = reference_level::v0_9_82) {
        ensemble.put("/config/primary_node", "hv1");
        for (const auto* name : {"hv1", "hv2"}) {
            add({.name = name, .level = level, .timings = timings, .seed = foreign.size() + 1}).start();
        }
        ASSERT_TRUE(run_until_role("hv1", "primary"));
        const auto ticks = values_written("/nodes/hv2/keepalive").size();
        ASSERT_TRUE(run_until([&] { return values_written("/nodes/hv2/keepalive").size() > ticks; }));
        loop.run_for(100ms);
        ensemble.clear_trace();
    }
    foreign_node& hv1() { return foreign.front(); }
    foreign_node& hv2() { return foreign.back(); }
};

TEST_F(foreign_hand_over, lock_children_look_as_the_library_makes_them) {
    stage();
    client.set_primary("hv2");
    ASSERT_TRUE(run_until_role("hv2", "primary"));
    std::size_t readers = 0;
    std::size_t writers = 0;
    for (const auto& change : ensemble.trace()) {
        if (!change.is_ephemeral || change.what != recorded_kind::create) {
            continue;
        }
        const auto child = model::parse_lock_child(last_part_of(change.path));
        ASSERT_TRUE(child.has_value()) << change.path;
        EXPECT_EQ(child->guid.size(), 32U);
        EXPECT_TRUE(model::is_uuid(change.data)) << change.data;
        EXPECT_EQ(change.data[14], '1');
        (child->tag == model::lock_tag::rlock ? readers : writers) += 1;
    }
    EXPECT_EQ(readers, 7U);
    EXPECT_EQ(writers, 8U);
}

// Whether both get through is decided by nothing but who is first after a writer's release: the reader that looks at
// the queue, or the writer that queues again.
TEST(foreign_deadlock, comes_with_a_late_look_and_only_then) {
    names outcomes;
    for (const int wake : {0, 1, 3, 4, 6}) {
        sim_loop loop;
        memory_ensemble ensemble(loop.clock());
        initialise(ensemble, 10);
        ensemble.put("/config/primary_node", "hv1");
        scripted_client client(loop, ensemble);
        foreign_settings settings{.name = "hv1"};
        settings.timings.reading(hand_over_phase::cluster).wake = std::chrono::milliseconds(wake);
        foreign_node hv1(loop, ensemble, settings);
        foreign_node hv2(loop, ensemble, {.name = "hv2"});
        hv1.start();
        hv2.start();
        loop.run_for(30s);
        client.set_primary("hv2");
        loop.run_for(20s);
        const std::string role = *ensemble.get("/nodes/hv2/routerstate");
        outcomes.push_back(role);
        if (role == "takeover") {
            // The reader came first, the writer waits for it, and it waits for the writer.
            names queue;
            for (const auto& name : ensemble.children("/config/primary_node/sync_lock")) {
                queue.push_back(name);
            }
            std::ranges::sort(queue, {}, [](const auto& name) { return model::parse_lock_child(name)->sequence; });
            ASSERT_EQ(queue.size(), 2U);
            EXPECT_NE(queue.front().find("__rlock__"), std::string::npos);
            EXPECT_NE(queue.back().find("__lock__"), std::string::npos);
            // Only the end of one of them frees the other.
            hv1.kill();
            loop.run_for(30s);
            EXPECT_EQ(*ensemble.get("/nodes/hv2/routerstate"), "primary");
        }
    }
    EXPECT_EQ(outcomes, (names{"primary", "primary", "takeover", "takeover", "takeover"}));
}

// Each phase adds before it removes: there is always somebody who answers, and for an instant both do.
TEST_F(foreign_hand_over, the_addresses_go_over_phase_by_phase) {
    stage();
    const std::string all =
        "10.98.0.254/24 on brcluster, 10.254.0.254/24 on brstorage, 10.98.1.254/24 on brupstream, 169.254.169.254/32 "
        "on lo";
    ASSERT_EQ(hv1().kernel.text(), all);
    client.set_primary("hv2");
    bool were_both_there = false;
    ASSERT_TRUE(run_until([&] {
        const auto upstream = parse_host_address("10.98.1.254/24")->address;
        const bool is_old = hv1().kernel.answers(upstream);
        const bool is_new = hv2().kernel.answers(upstream);
        EXPECT_TRUE(is_old || is_new);
        were_both_there = were_both_there || (is_old && is_new);
        return value("/nodes/hv1/routerstate") == "secondary" && value("/nodes/hv2/routerstate") == "primary";
    }));
    EXPECT_TRUE(were_both_there);
    EXPECT_EQ(hv1().kernel.text(), "");
    EXPECT_EQ(hv2().kernel.text(), all);
    // The process leaves them behind, the machine does not.
    hv2().kill();
    EXPECT_EQ(hv2().kernel.text(), all);
    hv2().lose_power();
    EXPECT_EQ(hv2().kernel.text(), "");
}

TEST_F(foreign_hand_over, a_change_of_the_name_in_a_takeover_is_ignored) {
    stage();
    client.set_primary("hv2");
    ASSERT_TRUE(run_until_role("hv2", "takeover"));
    loop.run_for(500ms);
    ensemble.put("/config/primary_node", "hv1");
    loop.run_for(2500ms);
    ensemble.put("/config/primary_node", "hv2");
    loop.run_for(20s);
    EXPECT_EQ(values_written("/nodes/hv1/routerstate"), (names{"relinquish", "secondary"}));
    EXPECT_EQ(values_written("/nodes/hv2/routerstate"), (names{"takeover", "primary"}));
}

TEST_F(foreign_hand_over, the_tick_of_a_primary_puts_its_name_back) {
    stage();
    loop.run_for(4700ms);  // less than the delay before the next tick
    client.set_secondary("hv1");
    loop.run_for(400ms);
    const auto written = values_written("/config/primary_node");
    ASSERT_FALSE(written.empty());
    EXPECT_EQ(written.front(), "none");
    EXPECT_NE(std::ranges::find(written, "hv1"), written.end());
}

TEST_F(foreign_hand_over, of_two_contenders_one_takes_the_vacant_role_and_the_other_times_out) {
    stage();
    foreign_node& hv3 = add_running({.name = "hv3", .seed = 3});
    loop.run_for(6s);
    ensemble.clear_trace();
    client.set_secondary("hv1");
    ASSERT_TRUE(run_until([&] { return value("/config/primary_node") != "hv1"; }));
    loop.run_for(30s);
    EXPECT_EQ(values_written("/config/primary_node").size(), 2U);
    const std::string winner = value("/config/primary_node");
    EXPECT_TRUE(winner == "hv2" || winner == "hv3");
    EXPECT_EQ(value("/nodes/" + winner + "/routerstate"), "primary");
    EXPECT_EQ(value("/nodes/hv1/routerstate"), "secondary");
    EXPECT_EQ(lock_children("/config/primary_node"), 0U);
    EXPECT_TRUE(hv3.is_running());
}

TEST_F(foreign_hand_over, a_new_primary_walks_alone_when_the_old_one_is_dead) {
    stage();
    hv1().kill();
    client.set_primary("hv2");
    EXPECT_TRUE(run_until_role("hv2", "primary", 10s));
    EXPECT_EQ(value("/nodes/hv1/routerstate"), "primary");
}

TEST_F(foreign_hand_over, the_partner_that_dies_in_its_write_phase_holds_up_the_other_until_its_session_ends) {
    stage();
    client.set_primary("hv2");
    ASSERT_TRUE(run_until([&] { return values_written("/config/primary_node/sync_lock").size() == 2; }));
    loop.run_for(200ms);  // now the old primary writes
    hv1().kill();
    const auto from = loop.clock().now();
    EXPECT_FALSE(run_until_role("hv2", "primary", 8s));
    EXPECT_TRUE(run_until_role("hv2", "primary", 20s));
    EXPECT_GE(loop.clock().now() - from, 10s);
}

// Durations from half to twice the usual: with limited read locks every hand-over comes to an end.
TEST(foreign_random_hand_overs, of_1_0_3_all_end) {
    foreign_timings earliest;
    foreign_timings latest;
    for (std::size_t i = 0; i < hand_over_phases; ++i) {
        for (const auto member : {&writer_durations::hold, &writer_durations::work, &writer_durations::pause}) {
            earliest.writer.at(i).*member /= 2;
            latest.writer.at(i).*member *= 2;
        }
        latest.reader.at(i).wake = 8ms;
    }
    int deadlocks = 0;
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        sim_loop loop;
        loop.context().shuffle(seed);
        memory_ensemble ensemble(loop.clock());
        initialise(ensemble, 10);
        ensemble.put("/config/primary_node", "hv1");
        scripted_client client(loop, ensemble, seed);
        random_source random(seed);
        std::list<foreign_node> nodes;
        for (const auto* name : {"hv1", "hv2"}) {
            foreign_settings settings{.name = name, .level = reference_level::v1_0_3, .seed = seed};
            settings.timings = drawn_between(earliest, latest, random);
            nodes.emplace_back(loop, ensemble, settings).start();
        }
        loop.run_for(42s);
        ASSERT_EQ(*ensemble.get("/nodes/hv1/routerstate"), "primary") << seed;
        client.set_primary("hv2");
        loop.run_for(9s);
        deadlocks += *ensemble.get("/nodes/hv2/routerstate") == "takeover" ? 1 : 0;
        loop.run_for(40s);
        EXPECT_EQ(*ensemble.get("/nodes/hv1/routerstate"), "secondary") << seed;
        EXPECT_EQ(*ensemble.get("/nodes/hv2/routerstate"), "primary") << seed;
        EXPECT_EQ(ensemble.children("/config/primary_node/sync_lock").size(), 0U) << seed;
    }
    EXPECT_GT(deadlocks, 0);
}

}  // namespace
}  // namespace pvc::sim
