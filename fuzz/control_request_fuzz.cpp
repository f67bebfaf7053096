// A line of the local socket, as whoever may connect sends it.
// Covers: src/protocol/messages.cpp
#include "pvcnoded/base/assert.hpp"
#include "pvcnoded/protocol/messages.hpp"

#include <cstdint>
#include <string_view>

using namespace pvc;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    if (const auto asked = protocol::parse_request(text)) {
        const std::string line = protocol::encode(*asked);
        PVC_ASSERT(line.find('\n') == line.size() - 1);
        const auto again = protocol::parse_request(std::string_view(line).substr(0, line.size() - 1));
        // What it was escaped as may take more room than there is.
        PVC_ASSERT(again ? *again == *asked : line.size() > protocol::request_bytes_max);
    }
    return 0;
}
