// What lies outside of a machine that is to run is waited for, and does not make it `fail`: whose fault each outcome
// is, what is held and told meanwhile, and what ends the wait. README ruling 77.
#include "starting_fixture.hpp"

namespace pvc::policy {
namespace {

using namespace std::chrono_literals;
using model::daemon_state;
using model::guest_class;
using model::vm_state;
using lines = std::vector<std::string>;
using kind = start_outcome::kind;

volume_locks unread(std::string error, bool is_cephs) {
    return {.volume = "vms/web_sda", .locks = {}, .error = std::move(error), .may_pass = false, .is_cephs = is_cephs};
}
rbd_listed unreadable(std::string error, bool is_cephs) {
    return {{unread(std::move(error), is_cephs)}, {"10.254.0.1"}};
}

// It is over, waits in its state, and has nothing.
void expect_held_up(start_played& p, const std::string& reason, start_cause cause) {
    EXPECT_EQ(p.last_question(), "write_reason " + reason);
    EXPECT_TRUE(p.did("warning: it waits to be started: " + reason));
    EXPECT_EQ(p.holds(), holdings());
    EXPECT_EQ(p.yes(), "clear_own word");
    EXPECT_EQ(p.yes(), "end_console");
    if (p.woken() == "set_listed -") {
        p.woken();
    }
    EXPECT_TRUE(p.is_over());
    EXPECT_EQ(p.memory.waits.cause, cause);
    EXPECT_FALSE(p.memory.listing.is_listed);
    EXPECT_FALSE(p.memory.adoption.is_restarting);
    EXPECT_EQ(p.holds(), holdings());
    EXPECT_FALSE(p.ever_asked("write_failed"));
}

// Begun anew, as the tables do.
start_played next_start(const start_played& before) {
    start_played p;
    p.memory = before.memory;
    p.seen = before.seen;
    p.seen.held = {};
    p.now = before.now;
    p.begin();
    return p;
}

start_played waiting_for_monitors() {
    auto p = before_its_turn();
    p.seen.held.has_turn = true;
    p.woken();
    p.call(call_end::timed_out, "no answer");
    p.yes();
    p.yes();
    p.woken();
    return p;
}

// ---- whose fault it is

TEST(start_outcomes, of_bridges) {
    EXPECT_EQ(judge_bridges({}), start_outcome());
    EXPECT_EQ(judge_bridges({bridge_seen::kind::coming, "vmbr7", {}}),
              start_outcome::wait_for(start_cause::bridge, "its bridge vmbr7 is not there"));
    EXPECT_EQ(judge_bridges({bridge_seen::kind::coming, "vmbr7", "no device"}),
              start_outcome::wait_for(start_cause::bridge, "its bridge vmbr7 is not there: no device"));
    EXPECT_EQ(judge_bridges({bridge_seen::kind::refused, "vmbr7", "vlan7 is another's"}),
              start_outcome::wait_for(start_cause::refused_network,
                                      "the network of its bridge vmbr7 is refused: vlan7 is another's"));
    EXPECT_EQ(judge_bridges({bridge_seen::kind::unknown, "vmbr7", {}}),
              start_outcome::fail("its bridge vmbr7 belongs to no network that exists"));
}

TEST(start_outcomes, of_disks_on_a_node_without_storage) {
    EXPECT_EQ(judge_disks({"vms/a"}, true), start_outcome());
    EXPECT_EQ(judge_disks({"file"}, false), start_outcome()) << "it names no image";
    EXPECT_EQ(judge_disks({"vms/a"}, false).what, kind::fails);
}

TEST(start_outcomes, of_ceph) {
    EXPECT_EQ(judge_monitors({call_end::done, {}}), start_outcome());
    for (const auto end : {call_end::timed_out, call_end::unavailable}) {
        EXPECT_EQ(judge_monitors({end, "away"}).cause, start_cause::ceph);
    }
    EXPECT_EQ(judge_monitors({call_end::other, "permission denied"}), start_outcome()) << "it is there, and answered";
    clearing_rbd_locks refused{.reason = "x", .is_cephs = true};
    EXPECT_EQ(judge_locks(refused), start_outcome::wait_for(start_cause::ceph, "x"));
    refused.is_cephs = false;
    EXPECT_EQ(judge_locks(refused), start_outcome::fail("x"));
    EXPECT_EQ(judge_images({{{"vms/a", {}, {}}}, {}}), start_outcome());
    EXPECT_EQ(judge_images({{{"vms/a", {}, {}}, unread("late", true)}, {}}).cause, start_cause::ceph);
    EXPECT_EQ(judge_images({{unread("permission denied", false)}, {}}), start_outcome());
}

TEST(start_outcomes, the_pauses) {
    const std::vector<duration> all{5s, 10s, 20s, 40s, 60s, 60s};
    for (unsigned i = 0; i < all.size(); ++i) {
        EXPECT_EQ(wait_for_a_cause(i), all.at(i));
    }
    EXPECT_EQ(wait_for_a_cause(1000), 60s);
}

TEST(start_outcomes, pools) {
    EXPECT_EQ(pools_of({"vms/a", "fast/ns/b", "vms/c", "file"}), (lines{"vms", "fast"}));
}

// ---- Ceph

TEST(starting_waits, for_monitors_that_are_silent) {
    auto p = before_its_turn();
    p.seen.held.has_turn = true;
    EXPECT_EQ(p.woken(), "monitors 5s");
    p.call(call_end::timed_out, "no answer of Ceph in time");
    expect_held_up(p, "Ceph's monitors do not answer", start_cause::ceph);
}

TEST(starting_waits, for_images_that_cannot_be_listed) {
    auto p = before_its_locks();
    p.says(unreadable("the helper is gone", true));
    expect_held_up(p, "RBD locks of vms/web_sda could not be read: the helper is gone", start_cause::ceph);
    auto refused = before_its_locks();
    refused.says(unreadable("permission denied", false));
    EXPECT_EQ(refused.guest(guest_class::absent),
              "write_failed RBD locks of vms/web_sda could not be read: permission denied")
        << "no waiting heals that";
}

TEST(starting_waits, for_a_lock_that_could_not_be_broken_as_nobody_answered) {
    const auto to_the_break = [](auto& p) {
        p.says(listed({lock_of_hv1}));
        p.guest(guest_class::absent);
        p.call(call_end::done);
        p.says(disk_users_read{disk_users_read::end::known, {}, {}});
        p.fresh();
    };
    auto p = before_its_locks();
    to_the_break(p);
    auto refused = p;
    // What became of it is looked at, and it is tried again, twice.
    for (int again = 0; again < 2; ++again) {
        EXPECT_TRUE(p.call(call_end::timed_out, "no answer").starts_with("list_rbd_locks")) << again;
        to_the_break(p);
    }
    p.call(call_end::timed_out, "no answer");
    expect_held_up(p, "RBD lock \"auto 1\" on vms/web_sda could not be removed: no answer", start_cause::ceph);
    refused.call(call_end::other, "permission denied");
    EXPECT_EQ(refused.last_question(), "own_guest 5s") << "it fails";
}

// Whose lock it is shows with others on this node: their trouble is not this machine's.
TEST(starting_waits, for_who_on_this_node_has_its_disks_open) {
    auto p = before_its_locks();
    p.says(listed({lock_of_hv1}));
    auto silent = p;
    p.guest(guest_class::absent);
    p.call(call_end::done);
    auto hung = p;
    using end = disk_users_read::end;
    p.says(disk_users_read{end::failed, "the definition of the VM db: broken", {}});
    expect_held_up(p, "who on this node has its disks open could not be read: the definition of the VM db: broken",
                   start_cause::disk_users);
    hung.says(disk_users_read{end::no_libvirt, "libvirt does not answer for the VM db", {}});
    expect_held_up(hung, "libvirt does not answer for the VM db", start_cause::libvirt);
    silent.libvirt_silent();
    EXPECT_FALSE(p.ever_asked("break_rbd_lock") || hung.ever_asked("break_rbd_lock"));
}

TEST(starting_waits, monitors_are_asked_again_before_libvirt_connects_to_them) {
    auto p = before_its_locks();
    p.now += 3s;
    EXPECT_EQ(p.says(listed({})), "monitors 5s");
    auto silent = p;
    EXPECT_EQ(p.call(call_end::done), "set_listed +");
    EXPECT_EQ(silent.call(call_end::timed_out, "late"), "write_reason Ceph's monitors do not answer");
}

TEST(starting_waits, for_a_guest_that_ended_as_ceph_was_silent) {
    auto p = being_created();
    EXPECT_EQ(p.call(call_end::other, "error connecting"), "list_rbd_locks vms/web_sda 8s");
    p.says(unreadable("late", true));
    expect_held_up(p, "Ceph does not answer for vms/web_sda: late", start_cause::ceph);
}

TEST(starting_waits, the_definition_is_read_anew_before_the_creation) {
    auto p = before_its_locks();
    p.now += 1s;
    EXPECT_EQ(p.says(listed({})), "set_listed +");
    EXPECT_EQ(p.woken(), "definition");
    auto another = p;
    EXPECT_EQ(p.says(with_a_disk), "row");
    EXPECT_EQ(another.says(definition_read{definition_read::end::read, {}, {"vms/web_sdb"}}), "others")
        << "locks of other disks were looked at";
}

TEST(starting_waits, a_node_without_storage_asks_nobody) {
    auto p = to_be_started();
    p.seen.has_storage = false;
    p.begin();
    p.others(nobody_lists_it);
    EXPECT_EQ(p.says(with_a_disk), "own_guest 5s");
    EXPECT_TRUE(p.guest(guest_class::absent).starts_with("write_failed RBD locks of vms/web_sda could not be read"));
}

TEST(starting_waits, a_reason_to_wait_is_known_by_its_words) {
    for (const auto& one :
         {judge_bridges({bridge_seen::kind::coming, "vmbr7", {}}), judge_bridges({bridge_seen::kind::refused, "b", {}}),
          judge_monitors({call_end::timed_out, {}}), judge_monitors({call_end::unavailable, "away"}),
          judge_images({{unread("late", true)}, {}})}) {
        EXPECT_TRUE(is_reason_to_wait(one.reason)) << one.reason;
    }
    EXPECT_TRUE(is_reason_to_wait(stopped_holder_text("hv2")));
    EXPECT_TRUE(is_reason_to_wait("RBD locks of sick/a could not be read: no answer of Ceph in time"));
    for (const auto* one : {"", "operator: kept off", "RBD locks of a/b could not be read: permission denied",
                            "its bridge vmbr7 belongs to no network that exists"}) {
        EXPECT_FALSE(is_reason_to_wait(one)) << one;
    }
}

// ---- the wait itself

TEST(starting_waits, tries_come_after_5_10_20_40_60_s) {
    auto p = waiting_for_monitors();
    for (const auto pause : {5s, 10s, 20s, 40s, 60s, 60s}) {
        p = next_start(p);
        EXPECT_EQ(p.last_question(), "change " + text_of(pause));
        EXPECT_EQ(p.machine.awaited(), "Ceph's monitors do not answer");
        EXPECT_EQ(p.holds(), holdings());
        EXPECT_EQ(p.at_limit(), "others") << "from the beginning, with what is read then";
        p.others(nobody_lists_it);
        p.says(with_a_disk);
        p.seen.held.has_turn = true;
        p.woken();
        EXPECT_EQ(p.call(call_end::timed_out, "no answer"), "end_console") << "the words are stored already";
        EXPECT_EQ(p.woken(), "over");
        EXPECT_EQ(p.count("warning"), 0) << "and it was told once";
    }
}

TEST(starting_waits, it_is_tried_as_soon_as_ceph_answers_for_others) {
    auto p = next_start(waiting_for_monitors());
    EXPECT_EQ(p.last_question(), "change 5s");
    p.seen.ceph_answers = 1;
    EXPECT_EQ(p.woken(), "change 1s") << "not at once, over and over";
    EXPECT_EQ(p.at_limit(), "others");
}

TEST(starting_waits, what_ends_the_wait) {
    struct line {
        std::string_view what;
        void (*change)(start_played&);
        std::string_view then;
    };
    for (const auto& one :
         {line{"stop", [](start_played& p) { p.set(vm_state::stop); }, "clear_reason Ceph's monitors do not answer"},
          line{"migrate", [](start_played& p) { p.set(vm_state::migrate); },
               "clear_reason Ceph's monitors do not answer"},
          line{"start once more", [](start_played& p) { p.set(vm_state::start); }, "over"},
          line{"moved", [](start_played& p) { p.place(vm_state::start, "hv2"); }, "over"},
          line{"gone", [](start_played& p) { p.remove_keys(); }, "over"},
          line{"the daemon stops", [](start_played& p) { p.seen.must_end = true; }, "over"},
          line{"held", [](start_played& p) { p.seen.holds_starts = true; }, "over"},
          line{"it runs", [](start_played& p) { p.seen.guest = guest_class::alive; }, "over"},
          line{"a command is to be carried out", [](start_played& p) { p.seen.is_awaited = true; }, "over"},
          line{"libvirt away", [](start_played& p) { p.seen.guest.reset(); }, "over"}}) {
        auto p = next_start(waiting_for_monitors());
        one.change(p);
        EXPECT_EQ(p.woken(), one.then) << one.what;
        if (!p.is_over()) {
            EXPECT_EQ(p.yes(), "over") << one.what;
        }
    }
}

// Wherever a try of it is: nobody else takes the reason back.
TEST(starting_waits, a_stop_during_a_try_or_as_it_ends) {
    const std::string cleared = "clear_reason Ceph's monitors do not answer";
    auto p = next_start(waiting_for_monitors());
    EXPECT_EQ(p.at_limit(), "others");
    auto early = p;
    early.set(vm_state::stop);
    EXPECT_EQ(early.others(nobody_lists_it), cleared);
    EXPECT_EQ(early.memory.waits, hindrance());
    p.others(nobody_lists_it);
    p.says(with_a_disk);
    p.seen.held.has_turn = true;
    p.woken();
    auto late = p;
    p.set(vm_state::stop);
    EXPECT_EQ(p.call(call_end::timed_out, "no answer"), cleared);
    EXPECT_EQ(p.holds(), holdings());
    EXPECT_EQ(p.yes(), "over");
    EXPECT_EQ(late.call(call_end::timed_out, "no answer"), "end_console");
    late.set(vm_state::stop);
    EXPECT_EQ(late.woken(), cleared);
}

TEST(starting_waits, what_runs_after_all_owes_its_reason) {
    auto p = next_start(waiting_for_monitors());
    p.seen.guest = guest_class::alive;
    p.woken();
    EXPECT_TRUE(p.memory.adoption.owes_reason) << "adopting it clears that";
    EXPECT_EQ(p.memory.waits, hindrance());
}

TEST(starting_waits, no_failure_is_written_while_a_creation_is_out) {
    auto p = being_created();
    p.memory.listing.lost_creation = p.now;
    p.call(call_end::other, "x");
    EXPECT_EQ(p.says(listed({})), "over");
    EXPECT_EQ(p.acts(), lines{"pause 1s"});
}

// ---- networks

TEST(starting_waits, for_the_networks_of_a_node_that_comes_up) {
    auto p = to_be_started();
    p.seen.are_networks_coming = true;
    EXPECT_EQ(p.begin(), "change 5s");
    EXPECT_FALSE(p.did("warning")) << "that takes a moment at each boot";
    auto up = p;
    up.seen.are_networks_coming = false;
    EXPECT_EQ(up.woken(), "others");
    p.at_limit();
    expect_held_up(p, "the networks of this node are not set up yet", start_cause::networks);
    auto again = next_start(p);
    EXPECT_EQ(again.last_question(), "change 5s");
    again.seen.are_networks_coming = false;
    EXPECT_EQ(again.woken(), "others");
}

TEST(starting_waits, for_its_bridge) {
    auto p = to_be_started();
    p.begin();
    p.others(nobody_lists_it);
    p.seen.bridge = {bridge_seen::kind::coming, "vmbr7", {}};
    auto never = p;
    p.says(with_a_disk);
    expect_held_up(p, "its bridge vmbr7 is not there", start_cause::bridge);
    EXPECT_FALSE(p.ever_asked("change")) << "without a turn, and before Ceph is asked";
    p = next_start(p);
    EXPECT_EQ(p.last_question(), "change 5s");
    p.seen.bridge = {};
    p.now += 2s;
    EXPECT_EQ(p.woken(), "others");
    never.seen.bridge.what = bridge_seen::kind::unknown;
    EXPECT_EQ(never.says(with_a_disk), "network_is_gone vmbr7");
    auto just_made = never;
    just_made.no();
    expect_held_up(just_made, "its bridge vmbr7 is not there", start_cause::bridge);
    auto made = never;
    made.seen.bridge = {};
    EXPECT_EQ(made.yes(), "others") << "it is there meanwhile";
    EXPECT_EQ(never.yes(), "own_guest 5s");
    EXPECT_EQ(never.guest(guest_class::absent), "write_failed its bridge vmbr7 belongs to no network that exists");
}

TEST(starting_waits, a_bridge_that_went_while_it_was_created) {
    auto p = being_created();
    p.seen.names_bridges = true;
    EXPECT_EQ(p.call(call_end::other, "no MTU on 'vmbr7'"), "bridges_look 10s") << "the last one is old";
    auto unseen = p;
    unseen.no();
    expect_held_up(unseen, "whether its bridges are there could not be seen: no MTU on 'vmbr7'", start_cause::bridge);
    auto made_anew = p;
    ++made_anew.seen.bridge_losses;
    EXPECT_EQ(made_anew.yes(), "time 500ms");
    EXPECT_EQ(made_anew.at_limit(), "others");
    auto was_there = p;
    EXPECT_EQ(was_there.yes(), "list_rbd_locks vms/web_sda 8s");
    p.seen.bridge = {bridge_seen::kind::coming, "vmbr7", {}};
    p.yes();
    expect_held_up(p, "its bridge vmbr7 is not there", start_cause::bridge);
}

// ---- a turn

TEST(starting_waits, for_a_turn_that_does_not_come) {
    auto p = before_its_turn();
    EXPECT_EQ(p.woken(), "change 60s");
    auto awaited = p;
    awaited.seen.is_awaited = true;
    EXPECT_EQ(awaited.woken(), "over") << "a client's command goes first";
    EXPECT_EQ(p.memory.waits.cause, start_cause::none);
    const std::string reason = "other machines of this node are being created, and take long";
    EXPECT_EQ(p.at_limit(), "write_reason " + reason);
    EXPECT_TRUE(p.did("warning: it waits to be started: " + reason));
    EXPECT_EQ(p.memory.waits.cause, start_cause::turn);
    EXPECT_EQ(p.holds().of_turn, holdings::turn::to_be_created) << "its place is kept";
    EXPECT_EQ(p.yes(), "change");
    EXPECT_TRUE(p.memory.waits.is_written);
    p.seen.held.has_turn = true;
    EXPECT_EQ(p.woken(), "definition");
    EXPECT_EQ(p.memory.waits.cause, start_cause::none) << "it does not wait any more";
}

TEST(starting_waits, who_waits_for_something_else_is_not_counted_for_a_turn) {
    auto p = before_its_turn();
    p.memory.waits.cause = start_cause::ceph;
    EXPECT_EQ(p.woken(), "change");
}

// ---- a stopped node

TEST(starting_waits, for_a_stopped_node_that_may_have_it) {
    auto p = to_be_started();
    p.begin();
    p.others({{"hv2", daemon_state::stop, true}});
    p.nodes({{"hv2", remote_answer::silent}});
    for (int i = 0; i < 20 && p.asked<ask::write_reason>() == nullptr; ++i) {
        if (p.asked<ask::nodes>() != nullptr) {
            p.nodes({{"hv2", remote_answer::silent}});
        } else {
            p.at_limit();
        }
    }
    const std::string reason =
        "node hv2, whose daemon is stopped, has it in its running list, and its libvirt does not say that it is off";
    EXPECT_EQ(p.last_question(), "write_reason " + reason);
    EXPECT_EQ(p.memory.waits.cause, start_cause::stopped_node);
    EXPECT_EQ(p.yes(), "others");
    for (int i = 0; i < 100; ++i) {
        if (p.asked<ask::nodes>() != nullptr) {
            p.nodes({{"hv2", remote_answer::silent}});
        } else if (p.asked<ask::others>() != nullptr) {
            p.others({{"hv2", daemon_state::stop, true}});
        } else {
            p.at_limit();
        }
    }
    EXPECT_EQ(p.count_asked("write_reason"), 1);
    EXPECT_FALSE(p.ever_asked("write_failed"));
}

}  // namespace
}  // namespace pvc::policy
