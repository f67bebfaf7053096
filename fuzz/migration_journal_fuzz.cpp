// The record of a migration, a file that a crash or anybody may have left in any state.
// Covers: src/policy/domains/migration_journal.cpp
#include "fuzz_support.hpp"
#include "pvcnoded/policy/domains/migration_journal.hpp"

using namespace pvc::policy;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (const auto entry = parse_journal(pvc::fuzz::text_of(data, size))) {
        PVC_ASSERT(entry->role == "sender" || entry->role == "receiver");
        const auto text = to_text(*entry);
        const auto again = parse_journal(text);
        PVC_ASSERT(again && *again == *entry);
        PVC_ASSERT(text.ends_with('\n') && text.size() <= size + 1);
    }
    return 0;
}
