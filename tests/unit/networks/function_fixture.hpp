// What the tests of virtual functions share: a node hv1 with a card of two functions, and what clients write of them.
#pragma once

#include "unit/node/node_fixture.hpp"

namespace pvc::node {

inline const std::string web = "00000000-0000-0000-0000-00000000000a";

class virtual_functions_test : public node_test {
protected:
    virtual_functions_test() { sim::initialise(ensemble, 15); }

    sim_node& add_node(std::vector<sim::node_settings::sriov_card> cards = {{"ens8", 2}}) {
        return add({.coordinators = {"hv1"}, .networking = true, .sriov = std::move(cards)});
    }
    sim_node& start(sim_node& hv1) {
        hv1.start();
        EXPECT_TRUE(hv1.run_until_ready()) << hv1.log();
        return hv1;
    }
    sim_node& stage() { return start(add_node()); }
    static std::string vf(const std::string& key, int index = 0) {
        return "/nodes/hv1/sriov/vf/ens8v" + std::to_string(index) + key;
    }
    // The keys of a function as another start of this node left them.
    void put_function(const std::map<std::string, std::string>& changed = {}, int index = 0) {
        std::map<std::string, std::string> keys{{"/nodes/hv1", "coordinator"}, {"/nodes/hv1/sriov", ""},
                                                {"/nodes/hv1/sriov/pf", ""},   {"/nodes/hv1/sriov/vf", ""},
                                                {vf("", index), ""},           {vf("/config", index), ""},
                                                {vf("/pci", index), ""}};
        for (const auto& [key, value] : std::map<std::string, std::string>{{"/pf", "ens8"},
                                                                           {"/mtu", "1500"},
                                                                           {"/mac", "52:54:00:00:00:99"},
                                                                           {"/phy_mac", "0a:00:00:00:00:00"},
                                                                           {"/config/vlan_id", "0"},
                                                                           {"/config/vlan_qos", "0"},
                                                                           {"/config/tx_rate_min", "0"},
                                                                           {"/config/tx_rate_max", "0"},
                                                                           {"/config/spoof_check", "True"},
                                                                           {"/config/link_state", "auto"},
                                                                           {"/config/trust", "False"},
                                                                           {"/config/query_rss", "False"},
                                                                           {"/used", "False"},
                                                                           {"/used_by", ""}}) {
            keys[vf(key, index)] = value;
        }
        for (const auto& [key, value] : changed) {
            keys[vf(key, index)] = value;
        }
        ensemble.put(keys);
    }
    void use(const std::string& uuid) {
        ensemble.put({{vf("/used"), "True"}, {vf("/used_by"), uuid}, {vf("/mac"), "52:54:00:00:00:77"}});
    }
    [[nodiscard]] std::size_t nodes_of(const std::string& root) const {
        std::size_t count = 1;
        for (const auto& name : ensemble.children(root)) {
            count += nodes_of(root + "/" + name);
        }
        return count;
    }
    static std::vector<std::string> settings(sim_node& hv1) {
        std::vector<std::string> all;
        std::ranges::copy_if(hv1.functions.calls, std::back_inserter(all),
                             [](const std::string& one) { return one.starts_with("set "); });
        return all;
    }
    [[nodiscard]] bool is_there(const std::string& path) const { return ensemble.get(path).has_value(); }
    bool soon(const std::function<bool()>& done) { return run_until(done, 2s); }
    using texts = std::vector<std::string>;
};

}  // namespace pvc::node
