// What the programs say that know of this host's disks and OSDs: the first byte chooses the program.
// Covers: src/model/scsi_disks.cpp src/model/ceph_volume_list.cpp src/model/block_device.cpp
// src/policy/ceph/device_use.cpp
#include "fuzz_support.hpp"
#include "pvcnoded/model/block_device.hpp"
#include "pvcnoded/model/ceph_volume_list.hpp"
#include "pvcnoded/model/device_name.hpp"
#include "pvcnoded/model/scsi_disks.hpp"
#include "pvcnoded/policy/ceph/device_use.hpp"

using namespace pvc::model;

namespace {

bool is_empty_or(bool (*is_good)(std::string_view), std::string_view text) {
    return text.empty() || is_good(text);
}

void see_disks(std::string_view text) {
    const auto wish = parse_detect_wish(pvc::fuzz::take_until(text, '\n'));
    if (wish) {
        PVC_ASSERT(wish->bytes > 0 && !wish->name.empty());
        const auto found = find_scsi_disk(text, *wish);
        PVC_ASSERT(!found || (is_device_path(*found) && text.find(*found) != std::string_view::npos));
    }
}

void see_volumes(std::string_view text) {
    const auto all = parse_ceph_volume_list(text);
    if (!all) {
        return;
    }
    for (const auto& one : *all) {
        PVC_ASSERT(is_empty_or(is_device_path, one.device) && is_empty_or(is_volume_name, one.group));
        PVC_ASSERT(is_empty_or(is_volume_name, one.volume));
        const auto found = find_listed_osd(text, one.id);
        PVC_ASSERT(found.has_value() == missing_parts(*all->begin()).empty() || all->size() > 1);
        PVC_ASSERT(!found || missing_parts(*found).empty());
    }
}

void see_block_device(std::string_view text) {
    const auto device = parse_block_device(text);
    if (!device) {
        return;
    }
    PVC_ASSERT(!device->name.empty() && !device->type.empty());
    const auto why = pvc::policy::why_not_to_erase(*device, {"ceph-1", "osd-block-1"});
    PVC_ASSERT(!why.empty() || device->mounted_at.empty());
    for (const auto& one : device->above) {
        PVC_ASSERT(!why.empty() || one.name == "ceph--1-osd--block--1");
    }
    PVC_ASSERT(device->above.empty() || !pvc::policy::why_not_to_erase(*device, {}).empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    auto text = pvc::fuzz::text_of(data, size);
    switch (pvc::fuzz::take_byte(text)) {
        case 's': see_disks(text); break;
        case 'v': see_volumes(text); break;
        case 'b': see_block_device(text); break;
        case 'p': PVC_ASSERT(text.find(parse_device_signatures(text).content) != std::string_view::npos); break;
        default: break;
    }
    return 0;
}
