// That the packet filter of every machine is what /networks says, and never a part of it (networking.md 7).
//
// A node is given half a minute from the last change of a network's keys, three quarters of one from what befell its
// packet filter, and as long as ever from anything else that disturbed it.
#include "sim/subjects/networks/filter.hpp"
#include "sim/subjects/role/role.hpp"
#include "sim/world/judge.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace pvc::sim {

using namespace std::chrono_literals;

namespace {

constexpr duration after_trouble = 45s;
constexpr duration after_change = 30s;
constexpr duration told_within = 15s;

struct filter_troubles {
    std::map<std::uint32_t, time_point> when;  // by member
    std::map<std::uint32_t, int> to_strike;    // what was to strike with a batch, by member
};

void note_refusal(judge& of, const member& one, const model::filter_change& change) {
    const auto* const added = std::get_if<model::add_rule>(&change);
    if (added == nullptr) {
        return;
    }
    if (auto name = acl_of_rule(added->rule); !name.empty()) {
        of.state<filter_looks>().refused[one.number].emplace_back(std::move(name), added->rule.expressions);
    }
}

void listen_to_filters(judge& of) {
    if (!has_networking(of.world)) {
        return;
    }
    for (const auto& member : of.world.members) {
        auto& one = *member;
        one.node.filter.on_refusal = [&of, &one](const model::filter_change& change) { note_refusal(of, one, change); };
        one.node.filter.on_batch = [&of, &one] {
            if (const auto torn = torn_filter(one.node.filter_table); !torn.empty()) {
                of.say("firewall_is_whole", one.name() + ": " + torn);
            }
        };
    }
}

// Conflicts, refusals and lost answers strike with a batch, whenever that is: each that did is a trouble of its moment.
void note_strikes(judge& of, const member& one) {
    const auto& filter = one.node.filter;
    const int to_come = filter.conflicts + (filter.refuses ? 1 : 0) +
                        (filter.next_unanswered != sim_packet_filter::unanswered::no ? 1 : 0);
    if (std::exchange(of.world.state<filter_troubles>().to_strike[one.number], to_come) > to_come) {
        note_filter_trouble(of.world, one);
    }
}

bool is_untroubled(const judge& of, const member& one) {
    const auto& when = of.world.state<filter_troubles>().when;
    const auto found = when.find(one.number);
    return !one.node.filter.has_fault() && !one.node.filter.refuses_if && one.node.filter.torn_looks == 0 &&
           (found == when.end() || of.world.now() - found->second > after_trouble);
}

void firewall_stands(judge& of) {
    if (!has_networking(of.world)) {
        return;
    }
    for (const auto& one : of.world.members) {
        note_strikes(of, *one);
        const bool is_judged = one->node.is_running() && one->node.is_ready() && !one->node.is_paused() &&
                               of.world.is_calm(*one) && of.world.now() - one->calm_from > after_change &&
                               is_untroubled(of, *one);
        const auto wrong = is_judged ? wrong_with_filter(of, *one) : std::string();
        if (!wrong.empty()) {
            of.say("firewall_stands", one->name() + ": " + wrong);
        }
    }
}

bool is_written(const core::log_hub& log) {
    return std::ranges::all_of(log.sinks(), &core::log_sink::idle);
}

// A disk that hangs or is full keeps nothing: the log says so, not more often than each ten seconds. That line is
// waited for; a daemon that dies before it was written, and one whose log loses lines then (which it counts), may have
// said it.
void host_rules_are_kept(judge& of) {
    if (!has_networking(of.world)) {
        return;
    }
    auto& known = of.world.state<host_rules>();
    for (const auto& one : of.world.members) {
        const auto* log = one->node.is_running() ? &one->node.daemon().context().log : nullptr;
        auto& lost = known.lost[one->number];
        if (log != nullptr && std::exchange(lost.lines, log->lost()) != log->lost()) {
            lost.last = of.world.now();
        }
        const auto found = known.to_judge.find(one->number);
        if (found != known.to_judge.end()) {
            const auto& then = found->second;
            const bool is_lossy = lost.last && *lost.last + told_within > then.when;
            const bool may_be_lost = log == nullptr || one->life != then.life || is_lossy;
            const bool is_kept = one->node.host.files.contains("/var/lib/pvc/nftables-before") ||
                                 one->node.logged("could not be kept in /var/lib/pvc/nftables-before");
            if (!may_be_lost && is_written(*log) && !is_kept) {
                of.say("host_rules_are_kept",
                       one->name() + " has replaced the firewall of its host, and kept nothing of it");
            }
            if (may_be_lost || is_written(*log)) {
                known.to_judge.erase(found);
            }
        }
        const auto replaced = one->node.filter_table.host_rules_replaced;
        if (replaced != 0 && std::exchange(known.replaced[one->number], replaced) != replaced) {
            known.to_judge.try_emplace(one->number, host_rules::replacement{one->life, of.world.now()});
        }
    }
}

std::optional<std::string> firewall_is_right(const judge& of) {
    if (!has_networking(of.world)) {
        return std::nullopt;
    }
    for (const auto& one : of.world.members) {
        if (auto wrong = wrong_with_filter(of, *one); !wrong.empty()) {
            return one->name() + ": " + wrong;
        }
    }
    return std::nullopt;
}

constexpr rule filter_rules[] = {
    {.name = "firewall_is_whole",
     .meaning = "no batch of a daemon leaves a part of what a network has in the packet filter",
     .on_begin = listen_to_filters},
    {.name = "firewall_stands",
     .meaning = "on a calm node the packet filter has just the rules that /networks says within 30 s, in their order",
     .on_second = firewall_stands},
    {.name = "host_rules_are_kept",
     .meaning = "who replaces the firewall of the host has kept it aside before",
     .on_second = host_rules_are_kept},
};

constexpr progress filter_progress[] = {
    {"firewall", "the packet filter of every node is as /networks says", firewall_is_right},
};

constexpr planted_mistake filter_mistakes[] = {
    {defect::filter_in_halves, "filter_in_halves"},
    {defect::filter_rule_kept, "filter_rule_kept"},
    {defect::acls_by_text, "acls_by_text"},
    {.which = defect::firewall_not_kept, .name = "firewall_not_kept", .is_of_hosts = true},
};

}  // namespace

void note_filter_trouble(cluster& world, const member& target) {
    world.state<filter_troubles>().when.insert_or_assign(target.number, world.now());
}

void add_filter_rules(registry& to) {
    to.add(filter_rules);
    to.add(filter_progress);
    to.add(filter_mistakes);
}

}  // namespace pvc::sim
