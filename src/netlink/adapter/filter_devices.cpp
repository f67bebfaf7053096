#include "adapter/filter_devices.hpp"

#include "adapter/attributes.hpp"
#include "adapter/filter_messages.hpp"
#include "adapter/filter_socket.hpp"
#include "adapter/routing_socket.hpp"
#include "pvcnoded/netlink/filter_replies.hpp"
#include "pvcnoded/netlink/replies.hpp"

#include <endian.h>

// Before the kernel's own headers, which define what is in these again where they do not know of them.
#include <net/if.h>
#include <netinet/in.h>

#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace pvc::netlink {

namespace {

constexpr std::size_t most_filter_devices = 10'000;

struct meta_key {
    std::uint32_t number;
    std::string_view word;
    bool is_index;
};
constexpr std::array<meta_key, 4> keys_of_devices{{
    {NFT_META_IIFNAME, "iifname", false},
    {NFT_META_OIFNAME, "oifname", false},
    {NFT_META_IIF, "iif", true},
    {NFT_META_OIF, "oif", true},
}};

std::string_view family_word(std::uint8_t family) {
    switch (family) {
        case NFPROTO_INET: return "inet";
        case NFPROTO_IPV4: return "ip";
        case NFPROTO_IPV6: return "ip6";
        case NFPROTO_BRIDGE: return "bridge";
        case NFPROTO_NETDEV: return "netdev";
        default: return "of another family";
    }
}

// One expression after the other: what is loaded, and what that is compared with.
struct device_finder {
    const meta_key* loaded = nullptr;
    std::vector<std::pair<std::string, std::string>> found{};  // "iifname", "eth0"; "iifname !=" for all others

    bool take_meta(std::string_view data) {
        return read_all(data, [&](const attribute& one) {
            if (one.type == NFTA_META_KEY) {
                const auto number = be32toh(read_as<std::uint32_t>(one.value).value_or(0));
                const auto key = std::ranges::find(keys_of_devices, number, &meta_key::number);
                loaded = key == keys_of_devices.end() ? nullptr : &*key;
            }
            return true;
        });
    }
    bool take_compared(std::string_view data) {
        const auto* key = std::exchange(loaded, nullptr);
        bool is_equal = true;
        std::string_view compared;
        const bool is_well = read_all(data, [&](const attribute& one) {
            if (one.type == NFTA_CMP_OP) {
                is_equal = be32toh(read_as<std::uint32_t>(one.value).value_or(0)) == NFT_CMP_EQ;
            }
            return one.type != NFTA_CMP_DATA || read_all(one.value, [&](const attribute& value) {
                       compared = value.type == NFTA_DATA_VALUE ? value.value : compared;
                       return true;
                   });
        });
        if (is_well && key != nullptr && !compared.empty()) {
            add(*key, compared, is_equal);
        }
        return is_well;
    }
    void add(const meta_key& key, std::string_view value, bool is_equal) {
        std::string name;
        if (!key.is_index) {
            put_text(name, value);
        } else if (const auto index = read_as<std::uint32_t>(value)) {
            std::array<char, IF_NAMESIZE> room{};
            const auto* known = ::if_indextoname(*index, room.data());
            name = known == nullptr ? "" : known;
        }
        if (!name.empty()) {
            found.push_back({std::string(key.word) + (is_equal ? "" : " !="), std::move(name)});
        }
    }
    bool take(std::string_view expression) {
        std::string name;
        std::string_view data;
        const bool is_well = read_all(expression, [&](const attribute& one) {
            if (one.type == NFTA_EXPR_DATA) {
                data = one.value;
            }
            return one.type != NFTA_EXPR_NAME || put_text(name, one.value);
        });
        if (!is_well || (name != "meta" && name != "cmp")) {
            loaded = nullptr;
            return is_well;
        }
        return name == "meta" ? take_meta(data) : take_compared(data);
    }
};

}  // namespace

result<std::vector<device_rule>> parse_devices_of_rule(std::string_view body) {
    const auto head = read_as<nfgenmsg>(body);
    if (!head) {
        return malformed("a rule");
    }
    // Of a bridge, or before it, a port is what it was.
    if (head->nfgen_family == NFPROTO_BRIDGE || head->nfgen_family == NFPROTO_NETDEV) {
        return std::vector<device_rule>();
    }
    std::string table;
    std::string chain;
    device_finder devices;
    const bool is_well = read_all(body.substr(sizeof(nfgenmsg)), [&](const attribute& one) {
        switch (one.type) {
            case NFTA_RULE_TABLE: return put_text(table, one.value);
            case NFTA_RULE_CHAIN: return put_text(chain, one.value);
            case NFTA_RULE_EXPRESSIONS:
                return read_all(one.value, [&](const attribute& each) { return devices.take(each.value); });
            default: return true;
        }
    });
    if (!is_well) {
        return malformed("a rule");
    }
    std::vector<device_rule> all;
    for (const auto& [word, name] : devices.found) {
        all.push_back({name, fmt::format("{} {} in chain {} of table {} {}", word, name, chain,
                                         family_word(head->nfgen_family), table)});
    }
    return all;
}

namespace {

// Empty: rules changed meanwhile.
result<std::optional<std::vector<device_rule>>> dump_devices(filter_socket& socket, std::uint32_t sequence) {
    if (auto sent = socket.send(dump_all_rules_message(sequence)); !sent) {
        return std::move(sent).error();
    }
    std::vector<device_rule> found;
    bool is_torn = false;
    bool is_over = false;
    int error = 0;
    const auto received = socket.receive([&](std::string_view datagram) -> result<bool> {
        PVC_TRY(const auto read, read_datagram(datagram, sequence, socket.port()));
        is_torn = is_torn || read.is_interrupted || read.error == EINTR;
        is_over = is_over || read.is_over;
        error = read.error != 0 ? read.error : error;
        for (const auto& one : read.messages) {
            PVC_TRY(auto devices, parse_devices_of_rule(one.body));
            for (auto& each : devices) {
                if (found.size() < most_filter_devices && std::ranges::find(found, each) == found.end()) {
                    found.push_back(std::move(each));
                }
            }
        }
        return !read.is_over;
    });
    if (!received) {
        return received.error();
    }
    if (is_torn) {
        return std::nullopt;
    }
    if (error != 0 || !is_over) {
        const bool has_no_filters = error == EOPNOTSUPP || error == EINVAL || error == EPROTONOSUPPORT;
        return failure(has_no_filters ? errc::unavailable : errc::io, "rules of packet filters",
                       error != 0 ? error_text(error) : "the kernel did not tell all of them");
    }
    return found;
}

}  // namespace

result<std::vector<device_rule>> devices_in_filter() {
    constexpr std::uint32_t attempts = 4;
    PVC_TRY(const auto socket, filter_socket::open());
    for (std::uint32_t sequence = 1; sequence <= attempts; ++sequence) {
        PVC_TRY(auto found, dump_devices(*socket, sequence));
        if (found) {
            return *std::move(found);
        }
    }
    return failure(errc::io, "rules of packet filters", "they change all the time");
}

}  // namespace pvc::netlink
