#include "adapter/messages.hpp"

#include "adapter/attributes.hpp"

#include <libmnl/libmnl.h>
#include <linux/fib_rules.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>

namespace pvc::netlink {

namespace {

constexpr std::uint16_t changes = NLM_F_REQUEST | NLM_F_ACK;
constexpr std::uint16_t makes = changes | NLM_F_CREATE | NLM_F_EXCL;
constexpr std::uint16_t dumps = NLM_F_REQUEST | NLM_F_DUMP;

// One request in a buffer that any of them fits into.
class builder {
public:
    builder(std::uint16_t type, std::uint16_t flags) : head_(mnl_nlmsg_put_header(buffer_.data())) {
        head_->nlmsg_type = type;
        head_->nlmsg_flags = flags;
    }
    builder(const builder&) = delete;
    builder& operator=(const builder&) = delete;
    ~builder() = default;

    template <class T>
    T& header() {
        return *static_cast<T*>(mnl_nlmsg_put_extra_header(head_, sizeof(T)));
    }
    // 0: all of them, or the one whose name is among the attributes.
    ifinfomsg& link_header(int link = 0) {
        auto& head = header<ifinfomsg>();
        head.ifi_family = AF_UNSPEC;
        head.ifi_index = link;
        return head;
    }
    void text(std::uint16_t type, const std::string& value) { mnl_attr_put_strz(head_, type, value.c_str()); }
    // Of a link that is there. Either attribute takes both kinds of names.
    void name(const std::string& value) { text(value.size() < IFNAMSIZ ? IFLA_IFNAME : IFLA_ALT_IFNAME, value); }
    void u32(std::uint16_t type, std::uint32_t value) { mnl_attr_put_u32(head_, type, value); }
    void u16(std::uint16_t type, std::uint16_t value) { mnl_attr_put_u16(head_, type, value); }
    void address(std::uint16_t type, const ip::address& value) {
        if (value.is_v4()) {
            const auto bytes = value.to_v4().to_bytes();
            mnl_attr_put(head_, type, bytes.size(), bytes.data());
        } else {
            const auto bytes = value.to_v6().to_bytes();
            mnl_attr_put(head_, type, bytes.size(), bytes.data());
        }
    }
    void bytes(std::uint16_t type, const std::string& value) { mnl_attr_put(head_, type, value.size(), value.data()); }
    template <class Structure>
    void structure(std::uint16_t type, const Structure& value) {
        mnl_attr_put(head_, type, sizeof value, &value);
    }
    template <class Inside>
    void nest(std::uint16_t type, Inside inside) {
        nlattr* const outer = mnl_attr_nest_start(head_, type);
        inside();
        mnl_attr_nest_end(head_, outer);
    }
    // Attributes, with their heads.
    void attributes(const std::string& bytes) {
        std::ranges::copy(bytes, static_cast<char*>(mnl_nlmsg_get_payload_tail(head_)));
        head_->nlmsg_len += static_cast<std::uint32_t>(bytes.size());
    }
    [[nodiscard]] std::string text() const { return {buffer_.data(), head_->nlmsg_len}; }

private:
    alignas(nlmsghdr) std::array<char, 4096> buffer_{};
    nlmsghdr* head_;
};

template <class Details>
std::string create_link_message(const std::string& name, const std::string& kind, Details details) {
    builder made(RTM_NEWLINK, makes);
    made.link_header();
    made.text(IFLA_IFNAME, name);
    made.nest(IFLA_LINKINFO, [&] {
        made.text(IFLA_INFO_KIND, kind);
        details(made);
    });
    return made.text();
}

// The attribute of the kernel that a setting of a function is.
class function_attribute {
public:
    function_attribute(builder& made, int function) : made_(made), function_(static_cast<std::uint32_t>(function)) {}

