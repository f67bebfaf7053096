// Of addresses, queues and rules what a look takes from them beside links and routes.
#include "adapter/attributes.hpp"
#include "pvcnoded/netlink/replies.hpp"

#include <fmt/format.h>

#include <linux/fib_rules.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <algorithm>

namespace pvc::netlink {

place_of_route read_place_of_route(std::string_view body) {
    place_of_route place;
    if (const auto head = read_as<rtmsg>(body)) {
        place.table = head->rtm_table;
        place.length = head->rtm_dst_len;
        place.tos = head->rtm_tos;
    }
    attributes all(body.substr(std::min(body.size(), sizeof(rtmsg))));
    while (const auto one = all.next()) {
        if (one->type == RTA_DST) {
            std::ranges::copy(one->value.substr(0, place.to.size()), place.to.begin());
        } else if (one->type == RTA_TABLE || one->type == RTA_PRIORITY) {
            auto& number = one->type == RTA_TABLE ? place.table : place.metric;
            number = read_as<std::uint32_t>(one->value).value_or(number);
        }
    }
    return place;
}

// The kernel makes its route to an address of IPv6 a moment after that is there, on a thread of its own.
bool is_new_address(std::string_view body, std::uint32_t now) {
    constexpr std::uint32_t moment = 300;
    bool is_new = false;
    attributes all(body.substr(std::min(body.size(), sizeof(ifaddrmsg))));
    while (const auto one = all.next()) {
        const auto times = one->type == IFA_CACHEINFO ? read_as<ifa_cacheinfo>(one->value) : std::nullopt;
        is_new = is_new || (times && now - times->cstamp < moment);
    }
    return is_new;
}

bool is_tentative_address(std::string_view body, std::uint32_t now) {
    const auto head = read_as<ifaddrmsg>(body);
    std::uint32_t flags = head ? head->ifa_flags : 0;
    attributes all(body.substr(std::min(body.size(), sizeof(ifaddrmsg))));
    while (const auto one = all.next()) {
        flags = one->type == IFA_FLAGS ? read_as<std::uint32_t>(one->value).value_or(flags) : flags;
    }
    // One that another machine was found to have stays tentative: nobody asks again.
    return is_new_address(body, now) || (flags & (IFA_F_TENTATIVE | IFA_F_DADFAILED)) == IFA_F_TENTATIVE;
}

result<named_rule> parse_rule(std::string_view body) {
    const auto head = read_as<fib_rule_hdr>(body);
    if (!head) {
        return malformed("a rule");
    }
    named_rule rule;
    std::uint32_t priority = 0;
    std::uint32_t table = head->table;
    const bool is_well = read_all(body.substr(sizeof(fib_rule_hdr)), [&](const attribute& one) {
        switch (one.type) {
            case FRA_IIFNAME: return put_text(rule.in, one.value);
            case FRA_OIFNAME: return put_text(rule.out, one.value);
            case FRA_PRIORITY: return put<std::uint32_t>(priority, one.value);
            case FRA_TABLE: return put<std::uint32_t>(table, one.value);
            default: return true;
        }
    });
    if (!is_well) {
        return malformed("a rule");
    }
    rule.text = fmt::format("ip {}rule {} ({}{}{}{}{}table {})", head->family == AF_INET6 ? "-6 " : "", priority,
                            (head->flags & FIB_RULE_INVERT) != 0 ? "not " : "", rule.in.empty() ? "" : "iif ",
                            rule.in.empty() ? "" : rule.in + ", ", rule.out.empty() ? "" : "oif ",
                            rule.out.empty() ? "" : rule.out + ", ", table);
    return rule;
}

result<int> parse_filtering_queue(std::string_view body) {
    const auto head = read_as<tcmsg>(body);
    if (!head) {
        return malformed("a queue");
    }
    std::string kind;
    const bool is_well = read_all(body.substr(sizeof(tcmsg)), [&](const attribute& one) {
        return one.type != TCA_KIND || put_text(kind, one.value);
    });
    if (!is_well) {
        return malformed("a queue");
    }
    return (kind == "ingress" || kind == "clsact") && head->tcm_ifindex > 0 ? head->tcm_ifindex : 0;
}

}  // namespace pvc::netlink
