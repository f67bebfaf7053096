// What Ceph prints as JSON, and what is published of it (storage.md 1.4, 4.2 to 4.4; cases 3, 4, 15).
#include "pvcnoded/model/ceph_health.hpp"
#include "pvcnoded/model/ceph_osds.hpp"
#include "pvcnoded/model/ceph_pools.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace pvc::model {
namespace {

constexpr std::string_view health_warn =
    R"({"status":"HEALTH_WARN","checks":{"OSD_DOWN":{"severity":"HEALTH_WARN","summary":{"message":"1 osds down","count":1},"muted":false}},"mutes":[]})";

TEST(ceph_health, is_published_as_ceph_printed_it) {
    const auto got = parse_ceph_health(health_warn);
    ASSERT_TRUE(got) << got.error().text();
    EXPECT_EQ(got->status, "HEALTH_WARN");
    EXPECT_EQ(got->text, health_warn);
    const auto with_newline = parse_ceph_health("\n" + std::string(health_warn));
    ASSERT_TRUE(with_newline);
    EXPECT_EQ(with_newline->text, "\n" + std::string(health_warn));
}

TEST(ceph_health, is_repaired_where_clients_could_not_read_it) {
    const auto got = parse_ceph_health(
        "{\"status\":\"HEALTH_OK\",\"checks\":{},\"a\":-nan,\"b\":[inf,nan ],\"c\":\"nan \xff \\\" inf\",\"d\":null}");
    ASSERT_TRUE(got) << got.error().text();
    EXPECT_EQ(got->text,
              "{\"status\":\"HEALTH_OK\",\"checks\":{},\"a\":0,\"b\":[0,0 ],\"c\":\"nan \xef\xbf\xbd \\\" "
              "inf\",\"d\":null}");
}

TEST(ceph_health, is_refused_where_every_client_would_break) {
    const char* broken[] = {
        "",
        "\n",
        "garbage",
        "[]",
        "null",
        "{",
        "{}",
        R"({"status":"HEALTH_OK"})",
        R"({"status":1,"checks":{}})",
        R"({"status":"fine","checks":{}})",
        R"({"status":"HEALTH_OK","checks":[]})",
        R"({"status":"HEALTH_OK","checks":{"A":1}})",
        R"({"status":"HEALTH_OK","checks":{"A":{"summary":{"message":"a"}}}})",
        R"({"status":"HEALTH_OK","checks":{"A":{"severity":"HEALTH_OK","summary":{"message":"a"}}}})",
        R"({"status":"HEALTH_OK","checks":{"A":{"severity":"HEALTH_WARN"}}})",
        R"({"status":"HEALTH_OK","checks":{"A":{"severity":"HEALTH_WARN","summary":"a"}}})",
        R"({"status":"HEALTH_OK","checks":{"A":{"severity":"HEALTH_WARN","summary":{"message":null}}}})",
        R"({"status":"HEALTH_OK","checks":{}} trailing)",
    };
    for (const char* one : broken) {
        EXPECT_FALSE(parse_ceph_health(one)) << one;
    }
    EXPECT_EQ(parse_ceph_health(R"({"status":"HEALTH_OK","checks":{"A":{"severity":"HEALTH_WARN"}}})").error().cause(),
              "checks[A]: no message");
}

TEST(ceph_health, has_limits) {
    EXPECT_FALSE(parse_ceph_health(std::string(100'000, '[')));
    EXPECT_EQ(parse_ceph_health(std::string(ceph_output_max + 1, ' ')).error().code(), errc::too_large);
    std::string many = "[0";
    while (many.size() < ceph_output_max - 8) {
        many += ",0";
    }
    const auto got = parse_ceph_health(R"({"a":)" + many.substr(0, ceph_output_max - 8) + "]}");
    EXPECT_EQ(got.error().code(), errc::too_large);
}

TEST(ceph_health, of_a_silent_ceph_is_what_clients_can_read) {
    const auto text = unreachable_health_text(std::chrono::seconds(61));
    EXPECT_EQ(
        text,
        R"({"status":"HEALTH_ERR","checks":{"PVC_CEPH_UNREACHABLE":{"severity":"HEALTH_ERR","summary":{"message":"no answer from Ceph for 61 s","count":1},"muted":false}},"mutes":[]})");
    ASSERT_TRUE(parse_ceph_health(text));
    EXPECT_EQ(parse_ceph_health(text)->status, "HEALTH_ERR");
}

// The answer of something else, or one that was damaged on its way.
TEST(ceph_text, has_no_control_characters) {
    for (const std::string& bad :
         {std::string("a\0b", 3), std::string("\x01"), std::string("  cluster:\n \x1b[31mred"), std::string("a\x7f"),
          std::string("\xc2\x9b"
                      "31m"),
          std::string("a\rb\n")}) {
        EXPECT_EQ(parse_ceph_text(bad).error().cause(), "a control character") << bad;
    }
    EXPECT_EQ(parse_ceph_text("  cluster:\r\n\tid: \xc3\xa9\n").value(), "  cluster:\r\n\tid: \xc3\xa9\n");
    for (const std::string& escaped : {"\\u0000", "\\u001B", "\\b", "\\u009b", "a\\\\\\u0007"}) {
        EXPECT_EQ(
            parse_ceph_health("{\"status\":\"HEALTH_OK\",\"checks\":{},\"x\":\"" + escaped + "\"}").error().cause(),
            "a control character")
            << escaped;
        EXPECT_FALSE(parse_osd_dump(R"({"osds":[{"osd":0,"uuid":")" + escaped +
                                    R"(","up":1,"in":1,"primary_affinity":1,"state":[]}]})"))
            << escaped;
        EXPECT_FALSE(parse_osd_dump(R"({"osds":[{"osd":0,"uuid":"a","up":1,"in":1,"primary_affinity":1,"state":[")" +
                                    escaped + R"("]}]})"))
            << escaped;
    }
    for (const std::string& good : {"\\n\\t\\r", "\\u000a", "\\\\u0000", "\\u00e9", "\\\\b", "\\\""}) {
        EXPECT_TRUE(parse_ceph_health("{\"status\":\"HEALTH_OK\",\"checks\":{},\"x\":\"" + good + "\"}")) << good;
    }
}

