// Any text gives a configuration or says why not, on lines that name the file; what is effective can be listed.
#include "pvcnoded/base/assert.hpp"
#include "pvcnoded/config/load.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

using namespace pvc::config;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto got = load_text({reinterpret_cast<const char*>(data), size}, "file", "pvchv1");
    const bool is_fatal = std::ranges::count(got.diagnostics, severity::fatal, &diagnostic::level) > 0;
    PVC_ASSERT(got.config.has_value() != is_fatal);
    PVC_ASSERT(!got.missing_variable);
    const auto is_one_line = [](const std::string& text) { return text.find('\n') == std::string::npos; };
    for (const auto& each : got.diagnostics) {
        PVC_ASSERT(each.located().starts_with("file:") && is_one_line(each.text) && each.text.size() < 2000);
        PVC_ASSERT(each.text.find("; expected ") != std::string::npos);
    }
    if (got.config) {
        const auto settings = effective_settings(*got.config);
        PVC_ASSERT(std::ranges::is_sorted(settings));
        PVC_ASSERT(std::ranges::all_of(
            settings, [&](const auto& each) { return is_one_line(each.first) && is_one_line(each.second); }));
    }
    return 0;
}
