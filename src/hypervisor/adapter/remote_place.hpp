// Where the hypervisor of another node is, and whether anything listens there: asked with a socket of our own first, as
// the library's connect() cannot be bounded and does not tell a refusal from silence.
#pragma once

#include "pvcnoded/base/clock.hpp"
#include "pvcnoded/hypervisor/types.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace pvc::hypervisor {

struct remote_place {
    std::string uri;
    // Of a URI that goes over plain TCP.
    struct address {
        std::string host;
        std::string port;
    };
    std::optional<address> tcp;
};
// `pattern` with the peer's name for {}.
[[nodiscard]] remote_place place_of(std::string_view pattern, std::string_view peer);

// Blocks until connected, refused or `until`. Errors: refused, timed_out (silence), unavailable (no such name, no way).
[[nodiscard]] call_result<void> reach(const remote_place::address& where, time_point until);

}  // namespace pvc::hypervisor
