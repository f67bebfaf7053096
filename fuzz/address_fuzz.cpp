// Addresses and networks of both families: one spelling each of IPv4, and arithmetic that agrees with itself. Any line
// of the input. Covers: src/base/address.cpp src/config/usable_hosts.cpp
#include "fuzz_support.hpp"
#include "pvcnoded/config/usable_hosts.hpp"

using namespace pvc;
using namespace pvc::config;

static void check_hosts(const ip::network_v4& network) {
    const auto count = host_count(network);
    PVC_ASSERT(count >= 1 && first_host(network) <= last_host(network));
    PVC_ASSERT(host(network, 1) == first_host(network) && host(network, count) == last_host(network));
    PVC_ASSERT(!host(network, 0) && !host(network, count + 1) && !host(network, ~std::uint64_t{0}));
    PVC_ASSERT(is_usable_host(network, first_host(network)) && is_usable_host(network, last_host(network)));
    PVC_ASSERT(*parse_network_v4(network.to_string()) == network && network.canonical() == network);
}

static void check_network(std::string_view line, const host_address& written) {
    PVC_ASSERT(*parse_host_address(written.text()) == written);
    const auto v4 = parse_network_v4(line);
    const auto v6 = parse_network_v6(line);
    PVC_ASSERT(v4.has_value() == written.address.is_v4() && v6.has_value() == written.address.is_v6());
    if (v4) {
        PVC_ASSERT(v4->to_string() == line);
        check_hosts(v4->canonical());
    } else {
        PVC_ASSERT(v6->to_string() == written.text() && v6->canonical().canonical() == v6->canonical());
    }
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    auto rest = pvc::fuzz::text_of(data, size);
    while (!rest.empty()) {
        const auto line = pvc::fuzz::take_until(rest, '\n');
        if (const auto address = parse_address(line)) {
            PVC_ASSERT(*parse_address(address->to_string()) == *address);
            PVC_ASSERT(address->is_v4() ? address->to_string() == line : !parse_address_v4(line));
        } else {
            PVC_ASSERT(!parse_address_v4(line) && !parse_address_v6(line));
        }
        if (const auto written = parse_host_address(line)) {
            check_network(line, *written);
        }
    }
    return 0;
}
