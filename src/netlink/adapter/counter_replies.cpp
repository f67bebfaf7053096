#include "adapter/attributes.hpp"
#include "pvcnoded/netlink/replies.hpp"

#include <linux/if_link.h>
#include <linux/rtnetlink.h>

#include <array>

namespace pvc::netlink {

namespace {

// RFC 2863, by number, in the words of /sys.
constexpr std::array<std::string_view, 7> states{"unknown", "notpresent", "down", "lowerlayerdown",
                                                 "testing", "dormant",    "up"};

// The kernel appends what is new to the structure: the first four are in all of them.
bool put_counters(model::link_counters& to, std::string_view bytes) {
    constexpr std::size_t each = sizeof(std::uint64_t);
    return put<std::uint64_t>(to.rx_packets, bytes) && put<std::uint64_t>(to.tx_packets, bytes.substr(each)) &&
           bytes.size() >= 4 * each && put<std::uint64_t>(to.rx_bytes, bytes.substr(2 * each)) &&
           put<std::uint64_t>(to.tx_bytes, bytes.substr(3 * each));
}

bool put_state(std::string& field, std::string_view bytes) {
    std::uint8_t number = 0;
    if (!put<std::uint8_t>(number, bytes)) {
        return false;
    }
    field = number < states.size() ? states[number] : states[0];
    return true;
}

}  // namespace

result<model::link_counters> parse_link_counters(std::string_view body) {
    const auto head = read_as<ifinfomsg>(body);
    if (!head) {
        return malformed("counters of a link");
    }
    model::link_counters to;
    to.index = head->ifi_index;
    bool has_counters = false;
    const bool is_well = read_all(body.substr(sizeof(ifinfomsg)), [&](const attribute& one) {
        switch (one.type) {
            case IFLA_IFNAME: return put_text(to.name, one.value);
            case IFLA_OPERSTATE: return put_state(to.state, one.value);
            case IFLA_STATS64: return has_counters = put_counters(to, one.value);
            default: return true;
        }
    });
    if (!is_well || !has_counters || to.name.empty() || to.index <= 0) {
        return malformed("counters of a link");
    }
    return to;
}

}  // namespace pvc::netlink
