// A small model of the kernel for what policy plans: applies one change at a time as Linux would, as far as plans can
// tell: what a link stands on must be there, large enough and up; what stands on one goes with it; a bridge whose MTU
// nobody set has that of its smallest port; a link that is down has no routes; settings of a link go with it.
#pragma once

#include "pvcnoded/model/network_change.hpp"
#include "pvcnoded/model/network_state.hpp"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace pvc::policy {

class toy_kernel {
public:
    // Adds a link as somebody else would; its index.
    int add(model::network_link link);
    void add_address(const std::string& device, const std::string& text, bool is_permanent = true);
    void add_address(const std::string& device, model::link_address address);
    void add_address_of_scope_link(const std::string& device, const std::string& text);
    void add_address_with_peer(const std::string& device, const std::string& text, const std::string& peer);
    void add_route(const std::string& gateway, const std::string& device, std::uint32_t metric = 0);
    void add_route(const std::string& device, model::link_route route);
    // In front of all others of its place, as `ip route prepend` does.
    void prepend_route(const std::string& device, model::link_route route);
    // In place of what the kernel made: with these settings, or another source.
    void replace_connected(const std::string& device, const std::string& network, model::network_route route);
    // What somebody else does; throws nothing, returns why not, "" if done.
    std::string apply(const model::network_change& change);
    void remove(const std::string& name);
    // Somebody flushes the main table, also what came with addresses.
    void flush_routes();
    void flush_local_routes();
    model::network_link& edit(const std::string& name) { return *find(name); }

    [[nodiscard]] model::network_state state() const;
    [[nodiscard]] const model::network_link& link(const std::string& name) const;
    [[nodiscard]] bool has(const std::string& name) const { return links_.contains(name); }
    [[nodiscard]] std::string master_of(const std::string& name) const;
    [[nodiscard]] std::vector<std::string> addresses_of(const std::string& name) const;
    // "net/ipv6/conf/vmbr7/accept_ra"; "" if nobody set it.
    [[nodiscard]] std::string sysctl(const std::string& key) const;
    [[nodiscard]] bool is_checksum_off(const std::string& name) const;

private:
    struct settings_of_link {
        bool is_mtu_set = false;
        bool is_checksum_off = false;
        std::map<std::string, std::string> sysctls;  // by the whole key
    };
    struct applying;

    model::network_link* find(const std::string& name);
    model::network_link* find(int index);
    void follow_ports(int bridge);
    void drop(int index);

    int next_index_ = 1;
    std::map<std::string, model::network_link> links_;
    std::vector<model::link_address> addresses_;
    [[nodiscard]] bool reaches(const model::network_link& link, const ip::address& gateway) const;
    std::string add_route(const model::network_link* link, const model::network_route& wanted,
                          std::uint32_t table = model::main_table, const model::network_link* from = nullptr);
    [[nodiscard]] static bool is_connected(const model::link_route& route);
    // Of IPv4 the first of a network on its link has the others behind it.
    [[nodiscard]] bool is_secondary(const model::link_address& one) const;
    void remove_address(int link, const model::remove_address& which);

    [[nodiscard]] std::vector<model::connected_route> connected_routes() const;

    std::vector<model::link_route> routes_;
    std::vector<model::link_route> in_front_;   // of these, those before what the kernel makes with addresses
    std::vector<model::connected_route> lost_;  // that addresses should have, and do not
    std::vector<model::link_neighbour> neighbours_;
    std::map<int, settings_of_link> settings_;
};

}  // namespace pvc::policy
