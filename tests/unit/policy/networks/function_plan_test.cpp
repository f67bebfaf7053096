// networking.md 4: what is made of cards with virtual functions, their keys and their settings (cases 13 to 20, 100).
#include "pvcnoded/policy/networks/function_plan.hpp"

#include <gtest/gtest.h>

#include <set>

namespace pvc::policy {
namespace {

using namespace model;
using settings = std::vector<function_setting>;

virtual_function function_with_all(int index = 0) {
    virtual_function one;
    one.index = index;
    one.mac = "52:54:00:00:00:01";
    one.vlan = function_vlan();
    one.rate = function_rate();
    one.spoof_check = false;
    one.link_state = function_link::automatic;
    one.trust = false;
    one.query_rss = false;
    one.pci = "0000:3b:02.1";
    return one;
}

physical_function card_of(std::vector<virtual_function> functions, int mtu = 9000) {
    return {7, "ens1f1", mtu, std::move(functions)};
}

// ---- 4.1

TEST(card_preparation, case_13_functions_are_made_where_there_are_none) {
    const config::sriov_device card{"ens1f1", std::nullopt, 8};
    EXPECT_EQ(prepare_card(card, 0).functions, 8);
    EXPECT_TRUE(prepare_card(card, 0).remarks.empty());
    EXPECT_FALSE(prepare_card(card, 8).functions);
    EXPECT_TRUE(prepare_card(card, 8).remarks.empty());
    const auto other = prepare_card(card, 4);
    EXPECT_FALSE(other.functions);
    ASSERT_EQ(other.remarks.size(), 1U);
    EXPECT_EQ(other.remarks[0].which, message::sriov_count);
    EXPECT_FALSE(other.remarks[0].is_error);
    EXPECT_NE(other.remarks[0].text.find("ens1f1 has 4 virtual functions, and not the 8"), std::string::npos);
}

TEST(card_preparation, without_a_number_nothing_is_written) {
    const config::sriov_device card{"ens1f1", std::nullopt, std::nullopt};
    for (const int now : {0, 3}) {
        EXPECT_FALSE(prepare_card(card, now).functions);
        EXPECT_TRUE(prepare_card(card, now).remarks.empty());
    }
    EXPECT_FALSE(prepare_card({"ens1f1", std::nullopt, 0}, 0).functions);
    EXPECT_EQ(prepare_card({"ens1f1", std::nullopt, 0}, 2).remarks.size(), 1U);
}

TEST(card_preparation, a_card_that_cannot_is_told_of) {
    const config::sriov_device card{"ens1f1", std::nullopt, 8};
    const auto missing = prepare_card(card, failure(errc::not_found, "ens1f1", "No such device"));
    ASSERT_EQ(missing.remarks.size(), 1U);
    EXPECT_EQ(missing.remarks[0].which, message::sriov_card);
    EXPECT_NE(missing.remarks[0].text.find("does not support SR-IOV"), std::string::npos);
    const auto broken = prepare_card(card, failure(errc::io, "ens1f1", "Input/output error"));
    ASSERT_EQ(broken.remarks.size(), 1U);
    EXPECT_NE(broken.remarks[0].text.find("Input/output error"), std::string::npos);
    EXPECT_FALSE(missing.functions || broken.functions);
}

TEST(card_preparation, its_size_is_set_only_if_it_is_configured) {
    EXPECT_TRUE(changes_of_card({"ens1f1", std::nullopt, 8}).empty());  // case 100
    EXPECT_EQ(changes_of_card({"ens1f1", 9000, 8}),
              (std::vector<network_change>{set_mtu{"ens1f1", 9000}, set_up{"ens1f1"}}));
}

// ---- 4.2

constexpr auto root = "/nodes/hv1/sriov";

TEST(function_keys_test, of_a_card) {
    const auto seen = card_of({function_with_all(0), function_with_all(1)});
    EXPECT_EQ(keys_of_card(root, {"ens1f1", 1500, 8}, seen),
              (std::vector<key_value>{{"/nodes/hv1/sriov/pf/ens1f1", ""},
                                      {"/nodes/hv1/sriov/pf/ens1f1/mtu", "1500"},
                                      {"/nodes/hv1/sriov/pf/ens1f1/vfcount", "8"}}));
    // Case 100: without a configured size the one that it has; without a number that of the functions.
    const auto live = keys_of_card(root, {"ens1f1", std::nullopt, std::nullopt}, seen);
    EXPECT_EQ(live[1].value, "9000");
    EXPECT_EQ(live[2].value, "2");
}

TEST(function_keys_test, case_14_a_function_has_twenty_one) {
    auto one = function_with_all(12);
    one.vlan = function_vlan{101, 3};
    one.rate = function_rate{100, 1000};
    one.spoof_check = true;
    one.link_state = function_link::disable;
    const auto keys = keys_of_function(root, {"ens1f1", std::nullopt, 16}, card_of({one}), one);
    ASSERT_EQ(keys.size(), 21U);
    std::map<std::string, std::string> by_path;
    std::set<std::string> made{"/nodes/hv1/sriov/vf"};
    for (const auto& key : keys) {
        EXPECT_TRUE(made.contains(key.path.substr(0, key.path.rfind('/')))) << key.path << " before its parent";
        made.insert(key.path);
        by_path[key.path.substr(std::string("/nodes/hv1/sriov/vf/ens1f1v12").size())] = key.value;
    }
    const std::map<std::string, std::string> expected{{"", ""},
                                                      {"/pf", "ens1f1"},
                                                      {"/mtu", "9000"},
                                                      {"/mac", "52:54:00:00:00:01"},
                                                      {"/phy_mac", "52:54:00:00:00:01"},
                                                      {"/config", ""},
                                                      {"/config/vlan_id", "101"},
                                                      {"/config/vlan_qos", "3"},
                                                      {"/config/tx_rate_min", "100"},
                                                      {"/config/tx_rate_max", "1000"},
                                                      {"/config/spoof_check", "True"},
                                                      {"/config/link_state", "disable"},
                                                      {"/config/trust", "False"},
                                                      {"/config/query_rss", "False"},
                                                      {"/pci", ""},
                                                      {"/pci/domain", "0000"},
                                                      {"/pci/bus", "3b"},
                                                      {"/pci/slot", "02"},
                                                      {"/pci/function", "1"},
                                                      {"/used", "False"},
                                                      {"/used_by", ""}};
    EXPECT_EQ(by_path, expected);
}

TEST(function_keys_test, case_16_what_the_driver_does_not_report_is_off) {
    virtual_function bare;
    bare.mac = "52:54:00:00:00:01";
    bare.pci = "0000:3b:02.1";
    const auto keys = keys_of_function(root, {"ens1f1", std::nullopt, 1}, card_of({bare}), bare);
    ASSERT_EQ(keys.size(), 21U);
    for (const auto& key : keys) {
        if (key.path.find("/config/") != std::string::npos) {
            EXPECT_TRUE(key.value == "0" || key.value == "False" || key.value == "auto") << key.path << key.value;
        }
    }
}

TEST(function_keys_test, without_an_address_on_the_bus_it_has_none) {
    auto one = function_with_all();
    for (const auto* pci : {"", "3b:02.1", "0000:3b:02", "0000:3b:zz.1", "0000::02.1", "0000:3b:02.1.1"}) {
        one.pci = pci;
        EXPECT_TRUE(keys_of_function(root, {"ens1f1", std::nullopt, 1}, card_of({one}), one).empty()) << pci;
    }
}

TEST(function_keys_test, case_20_what_is_obsolete) {
    config::node_config config;
    config.sriov.devices = {{"ens1f1", std::nullopt, 8}};
    EXPECT_TRUE(is_configured(config, "ens1f1"));
    EXPECT_FALSE(is_configured(config, "ens1f0"));
    EXPECT_FALSE(is_obsolete(config, "ens1f1v0", "ens1f1"));
    EXPECT_TRUE(is_obsolete(config, "ens1f0v0", "ens1f0"));
    EXPECT_TRUE(is_obsolete(config, "ens1f1v0", ""));
    EXPECT_FALSE(is_obsolete(config, "ens1f1v7", std::nullopt));  // its key is missing: the name tells
    EXPECT_TRUE(is_obsolete(config, "ens1f0v7", std::nullopt));
    EXPECT_TRUE(is_obsolete(config, "rubbish", std::nullopt));
}

TEST(function_name_test, the_last_v_with_digits) {
    EXPECT_EQ(parse_function_name("ens1f1v3"), (function_name{"ens1f1", 3}));
    EXPECT_EQ(parse_function_name("env4v12"), (function_name{"env4", 12}));
    for (const auto* name : {"", "v3", "ens1f1", "ens1f1v", "ens1f1v3a", "ens1f1v03", "ens1f1v-1", "ens1f1v99999"}) {
        EXPECT_FALSE(parse_function_name(name)) << name;
    }
    EXPECT_EQ(model::to_text(function_name{"ens1f1", 3}), "ens1f1v3");
}

// ---- 4.3

TEST(function_settings, missing_keys_are_their_defaults) {
    const auto wanted = parse_function("/vf/x", {});
    EXPECT_TRUE(wanted.remarks.empty());
    EXPECT_EQ(wanted.settings, (settings{function_vlan(), function_rate(), function_spoof_check(),
                                         function_link::automatic, function_trust(), function_query_rss()}));
}

TEST(function_settings, case_19_only_true_is_on) {
    function_keys stored;
    stored.trust = "True";
    stored.spoof_check = "yes";
    stored.query_rss = "true";
    stored.link_state = "disable";
    const auto wanted = parse_function("/vf/x", stored);
    EXPECT_EQ(wanted.settings, (settings{function_vlan(), function_rate(), function_spoof_check{false},
                                         function_link::disable, function_trust{true}, function_query_rss{false}}));
    EXPECT_TRUE(wanted.remarks.empty());
}

TEST(function_settings, what_cannot_be_used_is_said_and_left_out_alone) {
    struct row {
        function_keys stored;
        std::string remark;
        std::size_t kind;
    };
    const auto with = [](std::optional<std::string> function_keys::* key, const std::string& value) {
        function_keys stored;
        stored.*key = value;
        return stored;
    };
    auto rates = with(&function_keys::tx_rate_min, "2000");
    rates.tx_rate_max = "1000";
    const std::vector<row> rows{
        {with(&function_keys::vlan_id, "4095"), "/vf/x/config/vlan_id: expected a number from 0 to 4094, got `4095`",
         0},
        {with(&function_keys::vlan_id, ""), "/vf/x/config/vlan_id: expected a number from 0 to 4094, got ``", 0},
        {with(&function_keys::vlan_id, "-1"), "got `-1`", 0},
        {with(&function_keys::vlan_id, "+1"), "got `+1`", 0},
        {with(&function_keys::vlan_qos, "8"), "/vf/x/config/vlan_qos: expected a number from 0 to 7, got `8`", 0},
        {with(&function_keys::tx_rate_max, "1e3"), "/vf/x/config/tx_rate_max: expected a number", 1},
        {with(&function_keys::tx_rate_min, "4294967296"), "/vf/x/config/tx_rate_min: expected a number", 1},
        {rates, "/vf/x/config/tx_rate_min: expected at most tx_rate_max, which is 1000, got `2000`", 1},
        {with(&function_keys::link_state, "on"), "/vf/x/config/link_state: expected auto, enable or disable, got `on`",
         3},
    };
    for (const auto& one : rows) {
        const auto wanted = parse_function("/vf/x", one.stored);
        ASSERT_EQ(wanted.remarks.size(), 1U) << one.remark;
        EXPECT_NE(wanted.remarks[0].find(one.remark), std::string::npos) << wanted.remarks[0];
        EXPECT_EQ(wanted.settings.size(), 5U);
        for (const auto& setting : wanted.settings) {
            EXPECT_NE(setting.index(), one.kind);
        }
    }
}

settings plan(const function_keys& stored, const virtual_function& shown, const function_memory& known = {}) {
    return plan_function(parse_function("/vf/x", stored), shown, known);
}

TEST(function_settings, case_17_and_18_what_differs_is_set_with_both_values) {
    function_keys stored;
    EXPECT_TRUE(plan(stored, function_with_all()).empty());
    stored.vlan_id = "101";
    EXPECT_EQ(plan(stored, function_with_all()), (settings{function_vlan{101, 0}}));
    stored = {};
    stored.tx_rate_max = "1000";
    EXPECT_EQ(plan(stored, function_with_all()), (settings{function_rate{0, 1000}}));
    stored.tx_rate_min = "100";
    auto shown = function_with_all();
    shown.rate = function_rate{100, 0};
    EXPECT_EQ(plan(stored, shown), (settings{function_rate{100, 1000}}));  // the minimum of now
}

TEST(function_settings, a_limit_comes_before_a_minimum_that_is_raised) {
    function_keys stored;
    stored.tx_rate_min = "500";
    stored.tx_rate_max = "1000";
    auto shown = function_with_all();
    shown.rate = function_rate{100, 200};
    EXPECT_EQ(plan(stored, shown), (settings{function_rate{100, 1000}, function_rate{500, 1000}}));
    shown.rate = function_rate{100, 1000};
    EXPECT_EQ(plan(stored, shown), (settings{function_rate{500, 1000}}));
    shown.rate = function_rate{700, 2000};
    EXPECT_EQ(plan(stored, shown), (settings{function_rate{500, 1000}}));
}

TEST(function_settings, a_driver_that_shows_nothing_is_asked_once) {
    const virtual_function silent;
    function_memory known;
    const auto first = plan({}, silent, known);
    EXPECT_EQ(first.size(), 6U);
    for (const auto& one : first) {
        known.applied(one);
    }
    EXPECT_TRUE(plan({}, silent, known).empty());
    known.seen(silent);
    EXPECT_TRUE(plan({}, silent, known).empty());
    function_keys stored;
    stored.trust = "True";
    EXPECT_EQ(plan(stored, silent, known), (settings{function_trust{true}}));
    known.applied(function_trust{true});
    known.seen(silent);
    EXPECT_EQ(plan({}, silent, known), (settings{function_trust{false}}));
}

TEST(function_settings, one_that_takes_a_setting_and_shows_another_is_not_asked_again) {
    function_keys stored;
    stored.vlan_id = "101";
    const auto shown = function_with_all();
    function_memory known;
    known.applied(function_vlan{101, 0});
    EXPECT_TRUE(plan(stored, shown, known).empty()) << "before the look after it";
    known.seen(shown);
    EXPECT_TRUE(plan(stored, shown, known).empty());
    auto changed = shown;
    changed.vlan = function_vlan{7, 0};
    EXPECT_EQ(plan(stored, changed, known), (settings{function_vlan{101, 0}})) << "somebody else changed it";
    EXPECT_TRUE(known.was_applied(function_vlan{101, 0}));
    EXPECT_FALSE(known.was_applied(function_vlan{7, 0}));
}

TEST(function_settings, what_somebody_changed_is_set_again) {
    function_keys stored;
    stored.vlan_id = "101";
    auto shown = function_with_all();
    function_memory known;
    known.applied(function_vlan{101, 0});
    shown.vlan = function_vlan{101, 0};
    known.seen(shown);
    EXPECT_TRUE(plan(stored, shown, known).empty());
    shown.vlan = function_vlan();
    EXPECT_EQ(plan(stored, shown, known), (settings{function_vlan{101, 0}}));
}

TEST(function_settings, in_words) {
    EXPECT_EQ(to_text(function_setting(function_vlan{101, 3})), "VLAN 101, QoS 3");
    EXPECT_EQ(to_text(function_setting(function_rate{0, 1000})), "rate 0 to 1000 Mbit/s");
    EXPECT_EQ(to_text(function_setting(function_rate{5, 0})), "rate at least 5 Mbit/s, no limit");
    EXPECT_EQ(to_text(function_setting(function_spoof_check{true})), "spoof check on");
    EXPECT_EQ(to_text(function_setting(function_link::enable)), "link state enable");
    EXPECT_EQ(to_text(function_setting(function_trust{false})), "trust off");
    EXPECT_EQ(to_text(function_setting(function_query_rss{true})), "RSS query on");
    for (const auto& one : parse_function("/vf/x", {}).settings) {
        EXPECT_TRUE(is_plain(one));
    }
    EXPECT_FALSE(is_plain(function_rate{0, 1}) || is_plain(function_link::enable) || is_plain(function_trust{true}));
}

}  // namespace
}  // namespace pvc::policy
