#include "pvcnoded/core/heartbeat_note.hpp"

#include "pvcnoded/base/text.hpp"

#include <fmt/format.h>

namespace pvc::core {

std::string heartbeat_note_path(const node_context& node) {
    return node.config->directories.dynamic + "/heartbeat";
}

std::string to_text(const heartbeat_note& note) {
    return fmt::format("{} {} {} {}\n", note.boot_id, note.boot_ns, note.mzxid, note.role);
}

std::optional<heartbeat_note> parse_heartbeat_note(std::string_view text) {
    const auto parts = split_blanks(text);
    if (parts.size() != 4) {
        return std::nullopt;
    }
    const auto boot_ns = parse_integer(parts[1]);
    const auto mzxid = parse_integer(parts[2]);
    if (!boot_ns || !mzxid) {
        return std::nullopt;
    }
    return heartbeat_note{std::string(parts[0]), *boot_ns, *mzxid, std::string(parts[3])};
}

}  // namespace pvc::core
