// The decision tables, cell by cell, against tables typed from the specification (vm-domains.md 4.2, 4.3).
#include "pvcnoded/policy/domains/domain_table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>

namespace pvc::policy {
namespace {

using model::guest_class;
using model::vm_state;
using enum domain_action;

constexpr std::array columns{guest_class::alive, guest_class::paused, guest_class::incoming, guest_class::ending,
                             guest_class::absent};

struct line {
    vm_state state;
    std::array<domain_action, 5> actions;  // A, P, I, D, N
};

// 4.2. A restart of a paused guest destroys it, a disabled paused or half-migrated one is destroyed (with the clean-up
// that `stop` has); a guest that is off in `shutdown` waits until no other node lists it.
constexpr std::array owner_table{
    line{vm_state::start, {adopt, adopt, resolve_own, wait, start}},
    line{vm_state::migrate, {arrived, arrived, receive, wait, receive}},
    line{vm_state::migrate_live, {arrived, arrived, receive, wait, receive}},
    line{vm_state::unmigrate, {arrived, arrived, receive, wait, receive}},  // section 3: exactly as `migrate`
    line{vm_state::restart, {restart, restart, wait, wait, start}},
    line{vm_state::shutdown, {shutdown, shutdown, wait, wait, settle_shutdown}},
    line{vm_state::stop, {stop, stop, stop, wait, clean_up}},
    line{vm_state::disable, {quiet_shutdown, stop, stop, wait, clean_up}},
    line{vm_state::mirror, {quiet_shutdown, stop, stop, wait, clean_up}},
    line{vm_state::deleted, {destroy, destroy, destroy, wait, forget}},
    line{vm_state::fail, {keep, keep, nothing, nothing, clean_up}},
    line{vm_state::provision, {nothing, nothing, nothing, nothing, clean_up}},
    line{vm_state::restore, {nothing, nothing, nothing, nothing, clean_up}},
    line{vm_state::import, {nothing, nothing, nothing, nothing, clean_up}},
    line{vm_state::unknown, {nothing, nothing, nothing, nothing, clean_up}},
};

// 4.3, where this node did not send it, as far as it remembers (8.7), and it did not run here before. "Nothing" at
// class N of a machine that may have been here is what is tidied up locally, without a write below the domain.
constexpr std::array foreign_table{
    line{vm_state::migrate, {send, send, resolve_found, wait, nothing}},
    line{vm_state::migrate_live, {send, send, resolve_found, wait, nothing}},
    line{vm_state::unmigrate, {send, send, resolve_found, wait, nothing}},
    line{vm_state::shutdown, {shutdown, shutdown, drop_incoming, wait, forget}},
    line{vm_state::fail, {report_fail, report_fail, nothing, wait, forget}},
    line{vm_state::start, {terminate, terminate, drop_incoming, wait, forget}},
    line{vm_state::stop, {terminate, terminate, drop_incoming, wait, forget}},
    line{vm_state::restart, {terminate, terminate, drop_incoming, wait, forget}},
    line{vm_state::disable, {terminate, terminate, drop_incoming, wait, forget}},
    line{vm_state::mirror, {terminate, terminate, drop_incoming, wait, forget}},
    line{vm_state::deleted, {terminate, terminate, drop_incoming, wait, forget}},
    line{vm_state::provision, {terminate, terminate, drop_incoming, wait, forget}},
    line{vm_state::restore, {terminate, terminate, drop_incoming, wait, forget}},
    line{vm_state::import, {terminate, terminate, drop_incoming, wait, forget}},
    line{vm_state::unknown, {report_unknown, report_unknown, nothing, wait, forget}},
};

class decision_table : public ::testing::TestWithParam<std::pair<line, bool>> {};

TEST_P(decision_table, row) {
    const auto& [expected, is_owner] = GetParam();
    for (const bool ran_before : {false, true}) {
        for (const bool was_sent : {false, true}) {
            for (std::size_t i = 0; i < columns.size(); ++i) {
                domain_action wanted = expected.actions.at(i);
                if (!is_owner && expected.state == vm_state::start && columns.at(i) == guest_class::incoming &&
                    was_sent) {
                    wanted = resolve_sent;
                }
                if (is_owner && is_migration(expected.state) && columns.at(i) == guest_class::incoming && was_sent) {
                    wanted = resolve_own;  // it was sent back before it had arrived
                }
                if (!is_owner && is_migration(expected.state)) {
                    if (columns.at(i) == guest_class::incoming && was_sent) {
                        wanted = resolve_sent;
                    } else if (columns.at(i) == guest_class::absent && ran_before) {
                        wanted = hand_over_ended;
                    }
                }
                const domain_action found = decide({expected.state, is_owner, columns.at(i), ran_before, was_sent});
                EXPECT_EQ(found, wanted) << to_text(expected.state) << (is_owner ? " here, " : " elsewhere, ")
                                         << model::to_text(columns.at(i)) << ": " << to_text(found) << " in place of "
                                         << to_text(wanted);
            }
        }
    }
}

std::vector<std::pair<line, bool>> all_rows() {
    std::vector<std::pair<line, bool>> rows;
    for (const auto& one : owner_table) {
        rows.emplace_back(one, true);
    }
    for (const auto& one : foreign_table) {
        rows.emplace_back(one, false);
    }
    return rows;
}

INSTANTIATE_TEST_SUITE_P(tables, decision_table, ::testing::ValuesIn(all_rows()), [](const auto& row) {
    std::string name =
        row.param.first.state == vm_state::unknown ? "unknown" : std::string(model::to_text(row.param.first.state));
    std::ranges::replace(name, '-', '_');
    return name + (row.param.second ? "_here" : "_elsewhere");
});

TEST(domain_table, every_state_has_a_row) {
    std::set<vm_state> rows;
    for (const auto& one : owner_table) {
        rows.insert(one.state);
    }
    for (int i = 0; i <= static_cast<int>(vm_state::deleted); ++i) {
        EXPECT_TRUE(rows.contains(static_cast<vm_state>(i))) << i;
    }
}

// The words in ZooKeeper, as far as they name states.
TEST(domain_table, words) {
    for (const char* word : {"start", "stop", "shutdown", "restart", "disable", "fail", "migrate", "migrate-live",
                             "unmigrate", "provision", "import", "restore", "mirror", "delete"}) {
        const auto state = model::parse_vm_state(word);
        ASSERT_TRUE(state) << word;
        EXPECT_EQ(model::to_text(*state), word);
    }
    for (const char* word : {"", "stopped", "START", " start", "start ", "frobnicate"}) {
        EXPECT_EQ(model::vm_state_or_fallback(word), vm_state::unknown) << word;
    }
}

TEST(domain_table, groups) {
    const std::set<vm_state> migrations{vm_state::migrate, vm_state::migrate_live, vm_state::unmigrate};
    const std::set<vm_state> off{vm_state::stop,      vm_state::disable, vm_state::fail,   vm_state::mirror,
                                 vm_state::provision, vm_state::import,  vm_state::restore};
    std::set<std::string_view> names;
    for (int i = 0; i <= static_cast<int>(vm_state::deleted); ++i) {
        const auto state = static_cast<vm_state>(i);
        EXPECT_EQ(is_migration(state), migrations.contains(state));
        EXPECT_EQ(is_off_state(state), off.contains(state));
    }
    for (int i = 0; i <= static_cast<int>(report_unknown); ++i) {
        EXPECT_TRUE(names.insert(to_text(static_cast<domain_action>(i))).second) << i;
    }
}

}  // namespace
}  // namespace pvc::policy
