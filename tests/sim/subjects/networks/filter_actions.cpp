// ACLs as clients write them, and what befalls the packet filter of a machine: its kernel refuses, hangs, is slow,
// conflicts, does not answer; somebody does something to its tables.
//
// Nothing else of a daemon may mind: what is done to the filter disturbs the node for the rules about the filter alone.
#include "sim/subjects/networks/filter.hpp"
#include "sim/subjects/role/role.hpp"
#include "sim/world/chaos.hpp"
#include "sim/world/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

namespace pvc::sim {

using namespace std::chrono_literals;

namespace {

// ---- clients

// "set 1001 in ssh 10 tcp dport 22 accept", "order 1001 in ssh 3", "remove 1001 in ssh": as the API does, in one
// transaction.
void change_acl(cluster& world, const action& what) {
    std::string_view rest = what.value;
    const auto word = next_word(rest);
    const std::string network = "/networks/" + std::string(next_word(rest));
    const std::string folder = network + "/firewall_rules/" + std::string(next_word(rest));
    const std::string root = folder + "/" + std::string(next_word(rest));
    if (!world.ensemble.exists(folder) || root == folder + "/") {
        return;
    }
    if (word == "set") {
        const std::string order(next_word(rest));
        world.ensemble.put({{root, ""}, {root + "/order", order}, {root + "/rule", std::string(rest)}});
    } else if (word == "order" && world.ensemble.exists(root)) {
        world.ensemble.put(root + "/order", std::string(rest));
    } else if (word == "remove") {
        world.ensemble.remove_tree(root);
    }
}

void draw_acl(drawing& from, action& out) {
    static constexpr std::array vnis{"1001", "1002", "16777215"};
    static constexpr std::array names{"in a", "in b", "in c", "in web", "out a", "out ssh"};
    static constexpr std::array orders{"0", "1", "2", "9", "10", "100", "x"};
    static constexpr std::array texts{"accept",
                                      "drop",
                                      "tcp dport 22 ct state new accept",
                                      "ip saddr { 10.0.0.1, 10.0.1.0/24 } tcp dport { 80, 443 } accept",
                                      "icmp type echo-request limit rate 5/second accept",
                                      "reject with tcp reset",
                                      "",
                                      "tcp dport nosuch accept",
                                      "accept; add table ip evil",
                                      "jump vxlan1001-in"};
    const auto where = fmt::format("{} {}", from.one_of(vnis), from.one_of(names));
    switch (from.random.below(8)) {
        case 0: out.value = "remove " + where; return;
        case 1: out.value = fmt::format("order {} {}", where, from.one_of(orders)); return;
        default: out.value = fmt::format("set {} {} {}", where, from.one_of(orders), from.one_of(texts));
    }
}

// ---- what befalls the kernel

// One that is starting waits for its firewall a while.
void lasting_for_filter(cluster& world, const action& what, member& target, std::function<void()> undo) {
    note_filter_trouble(world, target);
    if (what.lasts) {
        target.starts_well_from = std::max(target.starts_well_from, world.now() + *what.lasts);
    }
    const bool minds = target.node.is_running() && !target.node.is_ready();
    world.lasting(what, &target, minds, [&world, &target, undo = std::move(undo)] {
        undo();
        note_filter_trouble(world, target);
    });
}

void refuse_filter(cluster& world, const action& what, member& target) {
    target.node.filter.refuses_if = [](const model::filter_change& /*one*/) { return true; };
    lasting_for_filter(world, what, target, [&target] { target.node.filter.refuses_if = nullptr; });
}

void hang_filter(cluster& world, const action& what, member& target) {
    target.node.filter.hang();
    lasting_for_filter(world, what, target, [&target] { target.node.filter.end_hang(); });
}

void slow_filter(cluster& world, const action& what, member& target) {
    target.node.filter.call_time = what.amount;
    lasting_for_filter(world, what, target, [&target] { target.node.filter.end_slowness(); });
}

void tear_looks(cluster& world, const action& what, member& target) {
    target.node.filter.torn_looks = std::numeric_limits<int>::max();
    lasting_for_filter(world, what, target, [&target] { target.node.filter.torn_looks = 0; });
}

void delay_filter_events(cluster& world, const action& what, member& target) {
    target.node.filter.event_delay = what.amount;
    lasting_for_filter(world, what, target, [&target] { target.node.filter.event_delay = duration::zero(); });
}

// The host's own rules, where Debian has them. Its nft program can list them, and nothing else.
void host_firewall(cluster& world, const action& /*what*/, member& target) {
    auto& node = target.node;
    if (node.filter_table.flags() == 0) {  // else it is a program's own
        node.filter_table.load_host_rules();
    }
    if (world.state<host_rules>().have_program.insert(target.number).second) {
        node.programs.add([&table = node.filter_table](const async::command& asked) {
            std::optional<sim_program> ran;
            if (asked.arguments.size() == 5 && asked.arguments[0] == "nft" && asked.arguments[1] == "list") {
                ran.emplace().output = fmt::format("table inet filter {{\n{}\n}}\n", table.text());
            }
            return ran;
        });
    }
    note_filter_trouble(world, target);
}

// These three strike with the next batch, whenever that is: what wanted it is given its time anyhow.
void refuse_filter_change(cluster& /*world*/, const action& what, member& target) {
    target.node.filter.refuses = static_cast<std::size_t>(what.number - 1);
}

void conflict(cluster& /*world*/, const action& what, member& target) {
    target.node.filter.conflicts = static_cast<int>(what.number);
}

void drop_answer(cluster& /*world*/, const action& what, member& target) {
    using unanswered = sim_packet_filter::unanswered;
    target.node.filter.next_unanswered = what.value == "done" ? unanswered::done : unanswered::not_done;
}

// "flush": all tables go; "touch": another table is changed; "sleep": ours is made dormant; "accept": a rule before all
// others; "open": the last rule of the chains of networks goes; "cut": a chain goes, with what leads to it.
void tamper(cluster& world, const action& what, member& target) {
    sim_filter& table = target.node.filter_table;
    std::vector<model::filter_change> changes;
    if (what.value == "flush") {
        table.flush_ruleset();
    } else if (what.value == "touch") {
        table.touch_table();
    } else if (what.value == "sleep") {
        table.make_dormant();
    } else if (what.value == "accept") {
        changes.emplace_back(
            model::add_rule{"input", {{model::give_verdict{model::filter_verdict::accept, ""}}, ""}, 0, true});
    }
    for (const auto& chain : table.chains()) {
        if (chain.hook == model::filter_hook::none && what.value == "open" && !chain.rules.empty()) {
            changes.emplace_back(model::delete_rule{chain.name, chain.rules.back().handle});
        }
        if (chain.hook == model::filter_hook::forward && what.value == "cut") {
            changes.emplace_back(model::flush_chain{chain.name});
        }
    }
    for (const auto& chain : table.chains()) {
        if (chain.hook == model::filter_hook::none && what.value == "cut" && changes.size() == 1) {
            changes.emplace_back(model::delete_chain{chain.name});
        }
    }
    ignore(table.commit(changes, std::nullopt), "what it is about may not be there");
    note_filter_trouble(world, target);
}

// ---- how they are drawn

std::uint64_t where_acls_are(cluster& world) {
    return has_networking(world) ? 3 : 0;
}

std::uint64_t has_filter(cluster& world) {
    return has_networking(world) ? 1 : 0;
}

void draw_time(drawing& from, action& out) {
    out.amount = from.some_time(1ms, 10s);
}

void draw_small_number(drawing& from, action& out) {
    // A change of one ACL is a batch of one or two.
    const std::uint64_t most = from.random.below(2) == 0 ? 2 : 12;
    out.number = 1 + static_cast<std::int64_t>(from.random.below(most));
}

constexpr std::pair<std::int64_t, std::int64_t> filter_numbers{1, 1000};

constexpr action_kind actions_on_filters[] = {
    {.name = "acl",
     .takes = "v",
     .meaning = "a client does to an ACL: set VNI in|out NAME ORDER RULE; order VNI in|out NAME ORDER; "
                "remove VNI in|out NAME",
     .on_cluster = change_acl,
     .chance = drawn{.eighths = 7, .favour = where_acls_are, .arguments = draw_acl}},
    {.name = "refuse-filter",
     .takes = "n",
     .meaning = "the kernel refuses every change of the packet filter",
     .can_last = true,
     .on_member = refuse_filter,
     .chance = drawn{.eighths = 2, .favour = has_filter}},
    {.name = "hang-filter",
     .takes = "n",
     .meaning = "what is asked of the kernel about the packet filter is not answered, and done later",
     .can_last = true,
     .on_member = hang_filter,
     .chance = drawn{.eighths = 2, .favour = has_filter}},
    {.name = "slow-filter",
     .takes = "nd",
     .meaning = "every call about the packet filter takes so long",
     .can_last = true,
     .on_member = slow_filter,
     .chance = drawn{.eighths = 2, .favour = has_filter, .arguments = draw_time}},
    {.name = "tear-filter-looks",
     .takes = "n",
     .meaning = "every look at the packet filter is interrupted by changes",
     .can_last = true,
     .on_member = tear_looks,
     .chance = drawn{.eighths = 2, .favour = has_filter}},
    {.name = "delay-filter-events",
     .takes = "nd",
     .meaning = "the kernel tells so late that a table has changed",
     .can_last = true,
     .on_member = delay_filter_events,
     .chance = drawn{.eighths = 2, .favour = has_filter, .arguments = draw_time}},
    {.name = "refuse-filter-change",
     .takes = "ni",
     .meaning = "the next batch for the packet filter that has so many changes is refused because of that one",
     .on_member = refuse_filter_change,
     .numbers = filter_numbers,
     .chance = drawn{.favour = has_filter, .arguments = draw_small_number}},
    {.name = "conflict-filter",
     .takes = "ni",
     .meaning = "so many times somebody changes another table just before a batch",
     .on_member = conflict,
     .numbers = filter_numbers,
     .chance = drawn{.favour = has_filter, .arguments = draw_small_number}},
    {.name = "drop-filter-answer",
     .takes = "nv",
     .meaning = "the next batch for the packet filter is not answered, and `done` or `not-done`",
     .on_member = drop_answer,
     .words = std::pair<std::string_view, std::string_view>{"done", "not-done"},
     .chance = drawn{.favour = has_filter,
                     .arguments = [](drawing& from,
                                     action& out) { out.value = from.random.below(2) == 0 ? "done" : "not-done"; }}},
    {.name = "tamper-with-filter",
     .takes = "nv",
     .meaning = "somebody does to the packet filter: flush, touch, sleep, accept, open, cut",
     .on_member = tamper,
     .chance = drawn{.eighths = 6,
                     .favour = has_filter,
                     .arguments =
                         [](drawing& from, action& out) {
                             static constexpr std::array ways{"flush", "touch", "sleep", "accept", "open", "cut"};
                             out.value = from.one_of(ways);
                         }}},
    {.name = "host-firewall",
     .takes = "n",
     .meaning = "the host's own service for its firewall starts: all tables go, and its own rules come",
     .on_member = host_firewall,
     .chance = drawn{.eighths = 2, .favour = has_filter}},
};

constexpr std::pair<std::string_view, std::string_view> filter_marks[] = {
    {"firewall flushed", "firewall: table inet filter was gone"},
    {"firewall damaged", "firewall: somebody changed table inet filter"},
    {"firewall refused", "firewall: the kernel refuses change"},
    {"firewall conflicts", "firewall: it cannot be changed: "},
    {"firewall looks", "firewall: it cannot be looked at: "},
    {"ACL left out", "is left out: at "},
};

constexpr subject_part filter_part{.heal_member = [](cluster& world, member& one) {
    one.node.filter.end_faults();
    note_filter_trouble(world, one);
}};

}  // namespace

void add_filter_actions(registry& to) {
    to.add(filter_part);
    to.add(actions_on_filters);
    to.expect_logged(filter_marks);
}

}  // namespace pvc::sim
