// Hand-overs in lockstep between whole daemons: two of ours, and ours beside a scripted reference node, with the
// numbers of node-lifecycle.md B.5.
#include "sim/foreign/foreign_node.hpp"
#include "unit/role/role_fixture.hpp"
#include "unit/role/test_part.hpp"

#include <map>

namespace pvc::node {
namespace {

const std::string sync_key = "/config/primary_node/sync_lock";

class lockstep_test : public node_test {
protected:
    lockstep_test() { sim::initialise(ensemble, 10); }

    sim_node& ours(const std::string& name) {
        sim::node_settings settings;
        settings.name = name;
        settings.coordinators = {"hv1", "hv2", "hv3"};
        sim_node& node = add(std::move(settings));
        logs[name].together = &order;
        plug_in(node, logs[name]);
        node.start();
        EXPECT_TRUE(node.run_until_ready());
        return node;
    }
    sim::foreign_node& reference(const std::string& name, sim::reference_level level = sim::reference_level::v0_9_82) {
        sim::foreign_settings settings;
        settings.name = name;
        settings.level = level;
        sim::foreign_node& node = foreign.emplace_back(loop, ensemble, std::move(settings));
        node.start();
        EXPECT_TRUE(run_until([&] { return node.is_ready(); }));
        return node;
    }
    [[nodiscard]] std::string role(const std::string& name) const { return value("/nodes/" + name + "/routerstate"); }
    bool is_settled(const std::string& primary, const std::string& other) {
        return run_until([&] { return role(primary) == "primary" && role(other) == "secondary"; }, 90s);
    }
    // Names hv2 after the role has settled with hv1; how long it took until the key said so.
    double hand_over(const std::string& to, const std::string& from) {
        order.clear();
        ensemble.clear_trace();
        const auto begun = loop.clock().now();
        ensemble.put(primary_key, to);
        EXPECT_TRUE(is_settled(to, from)) << role(to) << " " << role(from);
        const auto written = times("/nodes/" + to + "/routerstate", begun);
        return written.empty() ? 0 : written.back();
    }
    // Of two steps, both done: which was first.
    void expect_order(const std::string& first, const std::string& second) const {
        const auto one = std::ranges::find(order, first);
        const auto two = std::ranges::find(order, second);
        EXPECT_NE(one, order.end()) << first;
        EXPECT_NE(two, order.end()) << second;
        EXPECT_LT(one, two) << first << " after " << second;
    }
    // What `explain primary` says, as text.
    static std::map<std::string, std::string> facts_of(sim_node& node) {
        std::map<std::string, std::string> found;
        for (const auto& subject : node.daemon().subjects()) {
            auto* const one = dynamic_cast<core::explainer*>(subject.get());
            if (one == nullptr || one->topic() != "primary") {
                continue;
            }
            const auto said = one->explain({});
            for (const auto& [name, value] : (*said->answer)->facts) {
                found[std::string(name)] = std::visit(
                    [](const auto& is) -> std::string {
                        if constexpr (std::is_same_v<std::decay_t<decltype(is)>, std::monostate>) {
                            return "";
                        } else {
                            return fmt::format("{}", is);
                        }
                    },
                    value);
            }
        }
        return found;
    }
    void nothing_is_locked() {
        loop.run_for(1s);
        EXPECT_EQ(lock_children(primary_key), std::vector<std::string>());
        EXPECT_EQ(lock_children(sync_key), std::vector<std::string>());
    }

