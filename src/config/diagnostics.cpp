#include "pvcnoded/config/diagnostics.hpp"

#include "pvcnoded/base/utf8.hpp"

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
    switch (level) {
        case severity::fatal: return located();
        case severity::info: return "info: " + located();
        default: return "warning: " + located();
    }
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
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (i >= longest && (!is_continuation(text[i]) || i >= longest + longest_character)) {
            return out + "...";
        }
        const auto character = decode_utf8(text.substr(i));
        if (is_control(character.code)) {
            out += fmt::format("\\x{:02x}", static_cast<unsigned>(character.code));
            i += character.bytes - 1;
        } else {
            out += text[i];
        }
    }
    return out;
}

}  // namespace pvc::config
