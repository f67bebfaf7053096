// networking.md 4.4: functions whose machine is gone or belongs to another node are freed, those that a machine here
// has are entered as used by it, and nothing else (case 21).
#include "pvcnoded/policy/networks/function_use.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace pvc::policy {
namespace {

using namespace std::chrono_literals;
using names = std::vector<std::string>;
using kind = function_change::kind;
using model::vm_state;

constexpr time_point start{100s};
const std::string web = "00000000-0000-0000-0000-00000000000a";
const std::string db = "00000000-0000-0000-0000-00000000000b";
const uuid web_id = *parse_uuid(web);
const uuid db_id = *parse_uuid(db);

function_use use(const std::string& by, std::int64_t written = 1, bool is_used = true) {
    return {"ens1f1v0", is_used, by, written};
}

// What is seen of one function.
function_view with(const function_use& one, const names* domains) {
    function_view now;
    now.self = "hv1";
    now.functions = {one};
    now.domains = domains;
    now.running.emplace();
    return now;
}

names names_of(const std::vector<function_change>& all) {
    names found;
    for (const auto& one : all) {
        found.push_back(one.function);
    }
    return found;
}

TEST(function_changes, case_21_a_function_of_a_machine_that_is_no_more) {
    function_changes changes;
    const names domains{db};
    changes.see(start, with(use(web), &domains));
    EXPECT_TRUE(changes.due(start).empty()) << "its keys may be written before the machine's";
    EXPECT_EQ(changes.next({}), start + 10s);
    changes.see(start + 5s, with(use(web), &domains));
    EXPECT_EQ(changes.next({}), start + 10s);
    EXPECT_EQ(names_of(changes.due(start + 10s)), names{"ens1f1v0"});
}

TEST(function_changes, who_is_there_keeps_his) {
    function_changes changes;
    const names domains{web};
    changes.see(start, with(use(web), &domains));
    EXPECT_FALSE(changes.next({}));
    changes.see(start, with(use("00000000-0000-0000-0000-00000000000A"), &domains));
    EXPECT_FALSE(changes.next({})) << "however it is spelled";
    const names odd{"web"};
    changes.see(start, with(use("web"), &odd));
    EXPECT_FALSE(changes.next({}));
    changes.see(start, with(use(db, 1, false), &domains));
    EXPECT_FALSE(changes.next({})) << "it is not used";
}

TEST(function_changes, one_that_nobody_names_is_free_too) {
    function_changes changes;
    const names domains{web};
    changes.see(start, with(use(""), &domains));
    EXPECT_EQ(names_of(changes.due(start + 10s)), names{"ens1f1v0"});
    changes.see(start, with(use("../web"), &domains));
    EXPECT_EQ(changes.next({}), start + 10s) << "another user";
}

TEST(function_changes, a_list_that_could_not_be_read_proves_nothing) {
    function_changes changes;
    changes.see(start, with(use(web), nullptr));
    EXPECT_EQ(changes.next({}), start + 10s) << "somebody has to look again";
    EXPECT_TRUE(changes.due(start + 60s).empty());
    changes.see(start, with(use(web, 1, false), nullptr));
    EXPECT_FALSE(changes.next({}));
    const names empty;
    changes.see(start + 1s, with(use(web), &empty));
    changes.see(start + 9s, with(use(web), nullptr));
    EXPECT_TRUE(changes.due(start + 60s).empty()) << "it may have been there meanwhile";
    changes.see(start + 10s, with(use(web), &empty));
    EXPECT_EQ(changes.next({}), start + 20s);
    EXPECT_EQ(names_of(changes.due(start + 20s)), names{"ens1f1v0"}) << "an empty list that was read is one";
}

TEST(function_changes, whoever_writes_the_keys_meanwhile_has_his_time) {
    function_changes changes;
    const names domains;
    changes.see(start, with(use(web, 1), &domains));
    changes.see(start + 9s, with(use(web, 2), &domains));
    EXPECT_EQ(changes.next({}), start + 19s);
    changes.see(start + 12s, with(use(db, 3), &domains));
    EXPECT_EQ(changes.next({}), start + 22s);
    const names back{db};
    changes.see(start + 21s, with(use(db, 3), &back));
    EXPECT_FALSE(changes.next({}));
}

TEST(function_changes, what_failed_is_tried_again_later) {
    function_changes changes;
    const names domains;
    changes.see(start, with(use(web), &domains));
    changes.failed("ens1f1v0", start + 10s);
    EXPECT_TRUE(changes.due(start + 19s).empty());
    changes.see(start + 19s, with(use(web), &domains));
    EXPECT_EQ(names_of(changes.due(start + 20s)), names{"ens1f1v0"});
    changes.failed("ens9v0", start);
    changes.see(start + 20s, {});
    EXPECT_FALSE(changes.next({})) << "its keys are gone";
}

// ---- machines elsewhere and here

// A function that web uses, which belongs to hv2 by now; all is known.
struct moved {
    names domains{web, db};
    function_view now = with(use(web, 7), &domains);

