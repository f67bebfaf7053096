// The rules of the simulated kernel for links. Each was measured on a real one (Linux 6.18, network namespaces); those
// of VLANs follow its documentation and sources, as that kernel had none.
#include "sim/network/sim_kernel.hpp"

#include <gtest/gtest.h>

namespace pvc::sim {
namespace {

using namespace model;

class sim_kernel_test : public testing::Test {
protected:
    void does(const network_change& change) {
        const auto done = kernel.apply(change);
        EXPECT_TRUE(done) << to_text(change) << ": " << (done ? "" : done.error().text());
    }
    errc fails(const network_change& change) {
        const auto done = kernel.apply(change);
        EXPECT_FALSE(done) << to_text(change);
        return done ? errc::unspecified : done.error().code();
    }
    std::string why(const network_change& change) {
        const auto done = kernel.apply(change);
        return done ? "" : done.error().cause();
    }
    network_link link(std::string_view name) {
        const auto state = kernel.state();
        const auto* found = state.find(name);
        return found == nullptr ? network_link() : *found;
    }
    bool is_there(std::string_view name) { return link(name).index != 0; }
    std::string master_of(std::string_view name) {
        const auto state = kernel.state();
        const auto* found = state.find(name);
        return found == nullptr ? "none" : std::string(state.name_of(found->master));
    }
    // A VXLAN in a bridge, both up.
    void make_network(std::uint32_t vni) {
        const std::string number = std::to_string(vni);
        does(make_bridge{"vmbr" + number});
        does(make_vxlan{"vxlan" + number, "ens5", vni});
        does(set_master{"vxlan" + number, "vmbr" + number});
        does(set_up{"vxlan" + number});
        does(set_up{"vmbr" + number});
    }

