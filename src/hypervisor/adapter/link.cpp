#include "link.hpp"

#include "event_loop.hpp"
#include "libvirt_library.hpp"

#include <cstdint>
#include <map>
#include <mutex>
#include <utility>

namespace pvc::hypervisor {

namespace {

thread_local bool may_wait = false;

// Who is meant by the number that a close callback carries. The library's promise to give a callback's data back is not
// kept by every driver and not after every failure, so it is given nothing that would have to be.
class notes_by_number {
public:
    static notes_by_number& instance() {
        static auto* const only = new notes_by_number;  // for ever: a forgotten callback may still come
        return *only;
    }
    void* add(const std::shared_ptr<link_note>& note) {
        const std::lock_guard lock(mutex_);
        notes_.emplace(++last_, note);
        return reinterpret_cast<void*>(last_);
    }
    std::shared_ptr<link_note> find(const void* number) {
        const std::lock_guard lock(mutex_);
        const auto found = notes_.find(reinterpret_cast<std::uintptr_t>(number));
        return found == notes_.end() ? nullptr : found->second.lock();
    }
    void remove(const void* number) {
        const std::lock_guard lock(mutex_);
        notes_.erase(reinterpret_cast<std::uintptr_t>(number));
    }

private:
    std::mutex mutex_;
    std::uintptr_t last_ = 0;
    std::map<std::uintptr_t, std::weak_ptr<link_note>> notes_;
};

void on_closed(virConnectPtr /*connection*/, int /*reason*/, void* number) {
    if (const auto note = notes_by_number::instance().find(number)) {
        note->closed = true;
        if (note->tell_closed) {
            note->tell_closed();
        }
    }
}

}  // namespace

pool_section::pool_section() {
    may_wait = true;
}
pool_section::~pool_section() {
    may_wait = false;
}

library_error last_error() {
    const virError* error = libvirt().virGetLastError();
    if (error == nullptr || error->code == VIR_ERR_OK) {
        return {0, "the hypervisor gave no reason"};
    }
    return {error->code, error->message == nullptr ? std::string() : std::string(error->message)};
}

call_failure last_failure(const link& on) {
    library_error error = last_error();  // before anything else is called
    const auto code = classify(error.number, on.is_alive() ? link_state::alive : link_state::dead);
    return {code, std::move(error.text)};
}

call_result<std::shared_ptr<link>> link::open(const link_wishes& wishes, std::shared_ptr<link_note> note,
                                              std::shared_ptr<breaker> way_out) {
    if (!libvirt().problem().empty()) {
        return call_failure(call_error::unavailable, libvirt().problem());
    }
    event_loop::serve_library();
    const event_loop::capture socket(*way_out);
    virConnectPtr connection = wishes.access == link_access::read_only
                                   ? libvirt().virConnectOpenReadOnly(wishes.uri.c_str())
                                   : libvirt().virConnectOpen(wishes.uri.c_str());
    if (connection == nullptr) {
        way_out->release();
        return call_failure(call_error::unavailable, last_error().text);
    }
    auto opened = std::make_shared<link>(connection, std::move(note), std::move(way_out), wishes.count);
    // Drivers in our own process have no keepalive, and need none.
    static_cast<void>(libvirt().virConnectSetKeepAlive(connection, wishes.keepalive_seconds, wishes.keepalive_count));
    static_cast<void>(libvirt().virConnectRegisterCloseCallback(connection, &on_closed, opened->number_, nullptr));
    return opened;
}

link::link(virConnectPtr connection, std::shared_ptr<link_note> note, std::shared_ptr<breaker> way_out,
           std::shared_ptr<link_count> count)
    : connection_(connection), note_(std::move(note)), way_out_(std::move(way_out)), count_(std::move(count)) {
    ++count_->open;
    number_ = notes_by_number::instance().add(note_);
}

link::~link() {
    if (!may_wait) {
        way_out_->cut();
    }
    // Each registration holds the connection; the library forgets them even if the other side no longer answers.
    for (const int id : registrations_) {
        libvirt().virConnectDomainEventDeregisterAny(connection_, id);
    }
    notes_by_number::instance().remove(number_);
    libvirt().virConnectUnregisterCloseCallback(connection_, &on_closed);
    libvirt().virConnectClose(connection_);
    way_out_->release();
    --count_->open;
    count_->tell_closed();
}

bool link::is_alive() const {
    return !note_->closed && libvirt().virConnectIsAlive(connection_) == 1;
}

}  // namespace pvc::hypervisor
