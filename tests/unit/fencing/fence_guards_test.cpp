// Whatever a write of a fence or of a recovery rests on: if it changes between the last look and the write, the write
// is not made (node-lifecycle.md 10.3, 10.5; README ruling 37).
#include "unit/fencing/fencer_fixture.hpp"
#include "unit/fencing/recovery_fixture.hpp"
#include "unit/node/struck_write.hpp"

namespace pvc::node {
namespace {

constexpr std::string_view stranger_lock = "/6f892bb59b4541c699e870a841d1568b__lock__";

void write_again(memory_ensemble& ensemble, const std::string& path) {
    ensemble.put(path, ensemble.get(path).value_or(""));
}

void drop_locks(memory_ensemble& ensemble, const std::string& queue) {
    for (const auto& name : ensemble.children(queue)) {
        if (name.find("lock__") != std::string::npos) {
            ensemble.remove_tree(queue + "/" + name);
        }
    }
}

// Somebody else has it from now on.
void lose_fence_lock(memory_ensemble& ensemble) {
    drop_locks(ensemble, "/config/fence_lock");
    EXPECT_TRUE(ensemble.create("/config/fence_lock" + std::string(stranger_lock), "hv9:1:fencing:",
                                zookeeper::create_mode::ephemeral_sequential, ensemble.open_session()));
}

// Right before `key` is written to be `data`, this key is written again, as it was, or that lock goes.
struct fence_strike {
    std::string_view name;
    std::string_view key;
    std::string_view data;
    std::string_view changed;
};
void PrintTo(const fence_strike& one, std::ostream* out) {
    *out << one.name;
}
std::string name_of_strike(const testing::TestParamInfo<fence_strike>& one) {
    return std::string(one.param.name);
}

constexpr std::string_view fence_lock_goes = "lock of the fence";
constexpr std::string_view state_lock_goes = "lock of the state";

class fence_guards : public fencer_fixture, public testing::WithParamInterface<fence_strike> {
protected:
    void strike() {
        const std::string_view changed = GetParam().changed;
        if (changed == fence_lock_goes) {
            drop_locks(ensemble, "/config/fence_lock");
        } else if (changed == state_lock_goes) {
            drop_locks(ensemble, "/nodes/hv3/daemonstate");
        } else {
            write_again(ensemble,
                        changed.starts_with("/config") ? std::string(changed) : "/nodes/hv3" + std::string(changed));
        }
    }
};

TEST_P(fence_guards, a_write_is_not_made_on_what_has_changed) {
    sim_node& hv1 = start();
    put_machine(vm1);
    ensemble.put("/nodes/hv3/fenceproof", "20261127T070012.345Z-hv1 hv1 power");  // of another day
    ensemble.put("/nodes/hv3/fencepower", "on hv2");                              // likewise
    const struck_write write(hv1, ensemble, loop, "/nodes/hv3" + std::string(GetParam().key),
                             std::string(GetParam().data), [this] { strike(); });
    dead_for(160s);
    ASSERT_TRUE(write.has_struck()) << hv1.log();
    EXPECT_FALSE(write.is_made()) << hv1.log();
}

INSTANTIATE_TEST_SUITE_P(all, fence_guards,
                         testing::Values(fence_strike{"mark_beat", "/daemonstate", "dead", "/keepalive"},
                                         fence_strike{"mark_state", "/daemonstate", "dead", "/daemonstate"},
                                         fence_strike{"mark_fence_lock", "/daemonstate", "dead", fence_lock_goes},
                                         fence_strike{"mark_state_lock", "/daemonstate", "dead", state_lock_goes},
                                         fence_strike{"fenced_beat", "/daemonstate", "fenced", "/keepalive"},
                                         fence_strike{"fenced_state", "/daemonstate", "fenced", "/daemonstate"},
                                         fence_strike{"fenced_fence_lock", "/daemonstate", "fenced", fence_lock_goes},
                                         fence_strike{"fenced_proof", "/daemonstate", "fenced", "/fenceproof"},
                                         fence_strike{"fenced_domain_state", "/daemonstate", "fenced", "/domainstate"},
                                         fence_strike{"flushed_beat", "/domainstate", "flushed", "/keepalive"},
                                         fence_strike{"flushed_state", "/domainstate", "flushed", "/daemonstate"},
                                         fence_strike{"flushed_fence_lock", "/domainstate", "flushed", fence_lock_goes},
                                         fence_strike{"flushed_domain_state", "/domainstate", "flushed",
                                                      "/domainstate"},
                                         fence_strike{"on_beat", "/fencepower", "on hv1", "/keepalive"},
                                         fence_strike{"on_state", "/fencepower", "on hv1", "/daemonstate"},
                                         fence_strike{"on_word", "/fencepower", "on hv1", "/fencepower"}),
                         name_of_strike);

// The role of a primary that cannot be switched off.
class fence_guards_of_the_role : public fence_guards {};

TEST_P(fence_guards_of_the_role, it_is_not_taken_on_what_has_changed) {
    sim_node& hv1 = start("coordinator", {.coordinators = {"hv1", "hv2", "hv3"}});
    ensemble.put("/nodes/hv3/routerstate", "primary");
    ensemble.put("/config/primary_node", "hv3");
    run_with_beats(10s, {"hv2", "hv3"});
    board.refuses = true;
    const struck_write write(hv1, ensemble, loop, "/nodes/hv3/routerstate", "secondary", [this] { strike(); });
    dead_for(110s);
    ASSERT_TRUE(write.has_struck()) << hv1.log();
    EXPECT_FALSE(write.is_made()) << hv1.log();
}

INSTANTIATE_TEST_SUITE_P(all, fence_guards_of_the_role,
                         testing::Values(fence_strike{"beat", {}, {}, "/keepalive"},
                                         fence_strike{"state", {}, {}, "/daemonstate"},
                                         fence_strike{"role", {}, {}, "/routerstate"},
                                         fence_strike{"name", {}, {}, "/config/primary_node"},
                                         fence_strike{"fence_lock", {}, {}, fence_lock_goes}),
                         name_of_strike);

// Between the wish for a lock and the write under it somebody else gets the fence lock. With another one in front of it
// in the queue of that lock this node has noticed by the time of the write.
template <class Base>
class lost_fence_lock : public Base, public testing::WithParamInterface<bool> {
protected:
    // True: it came to that, and the write had the time to be made.
    template <class Pass>
    bool lose_it_before_a_write_under(sim_node& by, const std::string& queue, Pass pass) {
        std::string first;
        if (GetParam()) {
            auto made = this->ensemble.create(queue + std::string(stranger_lock),
                                              "hv9:1:client:", zookeeper::create_mode::ephemeral_sequential,
                                              this->ensemble.open_session());
            EXPECT_TRUE(made);
            first = made ? *made : std::string();
        }
        bool is_lost = false;
        by.connector.link().on_request = [&](const zookeeper::request& asked) {
            if (asked.what == zookeeper::request::kind::create && asked.path.starts_with(queue + "/") &&
                !std::exchange(is_lost, true)) {
                lose_fence_lock(this->ensemble);
            }
            return sim::verdict::answer;
        };
        for (int i = 0; i < 90 && !is_lost; ++i) {
            pass(1s);
        }
        if (!first.empty()) {
            this->ensemble.remove_tree(first);
        }
        pass(5s);
        by.connector.link().on_request = nullptr;
        return is_lost;
    }
};

using lost_fence_lock_marks = lost_fence_lock<fencer_fixture>;

TEST_P(lost_fence_lock_marks, nobody_is_marked_once_the_fence_lock_is_gone) {
    sim_node& hv1 = start();
    EXPECT_TRUE(lose_it_before_a_write_under(hv1, "/nodes/hv3/daemonstate", [this](duration time) { dead_for(time); }));
    EXPECT_EQ(state(), "run") << hv1.log();
}

INSTANTIATE_TEST_SUITE_P(is_noticed, lost_fence_lock_marks, testing::Bool());

class recovery_guards : public recovery_test, public testing::WithParamInterface<fence_strike> {
protected:
    void strike() {
        const std::string changed(GetParam().changed);
        const std::string machine = model::domain_path(to_text(number(1)));
        if (changed == fence_lock_goes) {
            ensemble.remove_tree(hold.path);
        } else if (changed == state_lock_goes) {
            drop_locks(ensemble, machine + "/state");
        } else {
            write_again(ensemble, changed.starts_with("/nodes") ? changed : machine + changed);
        }
    }
};

// To hv2; or, with "stop", nobody may take it.
TEST_P(recovery_guards, a_machine_is_not_written_on_what_has_changed) {
    const bool is_parked = GetParam().data == "stop";
    put_machine(1, "start", "hv3", "", {{"/node_limit", is_parked ? "hv3,hv9" : "hv2"}});
    sim_node& hv1 = add_host("hv1");
    hv1.settings.coordinators = {"hv1"};
    const struck_write write(hv1, ensemble, loop, model::domain_path(to_text(number(1)), std::string(GetParam().key)),
                             std::string(GetParam().data), [this] { strike(); });
    begin(hv1);
    ASSERT_TRUE(run_until([&] { return outcome.has_value(); }, 300s)) << hv1.log();
    ASSERT_TRUE(write.has_struck()) << hv1.log();
    EXPECT_FALSE(write.is_made()) << hv1.log();
}

INSTANTIATE_TEST_SUITE_P(all, recovery_guards,
                         testing::Values(fence_strike{"dead_node", "/node", "hv2", "/nodes/hv3/daemonstate"},
                                         fence_strike{"its_beat", "/node", "hv2", "/nodes/hv3/keepalive"},
                                         fence_strike{"fence_lock", "/node", "hv2", fence_lock_goes},
                                         fence_strike{"state_lock", "/node", "hv2", state_lock_goes},
                                         fence_strike{"state", "/node", "hv2", "/state"},
                                         fence_strike{"node", "/node", "hv2", "/node"},
                                         fence_strike{"last_node", "/node", "hv2", "/lastnode"},
                                         fence_strike{"autostart", "/node", "hv2", "/node_autostart"},
                                         fence_strike{"target", "/node", "hv2", "/nodes/hv2/daemonstate"},
                                         fence_strike{"target_readiness", "/node", "hv2", "/nodes/hv2/domainstate"},
                                         fence_strike{"parked_node", "/state", "stop", "/node"},
                                         fence_strike{"parked_autostart", "/state", "stop", "/node_autostart"}),
                         name_of_strike);

// What is left of a list, written by the fencer itself.
class leftover_stage : public recovery_test {
protected:
    sim_node& stage() {
        put_machine(1, "start", "hv3", "", {{"/node_limit", "hv2,hv4"}});
        list("hv3", "0 " + to_text(number(1)) + " " + to_text(number(9)));
        ensemble.put("/nodes/hv3/domainstate", "flushed");
        ensemble.put("/nodes/hv3/fenceproof", "20261127T070012.345Z-hv1 hv1 power");
        sim_node& hv1 = add_host("hv1");
        hv1.settings.coordinators = {"hv1"};
        return hv1;
    }
    void play(sim_node& hv1) {
        hv1.start();
        EXPECT_TRUE(hv1.run_until_ready()) << hv1.log();
        run_with_beats(90s, {"hv2", "hv4"});
    }
};

class leftover_guards : public leftover_stage, public testing::WithParamInterface<fence_strike> {};

TEST_P(leftover_guards, the_list_is_not_written_on_what_has_changed) {
    offer("hv2", "10");
    offer("hv4", "10");
    sim_node& hv1 = stage();
    const struck_write write(hv1, ensemble, loop, "/nodes/hv3/runningdomains", to_text(number(1)), [this] {
        const std::string changed(GetParam().changed);
        if (changed == fence_lock_goes) {
            drop_locks(ensemble, "/config/fence_lock");
        } else {
            write_again(ensemble, "/nodes/hv3" + changed);
        }
    });
    play(hv1);
    ASSERT_TRUE(write.has_struck()) << hv1.log();
    EXPECT_FALSE(write.is_made()) << hv1.log();
}

INSTANTIATE_TEST_SUITE_P(all, leftover_guards,
                         testing::Values(fence_strike{"list", {}, {}, "/runningdomains"},
                                         fence_strike{"dead_node", {}, {}, "/daemonstate"},
                                         fence_strike{"its_beat", {}, {}, "/keepalive"},
                                         fence_strike{"fence_lock", {}, {}, fence_lock_goes}),
                         name_of_strike);

using lost_fence_lock_leftovers = lost_fence_lock<leftover_stage>;

// A recovery that the fencer goes on with.
TEST_P(lost_fence_lock_leftovers, a_machine_that_was_left_is_not_written_once_the_fence_lock_is_gone) {
    sim_node& hv1 = stage();
    hv1.start();
    EXPECT_TRUE(lose_it_before_a_write_under(hv1, model::domain_path(to_text(number(1)), "/state"),
                                             [this](duration time) { run_with_beats(time, {"hv2", "hv4"}); }));
    EXPECT_EQ(where(1), "start hv3  False") << hv1.log();
}

INSTANTIATE_TEST_SUITE_P(is_noticed, lost_fence_lock_leftovers, testing::Bool());

// What follows from a look that was answered late begins no more.
TEST_F(fencer_fixture, nobody_is_switched_off_on_a_look_that_is_too_old) {
    sim_node& hv1 = start();
    ASSERT_TRUE(run_until(
        [this] {
            dead_for(100ms);
            return state() == "dead";
        },
        60s));
    hv1.connector.link().answer_delay = 2100ms;
    dead_for(120s);
    EXPECT_TRUE(offs().empty()) << hv1.log();
}

// The client of a machine's disk likewise.
TEST_F(recovery_test, no_client_is_blocklisted_by_command_on_a_look_that_is_too_old) {
    put_machine(1);
    hardware.rbd.sends_times_as_text = true;
    sim_node& hv1 = add_host("hv1");
    hv1.settings.coordinators = {"hv1"};
    hv1.connector.link().on_request = [&](const zookeeper::request& asked) {
        const bool is_not_understood = std::ranges::any_of(
            hardware.rbd.calls(), [](const std::string& one) { return one.starts_with("break vms/m1"); });
        if (is_not_understood && asked.path == "/nodes/hv3/daemonstate") {
            hv1.connector.link().answer_delay = 2500ms;
        }
        return sim::verdict::answer;
    };
    begin(hv1);
    ASSERT_TRUE(run_until([&] { return outcome.has_value(); }, 900s)) << hv1.log();
    EXPECT_EQ(hv1.connector.link().answer_delay, 2500ms);
    EXPECT_FALSE(hardware.rbd.is_blocklisted("10.254.0.3:0/1"));
    EXPECT_EQ(where(1), "start hv3  False") << why(1);
}

}  // namespace
}  // namespace pvc::node
