// The record of the last acknowledged heartbeat in the dynamic directory (tmpfs), for whoever starts after this daemon:
// "<boot id> <boot time ns> <mzxid> <role>". Specification: node-lifecycle.md 4, networking.md 6.
#pragma once

#include "pvcnoded/core/node_context.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pvc::core {

struct heartbeat_note {
    std::string boot_id;
    std::int64_t boot_ns = 0;  // when it was sent; 0: none was
    std::int64_t mzxid = 0;
    std::string role;
};
[[nodiscard]] std::string heartbeat_note_path(const node_context& node);
[[nodiscard]] std::string heartbeat_note_path(const config::node_config& config);
[[nodiscard]] std::string to_text(const heartbeat_note& note);
// Total; empty: it is no such text.
[[nodiscard]] std::optional<heartbeat_note> parse_heartbeat_note(std::string_view text);

// What the record says of the daemon before this one: nothing, if there is none, or it is of another boot.
struct noted_role {
    bool was_primary = false;       // or on its way
    std::optional<boot_time> beat;  // the last heartbeat of this boot
};
[[nodiscard]] noted_role role_of_note(const std::optional<heartbeat_note>& note, std::string_view boot_id,
                                      boot_time now);

}  // namespace pvc::core
