// Routes as the kernel tells of them, and every way in which bytes are none.
#include "pvcnoded/netlink/replies.hpp"
#include "unit/netlink/reply_bytes.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace pvc::netlink {
namespace {

using namespace reply_bytes;

std::string route_head(std::uint8_t table = 254, std::uint8_t type = 1, std::uint8_t length = 0,
                       std::uint8_t family = 2, std::uint32_t flags = 0) {
    return raw(family) + raw(length) + std::string(2, '\0') + raw(table) + raw<std::uint8_t>(3) + raw<std::uint8_t>(0) +
           raw(type) + raw(flags);
}

std::string hop(int link, const std::string& gateway) {
    const auto inside = attribute(5, gateway);
    return raw(static_cast<std::uint16_t>(8 + inside.size())) + std::string(2, '\0') + raw(link) + inside;
}

TEST(reply_route, without_a_closer_look) {
    const auto device = attribute(4, raw<std::uint32_t>(4));
    EXPECT_TRUE(is_default_route(route_head() + device));
    EXPECT_FALSE(is_default_route(route_head(254, 1, 24) + device));
    EXPECT_FALSE(is_default_route("abc"));
    EXPECT_EQ(link_of_route(route_head() + attribute(5, ten_one) + device), 4);
    EXPECT_FALSE(link_of_route(route_head() + attribute(9, hop(4, ten_one))));
    EXPECT_FALSE(link_of_route(route_head() + attribute(4, "ab")));
    EXPECT_FALSE(link_of_route("abc"));
}

TEST(reply_route, default_routes) {
    const auto device = attribute(4, raw<std::uint32_t>(4));
    const auto plain = parse_default_route(route_head() + attribute(5, ten_one) + device);
    ASSERT_TRUE(plain && plain->size() == 1);
    EXPECT_EQ((*plain)[0], (model::default_route{parse_address("10.0.0.1").value(), 4, 0}));
    const auto metric = parse_default_route(route_head() + attribute(6, raw<std::uint32_t>(100)) + device);
    ASSERT_TRUE(metric && metric->size() == 1);
    EXPECT_EQ((*metric)[0], (model::default_route{ip::address_v4(), 4, 100}));
    const auto several = parse_default_route(route_head() + attribute(9, hop(4, ten_one) + hop(5, ten_two)));
    ASSERT_TRUE(several && several->size() == 2);
    EXPECT_EQ((*several)[1], (model::default_route{parse_address("10.0.0.2").value(), 5, 0}));
    const auto via_six = parse_default_route(route_head() + attribute(18, raw<std::uint16_t>(10) + six) + device);
    ASSERT_TRUE(via_six && via_six->size() == 1);
    EXPECT_EQ((*via_six)[0].gateway, parse_address("fd00::1").value());
    // A table of a number above 255 has it in an attribute.
    const auto wide = parse_default_route(route_head(252) + attribute(15, raw<std::uint32_t>(254)) + device);
    EXPECT_TRUE(wide && wide->size() == 1);
}

TEST(reply_route, what_is_none) {
    const auto rest = attribute(5, ten_one) + attribute(4, raw<std::uint32_t>(4));
    for (const auto& head : {route_head(100), route_head(254, 6), route_head(254, 1, 24), route_head(254, 1, 0, 10),
                             route_head(254, 1, 0, 2, 0x200)}) {
        const auto read = parse_default_route(head + rest);
        EXPECT_TRUE(read && read->empty());
    }
    const auto other_table = parse_default_route(route_head() + attribute(15, raw<std::uint32_t>(1000)) + rest);
    EXPECT_TRUE(other_table && other_table->empty());
    EXPECT_FALSE(parse_default_route(route_head() + attribute(5, "ab")));
    EXPECT_FALSE(parse_default_route(route_head() + attribute(9, "abcdefgh")));
    EXPECT_FALSE(parse_default_route(route_head() + attribute(18, "a")));
    EXPECT_FALSE(parse_default_route("abc"));
}

TEST(reply_route, routes_over_a_link) {
    const auto device = attribute(4, raw<std::uint32_t>(4));
    const auto metric = attribute(6, raw<std::uint32_t>(100));
    const auto read = parse_link_routes(route_head(254, 1, 24, 2, 4) + attribute(1, ten_two) + attribute(5, ten_one) +
                                        attribute(7, ten_one) + metric + device);
    ASSERT_TRUE(read && read->size() == 1);
    EXPECT_EQ(read->front().is.to.text(), "10.0.0.2/24");
    EXPECT_EQ(read->front().is.source, parse_address("10.0.0.1").value());
    EXPECT_TRUE(read->front().is.is_onlink && read->front().is_plain());
    EXPECT_EQ(read->front().is.metric, 100U);
    const auto of_six = parse_link_routes(route_head(77, 1, 0, 10) + attribute(5, six) + device);
    ASSERT_TRUE(of_six && of_six->size() == 1);
    EXPECT_EQ(of_six->front().is.to.text(), "::/0");
    EXPECT_EQ(of_six->front().table, 77U);
    const auto several = parse_link_routes(route_head() + attribute(9, hop(4, ten_one) + hop(5, ten_two)));
    ASSERT_TRUE(several && several->size() == 2);
    EXPECT_FALSE(several->front().is_plain() || several->back().is_plain());
    EXPECT_EQ(several->back().link, 5);
    // Of IPv6 each is one by itself.
    const auto of_each = parse_link_routes(route_head(254, 1, 0, 10) + attribute(9, hop(4, six) + hop(5, six)));
    ASSERT_TRUE(of_each && of_each->size() == 2);
    EXPECT_TRUE(of_each->front().is_plain() && of_each->back().is_plain() && of_each->back().link == 5);
    // Over one link they are one.
    const auto as_one = parse_link_routes(route_head() + attribute(9, hop(4, ten_one) + hop(4, ten_two)));
    ASSERT_TRUE(as_one && as_one->size() == 1);
    EXPECT_EQ(to_text(as_one->front().is), "default route via 10.0.0.1, 10.0.0.2");
    EXPECT_TRUE(as_one->front().is_plain() && as_one->front().link == 4);
    // As the kernel told it, it is told again.
    const auto mtu = attribute(8, attribute(2, raw<std::uint32_t>(1400)));
    for (const auto& setting : {mtu, attribute(11, "abcd"), mtu + attribute(11, "abcd")}) {
        const auto has = parse_link_routes(route_head() + attribute(5, ten_one) + device + setting);
        ASSERT_TRUE(has && has->size() == 1);
        EXPECT_TRUE(has->front().is_plain());
        EXPECT_EQ(has->front().is.settings, setting);
        EXPECT_EQ(to_text(has->front().is), "default route via 10.0.0.1 (with settings of its own)");
    }
    const auto medium = parse_link_routes(route_head() + attribute(5, ten_one) + device + attribute(20, raw<char>(0)));
    EXPECT_TRUE(medium && medium->size() == 1 && medium->front().is.settings.empty());
    for (const auto& more : {attribute(8, std::string(600, 'a')), attribute(30, raw<std::uint32_t>(1)),
                             attribute(18, raw<std::uint16_t>(10) + six), attribute(22, "abcd"),
                             attribute(12, std::string(8, '\0') + raw<std::int32_t>(9) + std::string(20, '\0'))}) {
        const auto special = parse_link_routes(route_head() + attribute(5, ten_one) + device + more);
        ASSERT_TRUE(special && special->size() == 1);
        EXPECT_FALSE(special->front().is_plain());
    }
    const auto nowhere = parse_link_routes(route_head(254, 6, 24) + attribute(1, ten_two) + attribute(7, ten_one));
    ASSERT_TRUE(nowhere && nowhere->size() == 1);
    EXPECT_EQ(nowhere->front().more, "it is of the type blackhole");
    EXPECT_EQ(nowhere->front().link, 0);
    // Of IPv6 it is over the loopback device, and only its source may go.
    const auto nowhere_of_six =
        parse_link_routes(route_head(254, 6, 64, 10) + attribute(1, six) + attribute(7, six) + device);
    ASSERT_TRUE(nowhere_of_six && nowhere_of_six->size() == 1);
    EXPECT_EQ(nowhere_of_six->front().more, "it is of the type blackhole");
    EXPECT_EQ(nowhere_of_six->front().link, 0);
    for (const auto& none : {route_head(254, 6) + device, route_head(254, 1, 0, 2, 0x200) + device,
                             route_head(254, 1, 0, 7) + device, route_head() + attribute(5, ten_one)}) {
        const auto nothing = parse_link_routes(none);
        EXPECT_TRUE(nothing && nothing->empty());
    }
    EXPECT_FALSE(parse_link_routes(route_head(254, 1, 33) + device));
    EXPECT_FALSE(parse_link_routes(route_head() + attribute(9, "abcdefgh")));
    EXPECT_FALSE(parse_link_routes(route_head() + attribute(1, "ab")));
    EXPECT_FALSE(parse_link_routes("abc"));
}

TEST(reply_route, those_that_come_with_addresses) {
    const auto device = attribute(4, raw<std::uint32_t>(4));
    const auto of_kernel = [](std::string head) {
        head[5] = 2;  // rtm_protocol
        return head;
    };
    const auto read = parse_connected_route(of_kernel(route_head(254, 1, 24)) + attribute(1, ten_two) + device);
    ASSERT_TRUE(read && *read);
    EXPECT_EQ((*read)->link, 4);
    EXPECT_EQ((*read)->network.text(), "10.0.0.2/24");
    const auto with_more = parse_connected_route(of_kernel(route_head(254, 1, 24)) + attribute(1, ten_two) + device +
                                                 attribute(6, raw<std::uint32_t>(425)) + attribute(7, ten_one));
    ASSERT_TRUE(with_more && *with_more);
    EXPECT_EQ((*with_more)->metric, 425U);
    EXPECT_EQ((*with_more)->source, parse_address("10.0.0.1").value());
    const auto of_six = parse_connected_route(of_kernel(route_head(254, 1, 64, 10)) + attribute(1, six) + device);
    EXPECT_TRUE(of_six && *of_six);
    for (const auto& none : {route_head(254, 1, 24) + attribute(1, ten_two) + device,  // somebody's
                             of_kernel(route_head(255, 1, 24)) + attribute(1, ten_two) + device,
                             of_kernel(route_head(254, 3, 24)) + attribute(1, ten_two) + device,
                             of_kernel(route_head(254, 1, 24)) + attribute(1, ten_two),
                             of_kernel(route_head(254, 1, 24)) + attribute(1, ten_two) + device + attribute(5, ten_one),
                             of_kernel(route_head()) + device}) {
        const auto nothing = parse_connected_route(none);
        EXPECT_TRUE(nothing && !*nothing);
    }
    EXPECT_FALSE(parse_connected_route(of_kernel(route_head(254, 1, 33)) + attribute(1, ten_two) + device));
    EXPECT_FALSE(parse_connected_route(of_kernel(route_head(254, 1, 24)) + attribute(1, "ab") + device));
    EXPECT_FALSE(parse_connected_route("abc"));
}

// Of several of one place the kernel takes the first.
TEST(reply_route, the_place_that_it_has_with_others) {
    const auto device = attribute(4, raw<std::uint32_t>(4));
    const auto of = [](const std::string& body) { return read_place_of_route(body); };
    const auto to = route_head(254, 1, 24) + attribute(1, ten_two);
    const auto place = of(to + device);
    EXPECT_EQ(of(route_head(254, 6, 24) + attribute(1, ten_two)), place) << "one that leads nowhere";
    EXPECT_EQ(of(to + attribute(5, ten_one) + device), place);
    EXPECT_EQ(of(route_head(0, 1, 24) + attribute(15, raw<std::uint32_t>(254)) + attribute(1, ten_two)), place);
    auto of_service = to;
    of_service[3] = 4;  // rtm_tos
    for (const auto& other :
         {to + attribute(6, raw<std::uint32_t>(7)), of_service, route_head() + device,
          route_head(254, 1, 24) + attribute(1, ten_one), route_head(254, 1, 23) + attribute(1, ten_two),
          route_head(100, 1, 24) + attribute(1, ten_two), to + attribute(15, raw<std::uint32_t>(1000))}) {
        EXPECT_NE(of(other), place);
    }
    EXPECT_EQ(of("abc"), place_of_route());
    EXPECT_EQ(of(route_head() + attribute(1, std::string(40, 'a'))).to,
              of(route_head() + attribute(1, std::string(16, 'a'))).to);
}

}  // namespace
}  // namespace pvc::netlink
