// What the kernel says over a routing socket: the first byte of the input chooses what it is taken for, a datagram or
// the body of one of its messages.
// Covers: src/netlink/adapter/replies.cpp src/netlink/adapter/counter_replies.cpp
// Covers: src/netlink/adapter/function_replies.cpp src/netlink/adapter/other_replies.cpp
#include "fuzz_support.hpp"
#include "pvcnoded/netlink/replies.hpp"

using namespace pvc;

static void check_link(std::string_view body) {
    const auto read = netlink::parse_link(body);
    if (!read || !*read) {
        return;
    }
    const auto& link = (*read)->link;
    PVC_ASSERT(!link.name.empty() && link.index > 0);
    PVC_ASSERT(!link.vxlan || link.kind == "vxlan");
    PVC_ASSERT(!link.vlan_id || link.kind == "vlan");
}

static void check_address(std::string_view body) {
    const auto read = netlink::parse_link_address(body);
    if (read && *read) {
        const auto& one = (*read)->address;
        PVC_ASSERT(one.prefix >= 0 && one.prefix <= (one.address.is_v4() ? 32 : 128));
        const auto again = parse_host_address(one.text());  // what is told can be written in a configuration
        PVC_ASSERT(again && *again == one);
    }
}

static void check_routes(std::string_view body) {
    const auto read = netlink::parse_default_route(body);
    PVC_ASSERT(!read || read->size() <= 1 + body.size() / 8);
    PVC_ASSERT(!netlink::is_default_route(body) || body.size() > 1);
    const auto link = netlink::link_of_route(body);
    const auto over_links = netlink::parse_link_routes(body);
    // A route that leads nowhere (blackhole and its like) needs no device; it says so itself.
    const auto has_its_device = [](const model::link_route& one) { return one.link != 0 || !one.more.empty(); };
    if (over_links && over_links->size() == 1 && link) {
        PVC_ASSERT(has_its_device(over_links->front()));
    }
    PVC_ASSERT(!over_links || over_links->size() <= 1 + body.size() / 8);
    if (over_links) {
        for (const auto& one : *over_links) {
            PVC_ASSERT(has_its_device(one) && one.is.to.prefix <= (one.is.to.address.is_v4() ? 32 : 128));
        }
    }
    if (const auto connected = netlink::parse_connected_route(body); connected && *connected) {
        PVC_ASSERT((*connected)->link != 0 &&
                   (*connected)->network.prefix <= ((*connected)->network.address.is_v4() ? 32 : 128));
    }
    if (const auto neighbour = netlink::parse_neighbour(body); neighbour && *neighbour) {
        PVC_ASSERT((*neighbour)->link > 0);
        PVC_ASSERT(!(*neighbour)->is.is_proxy || (*neighbour)->is.hardware == model::hardware_address());
    }
    const auto queue = netlink::parse_filtering_queue(body);
    PVC_ASSERT(!queue || *queue >= 0);
}

static void check_counters(std::string_view body) {
    const auto read = netlink::parse_link_counters(body);
    PVC_ASSERT(!read || (!read->name.empty() && read->index > 0 && !read->state.empty()));
}

static void check_functions(std::string_view body) {
    const auto read = netlink::parse_functions(body);
    if (!read) {
        return;
    }
    PVC_ASSERT(!read->name.empty() && read->link > 0 && read->functions.size() <= body.size() / 8);
    int before = -1;
    for (const auto& one : read->functions) {
        PVC_ASSERT(one.index > before && (one.mac.empty() || one.mac.size() == 17));
        before = one.index;
    }
}

static void check_datagram(std::string_view bytes) {
    const auto read = netlink::read_datagram(bytes, 7, 42);
    if (!read) {
        return;
    }
    PVC_ASSERT(read->error >= 0 && read->error < 4096);
    PVC_ASSERT(read->is_over || (read->error == 0 && read->sentence.empty()));
    for (const auto& one : read->messages) {
        PVC_ASSERT(one.body.data() >= bytes.data() && one.body.data() + one.body.size() <= bytes.data() + bytes.size());
        check_link(one.body);
        check_counters(one.body);
        check_functions(one.body);
        check_address(one.body);
        check_routes(one.body);
    }
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    auto rest = fuzz::text_of(data, size);
    switch (fuzz::take_byte(rest) % 6) {
        case 0: check_datagram(rest); break;
        case 1: check_link(rest); break;
        case 2: check_address(rest); break;
        case 3: check_routes(rest); break;
        case 4: check_counters(rest); break;
        default: check_functions(rest); break;
    }
    return 0;
}
