// Patroni beside the daemons: who leads the database of the cluster, and what patronictl says of a switchover, in the
// words that it really has (tests/data/patroni). A machine has it from the first action about it on; before, the
// program is not there. Demanded is that a primary whose last word from Patroni is that another leads asks again
// (node-lifecycle.md 7.5, AC84; README rulings 32, 51).
#include "sim/subjects/role/role.hpp"
#include "sim/world/chaos.hpp"
#include "sim/world/judge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace pvc::sim {

namespace {

using namespace std::chrono_literals;
using model::router_state;

// One run of patronictl, as far as it is over.
struct patroni_try {
    int life = 0;  // of the daemon
    time_point began{};
    time_point ended{};
    bool leads = false;  // what Patroni really did: this node leads, or will
};
struct patroni_world {
    std::string leader;     // empty: no machine has Patroni
    std::string answer;     // how it refuses; empty: it does what it is asked for
    bool is_noisy = false;  // it lost a server of ZooKeeper, and says so whenever it likes: last of all, on stderr
    std::map<std::string, patroni_try, std::less<>> tries;  // of each machine, the last one
};

// The outputs of `leads` are those of success.
struct patroni_case {
    std::string_view name;
    int status;
    std::string_view output;
    std::string_view error_output;
    bool leads = false;
};
constexpr patroni_case patroni_cases[] = {
    {"refused", 0, "Switchover failed, details: 503, Switchover failed\n", ""},
    {"no-candidate", 0,
     "Switchover failed, details: 412, switchover is not possible: no good candidates have been found\n", ""},
    {"unknown", 0, "Switchover failed, details: 503, Switchover status unknown\n", ""},
    {"silent", 0, "2026-11-24 13:54:22.27986 Could not switchover using Patroni api, falling back to DCS\n",
     "2026-11-24 13:54:22,279 - WARNING - Failing over to DCS\n", true},
    {"no-leader", 1, "", "Error: This cluster has no leader\n"},
    {"no-member", 1, "", "Error: Member does not exist in cluster pvc\n"},
    {"dies", 1, "",
     "Traceback (most recent call last):\n  File \"patronictl\", line 5, in <module>\nKeyError: 'conn'\n"},
    {"hangs", 0, "", ""},
};
constexpr std::string_view lost_server =
    "2026-01-02 03:04:05,678 - WARNING - Connection dropped: socket connection error: Connection refused\n";
constexpr std::string_view noisy_word = " noisy";

const patroni_case* case_of(std::string_view name) {
    const auto* found = std::ranges::find(patroni_cases, name, &patroni_case::name);
    return found == std::end(patroni_cases) ? nullptr : found;
}

sim_program run_of_patroni(cluster& world, member& asking) {
    auto& patroni = world.state<patroni_world>();
    const std::string self = asking.name();
    sim_program run{.output = "Current cluster topology\n| " + patroni.leader + " | Leader |\n", .takes = 1500ms};
    const patroni_case* says = case_of(patroni.answer);
    bool leads = says == nullptr || says->leads;
    if (says == nullptr && patroni.leader == self) {
        run.how = async::exited{1};
        run.error_output = "Error: Switchover target and source are the same.\n";
    } else if (says != nullptr) {
        run.how = async::exited{says->status};
        run.output += says->output;
        run.error_output = says->error_output;
        run.takes = says->name == "hangs" ? 24h : run.takes;
    }
    if (patroni.is_noisy) {
        run.error_output += lost_server;
    }
    patroni_try& last = patroni.tries[self];
    last = {asking.node.lives(), world.now(), world.now() + std::min<duration>(run.takes, 10s), false};
    run.effect = [&world, self, leads, began = last.began] {
        auto& now = world.state<patroni_world>();
        now.leader = leads ? self : now.leader;
        if (patroni_try& mine = now.tries[self]; mine.began == began) {
            mine.leads = leads;
        }
    };
    return run;
}

void begin_patroni(cluster& world) {
    for (const auto& one : world.members) {
        one->node.programs.add([&world, &one](const async::command& what) -> std::optional<sim_program> {
            const bool is_it = !what.arguments.empty() && what.arguments.front() == "patronictl";
            const bool is_there = is_it && !world.state<patroni_world>().leader.empty();
            return is_there ? std::optional(run_of_patroni(world, *one)) : std::nullopt;
        });
    }
}

void heal_patroni(cluster& world) {
    auto& patroni = world.state<patroni_world>();
    patroni.answer.clear();
    patroni.is_noisy = false;
}

// It is installed with that: some other node led it until now.
void answer_so(cluster& world, const action& what) {
    auto& patroni = world.state<patroni_world>();
    if (patroni.leader.empty()) {
        patroni.leader = world.members.back()->name();
    }
    std::string_view word = what.value;
    patroni.is_noisy = word.ends_with(noisy_word);
    word.remove_suffix(patroni.is_noisy ? noisy_word.size() : 0);
    patroni.answer = word;
    world.lasting(what, nullptr, false, [&world] { heal_patroni(world); });
}

void lead_database(cluster& world, const action& what, member& target) {
    world.state<patroni_world>().leader = target.name();
    ignore(what, "it ends at once");
}

void draw_answer(drawing& from, action& out) {
    static constexpr std::array words{"refused", "no-candidate",       "unknown",   "silent", "no-leader", "dies",
                                      "hangs",   "no-candidate noisy", "done noisy"};
    out.value = from.one_of(words);
}

std::uint64_t where_there_is_a_database(cluster& world) {
    return has_networking(world) ? 1 : 0;
}

constexpr action_kind actions_on_patroni[] = {
    {.name = "patronictl",
     .takes = "v",
     .meaning =
         "Patroni answers so (refused, no-candidate, unknown, silent, no-leader, no-member, dies, hangs; done: as "
         "it should), with `noisy` behind and its library warns last of all",
     .can_last = true,
     .on_cluster = answer_so,
     .chance = drawn{.favour = where_there_is_a_database, .arguments = draw_answer}},
    {.name = "lead-database",
     .takes = "n",
     .meaning = "Patroni has this node lead the database",
     .on_member = lead_database,
     .chance = drawn{.favour = where_there_is_a_database}},
};

// ---- what must hold

struct claims_seen {
    struct term {
        time_point since{};                 // it has, or is about to have, the role
        std::optional<time_point> quiet{};  // it is primary, and nothing has disturbed it
    };
    std::map<std::uint32_t, term> terms;
};

// Five tries 5 s after one another, then one in 30 s, each of at most 10 s.
void a_primary_asks_again(judge& of) {
    constexpr duration longest = 60s;
    const auto& patroni = of.world.state<patroni_world>();
    if (!has_networking(of.world) || patroni.leader.empty()) {
        return;
    }
    const time_point now = of.world.now();
    for (const auto& one : of.world.members) {
        auto& term = of.state<claims_seen>().terms[one->number];
        if (one->node.is_paused()) {
            term.quiet.reset();
            continue;
        }
        const auto role = one->node.is_running() ? one->node.daemon().context().role.now() : router_state::client;
        if (role != router_state::primary && role != router_state::takeover) {
            term = {.since = now};
            continue;
        }
        if (role != router_state::primary || !of.world.is_calm(*one)) {
            term.quiet.reset();
            continue;
        }
        term.quiet = term.quiet.value_or(now);
        const auto found = patroni.tries.find(one->name());
        const bool has_tried = found != patroni.tries.end() && found->second.life == one->node.lives() &&
                               found->second.began + 2s >= term.since;
        if (has_tried && found->second.leads) {
            continue;
        }
        const time_point last = has_tried ? std::max(found->second.ended, *term.quiet) : *term.quiet;
        if (now - last > longest) {
            of.say(
                "database_is_claimed",
                fmt::format("{} is primary, Patroni did not let it lead the database, and it has not asked again for "
                            "{:.3f} s",
                            one->name(), seconds(now - last)));
        }
    }
}

constexpr rule patroni_rules[] = {
    {.name = "database_is_claimed",
     .meaning = "a primary whose node does not lead the database asks Patroni again, whatever was printed last",
     .on_second = a_primary_asks_again},
};

constexpr planted_mistake mistakes_with_patroni[] = {
    {defect::last_line_decides, "last_line_decides", "patroni-refuses-although-its-library-warns-last"},
};

}  // namespace

void add_patroni(registry& to) {
    to.add(actions_on_patroni);
    to.add(patroni_rules);
    to.add(mistakes_with_patroni);
    to.add(subject_part{.begin = begin_patroni, .heal = heal_patroni});
}

}  // namespace pvc::sim
