#include "pvcnoded/model/node_record.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace pvc::model {
namespace {

node_facts facts_of(const std::string& node, daemon_mode mode) {
    return {node,        mode,       {"16", "5.10.0-26-amd64", "GNU/Linux", "x86_64"},
            "0.9.82",    "hv1-bmc",  "admin",
            "s\xc3\xa4", 1700000000, 10};
}

schema at(int version) {
    return *schema::of(version);
}

// The record as it lies in ZooKeeper after the first start.
stored_values stored(const schema& table, const node_facts& facts) {
    stored_values values;
    for (const auto& key : new_node_record(table, facts)) {
        values[key.path] = {key.value, 0};
    }
    return values;
}

const key_update* find(const std::vector<key_update>& sets, const std::string& suffix) {
    const auto found = std::ranges::find(sets, "/nodes/hv1" + suffix, &key_update::path);
    return found == sets.end() ? nullptr : &*found;
}

TEST(node_record, ac01_zk03_a_new_node_in_the_order_of_section_10) {
    const auto record = new_node_record(at(12), facts_of("hv1", daemon_mode::coordinator));
    const std::vector<key_value> expected = {
        {"/nodes/hv1", "coordinator"},
        {"/nodes/hv1/keepalive", "1700000000"},
        {"/nodes/hv1/daemonmode", "coordinator"},
        {"/nodes/hv1/activeschema", "12"},
        {"/nodes/hv1/latestschema", "10"},
        {"/nodes/hv1/staticdata", "16 5.10.0-26-amd64 GNU/Linux x86_64"},
        {"/nodes/hv1/pvcversion", "0.9.82"},
        {"/nodes/hv1/runningdomains", ""},
        {"/nodes/hv1/domainscount", "0"},
        {"/nodes/hv1/networkscount", "0"},
        {"/nodes/hv1/daemonstate", "init"},
        {"/nodes/hv1/routerstate", "secondary"},
        {"/nodes/hv1/domainstate", "flushed"},
        {"/nodes/hv1/cpuload", "0.0"},
        {"/nodes/hv1/vcpualloc", "0"},
        {"/nodes/hv1/memtotal", "0"},
        {"/nodes/hv1/memused", "0"},
        {"/nodes/hv1/memfree", "0"},
        {"/nodes/hv1/memalloc", "0"},
        {"/nodes/hv1/memprov", "0"},
        {"/nodes/hv1/ipmihostname", "hv1-bmc"},
        {"/nodes/hv1/ipmiusername", "admin"},
        {"/nodes/hv1/ipmipassword", "s\xc3\xa4"},
        {"/nodes/hv1/sriov", ""},
        {"/nodes/hv1/sriov/pf", ""},
        {"/nodes/hv1/sriov/vf", ""},
        {"/nodes/hv1/monitoring_plugins", ""},
        {"/nodes/hv1/monitoring_data", ""},
        {"/nodes/hv1/monitoring_health", ""},
        {"/nodes/hv1/network_stats", "{}"},
        {"/nodes/hv1/selfreset", "off"},
    };
    EXPECT_EQ(record, expected);
}

TEST(node_record, zk03_covers_every_node_key_of_the_table) {
    for (int version = 0; version <= 15; ++version) {
        const auto paths = node_record_paths(at(version), "hv1");
        EXPECT_EQ(paths.size(), at(version).keys(key_group::node).size() + 1) << version;  // and selfreset
        for (const auto* key : at(version).keys(key_group::node)) {
            EXPECT_NE(std::ranges::find(paths, node_path("hv1", key->suffix)), paths.end()) << key->id;
        }
    }
}

TEST(node_record, ac01_ac03_ac04_values) {
    const auto record = new_node_record(at(10), facts_of("hv4", daemon_mode::hypervisor));
    const auto value = [&record](const std::string& suffix) {
        return std::ranges::find(record, "/nodes/hv4" + suffix, &key_value::path)->value;
    };
    EXPECT_EQ(value("/daemonmode"), "hypervisor");
    EXPECT_EQ(value("/routerstate"), "client");
    EXPECT_EQ(value("/staticdata"), "16 5.10.0-26-amd64 GNU/Linux x86_64");
    EXPECT_EQ(value("/activeschema"), "10");
}

TEST(node_record, ac02_zk04_an_existing_node) {
    const auto table = at(10);
    auto facts = facts_of("hv1", daemon_mode::coordinator);
    auto values = stored(table, facts);
    values["/nodes/hv1/domainstate"] = {"ready", 4};
    values["/nodes/hv1/runningdomains"] = {"11111111-2222-4333-8444-555555555555", 9};
    values["/nodes/hv1/daemonstate"] = {"stop", 7};
    values["/nodes/hv1/routerstate"] = {"primary", 3};
    values["/nodes/hv1/memtotal"] = {"16000", 5};
    values["/nodes/hv1/keepalive"] = {"1699999999", 5};
    facts.statics.kernel = "6.1.0";
    facts.ipmi_username = "other";
    const auto updates = existing_node_updates(table, facts, values);
    EXPECT_TRUE(updates.creates.empty());
    std::vector<std::string> suffixes;
    for (const auto& set : updates.sets) {
        suffixes.push_back(set.path.substr(std::string("/nodes/hv1").size()));
    }
    EXPECT_EQ(suffixes, (std::vector<std::string>{"", "/daemonmode", "/activeschema", "/latestschema", "/staticdata",
                                                  "/pvcversion", "/daemonstate", "/routerstate", "/ipmihostname",
                                                  "/ipmiusername", "/ipmipassword"}));
    EXPECT_EQ(find(updates.sets, "/staticdata")->value, "16 6.1.0 GNU/Linux x86_64");
    EXPECT_EQ(find(updates.sets, "/ipmiusername")->value, "other");
    EXPECT_EQ(*find(updates.sets, "/daemonstate"), (key_update{"/nodes/hv1/daemonstate", "init", 7}));
    EXPECT_EQ(*find(updates.sets, "/routerstate"), (key_update{"/nodes/hv1/routerstate", "secondary", 3}));
    EXPECT_EQ(find(updates.sets, "/staticdata")->version, std::nullopt);
}

TEST(node_record, a_record_of_the_reference_is_completed_and_repaired) {
    const auto table = at(10);
    const auto facts = facts_of("hv1", daemon_mode::coordinator);
    auto values = stored(table, facts);
    for (const auto* suffix : {"/activeschema", "/latestschema", "/sriov", "/sriov/pf", "/sriov/vf", "/selfreset"}) {
        values.erase(std::string("/nodes/hv1") + suffix);
    }
    values["/nodes/hv1/runningdomains"] = {"0 11111111-2222-4333-8444-555555555555", 2};
    values["/nodes/hv1/memfree"] = {"", 1};
    values["/nodes/hv1/cpuload"] = {"None", 1};
    values["/nodes/hv1/domainstate"] = {"", 1};
    const auto updates = existing_node_updates(table, facts, values);
    EXPECT_EQ(updates.creates, (std::vector<key_value>{{"/nodes/hv1/activeschema", "10"},
                                                       {"/nodes/hv1/latestschema", "10"},
                                                       {"/nodes/hv1/sriov", ""},
                                                       {"/nodes/hv1/sriov/pf", ""},
                                                       {"/nodes/hv1/sriov/vf", ""},
                                                       {"/nodes/hv1/selfreset", "off"}}));
    EXPECT_EQ(*find(updates.sets, "/runningdomains"),
              (key_update{"/nodes/hv1/runningdomains", "11111111-2222-4333-8444-555555555555", 2}));
    EXPECT_EQ(find(updates.sets, "/memfree")->value, "0");
    EXPECT_EQ(find(updates.sets, "/cpuload")->value, "0.0");
    EXPECT_EQ(*find(updates.sets, "/domainstate"), (key_update{"/nodes/hv1/domainstate", "flushed", 1}));
}

TEST(node_record, ac113_a_lease_of_the_previous_boot_is_taken_back) {
    const auto table = at(10);
    const auto facts = facts_of("hv1", daemon_mode::coordinator);
    auto values = stored(table, facts);
    values["/nodes/hv1/selfreset"] = {"armed 40", 12};
    EXPECT_EQ(find(existing_node_updates(table, facts, values).sets, "/selfreset")->value, "off");
}

TEST(node_record, keys_of_later_versions_are_left_out) {
    const auto record = new_node_record(at(0), facts_of("hv1", daemon_mode::coordinator));
    for (const auto* suffix : {"/sriov", "/pvcversion", "/monitoring_plugins", "/network_stats"}) {
        EXPECT_EQ(std::ranges::find(record, std::string("/nodes/hv1") + suffix, &key_value::path), record.end());
    }
}

}  // namespace
}  // namespace pvc::model
