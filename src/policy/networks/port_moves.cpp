// In which order, and why. An address is on the bridge before its routes come, because a route needs an address that
// reaches its gateway; it goes from the device after them, because they go with its last address: what fails between
// can be undone. Two routes to the same with the same metric cannot be there at once, so each goes from the device
// before it comes on the bridge; and those by a gateway go before and come after those that lead to their gateway.
#include "port_moves.hpp"

#include "own_links.hpp"
#include "pvcnoded/base/planted.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace pvc::policy {

namespace {

using model::link_address;
using model::link_route;

std::string listed(const std::vector<std::string>& all) {
    std::string text;
    for (const auto& one : all) {
        text += (text.empty() ? "" : ", ") + one;
    }
    return text;
}

class mover {
public:
    mover(const model::network_state& seen, const model::network_link& device, const bridge_addresses& bridge)
        : seen_(seen), device_(device), bridge_(bridge) {
        const auto* link = seen.find(bridge.name);
        bridge_index_ = link == nullptr ? 0 : link->index;
    }

    port_moves make() {
        sort_addresses();
        sort_routes();
        add_steps();
        add_remarks();
        return std::move(plan_);
    }

private:
    [[nodiscard]] bool is_wanted(const host_address& address) const {
        return std::ranges::find(bridge_.own, address) != bridge_.own.end();
    }
    void remark(std::string text) {
        plan_.remarks.push_back({message::network_device_configured, false, std::move(text)});
    }
    void sort_addresses();
    [[nodiscard]] bool goes_along(const link_address& one) const;
    [[nodiscard]] bool is_needed_too(const link_address& one) const;
    [[nodiscard]] std::uint8_t scope_there(const link_address& one) const;
    void sort_routes();
    [[nodiscard]] std::string why_not(const link_route& route) const;
    [[nodiscard]] bool is_reached(const ip::address& gateway) const;
    void add_steps();
    void add_remarks();

