// The small keys of a domain and of the nodes that run it: one input serves as each of them.
// Covers: src/model/domain_payloads.cpp src/model/states.cpp src/base/uuid.cpp
#include "fuzz_support.hpp"
#include "pvcnoded/base/text.hpp"
#include "pvcnoded/base/uuid.hpp"
#include "pvcnoded/model/domain_payloads.hpp"
#include "pvcnoded/model/states.hpp"

using namespace pvc::model;

static void check_state(std::string_view text) {
    const auto state = parse_vm_state(text);
    PVC_ASSERT(state != vm_state::unknown && vm_state_or_fallback(text) == state.value_or(vm_state::unknown));
    PVC_ASSERT(!state || to_text(*state) == text);
}

static void check_uuid(std::string_view text) {
    const auto id = pvc::parse_uuid(text);
    PVC_ASSERT(!id || to_text(*id) == text);
    const auto any = pvc::parse_any_uuid(text);
    PVC_ASSERT(!id || any == id);
    if (!any) {
        return;
    }
    auto bare = to_text(*any);
    PVC_ASSERT(pvc::parse_uuid(bare) == any);
    std::erase(bare, '-');
    auto written = pvc::lower(text);
    std::erase(written, '-');
    PVC_ASSERT(written == bare && pvc::parse_any_uuid(bare) == any && !pvc::parse_uuid(bare));
}

static void check_running(std::string_view text) {
    pvc::uuid absent;
    absent.bytes.fill(0xa5);
    const auto absent_text = to_text(absent);
    const bool is_listed = lists_domain(text, absent);
    PVC_ASSERT(!is_listed || pvc::lower(text).find("a5a5a5a5") != std::string::npos);
    PVC_ASSERT(lists_domain(std::string(text) + ' ' + absent_text, absent));
    PVC_ASSERT(lists_domain(absent_text + '\n' + std::string(text), absent));
    PVC_ASSERT(is_listed || !lists_domain(std::string(text) + ' ' + absent_text + 'x', absent));
    for (const auto word : pvc::split_blanks(text)) {
        const auto id = pvc::parse_any_uuid(word);
        PVC_ASSERT(!id || lists_domain(text, *id));
    }
}

static void check_migration(std::string_view text) {
    const auto downtime = maximum_downtime_ms(text);
    const auto number = pvc::parse_integer(pvc::trim(text));
    PVC_ASSERT(downtime == (number && *number > 0 ? static_cast<std::uint64_t>(*number) : 300U));
    PVC_ASSERT(maximum_downtime_ms(std::to_string(downtime)) == downtime);
    const auto word = pvc::trim(text);
    const auto method = parse_migration_method(text);
    PVC_ASSERT((method == migration_method::live) == (word == "live"));
    PVC_ASSERT((method == migration_method::shutdown) == (word == "shutdown"));
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto text = pvc::fuzz::text_of(data, size);
    check_state(text);
    check_uuid(text);
    check_running(text);
    check_migration(text);
    return 0;
}
