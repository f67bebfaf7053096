// A line of the local socket, as pvcnodectl reads it.
// Covers: src/protocol/messages.cpp
#include "pvcnoded/base/assert.hpp"
#include "pvcnoded/protocol/messages.hpp"

#include <cstdint>
#include <string_view>

using namespace pvc;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    if (const auto said = protocol::parse_answer(text)) {
        const std::string line = protocol::encode(*said);
        PVC_ASSERT(line.find('\n') == line.size() - 1);
        const auto again = protocol::parse_answer(std::string_view(line).substr(0, line.size() - 1));
        // Fractions may lose their last digit each time.
        PVC_ASSERT(again && again->id == said->id && again->error == said->error);
    }
    return 0;
}
