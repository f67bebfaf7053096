// The host's own network: what the three static networks, the device of bridged networks and the default route need of
// links, addresses and routes, and what is to be done where it is not so. A host that is right is left as it is.
//
// The steps come in units: what belongs together (a device with its bridge, the address on it, the default route). If a
// step fails, those of its unit that were done are undone, backwards (undo_of), so that a host is not left half
// changed, and the other units go on. Specification: networking.md 3.1, 3.2 (cases 1 to 10, 97, 98); config.md 6.6.
#pragma once

#include "pvcnoded/base/message.hpp"
#include "pvcnoded/config/node_config.hpp"
#include "pvcnoded/model/network_change.hpp"
#include "pvcnoded/model/network_state.hpp"
#include "pvcnoded/policy/networks/own_bridges.hpp"
#include "pvcnoded/policy/startup_plan.hpp"

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace pvc::policy {

// Something that an operator has to be told, once for as long as it stays the same.
struct network_remark {
    message which;
    bool is_error = false;
    std::string text;

    friend bool operator==(const network_remark&, const network_remark&) = default;
};

struct host_unit {
    std::string what;  // "bridge brcluster", "address 10.0.0.1/24 on brcluster", "default route"
    std::vector<model::network_change> steps;
    std::string needs{};  // another unit: if that cannot be done, this one is left as well

    friend bool operator==(const host_unit&, const host_unit&) = default;
};

// A route that does not go along with its device, which is made a port: it is told of until it is back, or somebody
// removes what is left of it.
struct unmoved_route {
    std::string device;  // the port
    model::link_route is;
    std::string text;
    bool is_dead = false;  // seen where it was while the device is a port

    friend bool operator==(const unmoved_route&, const unmoved_route&) = default;
};

struct host_plan {
    std::vector<host_unit> units;         // in order; those that need nothing are left out
    std::vector<network_remark> remarks;  // a device that is missing or belongs to another bridge, another route, …
    std::vector<std::string> missing;     // devices that are not there: what needs them is done when they come
    std::vector<unmoved_route> unmoved;   // told of among the remarks too; of devices that become ports by this plan
    bool is_cluster_device_missing = false;
    bool waits_for_carrier = false;  // of a device that is to take the place of another one

    [[nodiscard]] bool is_right() const { return units.empty() && missing.empty(); }
};

// `ports`: those that the configuration gave to bridges of the host, now or before (own_bridges.hpp). One that is not
// its bridge's device any more goes, right before the device comes; and not before it can work: two ports that lead to
// one network are a loop, and none leads nowhere.
[[nodiscard]] host_plan plan_host(const config::node_config& config, const model::network_state& seen,
                                  const host_ports& ports = {});

// Those that are gone or lead nowhere by now, of `before` (what this said of the look before) and the plan of this
// look: what the plan does not tell of is to be told still. The second: what to hand in with the next look.
struct lost_routes {
    std::vector<network_remark> remarks;
    std::vector<unmoved_route> next;
};
[[nodiscard]] lost_routes routes_lost(const std::vector<unmoved_route>& before, const host_plan& plan,
                                      const model::network_state& seen);

// Devices by another name than the kernel's own, which it knows too (`ip link property add … altname`): those of the
// configuration that a look resolves, with the own ones. In the order of core devices.
using device_names = std::vector<std::pair<std::string, std::string>>;
[[nodiscard]] device_names names_to_resolve(const config::node_config& config, const model::network_state& seen);
// The same configuration with these devices called by their own names. Virtual functions keep theirs: it is in keys.
[[nodiscard]] config::node_config with_own_names(const config::node_config& config, const device_names& names);

// Bridges that shall keep the hardware address that they have, which is their device's, also when another port comes
// that has a smaller one: switches and providers filter by it (README ruling 83). Whether it was told to keep it nobody
// can see: `told` are the indexes of those that were. Nothing that one sees is changed by these steps.
[[nodiscard]] std::vector<model::set_hardware> addresses_to_keep(const config::node_config& config,
                                                                 const model::network_state& seen,
                                                                 const std::set<int>& told);

// What undoes a step that was done to a host that was `before`: nothing where it changed nothing.
[[nodiscard]] std::optional<model::network_change> undo_of(const model::network_change& step,
                                                           const model::network_state& before);

// The route by which an address that is on the link takes its packets (is_local), or else by which its network is
// reached, as the kernel makes them: empty where both are there, or the kernel makes none.
[[nodiscard]] std::optional<model::network_route> lost_connected_route(const model::network_state& seen,
                                                                       const model::network_link& link,
                                                                       const host_address& address);

// What brings it back. Of IPv6 the address goes and comes again: a route that somebody made to it would stay when the
// address goes, and the host would take packets of whoever has it then.
[[nodiscard]] std::vector<model::network_change> steps_for_lost(const model::network_route& route,
                                                                const std::string& device,
                                                                const model::link_address& of);

// The kernel makes them with the addresses of a bridge; who flushes a table takes them away, and then nobody of the
// network is reached, or no packet is taken. Of others than the `own` ones only the latter, and of IPv4 alone: an
// address that somebody gave to it is not taken away for a moment.
[[nodiscard]] std::vector<host_unit> units_of_lost_routes(const model::network_state& seen,
                                                          const model::network_link& bridge,
                                                          const std::vector<host_address>& own);

[[nodiscard]] constexpr std::uint32_t table_of(const model::network_route& route) {
    return route.is_local ? model::local_table : model::main_table;
}
// Addresses that are not the daemon's to repair, of which this host takes no packets. Empty: there are none.
// Where the kernel has no IPv6: what of client networks cannot be then.
[[nodiscard]] network_remark remark_without_ipv6();
inline constexpr std::string_view ipv6_forwarding_key = "net/ipv6/conf/all/forwarding";

[[nodiscard]] std::optional<network_remark> remark_of_untaken(const config::node_config& config,
                                                              const model::network_state& seen);

// Rules that somebody made, each with a device that it names and in words. One that names a port of the host's bridges,
// or a device that becomes one by the plan, meets no packet any more: to the kernel they come and go by the bridge.
// Whose rule it is nobody knows: it is said, once for each device.
struct rule_of_host {
    std::string device;
    std::string text;
};
[[nodiscard]] std::vector<network_remark> remarks_of_rules(const config::node_config& config, const host_plan& plan,
                                                           const model::network_state& seen,
                                                           const std::vector<rule_of_host>& rules);

// What the kernel settings of this configuration hang on.
[[nodiscard]] core_devices core_devices_of(const config::node_config& config);

// Before forwarding is switched on: routes learnt from router advertisements survive that only where accept_ra is 2
// (README ruling 81). Of each link that may have such routes: of none that belongs to guests or client networks, or is
// a port.
[[nodiscard]] std::vector<sysctl_setting> advertisement_settings(const config::node_config& config,
                                                                 const model::network_state& seen);

// What a look would see once the devices of this plan are ports: what follows from that for settings is said before.
[[nodiscard]] model::network_state with_ports_of(const host_plan& plan, const model::network_state& seen);

// S4: those of the settings whose keys do not read as they shall, in order. `read` gives the present value of a key,
// nothing where this kernel has no such key (it is left out then).
[[nodiscard]] std::vector<model::set_sysctl> sysctls_to_set(
    const std::vector<sysctl_setting>& wanted,
    const std::function<std::optional<std::string>(const std::string&)>& read);

// Why no bridge of this name is there, nor can be made: another link is called so, if only by another name that it has.
// Nothing is done to that, and no address added. "": nothing.
[[nodiscard]] std::string why_no_bridge(const model::network_state& seen, const std::string& name);

// The link over which the host reaches the network of this address while the bridge, there or not, has no way out of
// the machine: with the address on the bridge that network would be reached by nobody. "": none, or the bridge has a
// port.
[[nodiscard]] std::string reached_without(const std::string& bridge, const model::network_state& seen,
                                          const host_address& address);

// The bridges of the static networks whose device is there, but which do not run yet.
[[nodiscard]] std::vector<std::string> bridges_not_running(const config::node_config& config,
                                                           const model::network_state& seen);

}  // namespace pvc::policy
