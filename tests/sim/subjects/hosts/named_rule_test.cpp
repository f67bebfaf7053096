// The rule sees what is made in the place of links that files of the host name, and nothing else.
#include "sim/subjects/hosts/named_rule.hpp"
#include "sim/world/judged_cluster.hpp"

namespace pvc::sim {

using namespace std::chrono_literals;

class named_rule_test : public judged_cluster {
protected:
    named_rule_test() : judged_cluster(two_nodes({.networking = true})) {}

    void make(const model::network_change& what) { ASSERT_TRUE(hv1.kernel.apply(what)) << model::to_text(what); }
    [[nodiscard]] std::string wrong() const { return made_although_named(named_by(files), before, hv1.kernel.state()); }

    sim_node& hv1 = world.members[0]->node;
    std::map<std::string, std::string> files{
        {"/etc/network/interfaces",
         "auto lo\nsource ~/x\nauto vmbr69\niface vmbr69 inet manual\niface br9 inet manual\n  bridge_ports ens7\n"
         "iface br9.70 inet manual\niface ens7.71 inet manual\n"},
        {"/etc/systemd/network/1.netdev", "[NetDev]\nName=lan\nKind=vlan\n[VLAN]\nId=72\n"},
        {"/run/systemd/network/1.network", "[Match]\nName=ens7\n[Network]\nVLAN=lan\n"},
        {"/etc/hosts", "iface vmbr68 inet manual\n"},
    };
    host_picture before = picture_of(hv1);
};

TEST_F(named_rule_test, what_the_daemon_makes_in_the_place_of_the_hosts_own) {
    make(model::make_bridge{"vmbr68"});
    make(model::make_bridge{"br8"});
    make(model::make_vlan{"vlan80", "ens7", 80});
    make(model::make_vlan{"vlan70", "ens6", 70});
    make(model::make_vlan{"vlan73", "ens6", 71});
    EXPECT_EQ(wrong(), "");
    make(model::make_bridge{"vmbr69"});
    EXPECT_EQ(wrong(), "vmbr69 was made, which files of the host name");
    make(model::delete_link{"vmbr69"});
    EXPECT_EQ(wrong(), "");
    make(model::make_vlan{"vlan71", "ens7", 71});
    EXPECT_EQ(wrong(), "vlan71 was made, and files of the host name ens7.71");
    make(model::delete_link{"vlan71"});
    make(model::make_vlan{"vlan72", "ens7", 72});
    EXPECT_EQ(wrong(), "vlan72 was made, and files of the host name ens7.72");
    make(model::delete_link{"vlan72"});
    make(model::delete_link{"vlan70"});
    make(model::make_vlan{"vlan70", "ens7", 70});
    EXPECT_EQ(wrong(), "") << "br9 is not there";
    make(model::make_bridge{"br10"});
    make(model::set_master{"ens7", "br10"});
    EXPECT_EQ(wrong(), "");
    files["/etc/network/interfaces"] += "auto br10.70\n";
    EXPECT_EQ(wrong(), "vlan70 was made, and files of the host name br10.70");
    before = picture_of(hv1);
    EXPECT_EQ(wrong(), "") << "it was there before";
}

}  // namespace pvc::sim
