// The note of the last heartbeat, a file that a crash or anybody may have left in any state.
// Covers: src/core/heartbeat_note.cpp(parse_heartbeat_note)
#include "fuzz_support.hpp"
#include "pvcnoded/core/heartbeat_note.hpp"

using namespace pvc::core;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (const auto note = parse_heartbeat_note(pvc::fuzz::text_of(data, size))) {
        PVC_ASSERT(!note->boot_id.empty() && !note->role.empty());
        const auto text = to_text(*note);
        const auto again = parse_heartbeat_note(text);
        PVC_ASSERT(again && again->boot_id == note->boot_id && again->boot_ns == note->boot_ns &&
                   again->mzxid == note->mzxid && again->role == note->role);
        PVC_ASSERT(text.ends_with('\n') && text.size() <= size + 32);
    }
    return 0;
}
