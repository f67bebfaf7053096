// Files of the host itself of which a part cannot be read, or not any more (README ruling 79).
#include "unit/networks/network_fixture.hpp"

namespace pvc::node {
namespace {

const std::string own_file = "/etc/network/interfaces";
const std::string for_shell = "source ~/x\n";

class unread_names_test : public network_fixture {
protected:
    std::string links_of(const sim_node& node, int vni) {
        std::string all;
        for (const auto* prefix : {"vmbr", "vxlan", "vlan"}) {
            const auto name = fmt::format("{}{}", prefix, vni);
            all += link(node, name) == "gone" ? "" : name + " ";
        }
        return all;
    }
};

TEST_F(unread_names_test, what_the_rest_names_is_not_made) {
    auto& hv1 = add_networked();
    hv1.host.files[own_file] = "auto lo\n" + for_shell + "source more\nauto vmbr1161\niface vmbr1161 inet manual\n";
    hv1.host.files["/etc/network/more"] = "source $SITE\niface vxlan1162 inet manual\n";
    for (const int vni : {1161, 1162, 1163}) {
        put_network(vni);
    }
    start(hv1);
    beat(10s);
    EXPECT_EQ(links_of(hv1, 1161) + links_of(hv1, 1162), "") << hv1.log();
    EXPECT_EQ(links_of(hv1, 1163), "vmbr1163 vxlan1163 ");
    EXPECT_TRUE(hv1.logged("network 1161: vmbr1161 is a link of this host's own")) << hv1.log();
    EXPECT_TRUE(hv1.logged("network 1162: vxlan1162 is a link of this host's own")) << hv1.log();
    EXPECT_EQ(
        hv1.times_logged("a part of what the network configuration of this host names is not known: what "
                         "/etc/network/interfaces:2 sources: ~/x: unavailable: a path for a shell is not followed; "
                         "what /etc/network/more:1 sources: $SITE: unavailable: a path for a shell is not "
                         "followed: until it is, a client network gets its links here unless what is known names "
                         "them"),
        1U)
        << hv1.log();
    // And while it runs, just before the network comes.
    hv1.host.files[own_file] += "iface vmbr1164 inet manual\n";
    put_network(1164);
    put_network(1165);
    EXPECT_TRUE(within(3s, [&] { return links_of(hv1, 1165) == "vmbr1165 vxlan1165 "; })) << hv1.log();
    beat(5s);
    EXPECT_EQ(links_of(hv1, 1164), "") << hv1.log();
    // The line is gone, and a network comes right after that.
    hv1.host.files[own_file] = "iface vmbr1166 inet manual\n";
    hv1.host.files["/etc/network/more"] = "";
    put_network(1166);
    beat(15s);
    EXPECT_EQ(links_of(hv1, 1166), "") << hv1.log();
    EXPECT_TRUE(hv1.logged("this is over: a part of what the network configuration of this host names")) << hv1.log();
    EXPECT_EQ(links_of(hv1, 1161) + links_of(hv1, 1164), "vmbr1161 vxlan1161 vmbr1164 vxlan1164 ") << hv1.log();
}

// As where no file was read yet: the look at the files may take longer than that at the kernel.
TEST_F(unread_names_test, a_network_waits_for_the_files_while_a_part_is_not_known) {
    auto& hv1 = add_networked();
    hv1.host.files[own_file] = for_shell;
    start(hv1);
    beat(10s);
    hv1.host.disk_time = 400ms;
    beat(15s);
    hv1.host.files[own_file] = for_shell + "iface vmbr1164 inet manual\n";
    put_network(1164);
    put_network(1165);
    EXPECT_FALSE(within(300ms, [&] { return links_of(hv1, 1165) != ""; })) << "it may be named";
    EXPECT_TRUE(within(3s, [&] { return links_of(hv1, 1165) == "vmbr1165 vxlan1165 "; })) << hv1.log();
    beat(5s);
    EXPECT_EQ(links_of(hv1, 1164), "") << hv1.log();
    // The line is gone, and a network comes right after that.
    hv1.host.files[own_file] = "iface vmbr1166 inet manual\n";
    put_network(1166);
    beat(15s);
    EXPECT_EQ(links_of(hv1, 1166), "") << hv1.log();
    EXPECT_EQ(links_of(hv1, 1164), "vmbr1164 vxlan1164 ") << hv1.log();
}

TEST_F(unread_names_test, what_was_read_before_still_counts_also_after_a_restart) {
    auto& hv1 = add_networked();
    const std::string more = "/etc/network/more";
    hv1.host.files[own_file] = "auto br9\niface br9 inet manual\n  bridge_ports ens7\nsource more\n";
    hv1.host.files[more] = "iface vmbr1171 inet manual\niface br9.72 inet manual\n";
    const auto name_networks = [&] {
        put_network(1171);
        put_network(72, {{"/nettype", "bridged"}});
    };
    const auto is_refused = [&] { return links_of(hv1, 1171) + links_of(hv1, 72) == ""; };
    name_networks();
    start(hv1);
    beat(10s);
    EXPECT_TRUE(is_refused()) << hv1.log();
    EXPECT_TRUE(hv1.logged("network 72: VLAN 72 of br9 is this host's own")) << hv1.log();
    EXPECT_EQ(hv1.host.files["/var/lib/pvc/names-of-host"], "br9.72\nvmbr1171\nport ens7 br9\n");
    hv1.host.broken.insert_or_assign(more, failure(errc::io, more, "Input/output error"));
    beat(15s);
    remove_network(1171);
    remove_network(72);
    beat(5s);
    name_networks();
    beat(15s);
    EXPECT_TRUE(is_refused()) << hv1.log();
    hv1.kill();
    hv1.host.broken.insert_or_assign(own_file, failure(errc::io, own_file, "Input/output error"));
    start(hv1);
    beat(15s);
    EXPECT_TRUE(is_refused()) << hv1.log();
    EXPECT_EQ(hv1.host.files["/var/lib/pvc/names-of-host"], "br9.72\nvmbr1171\nport ens7 br9\n");
    // What is read as a whole is what counts.
    hv1.host.broken.clear();
    hv1.host.files[own_file] = "auto lo\n";
    hv1.kill();
    start(hv1);
    EXPECT_TRUE(within(20s, [&] {
        return links_of(hv1, 1171) + links_of(hv1, 72) == "vmbr1171 vxlan1171 vmbr72 vlan72 ";
    })) << hv1.log();
    EXPECT_EQ(hv1.host.files["/var/lib/pvc/names-of-host"], "");
}

TEST_F(unread_names_test, names_are_known_also_where_they_cannot_be_kept) {
    auto& hv1 = add_networked();
    hv1.host.files[own_file] = "iface vmbr1171 inet manual\n";
    const std::string path = "/var/lib/pvc/names-of-host";
    hv1.host.broken.insert_or_assign(path, failure(errc::io, path, "No space left on device"));
    put_network(1171);
    start(hv1);
    beat(20s);
    EXPECT_EQ(links_of(hv1, 1171), "") << hv1.log();
    EXPECT_EQ(hv1.times_logged("what the network configuration of this host names is not kept for a restart: " + path),
              1U)
        << hv1.log();
}

// The record of what was named before may be damaged as well as a file of the host's.
TEST_F(unread_names_test, a_record_that_cannot_be_read_is_said_beside_the_part) {
    auto& hv1 = add_networked();
    hv1.host.files[own_file] = for_shell;
    const std::string path = "/var/lib/pvc/names-of-host";
    hv1.host.files[path] = "some garbage\n";
    start(hv1);
    beat(10s);
    EXPECT_TRUE(hv1.logged("; and of before: " + path + ": ")) << hv1.log();
    EXPECT_TRUE(hv1.logged("it is not as it was written: until it is, a client network")) << hv1.log();
    hv1.kill();
    hv1.host.broken.insert_or_assign(path, failure(errc::io, path, "Input/output error"));
    start(hv1);
    beat(10s);
    EXPECT_TRUE(hv1.logged("Input/output error: until it is, a client network")) << hv1.log();
}

// A disk that hangs is asked for nothing more: no network waits for a thousand files.
TEST_F(unread_names_test, a_disk_that_hangs_ends_the_look) {
    auto& hv1 = add_networked();
    hv1.host.files[own_file] = "source a b c d e f g h i j k l\n";
    for (const auto* name : {"a", "b", "c", "d"}) {
        const auto path = std::string("/etc/network/") + name;
        hv1.host.broken.insert_or_assign(path, failure(errc::timed_out, path));
    }
    start(hv1);
    beat(10s);
    EXPECT_EQ(hv1.times_logged("names is not known: what /etc/network/interfaces:1 sources: /etc/network/a: timed out: "
                               "until it is"),
              1U)
        << hv1.log();
}

// As nmtui, GNOME and Cockpit write it; one of a package is hidden by what the host says.
TEST_F(unread_names_test, a_port_of_a_bridge_by_uuid_has_the_vlans_of_that_bridge) {
    auto& hv1 = add_networked();
    auto& files = hv1.host.files;
    const std::string id = "11111111-2222-3333-4444-555555555555";
    files["/run/NetworkManager/system-connections/z.nmconnection"] =
        "[connection]\nuuid=" + id + "\ntype=bridge\ninterface-name=brz\n";
    files["/usr/lib/NetworkManager/system-connections/p.nmconnection"] =
        "[connection]\ntype=ethernet\ninterface-name=ens7\ncontroller=" + id + "\nport-type=bridge\n";
    files["/etc/NetworkManager/system-connections/v.nmconnection"] =
        "[connection]\ntype=vlan\n[vlan]\nid=61\nparent=brz\n";
    files["/etc/NetworkManager/system-connections/w.nmconnection"] = "";
    files["/usr/lib/NetworkManager/system-connections/w.nmconnection"] =
        "[connection]\ntype=vlan\n[vlan]\nid=62\nparent=brz\n";
    put_network(61, {{"/nettype", "bridged"}});
    put_network(62, {{"/nettype", "bridged"}});
    start(hv1);
    beat(10s);
    EXPECT_EQ(links_of(hv1, 61), "") << hv1.log();
    EXPECT_TRUE(hv1.logged("VLAN 61 of brz")) << hv1.log();
    EXPECT_EQ(links_of(hv1, 62), "vmbr62 vlan62 ") << hv1.log();
}

// Of systemd-networkd and NetworkManager, and what netplan makes of its own.
TEST_F(unread_names_test, files_of_other_programs_name_links_too) {
    auto& hv1 = add_networked();
    auto& files = hv1.host.files;
    files["/etc/systemd/network/10-lan.netdev"] = "[NetDev]\nName=lan\nKind=vlan\n[VLAN]\nId=400\n";
    files["/run/systemd/network/10-netplan-ens7.network"] = "[Match]\nName=ens7\n[Network]\nVLAN=lan\n";
    files["/etc/systemd/network/20-own.netdev"] = "[NetDev]\nName=vmbr1181\nKind=bridge\n";
    files["/etc/systemd/network/30-off.netdev"] = "";
    files["/run/systemd/network/30-off.netdev"] = "[NetDev]\nName=vmbr1182\nKind=bridge\n";
    files["/etc/NetworkManager/system-connections/o.nmconnection"] =
        "[connection]\ntype=vlan\n[vlan]\nid=401\nparent=ens7\n";
    files["/etc/systemd/network/readme"] = "[NetDev]\nName=vmbr1182\n";
    put_network(400, {{"/nettype", "bridged"}});
    put_network(401, {{"/nettype", "bridged"}});
    put_network(1181);
    put_network(1182);
    start(hv1);
    beat(10s);
    EXPECT_EQ(links_of(hv1, 400) + links_of(hv1, 401) + links_of(hv1, 1181), "") << hv1.log();
    EXPECT_TRUE(hv1.logged("network 400: VLAN 400 of ens7 is this host's own")) << hv1.log();
    EXPECT_EQ(links_of(hv1, 1182), "vmbr1182 vxlan1182 ") << hv1.log();
    // Masked, as `systemctl mask` does.
    files["/etc/systemd/network/20-own.netdev"] = "";
    hv1.host.broken.insert_or_assign("/etc/systemd/network/20-own.netdev",
                                     failure(errc::io, "/etc/systemd/network/20-own.netdev", "not a regular file"));
    remove_network(1181);
    beat(5s);
    put_network(1181);
    EXPECT_TRUE(within(5s, [&] { return links_of(hv1, 1181) == "vmbr1181 vxlan1181 "; })) << hv1.log();
    EXPECT_FALSE(hv1.logged("is not known")) << hv1.log();
}

}  // namespace
}  // namespace pvc::node
