#include "pvcnoded/policy/fencing/confirm.hpp"

#include "pvcnoded/base/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace pvc::policy {

using namespace std::chrono_literals;

namespace {
constexpr duration shortest_quiet = 30s;

// Whatever it is that is asked of this node about that one.
template <class Seen>
std::string why_not_asked_here(const Seen& seen) {
    if (!seen.is_coordinator) {
        return fmt::format("this node is no coordinator; ask one: {}",
                           fmt::join(seen.coordinators.begin(), seen.coordinators.end(), ", "));
    }
    if (!seen.is_known) {
        return fmt::format("there is no node {}", shown(seen.node));
    }
    if (seen.node == seen.self) {
        return "this is the node itself, and it runs";
    }
    return {};
}

}  // namespace

std::string why_not_confirmed(const confirm_seen& seen) {
    if (auto why = why_not_asked_here(seen); !why.empty()) {
        return why;
    }
    if (seen.ordered && seen.ordered->ago < order_is_open) {
        return fmt::format(
            "node {} ordered the board of {} to switch it on {} s ago: it may boot, look at it; no "
            "further order is given. If it is off, ask again in {} s",
            seen.ordered->by, seen.node, seen.ordered->ago / 1s, (order_is_open - seen.ordered->ago) / 1s + 1);
    }
    if (seen.is_under_way) {
        return fmt::format("node {} is proven to be off already, and its machines are being recovered{}", seen.node,
                           seen.is_noted ? "; it is not switched on afterwards, by this word" : "");
    }
    if (!seen.taken_before.empty()) {
        return fmt::format("node {} is fenced by an operator's word already, and its recovery is over: record {}",
                           seen.node, seen.taken_before);
    }
    const duration quiet = std::max<duration>(seen.fence_intervals * seen.keepalive, shortest_quiet);
    if (seen.looked_for < quiet) {
        return fmt::format("this daemon has looked at the heartbeat of {} for {} s; ask again in {} s", seen.node,
                           seen.looked_for / 1s, (quiet - seen.looked_for) / 1s + 1);
    }
    if (seen.silent_for < quiet) {
        return fmt::format("the heartbeat of {} moved {} s ago: it runs, or did; if it is off, ask again in {} s",
                           seen.node, seen.silent_for / 1s, (quiet - seen.silent_for) / 1s + 1);
    }
    if (seen.board == board_power::on && !seen.although_on) {
        return fmt::format("the board of {} says that it is on; switch it off, or say --although-on", seen.node);
    }
    return {};
}

std::string why_not_retried(const retry_seen& seen) {
    if (auto why = why_not_asked_here(seen); !why.empty()) {
        return why;
    }
    if (seen.is_under_way) {
        return "its fence is under way: see fence show " + seen.node;
    }
    if (seen.state != model::daemon_state::dead) {
        return fmt::format("node {} is {}, and not dead: there is nothing to be tried again", seen.node,
                           seen.state ? to_text(*seen.state) : "in no state that is known");
    }
    if (!seen.not_judging.empty()) {
        return "this node fences nobody now: " + seen.not_judging;
    }
    if (!seen.has_failed) {
        return fmt::format(
            "no fence of {} by this node has failed since it fell silent: ask the others ({}); explain "
            "fences says what comes next here",
            seen.node, fmt::join(seen.coordinators.begin(), seen.coordinators.end(), ", "));
    }
    return {};
}

std::string why_word_waits(std::string_view holder, bool is_node, std::string_view fence_waits_for) {
    if (holder.empty() && !fence_waits_for.empty()) {
        return fmt::format("its fence here still waits for {}: ask again", fence_waits_for);
    }
    if (holder.empty()) {
        return "the fence lock or the disk was not to be had in time: ask again";
    }
    if (!is_node) {
        return fmt::format("{} has the fence lock, and is no node of this cluster: end it, and ask again", holder);
    }
    const auto node = holder.substr(0, holder.find(':'));
    return fmt::format(
        "{} has the fence lock: say it on node {}, or ask again when that fence is over; --although-on does "
        "not help",
        holder, node);
}

bool word_stands(const node_of_word& then, const node_of_word& now) {
    const bool is_of_others = now.state == model::daemon_state::dead || now.state == model::daemon_state::fenced;
    return now.heartbeat_id == then.heartbeat_id && (now.state_id == then.state_id || is_of_others);
}

}  // namespace pvc::policy
