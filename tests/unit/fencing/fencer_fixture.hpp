// A coordinator with a dead hypervisor that is a record only, with a board, and another that takes its machines.
#pragma once

#include "unit/node/node_fixture.hpp"

#include "pvcnoded/core/fence_desk.hpp"
#include "pvcnoded/fencing/fence_records.hpp"
#include "sim/sim_bmc.hpp"

namespace pvc::node {

class fencer_fixture : public node_test {
protected:
    fencer_fixture() { sim::initialise(ensemble, 10); }

    // hv3 is a hypervisor with a board; hv2 may take its machines.
    sim_node& start(const std::string& mode = "hypervisor", sim::node_settings settings = {.coordinators = {"hv1"}}) {
        put_peer("hv3", mode, "run", mode == "coordinator" ? "secondary" : "client");
        put_peer("hv2", "hypervisor", "run", "client");
        for (const std::string node : {"hv2", "hv3"}) {
            const std::string root = "/nodes/" + node;
            ensemble.put({{root + "/memtotal", "64000"},
                          {root + "/memused", "1000"},
                          {root + "/memfree", "60000"},
                          {root + "/memalloc", "1000"},
                          {root + "/memprov", "1000"},
                          {root + "/vcpualloc", "1"},
                          {root + "/cpuload", "0.1"},
                          {root + "/domainscount", "1"},
                          {root + "/staticdata", "16 6.1 GNU/Linux x86_64"},
                          {root + "/runningdomains", ""}});
            ensemble.put({{root + "/ipmihostname", node + "-lom"},
                          {root + "/ipmiusername", "admin"},
                          {root + "/ipmipassword", "Passw0rd"}});
        }
        board.address = "192.0.2.3";
        board.guid = "31303043-534d-2500-90d8-7a1600000003";
        other_board.address = "192.0.2.2";
        other_board.guid = "31303043-534d-2500-90d8-7a1600000002";
        sim_node& hv1 = add(std::move(settings));
        board.attach(hv1.boards);
        other_board.attach(hv1.boards);
        hv1.start();
        EXPECT_TRUE(hv1.run_until_ready()) << hv1.log();
        run_with_beats(60s, {"hv2", "hv3"});
        died = loop.clock().now();
        return hv1;
    }
    void put_machine(const std::string& id, const std::string& state = "start") {
        const std::string root = "/domains/" + id;
        ensemble.put({{root, "vm1"},
                      {root + "/state", state},
                      {root + "/node", "hv3"},
                      {root + "/lastnode", ""},
                      {root + "/node_autostart", "False"},
                      {root + "/node_limit", ""},
                      {root + "/node_selector", "mem"},
                      {root + "/migration_method", "none"},
                      {root + "/rbdlist", ""},
                      {root + "/xml", "<domain type='kvm'><name>vm1</name><uuid>" + id +
                                          "</uuid><memory unit='MiB'>1024</memory><vcpu>1</vcpu><devices/></domain>"}});
        ensemble.put("/nodes/hv3/runningdomains", id);
    }
    void dead_for(duration time) { run_with_beats(time, {"hv2"}); }
    [[nodiscard]] static std::string reports(sim_node& node) {
        std::vector<std::string> lines;
        for (const auto* one : core::all_that_are<core::reporter>(node.daemon().subjects())) {
            one->report(lines);
        }
        std::string text;
        for (const auto& line : lines) {
            text += line + "\n";
        }
        return text;
    }
    [[nodiscard]] std::string state() const { return value("/nodes/hv3/daemonstate"); }
    [[nodiscard]] std::vector<std::string> offs() const {
        std::vector<std::string> found;
        std::ranges::copy_if(board.heard(), std::back_inserter(found),
                             [](const auto& one) { return one == "off" || one == "on"; });
        return found;
    }
    // When hv3 was written to be this, since its last heartbeat.
    [[nodiscard]] double when(const std::string& key, const std::string& what) const {
        for (const auto& change : changes("/nodes/hv3" + key)) {
            if (change.path == "/nodes/hv3" + key && change.data == what && change.when >= died) {
                return std::chrono::duration<double>(change.when - died).count();
            }
        }
        return -1;
    }
    model::fence_record record(sim_node& node) {
        fencing::fence_records records(node.host);
        model::fence_record found;
        loop.run([&]() -> async::awaitable<void> {
            const auto ids = co_await records.list();
            EXPECT_TRUE(ids && !ids->empty());
            if (ids && !ids->empty()) {
                const auto one = co_await records.read(ids->front());
                EXPECT_TRUE(one);
                found = one ? *one : model::fence_record();
            }
        });
        return found;
    }

