// Every payload parser: the first byte selects one, the rest is the text. What was read must survive the round trip.
#include "pvcnoded/base/assert.hpp"
#include "pvcnoded/model/json_text.hpp"
#include "pvcnoded/model/node_payloads.hpp"
#include "pvcnoded/model/scalar.hpp"
#include "pvcnoded/model/states.hpp"
#include "pvcnoded/model/system_figures.hpp"

#include <string_view>

using namespace pvc::model;

static void parse(unsigned selector, std::string_view text) {
    switch (selector % 16) {
        case 0: PVC_ASSERT(!parse_maintenance(text) || parse_boolean(text) == true); break;
        case 1: (void)integer_or(text, 0); break;
        case 2:
            if (const auto load = parse_float(text)) {
                PVC_ASSERT(parse_float(cpu_load_text(*load)));
            }
            break;
        case 3: PVC_ASSERT(to_text(daemon_state_or_fallback(text)) == text || !parse_daemon_state(text)); break;
        case 4: PVC_ASSERT(to_text(router_state_or_fallback(text)) == text || !parse_router_state(text)); break;
        case 5: PVC_ASSERT(to_text(domain_state_or_fallback(text)) == text || !parse_domain_state(text)); break;
        case 6: PVC_ASSERT(to_text(vm_state_or_fallback(text)) == text || !parse_vm_state(text)); break;
        case 7: {
            const auto uuids = parse_running_domains(text);
            PVC_ASSERT(parse_running_domains(running_domains_text(uuids)) == uuids);
            break;
        }
        case 8:
            if (const auto data = parse_static_data(text)) {
                PVC_ASSERT(parse_static_data(static_data_text(*data)));
            }
            break;
        case 9: PVC_ASSERT(parse_self_reset(self_reset_text(parse_self_reset(text))) == parse_self_reset(text)); break;
        case 10: {
            const auto node = parse_primary_node(text);
            PVC_ASSERT(parse_primary_node(primary_node_text(node)) == node);
            break;
        }
        case 11: PVC_ASSERT(parse_health(health_text(parse_health(text))) == parse_health(text)); break;
        case 12:
            if (const auto info = parse_memory_info(text)) {
                PVC_ASSERT(figures_of(*info, 10).total_mib >= 0 && figures_of(*info, 14).free_mib >= 0);
            }
            break;
        case 13: (void)parse_load_average(text); break;
        case 14: PVC_ASSERT(parse_comma_list(comma_list_text(parse_comma_list(text))) == parse_comma_list(text)); break;
        default:
            for (const char byte : json_object().add("text", text).text()) {
                PVC_ASSERT(byte >= 0x20);
            }
    }
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size > 0) {
        parse(data[0], {reinterpret_cast<const char*>(data) + 1, size - 1});
    }
    return 0;
}
