// Something happens at every moment of an operation: the daemon is killed, its session is lost, somebody wants
// something else. Each time the end is the one that was wanted last, with one copy at most, and nobody's word is
// overwritten.
#include "domain_effects.hpp"

#include <array>

namespace pvc::node {
namespace {

struct change_of_state {
    const char* name;
    const char* before;
    const char* wish;
    const char* end;  // what the state becomes if nobody interferes
    int until_ms;     // the operation is over by then
    const char* kind;
};
constexpr std::array all_changes{
    change_of_state{"start", "stop", "start", "start", 450, "acpi"},
    change_of_state{"shutdown", "start", "shutdown", "stop", 2800, "acpi"},
    change_of_state{"shutdown_ignored", "start", "shutdown", "stop", 7000, "hang"},
    change_of_state{"stop", "start", "stop", "stop", 1800, "acpi"},
    change_of_state{"restart", "start", "restart", "start", 3200, "acpi"},
    change_of_state{"disable", "start", "disable", "disable", 2800, "acpi"},
};

class domain_moments : public effects_test, public ::testing::WithParamInterface<change_of_state> {
protected:
    // The state before, settled.
    void prepare(const change_of_state& change) {
        if (ensemble.exists(key())) {
            set("stop");
            ASSERT_TRUE(run_until([&] { return !guest().is_there() && value(key("/vnc")).empty(); }));
        }
        define("stop", "hv1", "", {{"/xml", xml(u1, "web", std::string("<!-- sim:") + change.kind + " -->")}});
        pass(500ms);
        if (std::string(change.before) == "start") {
            set("start");
            ASSERT_TRUE(run_until([&] { return !value(key("/vnc")).empty(); }));
        }
        pass(500ms);
        mark();
    }
    void expect_end(const std::string& end) {
        if (end == "start") {
            expect_running();
        } else {
            expect_off(end);
        }
        EXPECT_EQ(value(key("/failedreason")), "");
        EXPECT_EQ(hardware.centre.double_runs(), 0U);
    }
    // Dense at first, where most happens.
    static int next(int offset, int step) { return offset + (offset < 100 ? std::min(step, 5) : step); }
};

TEST_P(domain_moments, killed_and_started_again) {
    const auto& change = GetParam();
    settled_host();
    for (int offset = 0; offset < change.until_ms; offset = next(offset, change.until_ms > 3000 ? 30 : 10)) {
        prepare(change);
        set(change.wish);
        pass(offset * 1ms);
        hv1().kill();
        pass(700ms);
        hv1().start();
        ASSERT_TRUE(hv1().run_until_ready());
        pass(9s);
        expect_end(change.end);
        ASSERT_FALSE(HasFailure()) << offset << " ms: " << pvc::join(effects(), "; ");
    }
}

TEST_P(domain_moments, killed_for_a_minute) {
    const auto& change = GetParam();
    settled_host();
    for (int offset = 0; offset < change.until_ms; offset = next(offset, 100)) {
        prepare(change);
        set(change.wish);
        pass(offset * 1ms);
        hv1().kill();
        pass(60s);
        hv1().start();
        ASSERT_TRUE(hv1().run_until_ready());
        pass(9s);
        expect_end(change.end);
        ASSERT_FALSE(HasFailure()) << offset << " ms: " << pvc::join(effects(), "; ");
    }
}

TEST_P(domain_moments, session_lost) {
    const auto& change = GetParam();
    settled_host();
    for (int offset = 0; offset < change.until_ms; offset = next(offset, 50)) {
        prepare(change);
        set(change.wish);
        pass(offset * 1ms);
        for (const auto session : ensemble.sessions()) {
            ensemble.expire_session(session);
        }
        pass(15s);
        expect_end(change.end);
        EXPECT_EQ(state_of(hv1()), "run");
        ASSERT_FALSE(HasFailure()) << offset << " ms: " << pvc::join(effects(), "; ");
    }
}

TEST_P(domain_moments, connection_lost_for_a_while) {
    const auto& change = GetParam();
    settled_host();
    for (int offset = 0; offset < change.until_ms; offset = next(offset, 50)) {
        prepare(change);
        set(change.wish);
        pass(offset * 1ms);
        hv1().connector.link().cut();
        pass(3s);
        hv1().connector.link().mend();
        pass(15s);
        expect_end(change.end);
        ASSERT_FALSE(HasFailure()) << offset << " ms: " << pvc::join(effects(), "; ");
    }
}

TEST_P(domain_moments, stopped_process) {
    const auto& change = GetParam();
    settled_host();
    for (int offset = 0; offset < change.until_ms; offset = next(offset, 100)) {
        prepare(change);
        set(change.wish);
        pass(offset * 1ms);
        hv1().pause();
        pass(8s);
        hv1().resume();
        pass(20s);
        expect_end(change.end);
        ASSERT_FALSE(HasFailure()) << offset << " ms: " << pvc::join(effects(), "; ");
    }
}

TEST_P(domain_moments, libvirtd_restarted) {
    const auto& change = GetParam();
    settled_host();
    for (int offset = 0; offset < change.until_ms; offset = next(offset, 50)) {
        prepare(change);
        set(change.wish);
        pass(offset * 1ms);
        machine().restart_libvirtd();
        pass(20s);
        expect_end(change.end);
        ASSERT_FALSE(HasFailure()) << offset << " ms: " << pvc::join(effects(), "; ");
    }
}

// Another wish, at every moment of the operation: it is the one that counts.
TEST_P(domain_moments, another_wish) {
    const auto& change = GetParam();
    settled_host();
    const std::map<std::string, std::string> wishes{{"start", "start"},   {"stop", "stop"},       {"shutdown", "stop"},
                                                    {"restart", "start"}, {"disable", "disable"}, {"mirror", "mirror"},
                                                    {"delete", "delete"}};
    for (const auto& [wish, end] : wishes) {
        for (int offset = 0; offset < change.until_ms; offset = next(offset, change.until_ms > 3000 ? 100 : 20)) {
            prepare(change);
            set(change.wish);
            pass(offset * 1ms);
            const auto seen = state();
            set(wish);
            pass(10s);
            if (wish == "delete") {
                EXPECT_FALSE(guest().is_there());
                EXPECT_EQ(running(), "");
                EXPECT_EQ(state(), "delete");
            } else {
                expect_end(end);
            }
            ASSERT_FALSE(HasFailure()) << wish << " after " << offset << " ms (" << seen
                                       << "): " << pvc::join(effects(), "; ") << "\n"
                                       << pvc::join(values_written(key("/state")), " ");
            ensemble.clear_trace();
        }
    }
}

INSTANTIATE_TEST_SUITE_P(changes, domain_moments, ::testing::ValuesIn(all_changes),
                         [](const auto& change) { return std::string(change.param.name); });

class domain_crowd : public effects_test {};

TEST_F(domain_crowd, wishes_in_quick_succession) {
    define("stop", "hv1");
    settled_host();
    const std::vector<std::string> words{"start", "stop", "start",    "restart", "shutdown", "start", "disable",
                                         "start", "stop", "shutdown", "restart", "stop",     "start"};
    for (int gap = 0; gap <= 600; gap += 10) {
        for (const auto& word : words) {
            set(word);
            pass(gap * 1ms);
        }
        pass(12s);
        expect_running();
        set("stop");
        pass(4s);
        expect_off("stop");
        ASSERT_FALSE(HasFailure()) << gap << ": " << pvc::join(effects(), "; ");
        mark();
    }
}

TEST_F(domain_crowd, two_hundred) {
    constexpr int many = 200;
    for (int i = 0; i < many; ++i) {
        define("start", "hv1", "", {}, numbered(i), "vm" + std::to_string(i));
    }
    add_running_host();
    const auto from = loop.clock().now();
    pass(30s);
    EXPECT_EQ(machine().guests().size(), static_cast<std::size_t>(many));
    EXPECT_EQ(machine().most_creations(), 8U);
    EXPECT_EQ(split_blanks(running()).size(), static_cast<std::size_t>(many));
    const auto set_all = [&](const std::string& state) {
        for (int i = 0; i < many; ++i) {
            ensemble.put(model::domain_path(to_text(numbered(i)), "/state"), state);
        }
    };
    set_all("shutdown");
    pass(10s);
    EXPECT_TRUE(machine().guests().empty());
    EXPECT_EQ(running(), "");
    for (int i = 0; i < many; ++i) {
        EXPECT_EQ(value(model::domain_path(to_text(numbered(i)), "/state")), "stop");
    }
    set_all("start");
    pass(15s);
    set_all("restart");
    pass(20s);
    EXPECT_EQ(machine().guests().size(), static_cast<std::size_t>(many));
    set_all("stop");
    pass(10s);
    EXPECT_TRUE(machine().guests().empty());
    EXPECT_EQ(running(), "");
    EXPECT_LT(beat_gaps("hv1", from).front(), 5.1);
}

// Guests of a host that lost its power are all started again.
TEST_F(domain_crowd, the_host_loses_its_power) {
    for (int i = 0; i < 20; ++i) {
        define("start", "hv1", "", {}, numbered(i), "vm" + std::to_string(i));
    }
    add_running_host();
    pass(10s);
    hv1().lose_power();
    EXPECT_TRUE(machine().guests().empty());
    pass(60s);
    hv1().start();
    ASSERT_TRUE(hv1().run_until_ready());
    pass(10s);
    EXPECT_EQ(machine().guests().size(), 20U);
    EXPECT_EQ(split_blanks(running()).size(), 20U);
}

}  // namespace
}  // namespace pvc::node
