// IPv4 addresses and networks: one spelling each, and arithmetic that agrees with itself. Any line of the input.
// Covers: src/config/ipv4.cpp
#include "fuzz_support.hpp"
#include "pvcnoded/config/ipv4.hpp"

using namespace pvc::config;

static void check_network(const ipv4_interface& written) {
    const ipv4_network network{{written.address.value & prefix_mask(written.prefix)}, written.prefix};
    const auto count = network.host_count();
    PVC_ASSERT(count >= 1 && network.first_host() <= network.last_host());
    PVC_ASSERT(network.host(1) == network.first_host() && network.host(count) == network.last_host());
    PVC_ASSERT(!network.host(0) && !network.host(count + 1) && !network.host(~std::uint64_t{0}));
    PVC_ASSERT(network.is_usable_host(network.first_host()) && network.is_usable_host(network.last_host()));
    const auto parsed = parse_cidr(network.text());
    PVC_ASSERT(parsed && parsed->address == network.address && parsed->prefix == network.prefix);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    auto rest = pvc::fuzz::text_of(data, size);
    while (!rest.empty()) {
        const auto line = pvc::fuzz::take_until(rest, '\n');
        if (const auto address = parse_ipv4(line)) {
            PVC_ASSERT(address->text() == line);
        }
        if (const auto written = parse_cidr(line)) {
            PVC_ASSERT(parse_cidr(written->text()) == written && line.starts_with(written->address.text() + "/"));
            check_network(*written);
        }
    }
    return 0;
}
