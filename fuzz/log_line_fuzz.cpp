// A log record of hostile bytes: every line of the result carries the whole front, nothing in it drives a terminal, and
// it does not grow beyond the limits. Input: style, level, schema version (a byte each), prefix, newline, text.
// Covers: src/core/log_format.cpp src/model/log_value.cpp src/base/utf8.cpp
#include "fuzz_support.hpp"
#include "pvcnoded/base/text.hpp"
#include "pvcnoded/base/utf8.hpp"
#include "pvcnoded/core/log_format.hpp"

using namespace pvc;
using namespace pvc::core;

static bool is_tame(std::string_view text) {
    return tame_text(text) == text;
}

static std::size_t lines_of(std::string_view text) {
    const auto lines = static_cast<std::size_t>(std::ranges::count(text, '\n')) + 1;
    return lines > record_lines_max || text.size() > record_bytes_max ? record_lines_max + 1 : lines;
}

// `front`: what an empty record gives. Colours are our own and the only control characters.
static void check(const std::string& formatted, const std::string& front, std::string_view text) {
    const auto lines = split(formatted, '\n');
    PVC_ASSERT(lines.size() <= lines_of(text));
    PVC_ASSERT(text.size() > record_bytes_max || lines_of(text) > record_lines_max || lines.size() == lines_of(text));
    for (const auto line : lines) {
        PVC_ASSERT(line.starts_with(front) && is_tame(line.substr(front.size())));
    }
    // A byte that is no UTF-8 becomes three.
    PVC_ASSERT(formatted.size() <= lines.size() * (front.size() + 32) + 3 * std::min(text.size(), record_bytes_max));
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    auto rest = fuzz::text_of(data, size);
    const unsigned flags = fuzz::take_byte(rest);
    const log_style style{.colours = (flags & 1U) != 0, .dates = (flags & 2U) != 0, .journal = (flags & 4U) != 0};
    log_record record;
    record.level = static_cast<log_level>(fuzz::take_byte(rest) % 7);
    const int version = static_cast<int>(fuzz::take_byte(rest) % 16);
    record.when = wall_time(std::chrono::seconds(1'700'000'000));
    record.prefix = fuzz::take_until(rest, '\n').substr(0, 256);
    record.text = rest;
    log_record nothing = record;
    nothing.text.clear();
    check(format_record(record, style), format_record(nothing, style), rest);
    const auto shipped = format_shipped(record, style, version);
    check(shipped, format_shipped(nothing, style, version), rest);
    PVC_ASSERT(valid_utf8(shipped) == shipped);
    PVC_ASSERT(fuzz::is_one_line(format_record(nothing, style)));
    PVC_ASSERT(is_tame(tame_text(rest)));
    return 0;
}
