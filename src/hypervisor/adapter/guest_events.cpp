// Events of guests: the library's callbacks, each turned into one guest_event. They run on the loop thread.
#include "libvirt_library.hpp"
#include "link.hpp"
#include "pvcnoded/hypervisor/domain_numbers.hpp"

#include <algorithm>
#include <optional>

namespace pvc::hypervisor {

namespace {

using note_pointer = std::shared_ptr<link_note>;

void free_note(void* data) {
    delete static_cast<note_pointer*>(data);
}

std::string text_of(const char* from) {
    return from == nullptr ? std::string() : std::string(from);
}

void tell(void* data, virDomainPtr domain, guest_event event) {
    // A copy: the receiver may end the connection's use while it is told.
    const note_pointer note = *static_cast<note_pointer*>(data);
    if (!note->tell_event || libvirt().virDomainGetUUID(domain, event.id.bytes.data()) != 0) {
        return;
    }
    note->tell_event(event);
}

guest_event event_of(event_kind what, std::string detail) {
    guest_event event;
    event.what = what;
    event.detail = std::move(detail);
    return event;
}

int on_lifecycle(virConnectPtr, virDomainPtr domain, int kind, int detail, void* data) {
    if (const auto status = status_from_event(kind, detail)) {
        auto event = event_of(event_kind::status, event_text(kind, detail));
        event.status = *status;
        tell(data, domain, std::move(event));
    }
    return 0;
}

void on_reboot(virConnectPtr, virDomainPtr domain, void* data) {
    tell(data, domain, event_of(event_kind::rebooted, {}));
}

void on_io_error(virConnectPtr, virDomainPtr domain, const char* path, const char* alias, int action,
                 const char* reason, void* data) {
    static_cast<void>(action);
    std::string detail = text_of(path).empty() ? text_of(alias) : text_of(path);
    if (!text_of(reason).empty()) {
        detail += " (" + text_of(reason) + ")";
    }
    tell(data, domain, event_of(event_kind::io_error, std::move(detail)));
}

void on_watchdog(virConnectPtr, virDomainPtr domain, int action, void* data) {
    tell(data, domain, event_of(event_kind::watchdog, "action " + std::to_string(action)));
}

void on_device_added(virConnectPtr, virDomainPtr domain, const char* alias, void* data) {
    tell(data, domain, event_of(event_kind::devices_changed, "added " + text_of(alias)));
}

void on_device_removed(virConnectPtr, virDomainPtr domain, const char* alias, void* data) {
    tell(data, domain, event_of(event_kind::devices_changed, "removed " + text_of(alias)));
}

void on_job_completed(virConnectPtr, virDomainPtr domain, virTypedParameterPtr, int, void* data) {
    tell(data, domain, event_of(event_kind::job_ended, {}));
}

template <class Function>
virConnectDomainEventGenericCallback generic(Function* function) {
    // The library calls it with the arguments of its kind; by way of the type that stands for any function.
    return reinterpret_cast<virConnectDomainEventGenericCallback>(reinterpret_cast<void (*)()>(function));
}

}  // namespace

void link::register_events() {
    const auto add = [this](int kind, virConnectDomainEventGenericCallback call) {
        auto data = std::make_unique<note_pointer>(note_);
        const int id =
            libvirt().virConnectDomainEventRegisterAny(connection_, nullptr, kind, call, data.get(), &free_note);
        if (id >= 0) {
            registrations_.push_back(id);
            static_cast<void>(data.release());  // free_note() deletes it
        }
    };
    add(VIR_DOMAIN_EVENT_ID_LIFECYCLE, generic(&on_lifecycle));
    add(VIR_DOMAIN_EVENT_ID_REBOOT, generic(&on_reboot));
    add(VIR_DOMAIN_EVENT_ID_IO_ERROR_REASON, generic(&on_io_error));
    add(VIR_DOMAIN_EVENT_ID_WATCHDOG, generic(&on_watchdog));
    add(VIR_DOMAIN_EVENT_ID_DEVICE_ADDED, generic(&on_device_added));
    add(VIR_DOMAIN_EVENT_ID_DEVICE_REMOVED, generic(&on_device_removed));
    add(VIR_DOMAIN_EVENT_ID_JOB_COMPLETED, generic(&on_job_completed));
}

}  // namespace pvc::hypervisor
