// What clients do with networks: the keys as the API writes them, all in one go, with its habits.
#include "pvcnoded/base/text.hpp"
#include "sim/subjects/networks/networks.hpp"
#include "sim/subjects/role/role.hpp"
#include "sim/world/chaos.hpp"
#include "sim/world/words.hpp"

#include <fmt/format.h>

#include <array>

namespace pvc::sim {

namespace {

std::string network_path(std::string_view vni) {
    return "/networks/" + std::string(vni);
}

std::string network_text(const host_address& of) {
    const auto length = static_cast<std::uint16_t>(of.prefix);
    return of.address.is_v6() ? ip::network_v6(of.address.to_v6(), length).canonical().to_string()
                              : ip::network_v4(of.address.to_v4(), length).canonical().to_string();
}

// "1001 managed 10.1.1.1/24 fd00:1::1/64"; "none" for a family that it does not have.
void create_network(cluster& world, std::string_view rest) {
    const std::string vni(next_word(rest));
    const std::string type(next_word(rest));
    const auto four = parse_host_address(next_word(rest));
    const auto six = parse_host_address(next_word(rest));
    const std::string root = network_path(vni);
    if (vni.empty() || world.ensemble.exists(root)) {
        return;
    }
    zookeeper::transaction all;
    const auto add = [&](const std::string& key, const std::string& value) { all.create(root + key, value); };
    add("", "net" + vni);
    add("/nettype", type);
    add("/mtu", "");
    add("/domain", type == "managed" ? "net" + vni + ".local" : "None");
    add("/name_servers", "");
    const auto add_family = [&](const std::string& number, const result<host_address>& of) {
        const bool has = of && type == "managed";
        add("/ip" + number + "_gateway", has ? of->address.to_string() : "None");
        add("/ip" + number + "_network", has ? network_text(*of) : "None");
        add("/dhcp" + number + "_flag", "False");
    };
    add_family("4", four);
    add_family("6", six);
    for (const auto* one : {"/dhcp4_start", "/dhcp4_end"}) {
        add(one, "None");
    }
    for (const auto* one :
         {"/dhcp4_leases", "/dhcp4_reservations", "/firewall_rules", "/firewall_rules/in", "/firewall_rules/out"}) {
        add(one, "");
    }
    ignore(world.ensemble.commit(all), "its parent may be missing: no network then");
}

// "1001 ip4_gateway 10.1.1.126": one key of it.
void set_in_network(cluster& world, std::string_view rest) {
    const std::string root = network_path(next_word(rest));
    const std::string key(next_word(rest));
    if (world.ensemble.exists(root)) {
        world.ensemble.put(root + "/" + key, std::string(rest));
    }
}

// "create VNI managed|bridged GATEWAY4|none GATEWAY6|none", "set VNI KEY VALUE", "remove VNI"
void change_network(cluster& world, const action& what) {
    std::string_view rest = what.value;
    const auto word = next_word(rest);
    if (word == "create") {
        create_network(world, rest);
    } else if (word == "set") {
        set_in_network(world, rest);
    } else if (word == "remove" && !rest.empty()) {
        world.ensemble.remove_tree(network_path(rest));
    }
}

std::uint64_t where_networks_are(cluster& world) {
    return has_networking(world) ? 3 : 0;
}

void draw_network(drawing& from, action& out) {
    static constexpr std::array vnis{"1001", "1002", "16777215", "200", "201"};
    const std::string vni = from.one_of(vnis);
    const bool is_bridged = vni.size() == 3;
    const auto number = from.random.below(3);
    switch (from.random.below(8)) {
        case 0: out.value = "remove " + vni; return;
        case 1: {
            static constexpr std::array values{"", "None", "1400", "9000", "abc", "68", "1300"};
            out.value = "set " + vni + " mtu " + from.one_of(values);
            return;
        }
        case 2: {
            static constexpr std::array values{"10.1.1.126", "None", "", "10.9.9.9", "garbage", "10.1.1.1"};
            out.value = "set " + vni + " ip4_gateway " + from.one_of(values);
            return;
        }
        case 3: {
            static constexpr std::array values{"10.1.1.0/25", "10.1.1.0/24", "None", "10.1.1.7/24", "\xff"};
            out.value = "set " + vni + " ip4_network " + from.one_of(values);
            return;
        }
        default:
            out.value = is_bridged ? "create " + vni + " bridged none none"
                                   : fmt::format("create {} managed 10.1.{}.1/24 {}", vni, number + 1,
                                                 number == 0 ? "none" : fmt::format("fd00:{}::1/64", number));
    }
}

// "1001 120 4000": so many ACLs with names of that length, more than one session can watch; 0: none are left.
void change_many_acls(cluster& world, const action& what) {
    std::string_view rest = what.value;
    const std::string folder = network_path(next_word(rest)) + "/firewall_rules/in";
    const auto count = parse_integer(next_word(rest)).value_or(0);
    const auto length = static_cast<std::size_t>(parse_integer(next_word(rest)).value_or(0));
    if (!world.ensemble.exists(folder)) {
        return;
    }
    const auto root_of = [&](std::int64_t number) {
        const auto digits = fmt::format("{:04}", number);
        return folder + "/" + std::string(length - std::min(length, digits.size()), 'w') + digits;
    };
    for (const auto& name : world.ensemble.children(folder)) {
        if (name.starts_with("www")) {
            world.ensemble.remove_tree(folder + "/" + name);
        }
    }
    for (std::int64_t number = 0; number < std::min<std::int64_t>(count, 9999); ++number) {
        const auto root = root_of(number);
        world.ensemble.put({{root, ""},
                            {root + "/order", std::to_string(1000 + number)},
                            {root + "/rule", fmt::format("tcp dport {} accept", number + 1)}});
    }
}

void draw_many_acls(drawing& from, action& out) {
    static constexpr std::array vnis{"1001", "1002"};
    static constexpr std::array sizes{"120 5000", "150 4000", "40 1000", "0 0"};
    out.value = fmt::format("{} {}", from.one_of(vnis), from.one_of(sizes));
}

// "1001 bridged": a network becomes one of the other type.
void change_type(cluster& world, const action& what) {
    std::string_view rest = what.value;
    const std::string root = network_path(next_word(rest));
    if (world.ensemble.exists(root)) {
        world.ensemble.put(root + "/nettype", std::string(rest));
    }
}

void draw_type(drawing& from, action& out) {
    static constexpr std::array vnis{"1001", "1002", "200", "201"};
    static constexpr std::array types{"managed", "bridged"};
    const std::string vni = from.one_of(vnis);
    out.value = vni + " " + from.one_of(types);
}

constexpr action_kind actions_on_networks[] = {
    {.name = "network-type",
     .takes = "v",
     .meaning = "a client makes a network one of another type: VNI managed|bridged",
     .on_cluster = change_type,
     .chance = drawn{.eighths = 2, .favour = where_networks_are, .arguments = draw_type}},
    {.name = "network",
     .takes = "v",
     .meaning = "a client does: create VNI managed|bridged GATEWAY4|none GATEWAY6|none; set VNI KEY VALUE; remove VNI",
     .on_cluster = change_network,
     .chance = drawn{.eighths = 7, .favour = where_networks_are, .arguments = draw_network}},
    {.name = "many-acls",
     .takes = "v",
     .meaning = "a client leaves a network so many ACLs with names so long: VNI COUNT LENGTH",
     .on_cluster = change_many_acls,
     .chance = drawn{.eighths = 1, .favour = where_networks_are, .arguments = draw_many_acls}},
};

}  // namespace

void add_network_clients(registry& to) {
    to.add(actions_on_networks);
}

}  // namespace pvc::sim
