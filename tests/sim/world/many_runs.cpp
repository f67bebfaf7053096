// tidy-allow-file(clock): how fast the simulation is can only be told in real time
#include "sim/world/many_runs.hpp"

#include "pvcnoded_commit.hpp"
#include "sim/world/defects.hpp"
#include "sim/world/reachability.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <iostream>
#include <sstream>

namespace pvc::sim {

namespace {

std::string simulated_text(duration time) {
    const auto all = std::chrono::duration_cast<std::chrono::seconds>(time).count();
    return fmt::format("{} h {} min {} s", all / 3600, all / 60 % 60, all % 60);
}

std::string replay_command(const many_runs& wanted, std::uint64_t seed) {
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
    if (wanted.run.fences) {
        line += " --fences";
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
void print_failure(std::ostream& out, const many_runs& wanted, std::uint64_t seed, const run_outcome& outcome) {
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

void note_run(const many_runs& wanted, std::uint64_t seed) {
    const std::string line =
        fmt::format("seed {}: BROKEN: an assertion of the daemon failed (see above), commit {}\nagain: {}\n", seed,
                    build_commit, replay_command(wanted, seed));
    const std::size_t size = std::min(line.size(), sizeof replay_of_this_run - 1);
    line.copy(replay_of_this_run, size);
    replay_of_this_run[size] = '\0';
}

}  // namespace

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

int run_many(const many_runs& wanted, std::ostream& out, std::ostream& error) {
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
    std::map<std::string, std::uint64_t> excused;  // what a rule let pass, by name
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
        for (const auto& [what, count] : outcome.seen) {
            if (what.starts_with("excused: ")) {
                excused[what] += count;
            }
        }
        bool is_bad = outcome.broken.has_value();
        if (!wanted.is_many || wanted.verbose || is_bad) {
            print_verdict(out, seed, outcome, real);
        }
        if (is_bad) {
            print_failure(out, wanted, seed, outcome);
        } else if (wanted.twice || wanted.ask) {
            auto other = settings;
            other.ask = wanted.ask;
            const auto again = run_once(other);
            if (again.hash != outcome.hash || again.broken) {
                is_bad = true;
                out << fmt::format("seed {}: {}: {:016x} and {:016x}\n", seed,
                                   wanted.ask ? "it is another when it is asked" : "two runs differ", outcome.hash,
                                   again.hash);
                if (again.broken) {
                    out << fmt::format("  {} at {:.6f} s: {}\n", again.broken->invariant,
                                       seconds(again.broken->at - time_point{}), again.broken->what);
                }
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
    for (const auto& [what, count] : excused) {
        out << fmt::format("{} ({} times)\n", what, count);
    }
    const bool is_all_reached = !wanted.reach || reached.report(out);
    return is_written(out, trace, wanted.trace_file, error) && broken == 0 && is_all_reached ? 0 : 1;
}

}  // namespace pvc::sim
