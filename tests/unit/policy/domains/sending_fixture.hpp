// A machine that is sent from hv1 to hv2, step by step.
#pragma once

#include "pvcnoded/policy/domains/sending.hpp"

#include "machine_world.hpp"

namespace pvc::policy {

using sent_played = played<sending>;

inline sent_played to_be_sent(model::vm_state state = model::vm_state::migrate) {
    sent_played p;
    p.seen.shutdown_timeout = std::chrono::seconds(5);
    p.seen.stable = {true, true, model::vm_state::start, "hv1", p.seen.state_version};
    p.place(state, "hv2");
    p.seen.last_node = "hv1";
    return p;
}
// The locks are had, the keys read under them.
inline sent_played under_locks(model::vm_state state = model::vm_state::migrate) {
    auto p = to_be_sent(state);
    EXPECT_EQ(p.begin(), "change");
    p.seen.held.of_migration = held_now::locks::held;
    EXPECT_EQ(p.woken(), "row");
    EXPECT_EQ(p.fresh(), "sending_keys hv2");
    return p;
}
inline std::string wishes(sent_played& p, std::string method, std::optional<std::string> downtime = {}) {
    return p.says(wishes_read{true, true, std::move(method), std::move(downtime)});
}
// The receiver stands by, or has gone idle.
inline sent_played with_the_receiver(std::string method, model::vm_state state = model::vm_state::migrate,
                                     bool is_alone = false) {
    auto p = under_locks(state);
    EXPECT_EQ(wishes(p, std::move(method)), "change 30s");
    p.seen.held.sync_granted = true;
    p.seen.held.sync_alone = is_alone;
    EXPECT_EQ(p.woken(), "row") << "what was read while it was awaited may be old";
    return p;
}
inline void begin_call(sent_played& p) {
    EXPECT_EQ(p.last_question(), "change 0s") << "the call to begin";
    EXPECT_EQ(p.holds().call_to, "hv2");
    p.seen.held.call_begun = p.now;
    EXPECT_EQ(p.woken(), "change 1s");
}
inline sent_played moving_live(std::string method = "none", model::vm_state state = model::vm_state::migrate,
                               bool is_alone = false) {
    auto p = with_the_receiver(std::move(method), state, is_alone);
    EXPECT_EQ(p.fresh(), "change 0s") << "its turn";
    EXPECT_EQ(p.holds().of_turn, holdings::turn::to_migrate);
    p.seen.held.has_turn = true;
    p.woken();
    begin_call(p);
    return p;
}
inline std::string call_ends(sent_played& p, call_end end, std::string_view text = "words") {
    p.seen.held.call_outcome = end;
    p.seen.held.call_text = text;
    p.seen.held.call_is_over = true;
    const std::string next = p.woken();
    p.seen.held.call_outcome.reset();
    p.seen.held.call_begun.reset();
    p.seen.held.call_is_over = false;
    return next;
}
// Both sides are asked once; returns what is made of it.
inline std::string both_say(sent_played& p, model::guest_class here, remote_answer there) {
    EXPECT_EQ(p.last_question(), "row");
    EXPECT_EQ(p.fresh(), "own_guest 5s");
    EXPECT_TRUE(p.guest(here).starts_with("target hv2"));
    EXPECT_EQ(p.target(there), "own_guest 5s");
    return p.guest(here);
}
inline std::string guest_gone(sent_played& p) {
    p.seen.guest = model::guest_class::absent;
    return p.woken();
}
// The locks are given back, and it is over.
inline void expect_unlocked(sent_played& p) {
    EXPECT_EQ(p.last_question(), "change");
    EXPECT_FALSE(p.holds().locks);
    p.seen.held.of_migration = held_now::locks::none;
    p.woken();
}
// Back as it was, the sync lock first.
inline void expect_rolled_back(sent_played& p, const std::string& why, const std::string& last_node = "''") {
    EXPECT_EQ(p.last_question(), "write_placement start hv1 " + last_node);
    EXPECT_EQ(p.written(), "clear_own word");
    EXPECT_TRUE(p.did("error: it was not moved to node hv2 and stays here: " + why)) << why;
    EXPECT_EQ(p.holds().of_turn, holdings::turn::none);
    p.yes();
    if (p.seen.held.sync_granted && !p.seen.held.sync_released) {
        EXPECT_EQ(p.last_question(), "change 2s");
        EXPECT_TRUE(p.holds().locks) << "the locks go after the sync lock";
        EXPECT_EQ(p.holds().of_sync, holdings::sync::released);
        p.seen.held.sync_released = true;
        p.woken();
    }
    if (p.seen.held.of_migration == held_now::locks::held) {
        expect_unlocked(p);
    }
    EXPECT_EQ(p.last_question(), "over");
    EXPECT_TRUE(p.did("drop_record"));
    EXPECT_EQ(p.holds(), holdings());
    EXPECT_FALSE(p.memory.migration.is_sent_by_us);
}
// Listed no more, the console ended, the sync lock given back; the receiver is awaited.
inline void expect_sent(sent_played& p) {
    EXPECT_EQ(p.last_question(), "set_listed -");
    EXPECT_EQ(p.woken(), "end_console");
    EXPECT_EQ(p.woken(), "change 2s");
    EXPECT_EQ(p.holds().of_sync, holdings::sync::released);
    p.seen.held.sync_released = true;
    EXPECT_EQ(p.woken(), "change 10s");
    EXPECT_TRUE(p.holds().locks) << "a client's word comes after the receiver's";
}
// Off: handed over under the locks; the receiver is awaited.
inline void expect_handed_over(sent_played& p) {
    EXPECT_EQ(p.last_question(), "set_listed -");
    EXPECT_TRUE(p.did("record sender hv2 offline"));
    EXPECT_EQ(p.woken(), "write_state stop handed_over");
    EXPECT_EQ(p.written(), "end_console");
    EXPECT_EQ(p.woken(), "change 2s");
    p.seen.held.sync_released = true;
    EXPECT_EQ(p.woken(), "change 10s");
    EXPECT_TRUE(p.holds().locks);
}

}  // namespace pvc::policy
