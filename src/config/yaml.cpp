#include "pvcnoded/config/yaml.hpp"

#include "pvcnoded/base/utf8.hpp"
#include "yaml_compose.hpp"
#include "yaml_events.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace pvc::config {

const yaml_entry* yaml_node::find(std::string_view key) const {
    const auto found = std::ranges::find(entries, key, &yaml_entry::key);
    return found == entries.end() ? nullptr : &*found;
}

namespace {

int line_of(std::string_view text, std::size_t offset) {
    return 1 + static_cast<int>(std::ranges::count(text.substr(0, offset), '\n'));
}

// libyaml compares each %TAG with all before it, 6 s for a file full of them; no configuration has any.
constexpr int max_directives = 100;

std::optional<std::size_t> one_directive_too_many(std::string_view text) {
    int directives = 0;
    for (std::size_t start = 0; start < text.size();) {
        if (text[start] == '%' && ++directives > max_directives) {
            return start;
        }
        const auto end = text.find('\n', start);
        start = end == std::string_view::npos ? text.size() : end + 1;
    }
    return std::nullopt;
}

}  // namespace

std::shared_ptr<const yaml_node> parse_yaml(std::string_view text, diagnostics& problems) {
    if (text.size() > max_file_bytes) {
        problems.add(severity::fatal, line_of(text, max_file_bytes), "file too large; expected at most 1 MiB");
        return nullptr;
    }
    if (const auto bad = first_invalid_utf8(text)) {
        problems.add(severity::fatal, line_of(text, *bad), "not valid UTF-8; expected UTF-8 text");
        return nullptr;
    }
    if (text.starts_with(byte_order_mark)) {
        text.remove_prefix(byte_order_mark.size());
    }
    if (const auto at = one_directive_too_many(text)) {
        problems.add(severity::fatal, line_of(text, *at),
                     fmt::format("too many directives; expected at most {} lines that begin with %", max_directives));
        return nullptr;
    }
    return compose(text, problems);
}

}  // namespace pvc::config
