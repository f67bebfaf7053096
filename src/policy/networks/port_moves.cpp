// In which order, and why. All of it comes before any of it goes: who is killed in between has lost nothing, and the
// next look finds what is still to go. An address is on the bridge before its routes come, because a route needs an
// address that reaches its gateway; it goes from the device after them, because they go with its last address. Routes
// by a gateway come after those that lead to it, and go before them. All of it is there what it was here, with its
// metric too: a host has other ways to the same networks, and takes which it took (kept_ways.cpp: also where the kernel
// makes one by itself). So does the source that packets
// have: the addresses of one network come in the order of the device, and where the bridge has others before them the
// route names the one that it had.
#include "port_moves.hpp"

#include "kept_ways.hpp"
#include "own_links.hpp"
#include "pvcnoded/base/planted.hpp"
#include "pvcnoded/policy/networks/connected_routes.hpp"
#include "pvcnoded/policy/networks/preferred_sources.hpp"

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

// In their order.
template <class Wanted>
std::vector<link_address> taken_out(std::vector<link_address>& all, Wanted wanted) {
    std::vector<link_address> taken;
    std::ranges::copy_if(all, std::back_inserter(taken), wanted);
    std::erase_if(all, wanted);
    return taken;
}

std::string route_text(const link_route& route) {
    const bool is_usual = route.table == (route.is.is_local ? model::local_table : model::main_table);
    return to_text(route.is) + (is_usual ? "" : fmt::format(" of table {}", route.table));
}

class mover {
public:
    mover(const model::network_state& seen, const model::network_link& device, const bridge_addresses& bridge)
        : seen_(seen), device_(device), bridge_(bridge) {
        const auto* link = seen.find(bridge.name);
        bridge_index_ = link == nullptr ? no_link : link->index;
    }

