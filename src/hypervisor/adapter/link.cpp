#include "link.hpp"

#include "event_loop.hpp"

#include <libvirt/libvirt.h>
#include <libvirt/virterror.h>

#include <utility>

namespace pvc::hypervisor {

namespace {

thread_local bool may_wait = false;

using note_pointer = std::shared_ptr<link_note>;

void on_closed(virConnectPtr /*connection*/, int /*reason*/, void* data) {
    link_note& note = **static_cast<note_pointer*>(data);
    note.closed = true;
    if (note.tell_closed) {
        note.tell_closed();
    }
}

void free_note(void* data) {
    delete static_cast<note_pointer*>(data);
}

}  // namespace

pool_section::pool_section() {
    may_wait = true;
}
pool_section::~pool_section() {
    may_wait = false;
}

library_error last_error() {
    const virError* error = virGetLastError();
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
    const event_loop::capture socket(*way_out);
    virConnectPtr connection = virConnectOpen(wishes.uri.c_str());
    if (connection == nullptr) {
        way_out->release();
        return call_failure(call_error::unavailable, last_error().text);
    }
    auto opened = std::make_shared<link>(connection, std::move(note), std::move(way_out), wishes.count);
    // Drivers in our own process have no keepalive, and need none.
    static_cast<void>(virConnectSetKeepAlive(connection, wishes.keepalive_seconds, wishes.keepalive_count));
    auto data = std::make_unique<note_pointer>(opened->note_);
    if (virConnectRegisterCloseCallback(connection, &on_closed, data.get(), &free_note) == 0) {
        opened->has_close_callback_ = true;
        static_cast<void>(data.release());  // free_note() deletes it
    }
    return opened;
}

link::link(virConnectPtr connection, std::shared_ptr<link_note> note, std::shared_ptr<breaker> way_out,
           std::shared_ptr<link_count> count)
    : connection_(connection), note_(std::move(note)), way_out_(std::move(way_out)), count_(std::move(count)) {
    ++count_->open;
}

link::~link() {
    if (!may_wait) {
        way_out_->cut();
    }
    // Each registration holds the connection; the library forgets them even if the other side no longer answers.
    for (const int id : registrations_) {
        virConnectDomainEventDeregisterAny(connection_, id);
    }
    if (has_close_callback_) {
        virConnectUnregisterCloseCallback(connection_, &on_closed);
    }
    virConnectClose(connection_);
    way_out_->release();
    --count_->open;
    count_->tell_closed();
}

bool link::is_alive() const {
    return !note_->closed && virConnectIsAlive(connection_) == 1;
}

}  // namespace pvc::hypervisor
