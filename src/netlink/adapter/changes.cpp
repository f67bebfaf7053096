#include "adapter/changes.hpp"

#include "adapter/messages.hpp"
#include "adapter/routing_socket.hpp"
#include "adapter/settings.hpp"
#include "pvcnoded/base/guard.hpp"

#include <fmt/format.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace pvc::netlink {

namespace {

// What is there under a name, as far as it matters to who would make it.
std::string in_words(const model::network_link& link) {
    std::string text = link.kind.empty() ? "a device" : "a " + link.kind;
    if (link.vlan_id) {
        text += fmt::format(" of id {}", *link.vlan_id);
    }
    if (link.vxlan) {
        text += fmt::format(" of VNI {} and port {}", link.vxlan->vni, link.vxlan->port);
    }
    if (link.vlan_id || link.vxlan) {
        text += fmt::format(" on link {}", link.lower);
    }
    return text;
}

std::string in_words(const std::vector<model::default_route>& routes) {
    std::string text;
    for (const auto& one : routes) {
        text += fmt::format("{}via {} on link {}", text.empty() ? "there is one " : ", ", one.gateway.to_string(),
                            one.link);
    }
    return text.empty() ? "there is another one" : text;
}

}  // namespace

change_work::outcome change_work::carry_out(std::string message, int also) {
    PVC_TRY(const auto answer, requests_.ask(std::move(message), by_));
    if (answer.error == 0 || answer.error == also) {
        return result<void>();
    }
    return refusal(about_, answer);
}

change_work::outcome change_work::make(const std::string& name, std::string message) {
    if (!is_device_name(name) || name.size() >= IFNAMSIZ) {
        return failure(errc::refused, about_, "it is no name of a device");
    }
    PVC_TRY(const auto answer, requests_.ask(std::move(message), by_));
    if (answer.error == 0) {
        return result<void>();
    }
    if (answer.error != EEXIST) {
        return refusal(about_, answer);
    }
    PVC_TRY(const auto there, requests_.find_link(name, by_));
    if (!there) {
        return failure(errc::refused, about_, answer.cause());  // the same under another name
    }
    if (there->link.name != name) {
        return failure(errc::already_exists, about_, "it is another name of " + there->link.name);
    }
    return failure(errc::already_exists, about_, "there is " + in_words(there->link));
}

change_work::outcome change_work::operator()(const model::make_bridge& one) {
    return make(one.name, create_bridge_message(one.name, one.hardware));
}

change_work::outcome change_work::operator()(const model::make_vlan& one) {
    PVC_TRY(const auto parent, requests_.need_link(one.parent, by_));
    return make(one.name, create_vlan_message(one.name, parent.link.index, one.id));
}

change_work::outcome change_work::operator()(const model::make_vxlan& one) {
    PVC_TRY(const auto lower, requests_.need_link(one.lower, by_));
    return make(one.name, create_vxlan_message(one.name, lower.link.index, one.vni, one.port));
}

change_work::outcome change_work::operator()(const model::plain_vxlan& one) {
    PVC_TRY(const auto found, requests_.need_link(one.name, by_));
    if (!found.link.vxlan) {
        return failure(errc::already_exists, about_, "there is " + in_words(found.link));
    }
    const auto& has = *found.link.vxlan;
    auto done = carry_out(plain_vxlan_message(found.link.index, has, false));
    const bool is_refused = !done && done.error().code() == errc::refused;
    return is_refused && (has.has_local || has.has_remote) ? carry_out(plain_vxlan_message(found.link.index, has, true))
                                                           : done;
}

// The kernel forgets what somebody entered on a link that is given an address, also the one that it has: that comes
// again within the same datagram, so that who dies in between has lost none.
change_work::outcome change_work::operator()(const model::set_hardware& one) {
    PVC_TRY(const auto found, requests_.need_link(one.name, by_));
    PVC_TRY(const auto neighbours, requests_.neighbours(by_));
    std::vector<std::string> again;
    for (const auto& neighbour : neighbours) {
        if (neighbour.link == found.link.index) {
            again.push_back(add_neighbour_message(found.link.index, neighbour.is));
        }
    }
    std::vector<kernel_answer> ends;
    PVC_TRY(const auto answer,
            requests_.ask_all(set_hardware_message(found.link.index, one.hardware), std::move(again), ends, by_));
    if (answer.error != 0) {
        return refusal(about_, answer);
    }
    const auto lost = std::ranges::find_if(ends, [](const kernel_answer& end) { return end.error != 0; });
    return lost == ends.end() ? result<void>() : result<void>(refusal(about_, *lost));
}

