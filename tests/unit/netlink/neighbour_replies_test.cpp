// Entries of neighbours that somebody made, as the kernel tells of them.
#include "pvcnoded/netlink/replies.hpp"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstdint>
#include <string>

namespace pvc::netlink {
namespace {

constexpr std::uint16_t permanent = 0x80;
constexpr std::uint16_t reachable = 0x02;
constexpr std::uint8_t of_proxy = 0x08;
constexpr std::uint8_t learned_elsewhere = 0x10;
constexpr std::uint8_t of_router = 0x80;

template <class T>
std::string as_bytes(T value) {
    const auto bytes = std::bit_cast<std::array<char, sizeof value>>(value);
    return {bytes.begin(), bytes.end()};
}

std::string neighbour_head(std::uint8_t family, std::uint16_t state, std::uint8_t flags = 0, std::int32_t link = 7) {
    return std::string(1, static_cast<char>(family)) + std::string(3, '\0') + as_bytes(link) + as_bytes(state) +
           static_cast<char>(flags) + '\0';
}

std::string with_attribute(std::uint16_t type, std::string value) {
    std::string all = as_bytes(static_cast<std::uint16_t>(4 + value.size())) + as_bytes(type) + std::move(value);
    all.resize((all.size() + 3) / 4 * 4);
    return all;
}

const std::string its_address = with_attribute(1, {10, 0, 0, 77});
const std::string its_hardware = with_attribute(2, {0x52, 0x54, 0, 0, 0, 1});

std::string told_neighbour(const std::string& body) {
    const auto read = parse_neighbour(body);
    if (!read) {
        return "malformed";
    }
    return *read ? std::to_string((*read)->link) + " " + model::to_text((*read)->is) : "none";
}

TEST(reply_neighbour, those_that_somebody_entered_and_proxies) {
    EXPECT_EQ(told_neighbour(neighbour_head(2, permanent) + its_address + its_hardware),
              "7 10.0.0.77 at 52:54:00:00:00:01");
    EXPECT_EQ(told_neighbour(neighbour_head(2, 0, of_proxy) + its_address), "7 10.0.0.77 (proxy)");
    const std::string six = with_attribute(1, std::string(1, '\xfd') + std::string(14, '\0') + '\1');
    EXPECT_EQ(told_neighbour(neighbour_head(10, permanent, of_router) + six + its_hardware),
              "7 fd00::1 at 52:54:00:00:00:01 (router)");
    EXPECT_EQ(told_neighbour(neighbour_head(10, 0, of_proxy) + six), "7 fd00::1 (proxy)");
}

TEST(reply_neighbour, others_and_what_is_none) {
    EXPECT_EQ(told_neighbour(neighbour_head(2, reachable) + its_address + its_hardware), "none");
    EXPECT_EQ(told_neighbour(neighbour_head(2, permanent, learned_elsewhere) + its_address + its_hardware), "none");
    EXPECT_EQ(told_neighbour(neighbour_head(7, permanent) + its_address + its_hardware), "none");
    EXPECT_EQ(told_neighbour(neighbour_head(2, permanent, 0, 0) + its_address + its_hardware), "none");
    EXPECT_EQ(told_neighbour(neighbour_head(2, permanent) + its_address), "none");
    EXPECT_EQ(told_neighbour(neighbour_head(2, permanent) + its_address + with_attribute(2, "abcd")), "none");
    EXPECT_EQ(told_neighbour(neighbour_head(2, permanent) + its_hardware), "none");
    EXPECT_EQ(told_neighbour(neighbour_head(2, permanent) + with_attribute(1, "ab") + its_hardware), "malformed");
    EXPECT_EQ(told_neighbour(neighbour_head(2, permanent) + "abc"), "malformed");
    EXPECT_EQ(told_neighbour("abc"), "malformed");
}

}  // namespace
}  // namespace pvc::netlink
