// Devices and floating addresses that cannot be: each one error that names the key, with networking alone
// (config.md 3.1, 5.2, 5.7).
#include "config_test_support.hpp"

namespace pvc::config::test {
namespace {

const std::string of_cluster = "        cluster:\n          device: ens4\n";

std::string with_device(const std::string& name) {
    return base_with(of_cluster, "        cluster:\n          device: " + name + "\n");
}

// The one message that there is, without its end; "" if it is accepted.
std::string refused(const std::string& text, const std::string& node = "pvchv1") {
    const auto got = load(text, node);
    if (got.config) {
        EXPECT_EQ(messages(got), lines{});
        return "";
    }
    EXPECT_EQ(messages(got).size(), 1U) << ::testing::PrintToString(messages(got));
    const auto message = messages(got).front();
    return message.substr(0, message.find(';'));
}

TEST(devices, that_no_host_has) {
    struct row {
        std::string name, why;
    };
    const std::vector<row> table{
        {"null", "a word for none"},
        {"~", "a word for none"},
        {"None", "a word for none"},
        {"none", "a word for none"},
        {"\"NULL\"", "a word for none"},
        {"5", "not a string"},
        {"True", "not a string"},
        {"1.5", "not a string"},
        {"[ens4]", "not a string"},
        {"lo", "the loopback device"},
        {"all", "the kernel's word for the settings of many devices"},
        {"default", "the kernel's word for the settings of many devices"},
        {"vmbr1001", "a name that the daemon gives to links of client networks"},
        {"vxlan7", "a name that the daemon gives to links of client networks"},
        {"ens4/0", "not a device name"},
        {"\"ens 4\"", "not a device name"},
        {"\"ens\\t4\"", "not a device name"},
        {"\"\"", "empty"},
        {"a234567890123456", "not a device name"},
        {"brcluster", "not a device name"},
        {"brstorage", "not a device name"},
        {"brupstream", "not a device name"},
        {"..", "not a device name"},
    };
    for (const auto& row : table) {
        const auto said = refused(with_device(row.name));
        EXPECT_TRUE(said.ends_with(networking + "cluster.device: " + row.why)) << row.name << ": " << said;
    }
}

TEST(devices, that_a_host_can_have) {
    for (const std::string name : {"eth0.100", "bond0", "vlan1000", "enp1s0f0np0", "\"5\"", "vmbr", "vxlan", "vmbr1x",
                                   "br0", "team0", "lo1", "nullmodem", "a23456789012345", "enx001122aabbcc"}) {
        const auto text = with_device(name);
        EXPECT_EQ(refused(text), "") << name;
    }
}

TEST(devices, of_bridged_networks_and_functions) {
    const std::string trunk = "        bridge_device: ens4\n";
    EXPECT_NE(refused(base_with(trunk, "        bridge_device: lo\n")).find("bridge_device: the loopback device"),
              std::string::npos);
    EXPECT_NE(refused(base_with(trunk, "        bridge_device: 5\n")).find("bridge_device: not a string"),
              std::string::npos);
    const auto none = load(base_with(trunk, "        bridge_device: null\n"));
    EXPECT_TRUE(none.config);  // the key may be None
}

TEST(devices, without_networking_are_nobodys_business) {
    auto text = edited(with_device("lo"), "enable_networking: True", "enable_networking: False");
    text = edited(text, "\"10.255.0.254/24\"", "\"10.255.0.2/24\"");
    EXPECT_TRUE(load(text).config);
}

TEST(floating_ip, of_nobody_else) {
    const auto with = [](const std::string& address) { return base_with("\"10.255.0.254/24\"", '"' + address + '"'); };
    EXPECT_EQ(refused(with("10.255.0.253/24")), "");
    const std::string key = "pvc.cluster.networks.cluster.floating_ip: ";
    EXPECT_NE(refused(with("10.255.0.2/24")).find(key + "the address that the coordinator pvchv2 has by its id"),
              std::string::npos);
    // The node's own is said where its address stands.
    EXPECT_NE(refused(with("10.255.0.1/24")).find("cluster.address: equal to the floating IP"), std::string::npos);
    // Who has a fixed address knows nothing of the others'.
    const std::string fixed = "        cluster:\n          device: ens4\n          mtu: 1500\n          address: ";
    EXPECT_EQ(refused(edited(with("10.255.0.2/24"), fixed + "by-id", fixed + "10.255.0.77/24")), "");
    const auto metadata = edited(with("169.254.169.254/16"), "\"10.255.0.0/24\"", "\"169.254.0.0/16\"");
    EXPECT_NE(refused(metadata).find(key + "the address of the metadata service"), std::string::npos);
}

}  // namespace
}  // namespace pvc::config::test
