// Routes of others that hang on addresses of the primary (networking.md 6).
#include "pvcnoded/policy/networks/bound_routes.hpp"
#include "host_plan_fixture.hpp"

#include "pvcnoded/base/text.hpp"

namespace pvc::policy {
namespace {

constexpr int own_link = 5;
constexpr int other_link = 6;
constexpr int over_nothing = 0;

class bound_routes_test : public testing::Test {
protected:
    bound_routes_test() {
        all_.push_back({"gateway", role_phase::f, {"vmbr7", *parse_host_address("10.7.0.1/24")}});
        all_.push_back({"gateway", role_phase::f, {"vmbr7", *parse_host_address("fd00:7::1/64")}});
        for (const auto& one : all_) {
            add_address(own_link, one.where.address.text());
        }
        add_address(other_link, "192.0.2.10/24");
    }
    void add_address(int link, const std::string& text) {
        addresses_.push_back({.link = link, .address = *parse_host_address(text)});
    }
    void remove_address(const std::string& text) {
        std::erase_if(addresses_, [&](const auto& one) { return one.address.text() == text; });
    }
    model::network_route& route(int link, std::string_view to, std::string_view by = {}, std::uint32_t table = 254) {
        model::link_route made{.is = {.to = *parse_host_address(to)}, .link = link, .table = table};
        if (!by.empty()) {
            made.is.gateway = *parse_address(by);
        }
        routes_.push_back(made);
        return routes_.back().is;
    }
    [[nodiscard]] model::network_state seen() const {
        auto one = link_named("vmbr7", "bridge");
        auto other = link_named("eth3");
        one.index = own_link;
        one.is_up = is_bridge_up_;
        other.index = other_link;
        other.is_up = true;
        return {{one, other}, addresses_, {}, routes_, connected_};
    }
    // Of the route that was made last.
    void place(std::uint16_t number, bool is_before_others) {
        routes_.back().place = number;
        routes_.back().is_before_others = is_before_others;
    }
    // "10.8.0.0/16, 10.9.0.0/16 waits": after a look.
    std::string look() {
        known_ = bound_after_look(known_, config_, all_, seen());
        std::string text;
        for (const auto& one : known_) {
            text += (text.empty() ? "" : ", ") + one.is.to.text() + (one.is_waiting ? " waits" : "");
        }
        return text;
    }
    [[nodiscard]] std::string added() const {
        std::string text;
        for (const auto& one : bound_to_add(known_, seen())) {
            EXPECT_EQ(one.moves_from, one.device);
            text += (text.empty() ? "" : ", ") + to_text(one.route) + " over " + one.device;
        }
        return text;
    }
    [[nodiscard]] std::string kept() const {
        std::string text;
        for (const auto& [device, routes] : routes_to_keep(config_, all_, seen())) {
            for (const auto& one : routes) {
                text += (text.empty() ? "" : ", ") + one.is.is.to.text() + (one.has_twins ? " with twins" : "");
            }
        }
        return text;
    }

