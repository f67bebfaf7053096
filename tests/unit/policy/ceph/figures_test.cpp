// What is published of what Ceph said (storage.md 4.3, 4.4; cases 3, 6, 9, 10).
#include "pvcnoded/policy/ceph/figures.hpp"
#include "unit/policy/ceph/ceph_answers.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace pvc::policy {
namespace {

bool has(const std::vector<ceph_write>& all, ceph_key key, const std::string& name, std::string_view part) {
    for (const auto& one : all) {
        if (one.key == key && one.name == name) {
            return one.value.find(part) != std::string::npos;
        }
    }
    return false;
}
std::size_t count(const std::vector<ceph_write>& all, ceph_key key) {
    return static_cast<std::size_t>(
        std::ranges::count_if(all, [key](const ceph_write& one) { return one.key == key; }));
}

class osd_figures : public ::testing::Test {
protected:
    // All three say what they say; an empty text is a command that was not answered.
    std::vector<ceph_write> published(const std::string& dump, const std::string& rooms, const std::string& status) {
        ceph_seen seen;
        if (!dump.empty()) {
            seen.osd_map = model::parse_osd_dump(dump).value();
        }
        if (!rooms.empty()) {
            seen.osd_rooms = model::parse_osd_df(rooms).value();
        }
        if (!status.empty()) {
            seen.osd_status = model::parse_osd_status(status).value();
        }
        return ceph_figures(std::move(seen), tree, last);
    }
    ceph_tree tree{{{"1", "hv2"}}, {}};
    osd_memory last;
    const std::string down = R"({"osds":[)" + sample::map_row(1, 0, 1, R"(["exists"])") + "]}";
    const std::string header = "ID HOST STATE\n";
};

// Case 3 of storage.md.
TEST(pool_figures, are_joined_by_name) {
    ceph_seen seen;
    seen.rooms = model::parse_pool_rooms(sample::pools).value();
    model::pool_counters vms;
    vms.pool = "vms";
    vms.reads = 22;
    model::pool_counters backup;
    backup.pool = "backup";
    backup.reads = 33;
    model::pool_counters other;
    other.pool = "other";
    seen.counters = {backup, other, vms};
    osd_memory last;
    const auto all = ceph_figures(seen, {{}, {"vms", "backup", "other", "gone"}}, last);
    EXPECT_EQ(all.size(), 2U) << "a pool that only one source has is left out";
    EXPECT_TRUE(has(all, ceph_key::pool_stats, "vms", R"({"id": 2, "stored_bytes": 200,)"));
    EXPECT_TRUE(has(all, ceph_key::pool_stats, "vms", R"("read_ops": 22)"));
    EXPECT_TRUE(has(all, ceph_key::pool_stats, "backup", R"({"id": 3, "stored_bytes": 300,)"));
    EXPECT_TRUE(has(all, ceph_key::pool_stats, "backup", R"("read_ops": 33)"));
}

TEST_F(osd_figures, of_an_osd_that_all_know) {
    tree.osds = {{"0", "hv9"}, {"1", "hv2"}, {"7", "hv1"}, {"99999999999999999999", "hv1"}};
    const auto all = published(sample::osd_dump, sample::osd_df, sample::osd_status);
    EXPECT_EQ(all.size(), 2U);
    EXPECT_TRUE(has(all, ceph_key::osd_stats, "0", R"({"uuid": "u0", "up": 1, "in": 1,)"));
    EXPECT_TRUE(has(
        all, ceph_key::osd_stats, "0",
        R"("class": "hdd", "node": "hv1", "used": "47.0k", "avail": "953k", "wr_ops": "1", "wr_data": "2k", "rd_ops": "3", "rd_data": "4k", "state": "exists,up"})"));
    EXPECT_TRUE(has(all, ceph_key::osd_stats, "1", R"("rd_ops": "7")"));
    const auto counted = count_osds(last);
    EXPECT_EQ(counted.up, 2U);
    EXPECT_EQ(counted.in, 2U);
}

// Case 6 of storage.md.
TEST_F(osd_figures, of_one_that_is_down_and_out_whose_host_is_blank) {
    tree.osds = {{"2", "hv2"}};
    const auto all = published(R"({"osds":[)" + sample::map_row(2, 0, 0, R"(["exists"])") + "]}",
                               R"({"nodes":[)" + sample::room_row(2) + "]}", header + " 2 0 0 0 0 0 0 exists\n");
    EXPECT_TRUE(has(all, ceph_key::osd_stats, "2", R"("up": 0, "in": 0,)"));
    EXPECT_TRUE(has(
        all, ceph_key::osd_stats, "2",
        R"("node": "hv2", "used": "47.0k", "avail": "953k", "wr_ops": "0", "wr_data": "0", "rd_ops": "0", "rd_data": "0", "state": "exists"})"));
    EXPECT_EQ(count_osds(last).up, 0U);
}

TEST_F(osd_figures, without_a_row_of_its_status) {
    const auto all = published(sample::osd_dump, sample::osd_df, header);
    EXPECT_TRUE(has(
        all, ceph_key::osd_stats, "1",
        R"("node": "hv2", "used": "47.0k", "avail": "953k", "wr_ops": "0", "wr_data": "0", "rd_ops": "0", "rd_data": "0", "state": "exists,up"})"));
}

// Cases 9 and 10 of storage.md: the manager is silent.
TEST_F(osd_figures, without_its_room_are_the_last_ones_with_what_the_monitors_say) {
    EXPECT_TRUE(published(down, {}, {}).empty()) << "nothing was known of it";
    published(sample::osd_dump, sample::osd_df, sample::osd_status);
    const auto all = published(down, {}, {});
    EXPECT_TRUE(has(all, ceph_key::osd_stats, "1", R"("up": 0, "in": 1,)"));
    EXPECT_TRUE(has(
        all, ceph_key::osd_stats, "1",
        R"("kb": 1000, "kb_used": 47, "kb_used_data": 1, "kb_used_omap": 2, "kb_used_meta": 3, "kb_avail": 953, "weight": 0.5, "reweight": 1, "class": "hdd", "node": "hv2", "used": "47.0k", "avail": "953k", "wr_ops": "5", "wr_data": "6k", "rd_ops": "7", "rd_data": "8k", "state": "exists"})"));
    EXPECT_TRUE(published({}, {}, {}).empty()) << "without a dump nothing is said";
    EXPECT_EQ(last.size(), 1U) << "and nothing forgotten";
}

TEST_F(osd_figures, of_one_that_ceph_does_not_know) {
    const std::string none = R"({"osds":[]})";
    EXPECT_TRUE(published(none, sample::osd_df, sample::osd_status).empty());
    published(sample::osd_dump, sample::osd_df, sample::osd_status);
    const auto all = published(none, {}, {});
    EXPECT_TRUE(has(all, ceph_key::osd_stats, "1", R"("up": 0, "in": 0,)"));
    EXPECT_TRUE(has(all, ceph_key::osd_stats, "1", R"("state": ""})"));
    tree.osds.clear();
    published(none, {}, {});
    EXPECT_TRUE(last.empty()) << "an object that is gone is forgotten";
}

TEST(ceph_texts, are_published_as_they_are_or_not_at_all) {
    osd_memory last;
    EXPECT_TRUE(ceph_figures({}, {{{"0", "hv1"}}, {"vms"}}, last).empty());
    ceph_seen seen;
    seen.health = model::ceph_health{"HEALTH_OK", "h"};
    seen.status = "s";
    seen.df = "d";
    const auto all = ceph_figures(seen, {}, last);
    EXPECT_EQ(all, (std::vector<ceph_write>{
                       {ceph_key::health, "", "h"}, {ceph_key::status, "", "s"}, {ceph_key::util, "", "d"}}));
    EXPECT_EQ(count(all, ceph_key::osd_stats), 0U);
}

TEST(acknowledged_figures, are_no_news) {
    acknowledged_figures known;
    EXPECT_TRUE(known.is_news("/a", "1"));
    known.note("/a", {"1", 3});
    known.note("/b", {"1", 3});
    EXPECT_FALSE(known.is_news("/a", "1"));
    EXPECT_TRUE(known.is_news("/a", "2"));
    known.forget("/b");
    EXPECT_TRUE(known.is_news("/b", "1"));
    EXPECT_FALSE(known.is_news("/a", "1"));
}

}  // namespace
}  // namespace pvc::policy
