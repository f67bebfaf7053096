#include "sim/explore/explore_command.hpp"

#include "sim/explore/graph.hpp"
#include "sim/explore/to_scenario.hpp"

#include <fmt/format.h>

#include <array>
#include <ctime>
#include <fstream>
#include <ostream>

namespace pvc::explore {

namespace {

struct subject_text {
    std::string_view name;
    subject what;
    std::string_view meaning;
};
constexpr std::array subjects{
    subject_text{"migration", subject::migration, "a machine that runs is migrated"},
    subject_text{"offline", subject::offline, "the same for one that may only move through a shutdown"},
    subject_text{"start", subject::start, "a machine that is off is started"},
    subject_text{"shutdown", subject::shutdown, "a machine that runs is shut down"},
    subject_text{"locked", subject::locked, "a machine is started whose disk has a lock that was left behind"},
};

double processor_seconds() {
    return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

bool write_file(const std::string& name, const std::string& text, std::ostream& error) {
    std::ofstream file(name);
    file << text;
    if (!file.flush()) {
        error << "cannot write " << name << '\n';
        return false;
    }
    return true;
}

}  // namespace

std::optional<subject> subject_named(std::string_view name) {
    for (const auto& one : subjects) {
        if (one.name == name) {
            return one.what;
        }
    }
    return std::nullopt;
}

std::optional<std::int8_t> side_named(std::string_view name) {
    if (name.empty()) {
        return nobody;
    }
    return name == "sender"     ? std::optional<std::int8_t>(0)
           : name == "receiver" ? std::optional<std::int8_t>(1)
                                : std::nullopt;
}

void list_subjects(std::ostream& out) {
    for (const auto& one : subjects) {
        out << fmt::format("  {:<12} {}\n", one.name, one.meaning);
    }
}

int explore(const explore_wish& wanted, std::ostream& out, std::ostream& error) {
    bounds within = wanted.within;
    if (const auto known = subject_named(wanted.subject)) {
        within.what = *known;
    } else {
        error << "explore: there is no subject \"" << wanted.subject << "\"; there are:\n";
        list_subjects(error);
        return 2;
    }
    if (const auto side = side_named(wanted.reference)) {
        within.reference = *side;
    } else {
        error << "explore: --reference receiver or sender\n";
        return 2;
    }
    graph picture;
    const double before = processor_seconds();
    std::ostream* const log = wanted.verbose ? &error : nullptr;
    // All of it costs least with the newest first; what is found is then told by the shortest way to it.
    search_limits limits = wanted.limits;
    limits.is_nearest_first = false;
    search_result result = search(within, limits, log, wanted.graph_file.empty() ? nullptr : &picture);
    if (result.broken) {
        if (auto nearest = search(within, wanted.limits, log); nearest.broken) {
            result = std::move(nearest);
        }
    }
    out << fmt::format(
        "{}, {} nodes{}, {} faults, {} writes of clients, {} delays: {} states, {} steps, {} settled, {}, {:.1f} s\n",
        wanted.subject, within.nodes, wanted.reference.empty() ? "" : ", the reference as " + wanted.reference,
        within.faults, within.writes, within.delays, result.states, result.steps, result.settled,
        result.broken         ? "broken"
        : result.is_exhausted ? "exhausted"
                              : "NOT exhausted",
        processor_seconds() - before);
    if (!wanted.graph_file.empty() && !write_file(wanted.graph_file, picture.text(), error)) {
        return 2;
    }
    if (!result.broken) {
        return result.is_exhausted ? 0 : 3;
    }
    out << fmt::format("{}: {}\n", result.broken->what.rule, result.broken->what.text);
    for (const auto& line : result.broken->said) {
        out << "  " << line << '\n';
    }
    if (!wanted.scenario_file.empty() &&
        !write_file(wanted.scenario_file, scenario_of(within, *result.broken), error)) {
        return 2;
    }
    return 1;
}

}  // namespace pvc::explore
