// What operators read of nodes that are dead, fenced or down while no attempt of this coordinator is about them.
#include "pvcnoded/policy/fencing/order.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pvc::policy {

using model::daemon_state;
using namespace std::chrono_literals;

namespace {

std::string say_that_it_is_off(const std::string& node) {
    return "if it is off: pvcnodectl fence confirm " + node;
}

bool is_proven_by_ours(const victim_seen& victim) {
    return victim.proof && victim.proof->is_valid;
}

}  // namespace

std::string outlook_of(const std::string& node, const victim_seen& victim, const fence_memory& memory, time_point now) {
    if (victim.state == daemon_state::fenced && !victim.is_recovering) {
        if (!is_proven_by_ours(victim)) {
            return fmt::format(
                "no coordinator of ours has proven that it is off: what belongs to it stays as it is; {}",
                say_that_it_is_off(node));
        }
        return is_said_to_be_off(victim)
                   ? "its machines were dealt with; an operator says that it is off: ask him before you switch it on"
                   : "its machines were dealt with; it may be switched on";
    }
    if (!memory.seen) {
        return {};
    }
    const auto left_until = [now](time_point when) { return std::max<duration>(when - now, {}) / 1s; };
    const auto old = left_until(memory.since + fence_memory::orphan_age);
    if (victim.state == daemon_state::fenced) {
        return fmt::format("its machines are left to who recovers them, and taken up here after {} s without progress",
                           old);
    }
    if (memory.not_before && now < *memory.not_before) {
        return fmt::format(
            "this node could not write the record of its fence, which is left to other coordinators; "
            "tried here again in {} s, or once one can be written",
            left_until(*memory.not_before));
    }
    if (memory.has_failed_at(victim.state_id, victim.heartbeat_id)) {
        return fmt::format(
            "it was not seen off, and is asked again in {} s, or at once: pvcnodectl fence retry {}; if "
            "it is off: pvcnodectl fence confirm {}",
            left_until(memory.failed_at + pause_after_failures(memory.failures)), node, node);
    }
    if (memory.held_back_mark == victim.state_id) {
        return fmt::format(
            "not switched off, as no majority of coordinators would be left; taken up here as soon as one is; if it is "
            "off: pvcnodectl fence confirm {}",
            node);
    }
    return fmt::format("left to who marked it, and taken up here after {} s without progress", old);
}

std::string words_of_forgotten(const node_seen& one, const std::optional<victim_seen>& victim,
                               const std::string& lock_holder) {
    const std::string down = fmt::format("node {} is down (state {}, no heartbeat for {} s)", one.name,
                                         one.state ? to_text(*one.state) : "unknown", one.silent_for / 1s);
    const std::string machines = one.has_machines ? ", and machines belong to it" : "";
    if (one.state == daemon_state::dead) {
        // Who starts it may have it switched off under his hands.
        const std::string by =
            lock_holder.empty() ? std::string() : fmt::format(" ({} has the fence lock now)", lock_holder);
        return fmt::format(
            "{}{}: a coordinator may order it off at any time{}, so do not start it before it is fenced; see that it "
            "is off and say so: pvcnodectl fence confirm {}",
            down, machines, by, one.name);
    }
    if (one.state == daemon_state::fenced && victim && is_proven_by_ours(*victim)) {
        if (victim->is_recovering) {
            return fmt::format("{}, and its machines are being recovered (record {} of {}): start it once that is over",
                               down, victim->proof->record, victim->proof->by);
        }
        return down + (one.has_machines ? ", and machines of it are left: start it, or see why they are left"
                                        : ": its machines were dealt with; start it");
    }
    const std::string unproven = one.state == daemon_state::fenced && victim
                                     ? "; no coordinator of ours has proven that it is off, and nothing is started "
                                       "elsewhere"
                                     : "";
    return fmt::format("{}{}{}: start it, or see that it is off and say so: pvcnodectl fence confirm {}", down,
                       machines, unproven, one.name);
}

}  // namespace pvc::policy
