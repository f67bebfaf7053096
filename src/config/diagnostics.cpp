#include "pvcnoded/config/diagnostics.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pvc::config {

std::string diagnostic::located() const {
    if (line > 0) {
        return fmt::format("{}:{}: {}", file, line, text);
    }
    return fmt::format("{}: {}", file, text);
}

std::string diagnostic::message() const {
    return level == severity::fatal ? located() : "warning: " + located();
}

void diagnostics::add(severity level, int line, std::string text) {
    all_.emplace(line, diagnostic{level, file_, line, std::move(text)});
}

bool diagnostics::has_fatal() const {
    return std::ranges::any_of(all_, [](const auto& each) { return each.second.level == severity::fatal; });
}

std::vector<diagnostic> diagnostics::take() {
    std::vector<diagnostic> out;
    out.reserve(all_.size());
    for (auto& [line, each] : all_) {
        out.push_back(std::move(each));
    }
    all_.clear();
    return out;
}

std::string printable(std::string_view text) {
    constexpr std::size_t longest = 80;
    constexpr std::size_t longest_character = 4;
    const auto byte_at = [text](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const unsigned byte = byte_at(i);
        const bool starts_a_character = (byte & 0xc0U) != 0x80U;
        if (i >= longest && (starts_a_character || i >= longest + longest_character)) {
            return out + "...";
        }
        if (byte < 0x20 || byte == 0x7f) {
            out += fmt::format("\\x{:02x}", byte);
        } else if (byte == 0xc2 && byte_at(i + 1) >= 0x80 && byte_at(i + 1) < 0xa0) {
            // U+0080 to U+009F: terminals obey some of them.
            out += fmt::format("\\x{:02x}", byte_at(++i));
        } else {
            out += text[i];
        }
    }
    return out;
}

}  // namespace pvc::config
