#include "pvcnoded/model/scsi_disks.hpp"

#include "pvcnoded/base/text.hpp"
#include "pvcnoded/model/device_name.hpp"
#include "pvcnoded/model/scalar.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace pvc::model {

namespace {

constexpr std::string_view detect_prefix = "detect:";
constexpr double size_tolerance = 0.03;
constexpr std::size_t listing_bytes_max = 1024UL * 1024;
constexpr std::size_t detect_number_max = 9999;

struct listed_disk {
    std::string_view path;
    double bytes = 0;
};

// "[0:0:0:0]  disk  ATA  SAMSUNG MZ7LH480  904Q  /dev/sda  480GB"
std::vector<listed_disk> disks_named(std::string_view listing, std::string_view name) {
    std::vector<listed_disk> found;
    const std::string wanted = lower(name);
    for (const auto line : split(listing.substr(0, listing_bytes_max), '\n')) {
        const auto words = split_blanks(line);
        if (words.size() < 4 || words[1] != "disk" || lower(line).find(wanted) == std::string::npos) {
            continue;
        }
        const auto path = words[words.size() - 2];
        if (const auto bytes = parse_disk_size(words.back()); bytes && is_device_path(path)) {
            found.push_back({path, *bytes});
        }
    }
    return found;
}

}  // namespace

std::optional<double> parse_disk_size(std::string_view text) {
    const auto digits = std::min(text.find_first_not_of("0123456789."), text.size());
    std::string unit = lower(text.substr(digits));
    const auto count = parse_float(text.substr(0, digits));
    double base = 1000;
    if (unit.ends_with("ib") && unit.size() == 3) {
        base = 1024;
        unit.resize(1);
    } else if (unit.size() == 2 && unit.ends_with('b')) {
        unit.resize(1);
    }
    constexpr std::string_view units = "bkmgtpe";
    const auto power = unit.empty() ? 0 : units.find(unit);
    if (!count || *count <= 0 || unit.size() > 1 || power == std::string_view::npos) {
        return std::nullopt;
    }
    const double bytes = *count * std::pow(base, static_cast<double>(power));
    return std::isfinite(bytes) ? std::optional(bytes) : std::nullopt;
}

bool is_detect_text(std::string_view text) {
    return text.starts_with(detect_prefix);
}

std::optional<detect_wish> parse_detect_wish(std::string_view text) {
    const auto parts = split(text, ':');
    if (!is_detect_text(text) || parts.size() != 4 || trim(parts[1]).empty()) {
        return std::nullopt;
    }
    const auto bytes = parse_disk_size(parts[2]);
    const auto number = parse_integer(parts[3]);
    if (!bytes || !number || *number < 0 || *number > static_cast<std::int64_t>(detect_number_max)) {
        return std::nullopt;
    }
    return detect_wish{std::string(trim(parts[1])), *bytes, static_cast<std::size_t>(*number)};
}

std::optional<std::string> find_scsi_disk(std::string_view listing, const detect_wish& wish) {
    auto disks = disks_named(listing, wish.name);
    const auto away = [&](const listed_disk& one) { return std::abs(one.bytes - wish.bytes); };
    const auto nearest =
        std::ranges::min_element(disks, [&](const auto& a, const auto& b) { return away(a) < away(b); });
    if (nearest == disks.end() || away(*nearest) > wish.bytes * size_tolerance) {
        return std::nullopt;
    }
    const double size = nearest->bytes;
    std::erase_if(disks, [size](const listed_disk& one) { return one.bytes != size; });
    return wish.number < disks.size() ? std::optional(std::string(disks[wish.number].path)) : std::nullopt;
}

}  // namespace pvc::model
