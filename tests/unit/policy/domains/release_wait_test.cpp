// Who has it in his running list, whose list counts, whom to ask, and for how long.
#include "pvcnoded/policy/domains/release_wait.hpp"

#include "machine_world.hpp"

namespace pvc::policy {
namespace {

using namespace std::chrono_literals;
using model::daemon_state;
using model::guest_class;
using released = told_to_go_on<release_wait>;
using release_end = release_wait::outcome;

// As a start has them.
played<released> waiting_before_a_start() {
    played<released> p;
    p.machine.part.rules = {.ask_after = 15s, .give_up_after = 150s};
    return p;
}
// As the end of a shutdown has them.
played<released> after_a_shutdown() {
    played<released> p;
    p.machine.part.rules = {.includes_stopped = true, .ask_after = 10s};
    return p;
}

TEST(release_wait_machine, what_can_be_the_name_of_a_node) {
    for (const std::string_view name : {"hv1", "a", "hv-1.x"}) {
        EXPECT_TRUE(may_be_a_node(name)) << name;
    }
    for (const std::string_view name : {"", "/", "hv1/keepalive", ".", ".."}) {
        EXPECT_FALSE(may_be_a_node(name)) << name;
    }
}

TEST(release_wait_machine, nobody_lists_it) {
    auto p = waiting_before_a_start();
    EXPECT_EQ(p.begin(), "others");
    EXPECT_EQ(p.others({{"hv2", daemon_state::run, false}}), "over");
    EXPECT_EQ(p.machine.part.end, release_end::clear);
    EXPECT_TRUE(p.acts().empty());
}

TEST(release_wait_machine, D112_whose_list_counts) {
    for (const bool includes_stopped : {false, true}) {
        for (const auto state : {daemon_state::run, daemon_state::init, daemon_state::shutdown, daemon_state::stop,
                                 daemon_state::dead, daemon_state::fenced}) {
            auto p = includes_stopped ? after_a_shutdown() : waiting_before_a_start();
            p.begin();
            const bool is_up =
                state == daemon_state::run || state == daemon_state::init || state == daemon_state::shutdown;
            const bool counts = is_up || (includes_stopped && state != daemon_state::fenced);
            const bool is_asked = !counts && state == daemon_state::stop;
            const std::string expected = counts     ? includes_stopped ? "change 10s" : "change 15s"
                                         : is_asked ? "nodes hv2"
                                                    : "over";
            EXPECT_EQ(p.others({{"hv2", state, true}}), expected)
                << model::to_text(state) << ", includes_stopped " << includes_stopped;
        }
    }
}

TEST(release_wait_machine, D112_it_goes_after_a_while) {
    auto p = waiting_before_a_start();
    p.begin();
    EXPECT_EQ(p.others({{"hv2", daemon_state::run, true}}), "change 15s");
    EXPECT_EQ(p.acts(), (std::vector<std::string>{"info: waiting: node hv2 still has it in its running list"}));
    EXPECT_EQ(p.holds().lists, (std::vector<std::string>{"hv2"})) << "its list is followed";
    EXPECT_EQ(p.after(4s), "others");
    EXPECT_EQ(p.others({{"hv2", daemon_state::run, false}}), "over");
    EXPECT_EQ(p.machine.part.end, release_end::clear);
    EXPECT_EQ(p.count("info"), 1) << "told once";
}

TEST(release_wait_machine, D112_asked_after_15_s_and_it_does_not_have_it) {
    auto p = waiting_before_a_start();
    p.begin();
    p.others({{"hv2", daemon_state::run, true}});
    EXPECT_EQ(p.after(14999ms), "others");
    EXPECT_EQ(p.others({{"hv2", daemon_state::run, true}}), "change 1ms");
    EXPECT_EQ(p.at_limit(), "others");
    EXPECT_EQ(p.others({{"hv2", daemon_state::run, true}}), "nodes hv2");
    EXPECT_EQ(p.nodes({{"hv2", remote_answer::absent}}), "others") << "somebody else may have it by now";
    EXPECT_EQ(p.others({{"hv2", daemon_state::run, true}}), "over") << "its list says nothing any more";
    EXPECT_EQ(p.machine.part.end, release_end::clear);
}

TEST(release_wait_machine, somebody_else_got_it_while_the_first_was_asked) {
    auto p = waiting_before_a_start();
    p.begin();
    p.others({{"hv2", daemon_state::run, true}});
    p.after(15s);
    p.others({{"hv2", daemon_state::run, true}});
    p.nodes({{"hv2", remote_answer::absent}});
    EXPECT_EQ(p.others({{"hv2", daemon_state::run, true}, {"hv3", daemon_state::run, true}}), "change 5s");
    EXPECT_EQ(p.after(5s), "others");
    EXPECT_EQ(p.others({{"hv2", daemon_state::run, true}, {"hv3", daemon_state::run, true}}), "nodes hv3")
        << "who has said no is not asked again";
}

TEST(release_wait_machine, D112_still_there_or_silent_after_150_s) {
    for (const auto said : {remote_answer::alive, remote_answer::silent, remote_answer::refused, remote_answer::hanging,
                            remote_answer::shut_off, remote_answer::ending, remote_answer::incoming}) {
        auto p = waiting_before_a_start();
        p.begin();
        p.others({{"hv2", daemon_state::run, true}});
        const time_point began = p.now;
        int questions = 0;
        while (!p.is_over()) {
            p.at_limit();
            p.others({{"hv2", daemon_state::run, true}});
            if (p.asked<ask::nodes>() != nullptr) {
                ++questions;
                p.nodes({{"hv2", said}});
            }
        }
        EXPECT_EQ(p.now - began, duration(150s));
        EXPECT_EQ(p.machine.part.end, release_end::still_there);
        EXPECT_EQ(p.machine.part.node, "hv2");
        EXPECT_EQ(questions, 28) << "at 15, 20, 25 … 150 s";
    }
}

TEST(release_wait_machine, D114_after_a_shutdown_asked_after_10_s_and_for_ever) {
    auto p = after_a_shutdown();
    p.begin();
    EXPECT_EQ(p.others({{"hv2", daemon_state::run, true}}), "change 10s");
    p.at_limit();
    EXPECT_EQ(p.others({{"hv2", daemon_state::run, true}}), "nodes hv2");
    for (int i = 0; i < 100; ++i) {
        EXPECT_EQ(p.nodes({{"hv2", remote_answer::silent}}), "change 5s") << "a silence writes nothing";
        p.at_limit();
        EXPECT_EQ(p.others({{"hv2", daemon_state::run, true}}), "nodes hv2");
    }
    EXPECT_EQ(p.nodes({{"hv2", remote_answer::absent}}), "others");
    EXPECT_EQ(p.others({{"hv2", daemon_state::run, true}}), "over");
    EXPECT_EQ(p.machine.part.end, release_end::clear);
}

// A daemon that was stopped in order leaves its guests running, and what libvirtd was told to create comes later: a
// silence says nothing, wherever the domain ran before.
TEST(release_wait_machine, a_stopped_node_that_lists_it_is_asked_at_once_and_only_a_clear_answer_counts) {
    for (const auto said :
         {remote_answer::absent, remote_answer::alive, remote_answer::halted, remote_answer::being_made,
          remote_answer::incoming, remote_answer::ending, remote_answer::shut_off, remote_answer::refused,
          remote_answer::hanging, remote_answer::silent}) {
        for (const bool ran_there : {false, true}) {
            auto p = waiting_before_a_start();
            p.seen.came_from = ran_there ? "hv2" : "";
            p.begin();
            EXPECT_EQ(p.others({{"hv2", daemon_state::stop, true}}), "nodes hv2");
            const bool is_free = said == remote_answer::absent;
            EXPECT_EQ(p.nodes({{"hv2", said}}), is_free ? "over" : "change 5s") << static_cast<int>(said);
            EXPECT_EQ(p.is_over() && p.machine.part.end == release_end::clear, is_free);
        }
    }
}

TEST(release_wait_machine, a_stopped_node_is_waited_for_as_long_as_it_lasts) {
    auto p = waiting_before_a_start();
    p.begin();
    EXPECT_EQ(p.others({{"hv2", daemon_state::stop, true}}), "nodes hv2");
    const time_point began = p.now;
    for (auto next = p.nodes({{"hv2", remote_answer::silent}}); p.now - began < 1h;) {
        ASSERT_TRUE(next.starts_with("change ")) << next;
        EXPECT_EQ(p.at_limit(), "others");
        next = p.others({{"hv2", daemon_state::stop, true}});
        while (p.asked<ask::nodes>() != nullptr) {
            next = p.nodes({{"hv2", remote_answer::silent}});
        }
    }
    EXPECT_TRUE(
        p.did("info: waiting: node hv2, whose daemon is stopped, has it in its running list, and its libvirt does "
              "not say that it is off"));
    EXPECT_EQ(p.count("info"), 1) << "told once";
    // Its daemon is started again: from here on it is at work, and has the time that any other has.
    const time_point back = p.now;
    while (!p.is_over()) {
        p.at_limit();
        p.others({{"hv2", daemon_state::run, true}});
        if (p.asked<ask::nodes>() != nullptr) {
            p.nodes({{"hv2", remote_answer::alive}});
        }
    }
    EXPECT_EQ(p.machine.part.end, release_end::still_there);
    EXPECT_GE(p.now - back, duration(150s));
    EXPECT_LE(p.now - back, duration(160s));
}

TEST(release_wait_machine, a_stopped_node_is_asked_again_every_five_seconds) {
    auto p = waiting_before_a_start();
    p.begin();
    p.others({{"hv2", daemon_state::stop, true}});
    EXPECT_EQ(p.nodes({{"hv2", remote_answer::alive}}), "change 5s");
    p.after(2s);
    EXPECT_EQ(p.others({{"hv2", daemon_state::stop, true}}), "change 3s") << "what it said still counts";
    p.at_limit();
    EXPECT_EQ(p.others({{"hv2", daemon_state::stop, true}}), "nodes hv2");
    EXPECT_EQ(p.nodes({{"hv2", remote_answer::absent}}), "over");
    EXPECT_EQ(p.machine.part.end, release_end::clear);
}

TEST(release_wait_machine, the_receiver_of_a_hand_over_may_list_it) {
    auto p = waiting_before_a_start();
    p.machine.part.rules = {.ask_after = 15s, .receiver = "hv2"};
    p.begin();
    EXPECT_EQ(p.others({{"hv2", daemon_state::run, true}}), "over");
    EXPECT_EQ(p.machine.part.end, release_end::clear);
}

TEST(release_wait_machine, lists_that_cannot_be_read_are_read_again_in_a_second) {
    auto p = waiting_before_a_start();
    p.begin();
    EXPECT_EQ(p.says(others_read{}), "change 1s");
    EXPECT_EQ(p.at_limit(), "others");
    EXPECT_EQ(p.others({}), "over");
    EXPECT_EQ(p.machine.part.end, release_end::clear);
}

TEST(release_wait_machine, nobody_wants_to_know_any_more_in_every_step) {
    auto p = waiting_before_a_start();
    p.begin();
    p.says(others_read{});
    p.at_limit();
    p.others({{"hv2", daemon_state::stop, true}, {"hv3", daemon_state::run, true}});
    p.nodes({{"hv2", remote_answer::alive}});
    p.after(15s);
    p.others({{"hv3", daemon_state::run, true}});
    p.nodes({{"hv3", remote_answer::alive}});
    for (auto one : p.on_its_way()) {
        one.machine.goes_on = false;
        SCOPED_TRACE(text_of(one.next, one.now));
        const auto questions = one.count_asked("");
        quiet_world<released> world(one);
        EXPECT_TRUE(world.wind_up(1)) << "at once";
        EXPECT_EQ(one.count_asked(""), questions + 1);
        EXPECT_EQ(one.machine.part.end, release_end::changed);
    }
}

}  // namespace
}  // namespace pvc::policy
