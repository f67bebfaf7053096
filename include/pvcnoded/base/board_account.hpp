// How a management controller (BMC) is reached over the network, as it is configured on its node and published for the
// others: what may be wrong with a value before anybody is asked with it. Each function gives a clause for a message
// ("is empty"), without the value of a password; empty: nothing is wrong. Total: any bytes, of any number.
// Specification: config.md 5.4; limits of IPMI 2.0 (16 bytes for a user, 20 for a password).
#pragma once

#include <string>
#include <string_view>

namespace pvc {

// A host name or an address.
[[nodiscard]] std::string trouble_with_board_host(std::string_view text);
[[nodiscard]] std::string trouble_with_board_user(std::string_view text);
[[nodiscard]] std::string trouble_with_board_password(std::string_view text);

}  // namespace pvc
