// Routes of others that hang on an address of the primary. When the kernel loses the last address of IPv4 of a link it
// takes all routes over that away, of all tables; with any address those go that name it as their source, and of IPv6
// they lose that source. An operator's route must outlive a hand-over: what can be there without the address comes
// again in the same breath; what needs it is noted while it is there, and comes again with it. Pure. Specification:
// networking.md 6; README ruling 79.
#pragma once

#include "pvcnoded/config/node_config.hpp"
#include "pvcnoded/model/network_change.hpp"
#include "pvcnoded/model/network_state.hpp"
#include "pvcnoded/policy/role/role_addresses.hpp"

#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pvc::policy {

struct bound_route {
    std::string device;
    int link = 0;  // index
    model::network_route is;
    std::uint32_t table = model::main_table;
    bool is_waiting = false;   // it went with its address, and comes with it
    bool comes_first = false;  // IPv4: before others of its place and metric that stay, of which none comes before it

    friend bool operator==(const bound_route&, const bound_route&) = default;
};
using bound_routes = std::vector<bound_route>;

// After a look: those that somebody made by hand and that would go with one of these addresses, and those of before
// that went so. One that is gone although all that it needs is there was taken away by somebody, and is forgotten; so
// is one in whose place there is another: such as were there beside it stay on record as long as it waits. Those of one
// place in the order of the kernel.
[[nodiscard]] bound_routes bound_after_look(const bound_routes& before, const config::node_config& config,
                                            std::span<const role_address> all, const model::network_state& seen);
// Those that go with this address wait for it from now on.
[[nodiscard]] bound_routes bound_without(bound_routes all, const placed_address& gone);
// Both name the same routes, whether these wait or not.
[[nodiscard]] bool is_same_but_for_waiting(const bound_routes& a, const bound_routes& b);

// Those that wait for nothing any more.
[[nodiscard]] std::vector<model::add_route> bound_to_add(const bound_routes& all, const model::network_state& seen);

// By device: routes of IPv4, whoever made them, that the kernel takes away with the last address there although they
// need none. Of devices that have no other address than such of the primary. With the place that each had among those
// over other devices, and those that lead nowhere: whether these come behind it. Of IPv6: those to the very network of
// such an address, with a metric of their own, which the kernel takes for its own.
struct standing_route {
    model::link_route is;
    bool has_twins = false;  // others of its place and metric, over other devices or none

    friend bool operator==(const standing_route&, const standing_route&) = default;
};
using standing_routes = std::map<std::string, std::vector<standing_route>, std::less<>>;
[[nodiscard]] standing_routes routes_to_keep(const config::node_config& config, std::span<const role_address> all,
                                             const model::network_state& seen);
// What is to be said of those that somebody made by hand and that would go with one of these addresses, or lose their
// source with it, for good: a look does not show all that they are. Those over no device (link 0: blackhole, …) too.
[[nodiscard]] std::set<std::string> routes_not_to_keep(const config::node_config& config,
                                                       std::span<const role_address> all,
                                                       const model::network_state& seen);

// In words, for who looks before a daemon does, and knows no networks: what goes with these addresses that are there of
// a primary and comes back with them, and what does not come back.
struct leaving_routes {
    std::set<std::string> waiting;
    std::set<std::string> lost;
};
[[nodiscard]] leaving_routes describe_leaving(const config::node_config& config, std::span<const placed_address> found,
                                              const model::network_state& seen);

// A line of a record: "route vmbr7 57 254 10.7.0.0/16 waits first via=10.0.0.9 metric=50 source=10.0.0.254".
[[nodiscard]] std::string bound_line(const bound_route& one);
// By its words, the first of which is "route". Empty: it is none.
[[nodiscard]] std::optional<bound_route> parse_bound(std::span<const std::string_view> words);

}  // namespace pvc::policy
