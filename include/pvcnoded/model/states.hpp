// The stored states of nodes and virtual machines: one parse and one to_text each; their spellings appear nowhere else
// (zookeeper-schema.md 6.2 and 6.4, node-lifecycle.md 2). parse_…: an unknown word gives an empty optional;
// …_or_fallback: the value that a missing or unknown word stands for.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace pvc::model {

// /nodes/<n> and /nodes/<n>/daemonmode.
enum class daemon_mode : std::uint8_t { coordinator, hypervisor };
[[nodiscard]] std::string_view to_text(daemon_mode mode);
[[nodiscard]] std::optional<daemon_mode> parse_daemon_mode(std::string_view text);

// /nodes/<n>/daemonstate; fallback `stop`.
enum class daemon_state : std::uint8_t { init, run, shutdown, stop, dead, fenced };
[[nodiscard]] std::string_view to_text(daemon_state state);
[[nodiscard]] std::optional<daemon_state> parse_daemon_state(std::string_view text);
[[nodiscard]] daemon_state daemon_state_or_fallback(std::string_view text);

// /nodes/<n>/routerstate; fallback `client`.
enum class router_state : std::uint8_t { client, secondary, takeover, primary, relinquish };
[[nodiscard]] std::string_view to_text(router_state state);
[[nodiscard]] std::optional<router_state> parse_router_state(std::string_view text);
[[nodiscard]] router_state router_state_or_fallback(std::string_view text);

// /nodes/<n>/domainstate (whether a node may run virtual machines); fallback `unknown`, which is never written.
enum class domain_state : std::uint8_t { unknown, ready, flush, flushed, unflush, fence_flush };
[[nodiscard]] std::string_view to_text(domain_state state);
[[nodiscard]] std::optional<domain_state> parse_domain_state(std::string_view text);
[[nodiscard]] domain_state domain_state_or_fallback(std::string_view text);

// /domains/<uuid>/state; fallback `unknown`, on which no node acts and which is never written.
enum class vm_state : std::uint8_t {
    unknown,
    start,
    stop,
    shutdown,
    restart,
    disable,
    fail,
    migrate,
    migrate_live,
    unmigrate,
    provision,
    import,  // this and the next two: 1.0.3 only
    restore,
    mirror,
    deleted,  // "delete", the last state before removal
};
[[nodiscard]] std::string_view to_text(vm_state state);
[[nodiscard]] std::optional<vm_state> parse_vm_state(std::string_view text);
[[nodiscard]] vm_state vm_state_or_fallback(std::string_view text);

}  // namespace pvc::model
