// One side of a hand-over, its world in the hands of a test: hv1 is ours, hv2 the other side. Each answer gives the
// next question in words.
#pragma once

#include "pvcnoded/policy/role/candidate.hpp"
#include "pvcnoded/policy/role/holder.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace pvc::policy {

template <class Machine>
struct one_side {
    Machine machine;
    hand_over_seen seen;
    time_point now{std::chrono::hours(1)};
    role_step last;

    one_side() {
        auto& view = seen.view;
        view.self = "hv1";
        view.role = model::router_state::secondary;
        view.started = view.session_live = true;
        view.heartbeat_age = std::chrono::seconds(1);
        view.primary.node = "hv1";
    }
    coordinator_peer& add_peer(model::router_state role, duration silent_for = std::chrono::seconds(1)) {
        coordinator_peer peer;
        peer.name = "hv2";
        peer.daemon = model::daemon_state::run;
        peer.router = role;
        peer.keepalive_unchanged_for = silent_for;
        return seen.view.peers.emplace_back(std::move(peer));
    }
    std::string say(role_answer answer) {
        last = machine.resume({seen, answer, now});
        return last.is_over() ? "over" : to_text(last.what);
    }
    // It is done; the role that was written is the daemon's from now on.
    std::string done() {
        if (const auto* const role = std::get_if<role_ask::write_role>(&last.what)) {
            seen.view.role = role->to;
        }
        return say(role_answer::done);
    }
    std::string woken() { return say(role_answer::woken); }
    std::string woken_at(time_point then) {
        now = then;
        return woken();
    }
    // Until what it asks for is this one.
    bool reaches(const std::string& what) {
        for (int steps = 0; steps < 100; ++steps) {
            if (asks() == what) {
                return true;
            }
            if (asks() == "wait") {
                woken_at(last.until);
            } else {
                done();
            }
        }
        return false;
    }
    [[nodiscard]] std::string asks() const { return last.is_over() ? "over" : to_text(last.what); }
    [[nodiscard]] duration limit() const { return last.until - now; }
    // All questions until it is over; nothing stands in its way.
    std::vector<std::string> rest() {
        std::vector<std::string> out;
        for (int steps = 0; steps < 100 && asks() != "over"; ++steps) {
            out.push_back(asks());
            asks() == "wait" ? woken_at(last.until) : done();
        }
        return out;
    }
};

// A copy of it at each question of an undisturbed walk.
template <class Machine>
void at_each_question(one_side<Machine> side, const std::function<void(one_side<Machine>)>& look) {
    side.woken();
    for (int steps = 0; steps < 100 && side.asks() != "over"; ++steps) {
        SCOPED_TRACE(side.asks() + " " + std::string(side.last.reason) + " in phase " +
                     std::string(to_text(side.machine.phase)));
        look(side);
        side.asks() == "wait" ? side.woken_at(side.last.until) : side.done();
    }
    EXPECT_EQ(side.asks(), "over");
}

}  // namespace pvc::policy
