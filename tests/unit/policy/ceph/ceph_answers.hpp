// What a healthy Ceph with two OSDs and some pools prints.
#pragma once

#include "pvcnoded/policy/ceph/round.hpp"

#include <string>

namespace pvc::policy::sample {

inline const std::string health = R"({"status":"HEALTH_OK","checks":{},"mutes":[]})";
inline const std::string status = "  cluster:\n    id: 1\n";
inline const std::string df = "--- POOLS ---\n";

inline std::string pool(const std::string& name, int id, const std::string& percent = "0.5") {
    return R"({"name":")" + name + R"(","id":)" + std::to_string(id) + R"(,"stats":{"stored":)" + std::to_string(id) +
           R"(00,"max_avail":7,"bytes_used":8,"objects":9,"percent_used":)" + percent + "}}";
}
inline const std::string pools =
    R"({"pools":[)" + pool("metrics", 1) + "," + pool("vms", 2) + "," + pool("backup", 3) + "]}";

inline const std::string recovery = R"([{"pool_name":"vms","pool_id":2,"recovery":{}}])";

inline std::string map_row(int id, int up, int in, const std::string& state) {
    return R"({"osd":)" + std::to_string(id) + R"(,"uuid":"u)" + std::to_string(id) + R"(","up":)" +
           std::to_string(up) + R"(,"in":)" + std::to_string(in) + R"(,"primary_affinity":1,"state":)" + state + "}";
}
inline std::string room_row(int id) {
    return R"({"id":)" + std::to_string(id) +
           R"(,"device_class":"hdd","crush_weight":0.5,"reweight":1,"kb":1000,"kb_used":47,"kb_used_data":1,)"
           R"("kb_used_omap":2,"kb_used_meta":3,"kb_avail":953,"utilization":4.7,"var":1,"pgs":12})";
}
inline const std::string osd_dump =
    R"({"osds":[)" + map_row(0, 1, 1, R"(["exists","up"])") + "," + map_row(1, 1, 1, R"(["exists","up"])") + "]}";
inline const std::string osd_df = R"({"nodes":[)" + room_row(0) + "," + room_row(1) + "]}";
inline const std::string osd_status =
    "ID HOST USED AVAIL WR OPS WR DATA RD OPS RD DATA STATE\n"
    " 0 hv1 47.0k 953k 1 2k 3 4k exists,up\n 1 hv2 47.0k 953k 5 6k 7 8k exists,up\n";

inline std::string answer_to(ceph_question what) {
    switch (what) {
        case ceph_question::health: return health;
        case ceph_question::status: return status;
        case ceph_question::df: return df;
        case ceph_question::pools: return pools;
        case ceph_question::recovery: return recovery;
        case ceph_question::osd_dump: return osd_dump;
        case ceph_question::osd_df: return osd_df;
        case ceph_question::osd_status: return osd_status;
        default: return {};
    }
}

}  // namespace pvc::policy::sample