    port_moves make() {
        sort_addresses();
        sort_routes();
        find_ways();
        sort_neighbours();
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
    [[nodiscard]] std::optional<link_address> on_bridge(const link_address& one) const;
    [[nodiscard]] bool is_there_for_a_time(const link_address& one) const;
    [[nodiscard]] link_address as_it_comes(const link_address& one) const;
    void find_routes();
    void find_outliving();
    void sort_routes();
    void sort_own();
    void find_ways();
    void sort_neighbours();
    [[nodiscard]] model::network_route as_it_comes(const link_route& route) const;
    [[nodiscard]] bool has_like(int link, const link_route& route) const;
    [[nodiscard]] std::string why_not(const link_route& route) const;
    [[nodiscard]] bool is_made_there(const link_route& route) const;
    [[nodiscard]] bool is_reached(const ip::address& gateway) const;
    void add_steps();
    void add_remarks();

    const model::network_state& seen_;
    const model::network_link& device_;
    const bridge_addresses& bridge_;
    static constexpr int no_link = -1;  // 0 is that of routes over no device
    int bridge_index_ = no_link;
    port_moves plan_;
    std::vector<link_address> going_;
    std::vector<link_address> coming_;                     // to the bridge, as they are there; beside its own
    std::vector<link_address> there_;                      // what it has at the end
    std::vector<link_route> over_it_;                      // over the device
    std::vector<link_route> made_there_;                   // of these, what the kernel has over the bridge by itself
    kept_ways ways_;                                       // of what the kernel makes there
    std::vector<link_route> outliving_;                    // the kernel's own, that it would leave on the device
    std::vector<model::given_neighbour> neighbours_;       // that go
    std::vector<model::given_neighbour> kept_neighbours_;  // that stay: the bridge has another one of their address
    std::vector<host_address> reached_;                    // from the bridge, at its end
    std::vector<std::string> of_network_;                  // addresses that go
    std::vector<std::string> of_nobody_;                   // likewise, of none of the bridge's networks
    std::vector<std::string> useless_;                     // addresses that stay on the device
    std::vector<std::string> fleeting_;                    // likewise, as they have a lifetime
    std::vector<std::string> defaults_;                    // default routes that stay
    bool has_fleeting_v6_ = false;
    bool has_v6_default_ = false;
    std::vector<std::string> not_moved_;  // more routes than are looked at
};

// Its own ones come there anyway. Of IPv6 the kernel has an address once, whatever its prefix length; one that was
// given with a far end has no network of its own.
bool mover::is_needed_too(const link_address& one) const {
    const auto is_same = [&](const host_address& own) { return own.address == one.address.address; };
    return !is_wanted(one.address) &&
           !((one.peer || one.address.address.is_v6()) && std::ranges::any_of(bridge_.own, is_same));
}

bool mover::goes_along(const link_address& one) const {
    const auto is_of_it = [&](const host_address& network) { return is_in(one.address.address, network); };
    return one.is_permanent && std::ranges::none_of(bridge_.others, is_of_it);
}

std::optional<link_address> mover::on_bridge(const link_address& one) const {
    for (const auto& other : seen_.addresses_of(bridge_index_)) {
        if (other.address == one.address && other.peer == one.peer) {
            return other;
        }
    }
    return std::nullopt;
}

// What adds an address that stays leaves one that is there as it is.
bool mover::is_there_for_a_time(const link_address& one) const {
    const auto there = on_bridge(one);
    return there && !there->lifetime.is_endless() && !is_planted(defect::lease_made_permanent);
}

// Tools find it by a label, which begins with the name of its device. A DHCP client goes on with the device, and renews
// its lease there. What it wrote is newer than what the bridge has, which a move left, and holds for a shorter time
// too: the address may be another host's then. So it is where somebody gave it to the bridge for ever: on one device
// the client's word would replace that as well.
link_address mover::as_it_comes(const link_address& one) const {
    auto coming = one;
    const auto there = on_bridge(one);
    if (there && is_planted(defect::renewal_ignored)) {
        coming.is_permanent = there->is_permanent;
        coming.lifetime = there->lifetime;
    }
    coming.scope = scope_there(one);
    if (!coming.settings.label.starts_with(bridge_.name)) {
        coming.settings.label.clear();
    }
    return coming;
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
                coming_.push_back(as_it_comes(one));
                const bool has_label = coming_.back().settings.label == one.settings.label;
                (is_its_own ? of_network_ : of_nobody_)
                    .push_back(one.address.text() + (one.is_permanent ? "" : " (for a limited time)") +
                               (has_label ? "" : fmt::format(" (without its label {})", one.settings.label)));
            }
        } else if (!one.is_permanent) {
            fleeting_.push_back(one.address.text());
            has_fleeting_v6_ = has_fleeting_v6_ || one.address.address.is_v6();
        } else {
            useless_.push_back(one.address.text());
        }
    }
    sort_own();
    for (const auto& one : routes_of_kernel(there_)) {
        reached_.push_back(one.network);
    }
    for (const auto& one : seen_.connected_routes()) {
        if (one.link == bridge_index_) {
            reached_.push_back(one.network);
        }
    }
}

// The first of a network is the source of what goes there: one of its own that was not before it on the device comes
// behind. Of IPv6 the newest is the first.
void mover::sort_own() {
    const auto of_v6 = taken_out(coming_, [](const link_address& one) { return one.address.address.is_v6(); });
    coming_.insert(coming_.end(), of_v6.rbegin(), of_v6.rend());
    there_ = seen_.addresses_of(bridge_index_);
    const auto of_device = seen_.addresses_of(device_.index);
    for (const auto& own : bridge_.own) {
        const auto is_before = [&](const link_address& one) {
            const auto end = std::ranges::find(of_device, own, &link_address::address);
            return one.address.address.is_v4() && one.address.prefix == own.prefix && !one.peer && one.is_global() &&
                   is_in(one.address.address, own) &&
                   std::any_of(of_device.begin(), end,
                               [&](const link_address& other) { return other.address == one.address; });
        };
        const bool is_there = std::ranges::find(there_, own, &link_address::address) != there_.end();
        if (!is_there && std::ranges::any_of(coming_, is_before)) {
            plan_.own.push_back(own);
        } else {
            add_as_kernel(there_, {.address = own});
        }
    }
    for (const auto& one : coming_) {
        add_as_kernel(there_, one);
    }
    for (const auto& own : plan_.own) {
        add_as_kernel(there_, {.address = own});
    }
}

