#include "sim/explore/to_scenario.hpp"

#include <fmt/format.h>

#include <array>

namespace pvc::explore {

using kind = move::kind;

namespace {

// What the world shows in this state, as far as scripts can wait for it.
std::string guests_of(const scene& m) {
    for (std::int8_t who = 0; who < static_cast<std::int8_t>(m.nodes); ++who) {
        if (at(m, who).guest == guest_here::runs) {
            return fmt::format("guest 1 runs {}", name_of(who));
        }
    }
    for (std::int8_t who = 0; who < static_cast<std::int8_t>(m.nodes); ++who) {
        if (at(m, who).guest != guest_here::none) {
            return fmt::format("guest 1 there {}", name_of(who));
        }
    }
    return "guest 1 off";
}

std::string word_of(model::vm_state state) {
    return std::string(model::to_text(state));
}

// A client's write as a line of a script.
std::string line_of(const client& one, const scene& now) {
    if (!one.has_lock) {
        const std::int8_t to = one.to != nobody ? one.to : now.keys.node;
        return fmt::format("force-guest {} 1 {}", name_of(to), word_of(one.state));
    }
    return one.to != nobody ? fmt::format("place-guest {} 1 migrate", name_of(one.to))
                            : fmt::format("set-guest 1 {}", word_of(one.state));
}

// A fault as a line of a script; empty: there is none for it.
std::string line_of(const move& one, const scene& before) {
    const std::string& who = name_of(one.who);
    switch (one.what) {
        case kind::lose_session: return "expire " + who;
        case kind::kill_daemon: return fmt::format("kill {} for 3s", who);
        case kind::end_guest: return one.how == 0 ? "power-off-guest 1" : "crash-guest 1";
        case kind::kill_libvirt: return fmt::format("kill-libvirtd {} for 3s", who);
        case kind::lose_answer: return "lose-answer " + who;
        case kind::fail_effect: {
            const auto& what = at(before, one.who).does->pending.what.what;
            if (std::holds_alternative<policy::ask::destroy>(what)) {
                return fmt::format("fail-call {} destroy", who);
            }
            if (std::holds_alternative<policy::ask::create>(what)) {
                return fmt::format("fail-call {} create", who);
            }
            if (std::holds_alternative<policy::ask::resume_guest>(what)) {
                return fmt::format("fail-call {} resume", who);
            }
            return "drop-next " + who;
        }
        default: return {};
    }
}

// What must be so before the step: of the other things that the world does the way tells the last.
std::string moment_of(const scene& now) {
    std::string line = fmt::format("until {} within 60s\n", guests_of(now));
    line += fmt::format("until guest 1 state = {} within 60s\n", word_of(now.keys.state));
    return line;
}

// How the next migration fails is said before it begins.
std::string failing_migrations(const bounds& of, const found_break& what) {
    static constexpr std::array stages{"connect", "connect", "copy", "reply", "reply-gone"};
    std::string out;
    scene now = beginning(of);
    for (const move& one : what.way) {
        if (one.what == kind::fail_job) {
            out += fmt::format("fail-migration 1 {}\n", stages.at(static_cast<std::size_t>(now.job.where)));
        }
        const auto broken = apply(now, one);
        static_cast<void>(broken);
    }
    return out;
}

}  // namespace

std::string scenario_of(const bounds& of, const found_break& what) {
    std::string out = fmt::format("# Found by exploring: {} ({}).\nnodes", what.what.rule, what.what.text);
    for (std::int8_t who = 0; who < static_cast<std::int8_t>(of.nodes); ++who) {
        out += who != of.reference ? " " + name_of(who) : "";
    }
    out += of.reference != nobody ? "\nreference " + name_of(of.reference) : "";
    out += "\nsetting all hypervisor on\ndefine-guest hv1 1 acpi\n";
    for (std::int8_t who = 0; who < static_cast<std::int8_t>(of.nodes); ++who) {
        out += fmt::format("start {}\n", name_of(who));
    }
    for (std::int8_t who = 0; who < static_cast<std::int8_t>(of.nodes); ++who) {
        out += fmt::format("until {} runs within 30s\n", name_of(who));
    }
    if (of.what == subject::offline) {
        out += "method-of-guest 1 shutdown\n";
    }
    if (!begins_off(of.what)) {
        out += "set-guest 1 start\nuntil guest 1 runs hv1 within 10s\n";
    }
    if (of.what == subject::locked) {
        out +=
            "set-guest 1 start\nuntil guest 1 runs hv1 within 10s\nwait 2s\npower-off hv1\nset-guest 1 stop\n"
            "wait 20s\nstart hv1\nuntil hv1 runs within 60s\n";
    }
    out += "wait 2s\n" + failing_migrations(of, what);
    scene now = beginning(of);
    for (const move& one : what.way) {
        if (one.what == kind::client_turn) {
            const client& by = now.clients.at(static_cast<std::size_t>(one.who));
            const bool is_queued = by.where == client::at::queued;
            if (!by.has_lock || !is_queued) {
                out += moment_of(now) + line_of(by, now) + "\n";
            }
        } else if (!one.is_quiet() && one.what != kind::client_word && one.what != kind::fail_job) {
            out += moment_of(now) + line_of(one, now) + "\n";
        }
        const auto broken = apply(now, one);
        static_cast<void>(broken);
    }
    return out + "wait 30s\nheal\nuntil all is well within 300s\n";
}

}  // namespace pvc::explore
