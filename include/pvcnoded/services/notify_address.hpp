// The socket that the variable NOTIFY_SOCKET names (sd_notify(3)).
#pragma once

#include <sys/socket.h>
#include <sys/un.h>
#include <optional>
#include <string_view>

namespace pvc::services {

struct notify_address {
    sockaddr_un address{};
    socklen_t size = 0;  // as sendto() takes it: an abstract name has no terminating zero
};

// A path, or "@name" in the abstract namespace. Anything else, and what is too long for an address, is none.
[[nodiscard]] std::optional<notify_address> parse_notify_address(std::string_view text);

}  // namespace pvc::services
