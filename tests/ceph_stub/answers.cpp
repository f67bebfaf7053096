#include "stub.hpp"

namespace stub {

namespace {

using std::to_string;

template <class Each>
std::string listed(int count, Each each) {
    std::string out;
    for (int i = 0; i < count; ++i) {
        out += (i == 0 ? "" : ",") + each(i);
    }
    return out;
}

std::string health() {
    return R"({"status":"HEALTH_WARN","checks":{"OSD_DOWN":{"severity":"HEALTH_WARN","summary":{"message":"1 osds down",)"
           R"("count":1},"muted":false}},"mutes":[]})";
}

std::string df_json(const plan& of) {
    return R"({"stats":{"total_bytes":4294967296000,"total_avail_bytes":4294912686000,"total_used_bytes":54610000,)"
           R"("total_used_raw_bytes":54610000,"total_used_raw_ratio":1.271488144993782e-05,"num_osds":)" +
           to_string(of.osds) + R"(,"num_per_pool_osds":0,"num_per_pool_omap_osds":0},"stats_by_class":{},"pools":[)" +
           listed(of.pools,
                  [](int i) {
                      return R"({"name":"pool)" + to_string(i) + R"(","id":)" + to_string(i + 1) +
                             R"(,"stats":{"stored":68719476736,"objects":16384,"kb_used":201326592,"bytes_used":)" +
                             R"(206158430208,"percent_used":0.017,"max_avail":4080163584000}})";
                  }) +
           "]}\n";
}

std::string df_plain(const plan& of) {
    std::string out =
        "--- RAW STORAGE ---\nCLASS   SIZE    AVAIL    USED  RAW USED  %RAW USED\n"
        "TOTAL  4 TiB  4.0 TiB  53 MiB    53 MiB          0\n \n--- POOLS ---\n"
        "POOL  ID  PGS  STORED  OBJECTS  USED  %USED  MAX AVAIL\n";
    for (int i = 0; i < of.pools; ++i) {
        out += "pool" + to_string(i) + "  " + to_string(i + 1) + "  128  64 GiB  16.38k  192 GiB  1.7  3.7 TiB\n";
    }
    return out;
}

std::string osd_dump(const plan& of) {
    return R"({"epoch":12,"fsid":"69bdcc74-2678-4019-a9bb-5d02e2a7c0e9","flags":"sortbitwise","max_osd":)" +
           to_string(of.osds) + R"(,"pools":[],"osds":[)" +
           listed(of.osds,
                  [](int i) {
                      const std::string n = to_string(i);
                      return R"({"osd":)" + n +
                             R"(,"uuid":"813b1e5f-8416-4ade-8297-f75702245609","up":1,"in":1,"weight":1,)"
                             R"("primary_affinity":1,"last_clean_begin":0,"last_clean_end":0,"up_from":7,"up_thru":7,)"
                             R"("down_at":0,"lost_at":0,"public_addrs":{"addrvec":[{"type":"v2","addr":)"
                             R"("10.0.0.1:6800","nonce":20596},{"type":"v1","addr":"10.0.0.1:6801","nonce":20596}]},)"
                             R"("public_addr":"10.0.0.1:6801/20596","cluster_addr":"10.0.0.1:6803/20596",)"
                             R"("state":["exists","up"]})";
                  }) +
           "]}\n";
}

std::string osd_df(const plan& of) {
    return R"({"nodes":[)" +
           listed(of.osds,
                  [](int i) {
                      const std::string n = to_string(i);
                      return R"({"id":)" + n + R"(,"device_class":"ssd","name":"osd.)" + n +
                             R"(","type":"osd","type_id":0,"crush_weight":0.87319946289062,"depth":2,)"
                             R"("pool_weights":{},"reweight":1,"kb":937684992,"kb_used":158736384,"kb_used_data":)"
                             R"(157736384,"kb_used_omap":12,"kb_used_meta":999988,"kb_avail":778948608,)"
                             R"("utilization":16.92856619,"var":1.01,"pgs":128,"status":"up"})";
                  }) +
           R"(],"stray":[],"summary":{"total_kb":93768499200,"average_utilization":16.9,"min_var":1,"dev":0}})" + "\n";
}

std::string osd_status(const plan& of) {
    std::string out = "ID  HOST       USED  AVAIL  WR OPS  WR DATA  RD OPS  RD DATA  STATE      \n";
    for (int i = 0; i < of.osds; ++i) {
        out += to_string(i) + "  pvchv" + to_string(i % 9) +
               "   151G   742G     12     1023k     33     4095k   exists,up  \n";
    }
    return out;
}

std::string status_plain(const plan& of) {
    return "  cluster:\n    id:     69bdcc74-2678-4019-a9bb-5d02e2a7c0e9\n    health: HEALTH_WARN\n            1 osds "
           "down\n \n"
           "  services:\n    mon: 3 daemons, quorum a,b,c (age 11d)\n    mgr: a(active, since 8d)\n    osd: " +
           to_string(of.osds) + " osds: " + to_string(of.osds) + " up (since 10d), " + to_string(of.osds) +
           " in (since 11d)\n \n  data:\n    pools:   " + to_string(of.pools) +
           " pools, 2560 pgs\n    objects: 327k objects, 1.3 TiB\n \n";
}

}  // namespace

std::string answer_to(const std::string& prefix, const std::string& format, const plan& of) {
    if (prefix == "health") {
        return health();
    }
    if (prefix == "status") {
        return status_plain(of);
    }
    if (prefix == "df") {
        return format == "json" ? df_json(of) : df_plain(of);
    }
    if (prefix == "osd pool stats") {
        return "[" +
               listed(of.pools,
                      [](int i) {
                          return R"({"pool_name":"pool)" + to_string(i) + R"(","pool_id":)" + to_string(i + 1) +
                                 R"(,"recovery":{"degraded_objects":5}})";
                      }) +
               "]\n";
    }
    if (prefix == "osd dump") {
        return osd_dump(of);
    }
    if (prefix == "osd df") {
        return osd_df(of);
    }
    return prefix == "osd status" ? osd_status(of) : std::string();
}

}  // namespace stub