// One that is there already is what a daemon before this one left.
model::network_route mover::as_it_comes(const link_route& route) const {
    const auto is_it = [&](const link_route& other) {
        const bool is_another = route.is.source && route.is.to.address.is_v4() && other.is.source != route.is.source;
        return other.link == bridge_index_ && other.table == route.table && other.is.is_like(route.is) && !is_another;
    };
    if (const auto found = std::ranges::find_if(seen_.link_routes(), is_it); found != seen_.link_routes().end()) {
        return found->is;
    }
    auto coming = route.is;
    if (is_planted(defect::moved_routes_bare)) {
        coming.settings.clear();
    }
    const auto is_connected = [&](const model::connected_route& other) {
        return other.link == bridge_index_ && other.network == route.is.to && other.metric == route.is.metric;
    };
    if (route.is.protocol == made_by_kernel && route.table == model::main_table && !route.is.source) {
        const auto all = seen_.connected_routes();
        if (const auto found = std::ranges::find_if(all, is_connected); found != all.end()) {
            coming.source = found->source;
            return coming;
        }
    }
    if (route.is.is_local) {
        return coming;  // no packet takes its source from it
    }
    if (const auto source = source_to_name(route.is, seen_.addresses_of(device_.index), there_)) {
        coming.source = source;
    }
    return coming;
}

bool mover::is_reached(const ip::address& gateway) const {
    return is_link_local(gateway) ||
           std::ranges::any_of(reached_, [&](const host_address& one) { return is_in(gateway, one); });
}

bool mover::has_like(int link, const link_route& route) const {
    return std::ranges::any_of(seen_.link_routes(), [&](const link_route& other) {
        return other.link == link && other.table == route.table && other.is.is_like(route.is);
    });
}

// "": it can be made anew on the bridge.
std::string mover::why_not(const link_route& route) const {
    if (!route.is_plain()) {
        return route.more;
    }
    const auto cannot_be_reached = [&](const model::route_way& way) {
        return way.gateway && !way.is_onlink && !is_reached(*way.gateway);
    };
    if (cannot_be_reached({.gateway = route.is.gateway, .is_onlink = route.is.is_onlink}) ||
        std::ranges::any_of(route.is.ways, cannot_be_reached)) {
        return "no address there reaches its gateway";
    }
    if (has_like(bridge_index_, route)) {
        return {};
    }
    // Several of one metric on the device go one after the other. One over another device stays, and this one is
    // beside it, as it was.
    const auto is_in_way = [&](const link_route& other) {
        return other.link == bridge_index_ && other.table == route.table && other.is.to == route.is.to &&
               other.is.metric == route.is.metric && other.is.tos == route.is.tos && !has_like(device_.index, other);
    };
    const auto is_connected_in_way = [&](const model::connected_route& other) {
        return other.link != device_.index && other.link != bridge_index_ && route.table == model::main_table &&
               other.network == route.is.to && other.metric == route.is.metric && route.is.tos == 0;
    };
    return std::ranges::any_of(seen_.link_routes(), is_in_way) ||
                   std::ranges::any_of(seen_.connected_routes(), is_connected_in_way)
               ? "another one of its metric is there"
               : "";
}

// The kernel has it there by itself, with an address of that network. One that names another source is another one, and
// so is one with settings, or in the place of the kernel's own. Of IPv6 there is one alone (kept_ways.cpp).
bool mover::is_made_there(const link_route& route) const {
    const bool is_v4 = route.is.to.address.is_v4();
    const auto is_in_its_place = [&](const model::connected_route& made) {
        return is_v4 && std::ranges::any_of(going_, [&](const link_address& one) {
                   return one.address.address == made.source && has_lost_route(seen_, device_, one);
               });
    };
    return !route.is.is_by_gateway() && !route.is.is_local && route.table == model::main_table && route.is.tos == 0 &&
           (!is_v4 || route.is.settings.empty()) &&
           std::ranges::any_of(routes_of_kernel(there_), [&](const model::connected_route& one) {
               return one.network == route.is.to && one.metric == route.is.metric &&
                      (!route.is.source || !one.source || one.source == route.is.source) && !is_in_its_place(one);
           });
}