TEST(ceph_text, is_utf8_and_not_empty) {
    EXPECT_EQ(parse_ceph_text("  cluster:\n    id: \xff\n").value(), "  cluster:\n    id: \xef\xbf\xbd\n");
    EXPECT_FALSE(parse_ceph_text(" \n"));
    EXPECT_EQ(parse_ceph_text(std::string(ceph_output_max + 1, 'a')).error().code(), errc::too_large);
}

// Example of storage.md 4.3; counters of case 4.
TEST(ceph_pools, stats_have_their_keys_in_order_and_numbers_of_their_kind) {
    const auto rooms = parse_pool_rooms(
        "\n"
        R"({"stats":{"total_bytes":1},"pools":[{"name":"vms","id":4,"stats":{"stored":18874631,"objects":16,)"
        R"("kb_used":18433,"bytes_used":18874631,"percent_used":0.003088965080678463,"max_avail":6091466752}}]})");
    ASSERT_TRUE(rooms) << rooms.error().text();
    ASSERT_EQ(rooms->size(), 1U);
    pool_counters counters;
    counters.object_copies = 16;
    counters.reads = 257;
    counters.read_kib = 209;
    counters.writes = 234;
    counters.written_kib = 32814;
    EXPECT_EQ(pool_stats_text(rooms->front(), counters),
              R"({"id": 4, "stored_bytes": 18874631, "free_bytes": 6091466752, "used_bytes": 18874631, )"
              R"("used_percent": 0.003088965080678463, "num_objects": 16, "num_object_clones": 0, )"
              R"("num_object_copies": 16, "num_objects_missing_on_primary": 0, "num_objects_unfound": 0, )"
              R"("num_objects_degraded": 0, "read_ops": 257, "read_bytes": 214016, "write_ops": 234, )"
              R"("write_bytes": 33601536})");
    counters.read_kib = ~std::uint64_t{0};
    EXPECT_NE(pool_stats_text(rooms->front(), counters).find(R"("read_bytes": 18446744073709550592)"),
              std::string::npos);
}

