#include "pvcnoded/ceph_helper/outbox.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace pvc::ceph_helper {

namespace {

std::string frame_of(const protocol::ceph::answer& one) {
    auto frame = encode(one);
    if (!frame) {
        const auto& why = frame.error();
        frame = encode(protocol::ceph::answer{one.id, protocol::ceph::say::failed{why.code(), why.cause()}});
    }
    return *std::move(frame);
}

}  // namespace

outbox::outbox() : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (event_ < 0) {
        throw std::system_error(errno, std::generic_category(), "eventfd");
    }
}

outbox::~outbox() {
    ::close(event_);
}

void outbox::put(protocol::ceph::answer one) {
    auto frame = frame_of(one);
    one = {};  // it may hold as much again
    {
        std::unique_lock guard(mutex_);
        emptied_.wait(guard, [this] { return bytes_ < bytes_max; });
        add(std::move(frame));
    }
    ::eventfd_write(event_, 1);
}

void outbox::put_now(const protocol::ceph::answer& one) {
    const std::lock_guard guard(mutex_);
    add(frame_of(one));
}

void outbox::add(std::string frame) {
    bytes_ += frame.size();
    frames_.push_back(std::move(frame));
}

std::optional<std::string> outbox::take() {
    std::optional<std::string> next;
    {
        const std::lock_guard guard(mutex_);
        if (frames_.empty()) {
            return next;
        }
        next = std::move(frames_.front());
        frames_.pop_front();
        bytes_ -= next->size();
    }
    emptied_.notify_all();
    return next;
}

bool outbox::is_full() const {
    const std::lock_guard guard(mutex_);
    return bytes_ >= bytes_max;
}

void outbox::calm() const {
    eventfd_t unused = 0;
    ::eventfd_read(event_, &unused);
}

}  // namespace pvc::ceph_helper
