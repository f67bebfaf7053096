// Placement of domains that belong to another node (placement/): what recovers the domains of a dead node needs, done
// by a subject of the test's own on a running daemon. Specification: node-lifecycle.md 10.6, vm-domains.md 6.6, 7.
#include "pvcnoded/placement/place.hpp"
#include "pvcnoded/placement/rbd_clearing.hpp"
#include "pvcnoded/placement/target.hpp"
#include "unit/node/struck_write.hpp"

namespace pvc::node {
namespace {

using work = std::function<async::awaitable<void>(core::session&)>;

// Does its work once in a session, when the node runs.
class recovery final : public core::subject, public core::session_subject {
public:
    explicit recovery(work what) : what_(std::move(what)) {}
    [[nodiscard]] std::string_view name() const override { return "recovery"; }
    std::unique_ptr<core::session_part> begin(core::session& s) override {
        struct part final : core::session_part {
            part(core::session& s, work what) : session(s), what(std::move(what)) {}
            async::awaitable<void> run() override {
                co_await opened.wait(async::wait_note::work("the node to run"));
                co_await what(session);
            }
            void open() override { opened.notify(); }
            core::session& session;
            work what;
            async::wakeup opened;
        };
        return std::make_unique<part>(s, what_);
    }

private:
    work what_;
};

class placement_test : public node_test {
protected:
    placement_test() {
        sim::initialise(ensemble, 10);
        put_node("hv2", "run", "ready", "8000");
        put_node("hv3", "dead", "fence-flush", "64000");
        put_node("hv4", "run", "ready", "16000");
    }
    void put_node(const std::string& name, const std::string& daemon, const std::string& domain,
                  const std::string& memfree) {
        put_peer(name, "hypervisor", daemon, "client");
        const std::string root = "/nodes/" + name;
        ensemble.put({{root + "/domainstate", domain}, {root + "/memfree", memfree}, {root + "/memused", "1000"}});
    }
    // A domain of hv3.
    void put_domain(const std::string& state = "start") {
        ensemble.put({{root, "web"},
                      {root + "/state", state},
                      {root + "/node", "hv3"},
                      {root + "/lastnode", ""},
                      {root + "/node_autostart", "False"},
                      {root + "/node_limit", "hv1,hv2,hv3"},
                      {root + "/node_selector", "mem"}});
    }
    // hv1 runs, and does this.
    sim_node& run(work what) {
        sim_node& hv1 = add({.coordinators = {"hv1"}});
        hv1.plug_in = [what = std::move(what)](assembly& all) {
            all.make = [what, before = std::move(all.make)](core::node_context& node) {
                auto made = before(node);
                made.push_back(std::make_unique<recovery>(what));
                return made;
            };
        };
        hv1.start();
        EXPECT_TRUE(hv1.run_until_ready());
        return hv1;
    }

    async::awaitable<result<placement::decision>> best_of(core::session& s, placement::stored_domain seen) const {
        EXPECT_EQ(seen.keys.node, "hv3");
        PVC_CO_TRY(auto where, co_await placement::choose_target(s, id, seen.keys.node, {"hv1"}));
        placement::decision out;
        out.write = policy::placement{
            .state = model::vm_state::start, .node = where.choice->node, .last_node = seen.keys.node, .autostart = {}};
        out.checks = std::move(where.checks);
        co_return out;
    }