    static auto confirm(sim_node& node, time_point until, bool although_on = false) {
        const auto all = core::all_that_are<core::fence_confirmer>(node.daemon().subjects());
        EXPECT_EQ(all.size(), 1U);
        return all.front()->confirm_fence({.node = "hv3", .although_on = although_on, .by = "root"}, until);
    }
    [[nodiscard]] static std::ptrdiff_t lines_with(const sim_node& node, const std::string& text) {
        const std::string all = node.log();
        std::ptrdiff_t found = 0;
        for (auto at = all.find(text); at != std::string::npos; at = all.find(text, at + 1)) {
            ++found;
        }
        return found;
    }
    // It ran the machine, was stopped in good order, and has been silent for a minute; its board is, too.
    sim_node& start_beside_one_in_stop() {
        sim_node& hv1 = start();
        put_machine(vm1);
        board.is_reachable = false;
        ensemble.put("/nodes/hv3/daemonstate", "stop");
        dead_for(60s);
        return hv1;
    }
    using said_word = std::shared_ptr<core::awaited_explanation>;
    // The word about hv3 was taken, and is written.
    void expect_taken(const said_word& said, const sim_node& by) {
        ASSERT_TRUE(said->answer) << by.log();
        EXPECT_TRUE(*said->answer) << said->answer->error().text();
        EXPECT_EQ(state(), "fenced") << by.log();
    }
    // What was ordered before the word is open; whoever ordered it is named.
    static void expect_refused_for_order(const said_word& said, const std::string& by) {
        ASSERT_TRUE(said->answer);
        ASSERT_FALSE(*said->answer);
        EXPECT_EQ(said->answer->error().code(), errc::refused);
        const std::string text = said->answer->error().cause();
        EXPECT_NE(text.find("node " + by + " ordered the board of hv3 to switch it on "), std::string::npos) << text;
    }
    // Somebody has the fence lock.
    auto take_lock(int number, const std::string& data) {
        const auto other = ensemble.open_session();
        if (value("/config/fence_lock") == "<missing>") {
            ensemble.put("/config/fence_lock", "");
        }
        EXPECT_TRUE(
            ensemble.create(fmt::format("/config/fence_lock/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa__lock__{:010}", number),
                            data, zookeeper::create_mode::ephemeral, other));
        return other;
    }
    // Another hypervisor with a board; it is alive while a test beats for it.
    void add_hv5(sim_node& on) {
        put_peer("hv5", "hypervisor", "run", "client");
        ensemble.put({{"/nodes/hv5/ipmihostname", "hv5-lom"},
                      {"/nodes/hv5/ipmiusername", "admin"},
                      {"/nodes/hv5/ipmipassword", "Passw0rd"},
                      {"/nodes/hv5/runningdomains", ""}});
        third_board.address = "192.0.2.5";
        third_board.guid = "31303043-534d-2500-90d8-7a1600000005";
        third_board.attach(on.boards);
    }
    // One that is a coordinator, too, and runs before hv1 does.
    sim_node& add_hv4() {
        sim_node& hv4 = add({.name = "hv4", .coordinators = {"hv1", "hv4"}});
        board.attach(hv4.boards);
        other_board.attach(hv4.boards);
        hv4.start();
        return hv4;
    }

    // Two coordinators, and hv3 dead; who has the fence lock, and who has not.
    void start_two() {
        sim_node& hv4 = add_hv4();
        sim_node& hv1 = start("hypervisor", {.coordinators = {"hv1", "hv4"}});
        put_machine(vm1);
        ASSERT_TRUE(run_with_beats_until([&] { return state() == "dead"; }, 60s)) << hv1.log() << hv4.log();
        const bool is_hv1 = hv1.log().find("node hv3 is dead") != std::string::npos;
        fencer = is_hv1 ? &hv1 : &hv4;
        other = is_hv1 ? &hv4 : &hv1;
    }
    bool run_with_beats_until(const std::function<bool()>& is_so, duration limit) {
        const time_point end = loop.clock().now() + limit;
        while (!is_so() && loop.clock().now() < end) {
            dead_for(1s);
        }
        return is_so();
    }
    [[nodiscard]] std::ptrdiff_t times_ordered(const std::string& what) const {
        return std::ranges::count(board.heard(), what);
    }

    sim_node* fencer = nullptr;
    sim_node* other = nullptr;
    static constexpr const char* vm1 = "5e0d6b5c-0f4e-4e5c-9d4f-1f0a3c2b1a01";
    sim::sim_bmc board{"hv3-lom", &loop.clock()};
    sim::sim_bmc other_board{"hv2-lom", &loop.clock()};
    sim::sim_bmc third_board{"hv5-lom", &loop.clock()};
    time_point died{};
};

}  // namespace pvc::node
