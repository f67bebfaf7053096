// The record of a fence and the key that names its proof (README rulings 36, 37, 46).
#include "pvcnoded/model/fence_record.hpp"

#include <gtest/gtest.h>

namespace pvc::model {
namespace {

using namespace std::chrono_literals;

fence_moment at_second(int second) {
    return {wall_time(1'795'762'812s + std::chrono::seconds(second)), boot_time(1000s + std::chrono::seconds(second))};
}

fence_command status_says_off(int second) {
    fence_command one;
    one.what = "chassis power status";
    one.begun = at_second(second);
    one.ended = at_second(second + 1);
    one.status = 0;
    one.output = "Chassis Power is off\n";
    one.read_as = "off";
    return one;
}

fence_record complete_record() {
    fence_record all;
    all.id = fence_record_id(at_second(0).wall, "hv3");
    all.coordinator = "hv1";
    all.node = "hv3";
    all.boot_id = "5f3f2f0c-1111-4222-8333-444455556666";
    all.follows = "20261127T065900.000Z-hv3";
    all.way = fence_way::left_fenced;
    all.begun = at_second(0);
    all.keepalive_id = 4294967297;
    all.mark_id = 4294967300;
    all.fenced_id = 4294967400;
    add_fence_command(all, status_says_off(1), "Passw0rd");
    fence_command off;
    off.what = "chassis power off";
    off.begun = off.ended = at_second(7);
    off.errors = "binary \x01\"\\\n";
    all.commands.push_back(off);
    all.proof =
        fence_proof{fence_proof_kind::power, at_second(8), "two answers 5 s apart", 4294967297, 4294967300, false};
    all.writes.push_back({"fenced", 4294967400, at_second(9)});
    all.machines.push_back({.id = "11111111-2222-4333-8444-555555555555",
                            .name = "web1",
                            .locks = {"vms/web1_disk0 client.4711"},
                            .clients = {"192.0.2.3:0/1234"},
                            .volumes = {"vms/web1_disk0"},
                            .target = "hv2",
                            .steps = {"its locks are cleared", "it is given to hv2"},
                            .outcome = "recovered",
                            .transaction = 4294967401,
                            .has_run = true});
    all.machines.push_back({.id = "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee",
                            .name = "",
                            .locks = {},
                            .clients = {},
                            .target = "",
                            .steps = {},
                            .outcome = "kept",
                            .transaction = {},
                            .has_run = {}});
    all.is_left_off = true;
    all.powered_on = at_second(20);
    all.outcome = fence_outcome::done;
    all.remark = "r\xc3\xa4";
    all.ended = at_second(21);
    return all;
}

TEST(fence_record, is_read_as_it_was_written) {
    const auto all = complete_record();
    const auto back = parse_fence_record(to_text(all));
    ASSERT_TRUE(back) << back.error().text();
    EXPECT_EQ(*back, all);
    fence_record least;
    least.id = "a";
    const auto little = parse_fence_record(to_text(least));
    ASSERT_TRUE(little) << little.error().text();
    EXPECT_EQ(*little, least);
}

TEST(fence_record, cut_anywhere_it_is_no_record) {
    const auto text = to_text(complete_record());
    for (std::size_t length = 0; length + 2 < text.size(); length += 7) {
        const auto cut = parse_fence_record(std::string_view(text).substr(0, length));
        ASSERT_FALSE(cut) << length;
        EXPECT_EQ(cut.error().code(), errc::invalid);
    }
}

TEST(fence_record, of_others_and_of_later) {
    const auto why = [](const std::string& text) {
        const auto read = parse_fence_record(text);
        return read ? std::string() : read.error().cause();
    };
    EXPECT_EQ(why(""), "it is cut off, or no JSON");
    EXPECT_EQ(why(std::string("\0\xff\xfe", 3)), "it is cut off, or no JSON");
    EXPECT_EQ(why("[]"), "it is no record of a fence");
    EXPECT_EQ(why(R"({"version": 1})"), "it is no record of a fence");
    EXPECT_EQ(why(R"({"format": "1"})"), "it is no record of a fence");
    EXPECT_EQ(why(R"({"format": 0, "id": "a"})"), "its \"coordinator\" is missing");
    EXPECT_EQ(why(R"({"format": 1})"), "its \"id\" is missing");
    EXPECT_EQ(why(R"({"format": 1, "id": "../../etc/passwd"})"), "its \"id\" is no name of a record");
    EXPECT_EQ(why(R"({"format": 1, "id": "a", "coordinator": 7})"), "its \"coordinator\" is no text");
    EXPECT_EQ(why(std::string(2000, '[')), "it is cut off, or no JSON");
    const auto later = parse_fence_record(R"({"format": 2, "new": {}})");
    ASSERT_FALSE(later);
    EXPECT_EQ(later.error().code(), errc::refused);
    EXPECT_EQ(later.error().cause(), "it has format 2, of a later version; this one reads 1");
    EXPECT_EQ(parse_fence_record(std::string(2 << 20, ' ')).error().code(), errc::too_large);

    auto text = to_text(complete_record());
    const auto with = [&](const std::string& from, const std::string& to) {
        auto changed = text;
        changed.replace(changed.find(from), from.size(), to);
        return why(changed);
    };
    EXPECT_EQ(with("\"power\"", "\"hope\""), "its \"kind\" is no word that is known");
    EXPECT_EQ(with("\"status\": 0", "\"status\": 300"), "its \"status\" is no status of a program");
    EXPECT_EQ(with("\"times\": 1", "\"times\": -1"), "its \"times\" is no count");
    EXPECT_EQ(with("\"boot_us\": 1000000000", "\"boot_us\": 9223372036854775807"), "its \"begun\" is no moment");
    EXPECT_EQ(with("\"outcome\": \"done\"", "\"outcome\": \"done\", \"unknown\": [1]"), "");
}

TEST(fence_record, answers_that_are_the_same_are_counted) {
    fence_record all;
    for (int i = 0; i < 60; ++i) {
        add_fence_command(all, status_says_off(i), "Passw0rd");
    }
    ASSERT_EQ(all.commands.size(), 1U);
    EXPECT_EQ(all.commands[0].times, 60U);
    EXPECT_EQ(all.commands[0].begun, at_second(0));
    EXPECT_EQ(all.commands[0].ended, at_second(60));
    auto other = status_says_off(61);
    other.output = "Chassis Power is on\n";
    add_fence_command(all, other, "Passw0rd");
    EXPECT_EQ(all.commands.size(), 2U);
}

TEST(fence_record, no_password_and_no_flood) {
    EXPECT_EQ(fence_answer_text("user admin, password Passw0rd, Passw0rd!", "Passw0rd"),
              "user admin, password ********, ********!");
    EXPECT_EQ(fence_answer_text("nothing", ""), "nothing");
    EXPECT_EQ(fence_answer_text("***** x *", "*"),
              "****************************************"
              " x ********");
    EXPECT_EQ(fence_answer_text(std::string(100'000, 'x'), "Passw0rd").size(), fence_answer_bytes);
    // Cut where it was read: what stands at the end may be the beginning of one.
    const std::string cut = std::string(fence_answer_bytes - 6, 'x') + "Passw0";
    EXPECT_EQ(fence_answer_text(cut, "Passw0rd"), std::string(fence_answer_bytes - 6, 'x'));
    EXPECT_EQ(fence_answer_text("Passw0", "Passw0rd"), "Passw0");

    fence_record all;
    fence_command one = status_says_off(0);
    one.output = one.errors = one.read_as = "say hunter2";
    add_fence_command(all, one, "hunter2");
    EXPECT_EQ(to_text(all).find("hunter2"), std::string::npos);
}

TEST(fence_record, names) {
    EXPECT_EQ(fence_record_id(wall_time(1'795'762'812'345ms), "hv3"), "20261127T070012.345Z-hv3");
    EXPECT_EQ(fence_record_id(wall_time(0s), "a/b c"), "19700101T000000.000Z-a_b_c");
    EXPECT_TRUE(is_fence_record_id("20261127T070012.345Z-hv3"));
    EXPECT_TRUE(is_fence_record_id(fence_record_id(wall_time(-1ms), std::string(500, 'x'))));
    for (const char* bad : {"", ".hidden", "-x", "a/b", "a b", "a\n"}) {
        EXPECT_FALSE(is_fence_record_id(bad)) << bad;
    }
    EXPECT_FALSE(is_fence_record_id(std::string(129, 'a')));
}

TEST(fence_proof, key) {
    const fence_proof_key proof{"20261127T070012.345Z-hv3", "hv1", fence_proof_kind::power};
    EXPECT_EQ(to_text(proof), "20261127T070012.345Z-hv3 hv1 power");
    EXPECT_EQ(parse_fence_proof(to_text(proof)), proof);
    EXPECT_EQ(parse_fence_proof("a hv1 lease")->kind, fence_proof_kind::lease);
    EXPECT_EQ(parse_fence_proof("a hv1 operator")->kind, fence_proof_kind::operator_word);
    for (const std::string& none :
         {std::string(), std::string("a hv1"), std::string("a hv1 storage"), std::string("a hv1 Power"),
          std::string("a hv1 power "), std::string(" a hv1 power"), std::string("a  power"),
          std::string("a hv1 power x"), std::string("../x hv1 power"), std::string("a hv\n1 power"),
          std::string(100'000, 'a') + " hv1 power", std::string("a hv1 power\0", 12)}) {
        EXPECT_EQ(parse_fence_proof(none), std::nullopt) << none;
    }
}

TEST(fence_record, one_that_is_full_loses_details) {
    auto one = complete_record();
    EXPECT_FALSE(shorten_fence_record(one));
    EXPECT_EQ(one, complete_record());
    for (int i = 0; i < 20'000; ++i) {
        auto& machine = one.machines.emplace_back();
        machine.id = "11111111-2222-4333-8444-" + std::to_string(100'000'000'000 + i);
        machine.outcome = i % 4 == 0 ? "kept" : "left alone";
        machine.steps = {std::string(100, 'x')};
    }
    EXPECT_TRUE(shorten_fence_record(one));
    EXPECT_LE(to_text(one).size(), fence_record_bytes);
    EXPECT_GE(one.machines.size(), 100U);
    EXPECT_EQ(one.machines.size() + one.machines_left_out, 20'000U + complete_record().machines.size());
    EXPECT_EQ(one.proof, complete_record().proof);
    EXPECT_EQ(one.writes, complete_record().writes);
    const auto read = parse_fence_record(to_text(one));
    ASSERT_TRUE(read);
    EXPECT_EQ(*read, one);
}

}  // namespace
}  // namespace pvc::model
