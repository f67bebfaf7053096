// A receiver: room, arrival, the hand-over, who is asked when nobody comes, and what it leaves behind.
#include "pvcnoded/policy/domains/receiving.hpp"

#include "machine_world.hpp"

namespace pvc::policy {
namespace {

using namespace std::chrono_literals;
using model::daemon_state;
using model::guest_class;
using model::vm_state;
using lines = std::vector<std::string>;
using received = played<receiving>;

received to_come(vm_state state = vm_state::migrate) {
    received p;
    p.place(state, "hv1");
    p.seen.guest = guest_class::absent;
    p.seen.last_node = "hv2";
    p.seen.stable = {true, false, vm_state::start, "hv2", p.seen.state_version - 1};
    p.seen.state_since = p.seen.class_since = p.now;
    return p;
}
received awaiting_it() {
    auto p = to_come();
    EXPECT_EQ(p.begin(), "offer");
    EXPECT_EQ(p.yes(), "change 0s");
    EXPECT_EQ(p.woken(), "change 10s");
    return p;
}
// The lock of the hand-shake is given back, then the word cleared.
void expect_withdrawn(received& p) {
    EXPECT_EQ(p.last_question(), "change") << p.story();
    EXPECT_EQ(p.holds().of_sync, holdings::sync::none);
    p.seen.held.sync_released = true;
    EXPECT_EQ(p.woken(), "clear_own word");
    EXPECT_EQ(p.yes(), "over");
    EXPECT_TRUE(p.did("drop_record"));
}
// All others say so, again and again, until something else is asked.
void ask_all_until(received& p, duration most, const std::vector<other_node>& nodes,
                   const std::vector<std::pair<std::string, remote_answer>>& answers) {
    const time_point last = p.now + most;
    while (p.now < last) {
        if (p.asked<ask::others>() != nullptr) {
            p.others(nodes);
        } else if (p.asked<ask::nodes>() != nullptr) {
            p.nodes(answers);
        } else if (p.asked<ask::stranded_keys>() != nullptr) {
            p.says(keys_compared{true, false, 5});
        } else if (p.asked<ask::own_guest>() != nullptr) {
            p.yes();
        } else if (p.asked<ask::change>() != nullptr && p.next.until < time_point::max()) {
            p.at_limit();
        } else {
            return;
        }
    }
}
const std::vector<other_node> two_nodes{{"hv2", daemon_state::run, false}, {"hv3", daemon_state::run, false}};
const std::vector<std::pair<std::string, remote_answer>> neither{{"hv2", remote_answer::absent},
                                                                 {"hv3", remote_answer::absent}};

// ---- it arrives

TEST(receiving_machine, its_word_is_refused) {
    played<receiving> overtaken;
    overtaken.place(vm_state::migrate, "hv1");
    overtaken.seen.guest = guest_class::absent;
    EXPECT_EQ(overtaken.begin(), "offer");
    EXPECT_EQ(overtaken.no(), "row") << "somebody has written since";
    overtaken.place(vm_state::migrate, "hv3");
    EXPECT_EQ(overtaken.fresh(), "over") << "it is not to come any more";
    played<receiving> refused;
    refused.place(vm_state::migrate, "hv1");
    refused.seen.guest = guest_class::absent;
    refused.begin();
    for (int i = 0; i < 2; ++i) {
        EXPECT_EQ(refused.no(), "row");
        EXPECT_EQ(refused.fresh(), "offer");
    }
    EXPECT_EQ(refused.no(), "row");
    refused.fresh();
    EXPECT_TRUE(refused.machine.offers) << "not tried for ever: it goes on without its word";
}

TEST(receiving_machine, D71_listed_then_start_then_vnc_then_the_lock_then_the_word) {
    auto p = awaiting_it();
    EXPECT_TRUE(p.did("state: receiving it from node hv2"));
    EXPECT_TRUE(p.did("record receiver hv2 waiting"));
    EXPECT_EQ(p.holds().of_sync, holdings::sync::offered);
    EXPECT_TRUE(p.holds().follows_sender);
    p.seen.guest = guest_class::incoming;
    p.woken();
    p.seen.guest = guest_class::alive;
    EXPECT_EQ(p.woken(), "set_listed +");
    EXPECT_EQ(p.woken(), "write_state start");
    EXPECT_EQ(p.written(), "publish_vnc");
    EXPECT_EQ(p.yes(), "change");
    EXPECT_TRUE(p.did("note_arrival"));
    expect_withdrawn(p);
}

TEST(receiving_machine, D75_one_side_of_a_migration_is_no_arrival) {
    auto p = awaiting_it();
    p.seen.guest = guest_class::incoming;
    EXPECT_EQ(p.woken(), "change 10s");
    for (int i = 0; i < 100; ++i) {
        ASSERT_EQ(p.at_limit(), "change 1s") << "nobody is asked while half of it is here";
    }
    EXPECT_FALSE(p.ever_asked("write"));
}

// Half of an earlier migration stands here, which nobody sends: once the move is over the tables see to it.
TEST(receiving_machine, what_stands_here_and_never_comes_is_left_to_the_tables) {
    for (const auto guest : {guest_class::incoming, guest_class::ending, guest_class::paused}) {
        for (const bool is_started : {false, true}) {
            auto p = awaiting_it();
            p.seen.guest = guest;
            p.seen.is_half_made = guest == guest_class::paused;
            EXPECT_EQ(p.woken(), "change 10s");
            p.after(30s);
            p.set(vm_state::stop);
            p.seen.is_handed_over = true;
            p.woken();
            if (is_started) {
                p.after(10s);
                p.set(vm_state::start);  // by its sender, in our place
                p.seen.is_handed_over = false;
                p.woken();
            }
            const time_point since = p.now;
            while (p.holds().of_sync == holdings::sync::offered && p.now - since < 5min) {
                p.at_limit();
            }
            EXPECT_LE(p.now - since, duration(61s)) << p.story();
            EXPECT_GE(p.now - since, duration(49s)) << p.story();
            EXPECT_FALSE(p.ever_asked("write"));
        }
    }
    auto here = awaiting_it();
    here.seen.guest = guest_class::incoming;
    here.woken();
    here.set(vm_state::start);
    here.woken();
    here.after(50s);
    here.seen.guest = guest_class::alive;
    EXPECT_EQ(here.woken(), "set_listed +") << "it has come all the same";
}

TEST(receiving_machine, D79_a_guest_that_arrives_paused) {
    auto p = awaiting_it();
    p.seen.guest = guest_class::paused;
    EXPECT_EQ(p.woken(), "set_listed +");
    EXPECT_TRUE(p.did("tell_pause"));
    auto half = awaiting_it();
    half.seen.guest = guest_class::paused;
    half.seen.is_half_made = true;
    EXPECT_EQ(half.woken(), "change 10s") << "libvirt is setting it up: it has never executed";
}

TEST(receiving_machine, it_is_here_and_start_was_written_by_the_sender) {
    auto p = awaiting_it();
    p.set(vm_state::start);
    p.seen.guest = guest_class::alive;
    EXPECT_EQ(p.woken(), "set_listed +");
    EXPECT_EQ(p.woken(), "publish_vnc") << "no write of the state";
}

TEST(receiving_machine, D81_a_client_stops_what_is_here) {
    auto p = awaiting_it();
    p.seen.guest = guest_class::alive;
    p.set(vm_state::stop);
    EXPECT_EQ(p.woken(), "whose_stop");
    EXPECT_EQ(p.no(), "change");
    expect_withdrawn(p);
    auto sender = awaiting_it();
    sender.seen.guest = guest_class::alive;
    sender.set(vm_state::stop);
    sender.woken();
    EXPECT_EQ(sender.yes(), "change") << "a `stop` of what runs here is a client's: the tables destroy it";
    auto late = awaiting_it();
    late.seen.guest = guest_class::alive;
    late.woken();
    late.woken();
    late.set(vm_state::stop);
    EXPECT_EQ(late.overtaken(), "change");
    EXPECT_FALSE(late.did("note_arrival"));
}

// ---- room

TEST(receiving_machine, an_unfinished_copy_leaves_no_room) {
    auto p = to_come();
    p.seen.guest = guest_class::paused;
    p.seen.is_half_made = true;
    EXPECT_EQ(p.begin(), "change 30s");
    EXPECT_FALSE(p.did("error"));
    EXPECT_EQ(p.holds().of_sync, holdings::sync::none) << "the sender is not told to begin";
    EXPECT_EQ(p.at_limit(), "change 60s");
    EXPECT_EQ(p.at_limit(), "change 60s");
    EXPECT_EQ(p.count("error: it cannot come here"), 2);
    auto ended = p;
    p.seen.is_half_made = false;
    p.seen.guest = guest_class::absent;
    EXPECT_EQ(p.woken(), "offer");
    ended.seen.must_end = true;
    EXPECT_EQ(ended.woken(), "over");
    EXPECT_TRUE(ended.did("drop_record"));
}

TEST(receiving_machine, what_is_not_to_come_is_not_announced) {
    for (const auto& change :
         {+[](received& p) { p.seen.must_end = true; }, +[](received& p) { p.remove_keys(); },
          +[](received& p) { p.place(vm_state::migrate, "hv3"); }, +[](received& p) { p.set(vm_state::start); }}) {
        auto p = to_come();
        change(p);
        EXPECT_EQ(p.begin(), "over");
        EXPECT_TRUE(p.did("drop_record"));
    }
}

// ---- the hand-over

TEST(receiving_machine, D73_started_when_the_sender_has_given_the_lock_back) {
    auto p = awaiting_it();
    p.set(vm_state::stop);
    p.seen.is_handed_over = true;
    EXPECT_EQ(p.woken(), "change 10s") << "a reference node that still has it would drop our `start`";
    p.now += 1s;
    p.seen.held.sync_is_held = true;
    EXPECT_EQ(p.woken(), "write_state start taken_back");
    EXPECT_EQ(p.written(), "change");
    EXPECT_TRUE(p.did("state: it was shut down to be moved here") && p.did("note_arrival"));
    expect_withdrawn(p);
}

TEST(receiving_machine, D73_or_after_ten_seconds) {
    auto p = awaiting_it();
    p.set(vm_state::stop);
    p.seen.is_handed_over = true;
    p.woken();
    p.now += 4s;
    EXPECT_EQ(p.woken(), "change 6s");
    EXPECT_EQ(p.at_limit(), "write_state start taken_back");
}

TEST(receiving_machine, whose_word_a_stop_is) {
    auto p = awaiting_it();
    p.set(vm_state::stop);
    EXPECT_EQ(p.woken(), "whose_stop");
    EXPECT_EQ(p.nobody_knows(), "change 1s");
    EXPECT_EQ(p.at_limit(), "whose_stop");
    auto client = p;
    EXPECT_EQ(p.yes(), "change 10s") << "written under the locks of a reference sender";
    EXPECT_EQ(p.after(1s), "change 9s") << "asked once";
    EXPECT_EQ(client.no(), "change");
    expect_withdrawn(client);
    p.set(vm_state::stop);
    EXPECT_EQ(p.woken(), "whose_stop") << "that is another `stop`";
}

TEST(receiving_machine, a_start_that_cannot_be_written_is_read_again) {
    auto story = awaiting_it();
    story.set(vm_state::stop);
    story.seen.is_handed_over = true;
    story.seen.held.sync_is_held = true;
    story.woken();
    auto p = story;
    EXPECT_EQ(p.overtaken(), "row");
    auto gone = p;
    EXPECT_EQ(p.fresh(), "write_state start taken_back") << "`node` rewritten as it was changes nothing";
    EXPECT_EQ(gone.unread(), "change");
    auto cut_off = story;
    EXPECT_EQ(cut_off.write_failed(), "connection 30s");
    auto lost = cut_off;
    EXPECT_EQ(cut_off.yes(), "row");
    EXPECT_EQ(cut_off.fresh(), "write_state start taken_back");
    EXPECT_EQ(lost.no(), "row");
    EXPECT_EQ(lost.fresh(), "change");
}

TEST(receiving_machine, what_was_handed_over_keeps_its_mark_when_the_receiver_goes) {
    auto p = awaiting_it();
    p.set(vm_state::stop);
    p.seen.is_handed_over = true;
    p.woken();
    p.seen.must_end = true;
    EXPECT_EQ(p.woken(), "change");
    p.seen.held.sync_released = true;
    EXPECT_EQ(p.woken(), "over") << "the mark is what says so to whoever comes back (ruling 26)";
}

// ---- nobody comes

TEST(receiving_machine, D74_D76_D80_what_ends_the_wait) {
    struct line {
        std::string_view what;
        void (*change)(received&);
        bool clears;
    };
    for (const auto& one : {line{"D74 rolled back", [](received& p) { p.place(vm_state::start, "hv2"); }, true},
                            line{"D76 recovered here", [](received& p) { p.set(vm_state::start); }, true},
                            line{"D80 deleted", [](received& p) { p.remove_keys(); }, false},
                            line{"being deleted", [](received& p) { p.set(vm_state::deleted); }, false},
                            line{"to a third node", [](received& p) { p.place(vm_state::migrate, "hv3"); }, false},
                            line{"the daemon stops", [](received& p) { p.seen.must_end = true; }, true}}) {
        auto p = awaiting_it();
        one.change(p);
        EXPECT_EQ(p.woken(), "change") << one.what;
        p.seen.held.sync_released = true;
        EXPECT_EQ(p.woken(), one.clears ? "clear_own word" : "over") << one.what;
        EXPECT_FALSE(p.ever_asked("write")) << one.what;
    }
}

TEST(receiving_machine, D77_it_runs_nowhere_for_60_s) {
    auto p = awaiting_it();
    const time_point began = p.now;
    ask_all_until(p, 600s, two_nodes, neither);
    EXPECT_EQ(p.last_question(), "write_state start");
    EXPECT_EQ(p.now - began, duration(60s));
    EXPECT_EQ(p.count_asked("others"), 6) << "every 10 s";
    EXPECT_TRUE(p.did("warning: it runs nowhere and nobody sends it"));
    EXPECT_EQ(p.written(), "change");
    expect_withdrawn(p);
}

TEST(receiving_machine, what_came_while_the_others_were_asked_is_not_said_to_be_off) {
    auto p = to_come();
    p.seen.stable.state = vm_state::stop;
    p.begin();
    p.yes();
    p.woken();
    EXPECT_EQ(p.at_limit(), "others");
    p.others(two_nodes);
    EXPECT_EQ(p.nodes(neither), "own_guest 5s");
    EXPECT_FALSE(decltype(p)(p).no().starts_with("write_state")) << "nothing is known";
    EXPECT_EQ(p.guest(guest_class::alive), "set_listed +");
    EXPECT_FALSE(p.ever_asked("write_state stop"));
}

TEST(receiving_machine, D77_a_start_that_is_overtaken) {
    auto p = awaiting_it();
    ask_all_until(p, 600s, two_nodes, neither);
    EXPECT_EQ(p.overtaken(), "change 10s") << "the wait goes on";
}

TEST(receiving_machine, D77a_it_was_off) {
    for (const auto state : {vm_state::stop, vm_state::disable, vm_state::fail, vm_state::mirror}) {
        auto p = to_come();
        p.seen.stable.state = state;
        p.begin();
        p.yes();
        p.woken();
        const time_point began = p.now;
        ask_all_until(p, 15s, two_nodes, neither);
        EXPECT_EQ(p.last_question(), "write_state " + std::string(model::to_text(state)));
        EXPECT_EQ(p.now - began, duration(10s));
    }
    auto between = to_come();
    between.seen.stable.state = vm_state::stop;
    between.seen.stable.state_version -= 1;
    between.begin();
    between.yes();
    between.woken();
    ask_all_until(between, 600s, two_nodes, neither);
    EXPECT_EQ(between.last_question(), "write_state start") << "something was written between that was not seen";
}

TEST(receiving_machine, D78_D119_D120_D121_somebody_has_it_or_does_not_say) {
    struct line {
        std::string_view what;
        other_node node;
        remote_answer said;
        bool starts;
    };
    for (const auto& one :
         {line{"D78 runs", {"hv2", daemon_state::dead, false}, remote_answer::alive, false},
          line{"D119 init", {"hv2", daemon_state::init, false}, remote_answer::alive, false},
          line{"D119 stop", {"hv2", daemon_state::stop, false}, remote_answer::alive, false},
          line{"D121 being created", {"hv2", daemon_state::run, false}, remote_answer::shut_off, false},
          line{"half", {"hv2", daemon_state::run, false}, remote_answer::incoming, false},
          line{"halted", {"hv2", daemon_state::run, false}, remote_answer::halted, false},
          line{"silent", {"hv3", daemon_state::run, false}, remote_answer::silent, false},
          line{"dead and silent", {"hv3", daemon_state::dead, false}, remote_answer::silent, false},
          line{"D120 switched off", {"hv3", daemon_state::stop, false}, remote_answer::silent, true},
          line{"no hypervisor", {"hv3", daemon_state::run, false}, remote_answer::refused, true},
          line{"switched off, lists it", {"hv3", daemon_state::stop, true}, remote_answer::silent, false},
          line{"switched off, had it", {"hv2", daemon_state::stop, false}, remote_answer::silent, false},
          line{"absent", {"hv2", daemon_state::run, true}, remote_answer::absent, true}}) {
        auto p = awaiting_it();
        ask_all_until(p, 300s, {one.node}, {{one.node.name, one.said}});
        EXPECT_EQ(p.ever_asked("write_state start"), one.starts) << one.what;
        EXPECT_EQ(p.did("warning: it should come here") || p.did("error: it should come here"), !one.starts)
            << one.what;
    }
}

TEST(receiving_machine, it_complains_every_60_s) {
    auto p = awaiting_it();
    ask_all_until(p, 301s, two_nodes, {{"hv2", remote_answer::silent}, {"hv3", remote_answer::absent}});
    EXPECT_EQ(p.count("error: it should come here, but nobody sends it: node hv2 does not say"), 5);
    auto has = awaiting_it();
    ask_all_until(has, 100s, two_nodes, {{"hv2", remote_answer::halted}, {"hv3", remote_answer::absent}});
    EXPECT_EQ(has.count("warning: it should come here, and has not come yet"), 1);
    auto unread = awaiting_it();
    for (int i = 0; i < 7; ++i) {
        EXPECT_EQ(unread.at_limit(), "others");
        unread.says(others_read{});
    }
    EXPECT_TRUE(unread.did("error: it should come here, but nobody sends it: the other nodes could not all be asked"));
}

TEST(receiving_machine, D124_a_fenced_node_says_no_after_60_s_or_600_s_while_it_lists_it) {
    for (const bool lists_it : {false, true}) {
        auto p = awaiting_it();
        EXPECT_EQ(p.after(100s), "others") << "it is long that the state was written";
        const time_point began = p.now;
        ask_all_until(p, 3600s, {{"hv2", daemon_state::fenced, lists_it}}, {});
        EXPECT_EQ(p.last_question(), "write_state start");
        EXPECT_EQ(p.now - began, lists_it ? duration(600s) : duration(60s)) << "counted from when it was seen so";
        EXPECT_FALSE(p.ever_asked("nodes hv2")) << "nobody asks it";
    }
}

TEST(receiving_machine, D124_the_recoverys_start_ends_the_wait) {
    auto p = awaiting_it();
    ask_all_until(p, 195s, {{"hv2", daemon_state::fenced, true}}, {});
    p.set(vm_state::start);
    if (p.asked<ask::others>() != nullptr) {
        p.others({});
    }
    if (p.asked<ask::nodes>() != nullptr) {
        p.nodes({});
    } else {
        p.woken();
    }
    expect_withdrawn(p);
    EXPECT_FALSE(p.ever_asked("write") || p.did("error: it was not started"));
}

TEST(receiving_machine, one_of_several_answers_is_not_enough) {
    auto p = awaiting_it();
    p.at_limit();
    p.others(two_nodes);
    EXPECT_EQ(p.last_question(), "nodes hv2 hv3");
    p.now += 60s;
    EXPECT_EQ(p.nodes({{"hv2", remote_answer::absent}, {"hv3", remote_answer::silent}}), "others") << "and again";
}

// ---- a sender that has forgotten that it is one (ruling 30)

TEST(receiving_machine, ruling_30_taken_back_after_120_s) {
    auto p = awaiting_it();
    const time_point began = p.now;
    ask_all_until(p, 600s, two_nodes, {{"hv2", remote_answer::alive}, {"hv3", remote_answer::absent}});
    EXPECT_EQ(p.last_question(), "take_back hv2 5");
    EXPECT_EQ(p.now - began, duration(130s)) << "120 s after it was seen first";
    auto overtaken = p;
    auto failed = p;
    EXPECT_EQ(p.written(), "change");
    EXPECT_TRUE(p.did("error: node hv2 runs it and has not begun to send it for 120 s"));
    expect_withdrawn(p);
    overtaken.overtaken();
    const time_point from = overtaken.now;
    ask_all_until(overtaken, 600s, two_nodes, {{"hv2", remote_answer::alive}, {"hv3", remote_answer::absent}});
    EXPECT_EQ(overtaken.now - from, duration(130s)) << "something moved: from the beginning";
    failed.write_failed();
    const time_point at = failed.now;
    ask_all_until(failed, 600s, two_nodes, {{"hv2", remote_answer::alive}, {"hv3", remote_answer::absent}});
    EXPECT_EQ(failed.now - at, duration(10s)) << "the next question";
}

TEST(receiving_machine, ruling_30_what_moves_is_not_stranded) {
    for (const bool is_known : {true, false}) {
        auto p = awaiting_it();
        for (int i = 0; i < 30; ++i) {
            p.at_limit();
            p.others(two_nodes);
            EXPECT_EQ(p.nodes({{"hv2", remote_answer::alive}, {"hv3", remote_answer::absent}}), "stranded_keys");
            EXPECT_EQ(p.says(keys_compared{is_known, is_known, 5}), "change 10s")
                << "somebody contends, or nobody knows";
        }
    }
    auto two = awaiting_it();
    two.at_limit();
    two.others(two_nodes);
    EXPECT_EQ(two.nodes({{"hv2", remote_answer::alive}, {"hv3", remote_answer::alive}}), "change 10s");
}

// ---- what it leaves behind

TEST(receiving_machine, a_word_that_cannot_be_cleared_is_tried_three_times) {
    auto p = awaiting_it();
    p.place(vm_state::start, "hv2");
    p.woken();
    p.seen.held.sync_released = true;
    EXPECT_EQ(p.woken(), "clear_own word");
    auto lost = p;
    for (int i = 1; i <= 3; ++i) {
        EXPECT_EQ(p.no(), "connection 30s");
        EXPECT_EQ(p.yes(), "row");
        EXPECT_EQ(p.fresh(), i < 3 ? "clear_own word" : "over");
    }
    EXPECT_TRUE(p.memory.adoption.owes_word && !p.did("drop_record")) << "the next session sees to it";
    lost.no();
    EXPECT_EQ(lost.no(), "row");
    EXPECT_EQ(lost.fresh(), "over");
    EXPECT_FALSE(lost.did("drop_record"));
}

TEST(receiving_machine, it_winds_up_in_every_step) {
    auto p = awaiting_it();
    p.at_limit();
    p.others(two_nodes);
    p.nodes(neither);
    p.set(vm_state::stop);
    p.woken();
    p.nobody_knows();
    p.at_limit();
    p.yes();
    p.at_limit();
    p.write_failed();
    p.yes();
    p.fresh();
    p.written();
    p.seen.held.sync_released = true;
    p.woken();
    p.no();
    p.yes();
    p.fresh();
    p.yes();
    ASSERT_TRUE(p.is_over());
    p.seen.held.sync_released = false;
    const auto nothing_held = [](auto& one) { EXPECT_EQ(one.holds(), holdings()); };
    const auto nothing_written = [](auto& one) {
        EXPECT_EQ(one.holds(), holdings());
        EXPECT_FALSE(one.ever_asked("write_state")) << one.story();
    };
    wind_up_from_each(p, [](auto& one) { one.seen.must_end = true; }, nothing_held);
    wind_up_from_each(p, [](auto& one) { one.remove_keys(); }, nothing_written);
    wind_up_from_each(p, [](auto& one) { one.place(vm_state::start, "hv3"); }, nothing_written);
    wind_up_from_each(
        p,
        [](auto& one) {
            one.seen.guest.reset();
            one.seen.must_end = true;
        },
        nothing_held);
}

TEST(receiving_machine, a_silent_libvirt_here_starts_nothing) {
    auto p = awaiting_it();
    p.seen.guest.reset();
    p.woken();
    ask_all_until(p, 300s, two_nodes, neither);
    EXPECT_FALSE(p.ever_asked("others") || p.ever_asked("write"));
    auto handed = awaiting_it();
    handed.seen.guest.reset();
    handed.set(vm_state::stop);
    handed.seen.is_handed_over = true;
    handed.seen.held.sync_is_held = true;
    handed.woken();
    ask_all_until(handed, 300s, two_nodes, neither);
    EXPECT_FALSE(handed.ever_asked("write"));
}

}  // namespace
}  // namespace pvc::policy
