// What a recovery left: README rulings 38, 44.
#include "unit/fencing/recovery_fixture.hpp"

namespace pvc::node {
namespace {

// README rulings 38, 44: by the fencer itself, under its lock and with a record.
class leftovers : public recovery_test {
protected:
    sim_node& start(const std::string& fencer = "hv1") {
        ensemble.put("/nodes/hv3/domainstate", "flushed");
        ensemble.put("/nodes/hv3/fenceproof", "20261127T070012.345Z-hv1 " + fencer + " power");
        sim_node& hv1 = add_host("hv1");
        hv1.settings.coordinators = {"hv1"};
        hv1.start();
        EXPECT_TRUE(hv1.run_until_ready()) << hv1.log();
        return hv1;
    }
    void run_beating(duration time) { run_with_beats(time, {"hv2", "hv4"}); }
};

TEST_F(leftovers, are_tried_until_there_is_room) {
    put_machine(1, "start", "hv3", "", {{"/node_limit", "hv2,hv4"}});
    list("hv3", "0 " + to_text(number(1)) + " " + to_text(number(9)));
    offer("hv2", "10");
    offer("hv4", "10");
    sim_node& hv1 = start();
    run_beating(60s);
    EXPECT_EQ(where(1), "start hv3  False");
    EXPECT_EQ(value("/nodes/hv3/runningdomains"), to_text(number(1)));
    EXPECT_EQ(hv1.times_logged("[recovery-left]"), 1U) << hv1.log();
    EXPECT_TRUE(
        hv1.logged("machines of hv3 are still to be recovered: m1 (it needs 64 MiB, and the node with the most "
                   "room lacks 54 MiB of that) [recovery-left]"))
        << hv1.log();
    const auto explained = [&hv1, this] {
        const auto all = core::all_that_are<core::explainer>(hv1.daemon().subjects());
        const auto found = std::ranges::find(all, "fences", [](const auto* one) { return one->topic(); });
        std::string text;
        if (found != all.end()) {
            const auto said = (*found)->explain(loop.clock().now() + 5s);
            for (const auto& row : (*said->answer)->lists.front().second) {
                const auto* why = std::get_if<std::string>(&row[3].second);
                text += std::get<std::string>(row[0].second) == "hv3" && why != nullptr ? *why : "";
            }
        }
        return text;
    };
    EXPECT_EQ(explained(), "it is fenced, and its recovery is over, but 1 of its machines is left");
    offer("hv4", "8000");
    run_beating(70s);
    EXPECT_EQ(where(1), "start hv4 hv3 False") << hv1.log();
    EXPECT_EQ(explained(), "it is fenced, and its recovery is over");
    EXPECT_TRUE(lock_children("/config/fence_lock").empty());
}

// Who did not fence it, and cannot try: where the reasons are known.
TEST_F(leftovers, whose_reasons_another_coordinator_knows) {
    has_storage = false;
    put_machine(1);
    list("hv3", to_text(number(1)));
    sim_node& hv1 = start("hv2");
    run_beating(60s);
    EXPECT_EQ(where(1), "start hv3  False");
    EXPECT_TRUE(
        hv1.logged("machines of hv3 are still to be recovered: m1; why is known to hv2, which fenced it: "
                   "pvcnodectl fence show hv3 there [recovery-left]"))
        << hv1.log();
}

// Before a node dies (`explain capacity`): by the same figures and words.
TEST_F(leftovers, R44_are_told_of_beforehand) {
    ensemble.put("/nodes/hv3/daemonstate", "run");
    put_machine(1, "start", "hv3", "", {{"/node_limit", "hv2"}});
    put_machine(2);
    put_machine(3, "stop");
    put_machine(4, "start", "hv2");
    put_machine(5, "migrate", "hv3");
    ensemble.put(model::domain_path(to_text(number(5)), "/xml"), "<domain");
    offer("hv2", "10");
    sim_node& hv1 = start();
    const auto all = core::all_that_are<core::explainer>(hv1.daemon().subjects());
    const auto found = std::ranges::find(all, "capacity", [](const auto* one) { return one->topic(); });
    ASSERT_NE(found, all.end());
    const auto said = (*found)->explain(loop.clock().now() + 5s);
    const auto twice = (*found)->explain(loop.clock().now() + 5s);
    run_beating(5s);
    ASSERT_TRUE(said->answer && *said->answer) << hv1.log();
    ASSERT_TRUE(twice->answer && !*twice->answer);
    std::string text;
    for (const auto& [name, rows] : (*said->answer)->lists) {
        for (const auto& row : rows) {
            text += std::string(name) + ":";
            for (const auto& [field, what] : row) {
                const auto* words = std::get_if<std::string>(&what);
                const auto* amount = std::get_if<double>(&what);
                text += " " + (words != nullptr ? *words : amount != nullptr ? fmt::format("{}", *amount) : "-");
            }
            text += "\n";
        }
    }
    // What hv2 has free is promised to its own machine.
    EXPECT_EQ(text,
              "nodes: hv1 0 0 0\nnodes: hv2 1 64 1\nnodes: hv3 3 128 1\nnodes: hv4 0 0 0\n"
              "without_place: hv3 m1 it needs 64 MiB, and the node with the most room lacks 118 MiB of that\n"
              "without_place: hv3 m5 its definition cannot be read: domain XML: invalid: line 1, column 7: expected a "
              "start tag, found \"n\"\n");
    // Nobody answers: that is said in time.
    hv1.connector.link().answer_delay = 60s;
    const auto silent = (*found)->explain(loop.clock().now() + 5s);
    run_beating(5s);
    EXPECT_TRUE(silent->answer && !*silent->answer);
}

TEST_F(leftovers, one_that_was_parked_is_started_once_there_is_a_node) {
    ensemble.put("/nodes/hv4/domainstate", "flushed");
    sim_node& hv1 = start();
    put_machine(1, "stop", "hv3", "", {{"/node_limit", "hv4"}, {"/node_autostart", "True"}});
    put_machine(2, "stop", "hv3", "", {{"/node_limit", "hv4"}, {"/node_autostart", "True"}});
    zookeeper::transaction parked;  // as a fencer does it
    parked.set(model::domain_path(to_text(number(1)), "/state"), "stop", zookeeper::any_version);
    parked.set(model::domain_path(to_text(number(1)), "/node_autostart"), "True", zookeeper::any_version);
    ASSERT_TRUE(ensemble.commit(parked));
    ensemble.put(model::domain_path(to_text(number(2)), "/node_autostart"), "True");  // a client's
    run_beating(120s);
    EXPECT_EQ(where(1), "stop hv3  True");
    ensemble.put("/nodes/hv4/domainstate", "ready");
    run_beating(130s);
    EXPECT_EQ(where(1), "start hv4 hv3 False") << hv1.log();
    EXPECT_EQ(where(2), "stop hv3  True");
}

TEST_F(leftovers, one_that_is_not_seen_to_run_is_named_each_hour_until_it_runs) {
    put_machine(1);
    offer("hv2", "10");
    sim_node& hv1 = start();
    run_beating(180s);
    EXPECT_EQ(where(1), "start hv4 hv3 False");
    const std::string words = "virtual machine m1 of hv3 was given to hv4 and is not seen to run there";
    EXPECT_EQ(hv1.times_logged(words), 1U) << hv1.log();
    EXPECT_EQ(hv1.times_logged("[recovery-unseen]"), 1U);
    ensemble.put("/nodes/hv3/daemonstate", "run");  // that its old node is back changes nothing
    run_beating(3600s);
    EXPECT_EQ(hv1.times_logged(words), 2U);
    list("hv4", to_text(number(1)));
    run_beating(70s);
    EXPECT_EQ(hv1.times_logged("virtual machine m1 of hv3 runs on hv4"), 1U) << hv1.log();
    list("hv4", "");
    run_beating(4000s);
    EXPECT_EQ(hv1.times_logged(words), 2U);
}

TEST_F(leftovers, what_somebody_else_goes_on_with_is_not_named) {
    put_machine(1);
    offer("hv2", "10");
    sim_node& hv1 = start();
    run_beating(180s);
    ensemble.put(model::domain_path(to_text(number(1)), "/state"), "stop");
    run_beating(4000s);
    EXPECT_EQ(hv1.times_logged("is not seen to run there"), 1U) << hv1.log();
}

TEST_F(leftovers, a_node_that_is_back_keeps_its_own) {
    put_machine(1);
    offer("hv2", "10");
    offer("hv4", "10");
    start();
    ensemble.put("/nodes/hv3/keepalive", "1800000000");
    offer("hv4", "8000");
    run_beating(150s);
    EXPECT_EQ(where(1), "start hv3  False");
    EXPECT_EQ(hardware.rbd.locks("vms/m1").size(), 1U);
}

}  // namespace
}  // namespace pvc::node
