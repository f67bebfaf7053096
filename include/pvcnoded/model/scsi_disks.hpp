// The disks that `lsscsi -s` lists, and which of them a client means that names none by its path but says
// "detect:<name>:<size>:<number>". Specification: storage.md 8.2.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace pvc::model {

struct detect_wish {
    std::string name;        // stands somewhere in its line, in any case
    double bytes = 0;        // about: within 3 % of what is listed
    std::size_t number = 0;  // of those that match, from 0

    friend bool operator==(const detect_wish&, const detect_wish&) = default;
};

// "480GB", "1.92TB": decimal units as lsscsi writes them; "GiB" and its like are binary. Empty: no size above 0.
[[nodiscard]] std::optional<double> parse_disk_size(std::string_view text);

[[nodiscard]] bool is_detect_text(std::string_view text);
[[nodiscard]] std::optional<detect_wish> parse_detect_wish(std::string_view text);

// The path of the disk; empty: none fits. Of several sizes within 3 % the nearest counts, and only those of that size.
[[nodiscard]] std::optional<std::string> find_scsi_disk(std::string_view listing, const detect_wish& wish);

}  // namespace pvc::model
