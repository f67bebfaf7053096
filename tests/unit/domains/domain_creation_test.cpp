// Creations that hang, and guests that stay half made (vm-domains.md 6.1, 4.1).
#include "domain_fixture.hpp"

namespace pvc::node {
namespace {

using domain_creation = domain_test;

// A creation that libvirtd has and does not carry out, since it stands still: whoever starts the machine elsewhere
// meanwhile is told of it, and waits.
TEST_F(domain_creation, a_creation_that_hangs_keeps_others_from_starting_it) {
    define("stop", "hv1");
    add_running_host("hv1");
    add_running_host("hv2");
    bool is_stopped = false;
    hardware.centre.on_call = [&](const std::string& machine_name, const auto& call) {
        if (call.text == "create U1" && machine_name == "hv1" && !std::exchange(is_stopped, true)) {
            machine("hv1").stop_libvirtd();
        }
    };
    set("start");
    ASSERT_TRUE(run_until([&] { return is_stopped; }));
    set("stop");
    pass(500ms);
    place("stop", "hv2", "");
    pass(500ms);
    set("start");
    pass(8s);
    EXPECT_EQ(machine("hv2").count("create U1"), 0U);
    machine("hv1").continue_libvirtd();
    EXPECT_TRUE(run_until([&] { return machine("hv2").executes(u1); })) << nodes.back().log();
    pass(60s);
    EXPECT_FALSE(machine("hv1").executes(u1));
    EXPECT_EQ(running("hv1"), "");
}

// Half made by a libvirtd that died: nobody is making it any more, so it is stopped like any other.
TEST_F(domain_creation, a_guest_that_stays_half_made_is_no_secret) {
    define("start", "hv1");
    machine().put_running(u1, "web", xml(u1));
    guest().set_status({run_state::paused, pause_cause::starting_up});
    add_running_host();
    pass(45s);
    EXPECT_TRUE(nodes.front().logged("it is paused (starting up)")) << nodes.front().log();
    set("stop");
    EXPECT_TRUE(run_until([&] { return machine().count("destroy U1") == 1; }));
}

}  // namespace
}  // namespace pvc::node