// As Ceph 16.2.15 prints it of a pool with 92 objects that lack a copy, and 21 that lie elsewhere; then of one that is
// whole.
TEST(ceph_pools, what_is_not_whole) {
    const auto two = parse_pool_recovery(
        "\n"
        R"([{"pool_name":"vms","pool_id":1,"recovery":{"degraded_objects":92,"degraded_total":184,"degraded_ratio":0.5,)"
        R"("misplaced_objects":21,"misplaced_total":184,"misplaced_ratio":0.11413043478260869},"recovery_rate":{},)"
        R"("client_io_rate":{"read_bytes_sec":360}},{"pool_name":"backup","pool_id":2,"recovery":{},)"
        R"("recovery_rate":{},"client_io_rate":{}}])");
    ASSERT_TRUE(two) << two.error().text();
    EXPECT_EQ(*two, (std::vector<pool_recovery>{{"vms", 92}, {"backup", 0}}));
    const auto cause = [](std::string_view text) { return parse_pool_recovery(text).error().cause(); };
    EXPECT_EQ(cause("{}"), "no list");
    EXPECT_EQ(cause("[1]"), "pools[0] is no object");
    EXPECT_EQ(cause(R"([{"pool_name":"vms"}])"), R"(pools[0]: "recovery" is no object)");
    EXPECT_EQ(cause(R"([{"pool_name":"vms","recovery":{"degraded_objects":"x"}}])"),
              R"(pools[0]: "degraded_objects" is no number)");
    EXPECT_EQ(parse_pool_recovery("[]").value(), std::vector<pool_recovery>{});
}

// As the last digit was printed, so it is published.
TEST(ceph_pools, numbers_with_a_fraction_are_exact) {
    for (int at = 1; at < 2000; ++at) {
        const double value = std::sqrt(at) * std::pow(10, at % 21 - 10);
        const std::string text = to_text(json_figure(value));
        const auto rooms =
            parse_pool_rooms(R"({"pools":[{"name":"a","id":1,"stats":{"stored":1,"max_avail":2,"bytes_used":3,)"
                             R"("objects":4,"percent_used":)" +
                             text + "}}]}");
        ASSERT_TRUE(rooms) << text;
        EXPECT_EQ(to_text(rooms->front().used_fraction), text);
    }
    const auto rooms =
        parse_pool_rooms(R"({"pools":[{"name":"a","id":1,"stats":{"stored":-1.5e3,"max_avail":2,"bytes_used":3,)"
                         R"("objects":18446744073709551616,"percent_used":1e-400}}]})");
    ASSERT_TRUE(rooms);
    EXPECT_EQ(to_text(rooms->front().stored), "-1500.0");
    EXPECT_FALSE(parse_pool_rooms(R"({"pools":[]} x)"));
    EXPECT_FALSE(parse_pool_rooms(R"({"pools":[])"));
}

// Case 15 of storage.md.
TEST(ceph_pools, what_is_no_number_is_zero) {
    for (const char* word : {"nan", "-nan", "inf", "-inf", "NaN"}) {
        const auto rooms =
            parse_pool_rooms(R"({"pools":[{"name":"nan","id":1,"stats":{"stored":1,"max_avail":2,"bytes_used":3,)"
                             R"("objects":4,"percent_used":)" +
                             std::string(word) + "}}]}");
        ASSERT_TRUE(rooms) << word << ": " << rooms.error().text();
        EXPECT_EQ(rooms->front().pool, "nan");
        EXPECT_EQ(to_text(rooms->front().used_fraction), "0") << word;
    }
}

