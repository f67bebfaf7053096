// What a flush would do with a machine in each state, and why no node takes it.
#include "pvcnoded/policy/domains/explain_flush.hpp"

#include "pvcnoded/policy/placement/target_objection.hpp"

#include <gtest/gtest.h>

namespace pvc::policy {
namespace {

using model::vm_state;

node_offer offer(const std::string& name, const std::string& free = "1000",
                 model::domain_state domain = model::domain_state::ready,
                 model::daemon_state daemon = model::daemon_state::run) {
    node_offer out;
    out.name = name;
    out.daemon = daemon;
    out.domain = domain;
    out.memfree = free;
    return out;
}

std::string told(const placed_domain& domain, const std::vector<node_offer>& nodes,
                 std::vector<std::string> limit = {}) {
    const auto seen = explain_flush(domain, "hv1", {target_selector::mem, std::move(limit), "hv1"}, nodes);
    return std::string(to_text(seen.what)) + " [" + seen.target + "] " + seen.reason;
}

TEST(explain_flush, each_state) {
    const std::vector<node_offer> nodes{offer("hv1", "9000"), offer("hv2", "4000"), offer("hv3", "8000")};
    const std::string best = "moves [hv3] it has the most free memory (8000 MiB)";
    const struct {
        placed_domain domain;
        std::string wanted;
    } table[] = {
        {{vm_state::start, "hv1", "", false}, best},
        {{vm_state::start, "hv1", "hv2", false}, best},
        {{vm_state::start, "hv1", "hv3", false},
         "returns home [hv3] it belongs there; it has the most free memory (8000 MiB)"},
        {{vm_state::stop, "hv1", "", false}, "stays [] its state is stop: it needs nothing"},
        {{vm_state::disable, "hv1", "", false}, "stays [] its state is disable: it needs nothing"},
        {{vm_state::restart, "hv1", "", false}, "waits [] its state is restart: decided when that is over"},
        {{vm_state::shutdown, "hv1", "", false}, "waits [] its state is shutdown: decided when that is over"},
        {{vm_state::migrate, "hv2", "hv1", false}, "leaves [hv2] it is on its way there"},
        {{vm_state::migrate, "hv1", "hv2", false}, "waits [] it is on its way here: decided when it has arrived"},
    };
    for (const auto& one : table) {
        EXPECT_EQ(told(one.domain, nodes), one.wanted);
        EXPECT_EQ(needs_target(one.domain, "hv1"), one.domain.state == vm_state::start);
    }
}

TEST(explain_flush, no_node_takes_it) {
    const placed_domain running{vm_state::start, "hv1", "", false};
    const std::string after = "; it is started again when this node is made ready";
    const std::string before = "shuts down [] no node can take it";
    EXPECT_EQ(told(running, {}), before + after);
    EXPECT_EQ(told(running, {offer("hv1")}), before + after);
    EXPECT_EQ(
        told(running,
             {offer("hv2", "1", model::domain_state::flushed),
              offer("hv3", "1", model::domain_state::ready, model::daemon_state::dead), offer("hv4")},
             {"hv2", "hv3", "hv5"}),
        before + ": hv2 is not ready (flushed, or about to be); hv3 is not in state run; hv4 is not in its node_limit" +
            after);
}

// Ruling 78: a node that is there and cannot be chosen is no reason to shut anything down.
TEST(explain_flush, a_node_that_cannot_be_chosen_now) {
    const placed_domain running{vm_state::start, "hv1", "", false};
    EXPECT_EQ(
        told(running, {offer("hv1"), offer("hv5", "garbage"), offer("hv2", "1", model::domain_state::flushed)}),
        "stays [] no node can take it now: hv2 is not ready (flushed, or about to be); hv5 offers nothing that can "
        "be compared; it goes on running here");
}

// The choice and what is said of it go by the same.
TEST(explain_flush, an_objection_is_why_a_node_is_not_chosen) {
    const target_request request{target_selector::mem, {"hv2", "hv3"}, "hv1"};
    for (const auto& node : {offer("hv1"), offer("hv2"), offer("hv3", "0"), offer("hv3", ""), offer("hv4"),
                             offer("hv2", "1", model::domain_state::flush),
                             offer("hv2", "1", model::domain_state::ready, model::daemon_state::stop)}) {
        const bool is_chosen = select_target(request, {node}).has_value();
        EXPECT_EQ(is_chosen, objection_to(request, node) == target_objection::none) << node.name << ' ' << node.memfree;
    }
}

}  // namespace
}  // namespace pvc::policy
