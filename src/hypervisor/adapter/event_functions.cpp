// The six functions that the library is given, and the one object behind them.
#include "event_loop.hpp"
#include "libvirt_library.hpp"

#include <poll.h>

namespace pvc::hypervisor {

namespace {

short to_poll(int events) {
    int out = 0;
    out |= (events & VIR_EVENT_HANDLE_READABLE) != 0 ? POLLIN : 0;
    out |= (events & VIR_EVENT_HANDLE_WRITABLE) != 0 ? POLLOUT : 0;
    return static_cast<short>(out);
}

int from_poll(short events) {
    int out = 0;
    out |= (events & POLLIN) != 0 ? VIR_EVENT_HANDLE_READABLE : 0;
    out |= (events & POLLOUT) != 0 ? VIR_EVENT_HANDLE_WRITABLE : 0;
    out |= (events & (POLLERR | POLLNVAL)) != 0 ? VIR_EVENT_HANDLE_ERROR : 0;
    out |= (events & POLLHUP) != 0 ? VIR_EVENT_HANDLE_HANGUP : 0;
    return out;
}

std::function<void()> freeing(virFreeCallback free, void* data) {
    return free == nullptr ? std::function<void()>() : [free, data] { free(data); };
}

int add_handle(int descriptor, int events, virEventHandleCallback call, void* data, virFreeCallback free) {
    return event_loop::instance().add_handle(
        descriptor, to_poll(events),
        [call, data](int watch, int own, short ready) { call(watch, own, from_poll(ready), data); },
        freeing(free, data));
}

void update_handle(int watch, int events) {
    event_loop::instance().update_handle(watch, to_poll(events));
}

int remove_handle(int watch) {
    return event_loop::instance().remove_handle(watch) ? 0 : -1;
}

int add_timeout(int milliseconds, virEventTimeoutCallback call, void* data, virFreeCallback free) {
    return event_loop::instance().add_timeout(
        milliseconds, [call, data](int id) { call(id, data); }, freeing(free, data));
}

void update_timeout(int id, int milliseconds) {
    event_loop::instance().update_timeout(id, milliseconds);
}

int remove_timeout(int id) {
    return event_loop::instance().remove_timeout(id) ? 0 : -1;
}

// Errors are values of the calls; without this the library prints each of them.
void say_nothing(void* /*data*/, virErrorPtr /*error*/) {}

}  // namespace

event_loop::event_loop() = default;

event_loop& event_loop::instance() {
    static auto* const only = new event_loop;  // for ever: the library may call it until the process has gone
    return *only;
}

void event_loop::serve_library() {
    static const bool registered = [] {
        libvirt().virEventRegisterImpl(&pvc::hypervisor::add_handle, &pvc::hypervisor::update_handle,
                                       &pvc::hypervisor::remove_handle, &pvc::hypervisor::add_timeout,
                                       &pvc::hypervisor::update_timeout, &pvc::hypervisor::remove_timeout);
        libvirt().virSetErrorFunc(nullptr, &say_nothing);
        return libvirt().virInitialize() == 0;
    }();
    static_cast<void>(registered);
}

}  // namespace pvc::hypervisor
