// Commands about OSDs as clients up to 0.9.80 write them into /cmd/ceph. Specification: storage.md 8.2 and 8.4.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pvc::model {

enum class osd_verb : std::uint8_t { osd_add, osd_replace, osd_refresh, osd_remove, db_vg_add };
[[nodiscard]] std::string_view to_text(osd_verb verb);

// A longer text is no command that anybody means.
inline constexpr std::size_t osd_command_bytes_max = 4096;
inline constexpr double default_db_ratio = 0.05;

struct osd_command {
    osd_verb verb = osd_verb::osd_add;
    std::string node{};        // whom it is addressed to; empty: it names none, or is an osd_remove
    std::string id{};          // the OSD's number without leading zeros
    std::string device{};      // a device path or a detect string; of osd_replace the new one
    std::string old_device{};  // of osd_replace
    std::string weight{};      // as the client spelled it: a number from 0 up
    bool has_db = false;       // a volume of the group osd-db keeps its database
    double db_ratio = default_db_ratio;
    bool is_forced = false;
    std::string fault{};  // why it can only fail, nothing else of it but node and id is there then; empty: well-formed

    friend bool operator==(const osd_command&, const osd_command&) = default;
};

// Empty: no command of ours (no text, an answer, another consumer's word).
[[nodiscard]] std::optional<osd_command> parse_osd_command(std::string_view text);

// Digits; without leading zeros.
[[nodiscard]] std::optional<std::string> parse_osd_number(std::string_view text);

}  // namespace pvc::model
