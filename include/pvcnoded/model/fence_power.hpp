// `/nodes/<n>/fencepower`: what was decided last about switching a dead node on, before anybody does it. Who orders
// `on` writes that here first; who takes an operator's word that the node is off writes it here first. Each sets the
// key in the version that it has read, so that one of the two sees the other. It counts while the node has not beaten
// since.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pvc::model {

// "on hv3" or "off hv1", the latter with " <ms> hv3" behind if `on` was ordered before the word came.
struct fence_power_key {
    struct order {
        std::int64_t at = 0;  // ms since 1970 by the servers' clock
        std::string by{};
        friend bool operator==(const order&, const order&) = default;
    };
    bool is_on = false;       // its board is ordered to switch it on; else an operator says that it is off
    std::string coordinator;  // that wrote it
    std::optional<order> ordered{};
    friend bool operator==(const fence_power_key&, const fence_power_key&) = default;
};
[[nodiscard]] std::string to_text(const fence_power_key& what);
// What stands there once a word was taken back.
inline constexpr std::string_view no_fence_power = "none";
// Empty: it says nothing.
[[nodiscard]] std::optional<fence_power_key> parse_fence_power(std::string_view text);

}  // namespace pvc::model
