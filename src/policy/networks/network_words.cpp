#include "pvcnoded/policy/networks/network_words.hpp"

#include "own_links.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace pvc::policy {

namespace {

// "its gateway 10.1.1.1/24", "its gateways fd00::1/64 and 10.1.1.1/24"; "": it has none.
std::string gateways_of(const model::client_network& network) {
    std::string all;
    std::string_view begin = "its gateway ";
    for (const auto* family : {&network.ip6, &network.ip4}) {
        if (const auto gateway = family->gateway_address(); gateway && network.type == model::network_type::managed) {
            begin = all.empty() ? begin : "its gateways ";
            all += (all.empty() ? "" : " and ") + gateway->text();
        }
    }
    return all.empty() ? all : std::string(begin) + all;
}

bool is_one(std::string_view gateways) {
    return gateways.starts_with("its gateway ");
}

}  // namespace

std::string lost_by_key(std::uint32_t vni, std::string_view remark) {
    static constexpr std::array<std::pair<std::string_view, std::string_view>, 4> keys{{
        {"ip4_network", "IPv4"},
        {"ip4_gateway", "IPv4"},
        {"ip6_network", "IPv6"},
        {"ip6_gateway", "IPv6"},
    }};
    for (const auto& [key, family] : keys) {
        if (remark.starts_with(fmt::format("/networks/{}/{}: ", vni, key))) {
            return fmt::format(": it has no {} gateway", family);
        }
    }
    return {};
}

std::string words_of_unusable(std::uint32_t vni, const model::client_network* stays) {
    if (stays == nullptr) {
        return fmt::format(": it is not set up, and has no gateway; machines in {} are filtered", bridge_name(vni));
    }
    std::string begin = ": it stays as it was";
    if (stays->type == model::network_type::bridged) {
        return begin;
    }
    const auto gateways = gateways_of(*stays);
    return begin + (gateways.empty() ? ", with its rules" : fmt::format(", with {} and its rules", gateways));
}

std::string words_of_refusal(const model::client_network& wanted, const model::client_network* served) {
    const bool goes_on = served != nullptr && served->type == model::network_type::managed;
    if (!goes_on && wanted.type != model::network_type::managed) {
        return {};
    }
    const auto gateways = gateways_of(goes_on ? *served : wanted);
    const std::string filtered =
        fmt::format("machines in {} are filtered, unless this host is reached over it", wanted.bridge());
    if (gateways.empty()) {
        return ": " + filtered;
    }
    const auto* const become = goes_on ? (is_one(gateways) ? "stays" : "stay")
                                       : (is_one(gateways) ? "is not set on this node" : "are not set on this node");
    return fmt::format(": {} {}, and {}", gateways, become, filtered);
}

std::vector<std::string> strange_addresses(const model::client_network& network, const model::network_state& seen) {
    std::vector<std::string> all;
    const auto* bridge = network.type == model::network_type::bridged ? seen.find(network.bridge()) : nullptr;
    for (const auto& one : bridge == nullptr ? std::vector<model::link_address>() : seen.addresses_of(bridge->index)) {
        if (is_given(one)) {
            all.push_back(
                fmt::format("network {}: {} has {}, which is nobody's of the cluster: it stays, and when the network "
                            "goes its links stay with it",
                            network.vni, bridge->name, one.address.text()));
        }
    }
    return all;
}

}  // namespace pvc::policy
