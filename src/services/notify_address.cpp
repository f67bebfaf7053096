#include "pvcnoded/services/notify_address.hpp"

#include <algorithm>
#include <cstddef>

namespace pvc::services {

std::optional<notify_address> parse_notify_address(std::string_view text) {
    notify_address found;
    const bool is_abstract = text.starts_with('@');
    // A path needs its terminating zero, an abstract name has none.
    const std::size_t room = sizeof found.address.sun_path - (is_abstract ? 0 : 1);
    if ((!is_abstract && !text.starts_with('/')) || text.size() < 2 || text.size() > room) {
        return std::nullopt;
    }
    found.address.sun_family = AF_UNIX;
    std::ranges::copy(text, found.address.sun_path);
    if (is_abstract) {
        found.address.sun_path[0] = '\0';
    }
    found.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + text.size() + (is_abstract ? 0 : 1));
    return found;
}

}  // namespace pvc::services
