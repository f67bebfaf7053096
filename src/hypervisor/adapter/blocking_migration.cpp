// Live migration and its job. Specification: vm-domains.md 8.2.
#include "blocking_calls.hpp"
#include "libvirt_library.hpp"

namespace pvc::hypervisor::blocking {

namespace {

class parameters {
public:
    parameters() = default;
    parameters(const parameters&) = delete;
    parameters& operator=(const parameters&) = delete;
    ~parameters() { libvirt().virTypedParamsFree(list, count); }

    virTypedParameterPtr list = nullptr;
    int count = 0;
    int capacity = 0;

    [[nodiscard]] std::uint64_t number(const char* name) const {
        unsigned long long value = 0;
        return libvirt().virTypedParamsGetULLong(list, count, name, &value) == 1 ? value : 0;
    }
};

}  // namespace

call_result<void> set_maximum_downtime(const link& on, const uuid& id, std::uint64_t milliseconds) {
    const auto domain = find(on, id);
    if (!domain) {
        return domain.error();
    }
    if (libvirt().virDomainMigrateSetMaxDowntime(domain->get(), milliseconds, 0) < 0) {
        return last_failure(on);
    }
    return {};
}

call_result<void> migrate(const link& from, const link& to, const uuid& id, const migration& how) {
    const auto domain = find(from, id);
    if (!domain) {
        return domain.error();
    }
    parameters wanted;
    if (libvirt().virTypedParamsAddString(&wanted.list, &wanted.count, &wanted.capacity, VIR_MIGRATE_PARAM_URI,
                                          how.data_uri.c_str()) < 0) {
        return last_failure(from);
    }
    if (how.mib_per_second > 0 &&
        libvirt().virTypedParamsAddULLong(&wanted.list, &wanted.count, &wanted.capacity, VIR_MIGRATE_PARAM_BANDWIDTH,
                                          static_cast<unsigned long long>(how.mib_per_second)) < 0) {
        return last_failure(from);
    }
    const domain_pointer moved(libvirt().virDomainMigrate3(domain->get(), to.get(), wanted.list,
                                                           static_cast<unsigned>(wanted.count), VIR_MIGRATE_LIVE));
    if (moved) {
        return {};
    }
    auto why = last_failure(from);
    if (!to.is_alive()) {
        why.code = from.is_alive() ? call_error::no_target : call_error::unavailable;
    }
    return why;
}

call_result<void> abort_migration(const link& on, const uuid& id) {
    const auto domain = find(on, id);
    if (!domain) {
        return domain.error();
    }
    if (libvirt().virDomainAbortJob(domain->get()) < 0) {
        return last_failure(on);
    }
    return {};
}

call_result<migration_progress> progress(const link& on, const uuid& id) {
    const auto domain = find(on, id);
    if (!domain) {
        return domain.error();
    }
    parameters job;
    int type = VIR_DOMAIN_JOB_NONE;
    if (libvirt().virDomainGetJobStats(domain->get(), &type, &job.list, &job.count, 0) < 0) {
        return last_failure(on);
    }
    migration_progress out;
    out.running = type == VIR_DOMAIN_JOB_BOUNDED || type == VIR_DOMAIN_JOB_UNBOUNDED;
    out.total_bytes = job.number(VIR_DOMAIN_JOB_DATA_TOTAL);
    out.processed_bytes = job.number(VIR_DOMAIN_JOB_DATA_PROCESSED);
    out.remaining_bytes = job.number(VIR_DOMAIN_JOB_DATA_REMAINING);
    out.dirty_pages_per_second = job.number(VIR_DOMAIN_JOB_MEMORY_DIRTY_RATE);
    out.bytes_per_second = job.number(VIR_DOMAIN_JOB_MEMORY_BPS);
    out.downtime_ms = job.number(VIR_DOMAIN_JOB_DOWNTIME);
    return out;
}

}  // namespace pvc::hypervisor::blocking
