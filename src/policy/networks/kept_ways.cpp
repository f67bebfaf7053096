// The kernel puts what it makes behind all that is there, and a move has to
// make what leads to a gateway before what goes by it. So the order is made
// good behind: from the first way on that stands in the wrong place, each is
// taken away and put behind all others. Of IPv6 the kernel takes what is on the
// link as it likes, and merges the others.
#include "kept_ways.hpp"

#include "own_links.hpp"
#include "pvcnoded/policy/networks/connected_routes.hpp"

#include <algorithm>
#include <iterator>

namespace pvc::policy {

namespace {

using model::connected_route;
using model::link_route;

bool is_of_place(const link_route& one, const link_route& place) {
    return one.table == place.table && one.is.to == place.is.to && one.is.metric == place.is.metric &&
           one.is.tos == place.is.tos;
}

bool is_of_place(const connected_route& one, const link_route& place) {
    return place.table == model::main_table && place.is.tos == 0 && !place.is.is_local && one.network == place.is.to &&
           one.metric == place.is.metric;
}

bool is_by_kernel(const link_route& one) {
    return one.is.protocol == made_by_kernel && !one.is.is_by_gateway() && !one.is.is_local &&
           one.table == model::main_table;
}

// Of the kernel's own there is one for a source, however it is set.
bool is_same_way(const link_route& a, const link_route& b) {
    if (is_by_kernel(a) && is_by_kernel(b)) {
        return is_of_place(a, b) && (a.is.source == b.is.source || a.is.to.address.is_v6());
    }
    return a.table == b.table && a.is == b.is;
}

class keeper_of_ways {
public:
    explicit keeper_of_ways(const moving_ways& move) : move_(move) {
        for (const auto& one : routes_of_kernel(move.there)) {
            if (!is_coming(one)) {
                // A daemon before this one was about to put it again.
                if (has_connected(move.device.index, one) || stands_for_other(one)) {
                    missing_.push_back(as_link_route(one));
                }
                continue;
            }
            made_.push_back(as_link_route(one));
            if (is_unwanted(one)) {
                unwanted_.push_back(made_.back());
                kept_.not_made.push_back(one.network.text());
            }
        }
    }

    kept_ways make() {
        std::vector<link_route> places;
        const auto note = [&](const link_route& one) {
            if (std::ranges::none_of(places, [&](const link_route& other) { return is_of_place(one, other); })) {
                places.push_back(one);
            }
        };
        for (const auto& one : move_.seen.connected_routes()) {
            if (one.link == move_.device.index) {
                note(as_link_route(one));
            }
        }
        for (const auto& [before, coming] : move_.routes) {
            note(before);
        }
        std::ranges::for_each(move_.made_there, note);
        for (const auto& one : places) {
            keep_place(one);
        }
        for (const auto& one : unwanted_) {
            kept_.steps.emplace_back(model::remove_route{one.is, move_.name, one.table, move_.name});
        }
        return std::move(kept_);
    }

private:
    [[nodiscard]] static bool is_of_network(const model::link_address& one, const connected_route& made);
    [[nodiscard]] static bool is_for(const model::link_address& one, const connected_route& made);
    [[nodiscard]] bool has_connected(int link, const connected_route& which) const {
        return std::ranges::any_of(move_.seen.connected_routes(), [&](const connected_route& one) {
            return one.link == link && one.network == which.network && one.metric == which.metric &&
                   one.source == which.source;
        });
    }
    // For one of somebody's, which is on the device still.
    [[nodiscard]] bool stands_for_other(const connected_route& made) const {
        return std::ranges::any_of(move_.made_there, [&](const link_route& one) {
            return one.is.to == made.network && one.is.metric == made.metric;
        });
    }
    [[nodiscard]] bool is_coming(const connected_route& made) const;
    [[nodiscard]] static bool may_outlive(const model::link_address& one, const connected_route& made);
    [[nodiscard]] bool is_unwanted(const connected_route& made) const;
    [[nodiscard]] bool is_reached_without(const connected_route& made) const;
    [[nodiscard]] std::optional<link_route> kernels_for(const link_route& before) const;
    [[nodiscard]] std::vector<link_route> wanted_of(const link_route& place) const;
    [[nodiscard]] std::vector<link_route> coming_to(const link_route& place,
                                                    const std::vector<link_route>& wanted) const;
    [[nodiscard]] bool has_others(const link_route& place) const;
    void put_again(const std::optional<link_route>& is, link_route wanted);
    void keep_place(const link_route& place);

