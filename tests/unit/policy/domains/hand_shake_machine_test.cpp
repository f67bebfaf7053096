// Both sides of the hand-shake on the lock of `migrate_sync_lock`: when the receiver lets go, when the sender queues,
// and what each takes the other's silence for.
#include "pvcnoded/policy/domains/hand_shake.hpp"

#include "machine_world.hpp"

namespace pvc::policy {
namespace {

using namespace std::chrono_literals;
using locks = held_now::locks;
using read_end = contenders_read::end;
using offered = played<offering_sync>;
using taken = played<taking_sync>;

template <class Machine>
std::string peer(played<Machine>& p, bool is_there) {
    return p.says(contenders_read{read_end::read, is_there});
}
template <class Machine>
std::string lock_is(played<Machine>& p, locks how) {
    p.seen.held.of_sync = how;
    return p.woken();
}

// ---- the receiver

offered holding_it() {
    offered p;
    EXPECT_EQ(p.begin(), "contenders") << "which clears away what an earlier migration left";
    EXPECT_EQ(peer(p, false), "change");
    EXPECT_TRUE(p.machine.wants_lock);
    EXPECT_EQ(lock_is(p, locks::pending), "change");
    EXPECT_EQ(lock_is(p, locks::held), "contenders");
    return p;
}

TEST(offering_sync_machine, D71_it_holds_until_the_sender_is_queued_behind_and_queues_again) {
    auto p = holding_it();
    EXPECT_EQ(peer(p, false), "change 30s");
    EXPECT_EQ(p.after(1s), "contenders") << "woken: somebody may have come";
    EXPECT_EQ(peer(p, false), "change 29s");
    p.now += 1s;
    p.woken();
    EXPECT_EQ(peer(p, true), "change");
    EXPECT_FALSE(p.machine.wants_lock);
    EXPECT_EQ(lock_is(p, locks::held), "change") << "it is given back when it is given back";
    EXPECT_EQ(lock_is(p, locks::none), "contenders");
    EXPECT_EQ(peer(p, true), "change");
    EXPECT_TRUE(p.machine.wants_lock) << "behind the sender: phase C";
}

TEST(offering_sync_machine, D72_a_sender_that_queued_first_is_let_through) {
    offered p;
    p.begin();
    EXPECT_EQ(peer(p, true), "change");
    EXPECT_EQ(lock_is(p, locks::pending), "change");
    EXPECT_EQ(p.after(60s), "change") << "no limit: as long as the move takes";
    EXPECT_EQ(lock_is(p, locks::held), "contenders");
}

TEST(offering_sync_machine, it_holds_30_s_at_most) {
    auto p = holding_it();
    EXPECT_EQ(peer(p, false), "change 30s");
    EXPECT_EQ(p.at_limit(), "change");
    EXPECT_FALSE(p.machine.wants_lock);
    EXPECT_EQ(lock_is(p, locks::none), "contenders") << "and again from the beginning";

    auto late = holding_it();
    late.now += 30s;
    EXPECT_EQ(peer(late, false), "change") << "the answer took that long";
    EXPECT_FALSE(late.machine.wants_lock);
}

TEST(offering_sync_machine, who_is_at_it_cannot_be_read) {
    auto p = holding_it();
    EXPECT_EQ(p.says(contenders_read{read_end::failed, false}), "change 30s") << "nobody was seen";
}

TEST(offering_sync_machine, D80_a_key_that_is_not_there) {
    offered p;
    p.begin();
    peer(p, false);
    EXPECT_EQ(lock_is(p, locks::no_keys), "make_sync_key");
    EXPECT_FALSE(p.machine.wants_lock);
    auto gone = p;
    EXPECT_EQ(p.yes(), "time 1s");
    EXPECT_EQ(p.at_limit(), "contenders");
    EXPECT_EQ(gone.no(), "over") << "the domain is gone";
}

TEST(offering_sync_machine, trouble_with_the_lock_is_tried_again_in_a_second) {
    for (const auto how : {locks::late, locks::failed}) {
        offered p;
        p.begin();
        peer(p, false);
        EXPECT_EQ(lock_is(p, how), "time 1s");
        EXPECT_FALSE(p.machine.wants_lock);
        p.seen.held.of_sync = locks::none;
        EXPECT_EQ(p.at_limit(), "contenders");
        EXPECT_EQ(peer(p, false), "change");
        EXPECT_TRUE(p.machine.wants_lock);
    }
}

// ---- the sender

taken awaiting_the_receiver() {
    taken p;
    p.machine.deadline = p.now + 30s;
    EXPECT_EQ(p.begin(), "contenders");
    return p;
}
// The receiver was seen, and we have the lock.
taken taken_lock() {
    auto p = awaiting_the_receiver();
    EXPECT_EQ(peer(p, true), "change");
    EXPECT_TRUE(p.machine.wants_lock) << "queued as soon as it shows";
    EXPECT_EQ(lock_is(p, locks::pending), "change");
    EXPECT_EQ(lock_is(p, locks::held), "contenders");
    return p;
}

TEST(taking_sync_machine, D50_it_queues_behind_the_receiver_and_begins_when_that_queues_again) {
    auto p = awaiting_the_receiver();
    EXPECT_EQ(peer(p, false), "change 30s");
    EXPECT_FALSE(p.machine.wants_lock) << "never before the receiver was seen (H05)";
    p.now += 2s;
    EXPECT_EQ(p.woken(), "contenders");
    EXPECT_EQ(peer(p, true), "change");
    EXPECT_TRUE(p.machine.wants_lock);
    lock_is(p, locks::pending);
    EXPECT_EQ(lock_is(p, locks::held), "contenders");
    EXPECT_FALSE(p.machine.is_granted);
    EXPECT_EQ(peer(p, true), "change");
    EXPECT_TRUE(p.machine.is_granted);
    EXPECT_FALSE(p.machine.is_alone);
    p.seen.held.sync_is_wanted = false;
    EXPECT_EQ(p.woken(), "change") << "until it is given back";
    EXPECT_FALSE(p.machine.wants_lock);
    EXPECT_EQ(lock_is(p, locks::none), "over");
    EXPECT_TRUE(p.machine.is_granted) << "and it was";
}

TEST(taking_sync_machine, D52_a_receiver_that_never_queues) {
    auto p = awaiting_the_receiver();
    EXPECT_EQ(peer(p, false), "change 30s");
    EXPECT_EQ(p.at_limit(), "contenders") << "one more look";
    EXPECT_EQ(peer(p, false), "over");
    EXPECT_FALSE(p.machine.is_granted || p.machine.wants_lock);
}

TEST(taking_sync_machine, D59a_a_receiver_that_does_not_queue_again_within_a_second) {
    auto p = taken_lock();
    EXPECT_EQ(peer(p, false), "change 1s");
    p.now += 400ms;
    EXPECT_EQ(p.woken(), "contenders");
    EXPECT_EQ(peer(p, false), "change 600ms");
    EXPECT_FALSE(p.machine.is_granted);
    EXPECT_EQ(p.at_limit(), "contenders");
    EXPECT_EQ(peer(p, false), "change");
    EXPECT_TRUE(p.machine.is_granted && p.machine.is_alone);
}

TEST(taking_sync_machine, D59_a_receiver_that_queues_again_in_time) {
    auto p = taken_lock();
    peer(p, false);
    p.now += 999ms;
    p.woken();
    EXPECT_EQ(peer(p, true), "change");
    EXPECT_TRUE(p.machine.is_granted);
    EXPECT_FALSE(p.machine.is_alone);
}

// The value of the key says that the receiver was there: its word, and then nothing.
TEST(taking_sync_machine, D59a_a_receiver_that_was_there_and_went) {
    auto p = awaiting_the_receiver();
    p.seen.held.sync_written = p.seen.wish.state_changed + 1;
    p.seen.held.sync_is_empty = false;
    EXPECT_EQ(peer(p, false), "change 30s") << "it has announced itself: it will queue";
    p.seen.held.sync_written = p.seen.wish.state_changed + 2;
    p.seen.held.sync_is_empty = true;
    p.woken();
    EXPECT_EQ(peer(p, false), "change");
    EXPECT_TRUE(p.machine.wants_lock && p.machine.is_alone);
    EXPECT_EQ(lock_is(p, locks::held), "change") << "whoever is alone looks for nobody behind";
    EXPECT_TRUE(p.machine.is_granted);
}

TEST(taking_sync_machine, a_value_says_nothing_unless_the_receiver_wrote_it_since_the_request) {
    struct line {
        std::string_view what;
        std::optional<std::int64_t> written;
        std::int64_t by_us;
    };
    for (const auto& one : {line{"not known", std::nullopt, 0}, line{"before the request", 9, 0},
                            line{"with the request", 10, 0}, line{"by ourselves", 12, 12}}) {
        auto p = awaiting_the_receiver();
        p.memory.migration.sync_written = one.by_us;
        p.seen.held.sync_written = one.written;
        p.seen.held.sync_is_empty = true;
        EXPECT_EQ(peer(p, false), "change 30s") << one.what;
        EXPECT_FALSE(p.machine.is_alone || p.machine.was_seen) << one.what;
    }
}

TEST(taking_sync_machine, a_lock_that_is_not_had) {
    for (const auto how : {locks::late, locks::failed, locks::no_keys}) {
        auto p = awaiting_the_receiver();
        peer(p, true);
        EXPECT_EQ(lock_is(p, how), "over");
        EXPECT_FALSE(p.machine.is_granted);
    }
}

TEST(taking_sync_machine, a_key_that_is_not_there_is_made_or_the_domain_is_gone) {
    auto p = awaiting_the_receiver();
    EXPECT_EQ(p.says(contenders_read{read_end::no_key, false}), "make_sync_key");
    auto gone = p;
    EXPECT_EQ(p.yes(), "change 30s");
    EXPECT_EQ(gone.no(), "over");
    EXPECT_FALSE(gone.machine.is_granted);
}

TEST(taking_sync_machine, who_is_at_it_cannot_be_read) {
    auto p = awaiting_the_receiver();
    EXPECT_EQ(p.says(contenders_read{read_end::failed, false}), "change 30s");
    auto behind = taken_lock();
    EXPECT_EQ(behind.says(contenders_read{read_end::failed, false}), "change 1s");
}

TEST(taking_sync_machine, it_is_given_back_in_every_step) {
    auto p = awaiting_the_receiver();
    peer(p, false);
    p.woken();
    peer(p, true);
    lock_is(p, locks::pending);
    lock_is(p, locks::held);
    peer(p, false);
    p.woken();
    peer(p, true);
    for (auto one : p.on_its_way()) {
        SCOPED_TRACE(text_of(one.next, one.now));
        one.seen.held.sync_is_wanted = false;
        for (int i = 0; i < 10 && !one.is_over(); ++i) {
            // The lock goes when it is not wanted any more; time passes with each look.
            one.seen.held.of_sync = one.machine.wants_lock ? one.seen.held.of_sync : locks::none;
            one.now += 400ms;
            if (one.asked<ask::contenders>() != nullptr) {
                peer(one, false);
            } else {
                one.woken();
            }
        }
        EXPECT_TRUE(one.is_over()) << one.story();
        EXPECT_FALSE(one.machine.wants_lock);
    }
}

}  // namespace
}  // namespace pvc::policy
