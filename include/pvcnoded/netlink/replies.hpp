// What the kernel says over a routing socket, read: bytes in, values or a failure (io, with what was wrong) out. Total,
// whatever the bytes are, and in time linear in their number. Specification: networking.md 2; runtime-design.md 4.
#pragma once

#include "pvcnoded/base/result.hpp"
#include "pvcnoded/model/link_counters.hpp"
#include "pvcnoded/model/network_state.hpp"
#include "pvcnoded/model/virtual_functions.hpp"
#include "pvcnoded/netlink/announcement.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pvc::netlink {

struct reply_message {
    std::uint16_t type = 0;  // RTM_NEWLINK, …
    std::string_view body;   // without the header of the message; of the datagram's memory
};

// Of one datagram, what answers one request.
struct reply_datagram {
    std::vector<reply_message> messages;
    bool is_over = false;         // the acknowledgement, the refusal or the end of the dump is in it
    bool is_interrupted = false;  // something changed while it was dumped: what was told does not fit together
    int error = 0;                // errno; 0: done
    std::string sentence;         // the kernel's own words; "": none
};

// Messages of another request (`sequence`) or to another socket (`port`) are passed over.
[[nodiscard]] result<reply_datagram> read_datagram(std::string_view bytes, std::uint32_t sequence, std::uint32_t port);

// Of one datagram, what the kernel says to the messages of a batch, in its order: refusals, and what it was asked to
// acknowledge.
struct acknowledgement {
    std::uint32_t sequence = 0;
    int error = 0;  // errno; 0: done
    std::string sentence;
};
[[nodiscard]] result<std::vector<acknowledgement>> read_acknowledgements(std::string_view bytes, std::uint32_t port);

struct kernel_link {
    model::network_link link;
    std::optional<hardware_address> hardware;  // of Ethernet devices
};

// Bodies of RTM_NEWLINK, RTM_NEWADDR and RTM_NEWROUTE. Empty: it is none that is asked for (another family, another
// table, not a default route).
[[nodiscard]] result<std::optional<kernel_link>> parse_link(std::string_view body);
[[nodiscard]] result<std::optional<model::link_address>> parse_link_address(std::string_view body);
// IPv4. One for each gateway; a default route without one has that of 0.0.0.0, and link 0 if it has no device.
[[nodiscard]] result<std::vector<model::default_route>> parse_default_route(std::string_view body);

// Of both families, all tables: those that somebody made over a link (model/network_state.hpp), each hop by itself.
[[nodiscard]] result<std::vector<model::link_route>> parse_link_routes(std::string_view body);

// The same, of those that the kernel makes with an address, in the main table; empty: it is none.
[[nodiscard]] result<std::optional<model::connected_route>> parse_connected_route(std::string_view body);

// Body of RTM_NEWADDR: whether it came a moment ago, so that its route may still be to come. `now`: hundredths of
// seconds that the kernel has run.
[[nodiscard]] bool is_new_address(std::string_view body, std::uint32_t now);
// Likewise: of IPv6, whether it is not used yet, as it is new or another machine may have it, or never, as one has it.
[[nodiscard]] bool is_tentative_address(std::string_view body, std::uint32_t now);

// Body of RTM_NEWROUTE: the link and the address of this machine to which the kernel's own route (table local) leads;
// empty: it is another one.
struct local_address {
    int link = 0;
    ip::address address;
};
[[nodiscard]] result<std::optional<local_address>> parse_local_route(std::string_view body);

// Body of RTM_NEWNEIGH: one that somebody entered for good, or a proxy; empty: it is another one.
[[nodiscard]] result<std::optional<model::link_neighbour>> parse_neighbour(std::string_view body);

// Body of RTM_NEWRULE: the devices that it names, "" where it names none; and the rule in words.
struct named_rule {
    std::string in;
    std::string out;
    std::string text;  // "ip rule 77 (oif eth0, table 100)"
};
[[nodiscard]] result<named_rule> parse_rule(std::string_view body);

// Body of RTM_NEWQDISC: the link on which it has packets looked at as they come or go (ingress, clsact); 0: it does
// not.
[[nodiscard]] result<int> parse_filtering_queue(std::string_view body);

// Bodies of RTM_NEWROUTE, without a closer look: whether it leads everywhere; the one link that it leads over (empty:
// none, or several).
[[nodiscard]] bool is_default_route(std::string_view body);
[[nodiscard]] std::optional<int> link_of_route(std::string_view body);
// Of those of one place the kernel tells one after the other, in the order in which it takes them.
struct place_of_route {
    std::uint32_t table = 0;
    std::uint32_t metric = 0;
    std::uint8_t length = 0;
    std::uint8_t tos = 0;
    std::array<char, 16> to{};

    friend bool operator==(const place_of_route&, const place_of_route&) = default;
};
[[nodiscard]] place_of_route read_place_of_route(std::string_view body);

// Body of RTM_NEWLINK, as far as counters go.
[[nodiscard]] result<model::link_counters> parse_link_counters(std::string_view body);
// The same, as far as virtual functions go: without their PCI addresses, by index, each once.
[[nodiscard]] result<model::physical_function> parse_functions(std::string_view body);

}  // namespace pvc::netlink
