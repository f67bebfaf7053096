#include "pvcnoded/policy/ceph/device_refresh.hpp"

#include "pvcnoded/base/text.hpp"
#include "pvcnoded/model/device_name.hpp"

#include <algorithm>

namespace pvc::policy {

std::string stored_value(const stored_osd& stored, std::string_view key) {
    const auto found = std::ranges::find(stored, key, &stored_key::key);
    return found == stored.end() || !found->value ? std::string() : std::string(trim(*found->value));
}

std::vector<key_value> differing(const stored_osd& stored, const std::vector<key_value>& wanted) {
    std::vector<key_value> writes;
    for (const auto& one : stored) {
        const auto value = std::ranges::find(wanted, one.key, &key_value::key);
        if (value != wanted.end() && one.value != value->value) {
            writes.push_back(*value);
        }
    }
    return writes;
}

std::string device_to_list(const stored_osd& stored) {
    const std::string group = stored_value(stored, "osd.vg");
    const std::string volume = stored_value(stored, "osd.lv");
    if (model::is_volume_name(group) && model::is_volume_name(volume)) {
        return "/dev/" + group + "/" + volume;
    }
    const std::string device = stored_value(stored, "osd.device");
    return model::is_device_path(device) ? device : std::string();
}

std::vector<key_value> device_keys(const model::listed_osd& listed) {
    return {{"osd.device", listed.device},      {"osd.fsid", ""}, {"osd.ofsid", listed.osd_fsid},
            {"osd.cfsid", listed.cluster_fsid}, {"osd.lvm", ""},  {"osd.vg", listed.group},
            {"osd.lv", listed.volume}};
}

refresh_decision decide_device_refresh(const stored_osd& stored, const model::listed_osd& listed) {
    using verdict = refresh_decision::verdict;
    const std::string fsid = stored_value(stored, "osd.ofsid");
    if (!fsid.empty() && !equal_ignoring_case(fsid, listed.osd_fsid)) {
        return {verdict::foreign, {}, "it is OSD " + shown(fsid) + " in the cluster, but " + listed.osd_fsid + " here"};
    }
    auto writes = differing(stored, device_keys(listed));
    // The same UUID in another spelling is not another value.
    std::erase_if(writes, [&](const key_value& one) { return one.key == "osd.ofsid" && !fsid.empty(); });
    return {writes.empty() ? verdict::nothing : verdict::write, std::move(writes), {}};
}

}  // namespace pvc::policy
