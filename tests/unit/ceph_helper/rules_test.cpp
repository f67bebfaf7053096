// What errors mean, when a handle is made and given up, who it is to the cluster, and where requests go.
#include "pvcnoded/ceph_helper/error_table.hpp"
#include "pvcnoded/ceph_helper/handle_rules.hpp"
#include "pvcnoded/ceph_helper/options.hpp"
#include "pvcnoded/ceph_helper/outbox.hpp"
#include "pvcnoded/ceph_helper/request_queue.hpp"
#include "pvcnoded/ceph_helper/setting_gate.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <thread>

namespace pvc::ceph_helper {
namespace {

using namespace std::chrono_literals;
namespace ask = protocol::ceph::ask;
namespace say = protocol::ceph::say;

// The library gives one number where its configuration names no monitor and where the key is missing.
TEST(error_table, why_no_connection_was_made) {
    const connect_facts usual{"/c", "/k", 0, "mon1,mon2"};
    auto with = [&](auto change) {
        connect_facts facts = usual;
        change(facts);
        return facts;
    };
    const auto no_monitors = with([](connect_facts& facts) { facts.monitors.clear(); });
    struct row {
        connect_facts facts;
        int error;
        std::string text;
    };
    for (const auto& [facts, error, text] :
         {row{usual, ETIMEDOUT, "no monitor that /c names answers: no answer in time (ETIMEDOUT)"},
          row{usual, ENOENT, "keyring /k has no key of client.admin: No such file or directory (ENOENT)"},
          row{no_monitors, ENOENT,
              "configuration /c names no monitor in mon_host, or, if it names them elsewhere, keyring /k has no key of "
              "client.admin: No such file or directory (ENOENT)"},
          row{usual, EINVAL,
              "mon_host in /c has a name that is not found, or what is no address: mon1,mon2: Invalid argument "
              "(EINVAL)"},
          row{with([](connect_facts& one) { one.unread = EACCES; }), EIO,
              "keyring /k cannot be read: Input/output error (EIO)"},
          row{with([](connect_facts& one) { one.unread = ENOENT; }), ENOENT,
              "keyring /k is missing: No such file or directory (ENOENT)"},
          row{usual, EACCES, "the cluster does not take the key of client.admin in /k: permission denied (EACCES)"},
          row{usual, EIO, "no connection: Input/output error (EIO)"}}) {
        EXPECT_EQ(why_not_connected(facts, error), text);
        EXPECT_EQ(why_not_connected(facts, -error), text);
    }
}

// One call of version 16 gives a positive number: both signs mean the same.
TEST(error_table, knows_what_ceph_says) {
    struct row {
        int number;
        errc code;
        bool is_no_answer;
        bool is_handle_lost;
        const char* words;
    };
    for (const row& one :
         {row{EPERM, errc::refused, false, false, "permission denied (EPERM)"},
          row{ENOENT, errc::not_found, false, false, "No such file or directory (ENOENT)"},
          row{EIO, errc::io, false, false, "Input/output error (EIO)"},
          row{E2BIG, errc::too_large, false, false, "Argument list too long (E2BIG)"},
          row{EACCES, errc::refused, false, false, "permission denied (EACCES)"},
          row{EBUSY, errc::refused, false, false, "Device or resource busy (EBUSY)"},
          row{EEXIST, errc::already_exists, false, false, "File exists (EEXIST)"},
          row{EINVAL, errc::invalid, false, false, "Invalid argument (EINVAL)"},
          row{EFBIG, errc::too_large, false, false, "File too large (EFBIG)"},
          row{EROFS, errc::refused, false, false, "Read-only file system (EROFS)"},
          row{ERANGE, errc::io, false, false, "Numerical result out of range (ERANGE)"},
          row{ENAMETOOLONG, errc::invalid, false, false, "File name too long (ENAMETOOLONG)"},
          row{ENOTEMPTY, errc::not_empty, false, false, "Directory not empty (ENOTEMPTY)"},
          row{EMSGSIZE, errc::too_large, false, false, "Message too long (EMSGSIZE)"},
          row{EOPNOTSUPP, errc::invalid, false, false, "Operation not supported (EOPNOTSUPP)"},
          row{ENETUNREACH, errc::unavailable, true, false, "Network is unreachable (ENETUNREACH)"},
          row{ECONNABORTED, errc::unavailable, true, false, "Software caused connection abort (ECONNABORTED)"},
          row{ECONNRESET, errc::unavailable, true, false, "Connection reset by peer (ECONNRESET)"},
          row{ENOTCONN, errc::unavailable, true, true, "not connected to the cluster (ENOTCONN)"},
          row{ESHUTDOWN, errc::unavailable, true, true, "this client is on the cluster's blocklist (ESHUTDOWN)"},
          row{ETIMEDOUT, errc::timed_out, true, false, "no answer in time (ETIMEDOUT)"},
          row{ECONNREFUSED, errc::unavailable, true, false, "Connection refused (ECONNREFUSED)"},
          row{EHOSTUNREACH, errc::unavailable, true, false, "No route to host (EHOSTUNREACH)"},
          row{4095, errc::io, false, false, "an error that has no name (4095)"}}) {
        for (const int error : {one.number, -one.number}) {
            EXPECT_EQ(code_of(error), one.code) << error;
            EXPECT_EQ(is_no_answer(error), one.is_no_answer) << error;
            EXPECT_EQ(is_handle_lost(error), one.is_handle_lost) << error;
            EXPECT_EQ(words_of(error), one.words);
            EXPECT_EQ(code_of_connecting(error), one.number == ETIMEDOUT ? errc::timed_out : errc::unavailable);
            EXPECT_EQ(is_timeout(error), one.number == ETIMEDOUT);
            EXPECT_EQ(is_missing(error), one.number == ENOENT);
        }
    }
}

TEST(handle_rules, a_failed_connect_is_tried_again_once_a_second) {
    handle_rules rules;
    const time_point begun{100s};
    EXPECT_TRUE(rules.may_connect(begun));
    rules.refused(begun);
    EXPECT_FALSE(rules.may_connect(begun + 999ms));
    EXPECT_TRUE(rules.may_connect(begun + 1s));
    rules.made(begun + 1s);
    EXPECT_TRUE(rules.may_connect(begun + 1s)) << "what was made may be lost at once";
}

TEST(handle_rules, a_handle_is_given_up_when_it_is_lost_or_failed_for_a_minute) {
    handle_rules rules;
    const time_point begun{100s};
    rules.made(begun);
    EXPECT_TRUE(rules.is_worn_after(-ESHUTDOWN, begun));
    EXPECT_TRUE(rules.is_worn_after(-ENOTCONN, begun));
    rules.made(begun);
    EXPECT_FALSE(rules.is_worn_after(-ETIMEDOUT, begun + 10s));
    EXPECT_FALSE(rules.is_worn_after(-ETIMEDOUT, begun + 69s));
    EXPECT_TRUE(rules.is_worn_after(-ETIMEDOUT, begun + 70s));
}

TEST(handle_rules, an_answer_ends_the_failure_a_refusal_too) {
    for (const int answer : {0, -EINVAL, -ENOENT}) {
        handle_rules rules;
        const time_point begun{100s};
        rules.made(begun);
        EXPECT_FALSE(rules.is_worn_after(-ETIMEDOUT, begun));
        EXPECT_FALSE(rules.is_worn_after(answer, begun + 59s));
        EXPECT_FALSE(rules.is_worn_after(-ETIMEDOUT, begun + 61s)) << answer;
    }
}

TEST(handle_rules, idle_is_who_was_not_used_for_a_minute) {
    handle_rules rules;
    const time_point begun{100s};
    rules.made(begun);
    EXPECT_FALSE(rules.is_idle(begun + 59s));
    EXPECT_TRUE(rules.is_idle(begun + 60s));
    EXPECT_FALSE(rules.is_worn_after(0, begun + 60s));
    EXPECT_FALSE(rules.is_idle(begun + 61s));
}

TEST(requests, go_to_the_threads_of_their_kind) {
    const auto lane_for = [](auto what) {
        protocol::ceph::request request;
        request.what = std::move(what);
        return lane_of(request);
    };
    EXPECT_EQ(lane_for(ask::monitor_command{}), lane::figures);
    EXPECT_EQ(lane_for(ask::pool_counters{}), lane::figures);
    EXPECT_EQ(lane_for(ask::locks{}), lane::locks);
    EXPECT_EQ(lane_for(ask::watchers{}), lane::locks);
    EXPECT_EQ(lane_for(ask::prepare_break{}), lane::locks) << "it opens an image, which may take long";
    EXPECT_EQ(lane_for(ask::break_lock{}), lane::breaks);
    EXPECT_EQ(lane_for(ask::blocklist{}), lane::breaks);
    EXPECT_EQ(lane_for(ask::usage{}), lane::at_once);
}

TEST(requests, are_taken_in_their_order) {
    request_queue queue(1);
    EXPECT_FALSE(queue.take(1ms));
    for (const std::int64_t id : {1, 2, 3}) {
        pending_request one;
        one.what.id = id;
        queue.put(std::move(one));
    }
    for (const std::int64_t id : {1, 2, 3}) {
        EXPECT_EQ(queue.take(1ms)->what.id, id);
        EXPECT_FALSE(queue.take(1ms)) << "its one thread is at work";
        queue.is_over("");
    }
    EXPECT_FALSE(queue.take(1ms));
}

pending_request listing_of(std::int64_t id, const std::string& image) {
    pending_request one;
    one.what.id = id;
    one.what.what = ask::locks{image};
    return one;
}

// Ten calls about a pool that is sick, then one about another: it does not wait for any of them.
TEST(requests, about_a_sick_pool_take_at_most_half_of_the_threads) {
    request_queue queue(4);
    for (std::int64_t id = 1; id <= 10; ++id) {
        queue.put(listing_of(id, "sick/a"));
    }
    EXPECT_EQ(queue.take(1ms)->what.id, 1);
    EXPECT_EQ(queue.take(1ms)->what.id, 2);
    EXPECT_FALSE(queue.take(1ms));
    queue.put(listing_of(11, "vms/a"));
    queue.put(listing_of(12, "vms/b"));
    EXPECT_EQ(queue.take(1ms)->what.id, 11);
    EXPECT_FALSE(queue.take(1ms)) << "the last thread is for a pool that has none";
    queue.put(listing_of(13, "backup/a"));
    EXPECT_EQ(queue.take(1ms)->what.id, 13);
    queue.put(listing_of(14, "other/a"));
    EXPECT_FALSE(queue.take(1ms)) << "all are at work";
    queue.is_over("vms");
    EXPECT_EQ(queue.take(1ms)->what.id, 14) << "before those whose pool has some already";
    queue.is_over("sick");
    EXPECT_EQ(queue.take(1ms)->what.id, 12);
}

// Who wants the same goes in beside each other: an image that does not open keeps no other out.
TEST(setting_gate, lets_in_beside_each_other_who_wants_the_same) {
    setting_gate gate;
    int changes = 0;
    const auto change = [&] {
        ++changes;
        return 0;
    };
    const auto soon = [] {
        // tidy-allow(clock): of the thread that waits
        return time_point(std::chrono::steady_clock::now().time_since_epoch() + std::chrono::milliseconds(20));
    };
    using outcome = setting_gate::outcome;
    EXPECT_EQ(gate.enter(0, soon(), change).how, outcome::in);
    EXPECT_EQ(gate.enter(0, soon(), change).how, outcome::in);
    EXPECT_EQ(changes, 1);
    EXPECT_EQ(gate.enter(86400, soon(), change).how, outcome::late) << "while others rely on what is set";
    EXPECT_EQ(gate.enter(0, soon(), change).how, outcome::in) << "who gave up is in nobody's way";
    for (int i = 0; i < 3; ++i) {
        gate.leave();
    }
    EXPECT_EQ(gate.enter(86400, soon(), change).how, outcome::in);
    EXPECT_EQ(changes, 2);
    gate.leave();
    EXPECT_EQ(gate.enter(0, soon(), [] { return EINVAL; }).error, EINVAL);
    EXPECT_EQ(gate.enter(86400, soon(), change).how, outcome::in) << "nobody was let in";
    EXPECT_EQ(changes, 3) << "what is set is not known after an error";
    gate.leave();
}

TEST(setting_gate, whoever_comes_later_waits_behind_one_who_wants_another) {
    setting_gate gate;
    const auto change = [] { return 0; };
    const auto in = [](std::chrono::milliseconds time) {
        // tidy-allow(clock): of the thread that waits
        return time_point(std::chrono::steady_clock::now().time_since_epoch() + time);
    };
    EXPECT_EQ(gate.enter(0, in(1ms), change).how, setting_gate::outcome::in);
    // tidy-allow(thread): who waits at the gate does so in one
    std::thread other([&] {
        EXPECT_EQ(gate.enter(86400, in(30s), change).how, setting_gate::outcome::in);
        gate.leave();
    });
    while (gate.enter(0, in(1ms), change).how == setting_gate::outcome::in) {  // until he waits
        gate.leave();
    }
    gate.leave();
    other.join();
}

// What no frame takes is said so, and what waits is told to be too much.
TEST(answers, that_are_too_large_become_failures) {
    outbox answers;
    answers.put_now({7, say::output{std::string(protocol::frame_body_max + 1, 'x')}});
    protocol::frame_reader reader;
    const auto frame = *answers.take();
    EXPECT_LT(frame.size(), 1000U);
    const auto room = reader.room();
    ASSERT_GE(room.size(), frame.size());
    std::ranges::copy(frame, room.begin());
    reader.filled(frame.size());
    const auto parsed = protocol::ceph::parse_answer(**reader.take());
    ASSERT_TRUE(parsed);
    EXPECT_EQ(parsed->id, 7);
    EXPECT_EQ(std::get<say::failed>(parsed->what).code, errc::too_large);
}

TEST(answers, that_wait_are_bounded) {
    outbox answers;
    const protocol::ceph::answer large{1, say::output{std::string(protocol::frame_body_max, 'x')}};
    answers.put_now(large);
    EXPECT_FALSE(answers.is_full());
    answers.put_now(large);
    EXPECT_TRUE(answers.is_full());
    EXPECT_TRUE(answers.take());
    EXPECT_FALSE(answers.is_full());
    EXPECT_TRUE(answers.take());
    EXPECT_FALSE(answers.take());
}

TEST(command_line, names_both_files) {
    const auto good = parse_options({"--config", "/etc/ceph/ceph.conf", "--keyring", "/k"});
    EXPECT_EQ(good.problem, "");
    EXPECT_EQ(good.config_file, "/etc/ceph/ceph.conf");
    EXPECT_EQ(good.keyring, "/k");
    EXPECT_TRUE(parse_options({"--help"}).wants_help);
    EXPECT_TRUE(parse_options({"--config", "x", "-V"}).wants_version);
    for (const auto& bad : std::vector<std::vector<std::string>>{
             {}, {"--config"}, {"--config", "x"}, {"--keyring", "x"}, {"--config", "", "--keyring", "x"}, {"--what"}}) {
        EXPECT_NE(parse_options(bad).problem, "");
    }
}

}  // namespace
}  // namespace pvc::ceph_helper
