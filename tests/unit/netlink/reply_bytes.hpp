// Bytes as the kernel writes them, for whoever tests how they are read.
#pragma once

#include <cstdint>
#include <string>

namespace pvc::netlink::reply_bytes {

// Little builders of what the kernel writes, in this machine's order of bytes. The numbers are of the kernel's
// interface.
template <class T>
std::string raw(T value) {
    return {reinterpret_cast<const char*>(&value), sizeof value};
}

inline std::string padded(std::string bytes) {
    bytes.resize((bytes.size() + 3) / 4 * 4);
    return bytes;
}

inline std::string attribute(std::uint16_t type, const std::string& value) {
    return padded(raw<std::uint16_t>(static_cast<std::uint16_t>(4 + value.size())) + raw(type) + value);
}

inline std::string text(std::uint16_t type, const std::string& value) {
    return attribute(type, value + '\0');
}

inline const std::string ten_one{"\x0a\0\0\1", 4};
inline const std::string ten_two{"\x0a\0\0\2", 4};
inline const std::string six{"\xfd\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1", 16};

}  // namespace pvc::netlink::reply_bytes