change_work::outcome change_work::operator()(const model::set_up& one) {
    PVC_TRY(const auto found, requests_.need_link(one.name, by_));
    return carry_out(set_up_message(found.link.index, true));
}

change_work::outcome change_work::operator()(const model::set_down& one) {
    PVC_TRY(const auto found, requests_.find_link(one.name, by_));
    if (!found) {
        return result<void>();
    }
    return carry_out(set_up_message(found->link.index, false), ENODEV);
}

change_work::outcome change_work::operator()(const model::set_mtu& one) {
    PVC_TRY(const auto found, requests_.need_link(one.name, by_));
    return carry_out(set_mtu_message(found.link.index, one.mtu));
}

change_work::outcome change_work::operator()(const model::set_arp_on& one) {
    PVC_TRY(const auto found, requests_.need_link(one.name, by_));
    return carry_out(set_arp_on_message(found.link.index));
}

change_work::outcome change_work::operator()(const model::rename_link& one) {
    PVC_TRY(const auto answer, requests_.ask(rename_link_message(one.index, one.name), by_));
    if (answer.error != EBUSY) {
        return answer.error == 0 ? result<void>() : result<void>(refusal(about_, answer));
    }
    // It is up. Who dies in between leaves it down, which the next look sees.
    PVC_TRY(const auto down, requests_.ask(set_up_message(one.index, false), by_));
    if (down.error != 0) {
        return refusal(about_, down);
    }
    PVC_TRY(const auto renamed, requests_.ask(rename_link_message(one.index, one.name), by_));
    PVC_TRY(const auto up, requests_.ask(set_up_message(one.index, true), by_));
    if (renamed.error != 0 || up.error != 0) {
        return refusal(about_, renamed.error != 0 ? renamed : up);
    }
    return result<void>();
}

change_work::outcome change_work::operator()(const model::set_master& one) {
    PVC_TRY(const auto found, requests_.need_link(one.name, by_));
    if (one.if_free != 0 && (found.link.index != one.if_free || found.link.master != 0)) {
        return result<void>();
    }
    int master = 0;
    if (!one.master.empty()) {
        PVC_TRY(const auto bridge, requests_.need_link(one.master, by_));
        master = bridge.link.index;
    }
    return carry_out(set_master_message(found.link.index, master));
}

change_work::outcome change_work::operator()(const model::delete_link& one) {
    PVC_TRY(const auto found, requests_.find_link(one.name, by_));
    if (!found) {
        return result<void>();
    }
    return carry_out(delete_link_message(found->link.index), ENODEV);
}

change_work::outcome change_work::operator()(const model::add_address& one) {
    PVC_TRY(const auto found, requests_.need_link(one.device, by_));
    return requests_.add_address(found.link.index, one, about_, by_);
}

change_work::outcome change_work::operator()(const model::remove_address& one) {
    PVC_TRY(const auto found, requests_.find_link(one.device, by_));
    if (!found) {
        return result<void>();
    }
    return requests_.remove_address(found->link.index, one.address, one.peer, about_, by_);
}

change_work::outcome change_work::operator()(const model::add_default_route& one) {
    if (!one.gateway.is_v4()) {
        return failure(errc::refused, about_, "only those of IPv4 are set");
    }
    PVC_TRY(const auto found, requests_.need_link(one.device, by_));
    const int link = found.link.index;
    auto message = add_default_route_message(link, one.gateway.to_v4());
    PVC_TRY(const auto answer, requests_.ask(std::move(message), by_));
    if (answer.error == 0) {
        return result<void>();
    }
    if (answer.error != EEXIST) {
        return refusal(about_, answer);
    }
    PVC_TRY(auto routes, requests_.default_routes(by_));
    std::erase_if(routes, [](const auto& route) { return route.metric != 0; });
    if (std::ranges::find(routes, model::default_route{one.gateway, link, 0}) == routes.end()) {
        return failure(errc::already_exists, about_, in_words(routes));
    }
    return result<void>();
}

