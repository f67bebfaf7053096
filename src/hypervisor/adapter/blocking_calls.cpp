#include "blocking_calls.hpp"

#include "libvirt_library.hpp"
#include "pvcnoded/async/thread_clock.hpp"
#include "pvcnoded/base/guard.hpp"
#include "pvcnoded/hypervisor/domain_numbers.hpp"

#include <cstdlib>
#include <span>

namespace pvc::hypervisor::blocking {

// The numbers that error_table.cpp and domain_numbers.cpp read.
static_assert(VIR_ERR_NO_SUPPORT == 3 && VIR_ERR_NO_CONNECT == 5 && VIR_ERR_OPERATION_FAILED == 9 && VIR_ERR_RPC == 39);
static_assert(VIR_ERR_NO_DOMAIN == 42 && VIR_ERR_OPERATION_INVALID == 55 && VIR_ERR_OPERATION_ABORTED == 78);
static_assert(VIR_ERR_MIGRATE_UNSAFE == 81 && VIR_ERR_OPERATION_UNSUPPORTED == 84);
static_assert(VIR_DOMAIN_RUNNING == 1 && VIR_DOMAIN_PAUSED == 3 && VIR_DOMAIN_PMSUSPENDED == 7);
static_assert(VIR_DOMAIN_PAUSED_MIGRATION == 2 && VIR_DOMAIN_PAUSED_SHUTTING_DOWN == 8);
static_assert(VIR_DOMAIN_EVENT_STARTED == 2 && VIR_DOMAIN_EVENT_CRASHED == 8);
static_assert(VIR_DOMAIN_EVENT_STARTED_MIGRATED == 1 && VIR_DOMAIN_EVENT_SUSPENDED_WATCHDOG == 3);

void free_domain::operator()(virDomainPtr domain) const {
    libvirt().virDomainFree(domain);
}

namespace {

call_result<void> outcome(const link& on, int returned) {
    if (returned < 0) {
        return last_failure(on);
    }
    return {};
}

call_failure too_late() {
    return {call_error::too_late, "it could not be begun in time"};
}

// A device of the guest as it runs; its stored definition is not libvirt's business.
call_result<void> change_device(const link& on, const uuid& id, const std::string& xml, boot_time not_after,
                                int (*call)(virDomainPtr, const char*, unsigned)) {
    const auto domain = find(on, id);
    if (!domain) {
        return domain.error();
    }
    if (!guarded(async::thread_boot_now() < not_after)) {
        return too_late();
    }
    return outcome(on, call(domain->get(), xml.c_str(), VIR_DOMAIN_AFFECT_LIVE));
}

}  // namespace

call_result<domain_pointer> find(const link& on, const uuid& id) {
    domain_pointer found(libvirt().virDomainLookupByUUID(on.get(), id.bytes.data()));
    if (!found) {
        return last_failure(on);
    }
    return found;
}

call_result<void> say_version(const link& on) {
    unsigned long version = 0;
    return outcome(on, libvirt().virConnectGetLibVersion(on.get(), &version));
}

call_result<std::vector<guest>> list(const link& on) {
    virDomainPtr* all = nullptr;
    const int count = libvirt().virConnectListAllDomains(on.get(), &all, VIR_CONNECT_LIST_DOMAINS_ACTIVE);
    if (count < 0) {
        return last_failure(on);
    }
    std::vector<domain_pointer> owned(all, all + count);
    std::free(static_cast<void*>(all));
    std::vector<guest> out;
    for (const auto& domain : owned) {
        int state = 0;
        int reason = 0;
        if (libvirt().virDomainGetState(domain.get(), &state, &reason, 0) < 0) {
            auto why = last_failure(on);
            if (why.code == call_error::no_domain) {
                continue;  // gone since
            }
            return why;
        }
        guest one;
        libvirt().virDomainGetUUID(domain.get(), one.id.bytes.data());
        const char* name = libvirt().virDomainGetName(domain.get());
        one.name = name == nullptr ? "" : name;
        one.status = status_from_numbers(state, reason);
        out.push_back(std::move(one));
    }
    return out;
}

call_result<model::guest_status> status(const link& on, const uuid& id) {
    const auto domain = find(on, id);
    if (!domain) {
        return domain.error();
    }
    int state = 0;
    int reason = 0;
    if (libvirt().virDomainGetState(domain->get(), &state, &reason, 0) < 0) {
        return last_failure(on);
    }
    return status_from_numbers(state, reason);
}

call_result<std::string> live_xml(const link& on, const uuid& id) {
    const auto domain = find(on, id);
    if (!domain) {
        return domain.error();
    }
    const std::unique_ptr<char, decltype(&std::free)> text(libvirt().virDomainGetXMLDesc(domain->get(), 0), &std::free);
    if (!text) {
        return last_failure(on);
    }
    return std::string(text.get());
}

call_result<void> create(const link& on, const uuid& id, const std::string& xml, boot_time not_after) {
    if (!guarded(async::thread_boot_now() < not_after)) {
        return too_late();
    }
    const domain_pointer created(libvirt().virDomainCreateXML(on.get(), xml.c_str(), VIR_DOMAIN_NONE));
    if (created) {
        return {};
    }
    library_error error = last_error();
    const bool exists = error.number == VIR_ERR_OPERATION_FAILED && find(on, id).has_value();
    const auto state = on.is_alive() ? link_state::alive : link_state::dead;
    return call_failure(classify_create(error, state, id, exists), std::move(error.text));
}

call_result<void> shutdown(const link& on, const uuid& id, shutdown_way way) {
    const auto domain = find(on, id);
    if (!domain) {
        return domain.error();
    }
    const unsigned flags = way == shutdown_way::acpi ? VIR_DOMAIN_SHUTDOWN_ACPI_POWER_BTN : VIR_DOMAIN_SHUTDOWN_DEFAULT;
    return outcome(on, libvirt().virDomainShutdownFlags(domain->get(), flags));
}

call_result<void> destroy(const link& on, const uuid& id) {
    const auto domain = find(on, id);
    if (!domain) {
        return domain.error();
    }
    return outcome(on, libvirt().virDomainDestroyFlags(domain->get(), VIR_DOMAIN_DESTROY_DEFAULT));
}

call_result<void> resume(const link& on, const uuid& id, boot_time not_after) {
    const auto domain = find(on, id);
    if (!domain) {
        return domain.error();
    }
    if (!guarded(async::thread_boot_now() < not_after)) {
        return too_late();
    }
    return outcome(on, libvirt().virDomainResume(domain->get()));
}

call_result<void> attach_device(const link& on, const uuid& id, const std::string& xml, boot_time not_after) {
    return change_device(on, id, xml, not_after, libvirt().virDomainAttachDeviceFlags);
}

call_result<void> detach_device(const link& on, const uuid& id, const std::string& xml, boot_time not_after) {
    return change_device(on, id, xml, not_after, libvirt().virDomainDetachDeviceFlags);
}

}  // namespace pvc::hypervisor::blocking
