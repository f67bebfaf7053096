// What the daemon and its helper for Ceph say to each other, as both read it: bytes in pieces of any size, frames in
// them, messages in those.
// Covers: src/protocol/frame.cpp src/protocol/ceph_messages.cpp
#include "pvcnoded/base/assert.hpp"
#include "pvcnoded/protocol/ceph_messages.hpp"

#include <algorithm>
#include <cstdint>
#include <string_view>

using namespace pvc;
namespace ceph = protocol::ceph;

namespace {

protocol::frame only_frame_of(const std::string& bytes) {
    protocol::frame_reader reader;
    for (std::string_view rest = bytes; !rest.empty();) {
        const auto room = reader.room();
        const std::size_t size = std::min(room.size(), rest.size());
        std::ranges::copy(rest.substr(0, size), room.begin());
        rest.remove_prefix(size);
        reader.filled(size);
    }
    auto taken = reader.take();
    PVC_ASSERT(taken && *taken && reader.is_between_frames());
    return **std::move(taken);
}

// What was understood is written, and read as the same.
void read_messages(const protocol::frame& from) {
    if (const auto request = ceph::parse_request(from)) {
        const auto again = ceph::parse_request(only_frame_of(*ceph::encode(*request)));
        PVC_ASSERT(again && *again == *request);
    }
    if (const auto answer = ceph::parse_answer(from)) {
        const auto again = ceph::parse_answer(only_frame_of(*ceph::encode(*answer)));
        PVC_ASSERT(again && *again == *answer);
    }
    if (const auto greeting = ceph::parse_greeting(from)) {
        const auto again = ceph::parse_greeting(only_frame_of(*ceph::encode(*greeting)));
        PVC_ASSERT(again && *again == *greeting);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    if (text.empty()) {
        return 0;
    }
    // As a head alone: bytes rarely make a frame by themselves.
    read_messages({std::string(text), {}});
    const std::size_t piece = 1U + static_cast<unsigned char>(text.front());
    protocol::frame_reader reader;
    for (std::string_view rest = text.substr(1); !rest.empty();) {
        const auto room = reader.room();
        const std::size_t count = std::min({piece, room.size(), rest.size()});
        std::ranges::copy(rest.substr(0, count), room.begin());
        rest.remove_prefix(count);
        reader.filled(count);
        for (;;) {
            const auto next = reader.take();
            if (!next) {
                return 0;
            }
            if (!*next) {
                break;
            }
            read_messages(**next);
        }
    }
    return 0;
}