change_work::outcome change_work::operator()(const model::remove_default_route& one) {
    PVC_TRY(const auto found, requests_.find_link(one.device, by_));
    if (!found || !one.gateway.is_v4()) {
        return result<void>();
    }
    return carry_out(remove_default_route_message(found->link.index, one.gateway.to_v4()), ESRCH);
}

change_work::outcome change_work::operator()(const model::add_route& one) {
    PVC_TRY(const auto found, requests_.need_link(one.device, by_));
    if (one.route.is_local && one.route.protocol == RTPROT_KERNEL) {
        return add_local(found.link.index, one);
    }
    if (one.moves_from == one.device) {
        return put_back(found.link.index, one);
    }
    PVC_TRY(const auto answer, requests_.ask(add_route_message(found.link.index, one.route, one.table), by_));
    if (answer.error == 0) {
        return result<void>();
    }
    // Also one whose gateway cannot be reached any more: the kernel looks at that first.
    PVC_TRY(const bool is_there, has(found.link.index, one.route, one.table));
    if (is_there || answer.error != EEXIST) {
        return is_there ? result<void>() : refusal(about_, answer);
    }
    return add_moved(found.link.index, one);
}

// The kernel would make it for an address that is gone as well, and nobody would take it away.
change_work::outcome change_work::add_local(int link, const model::add_route& one) {
    PVC_TRY(const auto there, requests_.addresses(link, by_));
    const auto is_it = [&](const model::link_address& has) { return has.address.address == one.route.to.address; };
    if (std::ranges::none_of(there, is_it)) {
        return result<void>();
    }
    return carry_out(add_route_message(link, one.route, one.table), EEXIST);
}

// Beside the one that it was, or in its place; beside those over other devices, as that is. Of IPv4 the first of one
// place and metric is taken: what was the first is it again, and all else comes behind. Of IPv6 those by gateways are
// one route of several ways, of which each is added and taken away by itself; to take its place would take all of them.
// Never beside what the device has of somebody else, or what the kernel has of another device's address.
change_work::outcome change_work::add_moved(int link, const model::add_route& one) {
    result<void> taken = failure(errc::already_exists, about_, "there is another one of its metric");
    PVC_TRY(const auto from, requests_.find_link(one.moves_from, by_));
    if (!from) {
        return taken;
    }
    PVC_TRY(const auto all, routes_like(one.route));
    bool is_moving = false;
    bool is_first = false;
    bool is_beside = false;  // those over other devices
    bool is_others = false;
    for (const auto& there : all.of_links) {
        if (there.table == one.table && there.is.to == one.route.to && there.is.metric == one.route.metric &&
            there.is.tos == one.route.tos) {
            const bool is_it = there.link == from->link.index && there.is.is_like(one.route) && there.is_plain();
            is_first = is_first || (is_it && !is_beside && !is_others && !is_moving);
            is_moving = is_moving || is_it;
            is_beside = is_beside || (there.link != from->link.index && there.link != link);
            // Several of one metric on that device go one after the other; of IPv6 nothing is merged with one on the
            // link.
            is_others = is_others || (there.link == link && there.is.is_merged());
        }
    }
    is_others = is_others && one.route.is_merged() && !is_beside;
    for (const auto& there : all.connected) {
        if (one.table == model::main_table && there.network == one.route.to && there.metric == one.route.metric &&
            one.route.tos == 0) {
            is_moving = is_moving || there.link == from->link.index;
            is_others = is_others || (there.link != from->link.index && there.link != link);
        }
    }
    if (!is_moving || is_others) {
        return taken;
    }
    auto how = one.route.is_merged() && !is_beside ? beside_others::give_way : beside_others::stay;
    if (is_beside && is_first && one.route.to.address.is_v4()) {
        how = beside_others::follow;
    }
    return carry_out(add_route_message(link, one.route, one.table, how));
}