// It would draw what is for the bridge's neighbours to the port. Not while an address of its network stays.
void mover::find_outliving() {
    const auto on_device = seen_.addresses_of(device_.index);
    for (const auto& one : seen_.connected_routes()) {
        const auto stays = [&](const link_address& address) {
            return address.address.prefix == one.network.prefix && is_in(address.address.address, one.network) &&
                   std::ranges::find(going_, address) == going_.end();
        };
        if (one.link == device_.index && is_of_kernel(one, on_device) && outlives(one, going_) &&
            std::ranges::none_of(on_device, stays)) {
            outliving_.push_back(as_link_route(one));
        }
    }
}

// Those too that somebody (NetworkManager, say) made as the kernel would, for an address that goes: whatever the kernel
// itself did not make there, and takes away with the address.
void mover::find_routes() {
    const auto on_device = seen_.addresses_of(device_.index);
    for (const auto& one : seen_.connected_routes()) {
        const auto is_for = [&](const link_address& address) {
            return address.address.prefix == one.network.prefix &&
                   (is_in(address.address.address, one.network) || is_in(reach_of(address).address, one.network));
        };
        if (one.link == device_.index && !is_of_kernel(one, on_device) && std::ranges::any_of(going_, is_for)) {
            over_it_.push_back(as_link_route(one));
        }
    }
    find_outliving();
    std::ranges::copy_if(seen_.link_routes(), std::back_inserter(over_it_),
                         [&](const link_route& one) { return one.link == device_.index; });
    if (over_it_.size() >= model::link_routes_max) {
        not_moved_.push_back(
            fmt::format("more than {} routes over {} cannot be moved to {}: what comes after the first: it goes, or "
                        "leads nowhere, with the device as a port",
                        model::link_routes_max, device_.name, bridge_.name));
    }
}

void mover::sort_routes() {
    find_routes();
    for (const bool has_gateway : {false, true}) {
        for (const auto& route : over_it_) {
            if (route.is.is_by_gateway() != has_gateway) {
                continue;
            }
            if (const auto reason = why_not(route); !reason.empty()) {
                plan_.unmoved.push_back({.device = device_.name,
                                         .is = route,
                                         .text = fmt::format("the {} over {} cannot be moved to {}, because {}: it "
                                                             "goes, or leads nowhere, with the device as a port",
                                                             route_text(route), device_.name, bridge_.name, reason)});
                if (route.is.is_default() && route.table == model::main_table) {
                    defaults_.push_back(to_text(route.is));
                    has_v6_default_ = has_v6_default_ || route.is.to.address.is_v6();
                }
                continue;
            }
            if (is_planted(defect::routes_not_moved)) {
                continue;
            }
            (is_made_there(route) ? made_there_ : plan_.routes).push_back(route);
            if (!has_gateway && !route.is.is_local) {
                reached_.push_back(route.is.to);
            }
        }
    }
}

void mover::find_ways() {
    moving_ways move{.seen = seen_,
                     .device = device_,
                     .bridge = bridge_index_,
                     .name = bridge_.name,
                     .going = going_,
                     .there = there_,
                     .own = bridge_.own,
                     .made_there = made_there_};
    for (const auto& one : plan_.routes) {
        move.routes.emplace_back(one, as_it_comes(one));
    }
    ways_ = keep_ways(move);
}

void mover::sort_neighbours() {
    for (const auto& one : seen_.neighbours()) {
        const auto is_in_way = [&](const model::link_neighbour& other) {
            return other.link == bridge_index_ && other.is.address == one.is.address &&
                   other.is.is_proxy == one.is.is_proxy && other.is != one.is;
        };
        if (one.link == device_.index) {
            (std::ranges::any_of(seen_.neighbours(), is_in_way) ? kept_neighbours_ : neighbours_).push_back(one.is);
        }
    }
}

