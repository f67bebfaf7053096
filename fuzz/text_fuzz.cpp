// The numbers and small encodings on which every other parser stands: total, canonical, and bounded by the input.
// Covers: src/base/text.cpp
#include "fuzz_support.hpp"
#include "pvcnoded/base/text.hpp"

#include <charconv>
#include <cmath>
#include <cstring>

using namespace pvc;

static void check_numbers(std::string_view text) {
    if (const auto number = parse_integer(text)) {
        PVC_ASSERT(parse_integer(std::to_string(*number)) == number);
        PVC_ASSERT(text.find_first_not_of("+-0123456789") == std::string_view::npos);
    }
    double value = 0;
    std::memcpy(&value, text.data(), std::min(text.size(), sizeof value));
    const auto written = float_text(value);
    double read = 0;
    const auto [end, error] = std::from_chars(written.data(), written.data() + written.size(), read);
    PVC_ASSERT(error == std::errc{} && end == written.data() + written.size());
    PVC_ASSERT(std::isfinite(value) ? read == value : written == "0.0");
    PVC_ASSERT(written.find('.') != std::string::npos && !written.ends_with('.'));
}

static void check_parts(std::string_view text) {
    for (const char separator : {'\n', ',', '/'}) {
        const auto parts = split(text, separator);
        const std::vector<std::string> owned(parts.begin(), parts.end());
        PVC_ASSERT(join(owned, std::string_view(&separator, 1)) == text);
    }
    const auto words = split_blanks(text);
    PVC_ASSERT(std::ranges::none_of(words, [](auto word) { return word.empty() || trim(word) != word; }));
    PVC_ASSERT(words.empty() == trim(text).empty());
    PVC_ASSERT(trim(trim(text)) == trim(text));
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto text = fuzz::text_of(data, size);
    check_numbers(text);
    check_parts(text);
    const auto plain = ascii_only(text);
    PVC_ASSERT(plain.size() == text.size() && fuzz::is_printable_ascii(plain) && ascii_only(plain) == plain);
    PVC_ASSERT(lower(lower(text)) == lower(text) && equal_ignoring_case(text, lower(text)));
    const auto half = std::min<std::size_t>(text.size() / 2, 64);
    const auto one = text.substr(0, half);
    const auto other = text.substr(half, 64);
    const auto distance = edit_distance(one, other);
    PVC_ASSERT(distance == edit_distance(other, one) && distance <= std::max(one.size(), other.size()));
    PVC_ASSERT((distance == 0) == (one == other));
    return 0;
}
