// Why each node is or is not fenced now, in words; the decisions are those of detection.hpp and order.hpp.
#include "pvcnoded/policy/fencing/explain_fences.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace pvc::policy {
namespace {

using namespace std::chrono_literals;
using model::daemon_state;

struct fence_scene {
    const time_point now{1h};
    observer_seen self{.name = "hv1",
                       .is_coordinator = true,
                       .is_run = true,
                       .is_heartbeat_fresh = true,
                       .connected_for = 1h,
                       .fence_intervals = 6,
                       .keepalive = 5s,
                       .coordinators = 1};
    std::string lock_holder;
    fence_view one;

    fence_scene() {
        one.node.name = "hv3";
        one.node.state = daemon_state::run;
        one.node.state_id = 11;
        one.node.heartbeat_id = 20;
        one.node.silent_for = 3s;
        one.node.was_seen_to_beat = true;
    }
    void is_down(daemon_state how) {
        one.node.state = how;
        one.node.silent_for = 100s;
        one.victim = victim_seen{.state = how, .state_id = 11, .heartbeat_id = 20};
        one.memory.look({11, 20, false, 1}, now);
    }
    [[nodiscard]] explained_fence now_is() const {
        const auto all = explain_fences(self, {one}, lock_holder, now);
        EXPECT_EQ(all.size(), 1U);
        return all.empty() ? explained_fence() : all.front();
    }
};

using change = std::function<void(fence_scene&)>;
struct row {
    std::string name;
    change how;
    explained_fence wanted;
};

TEST(explained_fences, each_case) {
    const std::string confirm = "if it is off: pvcnodectl fence confirm hv3";
    const std::string begins =
        "it is marked dead, switched off, and its machines are started elsewhere once it is seen off";
    const std::vector<row> rows{
        {"well",
         [](fence_scene& t) { (void)t; },
         {"hv3", "well", "its heartbeat moved 3 s ago", "", "it is fenced if it sends none for 30 s", {}}},
        {"a bad board",
         [](fence_scene& t) { t.one.board_trouble = "it has no host"; },
         {"hv3",
          "well",
          "its heartbeat moved 3 s ago",
          "a board that can be used: it has no host",
          "it is fenced if it sends none for 30 s",
          {}}},
        {"maintenance",
         [](fence_scene& t) { t.self.in_maintenance = true; },
         {"hv3", "well", "its heartbeat moved 3 s ago", "", "nothing here: maintenance mode is on", {}}},
        {"no intervals",
         [](fence_scene& t) { t.self.fence_intervals = 0; },
         {"hv3", "well", "its heartbeat moved 3 s ago", "", "nothing here: fence_intervals is 0", {}}},
        {"a hypervisor",
         [](fence_scene& t) { t.self.is_coordinator = false; },
         {"hv3", "well", "its heartbeat moved 3 s ago", "", "nothing here: this node is no coordinator", {}}},
        {"silent",
         [](fence_scene& t) {
             t.one.node.silent_for = 12s;
             t.one.node.has_probe_heard_on = true;
         },
         {"hv3", "silent", "no heartbeat for 12 s", "", "it is fenced; at once when its board says off twice", 18s}},
        {"without power",
         [](fence_scene& t) {
             t.one.node.silent_for = 17s;
             t.one.node.has_probe_heard_on = true;
             t.one.node.power = seen_power::off;
         },
         {"hv3", "without power", "no heartbeat for 17 s, and its board says that it has no power", "", begins, {}}},
        {"dead, and another has the lock",
         [](fence_scene& t) {
             t.one.node.silent_for = 31s;
             t.lock_holder = "hv2";
         },
         {"hv3", "dead", "no heartbeat for 31 s", "the fence lock, which hv2 has", begins, {}}},
        {"dead, and no disk",
         [](fence_scene& t) {
             t.one.node.silent_for = 31s;
             t.one.memory.not_before = t.now + 4min;
         },
         {"hv3", "dead", "no heartbeat for 31 s", "a disk here that takes its record",
          "another coordinator is to fence it; this one tries again", 4min}},
        {"may boot",
         [](fence_scene& t) {
             t.one.node.silent_for = 100s;
             t.one.node.was_seen_to_beat = false;
         },
         {"hv3", "silent, may be booting",
          "no heartbeat for 100 s; this daemon has never seen it beat: it may be booting", "", "it is fenced", 500s}},
        {"needed",
         [](fence_scene& t) {
             t.one.node.silent_for = 31s;
             t.one.node.is_coordinator = true;
             t.self.coordinators = 2;
         },
         {"hv3",
          "silent, needed for the majority of coordinators",
          "no heartbeat for 31 s; fewer than a majority of coordinators would run without it",
          "other coordinators in run, or " + confirm,
          "nothing",
          {}}},
        {"stopped",
         [](fence_scene& t) {
             t.one.node.silent_for = 100s;
             t.one.node.state = daemon_state::stop;
         },
         {"hv3", "well", "no heartbeat for 100 s; a node in state stop is not fenced", confirm, "nothing", {}}},
        {"init that never checked in",
         [](fence_scene& t) {
             t.one.node.silent_for = 200s;
             t.one.node.state = daemon_state::init;
             t.one.node.state_id = 30;
         },
         {"hv3",
          "well",
          "no heartbeat for 200 s; it has not checked in since it registered, and is not fenced",
          confirm,
          "nothing",
          {}}},
        {"being fenced",
         [](fence_scene& t) {
             t.is_down(daemon_state::dead);
             t.one.stage = "saving throws";
             t.one.waits_for = "a sign of life";
         },
         {"hv3", "being fenced", "saving throws", "", "it goes on after a sign of life", {}}},
        {"left dead",
         [](fence_scene& t) { t.is_down(daemon_state::dead); },
         {"hv3", "dead", "it is dead, and whoever marked it has not come to an end", "",
          "it is taken up here, unless it changes before", 180s}},
        {"failed",
         [](fence_scene& t) {
             t.is_down(daemon_state::dead);
             t.one.memory.ended(fence_end::failed, 11, 20, t.now - 2min);
             t.one.board_trouble = "it does not answer";
         },
         {"hv3", "dead", "it was not seen off, 1 time",
          "once its board is mended: pvcnodectl fence retry hv3; " + confirm +
              "; a board that can be used: it does not answer",
          "it is tried again", 8min}},
        {"records unread",
         [](fence_scene& t) {
             t.is_down(daemon_state::dead);
             t.one.are_records_unread = true;
         },
         {"hv3", "dead", "it is dead, and whoever marked it has not come to an end",
          "the records of this node's fences, which cannot be read", "it is taken up here, unless it changes before",
          180s}},
        {"fenced",
         [](fence_scene& t) {
             t.is_down(daemon_state::fenced);
             t.one.victim->proof = stored_proof{"r1", "hv2", fence_proof::power, true};
         },
         {"hv3", "fenced", "it is fenced, and its recovery is over", "", "nothing, until it checks in", {}}},
        {"some machines were left",
         [](fence_scene& t) {
             t.is_down(daemon_state::fenced);
             t.one.victim->proof = stored_proof{"r1", "hv2", fence_proof::power, true};
             t.one.machines_left = 2;
         },
         {"hv3",
          "fenced",
          "it is fenced, and its recovery is over, but 2 of its machines are left",
          "",
          "what is left is tried again, until it checks in (why: fence show hv3 on hv2)",
          {}}},
        {"fenced by a client",
         [](fence_scene& t) { t.is_down(daemon_state::fenced); },
         {"hv3",
          "fenced",
          "its state is fenced, and no coordinator of ours has proven that it is off: what belongs to it stays",
          confirm,
          "nothing, until it checks in",
          {}}},
        {"left off",
         [](fence_scene& t) {
             t.is_down(daemon_state::fenced);
             t.one.victim->proof = stored_proof{"r1", "hv1", fence_proof::power, true};
             t.one.left_off = "it was fenced for the third time within an hour";
         },
         {"hv3",
          "fenced",
          "it is fenced, and its recovery is over; it was left off: it was fenced for the third time within an hour",
          "somebody who switches it on",
          "nothing, until it checks in",
          {}}},
        {"off by a word to another coordinator",
         [](fence_scene& t) {
             t.is_down(daemon_state::fenced);
             t.one.victim->proof = stored_proof{"r1", "hv1", fence_proof::power, true};
             t.one.victim->is_worded = true;
         },
         {"hv3",
          "fenced",
          "it is fenced, and its recovery is over; it was left off: an operator says that it is off",
          "somebody who switches it on",
          "nothing, until it checks in",
          {}}},
        {"recovered by others",
         [](fence_scene& t) {
             t.is_down(daemon_state::fenced);
             t.one.victim->is_recovering = true;
             t.one.is_recoverable_here = false;
             t.one.victim->proof = stored_proof{"r1", "hv2", fence_proof::power, true};
         },
         {"hv3", "fenced", "it is fenced, proven by hv2 (record r1), and its machines are being recovered",
          "Ceph, which this node cannot ask", "it is taken up here, unless it changes before", 180s}},
        {"dead in maintenance",
         [](fence_scene& t) {
             t.is_down(daemon_state::dead);
             t.self.in_maintenance = true;
         },
         {"hv3",
          "dead",
          "it is dead, and whoever marked it has not come to an end",
          "",
          "nothing here: maintenance mode is on",
          {}}},
        {"somebody's word",
         [](fence_scene& t) {
             t.is_down(daemon_state::dead);
             t.one.record = own_record::worded;
         },
         {"hv3",
          "well",
          "somebody has confirmed that it is off",
          "",
          "it counts as fenced, and its machines are started elsewhere",
          {}}},
    };
    for (const auto& each : rows) {
        SCOPED_TRACE(each.name);
        fence_scene scene;
        each.how(scene);
        const auto got = scene.now_is();
        EXPECT_EQ(got.what, each.wanted.what);
        EXPECT_EQ(got.why, each.wanted.why);
        EXPECT_EQ(got.missing, each.wanted.missing);
        EXPECT_EQ(got.next, each.wanted.next);
        EXPECT_EQ(got.in, each.wanted.in);
    }
}

}  // namespace
}  // namespace pvc::policy