void mover::add_steps() {
    for (const auto& one : coming_) {
        auto step = added_again(one, bridge_.name);
        if (!step.lifetime && is_there_for_a_time(one)) {
            step.lifetime = one.lifetime;
        }
        plan_.steps.emplace_back(std::move(step));
    }
    for (const auto& one : plan_.own) {
        plan_.steps.emplace_back(model::add_address{bridge_.name, one});
    }
    for (const auto& one : neighbours_) {
        plan_.steps.emplace_back(model::add_neighbour{bridge_.name, one});
    }
    for (const auto& route : plan_.routes) {
        plan_.steps.emplace_back(model::add_route{as_it_comes(route), bridge_.name, route.table, device_.name});
    }
    std::ranges::copy(ways_.steps, std::back_inserter(plan_.steps));
    for (auto route = plan_.routes.rbegin(); route != plan_.routes.rend(); ++route) {
        plan_.steps.emplace_back(model::remove_route{route->is, device_.name, route->table, bridge_.name});
    }
    std::ranges::copy(outliving_, std::back_inserter(made_there_));
    // Those of somebody are known by themselves, and that they are there tells why the kernel's own is not: they go
    // last.
    const auto remove_made = [&](bool of_somebody) {
        for (const auto& route : made_there_) {
            if ((route.is.protocol != made_by_kernel) == of_somebody) {
                plan_.steps.emplace_back(model::remove_route{route.is, device_.name, route.table, bridge_.name});
            }
        }
    };
    remove_made(false);
    for (const auto& one : neighbours_) {
        plan_.steps.emplace_back(model::remove_neighbour{device_.name, one});
    }
    // Undone, they come back in the order in which they were: a primary address before those that went with it, and of
    // IPv6 the newest last.
    const auto of_v6 = taken_out(going_, [](const link_address& one) { return one.address.address.is_v6(); });
    std::ranges::reverse(going_);
    going_.insert(going_.end(), of_v6.begin(), of_v6.end());
    for (const auto& one : going_) {
        plan_.steps.emplace_back(model::remove_address{device_.name, one.address, one.peer});
    }
    remove_made(true);
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
    std::ranges::transform(plan_.routes, std::back_inserter(routes), route_text);
    if (!routes.empty()) {
        remark(
            fmt::format("device {} has routes, which are moved to {}: {}", device_.name, bridge_.name, listed(routes)));
    }
    if (!ways_.not_made.empty()) {
        remark(fmt::format("device {} has no route of the kernel's own to {}, though an address of it: nor has {}",
                           device_.name, listed(ways_.not_made), bridge_.name));
    }
    for (const auto& one : ways_.out_of_order) {
        remark(
            fmt::format("the order of the routes to {} over {} cannot be kept on {}, as other devices have routes to "
                        "it too: look which of them is the first (`ip route show {}`)",
                        one, device_.name, bridge_.name, one));
    }
    if (!neighbours_.empty()) {
        std::vector<std::string> entered;
        std::ranges::transform(neighbours_, std::back_inserter(entered),
                               [](const model::given_neighbour& one) { return to_text(one); });
        remark(fmt::format("device {} has neighbours that somebody entered, which are moved to {}: {}", device_.name,
                           bridge_.name, listed(entered)));
    }
    for (const auto& one : kept_neighbours_) {
        remark(fmt::format("neighbour {} of {} is not moved to {}, which has another one of its address", to_text(one),
                           device_.name, bridge_.name));
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
        remark(one);
    }
    for (const auto& one : plan_.unmoved) {
        remark(one.text);
    }
}

}  // namespace

model::add_address added_again(const model::link_address& one, const std::string& device) {
    const bool stays = (one.is_permanent && one.lifetime.is_endless()) || is_planted(defect::lease_made_permanent);
    if (is_planted(defect::moved_bare)) {
        return {.device = device, .address = one.address, .scope = one.scope};
    }
    return {.device = device,
            .address = one.address,
            .lifetime = stays ? std::nullopt : std::optional(one.lifetime),
            .scope = one.scope,
            .peer = one.peer,
            .settings = one.settings};
}

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
        const auto leads_to = [&](const std::optional<ip::address>& gateway) {
            return gateway.value_or(ip::address_v4()) == route.gateway;
        };
        const bool is_by_it = one.is.ways.empty()
                                  ? leads_to(one.is.gateway)
                                  : std::ranges::any_of(one.is.ways, leads_to, &model::route_way::gateway);
        return one.link == route.link && one.is.is_default() && one.table == model::main_table && is_by_it &&
               one.is.metric == route.metric;
    });
}

port_moves plan_moves(const model::network_state& seen, const model::network_link& device,
                      const bridge_addresses& bridge) {
    return mover(seen, device, bridge).make();
}

}  // namespace pvc::policy
