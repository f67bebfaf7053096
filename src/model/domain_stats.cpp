#include "pvcnoded/model/domain_payloads.hpp"
#include "pvcnoded/model/json_text.hpp"

#include <unordered_map>

namespace pvc::model {

namespace {

// Counters of libvirt are unsigned and may use all 64 bits.
void add_count(json_object& object, std::string_view name, std::uint64_t value) {
    object.add_raw(name, std::to_string(value));
}

template <class Figures>
std::unordered_map<std::string_view, const Figures*> by_target(const std::vector<Figures>& all) {
    std::unordered_map<std::string_view, const Figures*> table;
    for (const auto& one : all) {
        table.emplace(one.target, &one);
    }
    return table;
}

template <class Figures>
Figures find_or_zero(const std::unordered_map<std::string_view, const Figures*>& table, std::string_view target) {
    const auto found = table.find(target);
    return found == table.end() ? Figures{} : *found->second;
}

std::string memory_text(const guest_figures& figures) {
    json_object memory;
    for (const auto& [name, value] : figures.memory) {
        add_count(memory, name, value);
    }
    return memory.text();
}

std::string cpu_text(const guest_figures& figures) {
    json_object cpu;
    add_count(cpu, "cpu_time", figures.cpu_total_ns.value_or(figures.cpu_time_ns));
    add_count(cpu, "user_time", figures.cpu_user_ns.value_or(0));
    add_count(cpu, "system_time", figures.cpu_system_ns.value_or(0));
    if (figures.vcpu_time_ns) {
        add_count(cpu, "vcpu_time", *figures.vcpu_time_ns);
    }
    return cpu.text();
}

std::string disks_text(const guest_figures& figures, const domain_xml& live) {
    const auto known = by_target(figures.blocks);
    json_array disks;
    for (const auto& disk : live.disks) {
        if (disk.source.empty()) {
            continue;  // a drive without medium: case AC41
        }
        const auto block = find_or_zero(known, disk.target);
        json_object one;
        one.add("name", disk.source);
        add_count(one, "rd_req", block.read_requests);
        add_count(one, "rd_bytes", block.read_bytes);
        add_count(one, "wr_req", block.write_requests);
        add_count(one, "wr_bytes", block.write_bytes);
        one.add("err", block.errors);
        disks.add_raw(one.text());
    }
    return disks.text();
}

std::string interfaces_text(const guest_figures& figures, const domain_xml& live) {
    const auto known = by_target(figures.interfaces);
    json_array interfaces;
    for (const auto& interface : live.interfaces) {
        if (interface.type != "bridge") {
            continue;
        }
        const auto counts = find_or_zero(known, interface.target);
        json_object one;
        one.add("name", interface.target).add("bridge", interface.bridge);
        add_count(one, "rd_bytes", counts.received_bytes);
        add_count(one, "rd_packets", counts.received_packets);
        add_count(one, "rd_errors", counts.received_errors);
        add_count(one, "rd_drops", counts.received_drops);
        add_count(one, "wr_bytes", counts.sent_bytes);
        add_count(one, "wr_packets", counts.sent_packets);
        add_count(one, "wr_errors", counts.sent_errors);
        add_count(one, "wr_drops", counts.sent_drops);
        interfaces.add_raw(one.text());
    }
    return interfaces.text();
}

}  // namespace

std::string domain_stats_text(const guest_figures& figures, const domain_xml& live) {
    json_object stats;
    stats.add("state", "RUNNING");  // written for guests that run, and for no others
    add_count(stats, "maxmem", figures.maximum_memory_kib);
    add_count(stats, "livemem", figures.memory_kib);
    add_count(stats, "cpus", figures.vcpus);
    add_count(stats, "cputime", figures.cpu_time_ns);
    stats.add_raw("mem_stats", memory_text(figures));
    stats.add_raw("cpu_stats", cpu_text(figures));
    stats.add_raw("disk_stats", disks_text(figures, live));
    stats.add_raw("net_stats", interfaces_text(figures, live));
    return stats.text();
}

}  // namespace pvc::model
