// What `osd status` prints, in any of its layouts: what is made of it is figures that clients can read.
// Covers: src/model/ceph_osd_status.cpp src/model/ceph_json.cpp
#include "fuzz_support.hpp"
#include "pvcnoded/model/ceph_osds.hpp"

using namespace pvc::model;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (const auto rows = parse_osd_status(pvc::fuzz::text_of(data, size))) {
        for (const auto& one : *rows) {
            PVC_ASSERT(one.host.find('.') == std::string::npos);
            for (const auto& column : {one.columns.used, one.columns.available, one.columns.writes, one.columns.written,
                                       one.columns.reads, one.columns.read}) {
                PVC_ASSERT(is_figure(column));
            }
        }
    }
    double number = 0;
    const auto text = pvc::fuzz::text_of(data, size);
    if (text.size() >= sizeof number) {
        std::copy_n(text.data(), sizeof number, reinterpret_cast<char*>(&number));
        PVC_ASSERT(is_figure(byte_figure(number)) && is_figure(operation_figure(number)));
    }
    return 0;
}
