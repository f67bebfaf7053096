// A bridge that the daemon makes takes what routers say as its device did.
#include "pvcnoded/policy/networks/router_settings.hpp"

#include "host_plan_fixture.hpp"

#include <gtest/gtest.h>

#include <map>

namespace pvc::policy {
namespace {

using values = std::map<std::string, std::string>;

// By the name of the link and of the setting.
setting_reader reading(values all) {
    return [all = std::move(all)](const std::string& key) -> std::optional<std::string> {
        const std::string folder = "net/ipv6/conf/";
        const auto found = key.starts_with(folder) ? all.find(key.substr(folder.size())) : all.end();
        return found == all.end() ? std::nullopt : std::optional(found->second);
    };
}

values with(values all, const std::string& link, const values& of) {
    for (const auto& [name, value] : of) {
        all[link + "/" + name] = value;
    }
    return all;
}

const values usual{{"disable_ipv6", "0"}, {"accept_ra", "1"}, {"accept_ra_pinfo", "1"}, {"autoconf", "1"}};

// Those of the plan, "brcluster/accept_ra=0", and that each comes before its port.
std::string settings_in(const host_plan& plan) {
    std::string all;
    for (const auto& unit : plan.units) {
        std::string open;
        for (const auto& step : unit.steps) {
            if (const auto* one = std::get_if<model::set_sysctl>(&step)) {
                all += one->key.substr(std::string("net/ipv6/conf/").size()) + "=" + one->value + " ";
                open = one->key;
            } else if (const auto* port = std::get_if<model::set_master>(&step)) {
                EXPECT_TRUE(open.empty() || open.find("/" + port->master + "/") != std::string::npos);
                open.clear();
            }
        }
        EXPECT_EQ(open, "") << "no port comes behind it";
    }
    return all;
}

TEST(router_settings, as_the_device_had_it) {
    const auto config = config_of(network_words::all_on("eth0"));
    struct row {
        const char* what;
        values device;
        values of_new;
        std::string wanted;
    };
    const std::vector<row> rows{
        {"as new links are", {}, {}, ""},
        {"no advertisements", {{"accept_ra", "0"}}, {}, "brcluster/accept_ra=0 "},
        {"off", {{"disable_ipv6", "1"}}, {}, "brcluster/disable_ipv6=1 "},
        {"all",
         {{"disable_ipv6", "1"}, {"accept_ra", "0"}, {"accept_ra_pinfo", "0"}, {"autoconf", "0"}},
         {},
         "brcluster/disable_ipv6=1 brcluster/accept_ra=0 brcluster/accept_ra_pinfo=0 brcluster/autoconf=0 "},
        {"raised by hand", {{"accept_ra", "2"}}, {}, "brcluster/accept_ra=2 "},
        {"on there alone",
         {},
         {{"disable_ipv6", "1"}, {"accept_ra", "0"}},
         "brcluster/disable_ipv6=0 brcluster/accept_ra=1 "},
        {"off everywhere", {{"disable_ipv6", "1"}}, {{"disable_ipv6", "1"}}, ""},
    };
    for (const auto& one : rows) {
        const auto kernel = bare_host({"eth0"});
        const auto read = reading(
            with(with(with(with({}, "eth0", usual), "default", usual), "eth0", one.device), "default", one.of_new));
        const auto plan = with_router_settings(plan_host(config, kernel.state()), kernel.state(), {}, read);
        EXPECT_EQ(settings_in(plan), one.wanted) << one.what;
        // A kernel without IPv6.
        EXPECT_EQ(steps_of(with_router_settings(plan_host(config, kernel.state()), kernel.state(), {}, reading({}))),
                  steps_of(plan_host(config, kernel.state())));
        for (const auto& [key, value] : usual) {
            const auto is_set = one.wanted.find("brcluster/" + key + "=") != std::string::npos;
            const auto now = read_after(plan, read)("net/ipv6/conf/brcluster/" + key);
            const auto wanted = one.device.contains(key) ? one.device.at(key) : value;
            EXPECT_TRUE(!is_set || now == wanted) << one.what << " " << key;
        }
    }
}

// For whom it answers, and what it believes; but for what the daemon sets to values of its own.
TEST(router_settings, answers_to_neighbours_are_given_where_they_were) {
    const auto config = config_of(network_words::all_on("eth0"));
    const auto kernel = bare_host({"eth0"});
    const values all{{"net/ipv4/conf/eth0/proxy_arp", "1"},     {"net/ipv4/conf/default/proxy_arp", "0"},
                     {"net/ipv4/conf/eth0/arp_ignore", "1"},    {"net/ipv4/conf/default/arp_ignore", "0"},
                     {"net/ipv4/conf/eth0/arp_announce", "0"},  {"net/ipv4/conf/default/arp_announce", "0"},
                     {"net/ipv4/conf/eth0/rp_filter", "1"},     {"net/ipv4/conf/default/rp_filter", "2"},
                     {"net/ipv6/conf/eth0/proxy_ndp", "1"},     {"net/ipv6/conf/default/proxy_ndp", "0"},
                     {"net/ipv6/conf/eth0/addr_gen_mode", "1"}, {"net/ipv6/conf/default/addr_gen_mode", "0"},
                     {"net/ipv4/neigh/eth0/proxy_delay", "0"},  {"net/ipv4/neigh/default/proxy_delay", "80"}};
    const setting_reader read = [&](const std::string& key) {
        const auto found = all.find(key);
        return found == all.end() ? std::nullopt : std::optional(found->second);
    };
    const auto plan = with_router_settings(plan_host(config, kernel.state()), kernel.state(), {}, read,
                                           {{"net/ipv4/conf/brcluster/rp_filter", "0", {}, {}, {}}});
    std::vector<std::string> set;
    for (const auto& unit : plan.units) {
        for (const auto& step : unit.steps) {
            if (const auto* one = std::get_if<model::set_sysctl>(&step)) {
                set.push_back(one->key + "=" + one->value);
            }
        }
    }
    EXPECT_EQ(set, (std::vector<std::string>{
                       "net/ipv4/conf/brcluster/proxy_arp=1", "net/ipv4/conf/brcluster/arp_ignore=1",
                       "net/ipv6/conf/brcluster/proxy_ndp=1", "net/ipv4/neigh/brcluster/proxy_delay=0"}));
}

// Somebody made it, and it has what he gave it; what this daemon made before its device was there is not his.
TEST(router_settings, a_bridge_that_was_there_keeps_its_own) {
    const auto config = config_of(network_words::all_on("eth0"));
    auto kernel = bare_host({});
    carry_out(kernel, plan_host(config, kernel.state()));
    ASSERT_TRUE(kernel.has("brcluster"));
    kernel.add(link_named("eth0", "", 1500));
    const auto plan = plan_host(config, kernel.state());
    const auto read = [&](const std::string& of_bridge) {
        auto all = with(with({}, "eth0", {{"accept_ra", "0"}}), "default", usual);
        return reading(with(std::move(all), "brcluster", {{"accept_ra", of_bridge}}));
    };
    EXPECT_EQ(settings_in(with_router_settings(plan, kernel.state(), {}, read("2"))), "");
    EXPECT_EQ(settings_in(with_router_settings(plan, kernel.state(), {"brcluster"}, read("2"))),
              "brcluster/accept_ra=0 ");
    EXPECT_EQ(settings_in(with_router_settings(plan, kernel.state(), {"brcluster"}, read("0"))), "");
    // Raised since it was made, as forwarding is on.
    const auto raised = reading(with(with({}, "eth0", {{"accept_ra", "1"}}), "brcluster", {{"accept_ra", "2"}}));
    EXPECT_EQ(settings_in(with_router_settings(plan, kernel.state(), {"brcluster"}, raised)), "");
}

TEST(router_settings, what_was_made_is_known_until_it_has_its_device) {
    std::set<std::string> made;
    note_made(made, {"bridge brcluster", {model::make_bridge{"brcluster", {}}, model::set_up{"brcluster"}}},
              made_when::before);
    EXPECT_EQ(made, std::set<std::string>{"brcluster"});
    auto kernel = bare_host({"eth0"});
    EXPECT_EQ(made_after_look(made, kernel.state()), std::set<std::string>());
    kernel.add(link_named("brcluster", "bridge", 1500));
    EXPECT_EQ(made_after_look(made, kernel.state()), made);
    note_made(made, {"port eth0 of brcluster", {model::set_master{"eth0", "brcluster"}}}, made_when::afterwards);
    EXPECT_EQ(made, std::set<std::string>());
}

// systemd-networkd and NetworkManager take what routers say themselves, on the device alone: the kernel goes on.
TEST(router_settings, where_a_program_takes_them_the_kernel_does) {
    const auto config = config_of(network_words::all_on("eth0"));
    auto kernel = bare_host({"eth0"});
    model::link_route by_router{
        .is = {.to = {ip::address_v6(), 0}, .gateway = *parse_address("fe80::1"), .metric = 1024}};
    const auto read = reading(
        with(with({}, "eth0", {{"accept_ra", "0"}, {"autoconf", "0"}, {"disable_ipv6", "0"}}), "default", usual));
    const auto settings = [&](const toy_kernel& of) {
        return settings_in(with_router_settings(plan_host(config, of.state()), of.state(), {}, read));
    };
    EXPECT_EQ(settings(kernel), "brcluster/accept_ra=0 brcluster/autoconf=0 ");
    kernel.edit("eth0").is_up = true;
    auto by_hand = kernel;
    by_hand.add_route("eth0", by_router);
    EXPECT_EQ(settings(by_hand), "brcluster/accept_ra=0 brcluster/autoconf=0 ");
    by_router.is.protocol = 9;
    kernel.add_route("eth0", by_router);
    EXPECT_EQ(settings(kernel), "");
}

TEST(router_settings, what_new_links_have_is_read_before_they_are_there) {
    host_plan plan;
    plan.units.push_back({"bridge brx", {model::make_bridge{"brx", {}}}});
    plan.units.push_back({"port", {model::set_sysctl{"net/ipv6/conf/brx/accept_ra", "0"}}});
    const auto read = read_after(plan, [](const std::string& key) { return std::optional("<" + key + ">"); });
    EXPECT_EQ(read("net/ipv6/conf/brx/accept_ra"), "0");
    EXPECT_EQ(read("net/ipv6/conf/brx/autoconf"), "<net/ipv6/conf/default/autoconf>");
    EXPECT_EQ(read("net/ipv4/conf/brx/rp_filter"), "<net/ipv4/conf/default/rp_filter>");
    EXPECT_EQ(read("net/ipv4/conf/bry/rp_filter"), "<net/ipv4/conf/bry/rp_filter>");
    for (const std::string key : {"net/ipv4/ip_forward", "x", "", "/", "brx/"}) {
        EXPECT_EQ(read(key), "<" + key + ">");
    }
}

}  // namespace
}  // namespace pvc::policy
