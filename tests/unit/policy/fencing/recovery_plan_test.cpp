// Targets of a recovery, planned one after the other (README ruling 44).
#include "pvcnoded/policy/fencing/recovery_plan.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>

namespace pvc::policy {
namespace {

using namespace std::chrono_literals;
using planned_kind = planned_guest::kind;

constexpr time_point planned_at{1h};

node_room room(const std::string& name, std::int64_t free, std::int64_t total = 16000) {
    return {.offer = {.name = name,
                      .daemon = model::daemon_state::run,
                      .domain = model::domain_state::ready,
                      .memfree = std::to_string(free),
                      .memused = std::to_string(total - free),
                      .memprov = "0",
                      .cpuload = "1.0",
                      .vcpualloc = "0",
                      .domainscount = "0"},
            .memtotal = std::to_string(total),
            .cpucount = "8"};
}

guest_to_place guest_of(int number, std::int64_t memory = 1000, target_selector by = target_selector::mem) {
    guest_to_place one;
    one.id.bytes.back() = static_cast<std::uint8_t>(number);
    one.request = {.selector = by, .limit = {}, .current = "hv3"};
    one.memory = memory;
    one.vcpus = 4;
    return one;
}

TEST(recovery_plan, R44_ten_machines_do_not_all_go_to_one_node) {
    for (const auto by : {target_selector::mem, target_selector::memprov, target_selector::load, target_selector::vcpus,
                          target_selector::vms}) {
        recovery_planner planner;
        planner.begin({room("hv1", 15000), room("hv2", 14900)}, planned_at);
        std::map<std::string, int> count;
        for (int i = 0; i < 10; ++i) {
            ++count[planner.place(guest_of(i, 1000, by), planned_at).node];
        }
        EXPECT_EQ(count["hv1"], 5) << to_text(by);
        EXPECT_EQ(count["hv2"], 5);
    }
}

TEST(recovery_plan, R44_what_was_placed_in_the_last_minute_counts_in_the_next_plan) {
    recovery_planner planner;
    planner.begin({room("hv1", 15000), room("hv2", 14000)}, planned_at);
    EXPECT_EQ(planner.place(guest_of(1, 5000), planned_at).node, "hv1");
    planner.begin({room("hv1", 15000), room("hv2", 14000)}, planned_at + 60s);
    EXPECT_EQ(planner.place(guest_of(2), planned_at + 60s).node, "hv2");
    planner.begin({room("hv1", 15000), room("hv2", 14000)}, planned_at + 61s);
    EXPECT_EQ(planner.place(guest_of(3), planned_at + 61s).node, "hv1");
    planner.take_back(guest_of(3).id);
    EXPECT_EQ(planner.place(guest_of(4, 15000), planned_at + 61s).node, "hv1") << "its room is free again";
}

// Whoever placed it, and when.
TEST(recovery_plan, R44_what_a_machine_has_not_touched_yet_is_not_free) {
    struct row {
        std::vector<assigned_machine> assigned;
        std::int64_t free;
        std::int64_t memory;
        std::int64_t lacks;
    };
    const auto there = [](int n, std::int64_t memory, std::int64_t touched, const std::string& node = "hv1") {
        return assigned_machine{guest_of(n).id, node, memory, touched};
    };
    for (const auto& one :
         {row{{there(7, 5000, 0)}, 8000, 3000, 0}, row{{there(7, 5000, 0)}, 8000, 3001, 1},
          row{{there(7, 5000, 4000)}, 8000, 7000, 0}, row{{there(7, 5000, 4000)}, 8000, 7001, 1},
          row{{there(7, 5000, 9000)}, 8000, 8000, 0}, row{{there(7, 5000, -1)}, 8000, 3001, 1},
          row{{there(7, 5000, 0), there(8, 4000, 0)}, 8000, 1000, 2000}, row{{there(7, 5000, 0, "hv2")}, 8000, 8000, 0},
          // It belongs to the target of its migration already.
          row{{there(1, 5000, 0)}, 8000, 5000, 0}}) {
        recovery_planner planner;
        planner.begin({room("hv1", one.free)}, planned_at, one.assigned);
        const auto got = planner.place(guest_of(1, one.memory), planned_at);
        EXPECT_EQ(got.what, one.lacks == 0 ? planned_kind::placed : planned_kind::no_room) << one.memory;
        const auto lacks = fmt::format("lacks {} MiB", one.lacks);
        EXPECT_EQ(got.reason.find(lacks) != std::string::npos, one.lacks != 0) << got.reason;
    }
}

TEST(recovery_plan, R44_what_was_placed_is_counted_once_and_not_forgotten) {
    recovery_planner planner;
    const auto is_placed = [&](int n, std::int64_t memory, duration later) {
        return planner.place(guest_of(n, memory), planned_at + later).what == planned_kind::placed;
    };
    planner.begin({room("hv1", 8000)}, planned_at);
    EXPECT_TRUE(is_placed(1, 5000, 0s));
    EXPECT_FALSE(is_placed(2, 3001, 0s));
    // It is there by its keys, and has touched a part of its memory, which is not free any more.
    planner.begin({room("hv1", 7000)}, planned_at + 20s, {{guest_of(1).id, "hv1", 5000, 1000}});
    EXPECT_FALSE(is_placed(2, 3001, 20s));
    EXPECT_TRUE(is_placed(2, 3000, 20s));
    planner.take_back(guest_of(2).id);
    planner.begin({room("hv1", 7000)}, planned_at + 10min, {{guest_of(1).id, "hv1", 5000, 1000}});
    EXPECT_FALSE(is_placed(2, 3001, 10min));
    EXPECT_TRUE(is_placed(2, 3000, 10min));
    // Said to be there, and it is on another node.
    planner.begin({room("hv1", 8000)}, planned_at + 20min, {{guest_of(2).id, "hv2", 5000, 0}});
    EXPECT_TRUE(is_placed(3, 8000, 20min));
}

TEST(recovery_plan, R44_overcommit_counts_what_was_promised) {
    recovery_planner planner(150);
    planner.begin({room("hv1", 4000, 10000)}, planned_at, {{guest_of(7).id, "hv1", 6000, 1000}});
    EXPECT_EQ(planner.place(guest_of(1, 4001), planned_at).what, planned_kind::no_room);
    EXPECT_EQ(planner.place(guest_of(1, 4000), planned_at).what, planned_kind::placed);
}

TEST(assigned_memory, R44_what_statistics_say_that_is_touched) {
    struct row {
        std::string stats;
        std::optional<std::int64_t> mib;
    };
    for (const auto& one : {row{R"({"mem_stats": {"actual": 2097152, "rss": 1048576}, "cpu_stats": {}})", 1024},
                            row{R"({"mem_stats":{"rss":2048}})", 2}, row{R"({"rss": 1023})", 0},
                            row{R"({"name": "\"rss\": 4096", "mem_stats": {"rss": 1024}})", 1},
                            row{R"({"mem_stats": {"actual": 1}})", {}}, row{R"({"rss": )", {}}, row{R"({"rss":)", {}},
                            row{R"({"rss": -5})", {}}, row{R"({"rss": much})", {}}, row{"", {}},
                            row{R"({"rss": 99999999999999999999})", {}}}) {
        EXPECT_EQ(memory_touched(one.stats), one.mib) << one.stats;
    }
}

TEST(recovery_plan, R44_nobody_runs_out_of_memory) {
    recovery_planner planner;
    planner.begin({room("hv1", 3000), room("hv2", 1000)}, planned_at);
    EXPECT_EQ(planner.place(guest_of(1, 2000), planned_at).node, "hv1");
    const auto second = planner.place(guest_of(2, 2000), planned_at);
    EXPECT_EQ(second.what, planned_kind::no_room);
    EXPECT_EQ(second.reason, "it needs 2000 MiB, and the node with the most room lacks 1000 MiB of that");
    EXPECT_EQ(planner.place(guest_of(3, 900), planned_at).what, planned_kind::placed);
}

TEST(recovery_plan, R44_overcommit_is_a_share_of_all_memory) {
    struct row {
        std::int64_t overcommit;
        std::int64_t memory;
        planned_kind what;
    };
    for (const auto& one : {row{100, 4000, planned_kind::placed}, row{100, 4001, planned_kind::no_room},
                            row{150, 9000, planned_kind::placed}, row{150, 9001, planned_kind::no_room},
                            row{80, 2000, planned_kind::placed}, row{80, 2001, planned_kind::no_room}}) {
        recovery_planner planner(one.overcommit);
        planner.begin({room("hv1", 4000, 10000)}, planned_at);
        EXPECT_EQ(planner.place(guest_of(1, one.memory), planned_at).what, one.what)
            << one.overcommit << " " << one.memory;
    }
}

TEST(recovery_plan, AC65_nobody_is_there_and_R44_no_room_are_two_things) {
    recovery_planner planner;
    auto flushed = room("hv1", 8000);
    flushed.offer.domain = model::domain_state::flushed;
    auto stopped = room("hv2", 8000);
    stopped.offer.daemon = model::daemon_state::stop;
    planner.begin({flushed, stopped}, planned_at);
    EXPECT_EQ(planner.place(guest_of(1), planned_at).what, planned_kind::nobody);
    planner.begin({room("hv1", 8000)}, planned_at);
    auto limited = guest_of(1);
    limited.request.limit = {"hv2"};
    EXPECT_EQ(planner.place(limited, planned_at).what, planned_kind::nobody);
    auto unread = room("hv1", 8000);
    unread.offer.memfree = "much";
    planner.begin({unread}, planned_at);
    EXPECT_EQ(planner.place(guest_of(1), planned_at).what, planned_kind::no_figures);
}

// No key tells of a node of the reference whether it has the hypervisor function.
TEST(recovery_plan, R13_nodes_that_run_machines_before_those_that_may_not) {
    struct row {
        std::string count1;  // of hv1, which has the most room
        std::string vcpus1;
        bool is_ours1;
        std::string count2;
        std::int64_t memory;
        std::string node;
    };
    for (const auto& one : {row{"0", "0", false, "1", 1000, "hv2"}, row{"0", "0", true, "1", 1000, "hv1"},
                            row{"3", "0", false, "1", 1000, "hv1"}, row{"0", "2", false, "1", 1000, "hv1"},
                            row{"", "", false, "1", 1000, "hv2"}, row{"0", "0", false, "0", 1000, "hv1"},
                            row{"0", "0", false, "1", 3000, "hv1"}}) {
        recovery_planner planner;
        auto first = room("hv1", 8000);
        auto second = room("hv2", 2000);
        first.offer.domainscount = one.count1;
        first.offer.vcpualloc = one.vcpus1;
        first.is_ours = one.is_ours1;
        second.offer.domainscount = one.count2;
        planner.begin({first, second}, planned_at);
        EXPECT_EQ(planner.place(guest_of(1, one.memory), planned_at).node, one.node)
            << one.count1 << " " << one.is_ours1 << " " << one.count2 << " " << one.memory;
        EXPECT_EQ(planner.place(guest_of(1, one.memory), planned_at).node, one.node)
            << "what comes to it shows nothing";
    }
}

// It is dead for less than `FI` x `KI`, or held back for the majority.
TEST(recovery_plan, R44_a_node_that_is_silent_takes_nothing) {
    struct row {
        duration keepalive;
        duration silent1;  // hv1, which has the most room
        duration silent2;
        std::int64_t memory;
        planned_kind what;
        std::string node;
    };
    for (const auto& one :
         {row{5s, 0s, 0s, 1000, planned_kind::placed, "hv1"}, row{5s, 10s, 0s, 1000, planned_kind::placed, "hv1"},
          row{5s, 10001ms, 0s, 1000, planned_kind::placed, "hv2"}, row{5s, 25s, 0s, 3000, planned_kind::no_room, ""},
          row{5s, 25s, 11s, 1000, planned_kind::silent, ""}, row{5s, 0s, 3h, 1000, planned_kind::placed, "hv1"},
          row{1s, 10s, 10s, 1000, planned_kind::placed, "hv1"}, row{10s, 20s, 0s, 1000, planned_kind::placed, "hv1"},
          row{10s, 21s, 0s, 1000, planned_kind::placed, "hv2"}}) {
        recovery_planner planner(100, one.keepalive);
        auto first = room("hv1", 8000);
        auto second = room("hv2", 2000);
        first.silent_for = one.silent1;
        second.silent_for = one.silent2;
        planner.begin({first, second}, planned_at);
        auto guest = guest_of(1, one.memory);
        const auto plan = planner.place(guest, planned_at);
        EXPECT_EQ(plan.what, one.what) << one.silent1 / 1s << " " << one.silent2 / 1s;
        EXPECT_EQ(plan.node, one.node);
        if (one.what == planned_kind::silent) {
            EXPECT_EQ(plan.reason, "no node that it may run on has sent a heartbeat in the last 10 s");
        }
        guest.preferred = "hv1";
        EXPECT_EQ(planner.place(guest, planned_at).node, one.node) << "neither where it was migrating to";
    }
}

// What starts where libvirtd is away waits for it; where all are, it waits somewhere.
TEST(recovery_plan, R44_a_node_whose_libvirtd_is_silent_is_taken_last) {
    struct row {
        bool is_silent1;  // of hv1, which has the most room
        bool is_silent2;  // of hv2
        bool is_ours2;    // else nothing shows that it runs machines
        std::int64_t memory;
        std::string node;
    };
    for (const auto& one :
         {row{false, false, true, 1000, "hv1"}, row{true, false, true, 1000, "hv2"}, row{true, true, true, 1000, "hv1"},
          row{false, true, true, 1000, "hv1"}, row{true, false, true, 3000, "hv1"},
          row{true, false, false, 1000, "hv2"}, row{true, true, false, 1000, "hv1"}}) {
        recovery_planner planner;
        auto first = room("hv1", 8000);
        auto second = room("hv2", 2000);
        first.is_ours = true;
        second.is_ours = one.is_ours2;
        first.is_libvirtd_silent = one.is_silent1;
        second.is_libvirtd_silent = one.is_silent2;
        planner.begin({first, second}, planned_at);
        auto guest = guest_of(1, one.memory);
        EXPECT_EQ(planner.place(guest, planned_at).node, one.node) << one.is_silent1 << one.is_silent2 << one.memory;
        guest.preferred = "hv1";
        EXPECT_EQ(planner.place(guest, planned_at).node, one.is_silent1 ? one.node : "hv1")
            << "nor is the target of a migration preferred then";
    }
}

// All of them may be silent because of the one who asks.
TEST(recovery_plan, R13_among_silent_libvirtds_too_those_that_run_machines_come_first) {
    recovery_planner planner;
    auto unshown = room("hv1", 8000);
    auto ours = room("hv2", 2000);
    ours.is_ours = true;
    unshown.is_libvirtd_silent = ours.is_libvirtd_silent = true;
    planner.begin({unshown, ours}, planned_at);
    EXPECT_EQ(planner.place(guest_of(1, 1000), planned_at).node, "hv2");
    EXPECT_EQ(planner.place(guest_of(2, 3000), planned_at).node, "hv1") << "where there is room for it";
}

TEST(recovery_plan, a_silent_node_that_may_not_take_it_is_nobody) {
    recovery_planner planner;
    auto silent = room("hv1", 8000);
    silent.silent_for = 60s;
    planner.begin({silent}, planned_at);
    auto limited = guest_of(1);
    limited.request.limit = {"hv2"};
    EXPECT_EQ(planner.place(limited, planned_at).what, planned_kind::nobody);
}

TEST(recovery_plan, the_target_of_a_migration_is_preferred) {
    recovery_planner planner;
    planner.begin({room("hv1", 8000), room("hv2", 2000)}, planned_at);
    auto one = guest_of(1, 1500);
    one.preferred = "hv2";
    EXPECT_EQ(planner.place(one, planned_at).node, "hv2");
    auto other = guest_of(2, 1500);
    other.preferred = "hv2";
    EXPECT_EQ(planner.place(other, planned_at).node, "hv1") << "no room there";
}

TEST(recovery_plan, garbage_of_any_size_is_no_figure) {
    for (const std::string text : {"", "nan", "-1", "99999999999999999999999", "1e9", "0x10"}) {
        recovery_planner planner(120);
        auto node = room("hv1", 8000);
        node.offer.memfree = node.offer.cpuload = node.offer.vcpualloc = node.memtotal = node.cpucount = text;
        planner.begin({node}, planned_at);
        EXPECT_NE(planner.place(guest_of(1, INT64_MAX, target_selector::load), planned_at).what, planned_kind::placed)
            << text;
    }
}

}  // namespace
}  // namespace pvc::policy
