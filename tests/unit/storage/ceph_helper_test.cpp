// What the daemon makes of a helper for Ceph that dies, freezes, lies or cannot be started (storage.md 3.2, case 41).
#include "pvcnoded/storage/ceph_helper.hpp"

#include "pvcnoded/async/child.hpp"
#include "sim/ceph/sim_ceph_helper.hpp"
#include "sim/ceph/sim_talker.hpp"
#include "sim/sim_context.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <optional>

namespace pvc::storage {
namespace {

using namespace std::chrono_literals;
using async::awaitable;

// A cluster that answers what it is told to, each answer taking its time.
class scripted_cluster final : public ceph_cluster {
public:
    explicit scripted_cluster(async::timers& clock) : clock_(clock) {}

    awaitable<result<std::string>> command(std::string command, time_point deadline) override {
        asked.push_back(command);
        const duration takes = times.empty() ? 10ms : times.front();
        if (!times.empty()) {
            times.pop_front();
        }
        const time_point answered = clock_.now() + takes;
        co_await async::sleep_until(clock_, overruns ? answered : std::min(deadline, answered), "the cluster");
        if (refusal) {
            co_return *refusal;
        }
        if (says) {
            co_return says(command);
        }
        co_return "said to " + command;
    }
    awaitable<result<std::vector<model::pool_counters>>> counters(std::vector<std::string> pools,
                                                                  time_point /*deadline*/) override {
        std::vector<model::pool_counters> all;
        for (auto& one : pools) {
            all.push_back({.pool = std::move(one), .reads = 7, .written_kib = 9});
        }
        co_return all;
    }
    awaitable<result<void>> measure(time_point /*deadline*/) override { co_return result<void>(); }
    [[nodiscard]] helper_view view() const override { return {}; }

    std::vector<std::string> asked;
    std::deque<duration> times;
    bool overruns = false;  // its deadline: each of its many calls keeps its own limit, and all of them do not
    std::optional<failure> refusal;
    std::function<result<std::string>(const std::string& command)> says;

private:
    async::timers& clock_;
};

class scripted_locks final : public rbd_locks {
public:
    explicit scripted_locks(async::timers& clock) : clock_(clock) {}
    awaitable<result<std::vector<rbd_lock>>> list(std::string image, time_point deadline) override {
        if (image.starts_with("sick/")) {
            co_await async::sleep_until(clock_, deadline, "OSDs");
            co_return failure(errc::timed_out, image);
        }
        if (image != "vms/web") {
            co_return failure(errc::not_found, image, "no such image");
        }
        co_return locks;
    }
    awaitable<result<std::vector<rbd_watcher>>> watchers(std::string /*image*/, time_point /*deadline*/) override {
        co_return std::vector<rbd_watcher>{{"client.7", "10.254.0.2:0/9"}};
    }
    awaitable<result<void>> prepare_break(std::string image, rbd_lock /*which*/, std::chrono::seconds block_for,
                                          time_point /*deadline*/) override {
        prepared.push_back(std::move(image));
        blocked_for = block_for;
        co_return result<void>();
    }
    std::vector<std::string> prepared;
    awaitable<result<void>> break_lock(std::string /*image*/, rbd_lock which, std::chrono::seconds block_for,
                                       boot_time not_after, time_point /*deadline*/) override {
        std::erase(locks, which);
        allowed_until = not_after;
        blocked_for = block_for;
        co_return result<void>();
    }
    awaitable<result<void>> blocklist(std::string address, std::chrono::seconds block_for, boot_time not_after,
                                      time_point /*deadline*/) override {
        blocked.push_back(std::move(address));
        allowed_until = not_after;
        blocked_for = block_for;
        co_return result<void>();
    }
    awaitable<result<void>> blocklist_by_command(std::string address, std::chrono::seconds block_for,
                                                 boot_time not_after, time_point deadline) override {
        return blocklist("by command " + address, block_for, not_after, deadline);
    }
    // Asked as a command to the monitors.
    awaitable<result<std::vector<std::string>>> blocklisted(time_point /*deadline*/) override { co_return blocked; }
    std::vector<std::string> blocked;
    std::chrono::seconds blocked_for{};
    std::vector<rbd_lock> locks{{"auto 1", "client.4185", "10.254.0.2:0/7"}};
    boot_time allowed_until{};

private:
    async::timers& clock_;
};

class ceph_helper_test : public testing::Test {
protected:
    // Runs `test` beside the helper, which is ended afterwards.
    void play(std::function<awaitable<void>()> test) {
        loop.run([&]() -> awaitable<void> {
            co_await async::with_task_group("daemon", [&](async::task_group& group) -> awaitable<void> {
                group.spawn("helper", [&] {
                    return client.run(settings, [&](const helper_news& what) { news.push_back(what); });
                });
                co_await async::yield();
                co_await test();
                group.cancel();
            });
        });
        EXPECT_EQ(talker.running(), 0) << "it is left behind";
    }
    [[nodiscard]] time_point in(duration time) { return loop.clock().now() + time; }
    awaitable<void> pass(duration time) { return async::sleep_for(loop.clock(), time, "the test"); }
    awaitable<std::string> said(std::string command, duration limit = 2s) {
        const auto got = co_await client.command(std::move(command), in(limit));
        co_return got ? *got : got.error().text();
    }

