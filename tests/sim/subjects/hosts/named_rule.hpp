// The rule about links that files of a host name: these are the host's to make, whether they are up or not, and
// whatever else of its files cannot be read.
#pragma once

#include "pvcnoded/model/network_state.hpp"
#include "pvcnoded/policy/networks/named_links.hpp"
#include "sim/subjects/hosts/host_picture.hpp"

#include <map>
#include <string>

namespace pvc::sim {

// By path; each by the program that its folder is of.
[[nodiscard]] policy::named_links named_by(const std::map<std::string, std::string>& files);

// A link that was not there before, and that is one of those: what is wrong about it; "": there is none.
[[nodiscard]] std::string made_although_named(const policy::named_links& named, const host_picture& before,
                                              const model::network_state& now);

}  // namespace pvc::sim
