// Virtual functions and the machines that move (networking.md 4.4; node-lifecycle.md H54), on a simulated daemon.
#include "unit/networks/function_fixture.hpp"
#include "unit/node/struck_write.hpp"

#include "pvcnoded/base/text.hpp"

namespace pvc::node {
namespace {

const std::string db = "00000000-0000-0000-0000-00000000000b";

class function_users_test : public virtual_functions_test {
protected:
    function_users_test() : hardware(loop.clock()) {}
    ~function_users_test() override { nodes.clear(); }  // before the hardware that they use

    sim_node& add_host() {
        sim::node_settings settings{.coordinators = {"hv1"}, .networking = true, .sriov = {{"ens8", 2}}};
        settings.hypervisor = true;
        return nodes.emplace_back(loop, ensemble, std::move(settings), &hardware);
    }
    sim_node& stage() { return start(add_host()); }
    static std::string key(const std::string& suffix, const std::string& id = web) { return "/domains/" + id + suffix; }
    // A machine as a client defines it, with a function: in the state start, on hv1, it runs a moment later.
    void define(const std::string& state, const std::string& node, const std::string& id = web,
                const std::string& function = "ens8v0") {
        ensemble.put({{key("", id), "web"},
                      {key("/node", id), node},
                      {key("/state", id), state},
                      {key("/xml", id), xml(function, id)},
                      {key("/migration_method", id), "none"}});
    }
    static std::string xml(const std::string& function, const std::string& id = web) {
        return "<domain><name>web</name><uuid>" + id + "</uuid><memory unit='MiB'>64</memory><vcpu>1</vcpu>" +
               "<devices><interface type='direct'><mac address='52:54:00:00:00:0a'/><source dev='" + function +
               "' mode='passthrough'/></interface></devices></domain>";
    }
    [[nodiscard]] bool runs(const std::string& id = web) const {
        return value("/nodes/hv1/runningdomains").find(id) != std::string::npos;
    }
    [[nodiscard]] std::string used(int index = 0) const {
        return value(vf("/used", index)) + " " + value(vf("/used_by", index)) + " " + value(vf("/mac", index));
    }
    bool becomes(const std::string& wanted, duration limit = 15s, int index = 0) {
        return run_until([&] { return used(index) == wanted; }, limit);
    }
    // How often a key or something below it was read.
    std::size_t& count_reads(sim_node& hv1, const std::string& path) {
        hv1.connector.link().on_request = [this, path](const zookeeper::request& one) {
            reads_ += one.path.starts_with(path) ? 1 : 0;
            return sim::verdict::answer;
        };
        return reads_;
    }

    inline static const std::string free_again = "False  0a:00:00:00:00:00";
    inline static const std::string taken = "True " + web + " 52:54:00:00:00:0a";

