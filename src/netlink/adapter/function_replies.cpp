#include "adapter/attributes.hpp"
#include "pvcnoded/netlink/replies.hpp"

#include <fmt/format.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>

#include <algorithm>
#include <utility>

namespace pvc::netlink {

namespace {

// As the kernel says that the driver told nothing.
constexpr std::uint32_t not_told = 0xffffffff;

// All structures begin with the number of the function.
template <class Structure>
std::optional<Structure> read_of(int& index, std::string_view bytes) {
    const auto value = read_as<Structure>(bytes);
    if (value) {
        index = static_cast<int>(value->vf);
    }
    return value;
}

bool put_switch(std::optional<bool>& field, std::uint32_t setting) {
    field = setting == not_told ? std::nullopt : std::optional(setting != 0);
    return true;
}

bool put_mac(model::virtual_function& to, std::string_view bytes) {
    const auto told = read_of<ifla_vf_mac>(to.index, bytes);
    if (told) {
        const auto& mac = told->mac;
        to.mac =
            fmt::format("{:02x}:{:02x}:{:02x}:{:02x}:{:02x}:{:02x}", mac[0], mac[1], mac[2], mac[3], mac[4], mac[5]);
    }
    return told.has_value();
}

// The first one of the list.
bool put_vlans(model::virtual_function& to, std::string_view bytes) {
    bool is_first = true;
    return read_all(bytes, [&](const attribute& one) {
        if (one.type != IFLA_VF_VLAN_INFO || !std::exchange(is_first, false)) {
            return true;
        }
        const auto told = read_of<ifla_vf_vlan_info>(to.index, one.value);
        if (told) {
            to.vlan = model::function_vlan{told->vlan, told->qos};
        }
        return told.has_value();
    });
}

bool put_vlan(model::virtual_function& to, std::string_view bytes) {
    const auto told = read_of<ifla_vf_vlan>(to.index, bytes);
    if (told && !to.vlan) {  // a list of them, wherever it stands, says more
        to.vlan = model::function_vlan{told->vlan, told->qos};
    }
    return told.has_value();
}

bool put_rate(model::virtual_function& to, std::string_view bytes) {
    const auto told = read_of<ifla_vf_rate>(to.index, bytes);
    if (told) {
        to.rate = model::function_rate{told->min_tx_rate, told->max_tx_rate};
    }
    return told.has_value();
}

bool put_link(model::virtual_function& to, std::string_view bytes) {
    const auto told = read_of<ifla_vf_link_state>(to.index, bytes);
    if (told && told->link_state <= static_cast<std::uint32_t>(model::function_link::disable)) {
        to.link_state = static_cast<model::function_link>(told->link_state);
    }
    return told.has_value();
}

bool take_function(model::virtual_function& to, std::string_view bytes) {
    return read_all(bytes, [&](const attribute& one) {
        switch (one.type) {
            case IFLA_VF_MAC: return put_mac(to, one.value);
            case IFLA_VF_VLAN_LIST: return put_vlans(to, one.value);
            case IFLA_VF_VLAN: return put_vlan(to, one.value);
            case IFLA_VF_RATE: return put_rate(to, one.value);
            case IFLA_VF_LINK_STATE: return put_link(to, one.value);
            case IFLA_VF_SPOOFCHK: {
                const auto told = read_of<ifla_vf_spoofchk>(to.index, one.value);
                return told && put_switch(to.spoof_check, told->setting);
            }
            case IFLA_VF_TRUST: {
                const auto told = read_of<ifla_vf_trust>(to.index, one.value);
                return told && put_switch(to.trust, told->setting);
            }
            case IFLA_VF_RSS_QUERY_EN: {
                const auto told = read_of<ifla_vf_rss_query_en>(to.index, one.value);
                return told && put_switch(to.query_rss, told->setting);
            }
            default: return true;
        }
    });
}

bool take_functions(model::physical_function& to, std::string_view bytes) {
    return read_all(bytes, [&](const attribute& one) {
        if (one.type != IFLA_VF_INFO) {
            return true;
        }
        model::virtual_function function;
        function.index = -1;
        if (!take_function(function, one.value) || function.index < 0) {
            return false;
        }
        to.functions.push_back(std::move(function));
        return true;
    });
}

}  // namespace

result<model::physical_function> parse_functions(std::string_view body) {
    const auto head = read_as<ifinfomsg>(body);
    if (!head) {
        return malformed("virtual functions of a card");
    }
    model::physical_function to;
    to.link = head->ifi_index;
    const bool is_well = read_all(body.substr(sizeof(ifinfomsg)), [&](const attribute& one) {
        switch (one.type) {
            case IFLA_IFNAME: return put_text(to.name, one.value);
            case IFLA_MTU: return put<std::uint32_t>(to.mtu, one.value);
            case IFLA_VFINFO_LIST: return take_functions(to, one.value);
            default: return true;
        }
    });
    if (!is_well || to.name.empty() || to.link <= 0) {
        return malformed("virtual functions of a card");
    }
    std::ranges::sort(to.functions, {}, &model::virtual_function::index);
    const auto again = std::ranges::unique(to.functions, {}, &model::virtual_function::index);
    to.functions.erase(again.begin(), again.end());
    return to;
}

}  // namespace pvc::netlink
