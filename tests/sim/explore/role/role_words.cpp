// A move in words, as the way to a finding is told.
#include "sim/explore/role/role_world.hpp"

#include <fmt/format.h>

namespace pvc::explore::roles {

namespace {

std::string_view fixed_text(move::kind what) {
    using kind = move::kind;
    switch (what) {
        case kind::choose: return "is a reference node";
        case kind::rule: return "follows a rule";
        case kind::go_behind: return "writes relinquish, late";
        case kind::late_rule: return "follows a rule, now that nothing has changed for long";
        case kind::align: return "writes its role again";
        case kind::drop_left: return "drops what a crash left";
        case kind::react: return "reacts to the name";
        case kind::leave: return "relinquishes, as the name was another";
        case kind::look: return "looks at who is named";
        case kind::tick: return "compares the name in a tick, or writes it";
        case kind::step: return "takes the next step";
        case kind::step_aside: return "lets a reader pass";
        case kind::drained: return "waits no longer for a reader";
        case kind::time_out: return "has waited long enough";
        case kind::late: return "has waited long enough, although nobody is out of touch";
        case kind::call_off: return "calls off what is under way";
        case kind::call_off_done: return "calls off what is under way, and it is done all the same";
        case kind::fail: return "cannot ask anybody";
        case kind::vanish: return "has lost its session, its locks vanish";
        case kind::grow_silent: return "is silent for longer";
        case kind::heal: return "is in touch again";
        case kind::restart: return "starts again";
        case kind::crash: return "crashes";
        case kind::cut: return "is cut off";
        case kind::cut_done: return "is cut off after its write";
        case kind::lose_role_lock: return "loses the lock of the role";
        case kind::lose_sync_lock: return "loses the lock of the phases";
        default: return "";
    }
}

std::string own_state(const member& of) {
    std::string words(model::to_text(of.role));
    for (const auto which : {role_phase::c, role_phase::d, role_phase::e, role_phase::f, role_phase::g}) {
        words += (of.held & part_of(which)) != 0 ? std::string(" ") + std::string(policy::to_text(which)) : "";
    }
    return words;
}

}  // namespace

std::string to_text(const move& one, const world& before) {
    using kind = move::kind;
    if (one.what == kind::client) {
        return fmt::format("a client writes {}", name_of(one.other));
    }
    const member& own = before.at(one.who);
    const std::string who = fmt::format("{} ({})", name_of(one.who), own_state(own));
    if (one.what == kind::go) {
        const bool is_queued = own.does->is_queued;
        return fmt::format("{}: {}{}", who, policy::to_text(own.does->pending.what), is_queued ? ", had" : "");
    }
    if (one.what == kind::beat) {
        return fmt::format("{} hears {}", who, name_of(one.other));
    }
    if (one.what == kind::step) {
        return fmt::format("{}: phase {}, step {}", who, policy::to_text(own.walks->phase),
                           static_cast<int>(own.walks->where));
    }
    return fmt::format("{} {}", who, fixed_text(one.what));
}

}  // namespace pvc::explore::roles
