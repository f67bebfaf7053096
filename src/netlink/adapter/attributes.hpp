// What the kernel writes into a message, read attribute by attribute. Total. Specification: runtime-design.md 4.
#pragma once

#include "pvcnoded/base/result.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace pvc::netlink {

inline constexpr std::size_t alignment = 4;

[[nodiscard]] constexpr std::size_t padded(std::size_t size) {
    return (size + alignment - 1) & ~(alignment - 1);
}

// Bytes of the kernel stand where they stand: they are copied out, never pointed into as a structure.
template <class T>
[[nodiscard]] std::optional<T> read_as(std::string_view bytes) {
    if (bytes.size() < sizeof(T)) {
        return std::nullopt;
    }
    std::array<char, sizeof(T)> copy{};
    std::ranges::copy(bytes.substr(0, sizeof(T)), copy.begin());
    return std::bit_cast<T>(copy);
}

// As it stands there: the length with this head, and the type, whose two upper bits say how the value is written.
struct attribute_head {
    std::uint16_t length;
    std::uint16_t type;
};
inline constexpr unsigned attribute_type_mask = 0x3fff;

struct attribute {
    std::uint16_t type = 0;
    std::string_view value;
};

// The attributes one after the other; it ends before the first that does not fit into the bytes.
class attributes {
public:
    explicit attributes(std::string_view bytes) : rest_(bytes) {}

    std::optional<attribute> next() {
        const auto head = read_as<attribute_head>(rest_);
        if (!head || head->length < sizeof(attribute_head) || head->length > rest_.size()) {
            is_malformed_ = !rest_.empty();
            return std::nullopt;
        }
        attribute one{static_cast<std::uint16_t>(head->type & attribute_type_mask),
                      rest_.substr(sizeof(attribute_head), head->length - sizeof(attribute_head))};
        rest_.remove_prefix(std::min(padded(head->length), rest_.size()));
        return one;
    }
    [[nodiscard]] bool is_malformed() const { return is_malformed_; }

private:
    std::string_view rest_;
    bool is_malformed_ = false;
};

[[nodiscard]] inline failure malformed(std::string_view what) {
    return failure(errc::io, std::string(what) + " that the kernel told of", "cannot be understood");
}

// As the kernel reads and writes it, with its head.
template <class Bytes>
[[nodiscard]] std::string attribute_of(std::uint16_t type, const Bytes& value) {
    const attribute_head head{static_cast<std::uint16_t>(sizeof(attribute_head) + value.size()), type};
    const auto front = std::bit_cast<std::array<char, sizeof head>>(head);
    std::string all(front.begin(), front.end());
    all.append(value.begin(), value.end());
    all.resize(padded(all.size()));
    return all;
}

// Sets a field if the bytes hold it; false if not.
template <class Wire, class T>
bool put(T& field, std::string_view bytes) {
    const auto value = read_as<Wire>(bytes);
    if (value) {
        field = static_cast<T>(*value);
    }
    return value.has_value();
}

inline bool put_text(std::string& field, std::string_view bytes) {
    field = bytes.substr(0, bytes.find('\0'));
    return true;
}

// All of them; false: `take` said no, or what follows is none.
inline bool read_all(std::string_view bytes, const std::function<bool(const attribute&)>& take) {
    attributes all(bytes);
    while (const auto one = all.next()) {
        if (!take(*one)) {
            return false;
        }
    }
    return !all.is_malformed();
}

}  // namespace pvc::netlink
