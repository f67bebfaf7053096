// The raw end of a console file; the first two bytes: how many lines and how many bytes at most. The value is the end
// of the whole text in its clean form, and no shorter than it must be.
// Covers: src/model/domain_payloads.cpp src/base/utf8.cpp
#include "fuzz_support.hpp"
#include "pvcnoded/base/utf8.hpp"
#include "pvcnoded/model/domain_payloads.hpp"

#include <string>

using namespace pvc::model;
using pvc::valid_utf8;

static std::string with_plain_newlines(std::string_view text) {
    std::string out;
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (text[at] != '\n' || at == 0 || text[at - 1] != '\r') {
            out += text[at] == '\r' ? '\n' : text[at];
        }
    }
    return out;
}

static std::size_t lines_of(std::string_view text) {
    const auto ended = static_cast<std::size_t>(std::ranges::count(text, '\n'));
    return ended + (text.empty() || text.ends_with('\n') ? 0 : 1);
}

// The line that ends where `text` ends.
static std::string_view last_line(std::string_view text) {
    const auto body = text.substr(0, text.size() - (text.ends_with('\n') ? 1 : 0));
    return text.substr(body.rfind('\n') + 1);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    auto raw = pvc::fuzz::text_of(data, size);
    const std::size_t lines = pvc::fuzz::take_byte(raw);
    const std::size_t max_bytes = pvc::fuzz::take_byte(raw);
    const auto value = console_text(raw, lines, max_bytes);
    const auto whole = with_plain_newlines(valid_utf8(raw));
    PVC_ASSERT(value.size() <= max_bytes && lines_of(value) <= lines);
    PVC_ASSERT(whole.ends_with(value) && valid_utf8(value) == value);
    PVC_ASSERT(console_text(value, lines, max_bytes) == value);
    const auto before = std::string_view(whole).substr(0, whole.size() - value.size());
    const bool is_within_line = !before.empty() && !before.ends_with('\n') && lines > 0;
    if (lines_of(value) == lines && !is_within_line) {
        return 0;
    }
    if (is_within_line || value.empty()) {
        PVC_ASSERT(before.empty() || last_line(whole).size() > max_bytes);
        PVC_ASSERT(before.empty() || value.size() + 4 > max_bytes);
    } else {
        PVC_ASSERT(before.empty() || last_line(before).size() + value.size() > max_bytes);
    }
    return 0;
}
