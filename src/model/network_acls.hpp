// The ACLs among the keys of a client network. Specification: networking.md 5.1, 7.1 (cases 45, 46).
#pragma once

#include "pvcnoded/model/client_network.hpp"

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace pvc::model {

// Those below `folder` ("/firewall_rules/in/"), in order. An entry without a rule is none: it is being made, or goes.
[[nodiscard]] std::vector<network_acl> read_acls(std::string_view network, std::string_view folder,
                                                 const std::map<std::string, std::string, std::less<>>& keys,
                                                 std::vector<std::string>& remarks);

}  // namespace pvc::model
