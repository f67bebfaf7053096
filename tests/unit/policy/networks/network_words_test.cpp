#include "pvcnoded/policy/networks/network_words.hpp"

#include <gtest/gtest.h>

namespace pvc::policy {
namespace {

model::client_network network_with(std::string_view ip4, std::string_view ip6, model::network_type type) {
    model::client_network one;
    one.vni = 7;
    one.type = type;
    for (const auto& [text, family] : {std::pair(ip4, &one.ip4), std::pair(ip6, &one.ip6)}) {
        if (const auto gateway = parse_host_address(text)) {
            family->network = *gateway;
            family->gateway = gateway->address;
        }
    }
    return one;
}

TEST(network_words, a_key_on_which_a_gateway_hangs) {
    EXPECT_EQ(lost_by_key(7, "/networks/7/ip4_network: expected"), ": it has no IPv4 gateway");
    EXPECT_EQ(lost_by_key(7, "/networks/7/ip6_gateway: expected"), ": it has no IPv6 gateway");
    EXPECT_EQ(lost_by_key(7, "/networks/7/mtu: expected"), "");
    EXPECT_EQ(lost_by_key(7, "/networks/70/ip4_network: expected"), "");
}

TEST(network_words, of_one_that_stays_as_it_was_or_is_not_there) {
    constexpr auto managed = model::network_type::managed;
    EXPECT_EQ(words_of_unusable(7, nullptr), ": it is not set up, and has no gateway; machines in vmbr7 are filtered");
    const auto both = network_with("10.1.1.1/24", "fd00::1/64", managed);
    EXPECT_EQ(words_of_unusable(7, &both),
              ": it stays as it was, with its gateways fd00::1/64 and 10.1.1.1/24 and its rules");
    const auto none = network_with("", "", managed);
    EXPECT_EQ(words_of_unusable(7, &none), ": it stays as it was, with its rules");
    const auto bridged = network_with("", "", model::network_type::bridged);
    EXPECT_EQ(words_of_unusable(7, &bridged), ": it stays as it was");
}

TEST(network_words, of_one_that_is_refused) {
    const auto managed = network_with("10.1.1.1/24", "", model::network_type::managed);
    const auto bridged = network_with("", "", model::network_type::bridged);
    const std::string filtered = "machines in vmbr7 are filtered, unless this host is reached over it";
    EXPECT_EQ(words_of_refusal(managed, nullptr), ": its gateway 10.1.1.1/24 is not set on this node, and " + filtered);
    EXPECT_EQ(words_of_refusal(managed, &bridged),
              ": its gateway 10.1.1.1/24 is not set on this node, and " + filtered);
    EXPECT_EQ(words_of_refusal(bridged, &managed), ": its gateway 10.1.1.1/24 stays, and " + filtered);
    EXPECT_EQ(words_of_refusal(network_with("", "", model::network_type::managed), nullptr), ": " + filtered);
    EXPECT_EQ(words_of_refusal(bridged, nullptr), "");
    EXPECT_EQ(words_of_refusal(bridged, &bridged), "");
}

}  // namespace
}  // namespace pvc::policy
