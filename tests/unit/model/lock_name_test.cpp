#include "pvcnoded/model/lock_name.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace pvc::model {
namespace {

const std::string a(32, 'a');
const std::string b(32, 'b');
const std::string c(32, 'c');

std::string child(const std::string& guid, lock_kind kind, const std::string& sequence) {
    return lock_child_prefix(guid, kind) + sequence;
}

TEST(lock_name, zk11_names_of_the_wire) {
    const auto parsed = parse_lock_child("6f892bb59b4541c699e870a841d1568b__lock__0000000001");
    ASSERT_TRUE(parsed);
    EXPECT_EQ(parsed->guid, "6f892bb59b4541c699e870a841d1568b");
    EXPECT_EQ(parsed->tag, lock_tag::lock);
    EXPECT_EQ(parsed->sequence, 1);
    EXPECT_EQ(parse_lock_child(child(a, lock_kind::read, "0000000042"))->tag, lock_tag::rlock);
    EXPECT_EQ(parse_lock_child(a + "__lock__-2147483648")->sequence, -2147483648LL);
    EXPECT_EQ(lock_child_prefix(a, lock_kind::write), a + "__lock__");
}

TEST(lock_name, zk17_other_children_are_ignored) {
    for (const auto* name : {"sync_lock", "foo", "x__lock__12", "", "0000000001", "x__lock__00000000012",
                             "x__Lock__0000000001", "x__lock__--000000001", "x__lock_0000000001"}) {
        EXPECT_FALSE(parse_lock_child(name)) << name;
    }
    const auto position =
        locate({"sync_lock", "foo", "x__lock__12", child(a, lock_kind::write, "0000000007")}, a, lock_kind::write);
    EXPECT_TRUE(position.acquired());
}

TEST(lock_name, zk12_who_waits_for_whom) {
    const std::vector<std::string> children = {child(b, lock_kind::read, "0000000003"),
                                               child(a, lock_kind::write, "0000000004")};
    EXPECT_TRUE(locate(children, a, lock_kind::exclusive).acquired()) << "an exclusive lock ignores readers";
    const auto writer = locate(children, a, lock_kind::write);
    ASSERT_TRUE(writer.predecessor);
    EXPECT_EQ(writer.predecessor->guid, b);
    EXPECT_FALSE(waits_for(lock_kind::read, lock_tag::rlock));
    EXPECT_TRUE(waits_for(lock_kind::read, lock_tag::lock));
}

TEST(lock_name, zk13_a_reader_does_not_wait_for_a_later_writer) {
    const std::vector<std::string> after_release = {child(b, lock_kind::write, "0000000002"),
                                                    child(a, lock_kind::read, "0000000001")};
    EXPECT_TRUE(locate(after_release, a, lock_kind::read).acquired());
}

TEST(lock_name, the_predecessor_is_the_highest_below_ours) {
    const std::vector<std::string> children = {
        child(c, lock_kind::exclusive, "0000000001"), child(b, lock_kind::exclusive, "0000000003"),
        child(a, lock_kind::exclusive, "0000000005"), child(std::string(32, 'd'), lock_kind::exclusive, "0000000009")};
    EXPECT_EQ(locate(children, a, lock_kind::exclusive).predecessor->guid, b);
}

TEST(lock_name, zk36_of_several_own_children_the_lowest_is_kept) {
    const std::vector<std::string> children = {child(a, lock_kind::write, "0000000008"),
                                               child(a, lock_kind::write, "0000000006"),
                                               child(a, lock_kind::write, "0000000007")};
    const auto position = locate(children, a, lock_kind::write);
    EXPECT_EQ(position.own->sequence, 6);
    EXPECT_EQ(position.surplus.size(), 2U);
    EXPECT_TRUE(position.acquired());
    const auto gone = locate({child(b, lock_kind::write, "0000000001")}, a, lock_kind::write);
    EXPECT_FALSE(gone.own);
    EXPECT_FALSE(gone.acquired());
}

TEST(lock_name, contenders_by_sequence) {
    const auto readers = contenders({child(b, lock_kind::read, "0000000009"), child(a, lock_kind::read, "0000000002"),
                                     child(c, lock_kind::write, "0000000001"), "foo"},
                                    lock_tag::rlock);
    ASSERT_EQ(readers.size(), 2U);
    EXPECT_EQ(readers[0].guid, a);
}

TEST(lock_name, zk40_data_is_ascii_and_at_most_200_bytes) {
    EXPECT_EQ(lock_data("hv1", 42, "coordinator", "takeover"), "hv1:42:coordinator:takeover");
    const auto data = lock_data("hv1", 42, "fence/hv3", "\xc3\xa4" + std::string(500, 'x') + "\n");
    EXPECT_EQ(data.size(), 200U);
    EXPECT_TRUE(data.starts_with("hv1:42:fence/hv3:??xxx"));
    EXPECT_TRUE(std::ranges::all_of(data, [](char byte) { return byte >= 0x20 && byte < 0x7f; }));
}

}  // namespace
}  // namespace pvc::model
