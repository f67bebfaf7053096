// What the kernel says of its packet filter: the first byte of the input chooses what it is taken for, a datagram of
// acknowledgements, the body of a message, or the data that is kept beside a rule.
// Covers: src/netlink/adapter/filter_replies.cpp src/netlink/adapter/replies.cpp
#include "fuzz_support.hpp"
#include "pvcnoded/netlink/filter_replies.hpp"
#include "pvcnoded/netlink/replies.hpp"

using namespace pvc;

static void check_tag(std::string_view entries) {
    const auto tag = netlink::tag_in(entries);
    PVC_ASSERT(tag.size() <= netlink::tag_max);
    PVC_ASSERT(tag.empty() || entries.find(tag) != std::string_view::npos);
    PVC_ASSERT(netlink::tag_in(netlink::tag_entries(entries)) == entries.substr(0, netlink::tag_max));
}

static void check_table(std::string_view body) {
    const auto read = netlink::parse_filter_table(body);
    PVC_ASSERT(!read || body.size() >= 4);
    PVC_ASSERT(!read || !*read || body.find(netlink::filter_table) != std::string_view::npos);
}

static void check_chain(std::string_view body) {
    const auto read = netlink::parse_filter_chain(body);
    if (read && *read) {
        const auto& chain = **read;
        PVC_ASSERT(!chain.name.empty() && chain.rules.empty());
        PVC_ASSERT(chain.is_base || chain.hook == model::filter_hook::none);
    }
}

static void check_rule(std::string_view body) {
    const auto read = netlink::parse_filter_rule(body);
    if (read && *read) {
        PVC_ASSERT(!(*read)->chain.empty() && (*read)->rule.handle != 0);
        PVC_ASSERT((*read)->rule.tag.size() <= netlink::tag_max);
    }
}

static void check_generation(std::string_view body) {
    const auto read = netlink::parse_generation(body);
    PVC_ASSERT(!read || body.size() >= 12);
}

static void check_acknowledgements(std::string_view bytes) {
    const auto read = netlink::read_acknowledgements(bytes, 42);
    PVC_ASSERT(!read || read->size() <= bytes.size() / 20);
    for (const auto& one : read ? *read : std::vector<netlink::acknowledgement>()) {
        PVC_ASSERT(one.error >= 0 && one.error < 4096);
    }
}

static void check_dump(std::string_view bytes) {
    const auto read = netlink::read_datagram(bytes, 7, 42);
    if (read) {
        for (const auto& one : read->messages) {
            check_table(one.body);
            check_chain(one.body);
            check_rule(one.body);
            check_generation(one.body);
        }
    }
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    auto rest = fuzz::text_of(data, size);
    switch (fuzz::take_byte(rest) % 7) {
        case 0: check_acknowledgements(rest); break;
        case 1: check_dump(rest); break;
        case 2: check_chain(rest); break;
        case 3: check_rule(rest); break;
        case 4: check_generation(rest); break;
        case 5: check_tag(rest); break;
        default: check_table(rest); break;
    }
    return 0;
}
