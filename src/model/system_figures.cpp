#include "pvcnoded/model/system_figures.hpp"

#include "pvcnoded/base/text.hpp"
#include "pvcnoded/model/scalar.hpp"

#include <algorithm>

namespace pvc::model {

namespace {

constexpr std::int64_t kib_limit = std::int64_t{1} << 53;  // no sum or difference of such values overflows
constexpr int available_memory_since = 14;

std::string_view first_word(std::string_view text) {
    constexpr std::string_view blanks = " \t\n\r\f\v";
    text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
    return text.substr(0, text.find_first_of(blanks));
}

// The number of KiB in "MemTotal:       16384000 kB", if the line is of this name.
std::optional<std::int64_t> kib_of(std::string_view line, std::string_view name) {
    if (!line.starts_with(name) || line.size() <= name.size() || line[name.size()] != ':') {
        return std::nullopt;
    }
    const auto value = parse_integer(first_word(line.substr(name.size() + 1)));
    return value && *value >= 0 && *value <= kib_limit ? value : std::nullopt;
}

}  // namespace

std::optional<memory_info> parse_memory_info(std::string_view meminfo) {
    std::optional<std::int64_t> total;
    std::optional<std::int64_t> free;
    std::optional<std::int64_t> available;
    memory_info info;
    const auto take = [](std::string_view line, std::string_view name, auto& target) {
        if (const auto value = kib_of(line, name)) {
            const std::int64_t kib = *value;
            target = kib;
        }
    };
    while (!meminfo.empty()) {
        const auto line = meminfo.substr(0, meminfo.find('\n'));
        meminfo.remove_prefix(std::min(line.size() + 1, meminfo.size()));
        take(line, "MemTotal", total);
        take(line, "MemFree", free);
        take(line, "MemAvailable", available);
        take(line, "Buffers", info.buffers_kib);
        take(line, "Cached", info.cached_kib);
        take(line, "SReclaimable", info.reclaimable_kib);
    }
    if (!total || !free) {
        return std::nullopt;
    }
    info.total_kib = *total;
    info.free_kib = *free;
    info.available_kib = available.value_or(*free);
    return info;
}

memory_figures figures_of(const memory_info& info, int schema_version) {
    std::int64_t used = info.total_kib - info.free_kib - info.buffers_kib - info.cached_kib - info.reclaimable_kib;
    if (used < 0) {
        used = info.total_kib - info.free_kib;
    }
    const auto free = schema_version >= available_memory_since ? info.available_kib : info.free_kib;
    return {info.total_kib / 1024, used / 1024, free / 1024};
}

std::optional<double> parse_load_average(std::string_view loadavg) {
    const auto load = parse_float(first_word(loadavg));
    return load && *load >= 0 ? load : std::nullopt;
}

}  // namespace pvc::model
