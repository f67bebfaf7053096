#include "pvcnoded/netlink/replies.hpp"

#include "adapter/attributes.hpp"

#include <fmt/format.h>

#include <arpa/inet.h>
#include <linux/if_addr.h>
#include <linux/if_arp.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <functional>

namespace pvc::netlink {

namespace {

bool put_be16(std::uint16_t& field, std::string_view bytes) {
    const bool is_there = put<std::uint16_t>(field, bytes);
    field = ntohs(field);
    return is_there;
}

// ---- datagrams ------------------------------------------------------------------------------------------------------

// The attributes of an extended acknowledgement follow the message that it answers, of which there is only the header
// if the acknowledgement is capped.
std::string sentence_of(const nlmsghdr& head, std::string_view body) {
    const auto told = read_as<nlmsgerr>(body);
    if (!told || (head.nlmsg_flags & NLM_F_ACK_TLVS) == 0) {
        return {};
    }
    std::size_t skipped = sizeof(nlmsgerr);
    if ((head.nlmsg_flags & NLM_F_CAPPED) == 0 && told->msg.nlmsg_len > sizeof(nlmsghdr)) {
        skipped += padded(told->msg.nlmsg_len - sizeof(nlmsghdr));
    }
    std::string sentence;
    attributes all(body.substr(std::min(skipped, body.size())));
    while (const auto one = all.next()) {
        if (one->type == NLMSGERR_ATTR_MSG) {
            put_text(sentence, one->value);
        }
    }
    return sentence;
}

// Of a refusal and of the end of a dump alike: the number comes first.
bool take_end(reply_datagram& into, const nlmsghdr& head, std::string_view body) {
    int code = 0;
    const bool has_code = put<int>(code, body);
    if (head.nlmsg_type == NLMSG_ERROR && !has_code) {
        return false;
    }
    into.is_over = true;
    into.error = code < 0 && code > -4096 ? -code : 0;
    if (head.nlmsg_type == NLMSG_ERROR) {
        into.sentence = sentence_of(head, body);
    }
    return true;
}

// ---- links ----------------------------------------------------------------------------------------------------------

bool take_vxlan(model::network_link& link, std::string_view bytes) {
    model::vxlan_settings& to = link.vxlan.emplace();
    return read_all(bytes, [&](const attribute& one) {
        switch (one.type) {
            case IFLA_VXLAN_ID: return put<std::uint32_t>(to.vni, one.value);
            case IFLA_VXLAN_LINK: return put<std::uint32_t>(link.lower, one.value);
            case IFLA_VXLAN_PORT: return put_be16(to.port, one.value);
            case IFLA_VXLAN_LEARNING: return put<std::uint8_t>(to.is_learning, one.value);
            case IFLA_VXLAN_LOCAL:
            case IFLA_VXLAN_LOCAL6: return to.has_local = true;
            case IFLA_VXLAN_GROUP:
            case IFLA_VXLAN_GROUP6: return to.has_remote = true;
            default: return true;
        }
    });
}

// Of another protocol (802.1ad) it has no number that any of ours could have.
bool take_vlan(model::network_link& link, std::string_view bytes) {
    bool is_tagged = true;
    const bool is_well = read_all(bytes, [&](const attribute& one) {
        if (one.type == IFLA_VLAN_PROTOCOL) {
            const auto protocol = read_as<std::uint16_t>(one.value);
            is_tagged = protocol && *protocol == htons(ETH_P_8021Q);
            return protocol.has_value();
        }
        return one.type != IFLA_VLAN_ID || put<std::uint16_t>(link.vlan_id.emplace(), one.value);
    });
    if (!is_tagged) {
        link.vlan_id.reset();
    }
    return is_well;
}

bool take_bridge(model::network_link& link, std::string_view bytes) {
    return read_all(bytes, [&](const attribute& one) {
        std::uint32_t state = 0;
        if (one.type != IFLA_BR_STP_STATE) {
            return true;
        }
        const bool is_there = put<std::uint32_t>(state, one.value);
        link.has_stp = state != 0;  // 1: the kernel, 2: a program
        return is_there;
    });
}

bool take_details(model::network_link& link, std::string_view bytes) {
    link.kind.clear();  // told twice, the last kind holds, with its settings alone
    link.vxlan.reset();
    link.vlan_id.reset();
    link.has_stp = false;
    std::string_view data;
    const bool is_well = read_all(bytes, [&](const attribute& one) {
        if (one.type == IFLA_INFO_KIND) {
            return put_text(link.kind, one.value);
        }
        if (one.type == IFLA_INFO_DATA) {
            data = one.value;
        }
        return true;
    });
    if (!is_well || data.empty()) {
        return is_well;
    }
    if (link.kind == "vxlan") {
        return take_vxlan(link, data);
    }
    if (link.kind == "bridge") {
        return take_bridge(link, data);
    }
    return link.kind != "vlan" || take_vlan(link, data);
}

// Told twice, the last ones hold.
bool take_names(model::network_link& link, std::string_view bytes) {
    link.alt_names.clear();
    return read_all(bytes, [&](const attribute& one) {
        return one.type != IFLA_ALT_IFNAME || put_text(link.alt_names.emplace_back(), one.value);
    });
}

bool take_lifetime(model::address_lifetime& to, std::string_view bytes) {
    const auto read = read_as<ifa_cacheinfo>(bytes);
    to = read ? model::address_lifetime{read->ifa_valid, read->ifa_prefered} : to;
    return read.has_value();
}

bool take_hardware(kernel_link& to, std::string_view bytes) {
    if (bytes.size() == std::tuple_size_v<hardware_address>) {
        to.hardware = read_as<hardware_address>(bytes);
        to.link.hardware = to.hardware.value_or(hardware_address());
    }
    return true;
}

// ---- addresses ------------------------------------------------------------------------------------------------------

bool put_address(std::optional<ip::address>& field, int family, std::string_view bytes) {
    if (family == AF_INET) {
        const auto value = read_as<ip::address_v4::bytes_type>(bytes);
        field = value ? std::optional<ip::address>(ip::address_v4(*value)) : std::nullopt;
    } else {
        const auto value = read_as<ip::address_v6::bytes_type>(bytes);
        field = value ? std::optional<ip::address>(ip::address_v6(*value)) : std::nullopt;
    }
    return field.has_value();
}

// ---- routes ---------------------------------------------------------------------------------------------------------

struct route_parts {
    int family = AF_INET;
    std::uint32_t table = 0;
    std::uint32_t metric = 0;
    std::optional<ip::address> gateway;
    int link = 0;
    std::string_view several;
    std::optional<ip::address> to;
    std::optional<ip::address> source;
    std::string settings{};  // model::network_route
    std::string more{};      // what a route that is made anew would not have
};

// RTA_VIA: a gateway of the other family, as it is told with its family in front.
bool put_via(std::optional<ip::address>& field, std::string_view bytes) {
    std::uint16_t family = 0;
    return put<std::uint16_t>(family, bytes) && put_address(field, family, bytes.substr(sizeof family));
}

// One that goes by itself.
bool take_expiry(route_parts& to, std::string_view bytes) {
    const auto read = read_as<rta_cacheinfo>(bytes);
    if (read && read->rta_expires != 0) {
        to.more = "it is there for a limited time";
    }
    return read.has_value();
}

bool take_setting(route_parts& to, const attribute& one) {
    to.settings += attribute_of(one.type, one.value);
    if (to.settings.size() > model::route_settings_max) {
        to.more = "it has very many settings";
    }
    return true;
}

bool take_nexthop(route_parts& to, std::string_view bytes) {
    std::uint32_t id = 0;
    const bool is_there = put<std::uint32_t>(id, bytes);
    to.more = fmt::format("it goes by the nexthop object {}, which names the device", id);
    return is_there;
}

// Of IPv6 all have one: 0 is the usual.
bool take_preference(route_parts& to, const attribute& one) {
    return one.value.size() == 1 && (one.value.front() == 0 || take_setting(to, one));
}

bool take_route(route_parts& to, std::string_view bytes) {
    return read_all(bytes, [&](const attribute& one) {
        switch (one.type) {
            case RTA_TABLE: return put<std::uint32_t>(to.table, one.value);
            case RTA_PRIORITY: return put<std::uint32_t>(to.metric, one.value);
            case RTA_DST: return put_address(to.to, to.family, one.value);
            case RTA_PREFSRC: return put_address(to.source, to.family, one.value);
            case RTA_GATEWAY: return put_address(to.gateway, to.family, one.value);
            case RTA_VIA: to.more = "its gateway is of the other family"; return put_via(to.gateway, one.value);
            case RTA_METRICS:
            case RTA_FLOW: return take_setting(to, one);
            case RTA_PREF: return take_preference(to, one);
            case RTA_ENCAP: to.more = "its packets are wrapped"; return true;
            case RTA_NH_ID: return take_nexthop(to, one.value);
            case RTA_CACHEINFO: return take_expiry(to, one.value);
            case RTA_OIF: return put<std::uint32_t>(to.link, one.value);
            case RTA_MULTIPATH: to.several = one.value; return true;
            default: return true;
        }
    });
}

model::default_route route_of(const route_parts& parts, std::uint32_t metric) {
    return {parts.gateway.value_or(ip::address_v4()), parts.link, metric};
}

// Each hop is a header and the attributes of a route.
bool take_hops(std::string_view bytes, int family,
               const std::function<void(const route_parts&, const rtnexthop&)>& take) {
    while (!bytes.empty()) {
        const auto hop = read_as<rtnexthop>(bytes);
        if (!hop || hop->rtnh_len < sizeof(rtnexthop) || hop->rtnh_len > bytes.size()) {
            return false;
        }
        route_parts parts;
        parts.family = family;
        if (!take_route(parts, bytes.substr(sizeof(rtnexthop), hop->rtnh_len - sizeof(rtnexthop)))) {
            return false;
        }
        parts.link = hop->rtnh_ifindex;
        take(parts, *hop);
        bytes.remove_prefix(std::min(padded(hop->rtnh_len), bytes.size()));
    }
    return true;
}

// As a whole, if they are over one link; else each by itself: of IPv6 each is added and taken away alone, if it has the
// usual weight.
bool take_several(std::vector<model::link_route>& found, model::link_route route, const route_parts& of) {
    std::vector<int> links;
    std::vector<model::route_way> ways;
    const auto take = [&](const route_parts& hop, const rtnexthop& head) {
        links.push_back(hop.link);
        ways.push_back(
            {hop.gateway, static_cast<std::uint16_t>(head.rtnh_hops + 1), (head.rtnh_flags & RTNH_F_ONLINK) != 0});
        if (!hop.more.empty() || !hop.settings.empty()) {
            route.more = hop.more.empty() ? "one of its ways has settings of its own" : hop.more;
        }
    };
    if (!take_hops(of.several, of.family, take)) {
        return false;
    }
    const bool is_over_one = std::ranges::all_of(links, [&](int link) { return link == links.front(); });
    if (!links.empty() && is_over_one && links.front() != 0 && ways.size() <= model::route_ways_max) {
        route.link = links.front();
        route.is.ways = std::move(ways);
        found.push_back(std::move(route));
        return true;
    }
    const bool is_each_alone = of.family == AF_INET6 && std::ranges::all_of(ways, [](const model::route_way& way) {
                                   return way.weight == 1 && way.gateway;
                               });
    if (!is_each_alone) {
        route.more = "it is one of several ways";
    }
    for (std::size_t at = 0; at < links.size(); ++at) {
        route.link = links[at];
        route.is.gateway = ways[at].gateway;
        route.is.is_onlink = ways[at].is_onlink;
        if (route.link != 0) {
            found.push_back(route);
        }
    }
    return true;
}

}  // namespace

result<reply_datagram> read_datagram(std::string_view bytes, std::uint32_t sequence, std::uint32_t port) {
    reply_datagram read;
    while (!bytes.empty() && !read.is_over) {
        const auto head = read_as<nlmsghdr>(bytes);
        if (!head || head->nlmsg_len < sizeof(nlmsghdr) || head->nlmsg_len > bytes.size()) {
            return malformed("a message");
        }
        const auto body = bytes.substr(sizeof(nlmsghdr), head->nlmsg_len - sizeof(nlmsghdr));
        bytes.remove_prefix(std::min(padded(head->nlmsg_len), bytes.size()));
        if (head->nlmsg_seq != sequence || head->nlmsg_pid != port) {
            continue;
        }
        read.is_interrupted = read.is_interrupted || (head->nlmsg_flags & NLM_F_DUMP_INTR) != 0;
        if (head->nlmsg_type == NLMSG_ERROR || head->nlmsg_type == NLMSG_DONE) {
            if (!take_end(read, *head, body)) {
                return malformed("an acknowledgement");
            }
        } else if (head->nlmsg_type >= NLMSG_MIN_TYPE) {
            read.messages.push_back({head->nlmsg_type, body});
        }
    }
    return read;
}

result<std::vector<acknowledgement>> read_acknowledgements(std::string_view bytes, std::uint32_t port) {
    std::vector<acknowledgement> found;
    while (!bytes.empty()) {
        const auto head = read_as<nlmsghdr>(bytes);
        if (!head || head->nlmsg_len < sizeof(nlmsghdr) || head->nlmsg_len > bytes.size()) {
            return malformed("a message");
        }
        const auto body = bytes.substr(sizeof(nlmsghdr), head->nlmsg_len - sizeof(nlmsghdr));
        bytes.remove_prefix(std::min(padded(head->nlmsg_len), bytes.size()));
        if (head->nlmsg_pid != port || head->nlmsg_type != NLMSG_ERROR) {
            continue;
        }
        reply_datagram one;
        if (!take_end(one, *head, body)) {
            return malformed("an acknowledgement");
        }
        found.push_back({head->nlmsg_seq, one.error, std::move(one.sentence)});
    }
    return found;
}

result<std::optional<kernel_link>> parse_link(std::string_view body) {
    const auto head = read_as<ifinfomsg>(body);
    if (!head) {
        return malformed("a link");
    }
    if (head->ifi_family != AF_UNSPEC) {
        return std::nullopt;  // as a bridge tells of its ports
    }
    kernel_link to;
    model::network_link& link = to.link;
    link.index = head->ifi_index;
    link.is_up = (head->ifi_flags & IFF_UP) != 0;
    link.is_running = (head->ifi_flags & IFF_RUNNING) != 0;
    link.is_loopback = (head->ifi_flags & IFF_LOOPBACK) != 0;
    link.is_arp_off = (head->ifi_flags & IFF_NOARP) != 0;
    bool is_elsewhere = false;
    const bool is_well = read_all(body.substr(sizeof(ifinfomsg)), [&](const attribute& one) {
        switch (one.type) {
            case IFLA_IFNAME: return put_text(link.name, one.value);
            case IFLA_MTU: return put<std::uint32_t>(link.mtu, one.value);
            case IFLA_MASTER: return put<std::uint32_t>(link.master, one.value);
            case IFLA_LINK: return put<std::uint32_t>(link.lower, one.value);
            case IFLA_LINK_NETNSID: return is_elsewhere = true;
            case IFLA_LINKINFO: return take_details(link, one.value);
            case IFLA_PROP_LIST: return take_names(link, one.value);
            case IFLA_ADDRESS: return head->ifi_type != ARPHRD_ETHER || take_hardware(to, one.value);
            default: return true;
        }
    });
    if (!is_well || link.name.empty() || link.index <= 0) {
        return malformed("a link");
    }
    // A number of another namespace; of a pair of veth the other end, on which it does not stand.
    if (is_elsewhere || link.kind == "veth") {
        link.lower = 0;
    }
    return to;
}

result<std::optional<model::link_address>> parse_link_address(std::string_view body) {
    const auto head = read_as<ifaddrmsg>(body);
    if (!head) {
        return malformed("an address");
    }
    const int family = head->ifa_family;
    if (family != AF_INET && family != AF_INET6) {
        return std::nullopt;
    }
    model::link_address to;
    to.link = static_cast<int>(head->ifa_index);
    to.address.prefix = head->ifa_prefixlen;
    to.scope = head->ifa_scope;
    std::uint32_t flags = head->ifa_flags;
    std::optional<ip::address> local;
    std::optional<ip::address> other;  // the same, of one that was given with a far end that
    const bool is_well = read_all(body.substr(sizeof(ifaddrmsg)), [&](const attribute& one) {
        switch (one.type) {
            case IFA_LOCAL: return put_address(local, family, one.value);
            case IFA_ADDRESS: return put_address(other, family, one.value);
            case IFA_BROADCAST: return put_address(to.settings.broadcast, family, one.value);
            case IFA_RT_PRIORITY: return put<std::uint32_t>(to.settings.metric, one.value);
            case IFA_LABEL: return put_text(to.settings.label, one.value);
            case IFA_CACHEINFO: return take_lifetime(to.lifetime, one.value);
            case IFA_FLAGS: return put<std::uint32_t>(flags, one.value);
            default: return true;
        }
    });
    const int prefix_max = family == AF_INET ? 32 : 128;
    if (!is_well || to.address.prefix > prefix_max || (!local && !other)) {
        return malformed("an address");
    }
    to.address.address = local ? *local : *other;
    to.peer = local && other && *other != *local ? other : std::nullopt;
    to.is_permanent = (flags & IFA_F_PERMANENT) != 0;
    to.settings.flags = flags & model::given_flags;
    if ((flags & IFA_F_DEPRECATED) != 0) {
        to.lifetime.preferred = 0;  // of IPv4 that stays the kernel tells by this alone
    }
    return to;
}

result<std::vector<model::default_route>> parse_default_route(std::string_view body) {
    const auto head = read_as<rtmsg>(body);
    if (!head) {
        return malformed("a route");
    }
    std::vector<model::default_route> found;
    const bool is_default = head->rtm_family == AF_INET && head->rtm_dst_len == 0 && head->rtm_type == RTN_UNICAST &&
                            (head->rtm_flags & RTM_F_CLONED) == 0;
    if (!is_default) {
        return found;
    }
    route_parts parts;
    parts.table = head->rtm_table;
    if (!take_route(parts, body.substr(sizeof(rtmsg)))) {
        return malformed("a route");
    }
    if (parts.table != RT_TABLE_MAIN) {
        return found;
    }
    if (parts.several.empty()) {
        found.push_back(route_of(parts, parts.metric));
        return found;
    }
    const auto take = [&](const route_parts& hop, const rtnexthop& /*head*/) {
        found.push_back(route_of(hop, parts.metric));
    };
    if (!take_hops(parts.several, AF_INET, take)) {
        return malformed("a route");
    }
    return found;
}

bool is_default_route(std::string_view body) {
    const auto head = read_as<rtmsg>(body);
    return head && head->rtm_dst_len == 0;
}

std::optional<int> link_of_route(std::string_view body) {
    attributes all(body.substr(std::min(body.size(), sizeof(rtmsg))));
    while (const auto one = all.next()) {
        if (one->type == RTA_OIF) {
            return read_as<int>(one->value);
        }
    }
    return std::nullopt;
}

namespace {

// Empty: it leads somewhere.
std::string_view word_of_nowhere(std::uint8_t type) {
    switch (type) {
        case RTN_BLACKHOLE: return "blackhole";
        case RTN_UNREACHABLE: return "unreachable";
        case RTN_PROHIBIT: return "prohibit";
        case RTN_THROW: return "throw";
        default: return {};
    }
}

}  // namespace

result<std::vector<model::link_route>> parse_link_routes(std::string_view body) {
    const auto head = read_as<rtmsg>(body);
    if (!head) {
        return malformed("a route");
    }
    std::vector<model::link_route> found;
    const bool is_v4 = head->rtm_family == AF_INET;
    const bool is_local = head->rtm_type == RTN_LOCAL;
    const auto nowhere = word_of_nowhere(head->rtm_type);
    const bool is_somebodys = (is_v4 || head->rtm_family == AF_INET6) &&
                              (is_local || head->rtm_type == RTN_UNICAST || !nowhere.empty()) &&
                              (head->rtm_flags & RTM_F_CLONED) == 0 && head->rtm_protocol != RTPROT_KERNEL &&
                              head->rtm_protocol != RTPROT_REDIRECT && head->rtm_protocol != RTPROT_RA;
    if (!is_somebodys) {
        return found;
    }
    route_parts parts;
    parts.family = head->rtm_family;
    parts.table = head->rtm_table;
    const int prefix_max = is_v4 ? 32 : 128;
    if (!take_route(parts, body.substr(sizeof(rtmsg))) || head->rtm_dst_len > prefix_max) {
        return malformed("a route");
    }
    model::link_route route;
    route.is.to = {parts.to.value_or(is_v4 ? ip::address(ip::address_v4()) : ip::address(ip::address_v6())),
                   head->rtm_dst_len};
    route.is.metric = parts.metric;
    route.is.source = parts.source;
    route.is.scope = head->rtm_scope;
    route.is.protocol = head->rtm_protocol;
    route.is.tos = head->rtm_tos;
    route.is.settings = parts.settings;
    route.is.is_local = is_local;
    route.table = parts.table;
    route.more = head->rtm_src_len != 0 ? "it is for packets of one source" : parts.more;
    if (!nowhere.empty()) {
        route.more = fmt::format("it is of the type {}", nowhere);
        return parts.source ? std::vector<model::link_route>{route} : found;
    }
    if (parts.several.empty()) {
        route.is.gateway = parts.gateway;
        route.is.is_onlink = (head->rtm_flags & RTNH_F_ONLINK) != 0;
        route.link = parts.link;
        return parts.link == 0 ? found : std::vector<model::link_route>{route};
    }
    if (!take_several(found, std::move(route), parts)) {
        return malformed("a route");
    }
    return found;
}

result<std::optional<model::connected_route>> parse_connected_route(std::string_view body) {
    const auto head = read_as<rtmsg>(body);
    if (!head) {
        return malformed("a route");
    }
    const bool is_v4 = head->rtm_family == AF_INET;
    if ((!is_v4 && head->rtm_family != AF_INET6) || head->rtm_type != RTN_UNICAST ||
        head->rtm_protocol != RTPROT_KERNEL || (head->rtm_flags & RTM_F_CLONED) != 0) {
        return std::nullopt;
    }
    route_parts parts;
    parts.family = head->rtm_family;
    parts.table = head->rtm_table;
    if (!take_route(parts, body.substr(sizeof(rtmsg))) || head->rtm_dst_len > (is_v4 ? 32 : 128)) {
        return malformed("a route");
    }
    if (parts.table != RT_TABLE_MAIN || parts.gateway || parts.link == 0 || !parts.to) {
        return std::nullopt;
    }
    return model::connected_route{
        parts.link, {*parts.to, head->rtm_dst_len}, parts.metric, parts.source, std::move(parts.settings)};
}

result<std::optional<local_address>> parse_local_route(std::string_view body) {
    const auto head = read_as<rtmsg>(body);
    if (!head) {
        return malformed("a route");
    }
    const int length = head->rtm_family == AF_INET ? 32 : 128;
    if ((head->rtm_family != AF_INET && head->rtm_family != AF_INET6) || head->rtm_type != RTN_LOCAL ||
        head->rtm_dst_len != length) {
        return std::nullopt;
    }
    route_parts parts;
    parts.family = head->rtm_family;
    parts.table = head->rtm_table;
    if (!take_route(parts, body.substr(sizeof(rtmsg)))) {
        return malformed("a route");
    }
    const bool is_one = parts.table == RT_TABLE_LOCAL && parts.link != 0 && parts.to;
    return is_one ? std::optional(local_address{parts.link, *parts.to}) : std::nullopt;
}

}  // namespace pvc::netlink
