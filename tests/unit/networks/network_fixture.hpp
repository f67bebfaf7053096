// A node with networking whose machine has three bare devices, beside two others that the test plays.
#pragma once

#include "unit/role/role_fixture.hpp"

#include <map>

namespace pvc::node {

class network_fixture : public role_fixture {
protected:
    network_fixture() {
        put_peer("hv2", "coordinator", "run", "primary");
        put_peer("hv3", "coordinator", "run", "secondary");
        ensemble.put(primary_key, "hv2");
    }
    sim_node& add_networked(sim::node_settings settings = {}) {
        settings.networking = true;
        return add(std::move(settings));
    }
    sim_node& start(sim_node& node) {
        node.start();
        EXPECT_TRUE(node.run_until_ready()) << node.log();
        return node;
    }
    sim_node& stage(sim::node_settings settings = {}) { return start(add_networked(std::move(settings))); }
    // The same, as primary.
    sim_node& stage_primary(sim::node_settings settings = {}) {
        sim_node& hv1 = stage(std::move(settings));
        put_peer("hv2", "coordinator", "run", "secondary");
        ensemble.put(primary_key, "hv1");
        seconds_until([&] { return role_of(hv1) == "primary"; }, 60s);
        beat(1s);
        return hv1;
    }
    // As the API does, in one transaction; what is given replaces what it writes by itself.
    void put_network(int vni, const std::map<std::string, std::string>& keys = {}) {
        std::map<std::string, std::string> all{
            {"", "net" + std::to_string(vni)}, {"/nettype", "managed"},  {"/mtu", ""},
            {"/domain", "test.local"},         {"/name_servers", ""},    {"/ip4_network", "None"},
            {"/ip4_gateway", "None"},          {"/ip6_network", "None"}, {"/ip6_gateway", "None"},
            {"/dhcp4_flag", "False"},          {"/dhcp6_flag", "False"}};
        for (const auto& [key, value] : keys) {
            all[key] = value;
        }
        std::map<std::string, std::string> stored;
        for (const auto& [key, value] : all) {
            stored["/networks/" + std::to_string(vni) + key] = value;
        }
        ensemble.put(stored);
    }
    void change(int vni, const std::map<std::string, std::string>& keys) {
        std::map<std::string, std::string> stored;
        for (const auto& [key, value] : keys) {
            stored["/networks/" + std::to_string(vni) + key] = value;
        }
        ensemble.put(stored);
    }
    void remove_network(int vni) { ensemble.remove_tree("/networks/" + std::to_string(vni)); }
    [[nodiscard]] std::string mtu_key(int vni) const { return value("/networks/" + std::to_string(vni) + "/mtu"); }
    // "mtu 1450 up master vmbr7"; "gone".
    static std::string link(const sim_node& node, const std::string& name) {
        const auto seen = node.kernel.state();
        const auto* found = seen.find(name);
        if (found == nullptr) {
            return "gone";
        }
        return fmt::format("mtu {}{}{}", found->mtu, found->is_up ? " up" : "",
                           found->master == 0 ? std::string() : fmt::format(" master {}", seen.name_of(found->master)));
    }
    static int index_of(const sim_node& node, const std::string& name) {
        const auto seen = node.kernel.state();
        const auto* found = seen.find(name);
        return found == nullptr ? 0 : found->index;
    }
    // Addresses of a device, without link-local ones.
    static std::string addresses(const sim_node& node, const std::string& device) {
        std::string all;
        for (const auto& one : node.kernel.addresses_on(device)) {
            if (!one.address.is_v6() || !one.address.to_v6().is_link_local()) {
                all += (all.empty() ? "" : " ") + one.text();
            }
        }
        return all;
    }
    bool within(duration limit, const std::function<bool()>& done) { return run_until(done, limit); }
};

}  // namespace pvc::node
