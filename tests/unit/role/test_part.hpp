// A part of the role that notes what it is asked to do, in a daemon of its own.
#pragma once

#include "pvcnoded/role/primary_role.hpp"
#include "sim/sim_node.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pvc::node {

struct part_log {
    std::string steps;                               // "+A" taken up, "-A" given up, "~A" given up without ZooKeeper
    std::optional<policy::role_phase> slow;          // to be taken up
    std::optional<policy::role_phase> slow_to_give;  // once
    duration how_slow = std::chrono::seconds(40);
    std::vector<std::string>* together = nullptr;  // the ends of the steps of several nodes, in order: "hv1-A"
    std::function<void(const std::string& step)> on_step;
};

class test_part final : public core::subject, public core::role_part {
public:
    test_part(core::node_context& node, part_log& log) : node_(node), log_(log) {}
    [[nodiscard]] std::string_view name() const override { return "part"; }
    async::awaitable<void> take_up(policy::role_phase which, core::session& /*s*/) override {
        log_.steps += "+" + std::string(to_text(which));
        if (log_.slow == which) {
            co_await async::sleep_for(node_.clock(), std::chrono::seconds(60), "a step that takes a minute");
        }
        note("+", which);
    }
    async::awaitable<void> give_up(policy::role_phase which, core::session* s) override {
        log_.steps += (s == nullptr ? "~" : "-") + std::string(to_text(which));
        if (log_.slow_to_give == which) {
            log_.slow_to_give.reset();
            co_await async::sleep_for(node_.clock(), log_.how_slow, "a step that takes long");
            log_.steps += "!";
        }
        note("-", which);
    }

private:
    void note(std::string_view sign, policy::role_phase which) {
        const std::string step = std::string(sign) + std::string(to_text(which));
        if (log_.together != nullptr) {
            log_.together->push_back(node_.self() + step);
        }
        if (log_.on_step) {
            log_.on_step(step);
        }
    }

    core::node_context& node_;
    part_log& log_;
};

// Before it is started. The log outlives the daemon.
inline void plug_in(sim::sim_node& into, part_log& log) {
    into.plug_in = [&log](assembly& all) {
        all.make = [&log, before = std::move(all.make)](core::node_context& node) {
            auto made = before(node);
            made.insert(made.begin(), std::make_unique<test_part>(node, log));
            // As the list of the product does: the role comes last, and asks who has a part of it.
            made.pop_back();
            made.push_back(std::make_unique<role::primary_role>(node, core::all_that_are<core::role_part>(made)));
            return made;
        };
    };
}

}  // namespace pvc::node
