// What is published of Ceph, with its keys in the order that the specification has.
#include "ceph_json.hpp"

#include "pvcnoded/base/text.hpp"
#include "pvcnoded/base/utf8.hpp"
#include "pvcnoded/model/ceph_health.hpp"
#include "pvcnoded/model/ceph_osds.hpp"
#include "pvcnoded/model/ceph_pools.hpp"
#include "pvcnoded/model/json_text.hpp"

#include <algorithm>
#include <limits>

namespace pvc::model {

namespace {

// Counters do not overflow in the life of a cluster; what says otherwise is cut off.
std::string bytes_text(std::uint64_t kib) {
    constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max() / 1024;
    return std::to_string(std::min(kib, most) * 1024);
}

}  // namespace

bool has_control(std::string_view text) {
    while (!text.empty()) {
        const auto one = decode_utf8(text);
        if (is_control(one.code)) {
            return true;
        }
        text.remove_prefix(one.bytes);
    }
    return false;
}

result<std::string> parse_ceph_text(std::string_view printed) {
    if (printed.size() > ceph_output_max) {
        return failure(errc::too_large, "what Ceph printed");
    }
    if (trim(printed).empty()) {
        return failure(errc::invalid, "what Ceph printed", "nothing");
    }
    for (const auto line : split(printed, '\n')) {
        const bool is_shown = std::ranges::none_of(split(line, '\t'), [](std::string_view part) {
            return has_control(part.ends_with('\r') ? part.substr(0, part.size() - 1) : part);
        });
        if (!is_shown) {
            return failure(errc::invalid, "what Ceph printed", "a control character");
        }
    }
    return valid_utf8(printed);
}

std::string unreachable_health_text(std::chrono::seconds silence) {
    // As Ceph writes it, without blanks.
    return R"({"status":"HEALTH_ERR","checks":{"PVC_CEPH_UNREACHABLE":{"severity":"HEALTH_ERR","summary":{"message":)"
           R"("no answer from Ceph for )" +
           std::to_string(silence.count()) + R"( s","count":1},"muted":false}},"mutes":[]})";
}

std::string pool_stats_text(const pool_room& room, const pool_counters& counters) {
    return json_object()
        .add("id", room.id)
        .add_raw("stored_bytes", to_text(room.stored))
        .add_raw("free_bytes", to_text(room.available))
        .add_raw("used_bytes", to_text(room.used))
        .add_raw("used_percent", to_text(room.used_fraction))
        .add_raw("num_objects", to_text(room.objects))
        .add_raw("num_object_clones", std::to_string(counters.object_clones))
        .add_raw("num_object_copies", std::to_string(counters.object_copies))
        .add_raw("num_objects_missing_on_primary", std::to_string(counters.objects_missing_on_primary))
        .add_raw("num_objects_unfound", std::to_string(counters.objects_unfound))
        .add_raw("num_objects_degraded", std::to_string(counters.objects_degraded))
        .add_raw("read_ops", std::to_string(counters.reads))
        .add_raw("read_bytes", bytes_text(counters.read_kib))
        .add_raw("write_ops", std::to_string(counters.writes))
        .add_raw("write_bytes", bytes_text(counters.written_kib))
        .text();
}

std::string osd_stats_text(const osd_stats& of) {
    return json_object()
        .add("uuid", of.map.uuid)
        .add("up", of.map.is_up ? 1 : 0)
        .add("in", of.map.is_in ? 1 : 0)
        .add_raw("primary_affinity", to_text(of.map.primary_affinity))
        .add_raw("utilization", to_text(of.room.utilization))
        .add_raw("var", to_text(of.room.variance))
        .add("pgs", of.room.pgs)
        .add("kb", of.room.kib)
        .add("kb_used", of.room.used)
        .add("kb_used_data", of.room.used_data)
        .add("kb_used_omap", of.room.used_omap)
        .add("kb_used_meta", of.room.used_meta)
        .add("kb_avail", of.room.available)
        .add_raw("weight", to_text(of.room.weight))
        .add_raw("reweight", to_text(of.room.reweight))
        .add("class", of.room.device_class)
        .add("node", of.node)
        .add("used", of.columns.used)
        .add("avail", of.columns.available)
        .add("wr_ops", of.columns.writes)
        .add("wr_data", of.columns.written)
        .add("rd_ops", of.columns.reads)
        .add("rd_data", of.columns.read)
        .add("state", of.state)
        .text();
}

}  // namespace pvc::model
