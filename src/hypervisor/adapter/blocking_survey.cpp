// The bulk statistics call, and its typed parameters as neutral ones.
#include "blocking_calls.hpp"
#include "libvirt_library.hpp"
#include "pvcnoded/hypervisor/figures_from_parameters.hpp"

#include <span>

namespace pvc::hypervisor::blocking {

namespace {

std::vector<parameter> neutral(std::span<const virTypedParameter> list) {
    std::vector<parameter> out;
    out.reserve(list.size());
    for (const auto& one : list) {
        const std::string name(one.field);
        switch (one.type) {
            case VIR_TYPED_PARAM_INT: out.push_back({name, std::int64_t{one.value.i}}); break;
            case VIR_TYPED_PARAM_UINT: out.push_back({name, std::uint64_t{one.value.ui}}); break;
            case VIR_TYPED_PARAM_LLONG: out.push_back({name, static_cast<std::int64_t>(one.value.l)}); break;
            case VIR_TYPED_PARAM_ULLONG: out.push_back({name, static_cast<std::uint64_t>(one.value.ul)}); break;
            case VIR_TYPED_PARAM_STRING:
                out.push_back({name, std::string(one.value.s == nullptr ? "" : one.value.s)});
                break;
            default: break;  // fractions and switches: none that we know
        }
    }
    return out;
}

constexpr unsigned kinds = VIR_DOMAIN_STATS_STATE | VIR_DOMAIN_STATS_CPU_TOTAL | VIR_DOMAIN_STATS_BALLOON |
                           VIR_DOMAIN_STATS_VCPU | VIR_DOMAIN_STATS_INTERFACE | VIR_DOMAIN_STATS_BLOCK;

}  // namespace

call_result<std::vector<guest_figures>> survey(const link& on) {
    virDomainStatsRecordPtr* records = nullptr;
    int count = libvirt().virConnectGetAllDomainStats(
        on.get(), kinds, &records, VIR_CONNECT_GET_ALL_DOMAINS_STATS_ACTIVE | VIR_CONNECT_GET_ALL_DOMAINS_STATS_NOWAIT);
    if (count < 0 && libvirt().virGetLastErrorCode() == VIR_ERR_INVALID_ARG) {
        // A driver that knows neither flag never waits; what is not active is left out below.
        count = libvirt().virConnectGetAllDomainStats(on.get(), kinds, &records, 0);
    }
    if (count < 0) {
        return last_failure(on);
    }
    std::vector<guest_figures> out;
    for (int i = 0; i < count; ++i) {
        const virDomainStatsRecord& record = *records[i];
        guest of;
        libvirt().virDomainGetUUID(record.dom, of.id.bytes.data());
        const char* name = libvirt().virDomainGetName(record.dom);
        of.name = name == nullptr ? "" : name;
        const auto list = neutral({record.params, static_cast<std::size_t>(record.nparams)});
        auto figures = figures_from_parameters(std::move(of), list);
        virDomainInfo info{};
        const bool is_poor = figures.maximum_memory_kib == 0;
        if ((is_poor || figures.cpu_time_ns == 0) && libvirt().virDomainGetInfo(record.dom, &info) == 0) {
            // A driver whose bulk call knows states only, or a host without control groups, where the time is missing.
            figures.cpu_time_ns = info.cpuTime;
        }
        if (is_poor) {
            ask_one_by_one(record.dom, figures);
            figures.maximum_memory_kib = info.maxMem;
            figures.memory_kib = info.memory;
            figures.vcpus = info.nrVirtCpu;
        }
        if (model::class_of(figures.of.status) != model::guest_class::absent) {
            out.push_back(std::move(figures));
        }
    }
    libvirt().virDomainStatsRecordListFree(records);
    return out;
}

}  // namespace pvc::hypervisor::blocking