    const moving_ways& move_;
    std::vector<link_route> made_;     // that the kernel has there
    std::vector<link_route> missing_;  // that it should have
    std::vector<link_route> unwanted_;
    kept_ways kept_;
};

// The daemon's own addresses are of use only where their network is reached
// over the bridge.
bool keeper_of_ways::is_reached_without(const connected_route& made) const {
    const auto is_of_network = [&](const host_address& own) {
        return own.prefix == made.network.prefix && is_in(own.address, made.network);
    };
    return std::ranges::none_of(move_.own, is_of_network) ||
           std::ranges::any_of(move_.seen.connected_routes(),
                               [&](const connected_route& one) {
                                   return one.link == move_.device.index && one.network == made.network;
                               }) ||
           std::ranges::any_of(move_.routes, [&](const auto& one) {
               return one.first.table == model::main_table && one.first.is.to == made.network &&
                      !one.first.is.is_by_gateway() && !one.first.is.is_local;
           });
}

bool keeper_of_ways::is_of_network(const model::link_address& one, const connected_route& made) {
    return one.address.prefix == made.network.prefix &&
           (is_in(reach_of(one).address, made.network) ||
            (one.address.address.is_v6() && is_in(one.address.address, made.network)));
}

bool keeper_of_ways::is_for(const model::link_address& one, const connected_route& made) {
    return one.settings.has_route() && is_of_network(one, made) && (!made.source || made.source == one.address.address);
}

// It is there, or comes with an address. That of an address which is there was
// taken away otherwise, maybe by a daemon before this one.
bool keeper_of_ways::is_coming(const connected_route& made) const {
    const auto on_bridge = move_.seen.addresses_of(move_.bridge);
    const auto comes = [&](const model::link_address& one) {
        return is_for(one, made) && std::ranges::none_of(on_bridge, [&](const model::link_address& other) {
                   return other.address == one.address && other.peer == one.peer;
               });
    };
    return std::ranges::any_of(move_.there, comes) || has_connected(move_.bridge, made);
}

// Beside such a one the kernel would leave its route on the device, so that it
// goes from there before the addresses do: that it is not there says nothing.
bool keeper_of_ways::may_outlive(const model::link_address& one, const connected_route& made) {
    return one.address.address.is_v6() && one.address.prefix == made.network.prefix &&
           is_in(one.address.address, made.network) &&
           (!one.settings.has_route() || !one.is_permanent || one.settings.metric != 0);
}

// The host had none for the address on the device, as somebody took it away, or
// put another one in its place.
bool keeper_of_ways::is_unwanted(const connected_route& made) const {
    bool has_any = false;
    for (const auto& one : move_.there) {
        const auto before = std::ranges::find_if(move_.going, [&](const model::link_address& other) {
            return other.address == one.address && other.peer == one.peer;
        });
        if (!is_for(one, made)) {
            if (may_outlive(one, made)) {
                return false;
            }
            continue;
        }
        if (before == move_.going.end() || !has_lost_route(move_.seen, move_.device, *before)) {
            return false;
        }
        has_any = true;
    }
    return has_any && !stands_for_other(made) && is_reached_without(made);
}

// What the kernel has on the bridge in place of this one, with the settings of
// this one. Its own stays on the device with an address that stays.
std::optional<link_route> keeper_of_ways::kernels_for(const link_route& before) const {
    const auto is_like = [&](bool of_source) {
        return [&, of_source](const link_route& one) {
            return is_of_place(one, before) && std::ranges::find(unwanted_, one) == unwanted_.end() &&
                   (!of_source || one.is.source == before.is.source);
        };
    };
    const connected_route own{.network = before.is.to, .metric = before.is.metric, .source = before.is.source};
    if (before.is.is_by_gateway() || before.is.is_local || !before.is_plain() ||
        (is_by_kernel(before) &&
         std::ranges::none_of(move_.going, [&](const auto& one) { return is_of_network(one, own); }))) {
        return std::nullopt;
    }
    for (const bool of_source : {true, false}) {
        for (const auto* all : {&missing_, &made_}) {
            if (const auto found = std::ranges::find_if(*all, is_like(of_source)); found != all->end()) {
                auto coming = *found;
                coming.is.settings = before.is.settings;
                return coming;
            }
        }
    }
    return std::nullopt;
}

// In the order of the device; what the kernel makes there beside, for an
// address that the device did not have, is the last.
std::vector<link_route> keeper_of_ways::wanted_of(const link_route& place) const {
    std::vector<link_route> wanted;
    const auto add = [&](link_route one) {
        if (std::ranges::none_of(wanted, [&](const link_route& other) { return is_same_way(one, other); })) {
            one.link = move_.bridge;
            wanted.push_back(std::move(one));
        }
    };
    for (const auto& before : ways_over(move_.seen, move_.device.index, place)) {
        const auto moved = std::ranges::find_if(move_.routes, [&](const auto& one) {
            return one.first.table == before.table && one.first.is == before.is;
        });
        if (moved != move_.routes.end()) {
            add({.is = moved->second, .table = before.table});
        } else if (auto kernels = kernels_for(before)) {
            add(*std::move(kernels));
        }
    }
    for (const auto& one : wanted.empty() ? std::vector<link_route>() : made_) {
        if (is_of_place(one, place) && std::ranges::find(unwanted_, one) == unwanted_.end()) {
            add(one);
        }
    }
    return wanted;
}

// As they are on the bridge once all is made.
std::vector<link_route> keeper_of_ways::coming_to(const link_route& place,
                                                  const std::vector<link_route>& wanted) const {
    auto coming = move_.bridge < 0 ? std::vector<link_route>() : ways_over(move_.seen, move_.bridge, place);
    const auto add = [&](const link_route& one) {
        if (is_of_place(one, place) &&
            std::ranges::none_of(coming, [&](const link_route& other) { return is_same_way(one, other); })) {
            coming.push_back(one);
        }
    };
    std::ranges::for_each(made_, add);
    for (const auto& [before, is] : move_.routes) {
        add({.is = is, .table = before.table});
    }
    std::erase_if(coming, [&](const link_route& one) {
        return std::ranges::none_of(wanted, [&](const link_route& other) { return is_same_way(one, other); });
    });
    return coming;
}

bool keeper_of_ways::has_others(const link_route& place) const {
    const auto is_other = [&](int link) { return link != move_.device.index && link != move_.bridge; };
    return std::ranges::any_of(move_.seen.link_routes(),
                               [&](const link_route& one) { return is_other(one.link) && is_of_place(one, place); }) ||
           std::ranges::any_of(move_.seen.connected_routes(), [&](const connected_route& one) {
               return is_other(one.link) && is_of_place(one, place);
           });
}

void keeper_of_ways::put_again(const std::optional<link_route>& is, link_route wanted) {
    if (is) {
        kept_.steps.emplace_back(model::remove_route{is->is, move_.name, is->table, move_.name});
    }
    kept_.steps.emplace_back(model::add_route{std::move(wanted.is), move_.name, wanted.table, move_.name});
}

void keeper_of_ways::keep_place(const link_route& place) {
    const auto wanted = wanted_of(place);
    const auto coming = coming_to(place, wanted);
    const auto place_of = [&](const link_route& one) {
        return std::ranges::find_if(coming, [&](const link_route& other) { return is_same_way(one, other); });
    };
    const bool is_ordered = place.is.to.address.is_v4();
    const bool can_be_ordered = is_ordered && !has_others(place);
    bool is_right = true;  // so far
    bool is_out_of_order = false;
    auto before = coming.begin();
    for (const auto& one : wanted) {
        const auto found = place_of(one);
        const bool is_there = found != coming.end();
        const bool is_behind = is_there && found >= before;
        const bool is_set = is_there && found->is.settings == one.is.settings;
        is_right = is_right && (is_behind || !is_ordered) && is_set;
        before = is_there ? std::max(before, found) : before;
        if (!is_set || (!is_right && can_be_ordered)) {
            put_again(is_there ? std::optional(*found) : std::nullopt, one);
        }
        is_out_of_order = is_out_of_order || (is_there && !is_behind && is_ordered && !can_be_ordered);
    }
    if (is_out_of_order) {
        kept_.out_of_order.push_back(place.is.to.text());
    }
}

}  // namespace

link_route as_link_route(const connected_route& one) {
    const bool is_v4 = one.network.address.is_v4();
    return {.is = {.to = one.network,
                   .metric = one.metric,
                   .source = one.source,
                   .scope = is_v4 ? model::link_scope : model::universe_scope,
                   .protocol = made_by_kernel,
                   .settings = one.settings},
            .link = one.link};
}

std::vector<link_route> ways_over(const model::network_state& seen, int link, const link_route& of_place) {
    std::vector<link_route> given;
    std::ranges::copy_if(seen.link_routes(), std::back_inserter(given),
                         [&](const link_route& one) { return one.link == link && is_of_place(one, of_place); });
    std::vector<link_route> all;
    std::size_t so_far = 0;
    const auto take_given = [&](std::size_t end) {
        for (; so_far < std::min(end, given.size()); ++so_far) {
            all.push_back(given[so_far]);
        }
    };
    for (const auto& one : seen.connected_routes()) {
        if (one.link == link && is_of_place(one, of_place)) {
            take_given(one.behind);
            all.push_back(as_link_route(one));
        }
    }
    take_given(given.size());
    return all;
}

kept_ways keep_ways(const moving_ways& move) {
    return keeper_of_ways(move).make();
}

}  // namespace pvc::policy
