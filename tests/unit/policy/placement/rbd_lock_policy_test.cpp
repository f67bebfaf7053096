// storage.md 6.3, vm-domains.md 7; cases D16 to D21, as far as they are decisions.
#include "pvcnoded/policy/placement/rbd_lock_policy.hpp"

#include <gtest/gtest.h>

namespace pvc::policy {
namespace {

const std::vector<std::string> own_addresses{"10.254.0.1/24", "10.0.0.1", "fd00:254::1", "127.0.0.1", "0.0.0.0", "::1"};

held_lock lock_at(const std::string& address) {
    return {"auto 140245871", "client.4185", address};
}

bool is_own(const std::string& address) {
    const auto decision = decide_start_locks({{"vms/web_sda", {lock_at(address)}, {}}}, own_addresses);
    EXPECT_EQ(decision.verdict == lock_verdict::own, decision.reason.empty());
    EXPECT_EQ(decision.to_break.size(), decision.verdict == lock_verdict::own ? 1U : 0U);
    return decision.verdict == lock_verdict::own;
}

TEST(lock_address, spellings) {
    for (const char* text : {"10.254.0.2:0/3058373081", "v1:10.254.0.2:6789/0", "v2:10.254.0.2:0/18446744073709551615",
                             "any:10.254.0.2:65535/1"}) {
        const auto address = parse_lock_address(text);
        ASSERT_TRUE(address) << text;
        EXPECT_EQ(address->to_string(), "10.254.0.2");
    }
    for (const char* text : {"[fd00::2]:0/1", "v2:[fd00:0:0::0002]:0/1", "any:[FD00::2]:3300/9"}) {
        const auto address = parse_lock_address(text);
        ASSERT_TRUE(address) << text;
        EXPECT_EQ(address->to_string(), "fd00::2");
    }
}

TEST(lock_address, anything_else_is_none) {
    for (const char* text : {"",
                             "-",
                             ":/0",
                             "10.254.0.2",
                             "10.254.0.2:0",
                             "10.254.0.2/0",
                             "10.254.0.2:/1",
                             "10.254.0.2:0/",
                             "10.254.0.2:0/x",
                             "10.254.0.2:65536/1",
                             "10.254.0.2:-1/1",
                             "10.254.0.2:0/1 ",
                             " 10.254.0.2:0/1",
                             "10.254.0.2:0/1,v1:10.254.0.2:0/1",
                             "10.254.0:0/1",
                             "10.254.0.256:0/1",
                             "010.254.0.2:0/1",
                             "10.254.0.2.3:0/1",
                             "v3:10.254.0.2:0/1",
                             "v1:v2:10.254.0.2:0/1",
                             "V1:10.254.0.2:0/1",
                             "hv2:0/1",
                             "fd00::2:0/1",
                             "[fd00::2:0/1",
                             "[fd00::2]0/1",
                             "[fd00::2%eth0]:0/1",
                             "[10.254.0.2]:0/1",
                             "[]:0/1",
                             "[v2:10.254.0.2:0/1,v1:10.254.0.2:0/1]"}) {
        EXPECT_FALSE(parse_lock_address(text)) << text;
    }
    EXPECT_FALSE(parse_lock_address(std::string_view("10.254.0.2\0x:0/1", 16)));
}

TEST(rbd_locks_at_start, whose_a_lock_is) {
    for (const char* address : {"10.254.0.1:0/1", "v1:10.254.0.1:6789/77", "v2:10.254.0.1:0/1", "10.0.0.1:0/1",
                                "[fd00:254::1]:0/1", "v2:[fd00:254:0:0:0:0:0:1]:0/1"}) {
        EXPECT_TRUE(is_own(address)) << address;
    }
    for (const char* address :
         {"10.254.0.11:0/1", "10.254.0.10:0/1", "110.254.0.1:0/1", "10.254.0.2:0/1", "10.254.0.1", "10.254.0.1/24", "",
          "[fd00:254::11]:0/1", "[::ffff:10.254.0.1]:0/1", "fd00:254::1:0/1", "10.254.0.1 :0/1"}) {
        EXPECT_FALSE(is_own(address)) << address;
    }
}

TEST(rbd_locks_at_start, an_address_that_every_host_has_is_nobodys) {
    for (const char* address : {"127.0.0.1:0/1", "0.0.0.0:0/1", "[::1]:0/1", "[::]:0/0"}) {
        EXPECT_FALSE(is_own(address)) << address;
    }
}

TEST(rbd_locks_at_start, own_addresses_that_cannot_be_read_are_none) {
    for (const char* text : {"", "None", "hv1", "10.254.0", "/24", "10.254.0.1:0"}) {
        EXPECT_EQ(decide_start_locks({{"vms/a", {lock_at("10.254.0.1:0/1")}, {}}}, {text}).verdict,
                  lock_verdict::foreign)
            << text;
    }
}

TEST(rbd_locks_at_start, D16_all_own_locks_are_broken) {
    const auto decision = decide_start_locks(
        {{"vms/web_sda", {lock_at("10.254.0.1:0/1")}, {}}, {"vms/web_sdb", {lock_at("10.254.0.1:0/2")}, {}}},
        own_addresses);
    EXPECT_EQ(decision.verdict, lock_verdict::own);
    EXPECT_EQ(decision.to_break, (std::vector<lock_to_break>{{"vms/web_sda", lock_at("10.254.0.1:0/1")},
                                                             {"vms/web_sdb", lock_at("10.254.0.1:0/2")}}));
}

TEST(rbd_locks_at_start, D17_one_foreign_lock_and_none_is_broken) {
    const std::vector<volume_locks> volumes{{"vms/web_sda", {lock_at("10.254.0.1:0/1")}, {}},
                                            {"vms/web_sdb", {lock_at("10.254.0.2:0/7")}, {}},
                                            {"vms/web_sdc", {lock_at("10.254.0.3:0/7")}, {}}};
    const auto decision = decide_start_locks(volumes, own_addresses);
    EXPECT_EQ(decision.verdict, lock_verdict::foreign);
    EXPECT_TRUE(decision.to_break.empty());
    EXPECT_EQ(decision.reason,
              "RBD lock \"auto 140245871\" on vms/web_sdb is held by 10.254.0.2, not by this node; make sure the VM is "
              "stopped there, flush its locks, then start it");
}

TEST(rbd_locks_at_start, D18_once_the_foreign_lock_has_gone_the_own_one_is_broken) {
    const auto decision =
        decide_start_locks({{"vms/web_sda", {lock_at("10.254.0.1:0/1")}, {}}, {"vms/web_sdb", {}, {}}}, own_addresses);
    EXPECT_EQ(decision.verdict, lock_verdict::own);
    EXPECT_EQ(decision.to_break.size(), 1U);
}

TEST(rbd_locks_at_start, D19_no_match_by_prefix) {
    EXPECT_EQ(decide_start_locks({{"vms/web_sda", {lock_at("10.254.0.11:0/1")}, {}}}, {"10.254.0.1"}).verdict,
              lock_verdict::foreign);
}

TEST(rbd_locks_at_start, D20_D21_nothing_to_break) {
    EXPECT_EQ(decide_start_locks({}, own_addresses).verdict, lock_verdict::own);
    const auto missing =
        decide_start_locks({{"vms/old_sda", {}, {}}, {"vms/new_sda", {lock_at("10.254.0.1:0/1")}, {}}}, own_addresses);
    EXPECT_EQ(missing.verdict, lock_verdict::own);
    EXPECT_EQ(missing.to_break.size(), 1U);
}

TEST(rbd_locks_at_start, a_volume_that_cannot_be_listed_forbids_breaking) {
    const std::vector<volume_locks> volumes{{"vms/a", {lock_at("10.254.0.1:0/1")}, {}},
                                            {"vms/b", {}, "timed out: listing"},
                                            {"vms/c", {}, "something else"}};
    const auto decision = decide_start_locks(volumes, own_addresses);
    EXPECT_EQ(decision.verdict, lock_verdict::unreadable);
    EXPECT_TRUE(decision.to_break.empty());
    EXPECT_EQ(decision.reason, "RBD locks of vms/b could not be read: timed out: listing");
    auto with_foreign = volumes;
    with_foreign.push_back({"vms/d", {lock_at("10.254.0.2:0/1")}, {}});
    EXPECT_EQ(decide_start_locks(with_foreign, own_addresses).verdict, lock_verdict::foreign);
}

TEST(rbd_locks_to_flush, AC108_own_ones_or_any) {
    const held_lock own = lock_at("10.254.0.1:0/1");
    const held_lock other = lock_at("10.254.0.2:0/1");
    const held_lock odd = lock_at("nonsense");
    const std::vector<volume_locks> volumes{{"vms/a", {own}, {}}, {"vms/b", {other, odd}, {}}};
    const auto careful = decide_flush_locks(volumes, own_addresses, false);
    EXPECT_EQ(careful.verdict, lock_verdict::foreign);
    EXPECT_TRUE(careful.to_break.empty());
    const auto forced = decide_flush_locks(volumes, own_addresses, true);
    EXPECT_EQ(forced.verdict, lock_verdict::own);
    EXPECT_EQ(forced.to_break, (std::vector<lock_to_break>{{"vms/a", own}, {"vms/b", other}, {"vms/b", odd}}));
    EXPECT_EQ(decide_flush_locks({{"vms/a", {own}, {}}}, own_addresses, false).to_break.size(), 1U);
    for (const bool breaks_any : {false, true}) {
        const auto unread =
            decide_flush_locks({{"vms/a", {own}, {}}, {"vms/b", {}, "timed out"}}, own_addresses, breaks_any);
        EXPECT_EQ(unread.verdict, lock_verdict::unreadable);
        EXPECT_TRUE(unread.to_break.empty());
        EXPECT_EQ(unread.reason, "RBD locks of vms/b could not be read: timed out");
        EXPECT_EQ(decide_flush_locks({}, own_addresses, breaks_any).verdict, lock_verdict::own);
    }
}

TEST(rbd_locks_at_start, reasons_are_one_short_line) {
    const held_lock odd{"a\nb\x1b", "client.1", "nonsense\r\n" + std::string(5000, 'x')};
    const auto decision = decide_start_locks({{"vms/\xc3\xa9", {odd}, {}}}, own_addresses);
    EXPECT_TRUE(decision.reason.starts_with("RBD lock \"a?b?\" on vms/?? is held by nonsense??xxx"));
    EXPECT_LT(decision.reason.size(), 500U);
    EXPECT_EQ(unbreakable_lock_text({"vms/a", odd}, "busy\n"),
              "RBD lock \"a?b?\" on vms/a could not be removed: busy?");
}

}  // namespace
}  // namespace pvc::policy
