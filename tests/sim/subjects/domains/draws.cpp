// How random runs draw what befalls virtual machines.
#include "sim/subjects/domains/domains.hpp"
#include "sim/world/chaos.hpp"

#include <algorithm>
#include <array>

namespace pvc::sim {

using namespace std::chrono_literals;

std::uint64_t with_guests(cluster& world) {
    return guests_of(world).defined.empty() ? 0 : 1;
}

// Most faults are meant for moves.
std::uint64_t most_of_all(cluster& world) {
    return with_guests(world) * (world.foreign_machines().empty() ? 4 : 16);
}

// All may have been removed; then it befalls nobody.
std::int64_t some_guest(drawing& from) {
    const auto& all = guests_of(from.world).defined;
    const std::uint64_t which = from.random.next();
    return all.empty() ? 1 : all[which % all.size()];
}

const std::string& some_host(drawing& from) {
    const bool is_ours = from.world.foreign_machines().empty() || from.random.below(2) == 0;
    return is_ours ? from.some_member() : from.world.foreigners.front()->settings.name;
}

void draw_call(drawing& from, action& out) {
    static constexpr std::array calls{"create", "destroy", "shutdown",        "resume", "list",     "survey",
                                      "status", "migrate", "abort_migration", "ask",    "live_xml", "progress"};
    out.value = from.one_of(calls);
    out.amount = from.some_time(50ms, 30s);
}

namespace {

// The answer is an error, and who has the machine then can hardly be asked; the sender may not live to hear it.
void break_reply(drawing& from, std::int64_t number, const std::string& target) {
    action& fault = from.follow_up(1ms, "fail-migration");
    fault.number = number;
    fault.value = "reply";
    static constexpr std::array<std::string_view, 4> kinds{"cut-hypervisor", "cut-hypervisor", "stop-libvirtd",
                                                           "pause"};
    action& silence = from.follow_up(from.some_time(500ms, 8s), from.one_of(kinds));
    silence.node = target;
    silence.lasts = from.some_time(16s, 60s);
    const auto sender = std::ranges::find_if(from.world.members, [&](const auto& one) {
        return one->node.settings.hypervisor && one->node.guests().executes(guest_id(number));
    });
    if (sender != from.world.members.end() && from.random.below(2) == 0) {
        action& end = from.follow_up(from.some_time(8s, 40s), "kill");
        end.node = (*sender)->name();
        end.lasts = from.some_time(50ms, 10s);
    }
}

// Something strikes in the middle of it.
void disturb_migration(drawing& from, std::int64_t number) {
    static constexpr std::array<std::string_view, 14> kinds{
        "power-off-guest", "crash-guest",   "stop-libvirtd", "kill-libvirtd", "cut-hypervisor", "kill",
        "power-off",       "expire",        "pause",         "set-guest",     "place-guest",    "fail-call",
        "terminate",       "undefine-guest"};
    action& blow = from.follow_up(from.some_time(100ms, 8s), from.one_of(kinds));

    blow.number = number;
    if (blow.kind->takes.starts_with('n')) {
        blow.node = some_host(from);
    }
    if (blow.kind->can_last) {
        blow.lasts = from.some_time(50ms, 60s);
    }
    blow.after_steps = from.random.below(200);
    if (blow.is("set-guest")) {
        static constexpr std::array states{"stop", "shutdown", "restart", "disable", "start"};
        blow.value = from.one_of(states);
    } else if (blow.is("place-guest")) {
        blow.value = from.random.below(2) == 0 ? "flush" : "move";
    } else if (blow.is("fail-call")) {
        draw_call(from, blow);
    } else if (blow.is("terminate")) {
        const std::string node = blow.node;
        from.follow_up(from.some_time(9s, 120s), "start").node = node;
    }
}

}  // namespace

void draw_placement(drawing& from, action& out) {
    static constexpr std::array ways{"migrate", "migrate", "move", "migrate-live", "unmigrate", "flush"};
    out.node = some_host(from);
    out.number = some_guest(from);
    out.value = from.one_of(ways);
    if (from.random.below(2) == 0) {
        disturb_migration(from, out.number);
    }
    if (from.random.below(4) == 0) {
        break_reply(from, out.number, out.node);
    }
}

}  // namespace pvc::sim
