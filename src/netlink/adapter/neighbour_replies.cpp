#include "adapter/attributes.hpp"
#include "pvcnoded/netlink/replies.hpp"

#include <linux/neighbour.h>
#include <sys/socket.h>

namespace pvc::netlink {

namespace {

template <class Address>
bool take_neighbour_address(std::optional<ip::address>& to, std::string_view bytes) {
    const auto read = read_as<typename Address::bytes_type>(bytes);
    to = read ? std::optional<ip::address>(Address(*read)) : std::nullopt;
    return read.has_value();
}

}  // namespace

// Those that a routing daemon was told by others (EVPN) are its own.
result<std::optional<model::link_neighbour>> parse_neighbour(std::string_view body) {
    const auto head = read_as<ndmsg>(body);
    if (!head) {
        return malformed("a neighbour");
    }
    const bool is_v4 = head->ndm_family == AF_INET;
    const bool is_proxy = (head->ndm_flags & NTF_PROXY) != 0;
    const bool is_given =
        is_proxy || ((head->ndm_state & NUD_PERMANENT) != 0 && (head->ndm_flags & NTF_EXT_LEARNED) == 0);
    if ((!is_v4 && head->ndm_family != AF_INET6) || !is_given || head->ndm_ifindex <= 0) {
        return std::nullopt;
    }
    std::optional<ip::address> address;
    std::optional<model::hardware_address> hardware;
    const bool is_well = read_all(body.substr(sizeof(ndmsg)), [&](const attribute& one) {
        if (one.type == NDA_DST) {
            return is_v4 ? take_neighbour_address<ip::address_v4>(address, one.value)
                         : take_neighbour_address<ip::address_v6>(address, one.value);
        }
        if (one.type == NDA_LLADDR && one.value.size() == std::tuple_size_v<model::hardware_address>) {
            hardware = read_as<model::hardware_address>(one.value);
        }
        return true;
    });
    if (!is_well) {
        return malformed("a neighbour");
    }
    if (!address || (!hardware && !is_proxy)) {
        return std::nullopt;  // of a link that is no Ethernet
    }
    return model::link_neighbour{head->ndm_ifindex,
                                 {.address = *address,
                                  .hardware = is_proxy ? model::hardware_address() : *hardware,
                                  .is_proxy = is_proxy,
                                  .is_router = (head->ndm_flags & NTF_ROUTER) != 0}};
}

}  // namespace pvc::netlink