    sim::sim_loop loop;
    scripted_cluster cluster{loop.clock()};
    scripted_locks locks{loop.clock()};
    sim::sim_ceph_helper helper{cluster, locks, loop.clock()};
    sim::sim_talker talker{loop.clock(), [this](services::stream_connection& with) { return helper.live(with); }};
    ceph_helper client{talker, loop.clock()};
    helper_settings settings{"pvcnoded-ceph", "/etc/ceph/ceph.conf", "/etc/ceph/keyring"};
    std::vector<helper_news> news;
};

TEST_F(ceph_helper_test, is_started_with_the_first_question_and_ended_with_its_owner) {
    play([&]() -> awaitable<void> {
        co_await pass(60s);
        EXPECT_EQ(talker.starts(), 0U);
        const std::string first = co_await said("health");
        EXPECT_EQ(first, "said to health");
        const std::string second = co_await said("status");
        EXPECT_EQ(second, "said to status");
        EXPECT_EQ(talker.starts(), 1U);
        EXPECT_EQ(talker.arguments(), (std::vector<std::string>{"pvcnoded-ceph", "--config", "/etc/ceph/ceph.conf",
                                                                "--keyring", "/etc/ceph/keyring"}));
        EXPECT_TRUE(client.view().is_running);
    });
    EXPECT_FALSE(client.view().is_running);
}

TEST_F(ceph_helper_test, nobody_is_asked_where_it_does_not_run) {
    loop.run([&]() -> awaitable<void> {
        const auto got = co_await client.list("vms/web", in(10s));
        EXPECT_EQ(got.error().code(), errc::unavailable);
        EXPECT_NE(got.error().text().find("Ceph cannot be asked on this node"), std::string::npos);
        EXPECT_EQ(talker.starts(), 0U);
    });
}

TEST_F(ceph_helper_test, every_question_has_its_answer) {
    play([&]() -> awaitable<void> {
        const auto counted = co_await client.counters({"vms", "backup"}, in(1s));
        EXPECT_TRUE(counted && counted->size() == 2 && counted->at(1).pool == "backup" && counted->at(1).reads == 7 &&
                    counted->at(1).written_kib == 9);
        auto listed = co_await client.list("vms/web", in(1s));
        EXPECT_EQ(listed.value(), locks.locks);
        const auto missing = co_await client.list("vms/gone", in(1s));
        EXPECT_EQ(missing.error().code(), errc::not_found);
        const auto prepared = co_await client.prepare_break("vms/web", listed->front(), 7h, in(1s));
        EXPECT_TRUE(prepared);
        EXPECT_EQ(locks.prepared, std::vector<std::string>{"vms/web"});
        EXPECT_EQ(locks.blocked_for, 7h);
        const auto broken = co_await client.break_lock("vms/web", listed->front(), 24h, boot_time(77s), in(1s));
        EXPECT_TRUE(broken);
        EXPECT_TRUE(locks.locks.empty());
        EXPECT_EQ(locks.allowed_until, boot_time(77s));
        EXPECT_EQ(locks.blocked_for, 24h);
        const auto watched = co_await client.watchers("vms/web", in(1s));
        EXPECT_EQ(watched.value(), (std::vector<rbd_watcher>{{"client.7", "10.254.0.2:0/9"}}));
        const auto blocked = co_await client.blocklist("10.254.0.2:0/9", 12h, boot_time(78s), in(1s));
        EXPECT_TRUE(blocked);
        EXPECT_EQ(locks.blocked, std::vector<std::string>{"10.254.0.2:0/9"});
        EXPECT_TRUE(locks.allowed_until == boot_time(78s) && locks.blocked_for == 12h);
        const auto measured = co_await client.measure(in(1s));
        EXPECT_TRUE(measured);
        EXPECT_EQ(client.view().threads, 14U);
    });
}

TEST_F(ceph_helper_test, answers_come_in_any_order) {
    cluster.times = {900ms, 10ms};
    play([&]() -> awaitable<void> {
        co_await async::with_task_group("two", [&](async::task_group& group) -> awaitable<void> {
            group.spawn("slow", [&]() -> awaitable<void> {
                const std::string slow = co_await said("slow");
                EXPECT_EQ(slow, "said to slow");
            });
            co_await async::yield();
            const time_point begun = loop.clock().now();
            const std::string quick = co_await said("quick");
            EXPECT_EQ(quick, "said to quick");
            EXPECT_LT(loop.clock().now() - begun, 500ms);
        });
    });
}

// The answer to a question that nobody waits for any more comes all the same, and is nobody else's.
TEST_F(ceph_helper_test, a_late_answer_is_not_taken_for_the_next_one) {
    cluster.times = {1500ms, 900ms};
    play([&]() -> awaitable<void> {
        const auto late = co_await client.command("first", in(1s));  // answered after its deadline: at its limit
        EXPECT_EQ(late.error().code(), errc::timed_out);
        const std::string next = co_await said("second");
        EXPECT_EQ(next, "said to second");
        EXPECT_EQ(talker.starts(), 1U);
    });
}

TEST_F(ceph_helper_test, failures_of_ceph_are_told_as_they_are) {
    cluster.refusal = failure(errc::unavailable, "", "permission denied (-13): wrong key");
    play([&]() -> awaitable<void> {
        const auto got = co_await client.command("health", in(1s));
        EXPECT_EQ(got.error().code(), errc::unavailable);
        EXPECT_EQ(got.error().cause(), "permission denied (-13): wrong key");
        EXPECT_EQ(talker.starts(), 1U);
    });
}

TEST_F(ceph_helper_test, case_41_one_that_freezes_is_killed_and_started_again) {
    play([&]() -> awaitable<void> {
        const std::string before = co_await said("before");
        EXPECT_EQ(before, "said to before");
        helper.is_frozen = true;
        const time_point begun = loop.clock().now();
        const auto lost = co_await client.list("vms/web", in(8s));
        EXPECT_EQ(lost.error().code(), errc::timed_out);
        EXPECT_EQ(loop.clock().now() - begun, 8s);
        co_await pass(7s);
        EXPECT_EQ(client.view().killed, 1U);
        EXPECT_EQ(talker.running(), 0);
        helper.is_frozen = false;
        const auto again = co_await client.list("vms/web", in(8s));
        EXPECT_TRUE(again);
        EXPECT_EQ(talker.starts(), 2U);
        EXPECT_EQ(news.size(), 3U);
    });
}

TEST_F(ceph_helper_test, what_it_took_with_it_fails_at_once) {
    cluster.times = {60s};
    play([&]() -> awaitable<void> {
        co_await async::with_task_group("two", [&](async::task_group& group) -> awaitable<void> {
            group.spawn("kill", [&]() -> awaitable<void> {
                co_await pass(1s);
                talker.kill();
            });
            const time_point begun = loop.clock().now();
            const auto lost = co_await client.command("health", in(30s));
            EXPECT_EQ(lost.error().code(), errc::io);
            EXPECT_EQ(loop.clock().now() - begun, 1s);
        });
        const std::string next = co_await said("next", 5s);  // waits for the next one
        EXPECT_EQ(next, "said to next");
        EXPECT_EQ(talker.starts(), 2U);
    });
}

TEST_F(ceph_helper_test, pauses_between_starts_grow_to_half_a_minute) {
    talker.refusal = failure(errc::not_found, "pvcnoded-ceph", "No such file or directory");
    std::vector<duration> pauses;
    play([&]() -> awaitable<void> {
        time_point last = loop.clock().now();
        for (int i = 0; i < 8; ++i) {
            const auto got = co_await client.command("health", in(60s));
            EXPECT_EQ(got.error().code(), errc::unavailable);
            pauses.push_back(loop.clock().now() - last);
            last = loop.clock().now();
        }
        talker.refusal.reset();
        const std::string said_now = co_await said("health", 60s);
        EXPECT_EQ(said_now, "said to health");
    });
    EXPECT_EQ(pauses, (std::vector<duration>{0s, 1s, 2s, 4s, 8s, 16s, 30s, 30s}));
}

TEST_F(ceph_helper_test, a_question_waits_for_the_next_start_no_longer_than_its_deadline) {
    talker.refusal = failure(errc::not_found, "pvcnoded-ceph", "No such file or directory");
    play([&]() -> awaitable<void> {
        for (int i = 0; i < 5; ++i) {
            ignore(co_await client.command("health", in(60s)), "until the pause is long");
        }
        const time_point begun = loop.clock().now();
        const auto late = co_await client.command("health", in(2s));
        EXPECT_EQ(late.error().code(), errc::timed_out);
        EXPECT_EQ(loop.clock().now() - begun, 2s);
    });
}

struct lie {
    std::string_view name;
    std::function<std::string(std::string)> spoil;
};
void PrintTo(const lie& one, std::ostream* out) {
    *out << one.name;
}
class lying_helper : public ceph_helper_test, public testing::WithParamInterface<lie> {};

TEST_P(lying_helper, is_not_believed) {
    helper.spoil = GetParam().spoil;
    play([&]() -> awaitable<void> {
        const auto got = co_await client.command("health", in(20s));
        EXPECT_FALSE(got.has_value()) << *got;
        co_await pass(7s);  // one that says no more is given this long beyond the deadline
        EXPECT_EQ(talker.running(), 0) << "it is ended";
        helper.spoil = {};
        const std::string next = co_await said("next", 5s);
        EXPECT_EQ(next, "said to next");
    });
}

std::string frame_of(std::int64_t id, decltype(protocol::ceph::answer::what) what) {
    return *protocol::ceph::encode(protocol::ceph::answer{id, std::move(what)});
}

INSTANTIATE_TEST_SUITE_P(
    all, lying_helper,
    testing::Values(lie{"garbage", [](const std::string&) { return std::string(4096, 'x'); }},
                    lie{"an answer to nothing",
                        [](const std::string&) { return frame_of(4711, protocol::ceph::say::output{"?"}); }},
                    lie{"an answer to something else",
                        [](const std::string&) { return frame_of(1, protocol::ceph::say::locked{}); }},
                    lie{"a length that nobody has room for", [](const std::string&) { return std::string(8, '\xff'); }},
                    lie{"half a frame", [](const std::string& frame) { return frame.substr(0, frame.size() / 2); }}),
    [](const auto& info) { return "lie_" + std::to_string(info.index); });

TEST_F(ceph_helper_test, one_of_another_version_is_refused) {
    helper.version = 2;
    play([&]() -> awaitable<void> {
        const auto got = co_await client.command("health", in(3s));
        EXPECT_FALSE(got.has_value());
        EXPECT_EQ(client.view().why_not, "it speaks version 2 of the protocol");
    });
}

TEST_F(ceph_helper_test, one_without_a_greeting_is_ended) {
    helper.is_mute = true;
    play([&]() -> awaitable<void> {
        const auto got = co_await client.command("health", in(5500ms));
        EXPECT_EQ(got.error().code(), errc::timed_out);
        EXPECT_EQ(client.view().killed, 1U);
    });
}

// What the monitors call it is tried by both names.
TEST_F(ceph_helper_test, the_blocklist_is_asked_for_by_both_names) {
    play([&]() -> awaitable<void> {
        cluster.says = [](const std::string& command) -> result<std::string> {
            if (command.find("blocklist") != std::string::npos) {
                return failure(errc::invalid, command, "command not known");
            }
            return std::string(R"([{"addr":"10.254.0.2:0/9","until":"x"}])");
        };
        const auto listed = co_await client.blocklisted(in(5s));
        EXPECT_EQ(listed.value(), std::vector<std::string>{"10.254.0.2:0/9"});
        EXPECT_EQ(cluster.asked.size(), 2U);
        cluster.says = [](const std::string&) -> result<std::string> { return std::string("listed 1 entries"); };
        const auto garbage = co_await client.blocklisted(in(5s));
        EXPECT_EQ(garbage.error().code(), errc::invalid);
    });
}

TEST_F(ceph_helper_test, for_recovery_alone_nobody_else_is_served_and_it_ends_when_it_is_idle) {
    settings.serves = helper_service::recovery;
    settings.idle_limit = 60s;
    play([&]() -> awaitable<void> {
        const auto refused = co_await client.list("vms/web", in(10s));
        EXPECT_EQ(refused.error().code(), errc::unavailable);
        const auto figures = co_await client.command("health", in(10s));
        EXPECT_EQ(figures.error().code(), errc::unavailable);
        EXPECT_EQ(talker.starts(), 0U);
        for (int round = 1; round <= 2; ++round) {
            const auto listed = co_await client.for_recovery().list("vms/web", in(10s));
            EXPECT_EQ(listed.value(), locks.locks);
            EXPECT_EQ(talker.running(), 1);
            co_await pass(55s);
            EXPECT_EQ(talker.running(), 1);
            co_await pass(30s);
            EXPECT_EQ(talker.running(), 0) << "nobody asked for a minute";
            EXPECT_EQ(news.back().what, helper_news::kind::idle);
            EXPECT_TRUE(client.view().why_not.empty());
            EXPECT_EQ(talker.starts(), static_cast<unsigned>(round)) << "without a pause";
        }
    });
}

TEST_F(ceph_helper_test, what_keeps_it_from_being_of_use_is_asked_before_each_start) {
    bool is_readable = false;
    settings.may_start = [&]() -> awaitable<result<void>> {
        co_await async::yield();
        co_return is_readable ? result<void>() : result<void>(failure(errc::not_found, "/etc/ceph/keyring"));
    };
    play([&]() -> awaitable<void> {
        const auto refused = co_await client.list("vms/web", in(10s));
        EXPECT_EQ(refused.error().code(), errc::unavailable);
        EXPECT_NE(refused.error().text().find("/etc/ceph/keyring"), std::string::npos) << refused.error().text();
        EXPECT_EQ(talker.starts(), 0U);
        is_readable = true;
        const auto listed = co_await client.list("vms/web", in(10s));
        EXPECT_TRUE(listed);
    });
}

// Many machines at once: whoever finds no place waits for one, and nobody is told that Ceph cannot be asked.
TEST_F(ceph_helper_test, more_questions_than_it_takes_wait_for_a_place) {
    int answered = 0;
    play([&]() -> awaitable<void> {
        co_await async::with_task_group("many", [&](async::task_group& group) -> awaitable<void> {
            for (int i = 0; i < 400; ++i) {
                group.spawn("question", [&]() -> awaitable<void> {
                    const auto got = co_await client.list("vms/web", in(8s));
                    answered += got ? 1 : 0;
                });
            }
            co_return;
        });
    });
    EXPECT_EQ(answered, 400);
    EXPECT_EQ(talker.starts(), 1U);
}

TEST_F(ceph_helper_test, who_waits_for_a_place_does_so_no_longer_than_its_deadline) {
    helper.is_frozen = true;
    std::map<errc, int> ends;
    play([&]() -> awaitable<void> {
        co_await async::with_task_group("many", [&](async::task_group& group) -> awaitable<void> {
            for (int i = 0; i < 200; ++i) {
                group.spawn("question", [&]() -> awaitable<void> {
                    const auto got = co_await client.command("health", in(1s));
                    ++ends[got.error().code()];
                });
            }
            co_await pass(100ms);
            EXPECT_EQ(client.view().waiting, 200U);
        });
    });
    EXPECT_EQ(ends, (std::map<errc, int>{{errc::timed_out, 200}}));
}

// Storage.md 3.2: from the questions about one pool that does not answer, those about the others do not wait.
TEST_F(ceph_helper_test, a_sick_pool_takes_nobody_elses_place) {
    int sick = 0;
    play([&]() -> awaitable<void> {
        co_await async::with_task_group("many", [&](async::task_group& group) -> awaitable<void> {
            for (int i = 0; i < 300; ++i) {
                group.spawn("question", [&]() -> awaitable<void> {
                    const auto got = co_await client.list("sick/" + std::to_string(i), in(8s));
                    sick += got.error().code() == errc::timed_out ? 1 : 0;
                });
            }
            co_await pass(100ms);
            const time_point begun = loop.clock().now();
            const auto well = co_await client.list("vms/web", in(8s));
            EXPECT_TRUE(well);
            const std::string health = co_await said("health");
            EXPECT_EQ(health, "said to health");
            EXPECT_LT(loop.clock().now() - begun, 500ms);
        });
        EXPECT_EQ(talker.starts(), 1U);
    });
    EXPECT_EQ(sick, 300);
}

// An image takes a dozen calls to be opened: where OSDs are slow, their sum knows no deadline.
TEST_F(ceph_helper_test, one_that_is_late_and_there_is_not_killed) {
    cluster.overruns = true;
    cluster.times = {60s, 10ms, 10ms};
    play([&]() -> awaitable<void> {
        const auto late = co_await client.command("slow", in(2s));
        EXPECT_EQ(late.error().code(), errc::timed_out);
        co_await pass(30s);
        const std::string next = co_await said("next");
        EXPECT_EQ(next, "said to next");
        co_await pass(60s);
        EXPECT_EQ(talker.starts(), 1U);
        EXPECT_EQ(client.view().killed, 0U);
        EXPECT_EQ(client.view().waiting, 0U);
    });
}

TEST_F(ceph_helper_test, one_whose_call_never_ends_is_killed_after_two_minutes) {
    cluster.overruns = true;
    cluster.times = {24h};
    play([&]() -> awaitable<void> {
        const auto late = co_await client.command("hangs", in(2s));
        EXPECT_EQ(late.error().code(), errc::timed_out);
        co_await pass(119s);
        EXPECT_EQ(client.view().killed, 0U);
        co_await pass(2s);
        EXPECT_EQ(client.view().killed, 1U);
        EXPECT_EQ(client.view().why_not, "a call to Ceph did not end");
        const std::string next = co_await said("next", 5s);
        EXPECT_EQ(next, "said to next");
    });
}

// While a call is late it is asked again and again whether it is there.
TEST_F(ceph_helper_test, one_that_freezes_while_a_call_is_late_is_killed) {
    cluster.overruns = true;
    cluster.times = {24h};
    play([&]() -> awaitable<void> {
        ignore(co_await client.command("hangs", in(2s)), "late");
        co_await pass(20s);
        EXPECT_EQ(client.view().killed, 0U);
        helper.is_frozen = true;
        co_await pass(11s);
        EXPECT_EQ(client.view().killed, 1U);
        EXPECT_EQ(client.view().why_not, "it did not answer in time");
    });
}

TEST_F(ceph_helper_test, who_is_cancelled_leaves_nothing_behind) {
    cluster.times = {1s};
    play([&]() -> awaitable<void> {
        co_await async::with_task_group("asking", [&](async::task_group& group) -> awaitable<void> {
            group.spawn("question", [&]() -> awaitable<void> { ignore(co_await client.command("a", in(9s)), "gone"); });
            co_await pass(500ms);
            group.cancel();
        });
        EXPECT_EQ(client.view().waiting, 0U);
        const std::string next = co_await said("b");
        EXPECT_EQ(next, "said to b");
        EXPECT_EQ(talker.starts(), 1U);
    });
}

}  // namespace
}  // namespace pvc::storage
