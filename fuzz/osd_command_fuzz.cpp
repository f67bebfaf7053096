// What clients write into /cmd/ceph.
// Covers: src/model/osd_command.cpp src/model/device_name.cpp
#include "fuzz_support.hpp"
#include "pvcnoded/model/device_name.hpp"
#include "pvcnoded/model/domain_command.hpp"
#include "pvcnoded/model/osd_command.hpp"
#include "pvcnoded/model/scsi_disks.hpp"

using namespace pvc::model;

namespace {

bool is_device(std::string_view text) {
    return is_device_path(text) || parse_detect_wish(text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto text = pvc::fuzz::text_of(data, size);
    const auto command = parse_osd_command(text);
    if (!command) {
        return 0;
    }
    for (const bool is_done : {true, false}) {
        PVC_ASSERT(!parse_osd_command(command_answer(is_done, text)));
    }
    PVC_ASSERT(pvc::fuzz::is_printable_ascii(command->fault) && command->fault.size() < 100);
    PVC_ASSERT(command->id.empty() || parse_osd_number(command->id) == command->id);
    if (!command->fault.empty()) {
        PVC_ASSERT(command->device.empty() && command->old_device.empty() && command->weight.empty());
        return 0;
    }
    PVC_ASSERT(text.size() <= osd_command_bytes_max && command->db_ratio > 0 && command->db_ratio < 1);
    PVC_ASSERT(command->node.empty() == (command->verb == osd_verb::osd_remove));
    PVC_ASSERT(command->device.empty() == (command->verb == osd_verb::osd_remove));
    PVC_ASSERT(command->device.empty() || is_device(command->device));
    PVC_ASSERT(command->old_device.empty() || is_device(command->old_device));
    PVC_ASSERT(!command->weight.starts_with('-'));
    return 0;
}
