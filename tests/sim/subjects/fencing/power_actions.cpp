// What befalls boards, the power of machines, and the switch that several of them hang on.
#include "pvcnoded/core/fence_desk.hpp"
#include "sim/subjects/ceph/ceph.hpp"
#include "sim/subjects/domains/guests.hpp"
#include "sim/subjects/fencing/fencing.hpp"
#include "sim/world/chaos.hpp"
#include "sim/world/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

namespace pvc::sim {

using namespace std::chrono_literals;

namespace {

// --- what a board is like ---

struct board_trait {
    std::string_view word;
    void (*set)(cluster&, const std::string& node, sim_bmc&, duration time, std::string_view rest);
    duration usual{};  // of those with a time
};

constexpr board_trait board_traits[] = {
    {"well", [](cluster& /*world*/, const std::string& /*node*/, sim_bmc& /*board*/, duration /*time*/,
                std::string_view /*rest*/) {}},
    {"silent", [](cluster& /*world*/, const std::string& /*node*/, sim_bmc& board, duration /*time*/,
                  std::string_view /*rest*/) { board.is_reachable = false; }},
    {"fed", [](cluster& /*world*/, const std::string& /*node*/, sim_bmc& board, duration /*time*/,
               std::string_view /*rest*/) { board.dies_with_machine = true; }},
    {"lying", [](cluster& /*world*/, const std::string& /*node*/, sim_bmc& board, duration /*time*/,
                 std::string_view /*rest*/) { board.lies = true; }},
    {"refusing", [](cluster& /*world*/, const std::string& /*node*/, sim_bmc& board, duration /*time*/,
                    std::string_view /*rest*/) { board.refuses = true; }},
    {"booting", [](cluster& /*world*/, const std::string& /*node*/, sim_bmc& board, duration /*time*/,
                   std::string_view /*rest*/) { board.is_booting = true; }},
    {"locked", [](cluster& /*world*/, const std::string& /*node*/, sim_bmc& board, duration /*time*/,
                  std::string_view /*rest*/) { board.is_locked = true; }},
    {"operators", [](cluster& /*world*/, const std::string& /*node*/, sim_bmc& board, duration /*time*/,
                     std::string_view /*rest*/) { board.only_operators = true; }},
    {"suite", [](cluster& /*world*/, const std::string& /*node*/, sim_bmc& board, duration /*time*/,
                 std::string_view /*rest*/) { board.only_suite = 3; }},
    {"nameless", [](cluster& /*world*/, const std::string& /*node*/, sim_bmc& board, duration /*time*/,
                    std::string_view /*rest*/) { board.is_name_known = false; }},
    {"slow",
     [](cluster& /*world*/, const std::string& /*node*/, sim_bmc& board, duration time, std::string_view /*rest*/) {
         board.answer_time = time;
     },
     10s},
    {"late",
     [](cluster& /*world*/, const std::string& /*node*/, sim_bmc& board, duration time, std::string_view /*rest*/) {
         board.acts_after = time;
     },
     8s},
    {"soft",
     [](cluster& /*world*/, const std::string& /*node*/, sim_bmc& board, duration time, std::string_view /*rest*/) {
         board.asks_to_shut_down = true;
         board.acts_after = time;
     },
     15s},
    {"returns",
     [](cluster& /*world*/, const std::string& /*node*/, sim_bmc& board, duration time, std::string_view /*rest*/) {
         board.switches_on_after = time;
     },
     10s},
    {"of",
     [](cluster& world, const std::string& node, sim_bmc& /*board*/, duration /*time*/, std::string_view rest) {
         powers_of(world).leads_to[node] = powers_of(world).led_to[node] = std::string(rest);
         powers_of(world).led_since[node] = world.now();
     }},
};

void set_well(cluster& world, const std::string& node) {
    if (sim_bmc* const board = board_of(world, node); board != nullptr) {
        if (board->is_booting) {
            powers_of(world).lied[node] = {powers_of(world).trait_since[node], world.now()};
        }
        board->set_well();
        powers_of(world).leads_to.erase(node);
    }
}

// "silent", "slow 10s", "of hv3"
void set_trait(cluster& world, const action& what) {
    sim_bmc* const board = board_of(world, what.node);
    std::string_view rest = what.value;
    const auto word = next_word(rest);
    const auto* const trait = std::ranges::find(board_traits, word, &board_trait::word);
    if (board == nullptr || trait == std::end(board_traits)) {
        return;
    }
    set_well(world, what.node);
    powers_of(world).trait_since[what.node] = world.now();
    trait->set(world, what.node, *board, parse_duration(rest).value_or(trait->usual), rest);
}

void set_board(cluster& world, const action& what, member& target) {
    set_trait(world, what);
    world.lasting(what, &target, false, [&world, node = what.node] { set_well(world, node); });
}

void set_board_of_reference(cluster& world, const action& what, foreign_node& /*target*/) {
    set_trait(world, what);
    if (what.lasts) {
        world.later.after(*what.lasts, [&world, node = what.node] { set_well(world, node); });
    }
}

// Addresses, or cables: each answers where the other one should.
void exchange_boards(cluster& world, const action& what) {
    std::string_view rest = what.value;
    const std::string first(next_word(rest));
    const std::string second(next_word(rest));
    if (first == second || board_of(world, first) == nullptr || board_of(world, second) == nullptr) {
        return;
    }
    auto& powers = powers_of(world);
    powers.leads_to[first] = powers.led_to[first] = second;
    powers.leads_to[second] = powers.led_to[second] = first;
    powers.led_since[first] = powers.led_since[second] = world.now();
    world.lasting(what, nullptr, false, [&world, first, second] {
        powers_of(world).leads_to.erase(first);
        powers_of(world).leads_to.erase(second);
    });
}

// --- the power ---

void press(cluster& world, const std::string& node, bool on) {
    if (sim_bmc* const board = board_of(world, node); board != nullptr) {
        board->set_power(on);
    }
}

// --- a lease ---

// The last heartbeat of who is silent said when its machine resets itself, as one with self-reset does; and it does,
// and does not come up again.
void lend(cluster& world, const action& what, member& target) {
    const std::string armed =
        fmt::format("armed {}", std::chrono::duration_cast<std::chrono::seconds>(what.amount).count());
    zookeeper::transaction beat;
    beat.set(target.root() + "/keepalive", std::to_string(unix_seconds(world.loop.clock().wall_now())),
             zookeeper::any_version);
    beat.set(target.root() + "/selfreset", armed, zookeeper::any_version);
    ignore(world.ensemble.commit(beat), "a node that is not registered has no heartbeat");
    world.later.after(what.amount, [&world, &target, armed] {
        if (world.ensemble.get(target.root() + "/selfreset") == armed) {
            switch_machine(world, target.name(), false);
        }
    });
}

// --- a switch ---

void break_switch(cluster& world, const action& what) {
    if (powers_of(world).boards.empty()) {
        return;
    }
    join_behind(world);
    auto& behind = powers_of(world).behind;
    std::string_view rest = what.value;
    while (!rest.empty()) {
        behind.insert(std::string(next_word(rest)));
    }
    disturb_hypervisors(world, what.lasts);
    for (const auto& name : behind) {
        for (const auto& other : world.members) {
            if (!behind.contains(other->name())) {
                world.hardware.centre.cut(name, other->name());
            }
        }
        world.hardware.ceph.cut_off.insert(name);
        world.hardware.rbd.cut_off.insert(name);
        if (member* const one = world.find(name); one != nullptr) {
            one->node.connector.link().silence();
            world.disturb(*one, what.lasts);
            ++one->open_faults;
        } else if (foreign_node* const foreign = world.find_foreign(name); foreign != nullptr) {
            foreign->link().cut();
        }
    }
    world.lasting(what, nullptr, false, [&world] { join_behind(world); });
}

// --- a site ---

constexpr duration board_is_back = 10s;  // from its power until somebody can ask it
constexpr duration board_is_right = 5s;  // and then says `off` of a machine that runs
constexpr duration servers_are_back = 5s;

void bring_back(cluster& world, const std::string& node) {
    switch_machine(world, node, true);
    world.later.after(board_is_back, [&world, node] {
        if (sim_bmc* const board = board_of(world, node); board != nullptr) {
            board->is_reachable = board->is_booting = true;
        }
    });
    world.later.after(board_is_back + board_is_right, [&world, node] {
        if (sim_bmc* const board = board_of(world, node); board != nullptr) {
            board->is_booting = false;
        }
    });
}

// One after the other over that time, with the servers of ZooKeeper when most are there, and Ceph last.
void black_out(cluster& world, const action& what) {
    const auto& boards = powers_of(world).boards;
    if (boards.empty()) {
        return;
    }
    disturb_hypervisors(world, what.amount);
    world.disturb_all(what.amount);
    if (world.ensemble.is_up()) {
        world.ensemble.stop();
    }
    world.hardware.ceph.hangs = world.hardware.rbd.hangs = true;
    const auto count = static_cast<std::int64_t>(boards.size());
    std::int64_t place = 0;
    for (const auto& [node, board] : boards) {
        board->is_reachable = false;
        switch_machine(world, node, false);
        world.later.after(what.amount * place / count + 1s, [&world, name = node] { bring_back(world, name); });
        ++place;
    }
    world.later.after(what.amount * (count / 2) / count + servers_are_back, [&world] {
        if (!world.ensemble.is_up()) {
            world.ensemble.start();
        }
    });
    world.later.after(what.amount, [&world] { world.hardware.ceph.hangs = world.hardware.rbd.hangs = false; });
}

// --- an operator ---

constexpr duration word_holds = 60s;

// Whether his word is taken is in the log of that coordinator.
void say_word(cluster& world, member& to, const core::fence_word& word) {
    if (!to.node.is_running() || !to.node.is_ready()) {
        return;
    }
    auto& daemon = to.node.daemon();
    for (auto* const one : core::all_that_are<core::fence_confirmer>(daemon.subjects())) {
        const auto answer = one->confirm_fence(word, daemon.context().clock().now() + word_holds);
        for (const auto& told : powers_of(world).on_word) {
            told(to.name(), word.node, answer);
        }
    }
}

void confirm_fence(cluster& world, const action& what, member& target) {
    std::string_view rest = what.value;
    core::fence_word word{.node = std::string(next_word(rest)), .although_on = false, .by = "root"};
    word.although_on = next_word(rest) == "although-on";
    say_word(world, target, word);
}

// He looks at the machine before he says it.
void stand_by(cluster& world, const action& what, member& target) {
    const auto is_over = std::make_shared<bool>(false);
    world.on_power_loss.emplace_back([&world, &target, is_over, time = what.amount](const std::string& node) {
        if (node == target.name() || std::exchange(*is_over, true)) {
            return;
        }
        world.later.after(time, [&world, &target, node] {
            if (!is_machine_on(world, node)) {
                say_word(world, target, {.node = node, .although_on = false, .by = "root"});
            }
        });
    });
}

// --- how random runs draw them ---

std::uint64_t with_boards(cluster& world) {
    return world.has_boards ? 1 : 0;
}
std::uint64_t more_with_boards(cluster& world) {
    return world.has_boards ? 3 : 0;
}
std::uint64_t with_boards_of_many(cluster& world) {
    return world.has_boards && world.members.size() > 2 ? 1 : 0;
}

void draw_trait(drawing& from, action& out) {
    const auto& trait = board_traits[1 + from.random.below(std::size(board_traits) - 1)];
    out.value = trait.word;
    if (trait.word == "of") {
        out.value += " " + from.some_node();
    } else if (trait.usual > 0s) {
        out.value += " " + duration_text(from.some_time(1s, 40s));
    }
    // Some are like that for good.
    out.lasts = from.random.below(2) == 0 ? from.some_time(1s, 64s) : from.some_time(64s, 1800s);
    if (trait.word == "booting") {
        out.lasts = from.some_time(1s, 16s);
    }
}

// Who is drawn twice exchanges nothing.
void draw_exchange(drawing& from, action& out) {
    out.value = from.some_node();
    out.value += " " + from.some_node();
    out.lasts = from.some_time(64s, 3600s);
}

void draw_switch(drawing& from, action& out) {
    std::set<std::string> names;
    for (std::uint64_t left = 1 + from.random.below(3); left > 0; --left) {
        names.insert(from.some_node());
    }
    for (const auto& name : names) {
        out.value += (out.value.empty() ? "" : " ") + name;
    }
    out.lasts = from.some_time(1s, 300s);
}

// Most often about when a fence that has seen it off switches it on again.
void draw_word(drawing& from, action& out) {
    out.amount = from.random.below(4) == 0 ? from.some_time(8s, 300s) : from.some_time(100ms, 8s);
}

void draw_dark(drawing& from, action& out) {
    out.amount = from.some_time(30s, 900s);
}

constexpr action_kind actions_on_power[] = {
    {.name = "board",
     .takes = "nv",
     .meaning =
         "its board is well, or silent, fed (by its machine), lying, refusing, booting, locked (other password), "
         "operators, suite, nameless, slow T, late T, soft T, returns T (by itself), of NODE",
     .can_last = true,
     .on_member = set_board,
     .on_reference = set_board_of_reference,
     .chance = drawn{.eighths = 6, .favour = more_with_boards, .arguments = draw_trait},
     .is_for_scripts = true},
    {.name = "exchange-boards",
     .takes = "v",
     .meaning = "the boards of NODE and NODE exchange their places: addresses, or cables",
     .can_last = true,
     .on_cluster = exchange_boards,
     .chance = drawn{.eighths = 3, .favour = with_boards, .arguments = draw_exchange},
     .is_for_scripts = true},
    {.name = "switch-off",
     .takes = "n",
     .meaning = "somebody switches the machine off; with `for`: on again then. Its board has seen it",
     .can_last = true,
     .on_member =
         [](cluster& world, const action& what, member& target) {
             press(world, target.name(), false);
             world.lasting(what, &target, false, [&world, &target] { press(world, target.name(), true); });
         },
     .on_reference = [](cluster& world, const action& /*what*/,
                        foreign_node& target) { press(world, target.settings.name, false); },
     .chance = drawn{.favour = with_boards,
                     .arguments = [](drawing& from, action& out) { out.lasts = from.some_time(1s, 600s); }},
     .is_for_scripts = true},
    {.name = "switch-on",
     .takes = "n",
     .meaning = "somebody switches the machine on: it boots, and its daemon starts 30 s later",
     .on_member = [](cluster& world, const action& /*what*/, member& target) { press(world, target.name(), true); },
     .on_reference = [](cluster& world, const action& /*what*/,
                        foreign_node& target) { press(world, target.settings.name, true); },
     .chance = drawn{.favour = with_boards},
     .is_for_scripts = true},
    {.name = "lease",
     .takes = "nd",
     .meaning =
         "its last heartbeat, just now, says that its machine resets itself so long after it; it does, and stays off",
     .on_member = lend,
     .is_for_scripts = true},
    {.name = "confirm-fence",
     .takes = "nv",
     .meaning = "an operator tells this coordinator that a node is off: NODE, with although-on against its board",
     .on_member = confirm_fence,
     .is_for_scripts = true},
    {.name = "stand-by",
     .takes = "nd",
     .meaning =
         "an operator tells this coordinator of the next other machine that goes off that it is off, so long after "
         "that, if it still is",
     .on_member = stand_by,
     .chance = drawn{.eighths = 4, .favour = more_with_boards, .arguments = draw_word},
     .is_for_scripts = true},
    {.name = "break-switch",
     .takes = "v",
     .meaning = "those nodes, with their boards and their way to Ceph, are cut off from all others",
     .can_last = true,
     .on_cluster = break_switch,
     .chance = drawn{.favour = with_boards_of_many, .arguments = draw_switch},
     .is_for_scripts = true},
    {.name = "black-out",
     .takes = "d",
     .meaning = "the site has no power; within that time one node after the other comes back, Ceph last",
     .on_cluster = black_out,
     .chance = drawn{.eighths = 2, .favour = with_boards, .arguments = draw_dark},
     .is_for_scripts = true},
};

}  // namespace

void join_behind(cluster& world) {
    auto& behind = powers_of(world).behind;
    for (const auto& name : behind) {
        for (const auto& other : world.members) {
            if (!behind.contains(other->name())) {
                world.hardware.centre.join(name, other->name());
            }
        }
        world.hardware.ceph.cut_off.erase(name);
        world.hardware.rbd.cut_off.erase(name);
        if (member* const one = world.find(name); one != nullptr) {
            if (one->node.connector.link().is_silent()) {
                one->node.connector.link().end_silence();
            }
            world.end_fault(one);
        } else if (foreign_node* const foreign = world.find_foreign(name); foreign != nullptr) {
            foreign->link().mend();
        }
    }
    behind.clear();
}

void add_power_actions(registry& to) {
    to.add(actions_on_power);
}

}  // namespace pvc::sim