TEST(ceph_pools, a_row_that_is_none_is_named) {
    const auto cause = [](std::string_view text) { return parse_pool_rooms(text).error().cause(); };
    EXPECT_EQ(cause(R"({"pools":{}})"), R"("pools" is no list)");
    EXPECT_EQ(cause(R"({"pools":[1]})"), "pools[0] is no object");
    EXPECT_EQ(cause(R"({"pools":[{"name":"a","id":1}]})"), R"(pools[0]: "stats" is no object)");
    EXPECT_EQ(cause(R"({"pools":[{"name":"a","id":1,"stats":{"stored":"1"}}]})"), R"(pools[0]: "stored" is no number)");
    std::string many = R"({"pools":[{})";
    for (std::size_t at = 0; at < ceph_pools_max; ++at) {
        many += ",{}";
    }
    EXPECT_EQ(parse_pool_rooms(many + "]}").error().code(), errc::too_large);
}

TEST(ceph_osds, stats_have_their_keys_in_order_and_numbers_of_their_kind) {
    const auto dump =
        parse_osd_dump(R"({"epoch":9,"osds":[{"osd":0,"uuid":"751fd807","up":1,"in":1,"weight":1,"primary_affinity":1,)"
                       R"("state":["exists","up"]}]})");
    ASSERT_TRUE(dump) << dump.error().text();
    EXPECT_EQ(dump->front().state, "exists,up");
    const auto room = parse_osd_df(
        "\n"
        R"({"nodes":[{"id":-2,"name":"hv1"},{"id":0,"device_class":"hdd","name":"osd.0","type":"osd",)"
        R"("crush_weight":0.0019989013671875,"reweight":1,"kb":2097152,"kb_used":175.9,"kb_used_data":0,)"
        R"("kb_used_omap":0,"kb_used_meta":0,"kb_avail":2096976,"utilization":0.008344650268554688,"var":1,"pgs":12,)"
        R"("status":"up"}],"stray":[],"summary":{}})");
    ASSERT_TRUE(room) << room.error().text();
    ASSERT_EQ(room->size(), 1U) << "a host is no OSD";
    EXPECT_EQ(osd_stats_text({dump->front(), room->front(), "hv1", {"175k", "2047M", "0", "0", "0", "0"}, "exists,up"}),
              R"({"uuid": "751fd807", "up": 1, "in": 1, "primary_affinity": 1, )"
              R"("utilization": 0.008344650268554688, "var": 1, "pgs": 12, "kb": 2097152, "kb_used": 175, )"
              R"("kb_used_data": 0, "kb_used_omap": 0, "kb_used_meta": 0, "kb_avail": 2096976, )"
              R"("weight": 0.0019989013671875, "reweight": 1, "class": "hdd", "node": "hv1", "used": "175k", )"
              R"("avail": "2047M", "wr_ops": "0", "wr_data": "0", "rd_ops": "0", "rd_data": "0", )"
              R"("state": "exists,up"})");
}

TEST(ceph_osds, a_row_that_is_none_is_named) {
    EXPECT_EQ(parse_osd_dump(R"({"osds":[{"osd":1,"uuid":"a","up":2}]})").error().cause(),
              R"(osds[0]: "up" is no 0 or 1)");
    EXPECT_EQ(parse_osd_dump(R"({"osds":[{"osd":1,"uuid":"a","up":1,"in":1,"primary_affinity":1,"state":"up"}]})")
                  .error()
                  .cause(),
              R"(osds[0]: "state" is no list of words)");
    EXPECT_EQ(parse_osd_df(R"({"nodes":[{"id":1,"utilization":"|"}]})").error().cause(),
              R"(nodes[0]: "utilization" is no number)");
    EXPECT_EQ(parse_osd_df("").error().code(), errc::invalid);
}

TEST(json_figure, keeps_its_kind_and_its_value) {
    EXPECT_EQ(to_text(json_figure(std::int64_t{-7})), "-7");
    EXPECT_EQ(to_text(json_figure(std::uint64_t{18446744073709551615U})), "18446744073709551615");
    EXPECT_EQ(to_text(json_figure(1.0)), "1.0");
    EXPECT_EQ(to_text(json_figure(0.1)), "0.1");
    EXPECT_EQ(whole_number(json_figure(1e300)), std::numeric_limits<std::int64_t>::max());
    EXPECT_EQ(whole_number(json_figure(-1e300)), std::numeric_limits<std::int64_t>::min());
    EXPECT_EQ(whole_number(json_figure(175.9)), 175);
}

}  // namespace
}  // namespace pvc::model
