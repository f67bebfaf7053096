// Deletion and identity (vm-domains.md B.7).
#include "domain_effects.hpp"

namespace pvc::node {
namespace {

class domain_deletion : public effects_test {
protected:
    void running_guest() {
        define_running();
        settled_host();
    }
    [[nodiscard]] bool exists() const { return ensemble.exists(key()).has_value(); }
};

TEST_F(domain_deletion, D82_undefine) {
    running_guest();
    set("stop");
    pass(500ms);
    set("delete");
    pass(500ms);
    ensemble.remove_tree(key());
    pass(12s);
    EXPECT_EQ(effects(), (texts{"destroy U1", "gone U1", "rd = "}));
    EXPECT_FALSE(exists());
    EXPECT_FALSE(hv1().logged("left running"));
    for (const char* sign : {"no node", "not found", "ERROR"}) {
        EXPECT_FALSE(hv1().logged(sign)) << sign << hv1().log();
    }
}

// With every distance between the three steps, as long as the first one can be seen: who removes a domain at once has
// not told anybody that its guest is to end (D83).
TEST_F(domain_deletion, D82_undefine_at_any_speed) {
    for (int first = 10; first <= 2000; first += 100) {
        for (const int second : {0, 1, 50, 500, 2500}) {
            define_running();
            if (nodes.empty()) {
                settled_host();
            }
            pass(2s);
            mark();
            set("stop");
            pass(first * 1ms);
            set("delete");
            pass(second * 1ms);
            ensemble.remove_tree(key());
            pass(10s);
            EXPECT_FALSE(guest().is_there());
            EXPECT_FALSE(exists());
            EXPECT_EQ(running(), "");
            ASSERT_FALSE(HasFailure()) << first << " " << second;
        }
    }
}

TEST_F(domain_deletion, D82_nothing_is_written_once_delete_was_seen) {
    running_guest();
    set("delete");
    pass(12s);
    EXPECT_EQ(effects(), (texts{"destroy U1", "gone U1", "rd = "}));
    EXPECT_EQ(value(key("/vnc")), "127.0.0.1:5900");
    EXPECT_EQ(state(), "delete");
}

TEST_F(domain_deletion, D83_the_tree_is_wiped) {
    running_guest();
    ensemble.remove_tree(key());
    pass(30s);
    EXPECT_EQ(effects(), texts{"rd = "});
    EXPECT_TRUE(guest().executes());
    EXPECT_EQ(hv1().times_logged("left running"), 1U);
    EXPECT_FALSE(exists());
}

// Key by key, in both orders, slowly: the guest is left alone.
TEST_F(domain_deletion, D83_the_tree_is_wiped_slowly) {
    for (const bool forward : {false, true}) {
        define_running();
        if (nodes.empty()) {
            settled_host();
        }
        pass(2s);
        auto names = ensemble.children(key());
        std::ranges::sort(names);
        if (!forward) {
            std::ranges::reverse(names);
        }
        for (const auto& name : names) {
            ensemble.remove_tree(key("/" + name));
            pass(1s);
        }
        ensemble.remove_tree(key());
        pass(10s);
        EXPECT_TRUE(guest().executes()) << forward << hv1().log();
        EXPECT_TRUE(calls().empty());
        guest().vanish();
        pass(10s);
    }
}

TEST_F(domain_deletion, D84_wiped_and_restored) {
    running_guest();
    ensemble.remove_tree(key());
    pass(700ms);
    define("start", "hv1");
    pass(10s);
    EXPECT_TRUE(guest().executes());
    EXPECT_TRUE(calls().empty());
    expect_running();
    mark();
    set("stop");
    pass(5s);
    EXPECT_EQ(effects(), (texts{"destroy U1", "gone U1", "rd = ", "vnc = "}));
}

TEST_F(domain_deletion, D84_wiped_and_restored_at_any_distance) {
    running_guest();
    for (int offset = 0; offset <= 3000; offset += 50) {
        ensemble.remove_tree(key());
        pass(offset * 1ms);
        define("start", "hv1");
        pass(3s);
        expect_running();
        ASSERT_FALSE(HasFailure()) << offset << hv1().log();
    }
    EXPECT_TRUE(calls().empty());
    set("stop");
    pass(5s);
    expect_off("stop");
}

TEST_F(domain_deletion, D85_defined_again_with_the_same_UUID) {
    define("stop", "hv1");
    settled_host();
    for (int offset = 0; offset <= 40; ++offset) {
        set("delete");
        ensemble.remove_tree(key());
        pass(offset * 1ms);
        define("stop", "hv1");
        pass(offset * 1ms);
        mark();
        set("start");
        pass(2s);
        EXPECT_EQ(effects(), (texts{"rd = U1", "create U1", running_vnc})) << offset;
        set("stop");
        pass(3s);
    }
}

TEST_F(domain_deletion, D85_while_it_is_being_created) {
    define("stop", "hv1");
    settled_host();
    guest().create_time = 2s;
    set("start");
    pass(1s);
    ensemble.remove_tree(key());
    define("stop", "hv1");
    pass(20s);
    expect_off("stop");
}

TEST_F(domain_deletion, D86_renamed) {
    define("stop", "hv1");
    settled_host();
    ensemble.put({{key(), "www"}, {key("/xml"), xml(u1, "www")}});
    set("start");
    pass(3s);
    hv1().consoles.append("/var/log/libvirt/web.log", "old\n");
    hv1().consoles.append("/var/log/libvirt/www.log", "new\n");
    pass(3s);
    EXPECT_EQ(value(key("/consolelog")), "new\n");
    EXPECT_FALSE(hv1().consoles.content("/var/log/libvirt/web.log").value_or("").empty());
}

}  // namespace
}  // namespace pvc::node
