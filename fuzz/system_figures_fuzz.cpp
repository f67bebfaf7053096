// The texts of /proc/meminfo and /proc/loadavg (one input serves as both): figures that every client can read, or none.
// Covers: src/model/system_figures.cpp
#include "fuzz_support.hpp"
#include "pvcnoded/model/scalar.hpp"
#include "pvcnoded/model/system_figures.hpp"

#include <fmt/format.h>

using namespace pvc::model;

static void check_memory(const memory_info& info) {
    const auto text = fmt::format(
        "MemTotal: {} kB\nMemFree: {} kB\nMemAvailable: {} kB\nBuffers: {}\nCached: {}\nSReclaimable: {}\n",
        info.total_kib, info.free_kib, info.available_kib, info.buffers_kib, info.cached_kib, info.reclaimable_kib);
    const auto again = parse_memory_info(text);
    PVC_ASSERT(again);
    for (const int version : {0, 13, 14, 15}) {
        const auto figures = figures_of(info, version);
        PVC_ASSERT(figures.total_mib >= 0 && figures.free_mib >= 0 && figures.used_mib <= figures.total_mib);
        PVC_ASSERT(info.free_kib > info.total_kib || figures.used_mib >= 0);
        PVC_ASSERT(figures_of(*again, version) == figures);
    }
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto text = pvc::fuzz::text_of(data, size);
    if (const auto info = parse_memory_info(text)) {
        check_memory(*info);
    }
    if (const auto load = parse_load_average(text)) {
        const auto published = cpu_load_text(*load);
        const auto read = parse_float(published);
        PVC_ASSERT(*load >= 0 && read && cpu_load_text(*read) == published);
    }
    return 0;
}
