// What there is of a host, by key: what two looks are compared by.
#pragma once

#include "pvcnoded/model/network_state.hpp"

#include <map>
#include <string>
#include <vector>

namespace pvc::sim {

class sim_node;
struct drawn_route;

using host_picture = std::map<std::string, std::string>;

[[nodiscard]] host_picture picture_of(const sim_node& node);

// The ways over a link to a place of a table, in the order in which the kernel takes them.
[[nodiscard]] std::string ways_words(const model::network_state& seen, const std::string& link,
                                     const drawn_route& place);
// The link over which packets to that address go, by the main table, and not by a default route; "": by none. By
// several of one metric, of which a look does not tell the first: "ens4 or ens5".
[[nodiscard]] std::string way_to(const model::network_state& seen, const std::string& where);

}  // namespace pvc::sim
