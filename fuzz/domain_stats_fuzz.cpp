// Statistics from any numbers and names (eight bytes a number, names end with a NUL): the text is one line of JSON that
// another parser reads, with the keys in their order and the numbers that were given.
// Covers: src/model/domain_stats.cpp src/model/json_text.cpp
#include "fuzz_support.hpp"
#include "pvcnoded/base/utf8.hpp"
#include "pvcnoded/model/domain_payloads.hpp"

#include <boost/json.hpp>

#include <initializer_list>

using namespace pvc::model;
using pvc::valid_utf8;
namespace json = boost::json;

static std::uint64_t take_number(std::string_view& rest) {
    std::uint64_t number = 0;
    for (const char byte : pvc::fuzz::take(rest, 8)) {
        number = number << 8U | static_cast<unsigned char>(byte);
    }
    return number;
}

static std::string take_name(std::string_view& rest) {
    return std::string(pvc::fuzz::take_until(rest, '\0'));
}

static bool is_number(const json::value& value, std::uint64_t number) {
    return value.is_uint64()
               ? value.get_uint64() == number
               : value.is_int64() && value.get_int64() >= 0 && static_cast<std::uint64_t>(value.get_int64()) == number;
}

static bool is_text(const json::value& value, std::string_view text) {
    return value.is_string() && std::string_view(value.get_string()) == valid_utf8(text);
}

static const json::object& object_with(const json::value& value, std::initializer_list<std::string_view> keys) {
    PVC_ASSERT(value.is_object());
    PVC_ASSERT(std::ranges::equal(value.get_object(), keys, {},
                                  [](const auto& member) { return std::string_view(member.key()); }));
    return value.get_object();
}

static void check_disk(const json::value& value, const disk_view& disk, const block_figures& block) {
    const auto& one = object_with(value, {"name", "rd_req", "rd_bytes", "wr_req", "wr_bytes", "err"});
    PVC_ASSERT(is_text(one.at("name"), disk.source));
    PVC_ASSERT(is_number(one.at("rd_req"), block.read_requests) && is_number(one.at("rd_bytes"), block.read_bytes));
    PVC_ASSERT(is_number(one.at("wr_req"), block.write_requests) && is_number(one.at("wr_bytes"), block.write_bytes));
    PVC_ASSERT(one.at("err").is_int64() && one.at("err").get_int64() == block.errors);
}

static void check_interface(const json::value& value, const interface_view& interface,
                            const interface_figures& counts) {
    const auto& one = object_with(value, {"name", "bridge", "rd_bytes", "rd_packets", "rd_errors", "rd_drops",
                                          "wr_bytes", "wr_packets", "wr_errors", "wr_drops"});
    PVC_ASSERT(is_text(one.at("name"), interface.target) && is_text(one.at("bridge"), interface.bridge));
    PVC_ASSERT(is_number(one.at("rd_bytes"), counts.received_bytes) &&
               is_number(one.at("rd_drops"), counts.received_drops));
    PVC_ASSERT(is_number(one.at("rd_packets"), counts.received_packets) &&
               is_number(one.at("rd_errors"), counts.received_errors));
    PVC_ASSERT(is_number(one.at("wr_bytes"), counts.sent_bytes) && is_number(one.at("wr_drops"), counts.sent_drops));
    PVC_ASSERT(is_number(one.at("wr_packets"), counts.sent_packets) &&
               is_number(one.at("wr_errors"), counts.sent_errors));
}

static void check_cpu(const json::value& value, const guest_figures& figures) {
    const auto& cpu = figures.vcpu_time_ns ? object_with(value, {"cpu_time", "user_time", "system_time", "vcpu_time"})
                                           : object_with(value, {"cpu_time", "user_time", "system_time"});
    PVC_ASSERT(is_number(cpu.at("cpu_time"), figures.cpu_time_ns));
    PVC_ASSERT(is_number(cpu.at("user_time"), figures.cpu_user_ns.value_or(0)));
    PVC_ASSERT(is_number(cpu.at("system_time"), figures.cpu_system_ns.value_or(0)));
    PVC_ASSERT(!figures.vcpu_time_ns || is_number(cpu.at("vcpu_time"), *figures.vcpu_time_ns));
}

