#include "sim/world/command_line.hpp"

#include "sim/explore/explore_command.hpp"
#include "sim/explore/fence/fence_search.hpp"
#include "sim/explore/role/role_search.hpp"
#include "sim/subjects/hosts/host_runs.hpp"
#include "sim/world/defects.hpp"
#include "sim/world/listing.hpp"
#include "sim/world/many_runs.hpp"
#include "sim/world/registry.hpp"
#include "sim/world/scenario.hpp"
#include "sim/world/sweep.hpp"

#include <fmt/format.h>
#include <boost/program_options.hpp>

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <ctime>
#include <fstream>
#include <functional>
#include <optional>
#include <ostream>
#include <tuple>
#include <utility>

namespace pvc::sim {

namespace {

namespace options = boost::program_options;

constexpr std::string_view usage =
    R"(pvcnoded-sim run --seed N [--nodes 3] [--duration 1h] [--faults all|none|KIND,...] [--dense] [--foreign] [--fences] [--trace FILE]
    one random run; prints its verdict, and what was broken. --nodes any: 1 to 5, from the seed;
    --dense: faults all the time, whatever the seed says; --foreign: with a node of the reference that runs machines;
    --fences: with a board for each machine that switches it, good or bad
pvcnoded-sim run --seeds A..B [--verbose] [--twice] [--ask] [--reach] [the options above]
    many runs and their speed. --twice compares the hashes of two runs of each seed; --ask likewise, but the second time
    every daemon is asked all that its socket and its metrics port can be asked, all the time; --reach fails unless every
    kind of fault, result and transition was seen
pvcnoded-sim scenario FILE... [--record] [--trace FILE]
    runs scripts and compares their outcome; --record writes it into the script
pvcnoded-sim sweep [--operation NAME] [--fault TEXT] [--every N] [--pairs N] [--part I/N] [--order SEED] [--scripts N]
    each kind of fault after each number of steps, across each operation; --every: of the moments of a fault only each
    N-th; --pairs: so many runs with two faults besides; --part: the I-th of N shares of all runs (one process a core)
pvcnoded-sim judge [--seeds 1..100] [--defect NAME]
    whether every planted defect is found (only in builds that have them, preset `judge`); one of them again:
    run --seed N --nodes any --duration 30min --dense --defect NAME
pvcnoded-sim explore [SUBJECT] [--nodes 2] [--faults 1] [--writes 1] [--delays 1] [--reference SIDE] [--states N] [--verbose] [--defect NAME]
                     [--scenario FILE] [--graph FILE]
    every order of events of one operation, within these bounds, on the machines of src/policy; a finding goes into a
    script, the steps of its machines into a picture for Graphviz. Exit status 3: there are more states than allowed
pvcnoded-sim hosts --seed N | --seeds A..B [--all] [--text] [--vlans] [--verbose] [--defect NAME]
    random hosts as they are before a daemon is installed: what was there, and no key names, is there after, unchanged,
    and what is said before is what happens. --text: the hosts alone, a line of JSON each, with the commands that make
    them (--vlans: also of what not every kernel has); --all: with what is known not to hold
pvcnoded-sim list
    all actions, invariants, conditions of progress, and scenarios
)";

using words = std::vector<std::string>;

std::optional<std::uint64_t> parse_count(std::string_view text) {
    std::uint64_t value = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    return problem == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

// "A..B" or "I/N".
std::optional<std::pair<std::uint64_t, std::uint64_t>> parse_two(std::string_view text, std::string_view between) {
    const auto at = text.find(between);
    const auto first = parse_count(text.substr(0, at));
    const auto second = at == std::string_view::npos ? std::nullopt : parse_count(text.substr(at + between.size()));
    return first && second && *first <= *second ? std::optional(std::pair(*first, *second)) : std::nullopt;
}

[[noreturn]] void refuse(std::string_view name, std::string_view expected, std::string_view got) {
    throw options::error(fmt::format("{}: expected {}, got \"{}\"", name, expected, got));
}

// An option whose text `take` makes something of.
auto* read_by(std::function<void(const std::string&)> take) {
    return options::value<std::string>()->notifier(std::move(take));
}

auto* number_into(std::uint64_t& where, const char* name, std::uint64_t least = 0) {
    return read_by([&where, name, least](const std::string& text) {
        const auto count = parse_count(text);
        if (!count || *count < least) {
            refuse(name, "a number", text);
        }
        where = *count;
    });
}

// Empty: understood. Otherwise what was not. What is no option goes into `others`, if there is such a place.
std::string understand(const options::options_description& known, const words& given, words* others = nullptr) {
    namespace style = options::command_line_style;
    try {
        const auto parsed = options::command_line_parser(given)
                                .options(known)
                                .style(style::allow_long | style::long_allow_next | style::long_allow_adjacent)
                                .run();
        for (const auto& one : parsed.options) {
            if (!one.string_key.empty()) {
                continue;
            }
            if (others == nullptr) {
                return "unknown option " + one.value.front();
            }
            others->push_back(one.value.front());
        }
        options::variables_map seen;
        options::store(parsed, seen);
        options::notify(seen);
    } catch (const options::unknown_option& wrong) {
        return "unknown option " + wrong.get_option_name();
    } catch (const options::error& wrong) {
        return wrong.what();
    }
    return {};
}

void take_kinds(std::string_view text, run_settings& run) {
    run.faults = text != "none";
    if (text.empty()) {
        throw options::error("--faults: expected all, none, or kinds separated by commas");
    }
    while (!text.empty() && text != "all" && text != "none") {
        const auto end = std::min(text.find(','), text.size());
        const auto name = text.substr(0, end);
        const action_kind* const found = all_subjects().find(name);
        if (found == nullptr) {
            throw options::error(fmt::format("--faults: no action is called \"{}\" (pvcnoded-sim list has all)", name));
        }
        if (!found->chance) {
            throw options::error(fmt::format("--faults: {} is not drawn: random runs do it by themselves", name));
        }
        run.kinds.emplace_back(name);
        text.remove_prefix(std::min(end + 1, text.size()));
    }
}

// Which seeds, and with what defect: of `run` and of `judge`.
void add_seeds(options::options_description& known, many_runs& wanted) {
    known.add_options()("seed", read_by([&wanted](const std::string& text) {
                            const auto seed = parse_count(text);
                            if (!seed) {
                                refuse("--seed", "a number", text);
                            }
                            wanted.first = wanted.last = *seed;
                        }))("seeds", read_by([&wanted](const std::string& text) {
                                const auto both = parse_two(text, "..");
                                if (!both) {
                                    refuse("--seeds", "A..B", text);
                                }
                                std::tie(wanted.first, wanted.last) = *both;
                                wanted.is_many = true;
                            }))("defect", options::value(&wanted.defect_name));
}

void add_shape(options::options_description& known, many_runs& wanted) {
    known.add_options()("nodes", read_by([&wanted](const std::string& text) {
                            const auto count = parse_count(text);
                            if (text != "any" && (!count || *count < 1 || *count > 50)) {
                                refuse("--nodes", "1 to 50 or `any`", text);
                            }
                            wanted.nodes_text = text;
                            wanted.run.nodes = text == "any" ? std::nullopt : std::optional(static_cast<int>(*count));
                        }))("duration", read_by([&wanted](const std::string& text) {
                                const auto length = parse_duration(text);
                                if (!length || *length <= duration::zero()) {
                                    refuse("--duration", "a time like 90s, 20min or 1h", text);
                                }
                                wanted.duration_text = text;
                                wanted.run.length = *length;
                            }))("faults", read_by([&wanted](const std::string& text) {
                                    wanted.faults_text = text;
                                    take_kinds(text, wanted.run);
                                }))("dense", options::bool_switch(&wanted.run.dense))(
        "foreign", options::bool_switch(&wanted.run.foreign))("fences", options::bool_switch(&wanted.run.fences));
}

// Says what was not understood, and what would be.
int refused(std::ostream& error, std::string_view command, std::string_view problem) {
    error << fmt::format("pvcnoded-sim {}: {}\n{}", command, problem, usage);
    return 2;
}

int run(const words& given, std::ostream& out, std::ostream& error) {
    many_runs wanted;
    options::options_description known;
    add_seeds(known, wanted);
    add_shape(known, wanted);
    known.add_options()("verbose", options::bool_switch(&wanted.verbose))("twice", options::bool_switch(&wanted.twice))(
        "ask", options::bool_switch(&wanted.ask))("reach", options::bool_switch(&wanted.reach))(
        "trace", options::value(&wanted.trace_file));
    auto problem = understand(known, given);
    const auto seeds = std::ranges::count_if(given, [](const auto& one) { return one.starts_with("--seed"); });
    if (problem.empty() && seeds != 1) {
        problem = seeds == 0 ? "--seed or --seeds is needed" : "one of --seed and --seeds, once";
    }
    return problem.empty() ? run_many(wanted, out, error) : refused(error, "run", problem);
}

int judge_defects(const words& given, std::ostream& out, std::ostream& error) {
    many_runs wanted;
    wanted.first = 1;
    wanted.last = 100;
    options::options_description known;
    add_seeds(known, wanted);
    const auto problem = understand(known, given);
    return problem.empty() ? judge_the_judge(wanted.defect_name, wanted.first, wanted.last, out, error)
                           : refused(error, "judge", problem);
}

int sweep_all(const words& given, std::ostream& out, std::ostream& error) {
    sweep_settings wanted;
    options::options_description known;
    known.add_options()("operation", options::value(&wanted.operation))("fault", options::value(&wanted.fault))(
        "every", number_into(wanted.every, "--every", 1))("pairs", number_into(wanted.pairs, "--pairs"))(
        "order", number_into(wanted.seed, "--order"))("scripts", number_into(wanted.scripts, "--scripts"))(
        "part", read_by([&wanted](const std::string& text) {
            const auto both = parse_two(text, "/");
            if (!both || both->first < 1) {
                refuse("--part", "I/N", text);
            }
            std::tie(wanted.part, wanted.parts) = *both;
        }));
    if (const auto problem = understand(known, given); !problem.empty()) {
        return refused(error, "sweep", problem);
    }
    const int status = sweep(wanted, out, error);
    return out.flush() ? status : 1;
}

int scenarios(const words& given, std::ostream& out, std::ostream& error) {
    words files;
    bool record = false;
    std::string trace_file;
    options::options_description known;
    known.add_options()("record", options::bool_switch(&record))("trace", options::value(&trace_file));
    auto problem = understand(known, given, &files);
    if (problem.empty() && files.empty()) {
        problem = "a file is needed";
    }
    if (!problem.empty()) {
        return refused(error, "scenario", problem);
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

int hosts(const words& given, std::ostream& out, std::ostream& error) {
    many_runs seeds;
    host_runs wanted;
    options::options_description known;
    add_seeds(known, seeds);
    known.add_options()("all", options::bool_switch(&wanted.all))("text", options::bool_switch(&wanted.is_text))(
        "vlans", options::bool_switch(&wanted.has_vlans))("verbose", options::bool_switch(&wanted.verbose));
    auto problem = understand(known, given);
    if (problem.empty() && seeds.first == 0) {
        problem = "--seed or --seeds is needed, from 1";
    }
    if (problem.empty() && !plant(seeds.defect_name.empty() ? "none" : seeds.defect_name)) {
        problem = "this program has no planted defect of that name";
    }
    wanted.first = seeds.first;
    wanted.last = seeds.last;
    return problem.empty() ? run_hosts(wanted, out) : refused(error, "hosts", problem);
}

auto* small_into(std::uint8_t& where, const char* name, std::uint64_t least, std::uint64_t most) {
    return read_by([&where, name, least, most](const std::string& text) {
        const auto count = parse_count(text);
        if (!count || *count < least || *count > most) {
            refuse(name, fmt::format("{} to {}", least, most), text);
        }
        where = static_cast<std::uint8_t>(*count);
    });
}

int explore_orders(const words& given, std::ostream& out, std::ostream& error) {
    explore::explore_wish wanted;
    std::uint64_t states = wanted.limits.states;
    std::string defect_name = "none";
    std::string failed_fence = "none";  // what comes of a failed fence
    words others;
    options::options_description known;
    known.add_options()("nodes", small_into(wanted.within.nodes, "--nodes", 2, explore::nodes_max))(
        "faults", small_into(wanted.within.faults, "--faults", 0, 3))(
        "writes", small_into(wanted.within.writes, "--writes", 0, 3))(
        "delays", small_into(wanted.within.delays, "--delays", 0, 20))("states", number_into(states, "--states", 1))(
        "reference", options::value(&wanted.reference))("verbose", options::bool_switch(&wanted.verbose))(
        "defect", options::value(&defect_name))("scenario", options::value(&wanted.scenario_file))(
        "graph", options::value(&wanted.graph_file))("failed", options::value(&failed_fence));
    auto problem = understand(known, given, &others);
    if (problem.empty() && others.size() > 1) {
        problem = "one subject at a time";
    }
    if (problem.empty() && !plant(defect_name)) {
        problem = fmt::format("no defect called {} can be planted in this build", defect_name);
    }
    if (!problem.empty()) {
        return refused(error, "explore", problem);
    }
    wanted.subject = others.empty() ? wanted.subject : others.front();
    if (wanted.subject == "role") {
        if (!wanted.scenario_file.empty() || !wanted.graph_file.empty()) {
            return refused(error, "explore", "of the role there is no script and no picture");
        }
        const auto& within = wanted.within;
        return explore::roles::explore({within.nodes, within.faults, within.writes}, wanted.reference, states, out,
                                       error);
    }
    if (wanted.subject == "fence") {
        if (!wanted.scenario_file.empty() || !wanted.graph_file.empty()) {
            return refused(error, "explore", "of a fence there is no script and no picture");
        }
        if (failed_fence != "none" && failed_fence != "migrate") {
            return refused(error, "explore", "--failed is none or migrate");
        }
        return explore::fences::explore({.faults = wanted.within.faults,
                                         .writes = wanted.within.writes,
                                         .recovers_after_failure = failed_fence == "migrate"},
                                        wanted.reference, states, out, error);
    }
    wanted.limits.states = states;
    wanted.is_watched = ::isatty(STDERR_FILENO) == 1;
    return explore::explore(wanted, out, error);
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
        list_all(out);
        return 0;
    }
    using command = int (*)(const words&, std::ostream&, std::ostream&);
    static constexpr std::pair<std::string_view, command> commands[] = {
        {"run", run},     {"scenario", scenarios},    {"sweep", sweep_all}, {"judge", judge_defects},
        {"hosts", hosts}, {"explore", explore_orders}};
    for (const auto& [name, does] : commands) {
        if (arguments.front() == name) {
            return does(words(arguments.begin() + 1, arguments.end()), out, error);
        }
    }
    error << "pvcnoded-sim: no command is called " << arguments.front() << '\n' << usage;
    return 2;
}

}  // namespace pvc::sim
