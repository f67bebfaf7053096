#include "pvcnoded/model/states.hpp"

#include <array>

namespace pvc::model {

namespace {

template <class State>
struct spelling {
    State state;
    std::string_view word;
};

constexpr std::array daemon_modes = {
    spelling{daemon_mode::coordinator, "coordinator"},
    spelling{daemon_mode::hypervisor, "hypervisor"},
};

constexpr std::array daemon_states = {
    spelling{daemon_state::init, "init"},         spelling{daemon_state::run, "run"},
    spelling{daemon_state::shutdown, "shutdown"}, spelling{daemon_state::stop, "stop"},
    spelling{daemon_state::dead, "dead"},         spelling{daemon_state::fenced, "fenced"},
};

constexpr std::array router_states = {
    spelling{router_state::client, "client"},         spelling{router_state::secondary, "secondary"},
    spelling{router_state::takeover, "takeover"},     spelling{router_state::primary, "primary"},
    spelling{router_state::relinquish, "relinquish"},
};

constexpr std::array domain_states = {
    spelling{domain_state::ready, "ready"},
    spelling{domain_state::flush, "flush"},
    spelling{domain_state::flushed, "flushed"},
    spelling{domain_state::unflush, "unflush"},
    spelling{domain_state::fence_flush, "fence-flush"},
};

constexpr std::array vm_states = {
    spelling{vm_state::start, "start"},         spelling{vm_state::stop, "stop"},
    spelling{vm_state::shutdown, "shutdown"},   spelling{vm_state::restart, "restart"},
    spelling{vm_state::disable, "disable"},     spelling{vm_state::fail, "fail"},
    spelling{vm_state::migrate, "migrate"},     spelling{vm_state::migrate_live, "migrate-live"},
    spelling{vm_state::unmigrate, "unmigrate"}, spelling{vm_state::provision, "provision"},
    spelling{vm_state::import, "import"},       spelling{vm_state::restore, "restore"},
    spelling{vm_state::mirror, "mirror"},       spelling{vm_state::deleted, "delete"},
};

template <class State, std::size_t Count>
std::string_view word_of(const std::array<spelling<State>, Count>& spellings, State state) {
    for (const auto& row : spellings) {
        if (row.state == state) {
            return row.word;
        }
    }
    return "unknown";
}

template <class State, std::size_t Count>
std::optional<State> state_of(const std::array<spelling<State>, Count>& spellings, std::string_view text) {
    for (const auto& row : spellings) {
        if (row.word == text) {
            return row.state;
        }
    }
    return std::nullopt;
}

}  // namespace

std::string_view to_text(daemon_mode mode) {
    return word_of(daemon_modes, mode);
}
std::string_view to_text(daemon_state state) {
    return word_of(daemon_states, state);
}
std::string_view to_text(router_state state) {
    return word_of(router_states, state);
}
std::string_view to_text(domain_state state) {
    return word_of(domain_states, state);
}
std::string_view to_text(vm_state state) {
    return word_of(vm_states, state);
}

std::optional<daemon_mode> parse_daemon_mode(std::string_view text) {
    return state_of(daemon_modes, text);
}
std::optional<daemon_state> parse_daemon_state(std::string_view text) {
    return state_of(daemon_states, text);
}
std::optional<router_state> parse_router_state(std::string_view text) {
    return state_of(router_states, text);
}
std::optional<domain_state> parse_domain_state(std::string_view text) {
    return state_of(domain_states, text);
}
std::optional<vm_state> parse_vm_state(std::string_view text) {
    return state_of(vm_states, text);
}

daemon_state daemon_state_or_fallback(std::string_view text) {
    return parse_daemon_state(text).value_or(daemon_state::stop);
}
router_state router_state_or_fallback(std::string_view text) {
    return parse_router_state(text).value_or(router_state::client);
}
domain_state domain_state_or_fallback(std::string_view text) {
    return parse_domain_state(text).value_or(domain_state::unknown);
}
vm_state vm_state_or_fallback(std::string_view text) {
    return parse_vm_state(text).value_or(vm_state::unknown);
}

}  // namespace pvc::model
