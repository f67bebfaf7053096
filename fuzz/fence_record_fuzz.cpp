// The record of a fence on disk: what is read is written as the same, and within bounds.
// Covers: src/model/fence_record_json.cpp
#include "fuzz_support.hpp"
#include "pvcnoded/model/fence_record.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto text = pvc::fuzz::text_of(data, size);
    const auto record = pvc::model::parse_fence_record(text);
    if (!record) {
        PVC_ASSERT(!record.error().cause().empty() || record.error().code() == pvc::errc::too_large);
        return 0;
    }
    PVC_ASSERT(pvc::model::is_fence_record_id(record->id));
    const auto again = pvc::model::to_text(*record);
    const auto back = pvc::model::parse_fence_record(again);
    PVC_ASSERT(again.size() > pvc::model::fence_record_bytes || (back && *back == *record));
    return 0;
}
