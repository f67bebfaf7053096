#include "pvcnoded/model/domain_payloads.hpp"

#include "pvcnoded/base/text.hpp"
#include "pvcnoded/base/utf8.hpp"
#include "pvcnoded/model/scalar.hpp"

#include <algorithm>

namespace pvc::model {

namespace {

constexpr std::int64_t default_downtime_ms = 300;

bool is_plain(char c) {
    return static_cast<unsigned char>(c) < 0x80 && c != '\r';
}

// Valid UTF-8 with LF as the only newline. Most of a console is plain text: it is copied run by run.
std::string clean(std::string_view raw) {
    std::string text;
    text.reserve(raw.size());
    while (!raw.empty()) {
        const auto run = static_cast<std::size_t>(std::ranges::find_if_not(raw, is_plain) - raw.begin());
        text += raw.substr(0, run);
        raw.remove_prefix(run);
        if (raw.starts_with('\r')) {
            text += '\n';
            raw.remove_prefix(raw.starts_with("\r\n") ? 2 : 1);
        } else if (!raw.empty()) {
            raw.remove_prefix(append_character(text, raw));
        }
    }
    return text;
}

// Where the line begins that ends at `end` (behind its newline, if it has one).
std::size_t start_of_line(std::string_view text, std::size_t end) {
    return end < 2 ? 0 : text.rfind('\n', end - 2) + 1;  // npos + 1 is 0
}

// Without characters that a terminal obeys.
bool shows_as_it_is(std::string_view text) {
    while (!text.empty()) {
        const auto character = decode_utf8(text);
        if (is_control(character.code) || is_direction_mark(character.code)) {
            return false;
        }
        text.remove_prefix(character.bytes);
    }
    return true;
}

}  // namespace

std::string_view console_name_problem(std::string_view name) {
    constexpr std::size_t longest =
        200;  // with its suffix, and that of a temporary file, it is below the 255 of file systems
    if (name.empty()) {
        return "is empty";
    }
    if (name.size() > longest) {
        return "has more than 200 bytes";
    }
    if (name.find('/') != std::string_view::npos) {
        return "holds a `/`";
    }
    if (name == "." || name == "..") {
        return "is that of a folder";
    }
    // Those of Latin-1 count too, and what turns the direction of a line around.
    return shows_as_it_is(name) ? "" : "holds a control character";
}

std::string console_text(std::string_view raw, std::size_t lines, std::size_t max_bytes) {
    // More cannot count: see console_read_bytes.
    const auto text = clean(raw.substr(raw.size() - std::min(raw.size(), 2 * max_bytes + 2)));
    std::size_t start = text.size();
    for (std::size_t kept = 0; kept < lines && start > 0; ++kept) {
        const auto earlier = start_of_line(text, start);
        if (text.size() - earlier > max_bytes) {
            return kept == 0 ? std::string(end_from_character(text, max_bytes)) : text.substr(start);
        }
        start = earlier;
    }
    return text.substr(start);
}

bool lists_domain(std::string_view running_domains, const uuid& id) {
    // Any spelling of a UUID: a domain that runs elsewhere must not be overlooked.
    return std::ranges::any_of(split_blanks(running_domains),
                               [&id](std::string_view word) { return parse_any_uuid(word) == id; });
}

std::uint64_t maximum_downtime_ms(std::string_view text) {
    const auto value = integer_or(text, default_downtime_ms);
    return static_cast<std::uint64_t>(value > 0 ? value : default_downtime_ms);
}

migration_method parse_migration_method(std::string_view text) {
    const auto word = trim(text);
    if (word == "live") {
        return migration_method::live;
    }
    return word == "shutdown" ? migration_method::shutdown : migration_method::none;
}

}  // namespace pvc::model
