// Scenario files of the simulator.
// Covers: tests/sim/world/action.cpp tests/sim/world/scenario_parse.cpp
#include "pvcnoded/base/assert.hpp"
#include "sim/world/scenario.hpp"

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto parsed = pvc::sim::parse_scenario(text);
    if (!parsed) {
        PVC_ASSERT(!parsed.error().text().empty());
        return 0;
    }
    for (const auto& step : parsed->steps) {
        if (step.what != pvc::sim::scenario_step::kind::act) {
            continue;
        }
        const std::string line = to_text(step.deed);
        const auto again = pvc::sim::parse_action(line);
        PVC_ASSERT(again);
        PVC_ASSERT(to_text(*again) == line);
    }
    return 0;
}
