#include "sim/explore/explore_command.hpp"

#include "sim/explore/graph.hpp"
#include "sim/explore/to_scenario.hpp"

#include <fmt/format.h>

#include <array>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <system_error>
#include <utility>

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

// A file that was named on the command line: opened before the search, which may take hours, and written after it. One
// that was made for it and has nothing to hold goes again.
class named_file {
public:
    named_file(std::string name, std::ostream& error)
        : name_(std::move(name)), error_(error), was_there_(std::filesystem::exists(name_)) {
        if (!name_.empty()) {
            file_.open(name_, std::ios::app);
        }
    }
    named_file(const named_file&) = delete;
    named_file& operator=(const named_file&) = delete;
    ~named_file() {
        if (file_.is_open() && !is_written_ && !was_there_) {
            std::error_code ignored;
            std::filesystem::remove(name_, ignored);
        }
    }
    // False, and said: it cannot be written.
    bool is_good() {
        if (!name_.empty() && !file_) {
            error_ << "cannot write " << name_ << '\n';
            return false;
        }
        return true;
    }
    // What was there before is gone. Nothing, if no file was named.
    bool write(const std::string& text) {
        if (name_.empty()) {
            return true;
        }
        is_written_ = true;
        file_.close();
        file_.open(name_, std::ios::trunc);
        file_ << text << std::flush;
        return is_good();
    }

private:
    std::string name_;
    std::ostream& error_;
    std::ofstream file_;
    bool was_there_;
    bool is_written_ = false;
};

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
    out << fmt::format("  {:<12} {}\n", "role", "the role of the primary is handed over");
    out << fmt::format("  {:<12} {}\n", "fence", "a node falls silent, is fenced, and may be back at any moment");
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
    named_file scenario(wanted.scenario_file, error);
    named_file drawing(wanted.graph_file, error);
    if (!scenario.is_good() || !drawing.is_good()) {
        return 2;
    }
    graph picture;
    const double before = processor_seconds();
    std::ostream* const log = wanted.verbose || wanted.is_watched ? &error : nullptr;
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
    if (!drawing.write(picture.text())) {
        return 2;
    }
    if (!result.broken) {
        return result.is_exhausted ? 0 : 3;
    }
    out << fmt::format("{}: {}\n", result.broken->what.rule, result.broken->what.text);
    for (const auto& line : result.broken->said) {
        out << "  " << line << '\n';
    }
    if (!wanted.scenario_file.empty() && !scenario.write(scenario_of(within, *result.broken))) {
        return 2;
    }
    return 1;
}

}  // namespace pvc::explore
