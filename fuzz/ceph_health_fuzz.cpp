// What Ceph prints of its health: what is published of it is read again as the same, and is UTF-8.
// Covers: src/model/ceph_json.cpp src/model/ceph_texts.cpp
#include "fuzz_support.hpp"
#include "pvcnoded/base/utf8.hpp"
#include "pvcnoded/model/ceph_health.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto text = pvc::fuzz::text_of(data, size);
    if (const auto health = pvc::model::parse_ceph_health(text)) {
        PVC_ASSERT(!pvc::first_invalid_utf8(health->text));
        const auto again = pvc::model::parse_ceph_health(health->text);
        PVC_ASSERT(again && *again == *health);
    }
    if (const auto shown = pvc::model::parse_ceph_text(text)) {
        PVC_ASSERT(!pvc::first_invalid_utf8(*shown));
    }
    return 0;
}
