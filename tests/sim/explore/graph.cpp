#include "sim/explore/graph.hpp"

#include <fmt/format.h>

namespace pvc::explore {

namespace {

// What brought it on, in a word.
std::string cause_of(const move& by) {
    using kind = move::kind;
    switch (by.what) {
        case kind::read_row: return "keys";
        case kind::see_guest: return "guest";
        case kind::lock: return "locks";
        case kind::sync_wake:
        case kind::sync_lock: return "hand-shake";
        case kind::job:
        case kind::fail_job: return "live call";
        case kind::wake: return "time";
        case kind::lose_answer:
        case kind::fail_effect: return "failed";
        default: return "";
    }
}

}  // namespace

void graph::add(const scene& before, const scene& after, const move& by) {
    for (std::int8_t who = 0; who < static_cast<std::int8_t>(before.nodes); ++who) {
        const auto& was = at(before, who).does;
        const auto& is = at(after, who).does;
        if (by.what == move::kind::kill_daemon || by.what == move::kind::lose_session || (!was && !is)) {
            continue;
        }
        const bool is_same = was && is && was->what == is->what;
        if (was) {
            const std::string from(was->pending.what.reason);
            const std::string to(is_same ? is->pending.what.reason : "over");
            if (from != to) {
                edges_[std::string(policy::to_text(was->what))][{from, to}].insert(cause_of(by));
            }
        }
        if (is && !is_same) {
            edges_[std::string(policy::to_text(is->what))][{"begin", std::string(is->pending.what.reason)}].insert("");
        }
    }
}

std::string graph::text() const {
    std::string out =
        "digraph machines {\n  rankdir=TB; node [shape=box, style=rounded, fontname=\"Helvetica\", fontsize=11];\n"
        "  edge [fontname=\"Helvetica\", fontsize=9];\n";
    for (const auto& [operation, edges] : edges_) {
        out += fmt::format("  subgraph \"cluster_{0}\" {{\n    label=\"{0}\";\n", operation);
        const auto name = [&operation](const std::string& step) { return operation + ": " + step; };
        std::set<std::string> steps;
        for (const auto& [ends, causes] : edges) {
            steps.insert(ends.first);
            steps.insert(ends.second);
        }
        for (const auto& step : steps) {
            const bool is_end = step == "begin" || step == "over";
            out += fmt::format("    \"{}\" [label=\"{}\"{}];\n", name(step), step, is_end ? ", shape=oval" : "");
        }
        for (const auto& [ends, causes] : edges) {
            std::string label;
            for (const auto& one : causes) {
                label += one.empty() ? "" : (label.empty() ? "" : ", ") + one;
            }
            out += fmt::format("    \"{}\" -> \"{}\" [label=\"{}\"];\n", name(ends.first), name(ends.second), label);
        }
        out += "  }\n";
    }
    return out + "}\n";
}

}  // namespace pvc::explore
