// `/nodes/<n>/fenceproof` and `fencepower`, and answers as a record keeps them: no password is left in them.
// Covers: src/model/fence_record.cpp
// Covers: src/model/fence_power.cpp
#include "fuzz_support.hpp"
#include "pvcnoded/model/fence_power.hpp"
#include "pvcnoded/model/fence_record.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto text = pvc::fuzz::text_of(data, size);
    if (const auto proof = pvc::model::parse_fence_proof(text)) {
        PVC_ASSERT(pvc::model::to_text(*proof) == text);
    }
    if (const auto power = pvc::model::parse_fence_power(text)) {
        PVC_ASSERT(pvc::model::to_text(*power) == text);
    }
    const auto end = text.find('\0');
    const auto password = text.substr(0, end == std::string_view::npos ? 0 : end);
    const auto kept = pvc::model::fence_answer_text(std::string(text.substr(password.size())), password);
    PVC_ASSERT(kept.size() <= pvc::model::fence_answer_bytes);
    PVC_ASSERT(password.empty() || password.find('*') != std::string_view::npos ||
               kept.find(password) == std::string::npos);
    PVC_ASSERT(pvc::model::is_fence_record_id(pvc::model::fence_record_id({}, text)));
    return 0;
}