    const uuid id = *parse_uuid("11111111-2222-4333-8444-555555555555");
    const std::string root = "/domains/" + to_text(id);
};

TEST_F(placement_test, ac60_a_domain_of_a_dead_node_is_given_to_the_best_of_those_it_may_go_to) {
    put_domain();
    std::optional<placement::attempt> done;
    auto& hv1 = run([&](core::session& s) -> async::awaitable<void> {
        const placement::order by{s, "recovery", [](zookeeper::transaction& write) {
                                      write.check("/nodes/hv3/daemonstate", 0);  // it is still dead
                                  }};
        done = co_await placement::place_domain(by, id,
                                                [&](const placement::stored_domain& seen) { return best_of(s, seen); });
    });
    ASSERT_TRUE(run_until([&] { return done.has_value(); }, 10s));
    EXPECT_EQ(done->what, placement::attempt::kind::written);
    EXPECT_EQ(value(root + "/node"), "hv2");  // hv4 has more, and it may not go there
    EXPECT_EQ(value(root + "/lastnode"), "hv3");
    EXPECT_TRUE(lock_children(root + "/state").empty());
    EXPECT_TRUE(hv1.is_running());
}

TEST_F(placement_test, a_decision_whose_grounds_change_is_not_written) {
    put_domain();
    std::optional<placement::attempt> done;
    run([&](core::session& s) -> async::awaitable<void> {
        const placement::order by{s, "recovery",
                                  [](zookeeper::transaction& write) { write.check("/nodes/hv3/daemonstate", 0); }};
        done = co_await placement::place_domain(
            by, id, [&](const placement::stored_domain& /*seen*/) -> async::awaitable<result<placement::decision>> {
                ensemble.put("/nodes/hv3/daemonstate", "run");  // it is back just now
                placement::decision out;
                out.write =
                    policy::placement{.state = model::vm_state::start, .node = "hv2", .last_node = {}, .autostart = {}};
                co_return out;
            });
    });
    ASSERT_TRUE(run_until([&] { return done.has_value(); }, 10s));
    EXPECT_EQ(done->what, placement::attempt::kind::conflict);
    EXPECT_EQ(value(root + "/node"), "hv3");
}

// What is written again, as it was, right before the write; empty: the lock of the state goes.
class placement_guards : public placement_test, public testing::WithParamInterface<std::string> {};

TEST_P(placement_guards, a_domain_is_not_placed_on_what_has_changed) {
    put_domain();
    std::optional<placement::attempt> done;
    auto& hv1 = run([&](core::session& s) -> async::awaitable<void> {
        co_await async::sleep_for(s.node.clock(), 1s, "the test");
        const placement::order by{s, "recovery", [](zookeeper::transaction&) {}};
        done = co_await placement::place_domain(by, id,
                                                [&](const placement::stored_domain& seen) { return best_of(s, seen); });
    });
    const struck_write write(hv1, ensemble, loop, root + "/node", "hv2", [this] {
        if (GetParam().empty()) {
            for (const auto& child : lock_children(root + "/state")) {
                ensemble.remove_tree(root + "/state/" + child);
            }
            return;
        }
        const std::string path = GetParam().starts_with("/nodes") ? GetParam() : root + GetParam();
        ensemble.put(path, value(path));
    });
    ASSERT_TRUE(run_until([&] { return done.has_value(); }, 10s));
    EXPECT_TRUE(write.has_struck());
    EXPECT_FALSE(write.is_made());
    EXPECT_EQ(done->what, placement::attempt::kind::conflict);
}

INSTANTIATE_TEST_SUITE_P(all, placement_guards,
                         testing::Values("", "/state", "/node", "/lastnode", "/node_autostart", "/node_limit",
                                         "/node_selector", "/nodes/hv2/daemonstate", "/nodes/hv2/domainstate"));

TEST_F(placement_test, locks_of_the_host_that_is_named_are_broken_and_no_others) {
    sim::sim_rbd_store store;
    store.lock("vms/web_sda", "10.254.0.3:0/7");
    store.lock("vms/web_sdb", "10.254.0.2:0/9");
    sim::sim_rbd_locks port(store, "hv1", loop.clock());
    std::vector<placement::lock_outcome> outcomes;
    run([&](core::session& s) -> async::awaitable<void> {
        placement::rbd_clearing of_hv3(port, s.node.clock(), {"10.254.0.3"}, [](policy::act::line) {});
        const auto still_so = [&]() -> async::awaitable<std::optional<boot_time>> {
            co_return s.node.clock().boot_now();
        };
        const auto wait = [&](duration time) { return async::sleep_for(s.node.clock(), time, "a lock to go"); };
        outcomes.push_back(co_await of_hv3.for_start({"vms/web_sda"}, still_so, wait));
        outcomes.push_back(co_await of_hv3.for_start({"vms/web_sdb"}, still_so, wait));
    });
    ASSERT_TRUE(run_until([&] { return outcomes.size() == 2; }, 20s));
    EXPECT_EQ(outcomes[0].what, placement::lock_outcome::kind::clear);
    EXPECT_EQ(outcomes[1].what, placement::lock_outcome::kind::refused);
    EXPECT_EQ(store.blocklist(), std::vector<std::string>{"10.254.0.3:0/7"});
}

}  // namespace
}  // namespace pvc::node
