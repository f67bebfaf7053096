#include "pvcnoded/model/network_change.hpp"

#include <fmt/format.h>

#include <utility>

namespace pvc::model {

namespace {

std::string words_of(const add_address& one) {
    std::string all;
    const auto add = [&all](const std::string& words) { all += (all.empty() ? "" : ", ") + words; };
    const auto& has = one.settings;
    if (one.scope != universe_scope) {
        add("scope " + scope_text(one.scope));
    }
    if (has.metric != 0) {
        add(fmt::format("metric {}", has.metric));
    }
    for (const auto& [flag, word] :
         {std::pair(no_prefix_route, "noprefixroute"), std::pair(home_address, "home"),
          std::pair(manages_temporary, "mngtmpaddr"), std::pair(joins_multicast, "autojoin")}) {
        if ((has.flags & flag) != 0) {
            add(word);
        }
    }
    if (one.lifetime && one.lifetime->valid == forever) {
        add(one.lifetime->is_deprecated() ? std::string("deprecated")
                                          : fmt::format("preferred for {} s", one.lifetime->preferred));
    }
    if (has.broadcast) {
        add("broadcast " + has.broadcast->to_string());
    }
    if (!has.label.empty()) {
        add("label " + has.label);
    }
    return all.empty() ? "" : " (" + all + ")";
}

std::string of_table(std::uint32_t table) {
    return table == main_table || table == local_table ? "" : fmt::format(" of table {}", table);
}

struct in_words {
    std::string operator()(const make_bridge& one) const { return "create bridge " + one.name; }
    std::string operator()(const make_vlan& one) const {
        return fmt::format("create VLAN {} (id {}) on {}", one.name, one.id, one.parent);
    }
    std::string operator()(const make_vxlan& one) const {
        return fmt::format("create VXLAN {} (VNI {}, port {}) on {}", one.name, one.vni, one.port, one.lower);
    }
    std::string operator()(const plain_vxlan& one) const {
        return "switch learning on and take local and remote address away on " + one.name;
    }
    std::string operator()(const set_arp_on& one) const { return "switch ARP on on " + one.name; }
    std::string operator()(const rename_link& one) const {
        return fmt::format("call link {} {} again", one.index, one.name);
    }
    std::string operator()(const set_hardware& one) const {
        return fmt::format("set hardware address {} on {}", to_text(one.hardware), one.name);
    }
    std::string operator()(const set_up& one) const { return "set " + one.name + " up"; }
    std::string operator()(const set_down& one) const { return "set " + one.name + " down"; }
    std::string operator()(const set_mtu& one) const { return fmt::format("set MTU {} on {}", one.mtu, one.name); }
    std::string operator()(const set_master& one) const {
        return one.master.empty() ? "take " + one.name + " out of its bridge"
                                  : "make " + one.name + " a port of " + one.master;
    }
    std::string operator()(const delete_link& one) const { return "delete link " + one.name; }
    std::string operator()(const add_address& one) const {
        return "add " + one.address.text() + (one.peer ? " peer " + one.peer->to_string() : "") + words_of(one) +
               " to " + one.device +
               (one.lifetime && one.lifetime->valid != forever ? " for the time that it has left" : "");
    }
    std::string operator()(const remove_address& one) const {
        return "remove " + one.address.text() + (one.peer ? " peer " + one.peer->to_string() : "") + " from " +
               one.device;
    }
    std::string operator()(const add_default_route& one) const {
        return "add default route via " + one.gateway.to_string() + " on " + one.device;
    }
    std::string operator()(const remove_default_route& one) const {
        return "remove default route via " + one.gateway.to_string() + " on " + one.device;
    }
    std::string operator()(const add_route& one) const {
        return "add " + to_text(one.route) + of_table(one.table) + " on " + one.device;
    }
    std::string operator()(const remove_route& one) const {
        return "remove " + to_text(one.route) + of_table(one.table) + " on " + one.device;
    }
    std::string operator()(const add_neighbour& one) const {
        return "add neighbour " + to_text(one.neighbour) + " on " + one.device;
    }
    std::string operator()(const remove_neighbour& one) const {
        return "remove neighbour " + to_text(one.neighbour) + " on " + one.device;
    }
    std::string operator()(const set_sysctl& one) const { return "set " + one.key + " to " + one.value; }
    std::string operator()(const tx_checksum_off& one) const {
        return "switch checksums of sent packets off on " + one.device;
    }
};

struct whose {
    const std::string& operator()(const add_address& one) const { return one.device; }
    const std::string& operator()(const remove_address& one) const { return one.device; }
    const std::string& operator()(const add_default_route& one) const { return one.device; }
    const std::string& operator()(const remove_default_route& one) const { return one.device; }
    const std::string& operator()(const add_route& one) const { return one.device; }
    const std::string& operator()(const remove_route& one) const { return one.device; }
    const std::string& operator()(const add_neighbour& one) const { return one.device; }
    const std::string& operator()(const remove_neighbour& one) const { return one.device; }
    const std::string& operator()(const set_sysctl& one) const { return one.key; }
    const std::string& operator()(const tx_checksum_off& one) const { return one.device; }
    template <class Named>
    const std::string& operator()(const Named& one) const {
        return one.name;
    }
};

}  // namespace

std::string to_text(const given_neighbour& one) {
    return one.address.to_string() + (one.is_proxy ? std::string(" (proxy)") : " at " + to_text(one.hardware)) +
           (one.is_router ? " (router)" : "");
}

std::string to_text(const network_change& change) {
    return std::visit(in_words(), change);
}

const std::string& device_of(const network_change& change) {
    return std::visit(whose(), change);
}

}  // namespace pvc::model
