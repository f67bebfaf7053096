// tidy-allow-file(clock): how fast the simulation is can only be told in real time
#include "sim/world/command_line.hpp"

#include "pvcnoded/base/text.hpp"
#include "pvcnoded_commit.hpp"
#include "sim/world/chaos.hpp"
#include "sim/world/defects.hpp"
#include "sim/world/judge.hpp"
#include "sim/world/random_run.hpp"
#include "sim/world/reachability.hpp"
#include "sim/world/registry.hpp"
#include "sim/world/scenario.hpp"
#include "sim/world/sweep.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

namespace pvc::sim {

namespace {

constexpr std::string_view usage =
    R"(pvcnoded-sim run --seed N [--nodes 3] [--duration 1h] [--faults all|none|KIND,...] [--dense] [--foreign] [--trace FILE]
    one random run; prints its verdict, and what was broken. --nodes any: 1 to 5, from the seed;
    --dense: faults all the time, whatever the seed says; --foreign: with a node of the reference that runs machines
pvcnoded-sim run --seeds A..B [--verbose] [--twice] [--reach] [the options above]
    many runs and their speed. --twice compares the hashes of two runs of each seed; --reach fails unless every kind of
    fault, result and transition was seen
pvcnoded-sim scenario FILE... [--record] [--trace FILE]
    runs scripts and compares their outcome; --record writes it into the script
pvcnoded-sim sweep [--operation NAME] [--fault TEXT] [--every N] [--pairs N] [--part I/N] [--order SEED] [--scripts N]
    each kind of fault after each number of steps, across each operation; --every: of the moments of a fault only each
    N-th; --pairs: so many runs with two faults besides; --part: the I-th of N shares of all runs (one process a core)
pvcnoded-sim judge [--seeds 1..100] [--defect NAME]
    whether every planted defect is found (only in builds that have them, preset `judge`); one of them again:
    run --seed N --nodes any --duration 30min --dense --defect NAME
pvcnoded-sim list
    all actions, invariants, conditions of progress, and scenarios
)";

struct command {
    run_settings run;
    std::string defect_name;
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    bool is_many = false;
    bool verbose = false;
    bool twice = false;
    bool reach = false;
    std::string trace_file;
    std::string nodes_text = "3";
    std::string duration_text = "1h";
    std::string faults_text = "all";
};

std::optional<std::uint64_t> parse_count(std::string_view text) {
    std::uint64_t value = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    return problem == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

// Empty: understood. Otherwise what was not.
std::string parse_kinds(std::string_view text, run_settings& run) {
    run.faults = text != "none";
    if (text.empty()) {
        return "--faults: expected all, none, or kinds separated by commas";
    }
    if (text == "all" || text == "none") {
        return {};
    }
    while (!text.empty()) {
        const auto end = std::min(text.find(','), text.size());
        const auto name = text.substr(0, end);
        const action_kind* const found = all_subjects().find(name);
        if (found == nullptr) {
            return fmt::format("--faults: no action is called \"{}\" (pvcnoded-sim list has all)", name);
        }
        if (!found->chance) {
            return fmt::format("--faults: {} is not drawn: random runs do it by themselves", name);
        }
        run.kinds.emplace_back(name);
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return {};
}

std::string parse_value(command& wanted, std::string_view name, std::string_view value) {
    if (name == "--seed") {
        const auto seed = parse_count(value);
        wanted.first = wanted.last = seed.value_or(0);
        return seed ? "" : fmt::format("--seed: expected a number, got \"{}\"", value);
    }
    if (name == "--seeds") {
        const auto dots = value.find("..");
        const auto from = parse_count(value.substr(0, dots));
        const auto to = dots == std::string_view::npos ? std::nullopt : parse_count(value.substr(dots + 2));
        if (!from || !to || *from > *to) {
            return fmt::format("--seeds: expected A..B, got \"{}\"", value);
        }
        wanted.first = *from;
        wanted.last = *to;
        wanted.is_many = true;
        return {};
    }
    if (name == "--nodes") {
        const auto count = parse_count(value);
        wanted.nodes_text = std::string(value);
        wanted.run.nodes = value == "any" ? std::nullopt : std::optional(static_cast<int>(count.value_or(0)));
        const bool is_good = value == "any" || (count && *count >= 1 && *count <= 50);
        return is_good ? "" : fmt::format("--nodes: expected 1 to 50 or `any`, got \"{}\"", value);
    }
    if (name == "--duration") {
        const auto length = parse_duration(value);
        wanted.duration_text = std::string(value);
        wanted.run.length = length.value_or(1h);
        return length && *length > duration::zero()
                   ? ""
                   : fmt::format("--duration: expected a time like 90s, 20min or 1h, got \"{}\"", value);
    }
    if (name == "--faults") {
        wanted.faults_text = std::string(value);
        return parse_kinds(value, wanted.run);
    }
    (name == "--defect" ? wanted.defect_name : wanted.trace_file) = std::string(value);
    return {};
}

bool* flag_of(command& wanted, std::string_view name) {
    return name == "--verbose"   ? &wanted.verbose
           : name == "--twice"   ? &wanted.twice
           : name == "--reach"   ? &wanted.reach
           : name == "--dense"   ? &wanted.run.dense
           : name == "--foreign" ? &wanted.run.foreign
                                 : nullptr;
}

std::string parse(const std::vector<std::string_view>& arguments, command& wanted) {
    bool has_seed = false;
    for (std::size_t i = 1; i < arguments.size(); ++i) {
        const auto name = arguments[i];
        if (bool* const flag = flag_of(wanted, name)) {
            *flag = true;
            continue;
        }
        static constexpr std::array names{"--seed",   "--seeds", "--nodes", "--duration",
                                          "--faults", "--trace", "--defect"};
        if (std::ranges::find(names, name) == names.end()) {
            return fmt::format("unknown option {}", name);
        }
        if (++i == arguments.size()) {
            return fmt::format("{} needs a value", name);
        }
        if (name.starts_with("--seed") && std::exchange(has_seed, true)) {
            return "one of --seed and --seeds, once";
        }
        if (auto problem = parse_value(wanted, name, arguments[i]); !problem.empty()) {
            return problem;
        }
    }
    return has_seed ? "" : "--seed or --seeds is needed";
}

std::string simulated_text(duration time) {
    const auto all = std::chrono::duration_cast<std::chrono::seconds>(time).count();
    return fmt::format("{} h {} min {} s", all / 3600, all / 60 % 60, all % 60);
}

std::string replay_command(const command& wanted, std::uint64_t seed) {
    std::string line = fmt::format("pvcnoded-sim run --seed {}", seed);
    if (wanted.nodes_text != "3") {
        line += " --nodes " + wanted.nodes_text;
    }
    if (wanted.duration_text != "1h") {
        line += " --duration " + wanted.duration_text;
    }
    if (wanted.faults_text != "all") {
        line += " --faults " + wanted.faults_text;
    }
    if (wanted.run.dense) {
        line += " --dense";
    }
    if (wanted.run.foreign) {
        line += " --foreign";
    }
    if (!wanted.defect_name.empty()) {
        line += " --defect " + wanted.defect_name;
    }
    return line;
}

void print_verdict(std::ostream& out, std::uint64_t seed, const run_outcome& outcome, double real) {
    out << fmt::format("seed {}: {}, commit {}, {} nodes, {} steps, {} simulated in {:.2f} s, hash {:016x}\n", seed,
                       outcome.broken ? "BROKEN (" + outcome.broken->invariant + ")" : "ok", build_commit,
                       outcome.nodes, outcome.steps, simulated_text(outcome.simulated), real, outcome.hash);
}

// The same run again with its last events written down: what led to it, the task trees, and how to see it again.
void print_failure(std::ostream& out, const command& wanted, std::uint64_t seed, const run_outcome& outcome) {
    constexpr std::size_t lines_wanted = 60;
    std::ostringstream text;
    run_settings again = wanted.run;
    again.seed = seed;
    again.trace = &text;
    again.trace_from_step = outcome.steps - std::min<std::uint64_t>(outcome.steps, 20'000);
    const auto repeated = run_once(again);
    std::vector<std::string> lines;
    std::istringstream in(text.str());
    for (std::string line; std::getline(in, line);) {
        lines.push_back(std::move(line));
    }
    out << "the last events:\n";
    for (std::size_t i = lines.size() - std::min(lines.size(), lines_wanted); i < lines.size(); ++i) {
        out << "  " << lines[i].substr(0, 240) << '\n';
    }
    out << "the tasks:\n";
    for (const auto& line : outcome.task_trees) {
        out << "  " << line << '\n';
    }
    out << "faults of this seed: " << outcome.mix << '\n';
    out << fmt::format("broken: {} at {:.6f} s, step {}: {}\n", outcome.broken->invariant,
                       seconds(outcome.broken->at - time_point{}), outcome.broken->step, outcome.broken->what);
    if (repeated.hash != outcome.hash) {
        out << "the second run of this seed went another way: that is a defect of the simulation, or of the daemon\n";
    }
    out << "again: " << replay_command(wanted, seed) << " --trace FILE\n";
}

// An assertion of the daemon ends the process: which seed it was must not be lost with it.
char replay_of_this_run[512];
std::ostream* trace_of_this_run = nullptr;
std::ostream* out_of_this_run = nullptr;

extern "C" void say_how_to_replay(int /*signal*/) {
    // The signal comes from abort(), in the middle of ordinary code: what was written so far can be saved.
    for (std::ostream* const one : {trace_of_this_run, out_of_this_run}) {
        if (one != nullptr) {
            one->flush();
        }
    }
    const std::string_view text(replay_of_this_run);
    const auto written = ::write(STDOUT_FILENO, text.data(), text.size());
    static_cast<void>(written);
    ::_exit(1);
}

void note_run(const command& wanted, std::uint64_t seed) {
    const std::string line =
        fmt::format("seed {}: BROKEN: an assertion of the daemon failed (see above), commit {}\nagain: {}\n", seed,
                    build_commit, replay_command(wanted, seed));
    const std::size_t size = std::min(line.size(), sizeof replay_of_this_run - 1);
    line.copy(replay_of_this_run, size);
    replay_of_this_run[size] = '\0';
}

// A verdict or a trace that did not reach its place is no success.
bool is_written(std::ostream& out, std::ofstream& trace, const std::string& trace_file, std::ostream& error) {
    out.flush();
    trace_of_this_run = nullptr;
    if (!trace_file.empty() && !trace.flush()) {
        error << trace_file << ": the trace could not be written\n";
        return false;
    }
    return static_cast<bool>(out);
}

int run_many(const command& wanted, std::ostream& out, std::ostream& error) {
    std::signal(SIGABRT, say_how_to_replay);
    if (!wanted.defect_name.empty() && !plant(wanted.defect_name)) {
        error << "no defect called " << wanted.defect_name << " can be planted in this build\n";
        return 2;
    }
    std::ofstream trace;
    run_settings settings = wanted.run;
    if (!wanted.trace_file.empty()) {
        trace.open(wanted.trace_file);
        if (!trace) {
            error << "cannot write " << wanted.trace_file << '\n';
            return 2;
        }
        settings.trace = &trace;
    }
    out_of_this_run = &out;
    trace_of_this_run = settings.trace;
    reachability reached;
    std::uint64_t broken = 0;
    double hours = 0;
    trace_hash all;
    const auto begun = std::chrono::steady_clock::now();
    const auto since = [](auto from) {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count();
    };
    for (std::uint64_t seed = wanted.first;; ++seed) {
        const auto run_begun = std::chrono::steady_clock::now();
        settings.seed = seed;
        note_run(wanted, seed);
        const auto outcome = run_once(settings);
        const double real = since(run_begun);
        hours += outcome.node_hours;
        all.add(outcome.hash);
        reached.add(outcome);
        bool is_bad = outcome.broken.has_value();
        if (!wanted.is_many || wanted.verbose || is_bad) {
            print_verdict(out, seed, outcome, real);
        }
        if (is_bad) {
            print_failure(out, wanted, seed, outcome);
        } else if (wanted.twice) {
            const auto again = run_once(settings);
            if (again.hash != outcome.hash) {
                is_bad = true;
                out << fmt::format("seed {}: two runs differ: {:016x} and {:016x}\n", seed, outcome.hash, again.hash);
            }
        }
        broken += is_bad ? 1 : 0;
        out.flush();
        if (seed == wanted.last) {
            break;
        }
    }
    const double real = since(begun);
    if (wanted.is_many) {
        out << fmt::format(
            "seeds {}..{}: {} ok, {} broken, commit {}, {:.0f} node-hours in {:.1f} s: {:.1f} simulated "
            "node-hours per second, hash {:016x}\n",
            wanted.first, wanted.last, wanted.last - wanted.first + 1 - broken, broken, build_commit, hours, real,
            hours / real, all.value());
    }
    const bool is_all_reached = !wanted.reach || reached.report(out);
    return is_written(out, trace, wanted.trace_file, error) && broken == 0 && is_all_reached ? 0 : 1;
}

// The scenarios of a folder with their titles: that of the source tree if we are in it, else the installed one.
void list_scenarios(std::ostream& out) {
    for (const std::string_view folder : {"tests/sim/scenarios", "/usr/share/doc/pvcnoded/scenarios"}) {
        std::error_code missing;
        std::vector<std::filesystem::path> files;
        for (const auto& entry : std::filesystem::directory_iterator(folder, missing)) {
            if (entry.path().extension() == ".scenario") {
                files.push_back(entry.path());
            }
        }
        if (files.empty()) {
            continue;
        }
        std::ranges::sort(files);
        out << "scenarios in " << folder << ":\n";
        for (const auto& file : files) {
            std::ifstream in(file);
            std::string title;
            std::getline(in, title);
            out << fmt::format("  {:64} {}\n", file.filename().string(),
                               title.starts_with("# ") ? title.substr(2) : "");
        }
        return;
    }
}

int list(std::ostream& out) {
    out << "actions (scenario lines, and the kinds of --faults):\n";
    for (const auto* one : all_subjects().actions()) {
        const action_kind& info = *one;
        std::string form(info.name);
        for (const char kind : info.takes) {
            form += kind == 'n'   ? " NODE"
                    : kind == 'd' ? " DURATION"
                    : kind == 'i' ? " NUMBER"
                    : kind == 'p' ? " PATH"
                                  : " VALUE";
        }
        form += info.can_last ? " [for DURATION]" : "";
        out << fmt::format("  {:42} {}\n", form, info.meaning);
    }
    out << "invariants, checked after every step:\n";
    for (const auto* one : all_subjects().rules()) {
        if (!one->name.empty()) {
            out << fmt::format("  {:24} {}\n", one->name, one->meaning);
        }
    }
    out << "progress, demanded once everything is healed:\n";
    for (const auto* one : all_subjects().conditions()) {
        out << fmt::format("  {:24} {}\n", one->name, one->meaning);
    }
    list_sweep(out);
    list_scenarios(out);
    return 0;
}

// Empty: understood. Otherwise what was not.
std::string parse_sweep(const std::vector<std::string_view>& arguments, sweep_settings& wanted) {
    for (std::size_t i = 1; i < arguments.size(); i += 2) {
        const auto name = arguments[i];
        if (i + 1 == arguments.size()) {
            return fmt::format("{} needs a value", name);
        }
        const auto value = arguments[i + 1];
        if (name == "--operation" || name == "--fault") {
            (name == "--fault" ? wanted.fault : wanted.operation) = std::string(value);
            continue;
        }
        if (name == "--part") {
            const auto slash = value.find('/');
            const auto which = parse_count(value.substr(0, slash));
            const auto of = slash == std::string_view::npos ? std::nullopt : parse_count(value.substr(slash + 1));
            if (!which || !of || *which < 1 || *which > *of) {
                return fmt::format("--part: expected I/N, got \"{}\"", value);
            }
            wanted.part = *which;
            wanted.parts = *of;
            continue;
        }
        std::uint64_t* const number = name == "--every"     ? &wanted.every
                                      : name == "--pairs"   ? &wanted.pairs
                                      : name == "--order"   ? &wanted.seed
                                      : name == "--scripts" ? &wanted.scripts
                                                            : nullptr;
        if (number == nullptr) {
            return fmt::format("unknown option {}", name);
        }
        const auto count = parse_count(value);
        if (!count || (number == &wanted.every && *count == 0)) {
            return fmt::format("{}: expected a number, got \"{}\"", name, value);
        }
        *number = *count;
    }
    return {};
}

int scenarios(const std::vector<std::string_view>& arguments, std::ostream& out, std::ostream& error) {
    std::vector<std::string> files;
    bool record = false;
    std::string trace_file;
    for (std::size_t i = 1; i < arguments.size(); ++i) {
        if (arguments[i] == "--record") {
            record = true;
        } else if (arguments[i] == "--trace" && i + 1 < arguments.size()) {
            trace_file = std::string(arguments[++i]);
        } else if (arguments[i].starts_with("--")) {
            error << "pvcnoded-sim scenario: unknown option, or one without its value: " << arguments[i] << '\n'
                  << usage;
            return 2;
        } else {
            files.emplace_back(arguments[i]);
        }
    }
    if (files.empty()) {
        error << "pvcnoded-sim scenario: a file is needed\n" << usage;
        return 2;
    }
    std::ofstream trace;
    if (!trace_file.empty()) {
        trace.open(trace_file);
        if (!trace) {
            error << "cannot write " << trace_file << '\n';
            return 2;
        }
    }
    std::size_t failed = 0;
    for (const auto& file : files) {
        failed += run_scenario_file(file, record, trace_file.empty() ? nullptr : &trace, out) ? 0 : 1;
    }
    out << fmt::format("{} passed, {} failed\n", files.size() - failed, failed);
    return is_written(out, trace, trace_file, error) && failed == 0 ? 0 : 1;
}

}  // namespace

int run_command(const std::vector<std::string_view>& arguments, std::ostream& out, std::ostream& error) {
    // Log lines have local times, and are a part of the hash. tidy-allow(environment): set, not read
    ::setenv("TZ", "UTC", 1);
    ::tzset();
    if (arguments.empty() || arguments.front() == "--help" || arguments.front() == "help") {
        (arguments.empty() ? error : out) << usage;
        return arguments.empty() ? 2 : 0;
    }
    if (arguments.front() == "list" && arguments.size() == 1) {
        return list(out);
    }
    if (arguments.front() == "judge") {
        command wanted;
        wanted.first = 1;
        wanted.last = 100;
        for (std::size_t i = 1; i < arguments.size(); i += 2) {
            const auto name = arguments[i];
            std::string problem = name != "--seed" && name != "--seeds" && name != "--defect"
                                      ? fmt::format("unknown option {}", name)
                                  : i + 1 == arguments.size() ? fmt::format("{} needs a value", name)
                                                              : parse_value(wanted, name, arguments[i + 1]);
            if (!problem.empty()) {
                error << "pvcnoded-sim judge: " << problem << '\n' << usage;
                return 2;
            }
        }
        return judge_the_judge(wanted.defect_name, wanted.first, wanted.last, out, error);
    }
    if (arguments.front() == "sweep") {
        sweep_settings wanted;
        if (const auto problem = parse_sweep(arguments, wanted); !problem.empty()) {
            error << "pvcnoded-sim sweep: " << problem << '\n' << usage;
            return 2;
        }
        const int status = sweep(wanted, out, error);
        return out.flush() ? status : 1;
    }
    if (arguments.front() == "scenario") {
        return scenarios(arguments, out, error);
    }
    if (arguments.front() == "run") {
        command wanted;
        if (const auto problem = parse(arguments, wanted); !problem.empty()) {
            error << "pvcnoded-sim run: " << problem << '\n' << usage;
            return 2;
        }
        return run_many(wanted, out, error);
    }
    error << "pvcnoded-sim: no command is called " << arguments.front() << '\n' << usage;
    return 2;
}

}  // namespace pvc::sim
