// What a machine asks and does, as one line of text: a case of a table compares it with what it should be, and a
// failure shows both.
#pragma once

#include "pvcnoded/base/message.hpp"
#include "pvcnoded/policy/domains/machine.hpp"

#include <array>
#include <chrono>
#include <string>
#include <string_view>
#include <variant>

namespace pvc::policy {

// In the order of `ask::any`.
inline constexpr std::array<std::string_view, std::variant_size_v<ask::any>> question_names{"over",
                                                                                            "change",
                                                                                            "time",
                                                                                            "row",
                                                                                            "write_state",
                                                                                            "write_placement",
                                                                                            "write_last_node",
                                                                                            "clear_own",
                                                                                            "offer",
                                                                                            "connection",
                                                                                            "sending_keys",
                                                                                            "set_listed",
                                                                                            "others",
                                                                                            "daemon_runs",
                                                                                            "node_exists",
                                                                                            "whose_stop",
                                                                                            "target",
                                                                                            "nodes",
                                                                                            "own_guest",
                                                                                            "destroy",
                                                                                            "resume_guest",
                                                                                            "set_downtime",
                                                                                            "progress",
                                                                                            "abort_call",
                                                                                            "rbd_verdict",
                                                                                            "list_rbd_locks",
                                                                                            "prepare_rbd_break",
                                                                                            "disk_users",
                                                                                            "break_rbd_lock",
                                                                                            "contenders",
                                                                                            "make_sync_key",
                                                                                            "stranded_keys",
                                                                                            "take_back",
                                                                                            "definition",
                                                                                            "create",
                                                                                            "end_crashed",
                                                                                            "write_started",
                                                                                            "write_failed",
                                                                                            "publish_vnc",
                                                                                            "live_xml",
                                                                                            "end_console",
                                                                                            "clear_reason",
                                                                                            "monitors",
                                                                                            "write_reason",
                                                                                            "bridges_look",
                                                                                            "network_is_gone"};

// The shortest form: "2m" is "120s".
inline std::string text_of(duration time) {
    using namespace std::chrono_literals;
    const bool is_whole = time % 1s == duration::zero();
    return is_whole ? std::to_string(time / 1s) + "s" : std::to_string(time / 1ms) + "ms";
}

// What a question names beside itself.
struct question_words {
    static std::string of(sync_word word) {
        return word == sync_word::handed_over ? " handed_over" : word == sync_word::taken_back ? " taken_back" : "";
    }
    std::string operator()(const ask::write_state& one) const {
        return " " + std::string(model::to_text(one.state)) + of(one.sync);
    }
    std::string operator()(const ask::write_placement& one) const {
        return " " + std::string(model::to_text(one.state)) + " " + one.node + " '" + one.last_node + "'";
    }
    std::string operator()(const ask::write_last_node& one) const { return " '" + one.last_node + "'"; }
    std::string operator()(const ask::clear_own& one) const { return one.key == own_key::vnc ? " vnc" : " word"; }
    std::string operator()(const ask::sending_keys& one) const { return " " + one.target; }
    std::string operator()(const ask::set_listed& one) const { return one.runs ? " +" : " -"; }
    std::string operator()(const ask::daemon_runs& one) const { return " " + one.node; }
    std::string operator()(const ask::node_exists& one) const { return " " + one.node; }
    std::string operator()(const ask::target& one) const { return " " + one.node; }
    std::string operator()(const ask::nodes& one) const {
        std::string text;
        for (const auto& name : one.names) {
            text += " " + name;
        }
        return text;
    }
    std::string operator()(const ask::list_rbd_locks& one) const {
        std::string text;
        for (const auto& volume : one.volumes) {
            text += " " + volume;
        }
        return text;
    }
    std::string operator()(const ask::prepare_rbd_break& one) const {
        return " " + one.which.volume + " " + one.which.lock.id;
    }
    std::string operator()(const ask::disk_users& one) const {
        std::string text;
        for (const auto& volume : one.volumes) {
            text += " " + volume;
        }
        return text;
    }
    std::string operator()(const ask::break_rbd_lock& one) const {
        return " " + one.which.volume + " " + one.which.lock.id;
    }
    std::string operator()(const ask::set_downtime& one) const { return " " + one.stored; }
    std::string operator()(const ask::take_back& one) const {
        return " " + one.node + " " + std::to_string(one.changed);
    }
    std::string operator()(const ask::write_failed& one) const { return " " + one.reason; }
    std::string operator()(const ask::network_is_gone& one) const { return " " + one.bridge; }
    std::string operator()(const ask::write_reason& one) const { return " " + one.reason; }
    std::string operator()(const ask::clear_reason& one) const {
        return one.only ? " " + *one.only : one.of_a_wait ? " of a wait" : "";
    }
    template <class Question>
    std::string operator()(const Question& /*one*/) const {
        return {};
    }
};

// The question, what it names, and the limit counted from `now`: "write_state stop", "change 30s".
inline std::string text_of(const step& next, time_point now) {
    const std::string text =
        std::string(question_names.at(next.what.index())) + std::visit(question_words(), next.what);
    return next.until == time_point::max() ? text : text + " " + text_of(next.until - now);
}

struct act_words {
    std::string operator()(const act::line& one) const {
        using enum act::line::level;
        const std::string_view level = one.how == info      ? "info: "
                                       : one.how == state   ? "state: "
                                       : one.how == warning ? "warning: "
                                                            : "error: ";
        return std::string(level) + one.text;
    }
    std::string operator()(const act::write_record& one) const {
        return "record " + one.role + " " + one.peer + " " + one.step;
    }
    std::string operator()(const act::drop_record& /*one*/) const { return "drop_record"; }
    std::string operator()(const act::pause& one) const { return "pause " + text_of(one.time); }
    std::string operator()(const act::note_arrival& /*one*/) const { return "note_arrival"; }
    std::string operator()(const act::note_stay& one) const {
        constexpr std::array faults{"neither's", "the machine's", "the target's"};
        return "note_stay " + one.target + " " + faults[static_cast<std::size_t>(one.fault)];
    }
    std::string operator()(const act::follow_console& /*one*/) const { return "follow_console"; }
    std::string operator()(const act::arrived_home& /*one*/) const { return "arrived_home"; }
    std::string operator()(const act::tell_pause& /*one*/) const { return "tell_pause"; }
    std::string operator()(const act::created& /*one*/) const { return "created"; }
    std::string operator()(const act::tell_vnc_problem& /*one*/) const { return "tell_vnc_problem"; }
    std::string operator()(const act::forget_live& /*one*/) const { return "forget_live"; }
};
inline std::string text_of(const act::any& one) {
    return std::visit(act_words(), one);
}

}  // namespace pvc::policy
