#include "pvcnoded/services/adapter/sd_notifier.hpp"

#include <unistd.h>
#include <algorithm>
#include <string_view>

namespace pvc::services {

sd_notifier::sd_notifier(const char* address) {
    const std::string_view path = address == nullptr ? "" : address;
    const bool is_abstract = path.starts_with('@');
    // A path needs its terminating zero, an abstract name has none.
    const std::size_t room = sizeof address_.sun_path - (is_abstract ? 0 : 1);
    if ((!is_abstract && !path.starts_with('/')) || path.size() < 2 || path.size() > room) {
        return;
    }
    address_.sun_family = AF_UNIX;
    std::ranges::copy(path, address_.sun_path);
    if (is_abstract) {
        address_.sun_path[0] = '\0';
    }
    address_size_ = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() + (is_abstract ? 0 : 1));
    socket_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

sd_notifier::~sd_notifier() {
    if (socket_ >= 0) {
        ::close(socket_);
    }
}

void sd_notifier::send(std::string_view message) {
    if (socket_ < 0) {
        return;
    }
    // Not connected: a supervisor that opened its socket anew is reached all the same. A full or missing socket drops
    // the message; the next ping comes soon.
    static_cast<void>(::sendto(socket_, message.data(), message.size(), MSG_NOSIGNAL,
                               reinterpret_cast<const sockaddr*>(&address_), address_size_));
}

}  // namespace pvc::services