// The first entry of a target is the one that counts.
template <class Figures>
static Figures of_target(const std::vector<Figures>& all, const std::string& target) {
    const auto found = std::ranges::find(all, target, &Figures::target);
    return found == all.end() ? Figures{} : *found;
}

static void check(const guest_figures& figures, const domain_xml& live) {
    const auto text = domain_stats_text(figures, live);
    PVC_ASSERT(std::ranges::all_of(text, [](char c) { return c >= 0x20; }));  // DEL is not escaped by anybody
    PVC_ASSERT(text.starts_with("{\"state\": \"RUNNING\", \"maxmem\": "));
    json::error_code bad;
    const auto value = json::parse(text, bad);
    PVC_ASSERT(!bad);
    const auto& stats = object_with(
        value, {"state", "maxmem", "livemem", "cpus", "cputime", "mem_stats", "cpu_stats", "disk_stats", "net_stats"});
    PVC_ASSERT(is_number(stats.at("maxmem"), figures.maximum_memory_kib));
    PVC_ASSERT(is_number(stats.at("livemem"), figures.memory_kib) && is_number(stats.at("cpus"), figures.vcpus));
    PVC_ASSERT(is_number(stats.at("cputime"), figures.cpu_time_ns));
    const auto& memory = stats.at("mem_stats").as_object();
    for (const auto& [name, number] : figures.memory) {
        PVC_ASSERT(is_number(memory.at(valid_utf8(name)), number));
    }
    check_cpu(stats.at("cpu_stats"), figures);
    std::size_t place = 0;
    for (const auto& disk : live.disks) {
        if (!disk.source.empty()) {
            check_disk(stats.at("disk_stats").as_array().at(place++), disk, of_target(figures.blocks, disk.target));
        }
    }
    PVC_ASSERT(stats.at("disk_stats").as_array().size() == place);
    place = 0;
    for (const auto& interface : live.interfaces) {
        if (interface.type == "bridge") {
            check_interface(stats.at("net_stats").as_array().at(place++), interface,
                            of_target(figures.interfaces, interface.target));
        }
    }
    PVC_ASSERT(stats.at("net_stats").as_array().size() == place);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    auto rest = pvc::fuzz::text_of(data, size);
    const unsigned flags = pvc::fuzz::take_byte(rest);
    guest_figures figures;
    figures.maximum_memory_kib = take_number(rest);
    figures.memory_kib = take_number(rest);
    figures.vcpus = static_cast<unsigned>(take_number(rest));
    figures.cpu_time_ns = take_number(rest);
    if ((flags & 1U) != 0) {
        figures.cpu_user_ns = take_number(rest);
        figures.cpu_system_ns = take_number(rest);
    }
    if ((flags & 2U) != 0) {
        figures.vcpu_time_ns = take_number(rest);
    }
    domain_xml live;
    while (!rest.empty()) {
        const unsigned what = pvc::fuzz::take_byte(rest);
        const auto target = take_name(rest);
        switch (what % 5) {
            case 0: {
                const auto known = std::ranges::any_of(
                    figures.memory, [&](const auto& one) { return valid_utf8(one.first) == valid_utf8(target); });
                const auto number = take_number(rest);
                if (!known) {
                    figures.memory.emplace_back(target, number);
                }
                break;
            }
            case 1: live.disks.push_back({target, take_name(rest), false, false, {}}); break;
            case 2:
                live.interfaces.push_back({(what & 128U) != 0 ? "direct" : "bridge", target, take_name(rest), {}, {}});
                break;
            case 3:
                figures.blocks.push_back({target, take_number(rest), take_number(rest), take_number(rest),
                                          take_number(rest), static_cast<std::int64_t>(take_number(rest))});
                break;
            default:
                figures.interfaces.push_back({target, take_number(rest), take_number(rest), take_number(rest),
                                              take_number(rest), take_number(rest), take_number(rest),
                                              take_number(rest), take_number(rest)});
        }
    }
    check(figures, live);
    return 0;
}