    const model::network_state& seen_;
    const model::network_link& device_;
    const bridge_addresses& bridge_;
    int bridge_index_ = 0;
    port_moves plan_;
    std::vector<link_address> going_;
    std::vector<host_address> reached_;    // from the bridge, at its end
    std::vector<std::string> of_network_;  // addresses that go
    std::vector<std::string> of_nobody_;   // likewise, of none of the bridge's networks
    std::vector<std::string> useless_;     // addresses that stay on the device
    std::vector<std::string> fleeting_;    // likewise, as they have a lifetime
    std::vector<std::string> defaults_;    // default routes that stay
    bool has_fleeting_v6_ = false;
    bool has_v6_default_ = false;
    std::vector<std::string> not_moved_;  // routes, with the reason
};

// Its own ones come there anyway. Of IPv6 the kernel has an address once, whatever its prefix length; one that was
// given with a far end has no network of its own.
bool mover::is_needed_too(const link_address& one) const {
    const auto is_same = [&](const host_address& own) { return own.address == one.address.address; };
    return !is_wanted(one.address) &&
           !((one.peer || one.address.address.is_v6()) && std::ranges::any_of(bridge_.own, is_same));
}

// With a far end it would be another one there.
bool mover::goes_along(const link_address& one) const {
    const auto is_of_it = [&](const host_address& network) { return is_in(one.address.address, network); };
    return one.is_permanent && !one.peer && std::ranges::none_of(bridge_.others, is_of_it);
}

// That which it has, but what is of one network has one scope on a link: that of the first, as the kernel refuses
// others.
std::uint8_t mover::scope_there(const link_address& one) const {
    const auto is_of_network = [&](const host_address& other) {
        return other.prefix == one.address.prefix && is_in(one.address.address, other);
    };
    for (const auto& other : seen_.addresses_of(bridge_index_)) {
        if (is_of_network(other.address)) {
            return other.scope;
        }
    }
    return std::ranges::any_of(bridge_.own, is_of_network) ? model::universe_scope : one.scope;
}

void mover::sort_addresses() {
    for (const auto& one : seen_.addresses_of(device_.index)) {
        const bool is_its_own = is_wanted(one.address) || is_of(bridge_, one);
        const bool is_left = !one.is_global() && is_planted(defect::scope_link_left);
        if (!is_its_own && (is_link_local(one.address.address) || is_left)) {
            continue;
        }
        if (is_its_own || goes_along(one)) {
            going_.push_back(one);
            if (is_needed_too(one)) {
                plan_.addresses.push_back(one.address);
                (is_its_own ? of_network_ : of_nobody_)
                    .push_back(one.address.text() + (one.is_permanent ? "" : " (for a limited time)"));
            }
        } else if (!one.is_permanent) {
            fleeting_.push_back(one.address.text());
            has_fleeting_v6_ = has_fleeting_v6_ || one.address.address.is_v6();
        } else {
            useless_.push_back(one.address.text());
        }
    }
    reached_ = bridge_.own;
    std::ranges::copy(plan_.addresses, std::back_inserter(reached_));
    std::ranges::transform(seen_.addresses_of(bridge_index_), std::back_inserter(reached_), &link_address::address);
}

bool mover::is_reached(const ip::address& gateway) const {
    return is_link_local(gateway) ||
           std::ranges::any_of(reached_, [&](const host_address& one) { return is_in(gateway, one); });
}

// "": it can be made anew on the bridge.
std::string mover::why_not(const link_route& route) const {
    if (route.table != model::main_table) {
        return fmt::format("it is of table {}", route.table);
    }
    if (!route.is_plain) {
        return "it is more than one way by one gateway";
    }
    if (route.is.gateway && !route.is.is_onlink && !is_reached(*route.is.gateway)) {
        return "no address there reaches its gateway";
    }
    const auto is_in_way = [&](const link_route& other) {
        return other.link != device_.index && other.table == route.table && other.is.to == route.is.to &&
               other.is.metric == route.is.metric && (other.link != bridge_index_ || other.is != route.is);
    };
    return std::ranges::any_of(seen_.link_routes(), is_in_way) ? "another one of its metric is there" : "";
}

void mover::sort_routes() {
    const auto is_over_it = [&](const link_route& one) { return one.link == device_.index; };
    if (static_cast<std::size_t>(std::ranges::count_if(seen_.link_routes(), is_over_it)) >= model::link_routes_max) {
        not_moved_.push_back(
            fmt::format("more than {} routes over {} cannot be moved to {}: what comes after the first",
                        model::link_routes_max, device_.name, bridge_.name));
    }
    for (const bool has_gateway : {false, true}) {
        for (const auto& route : seen_.link_routes()) {
            if (route.link != device_.index || route.is.gateway.has_value() != has_gateway) {
                continue;
            }
            if (auto reason = why_not(route); !reason.empty()) {
                not_moved_.push_back(fmt::format("the {} over {} cannot be moved to {}, because {}", to_text(route.is),
                                                 device_.name, bridge_.name, reason));
                if (route.is.is_default() && route.table == model::main_table) {
                    defaults_.push_back(to_text(route.is));
                    has_v6_default_ = has_v6_default_ || route.is.to.address.is_v6();
                }
                continue;
            }
            plan_.routes.push_back(route);
            if (!has_gateway) {
                reached_.push_back(route.is.to);
            }
        }
    }
}

void mover::add_steps() {
    for (const auto& address : plan_.addresses) {
        const auto one = std::ranges::find(going_, address, &link_address::address);
        plan_.steps.emplace_back(model::add_address{
            bridge_.name, address, one->is_permanent ? std::nullopt : std::optional(one->lifetime), scope_there(*one)});
    }
    for (auto route = plan_.routes.rbegin(); route != plan_.routes.rend(); ++route) {
        plan_.steps.emplace_back(model::remove_route{route->is, device_.name});
    }
    for (const auto& route : plan_.routes) {
        plan_.steps.emplace_back(model::add_route{route.is, bridge_.name});
    }
    for (const auto& one : going_) {
        plan_.steps.emplace_back(model::remove_address{device_.name, one.address, one.peer});
    }
}

void mover::add_remarks() {
    if (!of_network_.empty()) {
        remark(fmt::format("device {} has {} of the network of {}: that is moved to the bridge", device_.name,
                           listed(of_network_), bridge_.name));
    }
    if (!of_nobody_.empty()) {
        remark(fmt::format("device {} has {}, which nobody would reach {}: that is moved to {}", device_.name,
                           listed(of_nobody_), device_.kind == "bridge" ? "without its port" : "on a port",
                           bridge_.name));
    }
    std::vector<std::string> routes;
    std::ranges::transform(plan_.routes, std::back_inserter(routes),
                           [](const link_route& route) { return to_text(route.is); });
    if (!routes.empty()) {
        remark(
            fmt::format("device {} has routes, which are moved to {}: {}", device_.name, bridge_.name, listed(routes)));
    }
    if (!useless_.empty()) {
        remark(fmt::format("device {} has {}, which cannot be used on a port of {}", device_.name, listed(useless_),
                           bridge_.name));
    }
    if (!fleeting_.empty()) {
        std::string lost;
        for (const auto& one : defaults_) {
            lost += ", nor the " + one;
        }
        // Of those the kernel's routes that are looked at do not tell.
        lost += has_fleeting_v6_ && !has_v6_default_ ? ", nor a default route of a router advertisement" : "";
        remark(
            fmt::format("device {} has {} for a limited time, by a lease or a router advertisement: that cannot be "
                        "kept on a port of {}{}",
                        device_.name, listed(fleeting_), bridge_.name, lost));
    }
    for (const auto& one : not_moved_) {
        remark(one + ": it goes, or leads nowhere, with the device as a port");
    }
}

}  // namespace

bool is_link_local(const ip::address& address) {
    return address.is_v6() && address.to_v6().is_link_local();
}

bool is_of(const bridge_addresses& bridge, const link_address& one) {
    return !is_link_local(one.address.address) &&
           std::ranges::any_of(bridge.networks,
                               [&](const host_address& network) { return is_in(one.address.address, network); });
}

bool port_moves::takes(const model::default_route& route) const {
    return std::ranges::any_of(routes, [&](const link_route& one) {
        return one.link == route.link && one.is.is_default() && one.is.gateway == route.gateway &&
               one.is.metric == route.metric;
    });
}

port_moves plan_moves(const model::network_state& seen, const model::network_link& device,
                      const bridge_addresses& bridge) {
    return mover(seen, device, bridge).make();
}

}  // namespace pvc::policy
