// The identity of a virtual machine as 16 bytes: small in tables, and with one spelling.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace pvc {

struct uuid {
    std::array<std::uint8_t, 16> bytes{};

    friend auto operator<=>(const uuid&, const uuid&) = default;
};

// The canonical spelling only: 36 characters, lower-case hexadecimal digits, four dashes. Anything else: empty.
[[nodiscard]] std::optional<uuid> parse_uuid(std::string_view text);
// The same with upper-case digits and without dashes allowed, as hypervisors and people write it.
[[nodiscard]] std::optional<uuid> parse_any_uuid(std::string_view text);
[[nodiscard]] std::string to_text(const uuid& id);

}  // namespace pvc

template <>
struct std::hash<pvc::uuid> {
    std::size_t operator()(const pvc::uuid& id) const noexcept {
        std::size_t value = 0;
        for (const std::uint8_t byte : id.bytes) {
            value = value * 131 + byte;
        }
        return value;
    }
};
