// How a bridge that this daemon makes takes what routers and neighbours say, and answers them: as the device that
// becomes its port did. A host that takes no router advertisements on its card, or has IPv6 off there, takes none on
// the bridge, whatever the kernel gives new links; one that answers for others there (proxy_arp) does so on the bridge.
// What else is there stays: a bridge that somebody made has its own settings. Pure. README ruling 81.
#pragma once

#include "pvcnoded/policy/networks/host_plan.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace pvc::policy {

// The value of a key below /proc/sys; empty: this kernel has no such key, or it cannot be read.
using setting_reader = std::function<std::optional<std::string>(const std::string&)>;

// The same plan with these settings, each right before a device becomes the port of a bridge that the plan makes, or of
// one of `made`. None where it reads so already; and of a device whose default route a program made for a router's
// word (IPv6, protocol "ra") only disable_ipv6: that program does not know of the bridge, and the kernel takes its
// place. `own`: what this daemon sets to values of its own, on whatever link.
[[nodiscard]] host_plan with_router_settings(host_plan plan, const model::network_state& seen,
                                             const std::set<std::string>& made, const setting_reader& read,
                                             const std::vector<sysctl_setting>& own = {});

// Bridges that this daemon made and that have had no device yet: after a look; with those that a unit is about to make;
// without those that have one, once it is done; and without those that it did not make, as it failed.
enum class made_when : std::uint8_t { before, afterwards, failed };
[[nodiscard]] std::set<std::string> made_after_look(std::set<std::string> made, const model::network_state& seen);
void note_made(std::set<std::string>& made, const host_unit& unit, made_when when);

// What is read once the plan has been carried out: a new bridge has what the kernel gives new links, and what the plan
// sets.
[[nodiscard]] setting_reader read_after(const host_plan& plan, setting_reader read);

}  // namespace pvc::policy