    void operator()(const model::function_vlan& one) const {
        made_.structure(IFLA_VF_VLAN, ifla_vf_vlan{function_, one.id, one.qos});
    }
    void operator()(const model::function_rate& one) const {
        made_.structure(IFLA_VF_RATE, ifla_vf_rate{function_, one.min, one.max});
    }
    void operator()(const model::function_spoof_check& one) const {
        made_.structure(IFLA_VF_SPOOFCHK, ifla_vf_spoofchk{function_, one.is_on ? 1U : 0U});
    }
    void operator()(model::function_link one) const {
        made_.structure(IFLA_VF_LINK_STATE, ifla_vf_link_state{function_, static_cast<std::uint32_t>(one)});
    }
    void operator()(const model::function_trust& one) const {
        made_.structure(IFLA_VF_TRUST, ifla_vf_trust{function_, one.is_on ? 1U : 0U});
    }
    void operator()(const model::function_query_rss& one) const {
        made_.structure(IFLA_VF_RSS_QUERY_EN, ifla_vf_rss_query_en{function_, one.is_on ? 1U : 0U});
    }

private:
    builder& made_;
    std::uint32_t function_;
};

void put_address(builder& made, int link, const host_address& which, const std::optional<ip::address>& peer,
                 std::uint8_t scope) {
    auto& head = made.header<ifaddrmsg>();
    head.ifa_family = which.address.is_v4() ? AF_INET : AF_INET6;
    head.ifa_prefixlen = static_cast<std::uint8_t>(which.prefix);
    head.ifa_scope = scope;
    head.ifa_index = static_cast<std::uint32_t>(link);
    made.address(IFA_LOCAL, which.address);
    made.address(IFA_ADDRESS, peer.value_or(which.address));
}

void put_ways(builder& made, int link, const std::vector<model::route_way>& ways) {
    std::string hops;
    for (const auto& way : ways) {
        std::string gateway;
        if (way.gateway && way.gateway->is_v4()) {
            gateway = attribute_of(RTA_GATEWAY, way.gateway->to_v4().to_bytes());
        } else if (way.gateway) {
            gateway = attribute_of(RTA_GATEWAY, way.gateway->to_v6().to_bytes());
        }
        rtnexthop hop{};
        hop.rtnh_len = static_cast<std::uint16_t>(sizeof hop + gateway.size());
        hop.rtnh_flags = way.is_onlink ? RTNH_F_ONLINK : 0;
        hop.rtnh_hops = static_cast<std::uint8_t>(way.weight - 1);
        hop.rtnh_ifindex = link;
        const auto bytes = std::bit_cast<std::array<char, sizeof hop>>(hop);
        hops.append(bytes.begin(), bytes.end());
        hops += gateway;
    }
    made.bytes(RTA_MULTIPATH, hops);
}

std::string route_message(std::uint16_t type, std::uint16_t flags, int link, const model::network_route& route,
                          std::uint32_t table) {
    constexpr std::uint32_t largest_in_head = 255;
    builder made(type, flags);
    auto& head = made.header<rtmsg>();
    head.rtm_family = route.to.address.is_v4() ? AF_INET : AF_INET6;
    head.rtm_dst_len = static_cast<std::uint8_t>(route.to.prefix);
    head.rtm_tos = route.tos;
    head.rtm_table = table <= largest_in_head ? static_cast<std::uint8_t>(table) : std::uint8_t{RT_TABLE_UNSPEC};
    head.rtm_protocol = route.protocol;
    head.rtm_scope = route.scope;
    head.rtm_type = route.is_local ? RTN_LOCAL : RTN_UNICAST;
    head.rtm_flags = route.is_onlink ? RTNH_F_ONLINK : 0;
    if (!route.is_default()) {
        made.address(RTA_DST, route.to.address);
    }
    if (route.gateway) {
        made.address(RTA_GATEWAY, *route.gateway);
    }
    if (route.source) {
        made.address(RTA_PREFSRC, *route.source);
    }
    if (route.metric != 0) {
        made.u32(RTA_PRIORITY, route.metric);
    }
    if (table > largest_in_head) {
        made.u32(RTA_TABLE, table);
    }
    if (route.settings.size() <= model::route_settings_max) {
        made.attributes(route.settings);
    }
    if (route.ways.empty() || route.ways.size() > model::route_ways_max) {
        made.u32(RTA_OIF, static_cast<std::uint32_t>(link));
    } else {
        put_ways(made, link, route.ways);
    }
    return made.text();
}

std::string default_route_message(std::uint16_t type, std::uint16_t flags, int link, const ip::address_v4& gateway) {
    builder made(type, flags);
    auto& head = made.header<rtmsg>();
    head.rtm_family = AF_INET;
    head.rtm_table = RT_TABLE_MAIN;
    head.rtm_type = RTN_UNICAST;
    if (type == RTM_NEWROUTE) {
        head.rtm_protocol = RTPROT_BOOT;
        head.rtm_scope = RT_SCOPE_UNIVERSE;
    } else {
        head.rtm_scope = RT_SCOPE_NOWHERE;  // whatever it has, and whoever made it
    }
    made.address(RTA_GATEWAY, gateway);
    made.u32(RTA_OIF, static_cast<std::uint32_t>(link));
    return made.text();
}

std::string neighbour_message(std::uint16_t type, std::uint16_t flags, int link, const model::given_neighbour& one) {
    builder made(type, flags);
    auto& head = made.header<ndmsg>();
    head.ndm_family = one.address.is_v4() ? AF_INET : AF_INET6;
    head.ndm_ifindex = link;
    head.ndm_state = NUD_PERMANENT;
    head.ndm_flags = static_cast<std::uint8_t>((one.is_proxy ? NTF_PROXY : 0) | (one.is_router ? NTF_ROUTER : 0));
    made.address(NDA_DST, one.address);
    if (!one.is_proxy) {
        made.structure(NDA_LLADDR, one.hardware);
    }
    return made.text();
}

}  // namespace

bool is_device_name(const std::string& name) {
    constexpr std::size_t longest = 127;  // of another name of a device
    return !name.empty() && name.size() <= longest && name.find('%') == std::string::npos &&
           name.find('\0') == std::string::npos;
}

std::string get_link_message(const std::string& name) {
    builder made(RTM_GETLINK, changes);
    made.link_header();
    made.u32(IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
    made.name(name);
    return made.text();
}

std::string dump_queues_message() {
    builder made(RTM_GETQDISC, dumps);
    made.header<tcmsg>().tcm_family = AF_UNSPEC;
    return made.text();
}

std::string get_counters_message(const std::string& name) {
    builder made(RTM_GETLINK, changes);
    made.link_header();
    made.name(name);
    return made.text();
}

std::string get_functions_message(const std::string& name) {
    builder made(RTM_GETLINK, changes);
    made.link_header();
    made.u32(IFLA_EXT_MASK, RTEXT_FILTER_VF | RTEXT_FILTER_SKIP_STATS);
    made.name(name);
    return made.text();
}

std::string set_function_message(int link, int function, const model::function_setting& setting) {
    builder made(RTM_SETLINK, changes);
    made.link_header(link);
    made.nest(IFLA_VFINFO_LIST,
              [&] { made.nest(IFLA_VF_INFO, [&] { std::visit(function_attribute(made, function), setting); }); });
    return made.text();
}

std::string create_bridge_message(const std::string& name, const model::hardware_address& hardware) {
    builder made(RTM_NEWLINK, makes);
    made.link_header();
    made.text(IFLA_IFNAME, name);
    if (hardware != model::hardware_address()) {
        made.structure(IFLA_ADDRESS, hardware);
    }
    made.nest(IFLA_LINKINFO, [&] { made.text(IFLA_INFO_KIND, "bridge"); });
    return made.text();
}

std::string create_vlan_message(const std::string& name, int parent, std::uint16_t id) {
    builder made(RTM_NEWLINK, makes);
    made.link_header();
    made.u32(IFLA_LINK, static_cast<std::uint32_t>(parent));
    made.text(IFLA_IFNAME, name);
    made.nest(IFLA_LINKINFO, [&] {
        made.text(IFLA_INFO_KIND, "vlan");
        made.nest(IFLA_INFO_DATA, [&] { made.u16(IFLA_VLAN_ID, id); });
    });
    return made.text();
}

std::string create_vxlan_message(const std::string& name, int lower, std::uint32_t vni, std::uint16_t port) {
    return create_link_message(name, "vxlan", [&](builder& made) {
        made.nest(IFLA_INFO_DATA, [&] {
            made.u32(IFLA_VXLAN_ID, vni);
            made.u32(IFLA_VXLAN_LINK, static_cast<std::uint32_t>(lower));
            made.u16(IFLA_VXLAN_PORT, htons(port));
        });
    });
}

std::string plain_vxlan_message(int link, const model::vxlan_settings& has, bool is_v6) {
    const ip::address none = is_v6 ? ip::address(ip::address_v6()) : ip::address(ip::address_v4());
    builder made(RTM_NEWLINK, changes);
    made.link_header(link);
    made.nest(IFLA_LINKINFO, [&] {
        made.text(IFLA_INFO_KIND, "vxlan");
        made.nest(IFLA_INFO_DATA, [&] {
            made.structure(IFLA_VXLAN_LEARNING, std::uint8_t{1});
            if (has.has_local) {
                made.address(is_v6 ? IFLA_VXLAN_LOCAL6 : IFLA_VXLAN_LOCAL, none);
            }
            if (has.has_remote) {
                made.address(is_v6 ? IFLA_VXLAN_GROUP6 : IFLA_VXLAN_GROUP, none);
            }
        });
    });
    return made.text();
}

std::string set_hardware_message(int link, const model::hardware_address& hardware) {
    builder made(RTM_NEWLINK, changes);
    made.link_header(link);
    made.structure(IFLA_ADDRESS, hardware);
    return made.text();
}

std::string set_up_message(int link, bool is_up) {
    builder made(RTM_NEWLINK, changes);
    auto& head = made.link_header(link);
    head.ifi_flags = is_up ? IFF_UP : 0;
    head.ifi_change = IFF_UP;
    return made.text();
}

std::string set_arp_on_message(int link) {
    builder made(RTM_NEWLINK, changes);
    made.link_header(link).ifi_change = IFF_NOARP;
    return made.text();
}

std::string rename_link_message(int link, const std::string& name) {
    builder made(RTM_NEWLINK, changes);
    made.link_header(link);
    made.text(IFLA_IFNAME, name);
    return made.text();
}

std::string set_mtu_message(int link, int mtu) {
    builder made(RTM_NEWLINK, changes);
    made.link_header(link);
    made.u32(IFLA_MTU, static_cast<std::uint32_t>(mtu));
    return made.text();
}

std::string set_master_message(int link, int master) {
    builder made(RTM_NEWLINK, changes);
    made.link_header(link);
    made.u32(IFLA_MASTER, static_cast<std::uint32_t>(master));
    return made.text();
}

std::string delete_link_message(int link) {
    builder made(RTM_DELLINK, changes);
    made.link_header(link);
    return made.text();
}

std::string get_address_message(int link, const ip::address_v6& address) {
    builder made(RTM_GETADDR, changes);
    auto& head = made.header<ifaddrmsg>();
    head.ifa_family = AF_INET6;
    head.ifa_index = static_cast<std::uint32_t>(link);
    made.address(IFA_ADDRESS, address);
    return made.text();
}

std::string add_address_message(int link, const model::add_address& what, bool is_there) {
    builder made(RTM_NEWADDR, is_there ? changes | NLM_F_REPLACE : makes);
    put_address(made, link, what.address, what.peer, what.scope);
    const auto& has = what.settings;
    const std::uint32_t flags = has.flags | (what.address.address.is_v6() ? IFA_F_NODAD : 0);
    if (flags != 0) {
        made.u32(IFA_FLAGS, flags);
    }
    if (has.metric != 0) {
        made.u32(IFA_RT_PRIORITY, has.metric);
    }
    if (has.broadcast) {
        made.address(IFA_BROADCAST, *has.broadcast);
    }
    if (!has.label.empty() && has.label.size() < IFNAMSIZ) {
        made.text(IFA_LABEL, has.label);
    }
    if (what.lifetime) {
        ifa_cacheinfo left{};
        left.ifa_valid = std::max(what.lifetime->valid, 1U);  // 0 is refused
        left.ifa_prefered = std::min(what.lifetime->preferred, left.ifa_valid);
        made.structure(IFA_CACHEINFO, left);
    }
    return made.text();
}

std::string remove_address_message(int link, const host_address& which, const std::optional<ip::address>& peer) {
    builder made(RTM_DELADDR, changes);
    put_address(made, link, which, peer, model::universe_scope);
    return made.text();
}

std::string add_default_route_message(int link, const ip::address_v4& gateway) {
    return default_route_message(RTM_NEWROUTE, makes, link, gateway);
}

std::string remove_default_route_message(int link, const ip::address_v4& gateway) {
    return default_route_message(RTM_DELROUTE, changes, link, gateway);
}

std::string add_route_message(int link, const model::network_route& route, std::uint32_t table, beside_others how) {
    std::uint16_t flags = makes;
    if (how == beside_others::stay) {
        flags = changes | NLM_F_CREATE | NLM_F_APPEND;
    } else if (how == beside_others::give_way) {
        flags = changes | NLM_F_CREATE | NLM_F_REPLACE;
    } else if (how == beside_others::follow) {
        flags = changes | NLM_F_CREATE;
    }
    return route_message(RTM_NEWROUTE, flags, link, route, table);
}

std::string remove_route_message(int link, const model::network_route& route, std::uint32_t table) {
    return route_message(RTM_DELROUTE, changes, link, route, table);
}

std::string add_neighbour_message(int link, const model::given_neighbour& one) {
    return neighbour_message(RTM_NEWNEIGH, changes | NLM_F_CREATE | NLM_F_REPLACE, link, one);
}

std::string remove_neighbour_message(int link, const model::given_neighbour& one) {
    return neighbour_message(RTM_DELNEIGH, changes, link, one);
}

std::string dump_neighbours_message(bool are_proxies) {
    builder made(RTM_GETNEIGH, dumps);
    made.header<ndmsg>().ndm_flags = are_proxies ? NTF_PROXY : 0;
    return made.text();
}

std::string dump_links_message() {
    builder made(RTM_GETLINK, dumps);
    made.link_header();
    made.u32(IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
    return made.text();
}

std::string dump_addresses_message(int link) {
    builder made(RTM_GETADDR, dumps);
    auto& head = made.header<ifaddrmsg>();
    head.ifa_family = AF_UNSPEC;
    head.ifa_index = static_cast<std::uint32_t>(link);
    return made.text();
}

std::string dump_routes_message() {
    builder made(RTM_GETROUTE, dumps);
    auto& head = made.header<rtmsg>();
    head.rtm_family = AF_INET;
    head.rtm_table = RT_TABLE_MAIN;
    return made.text();
}

std::string dump_local_routes_message(int family) {
    builder made(RTM_GETROUTE, dumps);
    auto& head = made.header<rtmsg>();
    head.rtm_family = static_cast<std::uint8_t>(family);
    head.rtm_type = RTN_LOCAL;
    return made.text();
}

std::string dump_rules_message(int family) {
    builder made(RTM_GETRULE, dumps);
    made.header<fib_rule_hdr>().family = static_cast<std::uint8_t>(family);
    return made.text();
}

std::string dump_link_routes_message(int family) {
    builder made(RTM_GETROUTE, dumps);
    auto& head = made.header<rtmsg>();
    head.rtm_family = static_cast<std::uint8_t>(family);
    // Of all types: an address takes others along (blackhole, …), or they lose it as their source.
    head.rtm_type = RTN_UNSPEC;
    return made.text();
}

}  // namespace pvc::netlink
