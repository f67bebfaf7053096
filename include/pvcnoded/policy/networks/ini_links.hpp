// What files of systemd-networkd (systemd.netdev(5), systemd.network(5)) and of NetworkManager
// (nm-settings-keyfile(5)) name. Total: what is not understood names nothing. Pure. Specification: README ruling 79.
#pragma once

#include "pvcnoded/policy/networks/named_links.hpp"

#include <string_view>

namespace pvc::policy {

// Of networkd; other files of its folders (`.link`, drop-ins) name nothing.
[[nodiscard]] bool is_netdev_file(std::string_view name);
[[nodiscard]] bool is_network_file(std::string_view name);
[[nodiscard]] names_in_file parse_netdev(std::string_view text);
[[nodiscard]] names_in_file parse_network_file(std::string_view text);

// A connection of NetworkManager.
[[nodiscard]] bool is_keyfile(std::string_view name);
[[nodiscard]] names_in_file parse_keyfile(std::string_view text);

}  // namespace pvc::policy
