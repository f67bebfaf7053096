// The network of one simulated machine, as its kernel keeps it: links, bridges and what stands on links, addresses,
// default routes and settings. It outlives the daemon, and not the machine's power. Its rules are those measured on a
// real one: see the tests beside it. Shared by the two ports of a daemon (sim_network_stack, sim_addresses), by nodes
// of the reference, and by whoever else does something to the machine (the functions below; apply() too).
//
// Left out: what passes over the links, STP, detection of duplicate addresses (every address is valid at once). Routes
// that come with addresses follow from these, but for those that somebody took away.
#pragma once

#include "pvcnoded/model/network_change.hpp"
#include "pvcnoded/model/network_state.hpp"
#include "sim/network/sim_sysctls.hpp"

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace pvc::sim {

// What a machine has when its operating system has come up.
struct machine_device {
    std::string name;
    int mtu = 1500;
    // Made by the operating system too: up, with the device as its port. Empty: none, and the device is down.
    std::string bridge{};
    std::string alt_name{};  // by which it can be called as well; empty: none
};

class sim_kernel {
public:
    // Three devices with the bridges of three networks, without addresses.
    sim_kernel();
    // `host`: its name, as hardware addresses are others on each machine.
    explicit sim_kernel(std::vector<machine_device> devices, std::string_view host = {});

    // What the network port promises of a change (netlink/network_stack.hpp), at once.
    result<void> apply(const model::network_change& change);
    // Without a moment in between in which these routes over that device are gone.
    result<void> remove_and_keep(const model::remove_address& which, const std::vector<model::link_route>& routes);
    // Until the next change.
    [[nodiscard]] const model::network_state& state() const { return told_; }
    // Counts whatever may have changed something here, settings and checksums too: who saw this number has seen all.
    [[nodiscard]] std::uint64_t generation() const { return generation_; }
    [[nodiscard]] const sim_sysctls& sysctls() const { return sysctls_; }
    // Of which settings the kernel has told (RTM_NEWNETCONF), as numbers that only grow: of those of all links, and of
    // one.
    struct settings_news {
        std::uint64_t last = 0;
        std::uint64_t of_all = 0;
        std::map<int, std::uint64_t> of_link;
    };
    [[nodiscard]] const settings_news& told_settings() const { return told_settings_; }
    // What else its operating system makes, whenever the machine comes up.
    std::function<void(sim_kernel&)> on_boot;
    // Whoever wants to be told that a link, an address or a route may have changed.
    std::function<void()> changed;

    // Somebody else. A device vanishes with all that stands on it, or comes (again) as the operating system makes it.
    void remove_device(const std::string& device);
    void add_device(const std::string& device);
    // Another card, from now on.
    void add_card(const std::string& device, const std::string& alt_name = "");
    // The operating system makes no bridge for it any more, whenever it comes.
    void leave_to_daemon(const std::string& device);
    // Of the main table: those that somebody made, and those that the kernel made with addresses.
    void flush_routes();
    // And those to its own addresses (table local).
    void flush_local_routes();
    // The same of IPv6 alone.
    void flush_ipv6(bool main, bool local);
    void set_arp(const std::string& device, bool is_on);
    void call_otherwise(const std::string& device, const std::string& name);
    // Somebody has packets of a link looked at (tc).
    void add_traffic_filter(const std::string& device);
    void add_alt_name(const std::string& device, const std::string& name);
    // The tap of a virtual machine; without a bridge of that name it is a port of nothing.
    void add_tap(const std::string& name, const std::string& bridge);
    // A link of any kind ("bond", "veth", "vxlan", …; "" a card), on another one and as a port of one; "": of none. One
    // that is there gets what is said of it.
    void add_link(model::network_link which, const std::string& lower = {}, const std::string& master = {});
    // The cable of a physical device, or whoever holds a tap.
    void set_carrier(const std::string& device, bool is_there);
    // A bridge has STP switched on or off; that it then takes its time to forward is left out.
    void set_stp(const std::string& bridge, bool is_on);
    // Somebody sets the settings of a VXLAN that can be set while it is used.
    void set_vxlan(const std::string& name, bool is_learning, bool has_remote);
    // A router on the network of that device says so: who takes advertisements has an address and a route then.
    void advertise(const std::string& device, const ip::network_v6& prefix);
    // Addresses, and nothing else; what is there already is success, and what cannot be has no effect.
    void add(const std::string& device, const host_address& which);
    void add(const std::string& device, std::string_view which);  // "10.0.0.254/24"
    void remove(const std::string& device, const host_address& which);
    // With a far end: the prefix length is that one's.
    void add_with_peer(const std::string& device, const host_address& which, const ip::address& peer);
    // As a DHCP client gives it.
    void add_lease(const std::string& device, const host_address& which);
    void add_route(const std::string& device, const model::link_route& which);
    // In front of all others of its place, as `ip route prepend` does.
    void prepend_route(const std::string& device, const model::link_route& which);
    // All but those that every device has by itself.
    void remove_all_addresses();
    // The machine goes off, and is on again when somebody looks.
    void lose_power();

    [[nodiscard]] bool has_device(const std::string& device) const { return find(device) != nullptr; }
    // Null: there is none. Until the next change.
    [[nodiscard]] const model::network_link* link(const std::string& device) const {
        const auto* const found = find(device);
        return found == nullptr ? nullptr : &found->is;
    }
    // In the order of the kernel; empty without the device.
    [[nodiscard]] std::vector<host_address> addresses_on(const std::string& device) const;
    [[nodiscard]] bool has(const std::string& device, const host_address& which) const;
    // On whichever device, with whatever prefix length: it answers there.
    [[nodiscard]] bool answers(const ip::address& which) const;
    // Of IPv6: state() has those of IPv4, as the port.
    [[nodiscard]] bool has_advertised_route(const std::string& device) const;
    [[nodiscard]] bool has_checksums(const std::string& device) const;
    // "10.0.0.254/24 on brcluster, 169.254.169.254/32 on lo": by device, those that somebody gave to it.
    [[nodiscard]] std::string text() const;

private:
    struct address_entry {
        model::link_address is;
        bool is_secondary = false;  // of another one of its network, with which it goes
    };
    struct route_entry {
        model::link_route is;
        bool is_advertised = false;
        bool is_in_front = false;  // also of what came with addresses
        friend bool operator==(const route_entry&, const route_entry&) = default;
    };
    struct device {
        model::network_link is;
        bool has_carrier = true;          // of a bridge: of its ports
        bool had_ports = false;           // a bridge that never had one runs
        bool has_fixed_mtu = false;       // of a bridge: somebody set it, it no longer follows its ports
        bool has_fixed_hardware = false;  // likewise
        bool has_v6 = true;               // its MTU allows it
        bool is_v6_off = false;
        bool is_forwarding_v6 = false;
        bool has_checksums = true;
        std::vector<address_entry> v4;
        std::vector<address_entry> v6;
    };
    struct applying;

    [[nodiscard]] const device* find(std::string_view name) const;
    [[nodiscard]] device* find(std::string_view name);
    [[nodiscard]] device* find(int index);
    [[nodiscard]] std::vector<int> standing_on(int lower) const;
    [[nodiscard]] std::vector<int> ports_of(int master) const;

    // sim_kernel.cpp: links.
    void boot();
    device& create(model::network_link link);
    result<void> make(model::network_link wanted, const std::string& lower);
    result<void> set_up(device& which);
    void set_down(device& which);
    result<void> set_mtu(device& which, int mtu);
    result<void> set_master(device& which, const std::string& master);
    void destroy(int index);
    result<void> rename(int index, const std::string& name);
    void mtu_has_changed(device& which);
    void follow_ports(device& bridge);
    void follow_hardware(device& which);
    [[nodiscard]] bool carrier_of(const device& which) const;
    // What follows from a change: who runs, sizes of bridges, addresses that a device has by itself. Tells of it.
    void settle();
    [[nodiscard]] bool is_as_told() const;
    [[nodiscard]] model::network_state make_state() const;
    // As the kernel makes them for addresses, whoever made it.
    [[nodiscard]] static bool is_connected(const model::link_route& route);
    [[nodiscard]] static bool is_of_place(const model::link_route& a, const model::link_route& b);
    void note_order(model::link_route& told, const route_entry& of) const;

    // sim_kernel_addresses.cpp
    result<void> add_address(device& to, const model::add_address& wanted);
    void remove_address(device& from, const host_address& which, const std::optional<ip::address>& peer);
    void keep_connected(const device& of, const model::link_address& gone,
                        const std::vector<model::connected_route>& before);
    void take_for_connected(const device& of, const model::link_address& gone,
                            const std::vector<model::connected_route>& before);
    void add_own_addresses(device& to);
    void drop_v6(device& of);
    void drop_routes(int link, bool is_v6);
    void drop_source(int link, const ip::address& which);
    void drop_connected(const device& of, const model::link_address& gone);
    result<void> put_back(const model::link_route& wanted, const device& over, bool comes_first);
    [[nodiscard]] result<void> can_be(const model::network_route& wanted, const device& over) const;
    // `moves_from`: model::add_route.
    result<void> add_route(const model::network_route& wanted, device& over, std::uint32_t table = model::main_table,
                           const std::string& moves_from = {}, bool comes_first = false);
    [[nodiscard]] static bool is_of_connected(const route_entry& one, const model::connected_route& route);
    [[nodiscard]] bool is_of_address(const device& over, const model::network_route& route) const;
    [[nodiscard]] bool reaches(const device& over, const ip::address& gateway) const;
    [[nodiscard]] bool is_lost(int link, const host_address& network) const;
    void forget_lost(int link);
    [[nodiscard]] std::vector<model::connected_route> connected_routes() const;

    // sim_kernel_routers.cpp
    void sysctls_have_changed();
    void follow_sysctls(device& which);
    void tell_setting(const std::string& key);

    std::vector<machine_device> machine_;
    std::uint8_t host_ = 0;  // in its hardware addresses
    int next_index_ = 1;
    std::map<int, device> devices_;
    std::vector<route_entry> routes_;
    std::vector<model::connected_route> lost_;  // that addresses should have, and somebody took away
    std::vector<model::link_neighbour> neighbours_;
    sim_sysctls sysctls_;
    settings_news told_settings_;
    model::network_state told_;  // as it was when somebody was last told: after settle() as it is
    std::vector<route_entry> told_routes_;
    std::vector<model::connected_route> told_lost_;
    std::vector<model::link_neighbour> told_neighbours_;
    std::uint64_t generation_ = 0;
};

}  // namespace pvc::sim
