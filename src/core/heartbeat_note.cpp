#include "pvcnoded/core/heartbeat_note.hpp"

#include "pvcnoded/base/text.hpp"
#include "pvcnoded/model/node_payloads.hpp"

#include <fmt/format.h>

namespace pvc::core {

std::string heartbeat_note_path(const node_context& node) {
    return heartbeat_note_path(*node.config);
}

std::string heartbeat_note_path(const config::node_config& config) {
    return config.directories.dynamic + "/heartbeat";
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

noted_role role_of_note(const std::optional<heartbeat_note>& note, std::string_view boot_id, boot_time now) {
    noted_role out;
    if (!note || note->boot_id != boot_id) {
        return out;
    }
    const auto role = model::parse_router_state(note->role);
    out.was_primary = role == model::router_state::primary || role == model::router_state::takeover;
    const boot_time sent{duration(note->boot_ns)};
    if (note->boot_ns > 0 && sent <= now) {
        out.beat = sent;
    }
    return out;
}

}  // namespace pvc::core
