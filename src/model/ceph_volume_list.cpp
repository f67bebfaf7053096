#include "pvcnoded/model/ceph_volume_list.hpp"

#include "pvcnoded/base/text.hpp"
#include "pvcnoded/base/uuid.hpp"
#include "pvcnoded/model/device_name.hpp"

#include <boost/json/parse.hpp>

#include <algorithm>
#include <utility>

namespace pvc::model {

namespace {

constexpr std::size_t volume_list_depth_max = 16;
constexpr std::size_t listed_osds_max = 1000;

failure bad_volume_list(std::string why) {
    return failure(errc::invalid, "ceph-volume", std::move(why));
}

std::string listed_text(const boost::json::object& from, std::string_view name) {
    const auto* found = from.if_contains(name);
    const auto* text = found == nullptr ? nullptr : found->if_string();
    return text == nullptr ? std::string() : std::string(text->data(), text->size());
}

template <class IsGood>
std::string listed_text_if(IsGood is_good, std::string text) {
    return is_good(text) ? std::move(text) : std::string();
}

bool is_fsid(std::string_view text) {
    return parse_uuid(text).has_value();
}

const boost::json::object* block_element(const boost::json::value& elements) {
    if (const auto* list = elements.if_array()) {
        for (const auto& one : *list) {
            const auto* element = one.if_object();
            if (element != nullptr && listed_text(*element, "type") == "block") {
                return element;
            }
        }
    }
    return nullptr;
}

listed_osd osd_of(std::string_view id, const boost::json::object& block) {
    listed_osd osd;
    osd.id = id;
    osd.group = listed_text_if(is_volume_name, listed_text(block, "vg_name"));
    osd.volume = listed_text_if(is_volume_name, listed_text(block, "lv_name"));
    const auto* devices = block.if_contains("devices");
    const auto* list = devices == nullptr ? nullptr : devices->if_array();
    if (list != nullptr && !list->empty() && list->front().is_string()) {
        osd.device = listed_text_if(is_device_path, std::string(list->front().get_string()));
    }
    const auto* found = block.if_contains("tags");
    if (const auto* tags = found == nullptr ? nullptr : found->if_object()) {
        osd.osd_fsid = listed_text_if(is_fsid, listed_text(*tags, "ceph.osd_fsid"));
        osd.cluster_fsid = listed_text_if(is_fsid, listed_text(*tags, "ceph.cluster_fsid"));
    }
    return osd;
}

}  // namespace

std::string missing_parts(const listed_osd& osd) {
    std::vector<std::string> missing;
    for (const auto& [part, name] : {std::pair{&osd.device, "its device"}, std::pair{&osd.group, "the volume group"},
                                     std::pair{&osd.volume, "the volume"}, std::pair{&osd.osd_fsid, "the OSD's UUID"},
                                     std::pair{&osd.cluster_fsid, "the cluster's UUID"}}) {
        if (part->empty()) {
            missing.emplace_back(name);
        }
    }
    return join(missing, ", ");
}

result<std::vector<listed_osd>> parse_ceph_volume_list(std::string_view text) {
    if (text.size() > ceph_volume_list_bytes_max) {
        return bad_volume_list("its list is too long");
    }
    boost::json::parse_options how;
    how.max_depth = volume_list_depth_max;
    boost::json::error_code code;
    const auto parsed = boost::json::parse(boost::json::string_view(text.data(), text.size()), code, {}, how);
    if (code) {
        return bad_volume_list("its list is no JSON: " + code.message());
    }
    const auto* all = parsed.if_object();
    if (all == nullptr) {
        return bad_volume_list("its list is no object");
    }
    std::vector<listed_osd> found;
    for (const auto& entry : *all) {
        const std::string_view id(entry.key().data(), entry.key().size());
        const auto* block = block_element(entry.value());
        if (block != nullptr && found.size() < listed_osds_max) {
            found.push_back(osd_of(id, *block));
        }
    }
    return found;
}

result<listed_osd> find_listed_osd(std::string_view text, std::string_view id) {
    PVC_TRY(const auto all, parse_ceph_volume_list(text));
    const auto found = std::ranges::find(all, id, &listed_osd::id);
    if (found == all.end()) {
        return failure(errc::not_found, "ceph-volume", "it lists no volume of OSD " + shown(id));
    }
    if (const auto missing = missing_parts(*found); !missing.empty()) {
        return bad_volume_list("its list lacks " + missing);
    }
    return *found;
}

}  // namespace pvc::model
