#include "sim/world/defects.hpp"

#include "pvcnoded/base/planted.hpp"
#include "sim/explore/explore_command.hpp"
#include "sim/explore/fence/fence_search.hpp"
#include "sim/explore/role/role_search.hpp"
#include "sim/explore/to_scenario.hpp"
#include "sim/subjects/hosts/host_runs.hpp"
#include "sim/world/random_run.hpp"
#include "sim/world/registry.hpp"
#include "sim/world/scenario.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <ostream>
#include <sstream>

namespace pvc::sim {

namespace {

// The same with the scenario that is said to show it.
bool judge_by_scenario(const planted_mistake& which, std::ostream& out) {
    for (const std::string_view folder : {"tests/sim/scenarios", "/usr/share/doc/pvcnoded/scenarios"}) {
        std::ifstream in(fmt::format("{}/{}.scenario", folder, which.scenario), std::ios::binary);
        std::ostringstream text;
        text << in.rdbuf();
        if (!in) {
            continue;
        }
        const auto script = parse_scenario(text.str());
        const std::string found = script ? run_scenario(*script).failed : std::string();
        out << fmt::format("{:26} {}  {}\n", which.name, which.scenario,
                           found.empty() ? "does not show it" : found.substr(0, 120));
        return !found.empty();
    }
    out << fmt::format("{:26} there is no scenario {}\n", which.name, which.scenario);
    return false;
}

// The same by trying every order within its bounds; where the script that comes of it is to show it with whole daemons,
// it does so, and nothing without the mistake.
bool judge_by_exploring(const planted_mistake& which, std::ostream& out) {
    explore::bounds within;
    within.faults = which.explored.faults;
    within.writes = which.explored.writes;
    within.nodes = which.explored.nodes;
    within.reference = explore::side_named(which.explored.reference).value_or(explore::nobody);
    within.what = explore::subject_named(which.explored.subject).value_or(explore::subject::migration);
    const auto result = explore::search(within, {});
    if (!result.broken) {
        out << fmt::format("{:26} nothing was found in {} states\n", which.name, result.states);
        return false;
    }
    out << fmt::format("{:26} after {} states, {} steps  {}: {}\n", which.name, result.states,
                       result.broken->way.size(), result.broken->what.rule, result.broken->what.text.substr(0, 80));
    if (!which.explored.replays) {
        return true;
    }
    const std::string text = explore::scenario_of(within, *result.broken);
    const auto script = parse_scenario(text);
    const std::string shown = script ? run_scenario(*script).failed : std::string();
    plant("none");
    const std::string without = script ? run_scenario(*script).failed : script.error().text();
    plant(which.name);
    out << fmt::format("{:26} whole daemons: {}\n", "",
                       shown.empty()     ? "the script does not show it"
                       : without.empty() ? shown.substr(0, 100)
                                         : "the script fails without it: " + without.substr(0, 80));
    return !shown.empty() && without.empty();
}

// The same in the world of the role.
bool judge_by_exploring_role(const planted_mistake& which, std::ostream& out) {
    const auto result = explore::roles::search({which.explored.nodes, which.explored.faults, which.explored.writes});
    out << (result.broken ? fmt::format("{:26} after {} states, {} steps  {}: {}\n", which.name, result.states,
                                        result.broken->way.size(), result.broken->what.rule,
                                        result.broken->what.text.substr(0, 80))
                          : fmt::format("{:26} nothing was found in {} states\n", which.name, result.states));
    return result.broken.has_value();
}

// The same in the world of a fence.
bool judge_by_exploring_fence(const planted_mistake& which, std::ostream& out) {
    const auto result = explore::fences::search({.faults = which.explored.faults, .writes = which.explored.writes});
    out << (result.broken ? fmt::format("{:26} after {} states, {} steps  {}: {}\n", which.name, result.states,
                                        result.broken->way.size(), result.broken->what.rule,
                                        result.broken->what.text.substr(0, 80))
                          : fmt::format("{:26} nothing was found in {} states\n", which.name, result.states));
    return result.broken.has_value();
}

// The same by random hosts.
bool judge_by_hosts(const planted_mistake& which, std::uint64_t first, std::uint64_t last, std::ostream& out) {
    for (std::uint64_t seed = first; seed <= last; ++seed) {
        if (const auto run = run_host(seed, false); !run.wrong.empty()) {
            out << fmt::format("{:26} host {:3}  {}\n", which.name, seed, run.wrong.substr(0, 120));
            return true;
        }
    }
    out << fmt::format("{:26} nothing was found in hosts {}..{}\n", which.name, first, last);
    return false;
}

// True: found, or, for `none`, nothing was found. Says which seed and what.
bool judge_one(const planted_mistake& which, std::uint64_t first, std::uint64_t last, std::ostream& out) {
    const std::uint64_t begin = which.seed >= first && which.seed <= last ? which.seed : first;
    for (std::uint64_t tried = 0; tried <= last - first; ++tried) {
        run_settings settings;
        settings.seed = begin + tried <= last ? begin + tried : begin + tried - last + first - 1;
        settings.nodes = std::nullopt;
        settings.length = std::chrono::minutes(30);
        settings.dense = true;
        const auto outcome = run_once(settings);
        if (outcome.broken) {
            out << fmt::format("{:26} seed {:3}  {}: {}\n", which.name, settings.seed, outcome.broken->invariant,
                               outcome.broken->what.substr(0, 120));
            return which.which != defect::none;
        }
    }
    out << fmt::format("{:26} nothing was found in seeds {}..{}\n", which.name, first, last);
    return which.which == defect::none;
}

}  // namespace

bool plant([[maybe_unused]] std::string_view name) {
#ifdef PVC_PLANTED_DEFECTS
    if (name == "none") {
        planted_defect = defect::none;
        return true;
    }
    const auto& all = all_subjects().mistakes();
    const auto found = std::ranges::find(all, name, &planted_mistake::name);
    if (found != all.end()) {
        planted_defect = found->which;
        return true;
    }
    return false;
#else
    return name == "none";
#endif
}

int judge_the_judge(std::string_view only, std::uint64_t first, std::uint64_t last, std::ostream& out,
                    std::ostream& error) {
    std::size_t passed = 0;
    std::size_t failed = 0;
    std::vector<planted_mistake> all{{defect::none, "none"}};
    all.insert(all.end(), all_subjects().mistakes().begin(), all_subjects().mistakes().end());
    for (const auto& one : all) {
        if (!only.empty() && only != one.name) {
            continue;
        }
        if (!plant(one.name)) {
            error << "this program has no planted defects: build pvcnoded-sim-planted\n";
            return 2;
        }
        const bool is_explored = !one.explored.subject.empty();
        bool is_found = !is_explored || (one.explored.subject == "role"    ? judge_by_exploring_role(one, out)
                                         : one.explored.subject == "fence" ? judge_by_exploring_fence(one, out)
                                                                           : judge_by_exploring(one, out));
        if (!one.scenario.empty()) {
            is_found = judge_by_scenario(one, out) && is_found;
        } else if (one.is_of_hosts) {
            is_found = judge_by_hosts(one, first, last, out) && is_found;
        } else if (!is_explored || !one.explored.is_only) {
            is_found = judge_one(one, first, last, out) && is_found;
        }
        ++(is_found ? passed : failed);
        out.flush();
    }
    plant("none");
    if (passed + failed == 0) {
        error << "no defect is called " << only << '\n';
        return 2;
    }
    out << fmt::format("{} passed, {} failed\n", passed, failed);
    return failed == 0 ? 0 : 1;
}

}  // namespace pvc::sim
