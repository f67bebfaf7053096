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

}  // namespace
}  // namespace pvc::policy
