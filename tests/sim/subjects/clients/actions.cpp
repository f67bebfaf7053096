// Clients, and somebody's mistakes: what is written, deleted and locked by hand.
#include "sim/world/chaos.hpp"
#include "sim/world/cluster.hpp"

#include <array>
#include <utility>

namespace pvc::sim {

using namespace std::chrono_literals;

namespace {

void hold_lock(cluster& world, const action& what) {
    if (!world.ensemble.exists(what.path)) {
        return;
    }
    const auto session = world.ensemble.open_session();
    if (what.lasts) {
        world.later.after(*what.lasts, [&world, session] {
            if (world.ensemble.has_session(session)) {
                world.ensemble.close_session(session);
            }
        });
    }
    world.keep_session(session);
    for (auto& one : world.members) {  // whoever starts waits for it a while
        one->starts_well_from = std::max(one->starts_well_from, world.now() + what.lasts.value_or(1min));
        if (one->node.is_running() && !one->node.is_ready()) {
            world.disturb(*one, what.lasts);
        }
    }
    const auto made = world.ensemble.create(what.path + "/6f892bb59b4541c699e870a841d1568b__lock__", "client",
                                            zookeeper::create_mode::ephemeral_sequential, session);
    ignore(made, "a lock of a client that comes too late is none");
}

void break_lock(cluster& world, const action& what) {
    for (const auto& name : world.ensemble.children(what.path)) {
        if (name.find("lock__") != std::string::npos) {
            const auto gone = world.ensemble.remove(what.path == "/" ? what.path + name : what.path + '/' + name);
            ignore(gone, "it was there a moment ago");
        }
    }
}

void set_maintenance(cluster& world, const action& what) {
    world.ensemble.put("/config/maintenance", what.value == "on" ? "true" : "false");
    world.lasting(what, nullptr, false, [&world] { world.ensemble.put("/config/maintenance", "false"); });
}

constexpr std::array<std::string_view, 7> garbage{"",     "garbage", "\xff\xfe", "-1", "99999999999999999999",
                                                  "none", "run"};

// A version that nobody understands, for a while.
void draw_schema_mistake(drawing& from, action& out) {
    out.path = "/schema/version";
    out.value = garbage[from.random.below(4)];
    out.after_steps = 0;
    const std::string right = from.restore(out.path, "10");
    action& correction = from.follow_up(from.some_time(1s, 60s), "put");
    correction.path = out.path;
    correction.value = right;
}

// A client's mistakes: words that mean nothing, words that mean something else, in keys of everybody.
void draw_put(drawing& from, action& out) {
    const std::string record = "/nodes/" + from.some_member();
    static constexpr std::array<std::string_view, 2> states{"dead", "fenced"};
    switch (from.random.below(6)) {
        case 0:
            out.path = record + "/daemonstate";
            // Who calls a living node fenced takes the proof that its machines have ended away.
            out.value = from.world.has_guests ? "dead" : from.one_of(states);
            break;
        case 1:
            out.path = record + "/routerstate";
            out.value = from.one_of(garbage);
            break;
        case 2:
            out.path = record + (from.random.below(2) == 0 ? "/staticdata" : "/ipmihostname");
            out.value = from.one_of(garbage);
            break;
        case 3:
            out.path = record + "/keepalive";
            out.value = from.one_of(garbage);
            break;
        case 4:
            out.path = "/config/primary_node";
            out.value = from.one_of(garbage);
            break;
        default: draw_schema_mistake(from, out);
    }
}

void draw_put_big(drawing& from, action& out) {
    out.path = "/nodes/" + from.some_member() + (from.random.below(2) == 0 ? "/staticdata" : "/ipmihostname");
    out.number = static_cast<std::int64_t>(from.random.below(400'000));
}

void draw_delete(drawing& from, action& out) {
    static constexpr std::array suffixes{"/staticdata",  "/memfree",     "/cpuload",     "/keepalive",
                                         "/routerstate", "/domainstate", "/daemonstate", "/ipmihostname"};
    out.path =
        from.random.below(5) == 0 ? "/config/primary_node" : "/nodes/" + from.some_member() + from.one_of(suffixes);
}

void draw_lock(drawing& from, action& out) {
    out.path = from.random.below(2) == 0 ? "/schema/version" : "/config/primary_node";
}

constexpr action_kind actions_of_clients[] = {
    {.name = "put",
     .takes = "pv",
     .meaning = "somebody writes a key",
     .on_cluster = [](cluster& world, const action& what) { world.ensemble.put(what.path, what.value); },
     .chance = drawn{.arguments = draw_put}},
    {.name = "put-big",
     .takes = "pi",
     .meaning = "somebody writes so many bytes into a key",
     .on_cluster =
         [](cluster& world, const action& what) {
             world.ensemble.put(what.path, std::string(static_cast<std::size_t>(what.number), 'x'));
         },
     .numbers = std::pair{0, 10'000'000},
     .chance = drawn{.arguments = draw_put_big}},
    {.name = "delete",
     .takes = "p",
     .meaning = "somebody deletes a key with everything below",
     .on_cluster = [](cluster& world, const action& what) { world.ensemble.remove_tree(what.path); },
     .chance = drawn{.arguments = draw_delete}},
    {.name = "maintenance",
     .takes = "v",
     .meaning = "a client sets maintenance mode on or off",
     .can_last = true,
     .on_cluster = set_maintenance,
     .words = std::pair{"on", "off"},
     .chance =
         drawn{.arguments = [](drawing& from, action& out) { out.value = from.random.below(2) == 0 ? "on" : "off"; }}},
    {.name = "hold-lock",
     .takes = "p",
     .meaning = "a client takes the exclusive lock of a key",
     .can_last = true,
     .on_cluster = hold_lock,
     .chance = drawn{.arguments = draw_lock}},
    {.name = "break-lock",
     .takes = "p",
     .meaning = "somebody deletes all locks of a key",
     .on_cluster = break_lock,
     .chance = drawn{.arguments = draw_lock}},
};

constexpr sweep_fault client_faults[] = {{"put /nodes/hv2/daemonstate dead"}};

}  // namespace

void add_clients(registry& to);
void add_clients(registry& to) {
    to.add(actions_of_clients);
    to.add(client_faults);
}

}  // namespace pvc::sim
