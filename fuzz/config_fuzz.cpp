// Any text gives a configuration or says why not, on lines that name the file; what is effective can be listed, and
// says no secret. Covers: src/config/bridges.cpp src/config/diagnostics.cpp src/config/effective_settings.cpp
// src/config/load.cpp Covers: src/config/networking.cpp src/config/node_config.cpp src/config/rules.cpp
// src/config/scalars.cpp Covers: src/config/section.cpp src/config/section_values.cpp src/config/services.cpp
// src/config/system.cpp
#include "fuzz_support.hpp"
#include "pvcnoded/config/load.hpp"

using namespace pvc::config;

static constexpr std::size_t longest_message = 2000;

// Control characters of both kinds, the second one as UTF-8.
static bool has_control(std::string_view text) {
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto byte = static_cast<unsigned char>(text[i]);
        const auto next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0U;
        if (byte < 0x20 || byte == 0x7f || (byte == 0xc2 && next >= 0x80 && next < 0xa0)) {
            return true;
        }
    }
    return false;
}

static void check_message(const diagnostic& each) {
    PVC_ASSERT(each.located().starts_with("file:") && each.text.size() < longest_message && !has_control(each.text));
    const auto expected = each.text.find("; expected ");
    PVC_ASSERT(expected != std::string::npos);
    // What stands in the file is said, unless nothing does.
    PVC_ASSERT(each.line >= 0);
}

static void check_settings(const node_config& config) {
    const auto settings = effective_settings(config);
    PVC_ASSERT(std::ranges::is_sorted(settings));
    for (const auto& [name, value] : settings) {
        PVC_ASSERT(!has_control(name) && pvc::fuzz::is_one_line(value));
        PVC_ASSERT(!name.ends_with("pass") || value == "********" || value == "none");
    }
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto got = load_text(pvc::fuzz::text_of(data, size), "file", "pvchv1");
    const bool is_fatal = std::ranges::count(got.diagnostics, severity::fatal, &diagnostic::level) > 0;
    PVC_ASSERT(got.config.has_value() != is_fatal && !got.missing_variable);
    std::ranges::for_each(got.diagnostics, check_message);
    if (got.config) {
        check_settings(*got.config);
    }
    return 0;
}
