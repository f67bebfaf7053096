// Settings of the bridges of client networks, as the kernel has them: files, each of which is opened and read on the
// loop's thread. With 500 networks these are thousands, and a routing daemon causes a look each tenth of a second. So
// what was read, and was right, holds until the kernel tells of that link, and for a minute: of most of them it never
// tells.
#include "client_networks.hpp"

#include <fmt/format.h>

namespace pvc::networks {

namespace {
// Those that were read one after the other are read together.
constexpr duration settings_together = std::chrono::seconds(5);
}  // namespace

void client_networks::note_settings(network_row& row, const model::network_state& seen) const {
    const auto* bridge = seen.find(row.wanted->bridge());
    const time_point now = node_.clock().now();
    // Before they are read: what changes while they are is told afterwards.
    read_settings wanted{.when = now,
                         .told = bridge == nullptr ? 0 : work_.stack().settings_told(bridge->index),
                         .of = row.stored,
                         .was_right = row.memory.was_right};
    if (bridge != nullptr) {
        wanted.bridge = *bridge;
        wanted.addresses = seen.addresses_of(bridge->index);
    }
    const bool holds = row.settings && bridge != nullptr && row.settings->is_of_same(wanted) &&
                       now + settings_together < row.settings->when + settings_every;
    if (!holds) {
        wanted.is_ipv6_off = is_ipv6_off(*row.wanted);
        wanted.is_forwarding_off = is_forwarding_off(*row.wanted);
        wanted.is_forwarding_v6_off = is_forwarding_v6_off(*row.wanted);
        wanted.changed = row.memory.was_right ? changed_settings(*row.wanted) : std::vector<policy::changed_setting>();
        row.settings = std::move(wanted);
    }
    row.memory.is_ipv6_off = row.settings->is_ipv6_off;
    row.memory.is_forwarding_off = row.settings->is_forwarding_off;
    row.memory.is_forwarding_v6_off = row.settings->is_forwarding_v6_off;
    row.memory.changed_settings = row.settings->changed;
}

std::vector<policy::changed_setting> client_networks::changed_settings(const model::client_network& network) const {
    std::vector<policy::changed_setting> changed;
    for (auto& one : policy::settings_of_bridge(network)) {
        auto read = work_.stack().sysctl(one.key);
        if (read && *read != one.value) {  // what this kernel does not have cannot be wrong
            changed.push_back({std::move(one), *std::move(read)});
        }
    }
    return changed;
}

bool client_networks::is_ipv6_off(const model::client_network& network) const {
    if (!policy::has_ipv6_on_bridge(network)) {
        return false;
    }
    const auto read = work_.stack().sysctl(fmt::format("net/ipv6/conf/{}/disable_ipv6", network.bridge()));
    return read && *read != "0";
}

bool client_networks::is_forwarding_off(const model::client_network& network) const {
    const auto one = work_.stack().sysctl(fmt::format("net/ipv4/conf/{}/forwarding", network.bridge()));
    const auto all = work_.stack().sysctl("net/ipv4/ip_forward");
    return one && *one == "0" && all && *all == "1";
}

bool client_networks::is_forwarding_v6_off(const model::client_network& network) const {
    if (!policy::has_ipv6_on_bridge(network)) {
        return false;
    }
    const auto one = work_.stack().sysctl(fmt::format("net/ipv6/conf/{}/forwarding", network.bridge()));
    const auto all = work_.stack().sysctl("net/ipv6/conf/all/forwarding");
    return one && *one == "0" && all && *all == "1";
}

}  // namespace pvc::networks
