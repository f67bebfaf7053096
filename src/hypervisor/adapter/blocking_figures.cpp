// The figures of one guest, asked for one by one: for drivers whose bulk call knows its state and nothing else.
#include "blocking_calls.hpp"
#include "libvirt_library.hpp"
#include "pvcnoded/model/domain_xml.hpp"

#include <array>

namespace pvc::hypervisor::blocking {

namespace {

struct memory_tag {
    int tag;
    const char* name;
};
// In the order in which they are shown.
constexpr std::array<memory_tag, 13> memory_tags{{{VIR_DOMAIN_MEMORY_STAT_ACTUAL_BALLOON, "actual"},
                                                  {VIR_DOMAIN_MEMORY_STAT_SWAP_IN, "swap_in"},
                                                  {VIR_DOMAIN_MEMORY_STAT_SWAP_OUT, "swap_out"},
                                                  {VIR_DOMAIN_MEMORY_STAT_MAJOR_FAULT, "major_fault"},
                                                  {VIR_DOMAIN_MEMORY_STAT_MINOR_FAULT, "minor_fault"},
                                                  {VIR_DOMAIN_MEMORY_STAT_UNUSED, "unused"},
                                                  {VIR_DOMAIN_MEMORY_STAT_AVAILABLE, "available"},
                                                  {VIR_DOMAIN_MEMORY_STAT_USABLE, "usable"},
                                                  {VIR_DOMAIN_MEMORY_STAT_LAST_UPDATE, "last_update"},
                                                  {VIR_DOMAIN_MEMORY_STAT_DISK_CACHES, "disk_caches"},
                                                  {VIR_DOMAIN_MEMORY_STAT_HUGETLB_PGALLOC, "hugetlb_pgalloc"},
                                                  {VIR_DOMAIN_MEMORY_STAT_HUGETLB_PGFAIL, "hugetlb_pgfail"},
                                                  {VIR_DOMAIN_MEMORY_STAT_RSS, "rss"}}};

void ask_memory(virDomainPtr domain, guest_figures& figures) {
    std::array<virDomainMemoryStatStruct, VIR_DOMAIN_MEMORY_STAT_NR> all{};
    const int count = libvirt().virDomainMemoryStats(domain, all.data(), static_cast<unsigned>(all.size()), 0);
    for (const auto& known : memory_tags) {
        for (int i = 0; i < count; ++i) {
            const auto& one = all.at(static_cast<std::size_t>(i));
            if (one.tag == known.tag) {
                figures.memory.emplace_back(known.name, one.val);
            }
        }
    }
}

void ask_processors(virDomainPtr domain, guest_figures& figures) {
    constexpr int total = -1;
    const int count = libvirt().virDomainGetCPUStats(domain, nullptr, 0, total, 1, 0);
    if (count <= 0) {
        return;
    }
    std::vector<virTypedParameter> all(static_cast<std::size_t>(count));
    const int filled = libvirt().virDomainGetCPUStats(domain, all.data(), static_cast<unsigned>(count), total, 1, 0);
    const auto number = [&](const char* name) -> std::optional<std::uint64_t> {
        unsigned long long value = 0;
        const bool is_there = filled > 0 && libvirt().virTypedParamsGetULLong(all.data(), filled, name, &value) == 1;
        return is_there ? std::optional<std::uint64_t>(value) : std::nullopt;
    };
    figures.cpu_total_ns = number(VIR_DOMAIN_CPU_STATS_CPUTIME);
    figures.cpu_user_ns = number(VIR_DOMAIN_CPU_STATS_USERTIME);
    figures.cpu_system_ns = number(VIR_DOMAIN_CPU_STATS_SYSTEMTIME);
    figures.vcpu_time_ns = number(VIR_DOMAIN_CPU_STATS_VCPUTIME);
    libvirt().virTypedParamsClear(all.data(), count);
}

// libvirt says -1 for what it does not know.
std::uint64_t known(long long count) {
    return count < 0 ? 0 : static_cast<std::uint64_t>(count);
}

void ask_disk(virDomainPtr domain, const model::disk_view& disk, guest_figures& figures) {
    virDomainBlockStatsStruct now{};
    if (disk.source.empty() || libvirt().virDomainBlockStats(domain, disk.target.c_str(), &now, sizeof now) != 0) {
        return;
    }
    figures.blocks.push_back({.target = disk.target,
                              .read_requests = known(now.rd_req),
                              .read_bytes = known(now.rd_bytes),
                              .write_requests = known(now.wr_req),
                              .write_bytes = known(now.wr_bytes),
                              .errors = now.errs});
}

void ask_interface(virDomainPtr domain, const model::interface_view& interface, guest_figures& figures) {
    virDomainInterfaceStatsStruct now{};
    if (interface.target.empty() ||
        libvirt().virDomainInterfaceStats(domain, interface.target.c_str(), &now, sizeof now) != 0) {
        return;
    }
    figures.interfaces.push_back({.target = interface.target,
                                  .received_bytes = known(now.rx_bytes),
                                  .received_packets = known(now.rx_packets),
                                  .received_errors = known(now.rx_errs),
                                  .received_drops = known(now.rx_drop),
                                  .sent_bytes = known(now.tx_bytes),
                                  .sent_packets = known(now.tx_packets),
                                  .sent_errors = known(now.tx_errs),
                                  .sent_drops = known(now.tx_drop)});
}

}  // namespace

void ask_one_by_one(_virDomain* domain, guest_figures& figures) {
    ask_memory(domain, figures);
    ask_processors(domain, figures);
    const std::unique_ptr<char, decltype(&std::free)> text(libvirt().virDomainGetXMLDesc(domain, 0), &std::free);
    const auto description = text ? model::parse_domain_xml(text.get()) : failure(errc::not_found, "description");
    if (!description) {
        return;
    }
    for (const auto& disk : description->disks) {
        ask_disk(domain, disk, figures);
    }
    for (const auto& interface : description->interfaces) {
        ask_interface(domain, interface, figures);
    }
}

}  // namespace pvc::hypervisor::blocking
