// Sockets of the machine, as the hosts of the tests need them.
#pragma once

#include <cstdint>
#include <string>

namespace pvc::contract {

// From now on this thread, and the threads and processes that it makes, have a network of their own with nothing but a
// loopback, so that two test programs at a time do not meet. Without the right to make one it changes nothing.
void use_private_network();
// A TCP port that nobody has just now.
std::uint16_t free_port();
// Whether somebody accepts connections there.
bool accepts(const std::string& socket_path);
bool accepts(const std::string& address, std::uint16_t port);

}  // namespace pvc::contract
