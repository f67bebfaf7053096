// Sockets of the machine, as the hosts of the tests need them.
#pragma once

#include <cstdint>
#include <string>

namespace pvc::contract {

// A TCP port that nobody has just now.
std::uint16_t free_port();
// Whether somebody accepts connections there.
bool accepts(const std::string& socket_path);

}  // namespace pvc::contract