    std::map<std::string, part_log> logs;
    std::vector<std::string> order;
    std::list<sim::foreign_node> foreign;
};

TEST_F(lockstep_test, two_of_ours_each_address_is_there_before_the_other_drops_its_own) {
    ours("hv1");
    ASSERT_TRUE(run_until([&] { return role("hv1") == "primary"; }));
    ours("hv2");
    loop.run_for(7s);
    const double spent = hand_over("hv2", "hv1");
    EXPECT_LT(spent, 0.7);
    for (const std::string phase : {"C", "D", "E", "F"}) {
        expect_order("hv2+" + phase, "hv1-" + phase);
    }
    // No step before its phase: what is up in D was dropped in C on the other side before E is taken up.
    expect_order("hv1-B", "hv2+C");
    expect_order("hv1-C", "hv2+E");
    expect_order("hv1-D", "hv2+F");
    EXPECT_EQ(logs["hv1"].steps, "+A+B+C+D+E+F+G-A-B-B'-C-D-E-F-G");
    nothing_is_locked();
}

// The same when one side is slow in a phase: nobody overtakes it.
TEST_F(lockstep_test, two_of_ours_wait_for_each_other) {
    ours("hv1");
    ASSERT_TRUE(run_until([&] { return role("hv1") == "primary"; }));
    ours("hv2");
    loop.run_for(7s);
    logs["hv1"].slow_to_give = policy::role_phase::b;
    logs["hv1"].how_slow = 8s;
    hand_over("hv2", "hv1");
    expect_order("hv1-B", "hv2+C");
    expect_order("hv2+D", "hv1-D");
    nothing_is_locked();
}

TEST_F(lockstep_test, ac72_a_reference_primary_hands_over_to_ours) {
    reference("hv2");
    ASSERT_TRUE(run_until([&] { return role("hv2") == "primary"; }, 60s));
    ours("hv1");
    loop.run_for(7s);
    const double spent = hand_over("hv1", "hv2");
    EXPECT_LT(spent, 6.4);
    EXPECT_EQ(logs["hv1"].steps, "+A+B+C+D+E+F+G");
    nothing_is_locked();
}

TEST_F(lockstep_test, ac73_ours_hands_over_to_a_reference_node) {
    ours("hv1");
    ASSERT_TRUE(run_until([&] { return role("hv1") == "primary"; }));
    reference("hv2");
    loop.run_for(7s);
    // Write locks of all phases that were released so far: A, our own B, then the reference node's.
    std::vector<std::size_t> turns_before_drop;
    logs["hv1"].on_step = [&](const std::string& step) {
        if (step == "-C" || step == "-D" || step == "-E" || step == "-F") {
            const auto all = changes(sync_key);
            turns_before_drop.push_back(static_cast<std::size_t>(std::ranges::count_if(all, [](const auto& change) {
                return change.what == recorded_kind::remove && change.path.find("__lock__") != std::string::npos;
            })));
        }
    };
    const double spent = hand_over("hv2", "hv1");
    EXPECT_LT(spent, 7);
    EXPECT_EQ(logs["hv1"].steps, "+A+B+C+D+E+F+G-A-B-B'-C-D-E-F-G");
    // Each is dropped after the reference node's turn in that phase.
    EXPECT_EQ(turns_before_drop, (std::vector<std::size_t>{3, 4, 5, 6}));
    nothing_is_locked();
}

TEST_F(lockstep_test, ac74_the_candidate_dies_and_the_holder_comes_to_its_end) {
    ours("hv1");
    ASSERT_TRUE(run_until([&] { return role("hv1") == "primary"; }));
    auto& hv2 = ours("hv2");
    loop.run_for(7s);
    logs["hv2"].slow = policy::role_phase::d;
    ensemble.put(primary_key, "hv2");
    ASSERT_TRUE(run_until([&] { return logs["hv2"].steps.ends_with("+D"); }, 5s));
    hv2.kill();
    EXPECT_TRUE(run_until([&] { return role("hv1") == "secondary"; }, 60s));
    EXPECT_EQ(logs["hv1"].steps, "+A+B+C+D+E+F+G-A-B-B'-C-D-E-F-G");
    EXPECT_EQ(lock_children(sync_key), std::vector<std::string>());
}

TEST_F(lockstep_test, ac75_the_holder_dies_and_the_candidate_completes) {
    auto& hv1 = ours("hv1");
    ASSERT_TRUE(run_until([&] { return role("hv1") == "primary"; }));
    ours("hv2");
    loop.run_for(7s);
    logs["hv1"].slow_to_give = policy::role_phase::b;
    logs["hv1"].how_slow = 100s;
    ensemble.put(primary_key, "hv2");
    ASSERT_TRUE(run_until([&] { return logs["hv1"].steps.ends_with("-B"); }, 5s));
    hv1.kill();
    EXPECT_TRUE(run_until([&] { return role("hv2") == "primary"; }, 60s));
    EXPECT_EQ(logs["hv2"].steps, "+A+B+C+D+E+F+G");
    nothing_is_locked();
}

TEST_F(lockstep_test, ac80_another_node_is_named_in_the_middle) {
    ours("hv1");
    ASSERT_TRUE(run_until([&] { return role("hv1") == "primary"; }));
    ours("hv2");
    ours("hv3");
    loop.run_for(7s);
    logs["hv2"].slow = policy::role_phase::d;
    ensemble.put(primary_key, "hv2");
    ASSERT_TRUE(run_until([&] { return logs["hv2"].steps.ends_with("+D"); }, 5s));
    ensemble.put(primary_key, "hv3");
    EXPECT_TRUE(run_until([&] { return role("hv3") == "primary"; }, 60s));
    EXPECT_EQ(role("hv1"), "secondary");
    EXPECT_EQ(role("hv2"), "secondary");
    EXPECT_EQ(logs["hv2"].steps, "+A+B+C+D-D-C-B'-B-A");
    nothing_is_locked();
}

// What an operator sees who asks while nothing goes on.
TEST_F(lockstep_test, a_hand_over_explains_what_it_waits_for) {
    auto& hv1 = ours("hv1");
    ASSERT_TRUE(run_until([&] { return role("hv1") == "primary"; }));
    auto& hv2 = ours("hv2");
    loop.run_for(7s);
    EXPECT_EQ(facts_of(hv1).count("transition"), 0U);
    logs["hv1"].slow_to_give = policy::role_phase::b;
    logs["hv1"].how_slow = 8s;
    ensemble.put(primary_key, "hv2");
    loop.run_for(3s);
    auto holder = facts_of(hv1);
    EXPECT_EQ(holder["transition"], "relinquish");
    EXPECT_EQ(holder["phase"], "B");
    EXPECT_EQ(holder["next"], "give up phase B");
    EXPECT_EQ(holder["holds"], "the lock of the phases");
    auto candidate = facts_of(hv2);
    EXPECT_EQ(candidate["transition"], "takeover");
    EXPECT_EQ(candidate["waits_for"], "the end of the partner's turn");
    EXPECT_EQ(candidate["holds"], "the lock of the role");
    EXPECT_EQ(candidate["others_queued"], "1");
    EXPECT_EQ(candidate["partner"], "hv1");
    EXPECT_GT(std::stod(candidate["waits_since_s"]), 2);
    EXPECT_LT(std::stod(candidate["at_most_s"]), 28);
    ASSERT_TRUE(is_settled("hv2", "hv1"));
}

TEST_F(lockstep_test, a_stop_hands_over_in_lockstep) {
    auto& hv1 = ours("hv1");
    ASSERT_TRUE(run_until([&] { return role("hv1") == "primary"; }));
    ours("hv2");
    loop.run_for(7s);
    order.clear();
    hv1.stop();
    EXPECT_TRUE(run_until([&] { return role("hv2") == "primary"; }, 20s));
    for (const std::string phase : {"C", "D", "E", "F"}) {
        expect_order("hv2+" + phase, "hv1-" + phase);
    }
    EXPECT_EQ(role("hv1"), "secondary");
    nothing_is_locked();
}

}  // namespace
}  // namespace pvc::node
