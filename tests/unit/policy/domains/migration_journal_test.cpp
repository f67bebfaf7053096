#include "pvcnoded/policy/domains/migration_journal.hpp"

#include <gtest/gtest.h>

namespace pvc::policy {
namespace {

const journal_entry sender{"sender", "hv2", 4294967310, 4294967400, "live", "hv3"};

TEST(migration_journal, its_text) {
    EXPECT_EQ(to_text(sender), "1 sender hv2 4294967310 4294967400 live hv3\n");
    EXPECT_EQ(to_text(journal_entry{"receiver", "", 7, 9, "waiting", ""}), "1 receiver - 7 9 waiting -\n");
}

TEST(migration_journal, is_read_as_it_was_written) {
    EXPECT_EQ(parse_journal(to_text(sender)), sender);
    const journal_entry receiver{"receiver", "", 7, 9, "waiting", ""};
    EXPECT_EQ(parse_journal(to_text(receiver)), receiver);
}

TEST(migration_journal, anything_else_is_none) {
    for (const auto* text : {"", "\n", "1", "2 sender hv2 1 2 live -", "1 bystander hv2 1 2 live -",
                             "1 sender hv2 1 2 live", "1 sender hv2 1 2 live - -", "1 sender hv2 x 2 live -",
                             "1 sender hv2 1 9223372036854775808 live -", "1 sender hv2 1 2.0 live -"}) {
        EXPECT_EQ(parse_journal(text), std::nullopt) << text;
    }
    EXPECT_EQ(parse_journal("1 sender " + std::string(2000, 'h') + " 1 2 live -"), std::nullopt) << "too long";
}

TEST(migration_journal, what_the_daemon_before_sent_and_a_fencer_gave_back) {
    domain_seen seen;
    seen.is_present = seen.is_owner = true;
    seen.state = model::vm_state::start;
    seen.wish = {.created = sender.created, .state_changed = sender.state_changed + 5, .node_changed = 0};
    seen.guest = model::guest_class::incoming;
    EXPECT_TRUE(may_be_given_back(sender, seen));
    EXPECT_TRUE(needs_record(seen));
    seen.guest.reset();
    EXPECT_TRUE(needs_record(seen)) << "not known yet";
    const auto without = [&](auto change) {
        auto other = seen;
        other.guest = model::guest_class::incoming;
        auto entry = sender;
        change(other, entry);
        return !may_be_given_back(entry, other);
    };
    EXPECT_TRUE(without([](auto& other, auto& /*entry*/) { other.is_owner = false; }));
    EXPECT_TRUE(without([](auto& other, auto& /*entry*/) { other.state = model::vm_state::migrate; }));
    EXPECT_TRUE(without([](auto& other, auto& /*entry*/) { other.guest = model::guest_class::alive; }));
    EXPECT_TRUE(without([](auto& other, auto& /*entry*/) { ++other.wish.created; }));
    EXPECT_TRUE(without([](auto& other, auto& /*entry*/) { other.wish.state_changed = sender.state_changed; }));
    EXPECT_TRUE(without([](auto& /*other*/, auto& entry) { entry.role = "receiver"; }));
    seen.guest = model::guest_class::alive;
    EXPECT_FALSE(needs_record(seen));
}

}  // namespace
}  // namespace pvc::policy
