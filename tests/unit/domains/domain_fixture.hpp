// What the tests of virtual machines share: a node hv1 with a simulated hypervisor, peers that are records, domains as
// a client writes them, and questions about what was called and written in which order.
#pragma once

#include "unit/node/node_fixture.hpp"

#include "pvcnoded/base/text.hpp"

namespace pvc::node {

using model::guest_class;
using model::pause_cause;
using model::run_state;

class domain_test : public node_test {
protected:
    domain_test() : hardware(loop.clock()) {
        sim::initialise(ensemble, schema);
        hardware.centre.call_it(u1, "U1");
        hardware.centre.call_it(u2, "U2");
    }
    ~domain_test() override { nodes.clear(); }  // before the hardware that they use
    void TearDown() override {
        node_test::TearDown();
        EXPECT_EQ(hardware.centre.double_runs(), 0U) << pvc::join(hardware.centre.double_run_texts(), "; ");
    }

    // --- nodes ---
    std::map<std::string, int> limits;  // of those added from now on (config.md 5.8a)
    bool has_storage = false;           // likewise: RBD locks are then asked of Ceph's helper
    sim_node& add_host(std::string name = "hv1") {
        sim::node_settings settings;
        settings.name = std::move(name);
        settings.hypervisor = true;
        settings.limits = limits;
        settings.storage = has_storage;
        settings.storage_address = "10.254.0." + settings.name.substr(2) + "/24";
        return nodes.emplace_back(loop, ensemble, std::move(settings), &hardware);
    }
    sim_node& add_running_host(std::string name = "hv1") {
        sim_node& node = add_host(std::move(name));
        node.start();
        EXPECT_TRUE(node.run_until_ready()) << node.log();
        return node;
    }
    // A peer that is a record and a hypervisor, without a daemon.
    void put_host(const std::string& name, const std::string& daemon_state = "run") {
        put_peer(name, "hypervisor", daemon_state, "client");
        ensemble.put("/nodes/" + name + "/runningdomains", "");
        (void)hardware.centre.machine(name);
    }
    [[nodiscard]] sim::sim_machine_guests& machine(const std::string& name = "hv1") {
        return hardware.centre.machine(name);
    }
    [[nodiscard]] sim::sim_guest& guest(const std::string& name = "hv1") { return machine(name).guest(u1); }

    // --- domains ---
    static std::string xml(const uuid& id, const std::string& name = "web", const std::string& more = {}) {
        return "<domain type='qemu'><name>" + name + "</name><uuid>" + to_text(id) +
               "</uuid><memory unit='MiB'>64</memory><vcpu>1</vcpu><devices>" + more +
               "<graphics type='vnc' port='-1' autoport='yes' listen='127.0.0.1'/></devices></domain>";
    }
    static std::string key(const std::string& suffix = {}) { return model::domain_path(to_text(u1), suffix); }
    // As a client defines it: all keys at once.
    void define(const std::string& state, const std::string& node, const std::string& last = {},
                const std::map<std::string, std::string>& others = {}, const uuid& id = u1,
                const std::string& name = "web") {
        const std::string root = model::domain_path(to_text(id));
        std::map<std::string, std::string> keys{
            {root, name},
            {root + "/xml", xml(id, name)},
            {root + "/state", state},
            {root + "/profile", "None"},
            {root + "/stats", ""},
            {root + "/node", node},
            {root + "/lastnode", last},
            {root + "/failedreason", ""},
            {root + "/rbdlist", ""},
            {root + "/consolelog", ""},
            {root + "/vnc", ""},
            {root + "/node_autostart", "False"},
            {root + "/migration_method", "none"},
            {root + "/node_selector", "none"},
            {root + "/node_limit", ""},
            {root + "/tags", ""},
            {root + "/migrate_sync_lock", ""},
        };
        for (const auto& [suffix, text] : others) {
            keys[root + suffix] = text;
        }
        ensemble.put(keys);
    }
    void set(const std::string& state) { ensemble.put(key("/state"), state); }
    void place(const std::string& state, const std::string& node, const std::string& last) {
        ensemble.put({{key("/state"), state}, {key("/node"), node}, {key("/lastnode"), last}});
    }
    // It runs on hv1 since before.
    void define_running(const std::string& state = "start", const std::string& node = "hv1") {
        define(state, node);
        machine().put_running(u1, "web", xml(u1));
    }
    [[nodiscard]] std::string state() const { return value(key("/state")); }
    [[nodiscard]] std::string running(const std::string& node = "hv1") const {
        return value("/nodes/" + node + "/runningdomains");
    }
    [[nodiscard]] std::vector<std::string> calls(const std::string& node = "hv1") { return machine(node).calls(); }
    [[nodiscard]] std::size_t locks_left() const {
        return lock_children(key("/state")).size() + lock_children(key("/node")).size() +
               lock_children(key("/migrate_sync_lock")).size();
    }
    void pass(duration time) { loop.run_for(time); }

    static constexpr int schema = 10;
    inline static const uuid u1 = *parse_uuid("00000001-aaaa-4bbb-8ccc-000000000001");
    inline static const uuid u2 = *parse_uuid("00000002-aaaa-4bbb-8ccc-000000000002");
    sim::sim_hardware hardware;
};

}  // namespace pvc::node
