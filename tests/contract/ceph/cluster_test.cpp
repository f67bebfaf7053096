// The storage port, both parts of it: one suite for real Ceph (the daemon's client, pvcnoded-ceph, a cluster) and for
// the simulated cluster behind the simulated helper.
#include "contract/ceph/ceph_bench.hpp"
#include "contract/support/starvation.hpp"

#include "pvcnoded/async/child.hpp"

#include <algorithm>

namespace pvc::contract {
namespace {

using storage::rbd_lock;
using bench_maker = std::unique_ptr<ceph_bench> (*)();

std::string json_command(const std::string& prefix) {
    return R"({"prefix":")" + prefix + R"(","format":"json"})";
}

class ceph_contract : public testing::TestWithParam<bench_maker> {
protected:
    void SetUp() override {
        bench_ = GetParam()();
        if (!bench_) {
            GTEST_SKIP() << "no Ceph on this machine (tests/packages)";
        }
    }
    [[nodiscard]] ceph_bench& bench() { return *bench_; }
    [[nodiscard]] storage::ceph_helper& port() { return bench_->port(); }
    [[nodiscard]] time_point in(duration time) { return bench_->clock().now() + time; }
    // An image of this test, in whatever cluster.
    std::string image() {
        const std::string name =
            "vms/" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()).substr(0, 40);
        std::string own = name + std::to_string(++images_);
        std::ranges::replace(own, '/', '_');
        own.replace(0, 4, "vms/");
        bench_->make_image(own);
        return own;
    }
    awaitable<std::string> said(std::string prefix, duration limit = 5s) {
        auto answer = co_await port().command(json_command(prefix), in(limit));
        co_return answer ? *answer : "failed: " + answer.error().text();
    }
    awaitable<errc> failure_of(std::string prefix, duration limit = 5s) {
        auto answer = co_await port().command(json_command(prefix), in(limit));
        co_return answer ? errc::unspecified : answer.error().code();
    }
    awaitable<std::vector<rbd_lock>> locks(std::string of) {
        auto listed = co_await port().list(std::move(of), in(10s));
        EXPECT_TRUE(listed) << (listed ? "" : listed.error().text());
        co_return listed ? *listed : std::vector<rbd_lock>();
    }
    awaitable<errc> listing_failure(std::string of, duration limit = 10s) {
        auto listed = co_await port().list(std::move(of), in(limit));
        co_return listed ? errc::unspecified : listed.error().code();
    }
    awaitable<std::optional<failure>> break_one(std::string of, rbd_lock which, std::chrono::seconds block_for = 0s) {
        const boot_time soon = bench_->clock().boot_now() + 5s;
        auto broken = co_await port().break_lock(std::move(of), std::move(which), block_for, soon, in(10s));
        co_return broken ? std::nullopt : std::optional(broken.error());
    }
    awaitable<bool> is_blocklisted(std::string address) {
        auto all = co_await port().blocklisted(in(5s));
        EXPECT_TRUE(all) << (all ? "" : all.error().text());
        co_return all&& std::ranges::find(*all, address) != all->end();
    }

private:
    std::unique_ptr<ceph_bench> bench_;
    int images_ = 0;
};

INSTANTIATE_TEST_SUITE_P(simulated, ceph_contract, testing::Values(&make_simulated_ceph),
                         [](const auto&) { return "sim"; });
INSTANTIATE_TEST_SUITE_P(real, ceph_contract, testing::Values(&make_real_ceph), [](const auto&) { return "ceph"; });

bool shows(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

// ---- the cluster ----------------------------------------------------------------------------------------------------

TEST_P(ceph_contract, commands_are_answered_by_who_has_to) {
    bench().play([this]() -> awaitable<void> {
        const auto health = co_await said("health");
        EXPECT_TRUE(shows(health, "\"status\"") && shows(health, "\"checks\"")) << health;
        const auto dump = co_await said("osd dump");
        EXPECT_TRUE(shows(dump, "\"osds\"")) << dump;
        const auto usage = co_await said("osd df");
        EXPECT_TRUE(shows(usage, "\"kb_avail\"")) << usage;
        const auto state = co_await said("osd status");
        EXPECT_TRUE(shows(state, "WR OPS")) << state;
        const auto recovery = co_await said("osd pool stats");
        EXPECT_TRUE(shows(recovery, "\"pool_name\"") && shows(recovery, "\"recovery\"")) << recovery;
        const auto df = co_await said("df");
        EXPECT_TRUE(shows(df, "\"vms\"")) << df;
        const auto unknown = co_await failure_of("nonsense");
        EXPECT_EQ(unknown, errc::invalid);
        EXPECT_EQ(port().view().starts, 1U);
    });
}

TEST_P(ceph_contract, counters_are_of_pools_that_exist) {
    bench().play([this]() -> awaitable<void> {
        const std::vector<std::string> pools{"nowhere", "vms"};
        const auto counted = co_await port().counters(pools, in(5s));
        EXPECT_TRUE(counted && counted->size() == 1 && (*counted)[0].pool == "vms");
    });
}

// The manager's questions wait for it, others do not; nothing is left behind by those that failed (storage.md case 11,
// as far as it is the helper's).
TEST_P(ceph_contract, without_a_manager_its_own_questions_fail_in_time) {
    bench().play([this]() -> awaitable<void> {
        const auto before = co_await said("osd df");
        EXPECT_TRUE(shows(before, "kb_avail"));
        ignore(co_await port().measure(in(5s)), "the view has it");
        const auto threads = port().view().threads;
        bench().pause(part::manager);
        const granted_time granted;
        const time_point begun = bench().clock().now();
        for (const char* asked : {"osd df", "osd status"}) {
            const auto code = co_await failure_of(asked);
            EXPECT_EQ(code, errc::timed_out) << asked;
        }
        EXPECT_LT(bench().clock().now() - begun, 6s + granted.so_far());
        const auto health = co_await said("health");
        EXPECT_TRUE(shows(health, "\"status\"")) << health;
        const auto measured = co_await port().measure(in(5s));
        EXPECT_TRUE(measured);
        EXPECT_TRUE(threads && port().view().threads == threads);
        bench().resume();
        const auto again = co_await said("osd df");
        EXPECT_TRUE(shows(again, "kb_avail")) << again;
        EXPECT_EQ(port().view().starts, 1U);
    });
}

// One handle all along (storage.md case 12, as far as it is the helper's).
TEST_P(ceph_contract, monitors_that_stand_still_are_no_answer_and_then_answer_again) {
    bench().play([this]() -> awaitable<void> {
        const auto before = co_await said("health");
        EXPECT_TRUE(shows(before, "\"status\""));
        bench().pause(part::monitor);
        const granted_time granted;
        const time_point begun = bench().clock().now();
        const auto code = co_await failure_of("health");
        EXPECT_EQ(code, errc::timed_out);
        EXPECT_LT(bench().clock().now() - begun, 4s + granted.so_far());
        bench().resume();
        const auto after = co_await said("health");
        EXPECT_TRUE(shows(after, "\"status\"")) << after;
        EXPECT_EQ(port().view().starts, 1U);
    });
}

// Storage.md case 13.
TEST_P(ceph_contract, a_wrong_key_is_told_as_that) {
    bench().use_wrong_key();
    const std::string of = image();
    bench().play([this, &of]() -> awaitable<void> {
        const auto answer = co_await port().command(json_command("health"), in(5s));
        EXPECT_TRUE(!answer && answer.error().code() == errc::unavailable);
        EXPECT_TRUE(!answer && shows(answer.error().text(), "permission")) << (answer ? "" : answer.error().text());
        const auto code = co_await listing_failure(of);
        const bool is_either =
            code == errc::unavailable || code == errc::unspecified;  // the double has no keys of its own
        EXPECT_TRUE(is_either);
        EXPECT_EQ(port().view().starts, 1U) << "it lives on, and tries again";
    });
}

// ---- locks ----------------------------------------------------------------------------------------------------------

TEST_P(ceph_contract, images_and_pools_that_are_missing_are_told_from_those_without_locks) {
    const std::string of = image();
    bench().play([this, &of]() -> awaitable<void> {
        const auto none = co_await locks(of);
        EXPECT_TRUE(none.empty());
        for (const char* missing : {"vms/missing", "nowhere/missing"}) {
            const auto code = co_await listing_failure(missing);
            EXPECT_EQ(code, errc::not_found) << missing;
        }
    });
}

// The client is kept out before the image is free: it can complete no write that somebody else does not know of
// (storage.md case 19, and 24: what is gone is success).
TEST_P(ceph_contract, a_broken_lock_keeps_its_client_from_writing) {
    const std::string of = image();
    bench().play([this, &of]() -> awaitable<void> {
        auto client = bench().open(of);
        client->begin_writing();
        const bool writes = co_await client->is_writing();
        const auto held = co_await locks(of);
        EXPECT_TRUE(writes && held.size() == 1);
        if (held.empty()) {
            co_return;
        }
        const auto refused = co_await break_one(of, held[0], 86400s);
        EXPECT_FALSE(refused) << refused->text();
        const bool is_out = co_await client->is_kept_out();
        EXPECT_TRUE(is_out);
        const auto left = co_await locks(of);
        EXPECT_TRUE(left.empty());
        const bool is_shown = co_await is_blocklisted(held[0].address);
        EXPECT_TRUE(is_shown) << held[0].address;
        const auto again = co_await break_one(of, held[0]);
        EXPECT_FALSE(again) << "what is gone is success: " << again->text();
        // Who comes back is somebody else to the cluster.
        auto other = bench().open(of);
        other->begin_writing();
        const bool goes_on = co_await other->is_writing();
        EXPECT_TRUE(goes_on);
        const auto new_locks = co_await locks(of);
        EXPECT_TRUE(new_locks.size() == 1 && new_locks[0].address != held[0].address);
    });
}

TEST_P(ceph_contract, the_lock_of_a_client_that_died_stays_until_it_is_broken) {
    const std::string of = image();
    bench().play([this, &of]() -> awaitable<void> {
        auto client = bench().open(of);
        client->begin_writing();
        const bool writes = co_await client->is_writing();
        client->kill();
        const auto held = co_await locks(of);
        EXPECT_TRUE(writes && held.size() == 1);
        if (!held.empty()) {
            const auto refused = co_await break_one(of, held[0]);
            EXPECT_FALSE(refused) << refused->text();
        }
        const auto left = co_await locks(of);
        EXPECT_TRUE(left.empty());
    });
}

TEST_P(ceph_contract, a_break_that_comes_too_late_is_not_begun) {
    const std::string of = image();
    bench().play([this, &of]() -> awaitable<void> {
        auto client = bench().open(of);
        client->begin_writing();
        const bool writes = co_await client->is_writing();
        const auto held = co_await locks(of);
        EXPECT_TRUE(writes && held.size() == 1);
        if (held.empty()) {
            co_return;
        }
        const boot_time passed = bench().clock().boot_now() - 1ms;
        const auto broken = co_await port().break_lock(of, held[0], 0s, passed, in(10s));
        EXPECT_TRUE(!broken && broken.error().code() == errc::stopped);
        const auto listed = co_await port().blocklist(held[0].address, 0s, passed, in(10s));
        EXPECT_TRUE(!listed && listed.error().code() == errc::stopped);
        const bool goes_on = co_await client->is_writing();
        EXPECT_TRUE(goes_on);
        const auto left = co_await locks(of);
        EXPECT_EQ(left, held);
    });
}

// Storage.md case 37: no lock names it, its watch does.
TEST_P(ceph_contract, a_client_that_has_never_written_is_seen_and_kept_out) {
    const std::string of = image();
    bench().play([this, &of]() -> awaitable<void> {
        auto client = bench().open(of);
        const auto held = co_await locks(of);
        EXPECT_TRUE(held.empty());
        const auto watching = co_await port().watchers(of, in(10s));
        EXPECT_TRUE(watching && watching->size() == 1);
        if (!watching || watching->empty()) {
            co_return;
        }
        const boot_time soon = bench().clock().boot_now() + 5s;
        const auto kept_out = co_await port().blocklist((*watching)[0].address, 86400s, soon, in(10s));
        EXPECT_TRUE(kept_out) << (kept_out ? "" : kept_out.error().text());
        const bool is_shown = co_await is_blocklisted((*watching)[0].address);
        EXPECT_TRUE(is_shown);
        client->begin_writing();
        const bool is_out = co_await client->is_kept_out();
        EXPECT_TRUE(is_out) << "its first write";
    });
}

// Where the library's own way is not understood (-22): the client is kept out by command, seen to be so, and its lock
// taken away without putting it there once more.
TEST_P(ceph_contract, a_client_is_kept_out_by_command_and_its_lock_taken_away) {
    const std::string of = image();
    bench().play([this, &of]() -> awaitable<void> {
        auto client = bench().open(of);
        client->begin_writing();
        const bool writes = co_await client->is_writing();
        const auto held = co_await locks(of);
        EXPECT_TRUE(writes && held.size() == 1);
        if (held.empty()) {
            co_return;
        }
        const boot_time passed = bench().clock().boot_now() - 1ms;
        const auto late = co_await port().blocklist_by_command(held[0].address, 86400s, passed, in(10s));
        EXPECT_TRUE(!late && late.error().code() == errc::stopped);
        bench().understand_times(false);
        const auto soon = [this] { return bench().clock().boot_now() + 5s; };
        const auto done = co_await port().blocklist_by_command(held[0].address, 86400s, soon(), in(10s));
        EXPECT_TRUE(done) << (done ? "" : done.error().text());
        const bool is_out = co_await client->is_kept_out();
        EXPECT_TRUE(is_out);
        const bool is_shown = co_await is_blocklisted(held[0].address);
        EXPECT_TRUE(is_shown) << held[0].address;
        const auto refused = co_await break_one(of, held[0], storage::no_blocklisting);
        EXPECT_FALSE(refused) << refused->text();
        const auto left = co_await locks(of);
        EXPECT_TRUE(left.empty());
        bench().understand_times(true);
    });
}

// ---- what hangs -----------------------------------------------------------------------------------------------------

// Storage.md case 25: nobody else is delayed.
TEST_P(ceph_contract, osds_that_stand_still_fail_a_listing_and_nothing_else) {
    const std::string of = image();
    bench().play([this, &of]() -> awaitable<void> {
        const auto none = co_await locks(of);
        EXPECT_TRUE(none.empty());
        bench().pause(part::osds);
        const granted_time granted;
        const time_point begun = bench().clock().now();
        co_await async::with_task_group("both", [&](async::task_group& group) -> awaitable<void> {
            group.spawn("listing", [&]() -> awaitable<void> {
                const auto code = co_await listing_failure(of);
                EXPECT_EQ(code, errc::timed_out);
                EXPECT_LT(bench().clock().now() - begun, 12s + granted.so_far());
            });
            const auto health = co_await said("health");
            EXPECT_TRUE(shows(health, "\"status\"")) << health;
            EXPECT_LT(bench().clock().now() - begun, 2s + granted.so_far());
        });
        bench().resume();
        const auto again = co_await locks(of);
        EXPECT_TRUE(again.empty());
        EXPECT_EQ(port().view().starts, 1U);
    });
}

TEST_P(ceph_contract, everything_that_stands_still_fails_in_time_and_comes_back) {
    const std::string of = image();
    bench().play([this, &of]() -> awaitable<void> {
        const auto none = co_await locks(of);
        const auto before = co_await said("health");
        EXPECT_TRUE(none.empty() && shows(before, "\"status\""));
        for (const part one : {part::osds, part::manager, part::monitor}) {
            bench().pause(one);
        }
        const granted_time granted;
        const time_point begun = bench().clock().now();
        co_await async::with_task_group("both", [&](async::task_group& group) -> awaitable<void> {
            group.spawn("listing", [&]() -> awaitable<void> {
                const auto code = co_await listing_failure(of, 6s);
                EXPECT_EQ(code, errc::timed_out);
            });
            const auto code = co_await failure_of("health");
            EXPECT_EQ(code, errc::timed_out);
        });
        EXPECT_LT(bench().clock().now() - begun, 8s + granted.so_far());
        bench().resume();
        const auto after = co_await said("health");
        EXPECT_TRUE(shows(after, "\"status\"")) << after;
        const auto again = co_await locks(of);
        EXPECT_TRUE(again.empty());
    });
}

// ---- the helper -----------------------------------------------------------------------------------------------------

TEST_P(ceph_contract, a_helper_that_is_killed_is_told_of_and_replaced) {
    bench().play([this]() -> awaitable<void> {
        const auto before = co_await said("health");
        EXPECT_TRUE(shows(before, "\"status\""));
        bench().pause(part::manager);
        co_await async::with_task_group("both", [&](async::task_group& group) -> awaitable<void> {
            group.spawn("question", [&]() -> awaitable<void> {
                const auto code = co_await failure_of("osd df");
                EXPECT_EQ(code, errc::io) << "what became of it nobody knows";
            });
            co_await async::sleep_for(bench().clock(), 200ms, "the question on its way");
            bench().kill_helper();
        });
        bench().resume();
        const auto after = co_await said("health");
        EXPECT_TRUE(shows(after, "\"status\"")) << after;
        EXPECT_EQ(port().view().starts, 2U);
    });
}

// Storage.md case 41.
TEST_P(ceph_contract, a_helper_that_stands_still_is_killed_and_replaced) {
    const std::string of = image();
    bench().play([this, &of]() -> awaitable<void> {
        const auto before = co_await locks(of);
        EXPECT_TRUE(before.empty());
        bench().freeze_helper();
        const granted_time granted;
        const time_point begun = bench().clock().now();
        const auto code = co_await listing_failure(of, 500ms);
        EXPECT_EQ(code, errc::timed_out);
        const auto beside = co_await listing_failure(of, 20s);
        EXPECT_EQ(beside, errc::io) << "the helper took it with it";
        const auto after = co_await locks(of);
        EXPECT_TRUE(after.empty());
        EXPECT_LT(bench().clock().now() - begun, 12s + granted.so_far());
        EXPECT_EQ(port().view().starts, 2U);
        EXPECT_EQ(port().view().killed, 1U);
    });
}

}  // namespace
}  // namespace pvc::contract
