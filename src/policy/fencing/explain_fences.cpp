#include "pvcnoded/policy/fencing/explain_fences.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pvc::policy {

using namespace std::chrono_literals;
using model::daemon_state;

namespace {

std::string confirm_it(const std::string& node) {
    return "if it is off: pvcnodectl fence confirm " + node;
}

std::string heartbeat_of(const node_seen& one) {
    return one.heartbeat_id ? fmt::format("no heartbeat for {} s", one.silent_for / 1s) : "it has no heartbeat";
}

void add_missing(explained_fence& out, std::string what) {
    out.missing += (out.missing.empty() ? "" : "; ") + std::move(what);
}

// What a coordinator that takes it up needs, whatever brings it to that.
void add_needs(explained_fence& out, const fence_view& one, const std::string& lock_holder, time_point now) {
    if (!one.board_trouble.empty()) {
        add_missing(out, "a board that can be used: " + one.board_trouble);
    }
    if (!lock_holder.empty()) {
        add_missing(out, "the fence lock, which " + lock_holder + " has");
    }
    if (one.memory.not_before && now < *one.memory.not_before) {
        add_missing(out, "a disk here that takes its record");
        out.next = "another coordinator is to fence it; this one tries again";
        out.in = *one.memory.not_before - now;
    }
}

std::string words_of_state(const node_seen& one) {
    return one.state ? std::string(to_text(*one.state)) : std::string("unknown");
}

void explain_recovery(explained_fence& out, const fence_view& one) {
    if (one.victim->proof && one.victim->proof->is_valid) {
        out.why = fmt::format("it is {}, proven by {} (record {}), and its machines are being recovered",
                              words_of_state(one.node), one.victim->proof->by, one.victim->proof->record);
    } else {
        out.why = fmt::format("it is {}, and its machines are being recovered by whoever fenced it",
                              words_of_state(one.node));
    }
    if (!one.is_recoverable_here) {
        add_missing(out, "Ceph, which this node cannot ask");
    }
}

// And nobody recovers its machines.
void explain_fenced(explained_fence& out, const fence_view& one) {
    out.next = "nothing, until it checks in";
    if (!one.victim->proof || !one.victim->proof->is_valid) {
        out.why = "its state is fenced, and no coordinator of ours has proven that it is off: what belongs to it stays";
        add_missing(out, confirm_it(one.node.name));
        return;
    }
    out.why = "it is fenced, and its recovery is over";
    if (one.machines_left > 0) {
        out.why +=
            fmt::format(", but {} of its machines {} left", one.machines_left, one.machines_left == 1 ? "is" : "are");
        out.next = "what is left is tried again, until it checks in (why: fence show " + one.node.name + " on " +
                   one.victim->proof->by + ")";
    }
    if (!one.left_off.empty()) {
        out.why += "; it was left off: " + one.left_off;
        add_missing(out, "somebody who switches it on");
    } else if (is_said_to_be_off(*one.victim)) {
        out.why += "; it was left off: an operator says that it is off";
        add_missing(out, "somebody who switches it on");
    }
}

// `dead` or `fenced`.
void explain_down(explained_fence& out, const observer_seen& self, const fence_view& one,
                  const std::string& lock_holder, time_point now) {
    if (!one.victim) {
        out.why = "its keys are being read";
        return;
    }
    const bool has_failed = one.memory.failures > 0 && one.memory.failed_mark == one.victim->state_id;
    if (one.victim->is_recovering) {
        explain_recovery(out, one);
    } else if (one.victim->state == daemon_state::fenced) {
        explain_fenced(out, one);
        return;
    } else if (has_failed) {
        out.why = fmt::format("it was not seen off, {} time{}", one.memory.failures,
                              one.memory.failures == 1 ? "" : "s in a row");
        add_missing(out, "once its board is mended: pvcnodectl fence retry " + one.node.name);
        add_missing(out, confirm_it(one.node.name));
    } else {
        out.why = "it is dead, and whoever marked it has not come to an end";
    }
    const std::string why_not = why_not_judging(self);
    const left_over left{.victim = *one.victim,
                         .may_detect = why_not.empty(),
                         .may_act = self.is_coordinator && self.is_run && self.is_heartbeat_fresh,
                         .record = one.record,
                         .is_recoverable_here = one.is_recoverable_here};
    const auto next = next_attempt(left, one.memory, now);
    if (next.why) {
        out.next = fmt::format("it is taken up here now ({})", to_text(*next.why));
    } else if (next.after) {
        out.next = has_failed ? "it is tried again" : "it is taken up here, unless it changes before";
        out.in = std::max(*next.after - now, duration::zero());
    } else if (!why_not.empty()) {
        out.next = "nothing here: " + why_not;
        return;
    }
    if (one.are_records_unread) {
        add_missing(out, "the records of this node's fences, which cannot be read");
    }
    add_needs(out, one, lock_holder, now);
}

void explain_silent(explained_fence& out, const fence_view& one, const verdict_on_node& verdict,
                    const std::string& lock_holder, time_point now) {
    const std::string at_once = one.node.has_probe_heard_on ? "; at once when its board says off twice" : "";
    out.why = heartbeat_of(one.node);
    switch (verdict.what) {
        case node_verdict::seen_off:
        case node_verdict::dead:
            if (verdict.what == node_verdict::seen_off) {
                out.why += ", and its board says that it has no power";
            }
            out.next = "it is marked dead, switched off, and its machines are started elsewhere once it is seen off";
            add_needs(out, one, lock_holder, now);
            return;
        case node_verdict::may_boot:
            out.why += "; this daemon has never seen it beat: it may be booting";
            out.next = "it is fenced";
            break;
        case node_verdict::storm:
            out.why += "; most of the cluster fell silent with it";
            add_missing(out, "an answer of its board that it is off, or " + confirm_it(one.node.name));
            out.next = "it is fenced";
            break;
        case node_verdict::needed:
            out.why += "; fewer than a majority of coordinators would run without it";
            add_missing(out, "other coordinators in run, or " + confirm_it(one.node.name));
            out.next = "nothing";
            return;
        case node_verdict::silent:
        case node_verdict::well:
        case node_verdict::forgotten: out.next = "it is fenced" + at_once; break;
    }
    out.in = verdict.after;
    if (!one.board_trouble.empty()) {
        add_missing(out, "a board that can be used: " + one.board_trouble);
    }
}

explained_fence explain_one(const observer_seen& self, const fence_view& one, const verdict_on_node& verdict,
                            const std::string& lock_holder, time_point now) {
    explained_fence out{.node = one.node.name,
                        .what = std::string(to_text(verdict.what)),
                        .why = {},
                        .missing = {},
                        .next = {},
                        .in = {}};
    if (!one.stage.empty()) {
        out.what = "being fenced";
        out.why = one.stage;
        out.next = one.waits_for.empty() ? std::string("it goes on") : "it goes on after " + one.waits_for;
        if (!one.board_trouble.empty()) {
            add_missing(out, "a board that can be used: " + one.board_trouble);
        }
        return out;
    }
    if (one.record == own_record::worded) {
        out.why = "somebody has confirmed that it is off";
        out.next = "it counts as fenced, and its machines are started elsewhere";
        add_needs(out, one, lock_holder, now);
        return out;
    }
    if (one.node.state == daemon_state::dead || one.node.state == daemon_state::fenced) {
        out.what = words_of_state(one.node);
        explain_down(out, self, one, lock_holder, now);
        return out;
    }
    if (verdict.what != node_verdict::well && verdict.what != node_verdict::forgotten) {
        explain_silent(out, one, verdict, lock_holder, now);
        return out;
    }
    const bool beats = one.node.heartbeat_id && one.node.silent_for <= 2 * self.keepalive;
    out.why = beats ? fmt::format("its heartbeat moved {} s ago", one.node.silent_for / 1s) : heartbeat_of(one.node);
    if (const auto why_not = why_not_judging(self); !why_not.empty()) {
        out.next = "nothing here: " + why_not;
        return out;
    }
    if (one.node.state != daemon_state::run && one.node.state != daemon_state::init) {
        out.why += "; a node in state " + words_of_state(one.node) + " is not fenced";
        out.next = "nothing";
        if (!beats) {
            add_missing(out, confirm_it(one.node.name));
        }
        return out;
    }
    if (one.node.state == daemon_state::init && !beats) {
        out.why += "; it has not checked in since it registered, and is not fenced";
        out.next = "nothing";
        add_missing(out, confirm_it(one.node.name));
        return out;
    }
    out.next = fmt::format("it is fenced if it sends none for {} s", self.fence_intervals * self.keepalive / 1s);
    if (!one.board_trouble.empty()) {
        add_missing(out, "a board that can be used: " + one.board_trouble);
    }
    return out;
}

}  // namespace

std::vector<explained_fence> explain_fences(const observer_seen& self, const std::vector<fence_view>& all,
                                            const std::string& lock_holder, time_point now) {
    std::vector<node_seen> nodes;
    std::ranges::transform(all, std::back_inserter(nodes), [](const fence_view& one) { return one.node; });
    std::vector<explained_fence> out;
    for (const auto& verdict : judge_nodes(self, nodes)) {
        const auto found = std::ranges::find(all, verdict.name, [](const fence_view& one) { return one.node.name; });
        out.push_back(explain_one(self, *found, verdict, lock_holder, now));
    }
    return out;
}

}  // namespace pvc::policy