// Where the kernel left it without its source (IPv6) it gets that again: in its place where it is the only one there of
// its kind (of those by gateways, or on the link, the kernel replaces the first), which nobody notices, else beside the
// others. Of IPv4 it comes back among others as it was: before them, or behind.
change_work::outcome change_work::put_back(int link, const model::add_route& one) {
    PVC_TRY(const auto all, routes_like(one.route));
    std::size_t of_kind = 0;
    std::optional<model::network_route> stripped;
    for (const auto& there : all.of_links) {
        if (there.table != one.table || there.is.to != one.route.to || there.is.metric != one.route.metric ||
            there.is.tos != one.route.tos) {
            continue;
        }
        of_kind += there.is.is_merged() == one.route.is_merged();
        if (there.link != link || !there.is.is_like(one.route)) {
            continue;
        }
        if (there.is.source == one.route.source) {
            return result<void>();
        }
        if (one.route.to.address.is_v4()) {
            continue;  // one with another source is another one
        }
        if (there.is.source) {
            return failure(errc::already_exists, about_, "there is one with another source");
        }
        stripped = there.is;
    }
    for (const auto& there : all.connected) {
        of_kind += one.table == model::main_table && there.network == one.route.to &&
                   there.metric == one.route.metric && !one.route.is_merged();
    }
    if (!stripped || of_kind == 1) {
        const auto beside =
            one.comes_first && one.route.to.address.is_v4() ? beside_others::follow : beside_others::stay;
        return carry_out(add_route_message(link, one.route, one.table, stripped ? beside_others::give_way : beside),
                         EEXIST);
    }
    std::vector<kernel_answer> ends;
    auto again = add_route_message(link, one.route, one.table, beside_others::stay);
    PVC_TRY(const auto removed,
            requests_.ask_all(remove_route_message(link, *stripped, one.table), {std::move(again)}, ends, by_));
    if (removed.error != 0) {
        return refusal(about_, removed);
    }
    if (ends.front().error == 0) {
        return result<void>();
    }
    const auto lost = carry_out(add_route_message(link, *stripped, one.table, beside_others::stay), EEXIST);
    return lost ? result<void>(refusal(about_, ends.front())) : lost;
}

// A metric of 0 would take any other one, too.
change_work::outcome change_work::operator()(const model::remove_route& one) {
    PVC_TRY(const auto found, requests_.find_link(one.device, by_));
    if (!found) {
        return result<void>();
    }
    PVC_TRY(const bool is_there, has(found->link.index, one.route, one.table));
    if (!is_there) {
        return result<void>();
    }
    return carry_out(remove_route_message(found->link.index, one.route, one.table), ESRCH);
}

// Those of its family and type.
result<kernel_requests::found_routes> change_work::routes_like(const model::network_route& route) {
    const int family = route.to.address.is_v4() ? AF_INET : AF_INET6;
    if (!route.is_local) {
        return requests_.all_routes(family, by_);
    }
    kernel_requests::found_routes found;
    PVC_TRY(auto local, requests_.local_routes(family, by_));
    found.of_links = std::move(local.given);
    return found;
}

result<bool> change_work::has(int link, model::network_route route, std::uint32_t table) {
    PVC_TRY(const auto routes, routes_like(route));
    const auto is_it = [&](const model::connected_route& there) {
        // Of IPv4 there are several of one metric, each with its own source.
        return there.link == link && there.network == route.to && there.metric == route.metric &&
               (there.source == route.source || route.to.address.is_v6());
    };
    if (route.protocol == RTPROT_KERNEL && std::ranges::any_of(routes.connected, is_it)) {
        return true;
    }
    return std::ranges::any_of(routes.of_links, [&](const model::link_route& there) {
        return there.link == link && there.table == table && there.is == route;
    });
}

change_work::outcome change_work::operator()(const model::add_neighbour& one) {
    PVC_TRY(const auto found, requests_.need_link(one.device, by_));
    return carry_out(add_neighbour_message(found.link.index, one.neighbour));
}

change_work::outcome change_work::operator()(const model::remove_neighbour& one) {
    PVC_TRY(const auto found, requests_.find_link(one.device, by_));
    if (!found) {
        return result<void>();
    }
    return carry_out(remove_neighbour_message(found->link.index, one.neighbour), ENOENT);
}

change_work::outcome change_work::operator()(const model::set_sysctl& one) {
    return guarded(by_.is_wanted()) ? write_setting(one.key, one.value) : too_late(about_);
}

change_work::outcome change_work::operator()(const model::tx_checksum_off& one) {
    PVC_TRY(const int error, requests_.switch_tx_checksum_off(one.device, by_));
    if (error == 0 || error == EOPNOTSUPP) {
        return result<void>();
    }
    const errc code = error == ENODEV ? errc::not_found : errc::refused;
    return failure(code, code == errc::not_found ? one.device : about_, error_text(error));
}

}  // namespace pvc::netlink
