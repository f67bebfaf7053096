// The monitors' list of refused clients: what is read is what stands there, and nothing else.
// Covers: src/model/ceph_blocklist.cpp
#include "fuzz_support.hpp"
#include "pvcnoded/model/ceph_blocklist.hpp"
#include "pvcnoded/model/json_text.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto text = pvc::fuzz::text_of(data, size);
    const auto listed = pvc::model::parse_ceph_blocklist(text);
    if (!listed) {
        return 0;
    }
    pvc::model::json_array again;
    for (const auto& one : *listed) {
        PVC_ASSERT(pvc::model::is_same_client(one, one));
        again.add_raw(pvc::model::json_object().add("addr", one).text());
    }
    const auto back = pvc::model::parse_ceph_blocklist(again.text());
    PVC_ASSERT(back && *back == *listed);
    return 0;
}