    moved() { now.machines[web_id] = {"hv2", vm_state::start, 5, {}, 0}; }
    [[nodiscard]] std::optional<function_change> change() const {
        const auto all = wanted_changes(now);
        return all.empty() ? std::nullopt : std::optional(all.front());
    }
};
// A function that nobody uses, and web runs here and has it.
struct arrived : moved {
    arrived() {
        now.functions = {use("", 7, false)};
        now.running = {web_id};
        now.machines[web_id] = {"hv1", vm_state::start, 5, {{"ens1f1v0", "52:54:00:00:00:0a"}}, 6};
    }
    function_machine& machine() { return now.machines[web_id]; }
};

TEST(function_users, a_machine_that_belongs_to_another_node_leaves_its_function) {
    const auto change = moved().change();
    ASSERT_TRUE(change);
    EXPECT_EQ(change->what, kind::free);
    EXPECT_EQ(change->used_by, web);
    EXPECT_EQ(change->written, 7);
    EXPECT_EQ(change->user, (function_change::guard{web_id, 5, 0}));
    EXPECT_FALSE(change->taker);
    moved spelled;
    spelled.now.functions.front().used_by = "00000000-0000-0000-0000-00000000000A";
    EXPECT_TRUE(spelled.change()) << "however it is spelled";
}

TEST(function_users, and_only_one_that_is_proved_to) {
    const std::vector<std::pair<const char*, std::function<void(moved&)>>> flips{
        {"not used", [](moved& one) { one.now.functions.front().is_used = false; }},
        {"of this node", [](moved& one) { one.now.machines[web_id].node = "hv1"; }},
        {"no node", [](moved& one) { one.now.machines[web_id].node.reset(); }},
        {"an empty node", [](moved& one) { one.now.machines[web_id].node = ""; }},
        {"no state", [](moved& one) { one.now.machines[web_id].state.reset(); }},
        {"an unknown state", [](moved& one) { one.now.machines[web_id].state = vm_state::unknown; }},
        {"migrate", [](moved& one) { one.now.machines[web_id].state = vm_state::migrate; }},
        {"migrate-live", [](moved& one) { one.now.machines[web_id].state = vm_state::migrate_live; }},
        {"unmigrate", [](moved& one) { one.now.machines[web_id].state = vm_state::unmigrate; }},
        {"runs here", [](moved& one) { one.now.running = {web_id}; }},
        {"what runs here is not known", [](moved& one) { one.now.running.reset(); }},
        {"nothing is known of it", [](moved& one) { one.now.machines.clear(); }},
        {"no list of machines", [](moved& one) { one.now.domains = nullptr; }},
    };
    for (const auto& [what, flip] : flips) {
        moved one;
        flip(one);
        EXPECT_FALSE(one.change()) << what;
    }
    for (const auto state : {vm_state::stop, vm_state::shutdown, vm_state::restart, vm_state::disable, vm_state::fail,
                             vm_state::provision, vm_state::mirror}) {
        moved one;
        one.now.machines[web_id].state = state;
        EXPECT_TRUE(one.change()) << to_text(state);
    }
}

TEST(function_users, a_machine_that_runs_here_has_the_function_of_its_xml) {
    const auto change = arrived().change();
    ASSERT_TRUE(change);
    EXPECT_EQ(change->what, kind::take);
    EXPECT_EQ(change->taker, (function_change::guard{web_id, 5, 6}));
    EXPECT_FALSE(change->user);
    EXPECT_FALSE(change->was_used);
    EXPECT_EQ(change->written, 7);
    EXPECT_EQ(change->mac, "52:54:00:00:00:0a");
    arrived named;
    named.now.functions.front().used_by = web;
    EXPECT_TRUE(named.change()) << "it is named, but not as used";
    arrived without;
    without.machine().names.front().mac = "";
    ASSERT_TRUE(without.change());
    EXPECT_EQ(without.change()->mac, "");
}

TEST(function_users, and_only_one_that_is_proved_to_have_it) {
    const std::vector<std::pair<const char*, std::function<void(arrived&)>>> flips{
        {"it does not run", [](arrived& one) { one.now.running = {db_id}; }},
        {"what runs here is not known", [](arrived& one) { one.now.running.reset(); }},
        {"of another node", [](arrived& one) { one.machine().node = "hv2"; }},
        {"no node", [](arrived& one) { one.machine().node.reset(); }},
        {"no state", [](arrived& one) { one.machine().state.reset(); }},
        {"stop", [](arrived& one) { one.machine().state = vm_state::stop; }},
        {"migrate", [](arrived& one) { one.machine().state = vm_state::migrate; }},
        {"restart", [](arrived& one) { one.machine().state = vm_state::restart; }},
        {"another function", [](arrived& one) { one.machine().names.front().name = "ens1f1v1"; }},
        {"no function", [](arrived& one) { one.machine().names.clear(); }},
        {"nothing is known of it", [](arrived& one) { one.now.machines.clear(); }},
        {"a function without a key", [](arrived& one) { one.now.functions.front().is_whole = false; }},
        {"its own already", [&](arrived& one) { one.now.functions = {use(web, 7)}; }},
    };
    for (const auto& [what, flip] : flips) {
        arrived one;
        flip(one);
        EXPECT_FALSE(one.change()) << what;
    }
}

TEST(function_users, who_has_it_by_the_keys_decides_what_a_machine_here_may_do) {
    arrived one;
    one.now.functions = {use(db, 7)};
    EXPECT_FALSE(one.change()) << "nothing is known of it";
    one.now.machines[db_id] = {"hv2", vm_state::stop, 9, {}, 0};
    ASSERT_TRUE(one.change());
    EXPECT_EQ(one.change()->what, kind::take);
    EXPECT_EQ(one.change()->user, (function_change::guard{db_id, 9, 0}));
    one.now.machines[db_id].state = vm_state::migrate;
    EXPECT_FALSE(one.change()) << "it is on its way";
    one.now.machines[db_id].state = vm_state::stop;
    one.now.running->insert(db_id);
    EXPECT_FALSE(one.change()) << "it runs here";
    one.now.machines[db_id].node = "hv1";
    ASSERT_TRUE(one.change());
    EXPECT_EQ(one.change()->what, kind::contest) << "a client's claim holds";
    one.now.machines[db_id].names = one.machine().names;
    EXPECT_EQ(one.change()->what, kind::contest) << "both have it, and run here";
    EXPECT_EQ(one.change()->taker->id, web_id);
    one.domains = {web};
    ASSERT_TRUE(one.change());
    EXPECT_EQ(one.change()->what, kind::take) << "there is no such machine any more";
    EXPECT_TRUE(one.change()->was_used);
    EXPECT_FALSE(one.change()->user);
    one.now.domains = nullptr;
    EXPECT_FALSE(one.change());
}

TEST(function_users, of_two_machines_that_have_it_the_first_takes_it) {
    arrived one;
    one.now.running->insert(db_id);
    one.now.machines[db_id] = one.machine();
    EXPECT_EQ(one.change()->taker->id, web_id);
}

TEST(function_users, whatever_is_written_begins_the_wait_anew) {
    const std::vector<std::pair<const char*, std::function<void(arrived&)>>> writes{
        {"the function", [](arrived& one) { ++one.now.functions.front().written; }},
        {"state or node", [](arrived& one) { ++one.machine().written; }},
        {"the XML", [](arrived& one) { ++one.machine().xml_written; }},
        {"those of its user", [](arrived& one) { ++one.now.machines[db_id].written; }},
    };
    for (const auto& [what, write] : writes) {
        arrived one;
        one.now.functions = {use(db, 7)};
        one.now.machines[db_id] = {"hv2", vm_state::stop, 9, {}, 0};
        function_changes changes;
        changes.see(start, one.now);
        changes.see(start + 9s, one.now);
        EXPECT_EQ(changes.due(start + 10s).size(), 1U);
        write(one);
        changes.see(start + 9s, one.now);
        EXPECT_TRUE(changes.due(start + 18s).empty()) << what;
        EXPECT_EQ(changes.due(start + 19s).size(), 1U) << what;
    }
    moved gone;
    function_changes changes;
    changes.see(start, gone.now);
    ++gone.now.machines[web_id].written;
    changes.see(start + 9s, gone.now);
    EXPECT_EQ(changes.next({}), start + 19s);
    gone.now.machines[web_id].node = "hv1";
    changes.see(start + 18s, gone.now);
    EXPECT_FALSE(changes.next({})) << "a client brought it back";
}

TEST(function_users, both_orders_of_a_machine_that_goes_and_one_that_comes) {
    arrived one;
    one.now.functions = {use(db, 7)};
    one.now.machines[db_id] = {"hv2", vm_state::start, 9, {}, 0};
    auto coming = one.now;
    one.now.running->erase(web_id);
    function_changes changes;
    changes.see(start, one.now);
    changes.see(start + 5s, coming);
    EXPECT_TRUE(changes.due(start + 14s).empty());
    ASSERT_EQ(changes.due(start + 15s).size(), 1U);
    EXPECT_EQ(changes.due(start + 15s).front().what, kind::take);
    one.now.machines[db_id].node = "hv1";
    one.now.running->insert(web_id);
    changes.see(start, one.now);
    EXPECT_TRUE(changes.due(start + 60s).empty()) << "contested";
    changes.see(start + 5s, coming);
    ASSERT_EQ(changes.due(start + 15s).size(), 1U);
    EXPECT_EQ(changes.due(start + 15s).front().what, kind::take);
}

TEST(function_users, what_is_contested_is_said_after_its_time_and_waits_for_nothing_then) {
    arrived one;
    one.now.functions = {use(db, 7)};
    one.now.machines[db_id] = {"hv1", vm_state::stop, 9, {}, 0};
    function_changes changes;
    changes.see(start, one.now);
    EXPECT_TRUE(changes.contested(start + 9s).empty());
    EXPECT_EQ(changes.next(start + 9s), start + 10s);
    EXPECT_EQ(names_of(changes.contested(start + 10s)), names{"ens1f1v0"});
    EXPECT_TRUE(changes.due(start + 60s).empty());
    EXPECT_FALSE(changes.next(start + 10s));
}

TEST(function_users, the_functions_that_an_xml_names) {
    const auto named = [](const std::string& devices) {
        return functions_of_machine("<domain><devices>" + devices + "</devices></domain>");
    };
    const auto both = named(
        "<interface type='direct'><mac address='52:54:00:00:00:0A'/><source dev='ens8v0' "
        "mode='passthrough'/></interface>"
        "<interface type='hostdev'><sriov_device>ens8v11</sriov_device></interface>"
        "<interface type='direct'><source dev='ens8' mode='passthrough'/></interface>"
        "<interface type='hostdev'><mac address='x'/><sriov_device>ens9v1</sriov_device></interface>"
        "<interface type='hostdev'><mac address='52:54:00:00:00:0b'/><sriov_device>ens8v0</sriov_device></interface>");
    EXPECT_EQ(both.all,
              (std::vector<named_function>{{"ens8v0", "52:54:00:00:00:0A"}, {"ens8v11", ""}, {"ens9v1", ""}}));
    EXPECT_EQ(both.trouble, "");
    const auto garbage = functions_of_machine("<domain><devices>");
    EXPECT_TRUE(garbage.all.empty());
    EXPECT_NE(garbage.trouble, "");
    const auto huge = functions_of_machine(std::string(2'000'000, 'x'));
    EXPECT_TRUE(huge.all.empty());
    EXPECT_NE(huge.trouble, "");
    EXPECT_TRUE(functions_of_machine("").all.empty());
}

}  // namespace
}  // namespace pvc::policy
