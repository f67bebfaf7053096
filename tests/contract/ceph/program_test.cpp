// pvcnoded-ceph itself on stand-ins of Ceph's libraries: what it asks them, what it makes of what they say, and how it
// ends. What it does with a real cluster: cluster_test.cpp.
#include "contract/ceph/helper_program.hpp"

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

namespace pvc::contract {
namespace {

namespace ask = protocol::ceph::ask;
namespace say = protocol::ceph::say;
using lines = std::vector<std::string>;

// Under the sanitizer what is freed stays for a while.
#if defined(__has_feature) && __has_feature(address_sanitizer)
constexpr std::uint64_t growth_max = 256UL << 20U;
#else
constexpr std::uint64_t growth_max = 1UL << 20U;
#endif

constexpr std::int64_t never = std::int64_t{1} << 62;

ask::monitor_command command(const std::string& prefix) {
    return {R"({"prefix":")" + prefix + R"(","format":"json"})"};
}

protocol::ceph::lock lock_of(int client) {
    return {"auto 1", "client." + std::to_string(client), "10.0.0.1:0/5"};
}

ask::break_lock break_of(const std::string& image, int client, std::int64_t seconds = 0) {
    return {image, lock_of(client), never, seconds};
}

say::failed failed(const said& answer) {
    const auto* found = std::get_if<say::failed>(&answer);
    return found == nullptr ? say::failed{errc::unspecified, "it did not fail"} : *found;
}

bool is_done(const said& answer) {
    return std::holds_alternative<say::done>(answer);
}

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

class ceph_program : public testing::Test {
protected:
    helper_program& helper() {
        if (!helper_) {
            helper_.emplace(stub);
        }
        return *helper_;
    }
    // Of a locks' handle that is made now: what was asked last is told from what was asked before.
    stub_control stub;

private:
    std::optional<helper_program> helper_;
};

TEST_F(ceph_program, greets_and_tells_what_it_takes) {
    EXPECT_NE(helper().build(), "");
    const auto used = helper().ask(ask::usage{});
    ASSERT_TRUE(std::holds_alternative<say::used>(used));
    EXPECT_GT(std::get<say::used>(used).private_bytes, 100'000U);
    EXPECT_EQ(std::get<say::used>(used).threads, 14U);  // one reads, one is for figures, four list, eight break
    EXPECT_EQ(std::get<say::used>(used).handles, 0U) << "Ceph is asked when somebody asks for it";
}

TEST_F(ceph_program, answers_every_question) {
    stub.tell(
        "lock pool1/image7 auto_1 client.9 10.0.0.1:0/5\nwatcher pool1/image7 client.9 10.0.0.1:0/5\n"
        "lock pool1/space/image8 mine client.10 [fd00::1]:0/6\n");
    const auto health = helper().ask(command("health"));
    ASSERT_TRUE(std::holds_alternative<say::output>(health));
    EXPECT_TRUE(has(std::get<say::output>(health).bytes, "OSD_DOWN"));
    const auto counted = helper().ask(ask::pool_counters{{"pool3", "no such pool", "pool1"}});
    ASSERT_TRUE(std::holds_alternative<say::counted>(counted)) << failed(counted).cause;
    const std::vector<protocol::ceph::counters> expected{{"pool3", 1, 2, 3, 4, 5, 257, 209, 234, 32814},
                                                         {"pool1", 1, 2, 3, 4, 5, 257, 209, 234, 32814}};
    EXPECT_EQ(std::get<say::counted>(counted).pools, expected);
    EXPECT_EQ(helper().ask(ask::locks{"pool1/image7"}), said(say::locked{{{"auto 1", "client.9", "10.0.0.1:0/5"}}}));
    EXPECT_EQ(helper().ask(ask::locks{"pool1/space/image8"}),
              said(say::locked{{{"mine", "client.10", "[fd00::1]:0/6"}}}));
    EXPECT_EQ(helper().ask(ask::locks{"pool1/image9"}), said(say::locked{}));
    EXPECT_EQ(helper().ask(ask::watchers{"pool1/image7"}), said(say::watched{{{"client.9", "10.0.0.1:0/5"}}}));
    EXPECT_EQ(stub.calls("connect"), (lines{"3/2/5", "3/2/5"})) << "two handles, each with all three limits";
}

TEST_F(ceph_program, says_what_is_missing_and_what_is_wrong) {
    EXPECT_EQ(failed(helper().ask(ask::locks{"pool1/image5000"})).code, errc::not_found);
    EXPECT_EQ(failed(helper().ask(ask::locks{"pool99/image1"})).code, errc::not_found);
    EXPECT_EQ(failed(helper().ask(ask::watchers{"pool99/image1"})).code, errc::not_found);
    EXPECT_EQ(failed(helper().ask(ask::locks{"image1"})).code, errc::invalid);
    stub.tell("when mon:osd_df error -110\nwhen mon:osd_status error 110\nwhen mon:df error -22\n");
    const auto late = failed(helper().ask(command("osd df")));
    EXPECT_EQ(late.code, errc::timed_out);
    EXPECT_TRUE(has(late.cause, "osd df") && has(late.cause, "timed out: no answer in time (ETIMEDOUT)")) << late.cause;
    EXPECT_EQ(failed(helper().ask(command("osd status"))).code, errc::timed_out) << "the one with the other sign";
    const auto unknown = failed(helper().ask(command("df")));
    EXPECT_EQ(unknown.code, errc::invalid);
    EXPECT_TRUE(has(unknown.cause, "the stub says so: Invalid argument (EINVAL)")) << unknown.cause;
}

// Nothing of it is copied, and what the library took is given back.
TEST_F(ceph_program, an_output_that_no_frame_takes_is_an_error_and_no_growth) {
    EXPECT_TRUE(std::holds_alternative<say::output>(helper().ask(command("df"))));
    const auto before = std::get<say::used>(helper().ask(ask::usage{})).private_bytes;
    stub.tell("when mon:df bytes 20971520\n");
    for (int i = 0; i < 5; ++i) {
        const auto refused = failed(helper().ask(command("df")));
        EXPECT_EQ(refused.code, errc::too_large);
        EXPECT_TRUE(has(refused.cause, "20971520")) << refused.cause;
    }
    const auto after = std::get<say::used>(helper().ask(ask::usage{})).private_bytes;
    EXPECT_LT(after, before + growth_max);
    stub.tell("when mon:df bytes 16777216\n");
    const auto most = helper().ask(command("df"));
    EXPECT_EQ(std::get<say::output>(most).bytes.size(), 16U << 20U);
    stub.tell("");
    EXPECT_TRUE(std::holds_alternative<say::output>(helper().ask(command("df"))));
    EXPECT_LT(std::get<say::used>(helper().ask(ask::usage{})).private_bytes, before + 4 * growth_max);
}

// Storage.md case 13.
TEST_F(ceph_program, a_key_that_is_refused_is_told_once_a_second_and_never_shown) {
    stub.folder().write("keyring", "[client.admin]\n\tkey = AQBsecret==\n");
    stub.tell("when connect error -13\n");
    for (int i = 0; i < 5; ++i) {
        const auto why = failed(helper().ask(command("health")));
        EXPECT_EQ(why.code, errc::unavailable);
        EXPECT_TRUE(has(why.cause, stub.folder() / "keyring") && has(why.cause, "permission denied")) << why.cause;
        EXPECT_FALSE(has(why.cause, "secret")) << why.cause;
    }
    EXPECT_EQ(stub.calls("connect").size(), 1U) << "the failure of the last attempt is answered meanwhile";
    EXPECT_EQ(stub.calls("shutdown").size(), 1U) << "what did not connect is ended";
    ::usleep(1'050'000);  // real time, which is the helper's
    stub.tell("");
    EXPECT_TRUE(std::holds_alternative<say::output>(helper().ask(command("health"))));
}

TEST_F(ceph_program, says_which_file_is_missing) {
    stub.tell("when connect error -2\n");
    const auto none = failed(helper().ask(command("health")));
    EXPECT_TRUE(has(none.cause, "keyring " + (stub.folder() / "keyring") + " is missing")) << none.cause;
    stub.folder().write("keyring", "[client.other]\n");
    const auto other = failed(helper().ask(ask::locks{"pool1/image1"}));  // of the other handle
    EXPECT_TRUE(has(other.cause, "has no key of client.admin")) << other.cause;
    stub.tell("when conf_read error -2\n");
    helper_program another(stub);
    const auto config = failed(another.ask(command("health")));
    EXPECT_EQ(config.code, errc::unavailable);
    EXPECT_TRUE(has(config.cause, stub.folder() / "ceph.conf")) << config.cause;
}

TEST_F(ceph_program, no_monitor_that_answers_is_no_answer) {
    stub.tell("when connect error -110\n");
    EXPECT_EQ(failed(helper().ask(command("health"))).code, errc::timed_out);
}

// One hangs, those beside it do not: four threads for locks, one for figures, none for what it takes.
TEST_F(ceph_program, what_hangs_holds_up_its_own_kind_only) {
    stub.tell("when mon:health hang\n");
    helper().send(command("health"));
    EXPECT_EQ(helper().ask(ask::locks{"pool1/image1"}), said(say::locked{}));
    EXPECT_TRUE(std::holds_alternative<say::used>(helper().ask(ask::usage{})));
    helper().send(command("df"), 200ms);
    EXPECT_FALSE(helper().next(300ms)) << "it waits for its thread";
    helper().close_socket();
    EXPECT_EQ(helper().end_within(1s), 0) << "it does not wait for what hangs";
}

TEST_F(ceph_program, a_request_whose_time_is_over_is_not_begun) {
    stub.tell("when mon:health delay 400\n");
    const auto slow = helper().send(command("health"));
    const auto late = helper().send(command("df"), 100ms);
    EXPECT_EQ(helper().next()->id, slow);
    const auto answer = helper().next();
    ASSERT_TRUE(answer && answer->id == late);
    EXPECT_EQ(failed(answer->what).code, errc::timed_out);
    EXPECT_TRUE(stub.calls("mon:df").empty());
}

TEST_F(ceph_program, answers_come_as_they_are_known) {
    stub.tell("when mon:health delay 300\n");
    const auto slow = helper().send(command("health"));
    const auto quick = helper().send(ask::locks{"pool1/image1"});
    EXPECT_EQ(helper().next()->id, quick);
    EXPECT_EQ(helper().next()->id, slow);
}

TEST_F(ceph_program, refuses_more_requests_than_it_holds) {
    stub.tell("when mon:health delay 500\n");
    std::set<std::int64_t> accepted;
    accepted.insert(helper().send(command("health")));
    for (std::size_t i = 1; i < protocol::ceph::requests_max; ++i) {
        accepted.insert(helper().send(command("df")));
    }
    const auto refused = helper().send(command("df"));
    const auto first = helper().next();
    ASSERT_TRUE(first);
    EXPECT_EQ(first->id, refused);
    EXPECT_EQ(failed(first->what).code, errc::unavailable);
    while (!accepted.empty()) {
        const auto answer = helper().next();
        ASSERT_TRUE(answer);
        EXPECT_TRUE(std::holds_alternative<say::output>(answer->what));
        accepted.erase(answer->id);
    }
    EXPECT_TRUE(std::holds_alternative<say::output>(helper().ask(command("df"))));
}

// ---- locks ----------------------------------------------------------------------------------------------------------

TEST_F(ceph_program, a_lost_handle_is_made_anew_and_the_call_made_once_more) {
    stub.tell("when open error -108 1\n");
    EXPECT_EQ(helper().ask(ask::locks{"pool1/image1"}), said(say::locked{}));
    EXPECT_EQ(stub.calls("connect").size(), 2U);
    stub.tell("when mon:df error -107 1\n");
    EXPECT_TRUE(std::holds_alternative<say::output>(helper().ask(command("df"))));
    EXPECT_EQ(stub.calls("connect").size(), 4U);
    stub.tell("when open error -108\n");
    EXPECT_EQ(failed(helper().ask(ask::locks{"pool1/image1"})).code, errc::unavailable);
    EXPECT_EQ(stub.calls("open").size(), 4U) << "once more, not for ever";
    EXPECT_EQ(stub.calls("connect").size(), 5U);
}

// The image takes the time on the blocklist with it, so requests beside each other each have theirs.
TEST_F(ceph_program, a_lock_is_broken_by_the_library_which_blocklists_its_client_first) {
    stub.tell("lock pool1/image1 auto_1 client.9 10.0.0.1:0/5\nlock pool1/image2 auto_1 client.10 10.0.0.1:0/6\n");
    EXPECT_TRUE(is_done(helper().ask(break_of("pool1/image1", 9, 86400))));
    EXPECT_TRUE(is_done(helper().ask(break_of("pool1/image2", 10))));
    EXPECT_EQ(stub.calls("break_lock"),
              (lines{"pool1/image1 client.9 auto 1 true 86400", "pool1/image2 client.10 auto 1 true 0"}));
    EXPECT_TRUE(stub.calls("blocklist_add").empty()) << "each takes the monitors most of a second";
    EXPECT_EQ(helper().ask(ask::locks{"pool1/image1"}), said(say::locked{}));
}

TEST_F(ceph_program, metadata_that_says_otherwise_does_not_let_a_client_go_on_writing) {
    const std::string locked = "lock pool1/image1 auto_1 client.9 10.0.0.1:0/5\n";
    for (const char* says :
         {"image_config rbd_blocklist_on_break_lock false\n", "image_config rbd_blocklist_expire_seconds 60\n"}) {
        stub_control own;
        own.tell(locked + says);
        helper_program fresh(own);
        EXPECT_TRUE(is_done(fresh.ask(break_of("pool1/image1", 9, 86400))));
        lines order;
        for (const auto& line : own.log()) {
            if (line.starts_with("blocklist_add") || line.starts_with("break_lock")) {
                order.push_back(line.substr(0, line.find(" auto")));
            }
        }
        EXPECT_EQ(order, (lines{"blocklist_add 10.0.0.1:0/5 86400", "break_lock pool1/image1 client.9",
                                "blocklist_add 10.0.0.1:0/5 86400"}));
    }
}

// Storage.md case 24.
TEST_F(ceph_program, a_lock_or_an_image_that_is_gone_is_success) {
    EXPECT_TRUE(is_done(helper().ask(break_of("pool1/image1", 9))));
    EXPECT_TRUE(is_done(helper().ask(break_of("pool1/image5000", 9))));
    EXPECT_TRUE(is_done(helper().ask(break_of("pool99/image1", 9))));
    stub.tell("lock pool1/image1 auto_1 client.9 10.0.0.1:0/5\nwhen break_lock error -2\n");
    EXPECT_TRUE(is_done(helper().ask(break_of("pool1/image1", 9)))) << "between listing and breaking";
    EXPECT_EQ(stub.calls("break_lock").size(), 1U);
}

TEST_F(ceph_program, a_break_without_an_answer_is_tried_twice_more) {
    stub.tell("lock pool1/image1 auto_1 client.9 10.0.0.1:0/5\nwhen break_lock error -110 2\n");
    EXPECT_TRUE(is_done(helper().ask(break_of("pool1/image1", 9))));
    EXPECT_EQ(stub.calls("break_lock").size(), 3U);
    stub.tell("lock pool1/image2 auto_1 client.9 10.0.0.1:0/5\nwhen break_lock error -110\n");
    EXPECT_EQ(failed(helper().ask(break_of("pool1/image2", 9))).code, errc::timed_out);
    EXPECT_EQ(stub.calls("break_lock").size(), 6U);
}

TEST_F(ceph_program, a_break_is_not_tried_again_beyond_its_time) {
    stub.tell(
        "lock pool1/image1 auto_1 client.9 10.0.0.1:0/5\nwhen break_lock error -110\nwhen break_lock delay 400\n");
    EXPECT_EQ(failed(helper().ask(break_of("pool1/image1", 9), 300ms)).code, errc::timed_out);
    EXPECT_EQ(stub.calls("break_lock").size(), 1U);
}

std::int64_t boot_time_in(std::chrono::milliseconds time) {
    timespec now{};
    ::clock_gettime(CLOCK_BOOTTIME, &now);
    return now.tv_sec * 1'000'000'000LL + now.tv_nsec + std::chrono::nanoseconds(time).count();
}

// An image that takes long to be opened: by then nobody may rely on the proof, or nobody waits any more.
TEST_F(ceph_program, a_break_is_not_begun_when_opening_took_its_time) {
    stub.tell("lock pool1/image1 auto_1 client.9 10.0.0.1:0/5\nwhen open delay 400\n");
    auto late = break_of("pool1/image1", 9);
    late.not_after_ns = boot_time_in(200ms);
    EXPECT_EQ(failed(helper().ask(late)).code, errc::stopped);
    EXPECT_EQ(failed(helper().ask(break_of("pool1/image2", 9), 200ms)).code, errc::unspecified) << "no such lock";
    stub.tell("lock pool1/image2 auto_1 client.9 10.0.0.1:0/5\nwhen open delay 400\n");
    EXPECT_EQ(failed(helper().ask(break_of("pool1/image2", 9), 200ms)).code, errc::timed_out);
    EXPECT_TRUE(stub.calls("break_lock").empty());
}

// Storage.md 3.2: whoever asks about a pool that is well does not wait for one that is sick.
TEST_F(ceph_program, a_sick_pool_holds_up_no_other) {
    stub.tell("when open@pool1 hang\nlock pool2/image1 auto_1 client.9 10.0.0.1:0/5\n");
    for (int i = 0; i < 12; ++i) {
        helper().send(ask::locks{"pool1/image" + std::to_string(i)}, 10s);
    }
    for (int i = 0; i < 12; ++i) {
        helper().send(break_of("pool1/image" + std::to_string(i), 9), 10s);
    }
    EXPECT_TRUE(std::holds_alternative<say::locked>(helper().ask(ask::locks{"pool2/image1"})));
    EXPECT_TRUE(is_done(helper().ask(ask::prepare_break{"pool2/image1", lock_of(9), 0})));
    EXPECT_TRUE(is_done(helper().ask(break_of("pool2/image1", 9))));
    EXPECT_EQ(stub.calls("break_lock").size(), 1U);
}

// The same image, opened beforehand: the proof is taken when that is done, and there is only the break left.
TEST_F(ceph_program, a_break_that_was_prepared_opens_nothing) {
    stub.tell("lock pool1/image1 auto_1 client.9 10.0.0.1:0/5\nwhen open delay 400\n");
    const auto first = break_of("pool1/image1", 9);
    EXPECT_TRUE(is_done(helper().ask(ask::prepare_break{first.image, first.which, 0})));
    EXPECT_TRUE(stub.calls("break_lock").empty());
    auto late = first;
    late.not_after_ns = 1;
    EXPECT_EQ(failed(helper().ask(late)).code, errc::stopped);
    auto right = first;
    right.not_after_ns = boot_time_in(200ms);
    EXPECT_TRUE(is_done(helper().ask(right))) << "it stayed open for another proof";
    EXPECT_EQ(stub.calls("open").size(), 1U);
    EXPECT_EQ(stub.calls("break_lock"), (lines{"pool1/image1 client.9 auto 1 true 0"}));
    // What is prepared for another time on the blocklist is another image to the library; what is gone is success.
    stub.tell("lock pool1/image1 auto_1 client.10 10.0.0.1:0/5\n");
    const auto second = break_of("pool1/image1", 10, 86400);
    EXPECT_TRUE(is_done(helper().ask(ask::prepare_break{second.image, second.which, 0})));
    EXPECT_TRUE(is_done(helper().ask(second)));
    EXPECT_EQ(stub.calls("break_lock").back(), "pool1/image1 client.10 auto 1 true 86400");
    EXPECT_TRUE(is_done(helper().ask(ask::prepare_break{"pool1/image5000", first.which, 0})));
    EXPECT_TRUE(is_done(helper().ask(ask::prepare_break{"pool1/image3", first.which, 0})));
    EXPECT_EQ(failed(helper().ask(ask::prepare_break{"garbage", first.which, 0})).code, errc::invalid);
}

TEST_F(ceph_program, a_break_that_comes_too_late_breaks_nothing) {
    stub.tell("lock pool1/image1 auto_1 client.9 10.0.0.1:0/5\n");
    auto late = break_of("pool1/image1", 9);
    late.not_after_ns = 1;
    EXPECT_EQ(failed(helper().ask(late)).code, errc::stopped);
    EXPECT_EQ(failed(helper().ask(ask::blocklist{"10.0.0.1:0/5", 1, 0})).code, errc::stopped);
    EXPECT_TRUE(stub.calls("break_lock").empty());
    EXPECT_TRUE(stub.calls("blocklist_add").empty());
}

// Some libraries send the time on the blocklist as a text, which monitors refuse (-22): the command has a number, and
// the lock of a client that is there already is taken away without the library's own blocklisting.
TEST_F(ceph_program, what_is_not_understood_is_done_by_command) {
    stub.tell(
        "lock pool1/image1 auto_1 client.9 10.0.0.1:0/5\nwhen break_lock error -22\nwhen blocklist_add error -22\n");
    EXPECT_EQ(failed(helper().ask(break_of("pool1/image1", 9, 86400))).code, errc::invalid);
    EXPECT_EQ(failed(helper().ask(ask::blocklist{"10.0.0.1:0/5", never, 86400})).code, errc::invalid);
    EXPECT_TRUE(is_done(helper().ask(ask::blocklist{"10.0.0.1:0/5", never, 86400, true})));
    EXPECT_EQ(stub.calls("mon:osd_blocklist"),
              (lines{R"({"prefix":"osd blocklist","blocklistop":"add","addr":"10.0.0.1:0/5","expire":86400.0})"}));
    EXPECT_EQ(stub.calls("latest_osdmap").size(), 1U);
    ask::break_lock blocked{"pool1/image1", lock_of(9), never, 0, true};
    EXPECT_TRUE(is_done(helper().ask(ask::prepare_break{"pool1/image1", lock_of(9), 0, true})));
    EXPECT_TRUE(is_done(helper().ask(blocked)));
    EXPECT_EQ(stub.calls("take_lock"), (lines{"pool1/image1 rbd_lock client.9 auto 1"}));
    EXPECT_EQ(stub.calls("break_lock").size(), 1U) << "the one that was refused";
    EXPECT_EQ(helper().ask(ask::locks{"pool1/image1"}), said(say::locked{}));
}

TEST_F(ceph_program, the_command_has_another_name_before_ceph_16_and_no_garbage) {
    stub.tell("when mon:osd_blocklist error -22\n");
    EXPECT_TRUE(is_done(helper().ask(ask::blocklist{"[fd00::2]:0/5", never, 0, true})));
    EXPECT_EQ(stub.calls("mon:osd_blacklist"),
              (lines{R"({"prefix":"osd blacklist","blocklistop":"add","addr":"[fd00::2]:0/5"})"}));
    EXPECT_EQ(failed(helper().ask(ask::blocklist{"10.0.0.1:0/5\",\"x\":\"", never, 0, true})).code, errc::invalid);
    EXPECT_EQ(failed(helper().ask(ask::blocklist{"10.0.0.1:0/5", 1, 0, true})).code, errc::stopped);
    EXPECT_EQ(stub.calls("mon:osd_blocklist").size(), 1U);
    stub.tell("instance 500\nwhen mon:osd_blocklist error -13\n");
    EXPECT_EQ(failed(helper().ask(ask::blocklist{"10.0.0.1:0/6", never, 0, true})).code, errc::refused);
    EXPECT_EQ(stub.calls("mon:osd_blacklist").size(), 1U);
}

// Storage.md case 26.
TEST_F(ceph_program, a_lock_of_its_own_is_not_broken_and_it_goes_on) {
    stub.tell("instance 500\nlock pool1/image1 auto_1 client.500 10.9.9.9:0/500\n");
    const auto refused = failed(helper().ask(break_of("pool1/image1", 500)));
    EXPECT_EQ(refused.code, errc::refused) << "not what Ceph does not understand";
    EXPECT_TRUE(has(refused.cause, "client.500") && has(refused.cause, "this helper itself")) << refused.cause;
    EXPECT_TRUE(stub.calls("break_lock").empty());
    const auto address = failed(helper().ask(ask::blocklist{"10.9.9.9:0/500", never, 0}));
    EXPECT_EQ(address.code, errc::refused);
    EXPECT_EQ(failed(helper().ask(ask::blocklist{"10.9.9.9:0/500", never, 0, true})).code, errc::refused);
    EXPECT_TRUE(stub.calls("mon:osd_blocklist").empty());
    EXPECT_TRUE(stub.calls("blocklist_add").empty());
    EXPECT_TRUE(std::holds_alternative<say::locked>(helper().ask(ask::locks{"pool1/image1"})));
    EXPECT_TRUE(is_done(helper().ask(ask::blocklist{"10.9.9.9:0/501", never, 86400})));
    EXPECT_EQ(stub.calls("blocklist_add"), (lines{"10.9.9.9:0/501 86400"}));
    EXPECT_EQ(stub.calls("connect").size(), 1U);
}

// ---- its life -------------------------------------------------------------------------------------------------------

TEST_F(ceph_program, ends_with_what_it_does_not_understand_and_says_so_in_a_line) {
    const auto too_long = std::string("\x7f\xff\xff\xff\0\0\0\0", 8);
    const auto no_request = *protocol::encode(protocol::frame{R"({"id":1,"limit_ms":5,"ask":"what"})", ""});
    const auto no_json = *protocol::encode(protocol::frame{"{", ""});
    for (const auto& bytes : {too_long, no_request, no_json}) {
        helper_program one(stub);
        one.send_bytes(bytes);
        EXPECT_EQ(one.end_within(2s), 1);
        const auto text = one.errors();
        EXPECT_TRUE(text.starts_with("pvcnoded-ceph: ")) << text;
        EXPECT_EQ(std::ranges::count(text, '\n'), 1) << text;
    }
}

TEST_F(ceph_program, ends_with_its_socket_in_the_middle_of_a_frame_too) {
    const auto frame = *encode(protocol::ceph::request{1, 1s, ask::usage{}});
    for (const std::size_t size : {std::size_t{0}, std::size_t{3}, std::size_t{9}, frame.size()}) {
        helper_program one(stub);
        EXPECT_NE(one.build(), "");
        one.send_bytes(std::string_view(frame).substr(0, size));
        one.close_socket();
        EXPECT_EQ(one.end_within(2s), 0) << size;
        EXPECT_EQ(one.errors(), "");
    }
}

TEST_F(ceph_program, a_library_that_hangs_in_its_end_does_not_keep_it) {
    stub.tell("when shutdown hang\nwhen open error -108 1\n");
    helper().send(ask::locks{"pool1/image1"});
    EXPECT_TRUE(std::holds_alternative<say::used>(helper().ask(ask::usage{})));
    helper().close_socket();
    EXPECT_EQ(helper().end_within(1s), 0);
}

TEST_F(ceph_program, without_a_socket_it_says_that_it_is_of_no_use) {
    const std::string errors = stub.folder() / "errors";
    const std::string start = "exec " PVC_CEPH_HELPER " --config a --keyring b 3</dev/null 2>" + errors;
    EXPECT_EQ(WEXITSTATUS(std::system(start.c_str())), 2);
    EXPECT_TRUE(has(stub.folder().read("errors"), "descriptor 3 is no socket"));
    EXPECT_EQ(WEXITSTATUS(std::system(("exec " PVC_CEPH_HELPER " --config a 2>" + errors).c_str())), 2);
    EXPECT_EQ(std::system("exec " PVC_CEPH_HELPER " --help >/dev/null"), 0);
    EXPECT_EQ(std::system("exec " PVC_CEPH_HELPER " --version >/dev/null"), 0);
}

std::string status_line(pid_t id, const std::string& name) {
    std::ifstream from("/proc/" + std::to_string(id) + "/status");
    for (std::string line; std::getline(from, line);) {
        if (line.starts_with(name + ":")) {
            return line.substr(line.find_first_not_of(" \t", name.size() + 1));
        }
    }
    return {};
}

bool is_gone(pid_t id) {
    const auto state = status_line(id, "State");
    return state.empty() || state.starts_with('Z');
}

// Even while the socket stays open: the kernel sees to it.
TEST_F(ceph_program, dies_with_whoever_started_it) {
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    int told[2];
    ASSERT_EQ(::pipe2(told, O_CLOEXEC), 0);
    const pid_t parent = ::fork();
    if (parent == 0) {
        const pid_t child = ::fork();
        if (child == 0) {
            ::dup2(ends[1], 3);
            ::execl(PVC_CEPH_HELPER, PVC_CEPH_HELPER, "--config", "a", "--keyring", "b", nullptr);
            ::_exit(127);
        }
        ::write(told[1], &child, sizeof child);
        ::pause();
    }
    pid_t helper = 0;
    ASSERT_EQ(::read(told[0], &helper, sizeof helper), static_cast<ssize_t>(sizeof helper));
    char greeting[8];
    EXPECT_EQ(::read(ends[0], greeting, sizeof greeting), static_cast<ssize_t>(sizeof greeting)) << "it runs";
    EXPECT_FALSE(is_gone(helper));
    ::kill(parent, SIGKILL);
    ::waitpid(parent, nullptr, 0);
    for (int i = 0; i < 1000 && !is_gone(helper); ++i) {
        ::usleep(2000);
    }
    EXPECT_TRUE(is_gone(helper));
    for (const int one : {ends[0], ends[1], told[0], told[1]}) {
        ::close(one);
    }
}

TEST_F(ceph_program, gives_up_what_it_does_not_need) {
    EXPECT_NE(helper().build(), "");
    const pid_t id = helper().id();
    EXPECT_EQ(status_line(id, "NoNewPrivs"), "1");
    const std::string reads_files = "0000000000000004";  // CAP_DAC_READ_SEARCH
    const bool is_root = ::geteuid() == 0;
    if (is_root) {
        EXPECT_EQ(status_line(id, "CapBnd"), reads_files);
        EXPECT_EQ(status_line(id, "CapPrm"), reads_files);
        EXPECT_EQ(std::filesystem::read_symlink("/proc/" + std::to_string(id) + "/fd/0"), "/dev/null");
    }
    EXPECT_TRUE(status_line(id, "CapInh").find_first_not_of('0') == std::string::npos);
    std::ifstream limits("/proc/" + std::to_string(id) + "/limits");
    const std::string all{std::istreambuf_iterator<char>(limits), {}};
    const auto core = all.find("Max core file size");
    ASSERT_NE(core, std::string::npos);
    EXPECT_TRUE(has(all.substr(core, 50), " 0 ")) << all;
}

}  // namespace
}  // namespace pvc::contract
