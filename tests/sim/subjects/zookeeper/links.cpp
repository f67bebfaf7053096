// What befalls the way of one node to ZooKeeper.
#include "sim/subjects/zookeeper/zookeeper.hpp"
#include "sim/world/chaos.hpp"
#include "sim/world/cluster.hpp"
#include "sim/world/judge.hpp"

#include <map>

namespace pvc::sim {

using namespace std::chrono_literals;

namespace {

// Up to this a slow answer is none of a healthy node's concern.
constexpr duration harmless_delay = 300ms;

memory_link& link_of(member& one) {
    return one.node.connector.link();
}

void delay_link(cluster& world, const action& what, member& target, duration memory_link::* which, duration usual) {
    link_of(target).*which = what.amount;
    world.lasting(what, &target, what.amount > harmless_delay,
                  [&target, which, usual] { link_of(target).*which = usual; });
}

// The next write of the node meets this, whenever that is: a node that waits may not write for a minute.
void break_next_write(cluster& world, member& target, verdict how) {
    world.disturb(target, std::nullopt);
    link_of(target).on_request = [&world, &target, how, done = false](const zookeeper::request& request) mutable {
        if (done || !request.is_write()) {
            return verdict::answer;
        }
        done = true;
        world.disturb(target, std::nullopt);
        return how;
    };
}

void cut(cluster& world, const action& what, member& target) {
    link_of(target).cut();
    world.lasting(what, &target, true, [&target] { link_of(target).mend(); });
}

void cut_reference(cluster& world, const action& what, foreign_node& target) {
    target.link().cut();
    if (what.lasts) {
        world.later.after(*what.lasts, [&target] { target.link().mend(); });
    }
}

void close_session(cluster& world, const action& /*what*/, member& target) {
    if (world.ensemble.has_session(link_of(target).session_id())) {
        world.ensemble.close_session(link_of(target).session_id());
    }
    world.disturb(target, std::nullopt);
}

void draw_delay(drawing& from, action& out) {
    out.amount = from.some_time(2ms, 5s);
}

constexpr action_kind actions_on_links[] = {
    {.name = "cut",
     .takes = "n",
     .meaning = "connections to ZooKeeper break, new ones are refused",
     .can_last = true,
     .on_member = cut,
     .on_reference = cut_reference,
     .chance = drawn{}},
    {.name = "mend",
     .takes = "n",
     .meaning = "new connections are possible again",
     .on_member =
         [](cluster& world, const action& /*what*/, member& target) {
             link_of(target).mend();
             world.end_fault(&target);
         },
     .on_reference = [](cluster& /*world*/, const action& /*what*/, foreign_node& target) { target.link().mend(); },
     .is_end = true},
    {.name = "drop",
     .takes = "n",
     .meaning = "the connection to ZooKeeper breaks once",
     .on_member =
         [](cluster& world, const action& /*what*/, member& target) {
             link_of(target).drop(in_flight::applied);
             world.disturb(target, std::nullopt);
         },
     .on_reference = [](cluster& /*world*/, const action& /*what*/,
                        foreign_node& target) { target.link().drop(in_flight::applied); },
     .chance = drawn{}},
    {.name = "silence",
     .takes = "n",
     .meaning = "nothing arrives in either direction, and nobody is told",
     .can_last = true,
     .on_member =
         [](cluster& world, const action& what, member& target) {
             link_of(target).silence();
             world.lasting(what, &target, true, [&target] { link_of(target).end_silence(); });
         },
     .chance = drawn{}},
    {.name = "end-silence",
     .takes = "n",
     .meaning = "what was sent meanwhile arrives",
     .on_member =
         [](cluster& world, const action& /*what*/, member& target) {
             link_of(target).end_silence();
             world.end_fault(&target);
         },
     .is_end = true},
    {.name = "expire",
     .takes = "n",
     .meaning = "the servers end the node's sessions",
     .on_member =
         [](cluster& world, const action& /*what*/, member& target) {
             link_of(target).expire_sessions();
             world.disturb(target, std::nullopt);
         },
     .on_reference = [](cluster& /*world*/, const action& /*what*/,
                        foreign_node& target) { target.link().expire_sessions(); },
     .chance = drawn{}},
    {.name = "close-session",
     .takes = "n",
     .meaning = "somebody closes the node's session with its id",
     .on_member = close_session,
     .chance = drawn{}},
    {.name = "latency",
     .takes = "nd",
     .meaning = "the way to ZooKeeper and back takes so long",
     .can_last = true,
     .on_member = [](cluster& world, const action& what,
                     member& target) { delay_link(world, what, target, &memory_link::latency, 1ms); },
     .chance = drawn{.arguments = draw_delay}},
    {.name = "answer-delay",
     .takes = "nd",
     .meaning = "answers to writes come so late",
     .can_last = true,
     .on_member = [](cluster& world, const action& what,
                     member& target) { delay_link(world, what, target, &memory_link::write_answer_delay, {}); },
     .chance = drawn{.arguments = draw_delay}},
    // Answers queue behind an event that is late: the order of a connection stays.
    {.name = "watch-delay",
     .takes = "nd",
     .meaning = "watch events come so late",
     .can_last = true,
     .on_member = [](cluster& world, const action& what,
                     member& target) { delay_link(world, what, target, &memory_link::watch_delay, {}); },
     .chance = drawn{.arguments = draw_delay}},
    {.name = "lag",
     .takes = "nd",
     .meaning = "the node's server is so far behind the leader",
     .can_last = true,
     .on_member = [](cluster& world, const action& what,
                     member& target) { delay_link(world, what, target, &memory_link::lag, {}); },
     .chance = drawn{.arguments = draw_delay}},
    {.name = "hold-answers",
     .takes = "n",
     .meaning = "requests arrive and are done; nothing is answered",
     .can_last = true,
     .on_member =
         [](cluster& world, const action& what, member& target) {
             link_of(target).hold_answers();
             world.lasting(what, &target, true, [&target] { link_of(target).release_answers(); });
         },
     .chance = drawn{}},
    {.name = "release-answers",
     .takes = "n",
     .meaning = "the answers come now",
     .on_member =
         [](cluster& world, const action& /*what*/, member& target) {
             link_of(target).release_answers();
             world.end_fault(&target);
         },
     .is_end = true},
    {.name = "drop-next",
     .takes = "n",
     .meaning = "the connection breaks before the next write is done",
     .on_member = [](cluster& world, const action& /*what*/,
                     member& target) { break_next_write(world, target, verdict::drop_before); },
     .chance = drawn{}},
    {.name = "lose-answer",
     .takes = "n",
     .meaning = "the next write is done, and the connection breaks before its answer",
     .on_member = [](cluster& world, const action& /*what*/,
                     member& target) { break_next_write(world, target, verdict::drop_after); },
     .chance = drawn{}},
};

constexpr sweep_fault link_faults[] = {
    {"cut @ for 3s"},
    {"cut @ for 20s"},
    {"drop @"},
    {"silence @ for 20s"},
    {"expire @"},
    {"close-session @"},
    {"answer-delay @ 2s for 20s"},
    {"watch-delay @ 2s for 20s"},
    {"lag @ 2s for 20s"},
    {"hold-answers @ for 5s"},
    {"drop-next @"},
    {"lose-answer @"},
};

// Of the results `not_empty`, `too_large` and `invalid` cannot come about yet: nobody removes a key with children,
// writes what does not fit, or asks for a path that is none. `refused` and what follows it are no answers of ZooKeeper.
constexpr std::string_view expected_results[] = {
    "result ok",
    "result not found",
    "result already exists",
    "result version conflict",
    "result outcome unknown",
    "result no connection",
    "result timed out",
    "result session lost",
    "link connected",
    "link suspended",
    "link lost",
};

constexpr planted_mistake mistakes_with_sessions[] = {
    {defect::forgotten_reread, "forgotten_reread"},
    {defect::forgotten_rearm, "forgotten_rearm"},
    {defect::watches_unbounded, "watches_unbounded", "session-with-more-keys-than-it-can-watch"},
};

struct connections_seen {
    std::map<std::uint32_t, std::map<std::int64_t, std::uint64_t>> of;  // by member and session
};

// A session that no server takes over goes from one connection to the next for ever.
void calm_sessions_stay(judge& of) {
    auto& seen = of.state<connections_seen>();
    for (const auto& one : of.world.members) {
        auto& before = seen.of[one->number];
        std::map<std::int64_t, std::uint64_t> now;
        if (one->node.is_running() && !one->node.is_paused() && of.world.is_calm(*one)) {
            for (memory_client* client : link_of(*one).clients()) {
                const auto& state = client->state().value();
                if (state.session_id != 0) {
                    now[state.session_id] = state.connections;
                }
            }
        }
        for (const auto& [id, connections] : now) {
            const auto found = before.find(id);
            if (found != before.end() && connections > found->second) {
                of.say("sessions_stay", one->name() + " lost a connection, and nothing happened to it");
            }
        }
        before = std::move(now);
    }
}

constexpr rule session_rules[] = {
    {.name = "sessions_stay",
     .meaning = "the connection of a calm node's session holds: it is never away for longer than its way was broken",
     .on_second = calm_sessions_stay},
};

}  // namespace

void heal_link(cluster& /*world*/, member& one) {
    memory_link& link = link_of(one);
    link.on_request = nullptr;
    link.latency = 1ms;
    link.answer_delay = link.write_answer_delay = link.watch_delay = link.lag = {};
    if (link.is_cut()) {
        link.mend();
    }
    if (link.is_silent()) {
        link.end_silence();
    }
    link.release_answers();
}

void add_links(registry& to) {
    to.add(actions_on_links);
    to.add(session_rules);
    to.add(link_faults);
    to.expect(expected_results);
    to.add(mistakes_with_sessions);
}

}  // namespace pvc::sim
