// What clients do with virtual machines.
#include "sim/subjects/ceph/ceph.hpp"
#include "sim/subjects/domains/domains.hpp"
#include "sim/world/chaos.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace pvc::sim {

using namespace std::chrono_literals;

namespace {

constexpr duration undefine_pause = 500ms;
constexpr duration undefine_again = 600ms;

void define_guest(cluster& world, const action& what) {
    if (std::ranges::find(guests_of(world).defined, what.number) != guests_of(world).defined.end()) {
        return;
    }
    guests_of(world).defined.push_back(what.number);
    guests_of(world).disks.insert(what.number);
    world.hardware.centre.call_it(guest_id(what.number), fmt::format("U{}", what.number));
    const std::string image = fmt::format("vms/vm{}", what.number);
    if (world.hardware.rbd.locks(image).empty()) {
        world.hardware.rbd.add_image(image);
    }
    world.ensemble.put(guest_keys(what.number, what.node, what.value));
}

// As `undefine`: stop, delete, and the keys are gone.
void undefine_guest(cluster& world, std::int64_t number) {
    const auto remove = [&world, number] {
        world.ensemble.put(guest_key(number, "/state"), "delete");
        world.later.after(undefine_pause, [&world, number] {
            world.ensemble.remove_tree(guest_key(number, ""));
            std::erase(guests_of(world).defined, number);
        });
    };
    if (world.ensemble.get(guest_key(number, "/state")) == "stop") {
        with_guest_lock(world, number, remove);
        return;
    }
    with_guest_lock(world, number, [&world, number, remove] {
        world.ensemble.put(guest_key(number, "/state"), "stop");
        world.later.after(undefine_again, [&world, number, remove] { with_guest_lock(world, number, remove); });
    });
}

void place_guest(cluster& world, std::int64_t number, const std::string& wanted, const std::string& how) {
    const auto read = [&world, number](std::string_view suffix) {
        return world.ensemble.get(guest_key(number, suffix)).value_or("");
    };
    const std::string from = read("/node");
    const std::string home = read("/lastnode");
    const bool goes_home = how == "unmigrate";
    const std::string to = goes_home ? home : wanted;
    const std::string before = read("/state");
    const bool is_flush = how == "flush";
    // That of the reference moves machines that are off too.
    const bool is_flushed = home.empty() && (before == "start" || before == "stop");
    if (to.empty() || from == to || from.empty() || (is_flush && !is_flushed)) {
        return;
    }
    const bool is_command = before == "start" || is_flush;
    const std::string state = !is_command ? before : how == "migrate-live" ? how : "migrate";
    const bool stays_away = how == "move" || goes_home;
    world.ensemble.put({{guest_key(number, "/state"), state},
                        {guest_key(number, "/node"), to},
                        {guest_key(number, "/lastnode"), stays_away     ? ""
                                                         : home.empty() ? from
                                                                        : home}});
}

void set_guest(cluster& world, const action& what) {
    with_guest_lock(world, what.number, [&world, number = what.number, state = what.value] {
        const bool needs_running = state == "shutdown" || state == "restart";
        const auto before = world.ensemble.get(guest_key(number, "/state"));
        if (before && (!needs_running || before == "start")) {
            world.ensemble.put(guest_key(number, "/state"), state);
        }
    });
}

void place(cluster& world, const action& what) {
    if (what.value == "flush") {
        place_guest(world, what.number, what.node, what.value);  // a node's flush takes no lock
        return;
    }
    with_guest_lock(world, what.number, [&world, number = what.number, to = what.node, how = what.value] {
        place_guest(world, number, to, how);
    });
}

// As somebody who does not care for locks: at once, and whatever was so.
void force_guest(cluster& world, const action& what) {
    const std::string from = world.ensemble.get(guest_key(what.number, "/node")).value_or("");
    std::map<std::string, std::string> keys{{guest_key(what.number, "/state"), what.value}};
    if (from != what.node) {
        keys.emplace(guest_key(what.number, "/node"), what.node);
        keys.emplace(guest_key(what.number, "/lastnode"), from);
    }
    world.ensemble.put(keys);
}

// As the reference's client: not what is so already.
void order_node(cluster& world, const action& what, member& target) {
    const std::string key = target.root() + "/domainstate";
    const bool is_flush = what.value == "flush";
    if (world.ensemble.exists(target.root()) && world.ensemble.get(key) != (is_flush ? "flushed" : "ready")) {
        world.ensemble.put(key, is_flush ? "flush" : "unflush");
    }
}

// Its definition gets an interface on that bridge, in place of the one before; "none": it has none any more.
void plug_guest(cluster& world, const action& what) {
    const std::string key = guest_key(what.number, "/xml");
    std::string xml = world.ensemble.get(key).value_or("");
    constexpr std::string_view begin = "<interface type='bridge'>";
    constexpr std::string_view end = "</interface>";
    if (const auto old = xml.find(begin); old != std::string::npos) {
        xml.erase(old, xml.find(end, old) + end.size() - old);
    }
    guests_of(world).bridges.erase(what.number);
    if (const auto at = xml.find("<graphics"); what.value != "none" && at != std::string::npos) {
        xml.insert(at, fmt::format("{}<source bridge='{}'/>{}", begin, what.value, end));
        guests_of(world).bridges[what.number] = what.value;
    }
    world.ensemble.put(key, xml);
}

// So many disks in all, of which the first is its own.
void give_disks(cluster& world, const action& what) {
    std::string list = guest_image(what.number);
    const auto wanted = std::clamp<std::size_t>(static_cast<std::size_t>(what.amount / 1s), 1, 8);
    for (std::size_t i = 1; i < wanted; ++i) {
        const std::string image = fmt::format("{}_disk{}", guest_image(what.number), i);
        if (world.hardware.rbd.locks(image).empty()) {
            world.hardware.rbd.add_image(image);
        }
        list += "," + image;
    }
    world.ensemble.put(guest_key(what.number, "/rbdlist"), list);
}

struct domains_added {
    std::uint64_t count = 0;
};

void add_domains_of_clients(cluster& world, const action& what) {
    auto& added = world.state<domains_added>().count;
    for (std::int64_t i = 0; i < what.number; ++i) {
        ++added;
        world.ensemble.put(fmt::format("/domains/6f892bb5-9b45-41c6-99e8-{:012x}", added), fmt::format("vm{}", added));
    }
}

// Few: every start of every node looks at each.
void draw_domains(drawing& from, action& out) {
    const auto wanted = static_cast<std::int64_t>(from.random.below(8));
    out.number = from.world.ensemble.children("/domains").size() < 30 ? wanted : 0;
}

// Whatever it was set to, it is to run again later.
void draw_set_guest(drawing& from, action& out) {
    static constexpr std::array states{"start", "start", "start", "stop", "shutdown", "restart", "disable"};
    out.number = some_guest(from);
    out.value = from.one_of(states);
    action& back = from.follow_up(from.some_time(5s, 120s), "set-guest");
    back.number = out.number;
    back.value = "start";
}

// Most are ready most of the time, so that there is somewhere to go.
void draw_order(drawing& from, action& out) {
    out.node = from.some_member();
    out.value = from.random.below(2) == 0 ? "ready" : "flush";
    action& back = from.follow_up(from.some_time(100ms, 120s), "order-node");
    back.node = out.node;
    back.value = "ready";
}

void draw_undefine(drawing& from, action& out) {
    static constexpr std::array kinds{"acpi", "acpi", "hang", "dirty"};
    out.number = some_guest(from);
    action& back = from.follow_up(from.some_time(2s, 30s), "define-guest");
    back.number = out.number;
    back.node = some_host(from);
    back.value = from.one_of(kinds);
    action& start = from.follow_up(from.some_time(31s, 60s), "set-guest");
    start.number = out.number;
    start.value = "start";
}

void draw_method(drawing& from, action& out) {
    static constexpr std::array methods{"none", "live", "shutdown", "garbage"};
    out.number = some_guest(from);
    out.value = from.one_of(methods);
}

// Those that have a default; the others say what the machine is.
void draw_lost_key(drawing& from, action& out) {
    static constexpr std::array keys{"lastnode", "node_autostart",    "migration_method", "failedreason",
                                     "vnc",      "migrate_sync_lock", "consolelog",       "stats"};
    out.number = some_guest(from);
    out.value = from.one_of(keys);
}

// Mostly of a network that is there or may come, also of one that nobody makes.
void draw_bridge(drawing& from, action& out) {
    static constexpr std::array bridges{"vmbr1001", "vmbr1001", "vmbr1002", "vmbr200", "vmbr7", "none", "lab0"};
    out.number = some_guest(from);
    out.value = from.one_of(bridges);
}

std::uint64_t with_networks_and_guests(cluster& world) {
    return !guests_of(world).defined.empty() && !world.members.empty() &&
                   world.members.front()->node.settings.networking
               ? 1
               : 0;
}

std::uint64_t with_disks(cluster& world) {
    return !guests_of(world).defined.empty() && has_storage(world) ? 1 : 0;
}

constexpr std::pair<std::int64_t, std::int64_t> guest_numbers{1, 99};

constexpr action_kind actions_of_domain_clients[] = {
    {.name = "add-domains",
     .takes = "i",
     .meaning = "clients define so many virtual machines",
     .on_cluster = add_domains_of_clients,
     .numbers = std::pair{0, 20'000},
     .chance = drawn{.arguments = draw_domains}},
    {.name = "define-guest",
     .takes = "niv",
     .meaning = "a client defines machine N of this kind (acpi, hang, dirty, off; also: diskless, and vf0 or vf1 at "
                "the end) there",
     .on_cluster = define_guest,
     .numbers = guest_numbers},
    {.name = "plug-guest",
     .takes = "iv",
     .meaning = "a client writes an interface on this bridge (or none) into the definition of machine N",
     .on_cluster = of_defined<plug_guest>,
     .numbers = guest_numbers,
     .chance = drawn{.favour = with_networks_and_guests, .arguments = draw_bridge}},
    {.name = "give-disks",
     .takes = "id",
     .meaning = "a client gives machine N so many RBD disks as there are seconds (1 s to 8 s)",
     .on_cluster = of_defined<give_disks>,
     .numbers = guest_numbers,
     .chance = drawn{.favour = with_disks,
                     .arguments =
                         [](drawing& from, action& out) {
                             out.number = some_guest(from);
                             out.amount = std::chrono::seconds(1 + from.random.below(8));
                         }}},
    {.name = "set-guest",
     .takes = "iv",
     .meaning = "a client sets the state of machine N, as soon as its lock is free",
     .on_cluster = of_defined<set_guest>,
     .numbers = guest_numbers,
     .chance = drawn{.eighths = 6, .favour = with_guests, .arguments = draw_set_guest}},
    {.name = "place-guest",
     .takes = "niv",
     .meaning =
         "a client moves machine N there: migrate, migrate-live, move, flush (without a lock); unmigrate: back home",
     .on_cluster = of_defined<place>,
     .numbers = guest_numbers,
     .may_name_nobody = true,
     .chance = drawn{.eighths = 6, .favour = most_of_all, .arguments = draw_placement}},
    {.name = "force-guest",
     .takes = "niv",
     .meaning = "a client writes this state of machine N, and that it is there, without a lock",
     .on_cluster = of_defined<force_guest>,
     .numbers = guest_numbers,
     .is_for_scripts = true},
    {.name = "order-node",
     .takes = "nv",
     .meaning = "a client wants the node empty (flush) or back (ready)",
     .on_member = order_node,
     .words = std::pair{"flush", "ready"},
     .chance = drawn{.eighths = 6, .favour = with_guests, .arguments = draw_order}},
    {.name = "undefine-guest",
     .takes = "i",
     .meaning = "a client stops machine N and removes its keys",
     .on_cluster = of_defined<[](cluster& world, const action& what) { undefine_guest(world, what.number); }>,
     .numbers = guest_numbers,
     .chance = drawn{.eighths = 6, .favour = with_guests, .arguments = draw_undefine}},
    {.name = "method-of-guest",
     .takes = "iv",
     .meaning = "a client sets how machine N migrates: none, live or shutdown",
     .on_cluster = of_defined<[](cluster& world, const action& what) {
         world.ensemble.put(guest_key(what.number, "/migration_method"), what.value);
     }>,
     .numbers = guest_numbers,
     .chance = drawn{.eighths = 6, .favour = with_guests, .arguments = draw_method}},
    {.name = "lose-key",
     .takes = "iv",
     .meaning = "somebody deletes this key of machine N",
     .on_cluster = of_defined<[](cluster& world, const action& what) {
         world.ensemble.remove_tree(guest_key(what.number, "/" + what.value));
     }>,
     .numbers = guest_numbers,
     .chance = drawn{.eighths = 6, .favour = with_guests, .arguments = draw_lost_key}},
};

constexpr sweep_fault domain_client_faults[] = {
    {"set-guest 1 start"},
    {"set-guest 1 stop"},
    {"set-guest 1 shutdown"},
    {"set-guest 1 restart"},
    {"set-guest 1 disable"},
    {"put /domains/1/state stop"},
    {"put /domains/1/state start"},
    {"put /domains/1/node hv2"},
    {"place-guest hv2 1 migrate"},
    {"place-guest hv2 1 flush"},
    {"place-guest hv1 1 move"},
    {"undefine-guest 1"},
    {"order-node @ flush"},
    {"order-node @ ready"},
    {"method-of-guest 1 live"},
    {"delete /domains/1/lastnode"},
    {"delete /domains/1/node_autostart"},
    {"delete /domains/1/migration_method"},
    {"delete /domains/1/migrate_sync_lock"},
    {"delete /domains/1/failedreason"},
    {"delete /domains/1/vnc"},
    {"hold-lock /domains/1/state for 20s"},
    {"break-lock /domains/1/state"},
    {"break-lock /domains/1/node"},
    {"break-lock /domains/1/migrate_sync_lock"},
};

}  // namespace

void add_domain_clients(registry& to) {
    to.add(actions_of_domain_clients);
    to.add(domain_client_faults);
}

}  // namespace pvc::sim