    config::node_config config_ = config_of({});
    std::vector<role_address> all_;
    std::vector<model::link_address> addresses_;
    std::vector<model::link_route> routes_;
    std::vector<model::connected_route> connected_;
    bound_routes known_;
    bool is_bridge_up_ = true;
};

TEST_F(bound_routes_test, what_needs_the_address_comes_back_with_it) {
    route(own_link, "10.8.0.0/16", "10.7.0.9");
    route(other_link, "10.9.0.0/16").source = *parse_address("10.7.0.1");
    route(own_link, "fd08::/64").source = *parse_address("fd00:7::1");
    route(other_link, "10.10.0.0/16", "192.0.2.1");
    route(own_link, "fd09::/64");
    route(own_link, "10.11.0.0/16", "10.7.0.9").protocol = 186;  // of BGP: who made it makes it again
    EXPECT_EQ(look(), "10.8.0.0/16, fd08::/64, 10.9.0.0/16");
    EXPECT_EQ(added(), "");
    // The address goes, and the routes with it; of IPv6 the source.
    remove_address("10.7.0.1/24");
    remove_address("fd00:7::1/64");
    routes_.clear();
    route(own_link, "fd08::/64");
    EXPECT_EQ(look(), "10.8.0.0/16 waits, fd08::/64 waits, 10.9.0.0/16 waits");
    EXPECT_EQ(added(), "");
    add_address(own_link, "10.7.0.1/24");
    EXPECT_EQ(look(), "10.8.0.0/16 waits, fd08::/64 waits, 10.9.0.0/16 waits");
    EXPECT_EQ(added(), "route 10.8.0.0/16 via 10.7.0.9 over vmbr7, route 10.9.0.0/16 (source 10.7.0.1) over eth3");
    add_address(own_link, "fd00:7::1/64");
    EXPECT_EQ(look(), "10.8.0.0/16 waits, fd08::/64 waits, 10.9.0.0/16 waits");
    EXPECT_NE(added().find("route fd08::/64 (source fd00:7::1) over vmbr7"), std::string::npos) << added();
}

TEST_F(bound_routes_test, what_somebody_took_away_or_replaced_is_his) {
    route(own_link, "10.8.0.0/16", "10.7.0.9");
    route(own_link, "10.9.0.0/16", "10.7.0.9");
    EXPECT_EQ(look(), "10.8.0.0/16, 10.9.0.0/16");
    routes_.pop_back();
    EXPECT_EQ(look(), "10.8.0.0/16") << "all that it needs is there";
    // A daemon that takes the address away knows better than a look.
    known_ = bound_without(known_, all_.front().where);
    routes_.clear();
    EXPECT_EQ(look(), "10.8.0.0/16 waits");
    EXPECT_NE(added(), "");
    route(own_link, "10.8.0.0/16", "10.7.0.99");
    EXPECT_EQ(look(), "10.8.0.0/16") << "that is another one, which hangs on the address too";
    EXPECT_EQ(added(), "");
    EXPECT_EQ(known_.front().is.gateway, *parse_address("10.7.0.99"));
}

// A route to the same place that needs no address stays on its device, for as long as the role is elsewhere.
TEST_F(bound_routes_test, one_that_stays_in_the_place_of_those_that_wait_does_not_replace_them) {
    route(own_link, "10.90.5.0/24");
    place(0, false);
    route(own_link, "10.90.5.0/24", "10.7.0.20");
    place(1, false);
    EXPECT_EQ(look(), "10.90.5.0/24, 10.90.5.0/24");
    known_ = bound_without(known_, all_.front().where);
    remove_address("10.7.0.1/24");
    routes_.pop_back();
    for (int looks = 0; looks < 3; ++looks) {
        EXPECT_EQ(look(), "10.90.5.0/24 waits, 10.90.5.0/24") << looks;
    }
    add_address(own_link, "10.7.0.1/24");
    look();
    EXPECT_EQ(added(), "route 10.90.5.0/24 via 10.7.0.20 over vmbr7");
    // Another one there is somebody's word.
    route(own_link, "10.90.5.0/24", "10.7.0.77");
    EXPECT_EQ(look(), "10.90.5.0/24, 10.90.5.0/24");
    EXPECT_EQ(added(), "");
}

// Of IPv6 both stay, and the one is without its source.
TEST_F(bound_routes_test, the_source_comes_back_also_beside_a_route_by_a_gateway) {
    route(own_link, "fd90::/64").source = *parse_address("fd00:7::1");
    route(own_link, "fd90::/64", "fd00:7::20");
    EXPECT_EQ(look(), "fd90::/64");
    known_ = bound_without(known_, all_.back().where);
    remove_address("fd00:7::1/64");
    routes_.front().is.source.reset();
    EXPECT_EQ(look(), "fd90::/64 waits");
    EXPECT_EQ(look(), "fd90::/64 waits");
    add_address(own_link, "fd00:7::1/64");
    look();
    EXPECT_EQ(added(), "route fd90::/64 (source fd00:7::1) over vmbr7");
}

// Of IPv4 the kernel takes the first: all packets would be dropped where a `blackhole` stays and comes first then.
TEST_F(bound_routes_test, those_that_come_back_have_the_place_that_they_had) {
    const auto order = [&] {
        known_ = bound_without(bound_after_look({}, config_, all_, seen()), all_.front().where);
        const auto there = std::exchange(routes_, {});
        std::string text;
        for (const auto& one : bound_to_add(known_, seen())) {
            text += (text.empty() ? "" : ", ") + one.route.gateway->to_string() + (one.comes_first ? " first" : "");
        }
        return text;
    };
    // Before one that leads nowhere, or over another device: the last that is made is the first.
    route(own_link, "10.90.1.0/24", "10.7.0.21");
    place(1, true);
    route(own_link, "10.90.1.0/24", "10.7.0.20");
    place(0, true);
    EXPECT_EQ(order(), "10.7.0.21 first, 10.7.0.20 first");
    // Behind it.
    route(own_link, "10.90.1.0/24", "10.7.0.20");
    place(1, false);
    route(own_link, "10.90.1.0/24", "10.7.0.21");
    place(2, false);
    EXPECT_EQ(order(), "10.7.0.20, 10.7.0.21");
    // In between: it is not the first.
    route(own_link, "10.90.1.0/24", "10.7.0.20");
    place(1, true);
    EXPECT_EQ(order(), "10.7.0.20");
    // Before one over its own device that stays.
    route(own_link, "10.90.1.0/24");
    place(1, false);
    route(own_link, "10.90.1.0/24", "10.7.0.20");
    place(0, false);
    known_ = bound_without(bound_after_look({}, config_, all_, seen()), all_.front().where);
    routes_.pop_back();
    EXPECT_EQ(bound_to_add(known_, seen()).size(), 2U);
    EXPECT_TRUE(bound_to_add(known_, seen()).back().comes_first);
}

// Of IPv6 the kernel takes such a one away in place of its own, which then stays.
TEST_F(bound_routes_test, a_route_to_the_network_of_the_address_is_kept) {
    connected_.push_back({own_link, *parse_host_address("fd00:7::/64"), 256});
    route(own_link, "fd00:7::/64").metric = 50;
    route(own_link, "fd00:7::/64", "fd00:7::9").metric = 20;
    route(other_link, "fd00:7::/64").metric = 30;
    route(own_link, "fd00:8::/64").metric = 50;
    EXPECT_EQ(kept(), "fd00:7::/64");
    connected_.clear();
    EXPECT_EQ(kept(), "");
}

TEST_F(bound_routes_test, what_waits_goes_with_its_link) {
    route(own_link, "10.8.0.0/16", "10.7.0.9");
    EXPECT_EQ(look(), "10.8.0.0/16");
    const auto before = known_;
    routes_.clear();
    is_bridge_up_ = false;
    EXPECT_EQ(look(), "") << "the kernel took it away with the link";
    known_ = bound_without(before, all_.front().where);
    EXPECT_EQ(look(), "10.8.0.0/16 waits");
    EXPECT_EQ(added(), "");
    known_.front().link = 77;
    EXPECT_EQ(look(), "");
}

TEST_F(bound_routes_test, what_needs_no_address_stays) {
    route(own_link, "10.20.0.1/32", "10.8.0.9");
    route(own_link, "10.8.0.0/16");
    route(own_link, "10.9.0.0/16", {}, 100).protocol = 186;
    route(own_link, "10.21.0.0/16", "10.7.0.9");
    route(own_link, "10.22.0.0/16").source = *parse_address("10.7.0.1");
    route(own_link, "10.23.0.0/16", "10.99.0.1").is_onlink = true;
    route(other_link, "10.23.0.0/16");
    EXPECT_EQ(kept(), "10.9.0.0/16, 10.8.0.0/16, 10.20.0.1/32, 10.23.0.0/16 with twins");
    add_address(own_link, "10.77.0.1/24");
    EXPECT_EQ(kept(), "") << "with another address there they stay by themselves";
}

TEST_F(bound_routes_test, what_cannot_come_back_is_named_with_the_reason) {
    const auto make = [&](int link, std::string_view to, std::string_view by, std::string more) {
        auto& made = route(link, to, by);
        routes_.back().more = std::move(more);
        return &made;
    };
    make(own_link, "10.30.0.0/16", "fd00:7::9", "its gateway is of the other family");
    make(other_link, "10.31.0.0/16", "192.0.2.1", "its packets are wrapped")->source = *parse_address("10.7.0.1");
    make(own_link, "fd30::/64", "fd00:7::9", "its packets are wrapped")->source = *parse_address("fd00:7::1");
    make(over_nothing, "10.36.0.0/16", {}, "it is of the type blackhole")->source = *parse_address("10.7.0.1");
    // None of these goes with the address, or is made by hand.
    make(over_nothing, "10.37.0.0/16", {}, "it is of the type blackhole")->source = *parse_address("192.0.2.10");
    make(other_link, "10.32.0.0/16", "192.0.2.1", "its packets are wrapped");
    make(own_link, "fd31::/64", "fd00:7::9", "its packets are wrapped");
    make(own_link, "10.33.0.0/16", "10.7.0.9", "its packets are wrapped")->protocol = 186;
    make(own_link, "10.34.0.0/16", "10.7.0.9", "it is one of several ways");
    make(other_link, "10.34.0.0/16", "192.0.2.1", "it is one of several ways");
    route(own_link, "10.35.0.0/16", "10.7.0.9");
    std::string text;
    for (const auto& one : routes_not_to_keep(config_, all_, seen())) {
        text += one + '\n';
    }
    EXPECT_EQ(text,
              "the route 10.30.0.0/16 via fd00:7::9 over vmbr7 goes with an address of the primary, and it does not "
              "come back with that, because its gateway is of the other family\n"
              "the route 10.31.0.0/16 via 192.0.2.1 (source 10.7.0.1) over eth3 goes with an address of the primary, "
              "and it does not come back with that, because its packets are wrapped\n"
              "the route 10.36.0.0/16 (source 10.7.0.1) goes with an address of the primary, and it does not come back "
              "with that, because it is of the type blackhole\n"
              "the route fd30::/64 via fd00:7::9 (source fd00:7::1) over vmbr7 loses its source with an address of the "
              "primary, and the source does not come back with that, because its packets are wrapped\n");
    add_address(own_link, "10.77.0.1/24");
    EXPECT_EQ(routes_not_to_keep(config_, all_, seen()).size(), 3U) << "with another address there it stays";
}

// Before a daemon starts, which takes them away without knowing of any network.
TEST_F(bound_routes_test, what_goes_with_what_a_primary_left_is_said_before) {
    const std::vector<placed_address> left{all_[0].where, all_[1].where};
    route(own_link, "10.8.0.0/16");
    route(own_link, "10.9.0.0/16", "10.7.0.9");
    route(other_link, "10.10.0.0/16", {}, 100).source = *parse_address("10.7.0.1");
    route(own_link, "fd08::/64").source = *parse_address("fd00:7::1");
    route(other_link, "10.11.0.0/16");
    route(over_nothing, "10.36.0.0/16").source = *parse_address("10.7.0.1");
    routes_.back().more = "it is of the type blackhole";
    const auto leaving = describe_leaving(config_, left, seen());
    EXPECT_EQ(leaving.waiting,
              (std::set<std::string>{"the route 10.9.0.0/16 via 10.7.0.9 over vmbr7 goes with an address of the "
                                     "primary, and comes back with that",
                                     "the route 10.10.0.0/16 (source 10.7.0.1) of table 100 over eth3 goes with an "
                                     "address of the primary, and comes back with that",
                                     "the route fd08::/64 (source fd00:7::1) over vmbr7 loses its source with an "
                                     "address of the primary, and gets it back with that"}));
    EXPECT_EQ(leaving.lost, (std::set<std::string>{"the route 10.36.0.0/16 (source 10.7.0.1) goes with an address of "
                                                   "the primary, and it does not come back with that, because it is "
                                                   "of the type blackhole"}));
    const auto nothing = describe_leaving(config_, {}, seen());
    EXPECT_TRUE(nothing.waiting.empty() && nothing.lost.empty());
}

TEST_F(bound_routes_test, the_default_route_of_the_configuration_is_not_the_operators) {
    all_.push_back({"floating", role_phase::c, {"brupstream", *parse_host_address("10.0.2.254/24")}});
    auto of_upstream = link_named("brupstream", "bridge");
    of_upstream.index = own_link;
    of_upstream.is_up = true;
    addresses_ = {{.link = own_link, .address = *parse_host_address("10.0.2.254/24")}};
    route(own_link, "0.0.0.0/0", "10.0.2.1");
    route(own_link, "10.8.0.0/16", "10.0.2.1");
    const model::network_state there{{of_upstream}, addresses_, {}, routes_};
    const auto found = bound_after_look({}, config_, all_, there);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found.front().is.to.text(), "10.8.0.0/16");
}

TEST_F(bound_routes_test, a_line_says_all_of_it) {
    auto& whole = route(own_link, "10.8.0.0/16", "10.7.0.9", 1000);
    whole.metric = 50;
    whole.source = *parse_address("10.7.0.1");
    whole.is_onlink = true;
    whole.tos = 4;
    whole.protocol = 4;
    whole.settings = std::string("\x08\0\xff", 3);
    auto& several = route(other_link, "fd00::/64");
    several.ways = {{.gateway = *parse_address("fe80::1"), .weight = 3}, {.weight = 256, .is_onlink = true}};
    several.is_local = true;
    several.scope = 254;
    for (const auto& one : routes_) {
        const bound_route wanted{"vmbr7", one.link, one.is, one.table, one.link == own_link, one.link == own_link};
        const auto line = bound_line(wanted);
        const auto read = parse_bound(split_blanks(line));
        ASSERT_TRUE(read) << line;
        EXPECT_EQ(*read, wanted) << line;
    }
    const bound_route plain{
        "vmbr7", 57, {.to = *parse_host_address("10.8.0.0/16"), .gateway = *parse_address("10.7.0.9")}};
    EXPECT_EQ(bound_line(plain), "route vmbr7 57 254 10.8.0.0/16 scope=0 protocol=3 via=10.7.0.9");
    for (const auto* line :
         {"route", "route a 1 254", "route a 0 254 10.0.0.0/8", "route a 1 -1 10.0.0.0/8", "route a 1 254 10.0.0.0",
          "route a 1 254 10.0.0.0/8 via=fd00::1", "route a 1 254 10.0.0.0/8 scope=256", "route a 1 254 10.0.0.0/8 more",
          "route a 1 254 10.0.0.0/8 settings=8", "route a 1 254 10.0.0.0/8 settings=zz",
          "route a 1 254 10.0.0.0/8 way=10.0.0.1", "route a 1 254 10.0.0.0/8 way=10.0.0.1,0",
          "route a 1 254 10.0.0.0/8 via"}) {
        EXPECT_FALSE(parse_bound(split_blanks(line))) << line;
    }
}

}  // namespace
}  // namespace pvc::policy
