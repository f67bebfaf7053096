#include "pvcnoded/services/adapter/sd_notifier.hpp"

#include <unistd.h>

namespace pvc::services {

sd_notifier::sd_notifier(const char* address) : address_(parse_notify_address(address == nullptr ? "" : address)) {
    if (address_) {
        socket_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    }
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
                               reinterpret_cast<const sockaddr*>(&address_->address), address_->size));
}

}  // namespace pvc::services