    sim::sim_hardware hardware;

private:
    std::size_t reads_ = 0;
};

TEST_F(function_users_test, a_machine_that_a_daemon_moved_away_leaves_its_function) {
    define("stop", "hv1");
    auto& hv1 = stage();
    use(web);
    loop.run_for(60s);
    EXPECT_EQ(value(vf("/used")), "True");
    ensemble.put({{key("/state"), "unmigrate"}, {key("/node"), "hv2"}});
    loop.run_for(60s);
    EXPECT_EQ(value(vf("/used")), "True") << "it is on its way";
    ensemble.clear_trace();
    ensemble.put(key("/state"), "start");
    loop.run_for(9s);
    EXPECT_EQ(value(vf("/used")), "True");
    EXPECT_TRUE(becomes(free_again, 5s)) << hv1.log();
    EXPECT_EQ(times(vf("/used")), times(vf("/used_by"))) << "in one transaction";
    EXPECT_EQ(times(vf("/used")), times(vf("/mac")));
    loop.run_for(60s);
    EXPECT_EQ(times(vf("/used")).size(), 1U);
    EXPECT_EQ(hv1.times_logged("virtual function ens8v0 is free again: the virtual machine `" + web +
                               "`, which used it, belongs to another node now"),
              1U)
        << hv1.log();
}

TEST_F(function_users_test, while_it_still_runs_here_or_too_little_is_known_it_keeps_it) {
    stage();
    define("start", "hv1");
    use(web);
    ASSERT_TRUE(run_until([&] { return runs(); }));
    loop.run_for(5s);
    hardware.centre.machine("hv1").stop_libvirtd();
    ensemble.put(key("/node"), "hv2");
    loop.run_for(30s);
    ASSERT_TRUE(runs());
    EXPECT_EQ(value(vf("/used")), "True") << "it runs here";
    hardware.centre.machine("hv1").continue_libvirtd();
    hardware.centre.machine("hv1").guest(*parse_uuid(web)).crash();
    ASSERT_TRUE(run_until([&] { return !runs(); }));
    ensemble.put(key("/state"), "relocate");
    loop.run_for(30s);
    EXPECT_EQ(value(vf("/used")), "True") << "nobody knows this state";
    ensemble.remove_tree(key("/node"));
    ensemble.put(key("/state"), "start");
    loop.run_for(30s);
    EXPECT_EQ(value(vf("/used")), "True") << "it has no node";
    ensemble.put(key("/node"), "hv2");
    EXPECT_TRUE(becomes(free_again));
}

TEST_F(function_users_test, a_client_that_brings_it_back_or_writes_anything_has_his_time) {
    stage();
    define("stop", "hv2");
    use(web);
    loop.run_for(8s);
    ensemble.put(key("/node"), "hv1");
    loop.run_for(8s);
    ensemble.put(key("/node"), "hv2");
    loop.run_for(9s);
    EXPECT_EQ(value(vf("/used")), "True");
    ensemble.put(vf("/mac"), "52:54:00:00:00:78");
    loop.run_for(9s);
    EXPECT_EQ(value(vf("/used")), "True");
    EXPECT_TRUE(becomes(free_again, 3s));
}

TEST_F(function_users_test, a_client_that_brings_it_back_in_the_last_moment_wins) {
    auto& hv1 = stage();
    define("start", "hv2");
    use(web);
    bool is_back = false;
    hv1.connector.link().on_request = [&](const zookeeper::request& one) {
        const bool is_release = std::ranges::any_of(
            one.operations, [&](const zookeeper::operation& step) { return step.path == vf("/used"); });
        if (is_release && !is_back) {
            is_back = true;
            ensemble.put(key("/node"), "hv1");
        }
        return sim::verdict::answer;
    };
    loop.run_for(60s);
    EXPECT_TRUE(is_back);
    EXPECT_EQ(value(vf("/used")), "True");
    EXPECT_EQ(value(vf("/mac")), "52:54:00:00:00:77");
    EXPECT_EQ(hv1.times_logged("[sriov-unwritten]"), 0U) << hv1.log();
}

TEST_F(function_users_test, an_address_that_a_client_gives_in_the_last_moment_stays) {
    auto& hv1 = stage();
    define("start", "hv2");
    use(web);
    const struck_write write(hv1, ensemble, loop, vf("/used"), "False",
                             [this] { ensemble.put(vf("/mac"), "52:54:00:00:00:99"); });
    ASSERT_TRUE(run_until([&] { return write.has_struck(); }, 60s));
    loop.run_for(1s);
    EXPECT_FALSE(write.is_made());
    EXPECT_EQ(value(vf("/mac")), "52:54:00:00:00:99");
}

TEST_F(function_users_test, a_machine_that_came_here_has_its_function) {
    auto& hv1 = stage();
    define("stop", "hv1");
    loop.run_for(30s);
    EXPECT_EQ(value(vf("/used")), "False") << "it does not run";
    ensemble.clear_trace();
    ensemble.put(key("/state"), "start");
    loop.run_for(9s);
    ASSERT_TRUE(runs());
    EXPECT_EQ(value(vf("/used")), "False");
    EXPECT_TRUE(becomes(taken, 5s)) << hv1.log();
    EXPECT_EQ(times(vf("/used")), times(vf("/used_by"))) << "in one transaction";
    EXPECT_EQ(times(vf("/used")), times(vf("/mac")));
    loop.run_for(60s);
    EXPECT_EQ(times(vf("/used")).size(), 1U);
    EXPECT_EQ(value(vf("/used", 1)), "False");
    EXPECT_EQ(hv1.times_logged("virtual function ens8v0 is used by the virtual machine " + web), 1U) << hv1.log();
    EXPECT_FALSE(hv1.logged("[sriov-claimed]"));
    // A client gives it another address, which stays; and it stays used when the machine is off.
    ensemble.put(vf("/mac"), "52:54:00:00:00:99");
    loop.run_for(30s);
    ensemble.put(key("/state"), "stop");
    loop.run_for(30s);
    ASSERT_FALSE(runs());
    EXPECT_EQ(used(), "True " + web + " 52:54:00:00:00:99");
}

TEST_F(function_users_test, what_a_client_changes_in_that_time_begins_it_anew) {
    auto& hv1 = stage();
    define("start", "hv1");
    ASSERT_TRUE(run_until([&] { return runs(); }));
    loop.run_for(8s);
    ensemble.put(key("/xml"), xml("ens8v1"));
    loop.run_for(9s);
    EXPECT_EQ(value(vf("/used")), "False");
    EXPECT_EQ(value(vf("/used", 1)), "False");
    ensemble.put(key("/xml"), xml("ens8"));
    loop.run_for(30s);
    EXPECT_EQ(value(vf("/used", 1)), "False");
    ensemble.put(key("/xml"), "<domain><devices>" + std::string(500'000, 'x'));
    loop.run_for(30s);
    EXPECT_EQ(value(vf("/used", 1)), "False");
    ensemble.put(key("/xml"), xml("ens8v1"));
    EXPECT_TRUE(becomes(taken, 15s, 1)) << hv1.log();
    EXPECT_EQ(value(vf("/used")), "False");
    // One that lets go of it by its keys, and then by its XML.
    ensemble.put({{vf("/used", 1), "False"}, {vf("/used_by", 1), ""}, {vf("/mac", 1), "0a:00:00:00:00:01"}});
    loop.run_for(8s);
    ensemble.put(key("/xml"), xml("ens8"));
    loop.run_for(60s);
    EXPECT_EQ(used(1), "False  0a:00:00:00:00:01");
}

TEST_F(function_users_test, a_client_that_writes_in_the_last_moment_wins) {
    auto& hv1 = stage();
    define("start", "hv1");
    ASSERT_TRUE(run_until([&] { return runs(); }));
    std::vector<std::pair<std::string, std::string>> writes{
        {vf("/used"), "False"},   {vf("/used_by"), ""},  {vf("/mac"), value(vf("/mac"))},
        {key("/state"), "start"}, {key("/node"), "hv1"}, {key("/xml"), xml("ens8v0")}};
    hv1.connector.link().on_request = [&](const zookeeper::request& one) {
        const bool is_write = std::ranges::any_of(
            one.operations, [&](const zookeeper::operation& step) { return step.path == vf("/used"); });
        if (is_write && !writes.empty()) {
            ensemble.put(writes.back().first, writes.back().second);
            writes.pop_back();
        }
        return sim::verdict::answer;
    };
    EXPECT_TRUE(run_until([&] { return writes.empty(); }, 120s));
    loop.run_for(1s);
    EXPECT_EQ(value(vf("/used")), "False");
    EXPECT_TRUE(becomes(taken, 30s));
    EXPECT_EQ(hv1.times_logged("[sriov-unwritten]"), 0U) << hv1.log();
}

TEST_F(function_users_test, from_a_machine_that_is_gone_or_elsewhere_it_is_taken_in_one_write) {
    stage();
    define("start", "hv1");
    define("start", "hv2", db);
    use(db);
    ensemble.clear_trace();
    EXPECT_TRUE(becomes(taken));
    EXPECT_EQ(values_written(vf("/used_by")), texts{web});
    ensemble.remove_tree(key("", db));
    loop.run_for(2s);
    use(db);
    ensemble.clear_trace();
    EXPECT_TRUE(becomes(taken));
    EXPECT_EQ(values_written(vf("/used_by")), texts{web});
}

TEST_F(function_users_test, what_a_client_gave_to_another_machine_of_this_node_stays_and_is_told_of_once) {
    auto& hv1 = stage();
    define("start", "hv1");
    define("stop", "hv1", db, "ens8v1");
    use(db);
    loop.run_for(9s);
    EXPECT_FALSE(hv1.logged("[sriov-claimed]"));
    loop.run_for(120s);
    EXPECT_EQ(value(vf("/used_by")), db);
    EXPECT_EQ(hv1.times_logged("virtual function ens8v0: the virtual machine " + web +
                               " has it by its XML and runs here, but it is used by " + db +
                               " of this node: nothing is changed [sriov-claimed]"),
              1U)
        << hv1.log();
    ensemble.put({{vf("/used"), "False"}, {vf("/used_by"), ""}});
    EXPECT_TRUE(becomes(taken)) << hv1.log();
    EXPECT_TRUE(hv1.logged("this is over: virtual function ens8v0"));
}

TEST_F(function_users_test, nothing_is_followed_of_machines_that_it_does_not_concern) {
    auto& hv1 = start(add_node());  // without a hypervisor, which reads all machines
    define("start", "hv2");
    define("start", "hv1", db, "ens8v1");
    const auto& reads = count_reads(hv1, key(""));
    loop.run_for(20s);
    ensemble.put({{key("/xml"), xml("ens8v1")}, {key("/state"), "stop"}});
    loop.run_for(20s);
    EXPECT_EQ(reads, 0U);
    use(web);
    loop.run_for(5s);
    EXPECT_EQ(reads, 2U) << "node and state";
    EXPECT_TRUE(becomes(free_again));
    loop.run_for(1s);
    const auto before = reads;
    ensemble.put(key("/state"), "start");
    loop.run_for(20s);
    EXPECT_EQ(reads, before) << "it does not concern this node any more";
}

TEST_F(function_users_test, a_lost_session_and_a_restart_end_as_all_else) {
    auto& hv1 = stage();
    define("start", "hv2");
    use(web);
    loop.run_for(8s);
    hv1.connector.link().expire_sessions();
    EXPECT_TRUE(becomes(free_again, 60s)) << hv1.log();
    hv1.stop();
    define("start", "hv1");
    start(hv1);
    EXPECT_TRUE(becomes(taken, 30s)) << hv1.log();
}

TEST_F(function_users_test, without_sriov_nobody_follows_machines) {
    put_function({{"/used", "True"}, {"/used_by", web}});
    define("start", "hv2");
    auto& hv1 = start(add({.coordinators = {"hv1"}, .networking = true}));
    const auto& reads = count_reads(hv1, key(""));
    loop.run_for(60s);
    EXPECT_EQ(reads, 0U);
    EXPECT_EQ(value(vf("/used")), "True");
}

}  // namespace
}  // namespace pvc::node
