// Virtual machines (domains), the hypervisors that run them, and what clients want of them.
#pragma once

#include "sim/subjects/domains/guests.hpp"
#include "sim/world/registry.hpp"

#include <algorithm>

namespace pvc::sim {

using deed_of_cluster = void (*)(cluster&, const action&);

// For machines that are defined.
template <deed_of_cluster deed>
void of_defined(cluster& world, const action& what) {
    const auto& all = guests_of(world).defined;
    if (std::ranges::find(all, what.number) != all.end()) {
        deed(world, what);
    }
}

// How often random runs draw something (`drawn::favour`), and for whom.
[[nodiscard]] std::uint64_t with_guests(cluster& world);
[[nodiscard]] std::uint64_t most_of_all(cluster& world);
[[nodiscard]] std::int64_t some_guest(drawing& from);
// A node that runs virtual machines.
[[nodiscard]] const std::string& some_host(drawing& from);
void draw_call(drawing& from, action& out);
void draw_placement(drawing& from, action& out);

void listen_to_disks(cluster& world);
void heal_hypervisor(cluster& world, member& one);
void heal_neighbours(cluster& world);
[[nodiscard]] bool is_for_a_neighbour(cluster& world, std::int64_t number, std::string_view reason);
void add_neighbours(registry& to);
void add_domain_clients(registry& to);
void add_hypervisors(registry& to);
void add_guest_rules(registry& to);
void add_running_list_rules(registry& to);
void add_wish_rules(registry& to);
void add_write_rules(registry& to);
void add_domain_progress(registry& to);
void add_cancelling(registry& to);

}  // namespace pvc::sim
