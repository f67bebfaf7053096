// Corners: what few clients do, few guests are, and few libvirts answer, but some do (vm-domains.md 4, 6, 9.3, 10).
#include "domain_effects.hpp"

#include "pvcnoded/base/random.hpp"

#include <array>

namespace pvc::node {
namespace {

using hypervisor::call_error;

class domain_corner : public effects_test {
protected:
    static constexpr const char* file = "/var/log/libvirt/web.log";
    static std::string euros(std::size_t after) {
        std::string text(after, 'x');
        for (int i = 0; i < 50; ++i) {
            text += "\xe2\x82\xac";
        }
        return text;
    }
};

TEST_F(domain_corner, a_failure_without_a_key_for_its_reason) {
    define("stop", "hv1");
    settled_host();
    (void)ensemble.remove(key("/failedreason"));
    guest().fail_always("create", refusal(call_error::other, "Cannot access storage file"));
    set("start");
    pass(60s);
    EXPECT_EQ(count("create U1"), 1U);
    EXPECT_EQ(state(), "fail");
    EXPECT_TRUE(value(key("/failedreason")).starts_with("Cannot access")) << value(key("/failedreason"));
}

TEST_F(domain_corner, libvirt_cannot_be_asked_by_libvirt) {
    define("stop", "hv1");
    settled_host();
    guest().fail_always("create",
                        refusal(call_error::unavailable, "no connection driver available for secret:///system"));
    set("start");
    pass(20s);
    EXPECT_EQ(state(), "start");
    EXPECT_GE(count("create U1"), 2U);
    EXPECT_LE(count("create U1"), 41U);
    guest().clear_faults();
    pass(2s);
    expect_running();
}

TEST_F(domain_corner, a_guest_that_was_kept_after_its_crash) {
    define_running();
    settled_host();
    guest().set_status({run_state::crashed, pause_cause::none});
    pass(10s);
    EXPECT_EQ(count("destroy U1"), 1U);
    expect_running();
}

TEST_F(domain_corner, a_crashed_guest_found_at_daemon_start) {
    define("start", "hv1");
    guest().appear("web", xml(u1), {run_state::crashed, pause_cause::none});
    settled_host();
    pass(10s);
    expect_running();
}

TEST_F(domain_corner, a_crashed_guest_that_libvirt_starts_itself) {
    define_running();
    settled_host();
    guest().set_status({run_state::crashed, pause_cause::none});
    pass(50ms);
    guest().set_status({run_state::running, pause_cause::none});
    pass(10s);
    expect_running();
    EXPECT_EQ(count("destroy U1"), 0U);
}

TEST_F(domain_corner, the_console_is_silent_once_delete_was_seen) {
    define_running();
    settled_host();
    pass(2s);
    hv1().consoles.append(file, "one\n");
    pass(2s);
    EXPECT_EQ(value(key("/consolelog")), "one\n");
    set("delete");
    pass(200ms);
    hv1().consoles.append(file, "two\n");
    pass(10s);
    EXPECT_FALSE(guest().is_there());
    EXPECT_EQ(value(key("/consolelog")), "one\n");
    EXPECT_EQ(hv1().consoles.followers(file), 0U);
}

TEST_F(domain_corner, a_long_reason_ends_with_a_whole_character) {
    define("stop", "hv1");
    settled_host();
    for (std::size_t length = 1990; length < 2003; ++length) {
        guest().fail_next("create", refusal(call_error::other, euros(length)));
        set("start");
        pass(3s);
        EXPECT_EQ(state(), "fail");
        const auto reason = value(key("/failedreason"));
        EXPECT_LE(reason.size(), 2000U);
        EXPECT_GE(reason.size(), 1990U);
        EXPECT_EQ((reason.size() - std::min(length, reason.size())) % 3, 0U) << length;
    }
    guest().fail_next("create", refusal(call_error::other, "bad \xff\xfe bytes"));
    set("start");
    pass(3s);
    EXPECT_EQ(value(key("/failedreason")), "bad \xef\xbf\xbd\xef\xbf\xbd bytes");
}

TEST_F(domain_corner, a_guest_that_stops_executing_is_told_once) {
    define_running();
    settled_host();
    guest().set_status({run_state::suspended, pause_cause::none});
    pass(20s);
    EXPECT_EQ(hv1().times_logged("it is paused"), 1U) << hv1().log();
    EXPECT_EQ(effects(), texts{});
    guest().set_status({run_state::running, pause_cause::none});
    pass(2s);
    guest().suspend();
    pass(20s);
    EXPECT_EQ(hv1().times_logged("it is paused"), 2U);
    EXPECT_EQ(effects(), texts{});
}

// A script that creates a domain key by key, slower than a daemon reads them.
TEST_F(domain_corner, a_domain_that_appears_key_by_key) {
    settled_host();
    for (const int step : {1, 5, 20, 100, 400, 1500}) {
        const std::map<std::string, std::string> keys{{"/xml", xml(u1)},    {"/lastnode", ""},  {"/node", "hv1"},
                                                      {"/rbdlist", ""},     {"/state", "stop"}, {"/vnc", ""},
                                                      {"/failedreason", ""}};
        ensemble.put(key(), "web");
        pass(step * 1ms);
        for (const auto& [suffix, text] : keys) {
            ensemble.put(key(suffix), text);
            pass(step * 1ms);
        }
        pass(500ms);
        mark();
        set("start");
        pass(500ms);
        EXPECT_EQ(count("create U1"), 1U) << step;
        pass(2s);
        expect_running();
        set("stop");
        pass(5s);
        set("delete");
        ensemble.remove_tree(key());
        pass(5s);
    }
}

TEST_F(domain_corner, a_key_that_is_repaired) {
    for (const char* suffix : {"/state", "/node"}) {
        define_running();
        if (nodes.empty()) {
            settled_host();
        }
        pass(3s);
        (void)ensemble.remove(key(suffix));
        pass(60s);
        EXPECT_TRUE(guest().executes());
        // It is not looked for again and again.
        const auto before = ensemble.counters().reads;
        pass(60s);
        EXPECT_LT(ensemble.counters().reads - before, 300U);
        ensemble.put(key(suffix), std::string(suffix) == "/state" ? "stop" : "hv1");
        pass(8s);
        set("stop");
        pass(5s);
        expect_off("stop");
    }
}

// Its node may die before it is started again: a fencer must find it in the list.
TEST_F(domain_corner, a_guest_that_ends_while_the_session_is_lost) {
    define_running();
    settled_host();
    hv1().connector.link().cut();
    pass(2s);
    guest().vanish();
    pass(20s);
    for (const auto session : ensemble.sessions()) {
        ensemble.expire_session(session);
    }
    mark();
    hv1().connector.link().mend();
    pass(20s);
    expect_running();
    EXPECT_EQ(count("create U1"), 1U);
    EXPECT_EQ(count("rd = "), 0U) << pvc::join(effects(), "; ");
}

TEST_F(domain_corner, a_guest_that_moved_while_the_session_was_lost) {
    put_host("hv2");
    define_running();
    settled_host();
    hv1().connector.link().cut();
    pass(2s);
    guest().vanish();
    pass(20s);
    place("start", "hv2", "");
    hv1().connector.link().mend();
    pass(20s);
    EXPECT_EQ(running(), "");
    EXPECT_TRUE(calls().empty());
}

TEST_F(domain_corner, what_libvirt_says_cannot_be_read) {
    define_running();
    guest().live_xml_override = "<domain><devices>";
    settled_host();
    pass(60s);
    EXPECT_EQ(hv1().times_logged("cannot be read"), 1U);
    guest().suspend();
    pass(60s);
    EXPECT_EQ(hv1().times_logged("it is paused"), 1U);
    EXPECT_TRUE(guest().is_there());
    guest().live_xml_override.reset();
    pass(3s);
    EXPECT_EQ(value(key("/vnc")), "127.0.0.1:5900");
}

// A shutdown that comes between the creation and what is written about it, and is withdrawn.
TEST_F(domain_corner, a_shutdown_before_it_is_announced_and_withdrawn) {
    settled_host();
    for (int offset = 200; offset < 300; offset += 2) {
        define("fail", "hv1", "", {{"/failedreason", "x"}});
        guest().set_kind(sim::guest_kind::hang);
        pass(500ms);
        set("start");
        pass(offset * 1ms);
        set("shutdown");
        pass(1s);
        set("start");
        pass(8s);
        expect_running();
        EXPECT_EQ(value(key("/failedreason")), "") << offset;
        set("stop");
        pass(5s);
        expect_off("stop");
        ASSERT_FALSE(HasFailure()) << offset;
    }
}

// Any wish in any order, whatever the guest does meanwhile: the last one is fulfilled, and nobody's word overwritten.
TEST_F(domain_corner, wishes_in_quick_succession) {
    const std::array<std::string, 5> wishes{"start", "stop", "shutdown", "restart", "disable"};
    define("stop", "hv1");
    settled_host();
    random_source random(7);
    for (int round = 0; round < 200; ++round) {
        std::string last;
        for (auto left = random.below(5) + 2; left > 0; --left) {
            last = wishes.at(random.below(wishes.size()));
            set(last);
            pass(static_cast<int>(random.below(900)) * 1ms);
            switch (random.below(12)) {
                case 0: guest().suspend(); break;
                case 1: guest().power_off(); break;
                case 2: guest().crash(); break;
                default: break;
            }
        }
        pass(30s);
        const bool runs = last == "start" || last == "restart";
        EXPECT_EQ(state(), runs ? "start" : (last == "shutdown" ? "stop" : last));
        EXPECT_EQ(guest().is_there(), runs);
        EXPECT_EQ(running(), runs ? to_text(u1) : "");
        EXPECT_EQ(value(key("/vnc")).empty(), !runs);
        EXPECT_EQ(value(key("/failedreason")), "");
        ASSERT_FALSE(HasFailure()) << round << " " << last << ": " << pvc::join(effects(), "; ");
        mark();
    }
}

}  // namespace
}  // namespace pvc::node
