#include "breaker.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace pvc::hypervisor {

void breaker::take(int descriptor) {
    const std::lock_guard lock(mutex_);
    if (descriptor_ >= 0) {
        ::close(descriptor_);
    }
    descriptor_ = ::fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
    if (is_cut_ && descriptor_ >= 0) {
        ::shutdown(descriptor_, SHUT_RDWR);
    }
}

void breaker::cut() {
    const std::lock_guard lock(mutex_);
    is_cut_ = true;
    if (descriptor_ >= 0) {
        ::shutdown(descriptor_, SHUT_RDWR);
    }
}

void breaker::release() {
    const std::lock_guard lock(mutex_);
    if (descriptor_ >= 0) {
        ::close(descriptor_);
        descriptor_ = -1;
    }
}

}  // namespace pvc::hypervisor