    sim_kernel kernel{std::vector<machine_device>{{.name = "ens5"}, {.name = "ens6"}}};
};

TEST_F(sim_kernel_test, a_machine_begins_with_its_devices_down) {
    EXPECT_TRUE(link("lo").is_loopback && link("lo").is_running);
    EXPECT_EQ(link("lo").mtu, 65536);
    EXPECT_FALSE(link("ens5").is_up);
    EXPECT_EQ(link("ens5").kind, "");
    EXPECT_EQ(kernel.text(), "");
}

TEST_F(sim_kernel_test, a_bridge_of_the_operating_system_runs_with_its_port) {
    sim_kernel ready;
    const auto state = ready.state();
    EXPECT_TRUE(state.find("brcluster")->is_running);
    EXPECT_EQ(state.find("ens5")->master, state.find("brcluster")->index);
}

TEST_F(sim_kernel_test, a_bridge_without_a_port_runs_until_it_had_one) {
    does(make_bridge{"brx"});
    EXPECT_FALSE(link("brx").is_up || link("brx").is_running);
    does(set_up{"brx"});
    EXPECT_TRUE(link("brx").is_running);
    does(set_master{"ens5", "brx"});
    EXPECT_FALSE(link("brx").is_running);  // its port is down
    does(set_up{"ens5"});
    EXPECT_TRUE(link("brx").is_running);
    kernel.set_carrier("ens5", false);
    EXPECT_FALSE(link("brx").is_running || link("ens5").is_running);
    EXPECT_TRUE(link("ens5").is_up);
    kernel.set_carrier("ens5", true);
    EXPECT_TRUE(link("brx").is_running);
    does(set_master{"ens5", ""});
    EXPECT_FALSE(link("brx").is_running);
    does(set_down{"brx"});
    does(set_up{"brx"});
    EXPECT_FALSE(link("brx").is_running);
}

TEST_F(sim_kernel_test, what_is_there_is_not_made) {
    make_network(7);
    const int index = link("vmbr7").index;
    EXPECT_EQ(fails(make_bridge{"vmbr7"}), errc::already_exists);
    EXPECT_EQ(fails(make_vxlan{"vxlan7", "ens5", 7}), errc::already_exists);
    EXPECT_EQ(link("vmbr7").index, index);
    EXPECT_EQ(fails(make_vxlan{"vxlan7", "ens5", 8}), errc::already_exists);
    EXPECT_EQ(fails(make_vxlan{"vxlan7", "ens6", 7}), errc::already_exists);
    EXPECT_EQ(fails(make_vxlan{"vxlan7", "ens5", 7, 4790}), errc::already_exists);
    EXPECT_EQ(fails(make_bridge{"vxlan7"}), errc::already_exists);
    EXPECT_EQ(fails(make_bridge{"ens5"}), errc::already_exists);
    EXPECT_EQ(fails(make_vxlan{"vxlan8", "ens5", 7}), errc::refused);  // the VNI is taken, on any device
    EXPECT_EQ(fails(make_vxlan{"vxlan8", "ens6", 7}), errc::refused);
    does(make_vxlan{"vxlan8", "ens5", 7, 4790});
    EXPECT_EQ(fails(make_vxlan{"vxlan9", "nono", 9}), errc::not_found);
    EXPECT_EQ(fails(make_bridge{"abcdefghijklmnop"}), errc::refused);
    EXPECT_EQ(fails(make_bridge{".."}), errc::refused);
}

TEST_F(sim_kernel_test, a_vxlan_is_at_most_50_smaller_than_its_lower_device_was) {
    make_network(7);
    EXPECT_EQ(link("vxlan7").mtu, 1450);
    EXPECT_EQ(why(set_mtu{"vxlan7", 1451}), "Invalid argument");
    does(set_mtu{"ens5", 1300});
    EXPECT_EQ(link("vxlan7").mtu, 1450);  // it does not shrink
    does(set_mtu{"ens5", 9000});
    does(set_mtu{"vxlan7", 8950});
    EXPECT_EQ(why(set_mtu{"vxlan7", 8951}), "Invalid argument");
    EXPECT_EQ(why(set_mtu{"vxlan7", 67}), "mtu less than device minimum");
    does(set_mtu{"ens6", 100});
    does(make_vxlan{"vxlan9", "ens6", 9});
    EXPECT_EQ(link("vxlan9").mtu, 68);
}

TEST_F(sim_kernel_test, a_vxlan_runs_whatever_its_lower_device_does) {
    make_network(7);
    EXPECT_FALSE(link("ens5").is_up);
    EXPECT_TRUE(link("vxlan7").is_running && link("vmbr7").is_running);
}

TEST_F(sim_kernel_test, a_bridge_is_as_large_as_its_smallest_port_until_somebody_sets_it) {
    make_network(7);
    EXPECT_EQ(link("vmbr7").mtu, 1450);
    does(set_mtu{"vxlan7", 1400});
    EXPECT_EQ(link("vmbr7").mtu, 1400);
    does(set_mtu{"vmbr7", 1400});  // what it is already says nothing
    does(set_mtu{"vxlan7", 1450});
    EXPECT_EQ(link("vmbr7").mtu, 1450);
    does(set_master{"vxlan7", ""});
    EXPECT_EQ(link("vmbr7").mtu, 1500);
    does(set_mtu{"vmbr7", 9000});
    does(set_master{"vxlan7", "vmbr7"});
    EXPECT_EQ(link("vmbr7").mtu, 9000);
    EXPECT_EQ(why(set_mtu{"vmbr7", 65536}), "mtu greater than device maximum");
    EXPECT_EQ(why(set_mtu{"vmbr7", 67}), "mtu less than device minimum");
}

TEST_F(sim_kernel_test, a_port_of_another_bridge_is_moved) {
    make_network(7);
    does(make_bridge{"other"});
    does(set_master{"vxlan7", "other"});
    EXPECT_EQ(master_of("vxlan7"), "other");
    does(set_master{"vxlan7", "other"});
    EXPECT_EQ(fails(set_master{"vxlan7", "nono"}), errc::not_found);
    EXPECT_EQ(fails(set_master{"nono", "other"}), errc::not_found);
    EXPECT_EQ(why(set_master{"vxlan7", "ens5"}), "Operation not supported");
    EXPECT_EQ(master_of("vxlan7"), "other");
    EXPECT_EQ(why(set_master{"vmbr7", "other"}), "Invalid argument");
    EXPECT_EQ(why(set_master{"lo", "other"}), "Invalid argument");
}

TEST_F(sim_kernel_test, a_bridge_that_goes_lets_its_ports_go_and_a_new_one_is_another) {
    make_network(7);
    kernel.add("vmbr7", "10.1.1.1/24");
    does(add_default_route{ip::make_address("10.1.1.254"), "vmbr7"});
    const int index = link("vmbr7").index;
    does(delete_link{"vmbr7"});
    EXPECT_FALSE(is_there("vmbr7"));
    EXPECT_TRUE(link("vxlan7").is_up);
    EXPECT_EQ(master_of("vxlan7"), "");
    EXPECT_TRUE(kernel.state().routes().empty());
    does(delete_link{"vmbr7"});
    does(make_bridge{"vmbr7"});
    EXPECT_GT(link("vmbr7").index, index);
    EXPECT_EQ(kernel.text(), "");
}

TEST_F(sim_kernel_test, what_stands_on_a_device_goes_with_it) {
    make_network(7);
    does(make_vlan{"vlan20", "ens5", 20});
    kernel.remove_device("ens5");
    EXPECT_FALSE(is_there("ens5") || is_there("vxlan7") || is_there("vlan20"));
    EXPECT_TRUE(is_there("vmbr7"));
    kernel.add_device("ens5");
    EXPECT_FALSE(link("ens5").is_up);
    EXPECT_FALSE(is_there("vxlan7"));
}

TEST_F(sim_kernel_test, a_device_of_hardware_is_not_deleted) {
    EXPECT_EQ(why(delete_link{"ens5"}), "Operation not supported");
    EXPECT_EQ(why(delete_link{"lo"}), "Operation not supported");
}

TEST_F(sim_kernel_test, a_vlan_follows_its_parent) {
    does(make_vlan{"vlan20", "ens6", 20});
    EXPECT_EQ(link("vlan20").mtu, 1500);
    EXPECT_EQ(why(set_up{"vlan20"}), "Network is down");
    does(set_up{"ens6"});
    EXPECT_TRUE(link("vlan20").is_running);
    does(set_down{"ens6"});
    EXPECT_FALSE(link("vlan20").is_up);
    EXPECT_EQ(why(set_mtu{"vlan20", 1501}), "Numerical result out of range");
    does(set_mtu{"ens6", 1400});
    EXPECT_EQ(link("vlan20").mtu, 1400);
    does(set_mtu{"ens6", 9000});
    EXPECT_EQ(link("vlan20").mtu, 1400);
    EXPECT_EQ(fails(make_vlan{"vlan21", "ens6", 20}), errc::refused);
    EXPECT_EQ(fails(make_vlan{"vlan20", "ens5", 20}), errc::already_exists);
    EXPECT_EQ(fails(make_vlan{"vlan21", "nono", 21}), errc::not_found);
    EXPECT_EQ(fails(make_vlan{"vlan21", "lo", 21}), errc::refused);
    EXPECT_EQ(fails(make_vlan{"vlan4095", "ens6", 4095}), errc::refused);
}

TEST_F(sim_kernel_test, a_tap_is_made_as_large_as_its_bridge) {
    make_network(7);
    kernel.add_tap("tap0", "vmbr7");
    EXPECT_EQ(master_of("tap0"), "vmbr7");
    EXPECT_EQ(link("tap0").mtu, 1450);
    EXPECT_EQ(link("tap0").kind, "tun");
    does(delete_link{"tap0"});
    EXPECT_FALSE(is_there("tap0"));
}

TEST_F(sim_kernel_test, checksums_are_switched_off_where_that_can_be) {
    make_network(7);
    EXPECT_TRUE(kernel.has_checksums("vmbr7"));
    does(tx_checksum_off{"vmbr7"});
    EXPECT_FALSE(kernel.has_checksums("vmbr7"));
    does(tx_checksum_off{"lo"});
    EXPECT_EQ(fails(tx_checksum_off{"nono"}), errc::not_found);
}

TEST_F(sim_kernel_test, power_loss_leaves_what_the_operating_system_makes) {
    make_network(7);
    kernel.add("ens5", "10.1.1.1/24");
    does(set_sysctl{"net/ipv4/ip_forward", "1"});
    kernel.lose_power();
    EXPECT_FALSE(is_there("vmbr7"));
    EXPECT_EQ(kernel.text(), "");
    EXPECT_EQ(kernel.sysctls().read("net/ipv4/ip_forward"), "0");
}

TEST_F(sim_kernel_test, somebody_is_told_of_changes_and_of_nothing_else) {
    int times = 0;
    kernel.changed = [&] { ++times; };
    does(make_bridge{"brx"});
    EXPECT_EQ(times, 1);
    EXPECT_EQ(fails(make_bridge{"brx"}), errc::already_exists);
    does(set_sysctl{"net/ipv4/conf/brx/rp_filter", "2"});
    does(delete_link{"nono"});
    EXPECT_EQ(times, 1);
    kernel.set_carrier("ens5", false);  // it is down
    EXPECT_EQ(times, 1);
    does(delete_link{"brx"});
    EXPECT_EQ(times, 2);
}

}  // namespace
}  // namespace pvc::sim
