// What `df`, `osd pool stats`, `osd dump` and `osd df` print as JSON: what is published of it is one line, ASCII, and
// JSON that another parser reads. Covers: src/model/ceph_json.cpp src/model/ceph_texts.cpp src/model/json_figure.cpp
#include "fuzz_support.hpp"
#include "pvcnoded/model/ceph_osds.hpp"
#include "pvcnoded/model/ceph_pools.hpp"

#include <boost/json.hpp>

using namespace pvc::model;

static void check(const std::string& published, std::size_t keys) {
    PVC_ASSERT(pvc::fuzz::is_one_line(published));
    boost::json::error_code bad;
    const auto value = boost::json::parse(published, bad);
    PVC_ASSERT(!bad && value.is_object() && value.get_object().size() == keys);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto text = pvc::fuzz::text_of(data, size);
    if (const auto rooms = parse_pool_rooms(text)) {
        for (const auto& one : *rooms) {
            pool_counters counters;
            counters.written_kib = static_cast<std::uint64_t>(one.id);
            check(pool_stats_text(one, counters), 15);
        }
    }
    if (const auto rows = parse_pool_recovery(text)) {
        for (const auto& one : *rows) {
            PVC_ASSERT(pvc::fuzz::is_one_line(one.pool));
        }
    }
    if (const auto rows = parse_osd_dump(text)) {
        for (const auto& one : *rows) {
            check(osd_stats_text({one, {}, one.uuid, {}, one.state}), 24);
        }
    }
    if (const auto rows = parse_osd_df(text)) {
        for (const auto& one : *rows) {
            PVC_ASSERT(one.id >= 0);
            check(osd_stats_text({{}, one, one.device_class, {}, {}}), 24);
        }
    }
    return 0;
}
