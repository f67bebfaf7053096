#include "pvcnoded/policy/fencing/detection.hpp"

#include "pvcnoded/base/planted.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pvc::policy {

using namespace std::chrono_literals;

namespace {

constexpr duration forgotten_after = 300s;
constexpr duration boots_within = 10min;
constexpr duration storm_passes_within = 10min;
constexpr duration shortest_for_init = 60s;
constexpr duration shortest_silence = 10s;
constexpr std::size_t smallest_storm = 3;

using model::daemon_state;

duration dead_after(const observer_seen& self) {
    return self.keepalive * self.fence_intervals;
}

duration silent_after(const observer_seen& self) {
    return std::max<duration>(2 * self.keepalive, shortest_silence);
}

// Whether it has checked in since it registered: what an older heartbeat says is about another life.
bool is_fenced_in_this_state(const node_seen& one) {
    if (!one.heartbeat_id || !one.state) {
        return false;
    }
    return *one.state == daemon_state::run ||
           (*one.state == daemon_state::init && one.state_id && *one.heartbeat_id > *one.state_id);
}

bool is_forgotten(const node_seen& one) {
    if (one.silent_for < forgotten_after) {
        return false;
    }
    return one.has_machines || one.state == daemon_state::dead || one.state == daemon_state::fenced;
}

duration limit_of(const observer_seen& self, const node_seen& one) {
    const duration usual = one.state == daemon_state::init ? std::max<duration>(2 * dead_after(self), shortest_for_init)
                                                           : dead_after(self);
    return one.was_seen_to_beat || is_planted(defect::fence_booting_site)
               ? usual
               : std::max<duration>({usual, 2 * dead_after(self), boots_within});
}

bool fell_silent(const observer_seen& self, const node_seen& one) {
    const bool counts =
        one.state == daemon_state::run || one.state == daemon_state::init || one.state == daemon_state::dead;
    return counts && one.heartbeat_id && one.silent_for > silent_after(self);
}

// The most nodes that fell silent with that one, all of them within the time after which a node is dead.
std::size_t silent_with(const observer_seen& self, const std::vector<node_seen>& others, const node_seen& one) {
    std::vector<duration> ages;
    for (const auto& other : others) {
        if (fell_silent(self, other)) {
            ages.push_back(other.silent_for);
        }
    }
    std::ranges::sort(ages);
    std::size_t most = 0;
    for (const auto first : ages) {
        if (first <= one.silent_for && one.silent_for - first <= dead_after(self)) {
            most = std::max(most, static_cast<std::size_t>(std::ranges::count_if(ages, [&](duration age) {
                                return age >= first && age - first <= dead_after(self);
                            })));
        }
    }
    return most;
}

bool is_in_storm(const observer_seen& self, const std::vector<node_seen>& others, const node_seen& one) {
    const auto together = silent_with(self, others, one);
    return together >= smallest_storm && 2 * together > others.size();
}

verdict_on_node judge_silent(const observer_seen& self, const std::vector<node_seen>& others, const node_seen& one) {
    const bool is_off = one.power == seen_power::off && one.has_probe_heard_on && one.was_seen_to_beat &&
                        one.state == daemon_state::run;
    if (is_off) {
        return {.name = one.name, .what = node_verdict::seen_off, .after = {}};
    }
    if (const auto limit = limit_of(self, one); one.silent_for <= limit) {
        const bool would_be_dead = !one.was_seen_to_beat && one.silent_for > dead_after(self);
        return {.name = one.name,
                .what = would_be_dead ? node_verdict::may_boot : node_verdict::silent,
                .after = limit - one.silent_for};
    }
    if (!one.is_lease_over && one.silent_for < storm_passes_within && is_in_storm(self, others, one) &&
        !is_planted(defect::fence_storm_at_once)) {
        return {.name = one.name, .what = node_verdict::storm, .after = storm_passes_within - one.silent_for};
    }
    return {.name = one.name, .what = node_verdict::dead, .after = {}};
}

// A heartbeat is made up to one interval after the look before it.
bool stays_in_run(const observer_seen& self, const node_seen& one, majority_at when) {
    return one.is_coordinator && one.state == daemon_state::run &&
           (when == majority_at::mark || (one.was_seen_to_beat && one.silent_for <= dead_after(self) + self.keepalive));
}

}  // namespace

void state_watch::observe(std::optional<std::int64_t> state_id, std::optional<std::int64_t> heartbeat_id,
                          duration silent_for) {
    if (state_id != state_ || heartbeat_id != heartbeat_ || silent_for < last_) {
        state_ = state_id;
        heartbeat_ = heartbeat_id;
        first_.reset();
    } else if (!first_ && silent_for > last_) {
        first_ = silent_for;
    }
    last_ = silent_for;
}

