// What clients store below /networks/<vni>. An input is the name, and then a line for each key: its path, "=", its
// value (in which "\n" cannot be; a NUL stands for it). Covers: src/model/client_network.cpp, network_acls.cpp
#include "fuzz_support.hpp"
#include "pvcnoded/model/client_network.hpp"

#include <set>
#include <string>
#include <vector>

using namespace pvc::model;

static void check_family(const network_family& family, bool is_v6) {
    const auto is_of_it = [&](const auto& address) { return !address || address->is_v6() == is_v6; };
    PVC_ASSERT(is_of_it(family.gateway) && is_of_it(family.dhcp_start) && is_of_it(family.dhcp_end));
    PVC_ASSERT(family.network || (!family.gateway && !family.dhcp_start && !family.dhcp_end));
    if (family.network) {
        const auto read = pvc::parse_host_address(family.network->text());
        PVC_ASSERT(read && *read == *family.network && family.network->prefix > 0);
        PVC_ASSERT(family.network->address.is_v6() == is_v6);
    }
}

static void check_acls(const std::vector<network_acl>& acls, bool is_managed) {
    PVC_ASSERT(acls.size() <= 4096 && (is_managed || acls.empty()));
    std::set<std::string> names;
    for (const auto& one : acls) {
        PVC_ASSERT(!one.name.empty() && one.name.find('/') == std::string::npos && one.rule.size() <= 1025);
        PVC_ASSERT(names.insert(one.name).second);
    }
}

static void check_network(const client_network& network, std::string_view name) {
    PVC_ASSERT(std::to_string(network.vni) == name);
    const bool is_managed = network.type == network_type::managed;
    PVC_ASSERT(network.vni >= 1 && network.vni <= (is_managed ? 16'777'215U : 4094U));
    PVC_ASSERT(vni_of(network.bridge(), "vmbr") == network.vni && network.bridge().size() < 16);
    PVC_ASSERT(vni_of(network.base(), is_managed ? "vxlan" : "vlan") == network.vni && network.base().size() < 16);
    PVC_ASSERT(!network.mtu || (*network.mtu >= 68 && network.has_mtu_text));
    PVC_ASSERT(pvc::fuzz::is_one_line(network.description) && network.description.size() <= 256);
    PVC_ASSERT(pvc::fuzz::is_printable_ascii(network.domain) && network.domain.size() <= 253);
    PVC_ASSERT(network.name_servers.size() <= 32);
    for (const auto& one : network.name_servers) {
        PVC_ASSERT(one.find_first_of(", '\"\\/;$\n") == std::string::npos && one.find('.') != std::string::npos);
    }
    check_family(network.ip4, false);
    check_family(network.ip6, true);
    check_acls(network.acls_in, is_managed);
    check_acls(network.acls_out, is_managed);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    auto rest = pvc::fuzz::text_of(data, size);
    const auto name = pvc::fuzz::take_until(rest, '\n');
    std::map<std::string, std::string, std::less<>> keys;
    while (!rest.empty()) {
        auto line = pvc::fuzz::take_until(rest, '\n');
        const auto key = pvc::fuzz::take_until(line, '=');
        std::string value(line);
        std::ranges::replace(value, '\0', '\n');
        keys[std::string(key)] = std::move(value);
    }
    const auto parsed = parse_client_network(name, keys);
    PVC_ASSERT(parsed.network || !parsed.remarks.empty());
    PVC_ASSERT(parsed.remarks.size() < 32);
    for (const auto& remark : parsed.remarks) {
        PVC_ASSERT(pvc::fuzz::is_one_line(remark) && remark.size() < 300 && remark.starts_with("/networks/"));
    }
    if (parsed.network) {
        check_network(*parsed.network, name);
    }
    return 0;
}
