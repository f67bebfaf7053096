// /schema/version, latestschema and the limit: no text leads to a version outside 0-15.
// Covers: src/policy/membership/schema_rules.cpp
#include "pvcnoded/base/assert.hpp"
#include "pvcnoded/base/text.hpp"
#include "pvcnoded/model/schema.hpp"
#include "pvcnoded/policy/membership/schema_rules.hpp"

#include <string_view>

using namespace pvc::policy;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto start = decide_schema_start(text);
    PVC_ASSERT(start.action != schema_start::run || pvc::model::schema::of(start.version));
    PVC_ASSERT((start.action == schema_start::run) == start.reason.empty());
    const auto change = decide_schema_change(10, text);
    PVC_ASSERT(change.action != schema_change::update || pvc::model::schema::of(change.version));
    PVC_ASSERT(pvc::ascii_only(start.reason) == start.reason && start.reason.size() < 200);
    PVC_ASSERT(pvc::ascii_only(change.message) == change.message && change.message.size() < 200);
    const auto limit = parse_schema_limit(text);
    if (!limit) {
        PVC_ASSERT(limit.error().text().find("PVCD_SCHEMA_LIMIT") != std::string::npos);
    } else if (*limit) {
        PVC_ASSERT(advertised_latest(0, *limit) == **limit && **limit <= pvc::model::highest_schema);
    }
    PVC_ASSERT(!must_raise(10, 10, {std::string(text)}));
    return 0;
}