void heartbeats_seen::hear(const std::string& node, std::int64_t id, time_point asked) {
    auto& last = all_.try_emplace(node, heartbeat{id, asked, std::nullopt}).first->second;
    if (id > last.id) {
        last = {id, asked, last.looked};
    } else if (id == last.id) {
        last.looked = std::max(last.looked, asked);
    }
}

bool heartbeats_seen::was_seen_to_beat(const std::string& node) const {
    const auto found = all_.find(node);
    return found != all_.end() && found->second.made.has_value();
}

duration heartbeats_seen::silent_at_most(const std::string& node, time_point now) const {
    const auto found = all_.find(node);
    return found != all_.end() && found->second.made ? now - *found->second.made : duration::max();
}

duration quiet_for(const node_seen& one) {
    const bool is_up = one.state == daemon_state::run || one.state == daemon_state::init;
    const bool has_said_so = is_up && one.state_id && one.heartbeat_id && *one.state_id > *one.heartbeat_id;
    return has_said_so ? std::min(one.silent_for, one.in_state_for) : one.silent_for;
}

std::string_view to_text(node_verdict what) {
    switch (what) {
        case node_verdict::well: return "well";
        case node_verdict::silent: return "silent";
        case node_verdict::seen_off: return "without power";
        case node_verdict::dead: return "dead";
        case node_verdict::may_boot: return "silent, may be booting";
        case node_verdict::storm: return "silent, with most of the cluster";
        case node_verdict::needed: return "silent, needed for the majority of coordinators";
        case node_verdict::forgotten: return "down";
    }
    return "well";
}

std::string why_not_judging(const observer_seen& self) {
    if (!self.is_coordinator) {
        return "this node is no coordinator";
    }
    if (self.fence_intervals <= 0) {
        return "fence_intervals is 0";
    }
    if (self.in_maintenance) {
        return "maintenance mode is on";
    }
    if (!self.is_run) {
        return "this node is not in run";
    }
    if (!self.is_heartbeat_fresh) {
        return "its own heartbeat was not acknowledged";
    }
    if (self.connected_for < dead_after(self)) {
        return fmt::format("it has been connected to ZooKeeper for {} s, and judges after {} s",
                           self.connected_for / 1s, dead_after(self) / 1s);
    }
    return {};
}

std::vector<verdict_on_node> judge_nodes(const observer_seen& self, const std::vector<node_seen>& others) {
    std::vector<node_seen> in_order = others;
    std::ranges::sort(in_order, {}, &node_seen::name);
    for (auto& one : in_order) {
        one.silent_for = quiet_for(one);
    }
    const bool speaks = self.is_coordinator && self.is_run && !self.in_maintenance && self.is_heartbeat_fresh;
    const bool judges = why_not_judging(self).empty();
    std::vector<verdict_on_node> all;
    for (auto& one : in_order) {
        verdict_on_node verdict{.name = one.name, .what = node_verdict::well, .after = {}};
        if (one.name == self.name) {
            continue;
        }
        if (!is_fenced_in_this_state(one)) {
            verdict.what = speaks && is_forgotten(one) ? node_verdict::forgotten : node_verdict::well;
        } else if (judges && one.silent_for > silent_after(self)) {
            verdict = judge_silent(self, in_order, one);
        }
        const bool is_condemned = verdict.what == node_verdict::dead || verdict.what == node_verdict::seen_off;
        if (is_condemned && one.is_coordinator && !majority_stays(self, in_order, one.name, majority_at::mark)) {
            verdict.what = node_verdict::needed;
        } else if (is_condemned) {
            one.state = daemon_state::dead;  // who comes after it must not count on it
        }
        all.push_back(std::move(verdict));
    }
    return all;
}

std::string outlook_of(const verdict_on_node& one) {
    if (one.what != node_verdict::may_boot && one.what != node_verdict::storm) {
        return {};
    }
    return fmt::format("it is fenced in {} s, unless it checks in; if it is off: pvcnodectl fence confirm {}",
                       one.after.value_or(duration::zero()) / 1s, one.name);
}

bool majority_stays(const observer_seen& self, const std::vector<node_seen>& others, const std::string& without,
                    majority_at when) {
    std::size_t left = self.is_coordinator && self.is_run ? 1 : 0;
    for (const auto& one : others) {
        left += one.name != without && one.name != self.name && stays_in_run(self, one, when) ? 1U : 0U;
    }
    return 2 * left > self.coordinators;
}

bool asks_for_power(const observer_seen& self, const node_seen& one) {
    return why_not_judging(self).empty() && one.name != self.name && one.state == daemon_state::run &&
           one.was_seen_to_beat && one.has_probe_heard_on && one.heartbeat_id && quiet_for(one) > silent_after(self);
}

}  // namespace pvc::policy
