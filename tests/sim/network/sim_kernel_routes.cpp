// Routes of the simulated kernel that somebody takes away, that come back, and in which order they stand.
#include "sim/network/sim_kernel.hpp"

#include <algorithm>

namespace pvc::sim {

void sim_kernel::flush_routes() {
    std::erase_if(routes_, [](const route_entry& one) { return one.is.table == model::main_table; });
    for (const auto& one : connected_routes()) {
        lost_.push_back({one.link, one.network});
    }
    settle();
}

void sim_kernel::flush_local_routes() {
    for (auto& [index, one] : devices_) {
        for (auto& entry : one.v4) {
            entry.is.is_taken = false;
        }
    }
    flush_ipv6(false, true);
}

void sim_kernel::flush_ipv6(bool main, bool local) {
    if (main) {
        std::erase_if(routes_, [](const route_entry& one) {
            return one.is.table == model::main_table && one.is.is.to.address.is_v6();
        });
        for (const auto& one : connected_routes()) {
            if (one.network.address.is_v6()) {
                lost_.push_back({one.link, one.network});
            }
        }
    }
    for (auto& [index, one] : devices_) {
        const bool is_judged = local && one.is.is_running && one.is.master == 0 && !one.is.is_loopback;
        for (auto& entry : one.v6) {
            entry.is.is_taken = entry.is.is_taken && !is_judged;
        }
    }
    settle();
}

// Before or behind others of its place, or with its source again.
result<void> sim_kernel::put_back(const model::link_route& wanted, const device& over, bool comes_first) {
    const bool is_v4 = wanted.is.to.address.is_v4();
    const auto like = std::ranges::find_if(routes_, [&](const route_entry& one) {
        return one.is.link == wanted.link && one.is.table == wanted.table && one.is.is.is_like(wanted.is) &&
               (!is_v4 || one.is.is.source == wanted.is.source);
    });
    if (like != routes_.end() && like->is.is.source != wanted.is.source && like->is.is.source) {
        return failure(errc::already_exists, to_text(wanted.is), "there is one with another source");
    }
    if (auto possible = can_be(wanted.is, over); !possible) {
        return possible;
    }
    if (like != routes_.end()) {
        like->is.is.source = wanted.is.source;
        return {};
    }
    const auto first =
        std::ranges::find_if(routes_, [&](const route_entry& one) { return is_of_place(one.is, wanted); });
    const bool is_first = comes_first && is_v4;
    routes_.insert(is_first ? first : routes_.end(), {.is = wanted, .is_in_front = is_first});
    return {};
}

bool sim_kernel::is_of_place(const model::link_route& a, const model::link_route& b) {
    return a.is.metric == b.is.metric && a.is.to == b.is.to && a.table == b.table && a.is.tos == b.is.tos;
}

// Those of addresses have no place among others here.
void sim_kernel::note_order(model::link_route& told, const route_entry& of) const {
    bool is_behind = false;
    for (const auto& other : routes_) {
        if (&other == &of) {
            is_behind = true;
        } else if (is_of_place(other.is, told)) {
            const bool is_in_list = other.is.link == told.link && !other.is_advertised && !is_connected(other.is);
            told.place += is_behind ? 0 : 1;
            told.is_before_others = told.is_before_others || (is_behind && !is_in_list);
        }
    }
}

}  // namespace pvc::sim
