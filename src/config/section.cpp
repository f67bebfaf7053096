#include "section.hpp"

#include "pvcnoded/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pvc::config {

namespace {

constexpr std::string_view a_mapping = "a mapping";
constexpr std::string_view a_list = "a list";

}  // namespace

section::section(reading& shared, const yaml_node* map, std::string path, int line)
    : shared_(&shared), map_(map), path_(std::move(path)), known_path_(path_), line_(line) {}

section::section(const section& parent, const yaml_node* map, std::string_view part, std::string_view known_part,
                 int line)
    : shared_(parent.shared_),
      map_(map),
      path_(fmt::format("{}{}", parent.path_, part)),
      known_path_(fmt::format("{}{}", parent.known_path_, known_part)),
      line_(line),
      is_muted_(parent.is_muted_) {}

const yaml_entry* section::look_up(std::string_view key) {
    asked_.emplace(key);
    shared_->known_keys.insert(fmt::format("{}.{}", known_path_, key));
    return map_ == nullptr ? nullptr : map_->find(key);
}

void section::report(severity level, int line, std::string_view path, std::string_view text) const {
    shared_->problems.add(level, line, fmt::format("{}: {}", path, text));
}

void section::missing(std::string_view key, presence code, std::string_view expectation, std::string_view used) const {
    if (is_muted_ || code == presence::optional) {
        return;
    }
    report(code == presence::required ? severity::fatal : severity::warning, line_, fmt::format("{}.{}", path_, key),
           fmt::format("missing; expected {}{}{}", expectation, used.empty() ? "" : ", using ", printable(used)));
}

// The entry if it is of that kind, or was left empty, which counts as an empty one, unless it is required; anything
// else that is there is reported. What was left empty has no entries, whatever its kind.
const yaml_entry* section::mapping_or_list(std::string_view key, yaml_kind kind, presence code,
                                           std::string_view expectation) {
    const auto* entry = look_up(key);
    if (entry == nullptr || entry->value->kind == kind) {
        return entry;
    }
    const bool is_empty = is_left_empty(*entry->value);
    if (is_empty && code != presence::required) {
        return entry;
    }
    const std::string_view name = kind == yaml_kind::mapping ? "mapping" : "list";
    report(severity::fatal, entry->line, fmt::format("{}.{}", path_, key),
           fmt::format("{}; expected {}, got {}", is_empty ? "missing" : fmt::format("not a {}", name), expectation,
                       value_text(*entry->value, true)));
    return nullptr;
}

// A mapping, or one that was left empty; anything else is reported.
bool section::is_section(const yaml_entry& item, std::string_view part) const {
    const bool is_good = item.value->kind == yaml_kind::mapping || is_left_empty(*item.value);
    if (!is_good) {
        report(severity::fatal, item.line, fmt::format("{}{}", path_, part),
               fmt::format("not a mapping; expected a mapping, got {}", value_text(*item.value, true)));
    }
    return is_good;
}

section section::child(std::string_view key, presence code) {
    const std::string part = fmt::format(".{}", key);
    const bool is_there = look_up(key) != nullptr;
    if (const auto* entry = mapping_or_list(key, yaml_kind::mapping, code, a_mapping)) {
        return {*this, entry->value.get(), part, part, entry->line};
    }
    section none(*this, nullptr, part, part, line_);
    if (!is_there) {
        missing(key, code, a_mapping);
    }
    none.is_muted_ = is_muted_ || is_there || code == presence::required;
    return none;
}

std::vector<section> section::items(std::string_view key) {
    std::vector<section> out;
    const auto* entry = mapping_or_list(key, yaml_kind::sequence, presence::optional, a_list);
    for (std::size_t i = 0; entry != nullptr && i < entry->value->entries.size(); ++i) {
        const auto& item = entry->value->entries[i];
        const std::string part = fmt::format(".{}[{}]", key, i);
        if (item.value->kind != yaml_kind::mapping) {
            report(severity::fatal, item.line, path_ + part,
                   fmt::format("not a mapping; expected a mapping, got {}", value_text(*item.value, true)));
            continue;
        }
        out.push_back(section(*this, item.value.get(), part, fmt::format(".{}[]", key), item.line));
    }
    return out;
}

std::vector<std::pair<std::string, section>> section::named_sections(std::string_view key) {
    std::vector<std::pair<std::string, section>> out;
    const auto* entry = mapping_or_list(key, yaml_kind::mapping, presence::optional, a_mapping);
    for (std::size_t i = 0; entry != nullptr && i < entry->value->entries.size(); ++i) {
        const auto& item = entry->value->entries[i];
        const std::string part = fmt::format(".{}.{}", key, printable(item.key));
        if (!is_section(item, part)) {
            continue;
        }
        out.emplace_back(item.key, section(*this, item.value.get(), part, fmt::format(".{}.<name>", key), item.line));
    }
    return out;
}

std::vector<setting<int>> section::named_numbers(std::string_view key, range allowed) {
    std::vector<setting<int>> out;
    const auto* entry = mapping_or_list(key, yaml_kind::mapping, presence::optional, a_mapping);
    for (std::size_t i = 0; entry != nullptr && i < entry->value->entries.size(); ++i) {
        const auto& item = entry->value->entries[i];
        auto number = found(item, fmt::format("{}.{}.{}", path_, key, printable(item.key)), 0);
        read_integer(*item.value, allowed, range_text(allowed), number);
        number.path = item.key;
        out.push_back(std::move(number));
    }
    return out;
}

setting<std::vector<setting<std::string>>> section::list(std::string_view key, presence code,
                                                         const text_rule& item_rule) {
    using items_type = std::vector<setting<std::string>>;
    const bool is_there = look_up(key) != nullptr;
    const auto* entry = mapping_or_list(key, yaml_kind::sequence, code, a_list);
    if (entry == nullptr) {
        if (!is_there) {
            missing(key, code, fmt::format("a list, each item {}", item_rule.expectation));
        }
        return absent<items_type>(key, {});
    }
    auto out = found<items_type>(*entry, fmt::format("{}.{}", path_, key), {});
    for (std::size_t i = 0; i < entry->value->entries.size(); ++i) {
        const auto& item = entry->value->entries[i];
        auto value = found<std::string>(item, fmt::format("{}[{}]", out.path, i), {});
        read_text(*item.value, item_rule, value);
        out.value.push_back(std::move(value));
    }
    out.given = true;
    return out;
}

setting<std::vector<int>> section::integers(std::string_view key, range allowed, std::vector<int> fallback) {
    const auto* entry = mapping_or_list(key, yaml_kind::sequence, presence::optional, a_list);
    if (entry == nullptr || is_left_empty(*entry->value)) {
        return absent(key, std::move(fallback));
    }
    auto out = found<std::vector<int>>(*entry, fmt::format("{}.{}", path_, key), {});
    const auto& items = entry->value->entries;
    if (items.size() != fallback.size()) {
        wrong(out, "wrong number of items",
              fmt::format("a list of {} items, each {}", fallback.size(), range_text(allowed)),
              fmt::format("{} items (sequence)", items.size()));
        return out;
    }
    for (std::size_t i = 0; i < items.size(); ++i) {
        auto number = found(items[i], fmt::format("{}[{}]", out.path, i), 0);
        read_integer(*items[i].value, allowed, range_text(allowed), number);
        out.value.push_back(number.value);
    }
    out.given = true;
    return out;
}

std::string_view section::nearest_to(std::string_view key) const {
    key = key.substr(0, 64);  // all known keys are shorter; long ones would only take time
    std::string_view nearest;
    std::size_t least = key.size() + 64;
    for (const auto& known : asked_) {
        const auto distance = edit_distance(key, known);
        if (distance < least) {
            least = distance;
            nearest = known;
        }
    }
    return nearest;
}

void section::finish() const {
    if (map_ == nullptr) {
        return;
    }
    for (const auto& entry : map_->entries) {
        if (asked_.contains(entry.key)) {
            continue;
        }
        const auto nearest = nearest_to(entry.key);
        const std::string path = fmt::format("{}.{}", path_, printable(entry.key));
        // A slip in the name of a section takes everything in it away: a BMC without its password, for one.
        constexpr std::size_t slip = 3;
        const bool is_section = entry.value->kind == yaml_kind::mapping && !entry.value->entries.empty();
        const bool is_missing = std::ranges::none_of(map_->entries, [&](const auto& e) { return e.key == nearest; });
        if (is_section && is_missing && entry.key.size() < 64 && edit_distance(entry.key, nearest) <= slip) {
            report(severity::error, entry.line, path,
                   fmt::format("unknown section, all of it is ignored; expected {}, which is missing: each of its "
                               "settings has its default",
                               nearest));
            continue;
        }
        report(severity::warning, entry.line, path,
               fmt::format("unknown key, ignored; expected a known key, the nearest is {}", nearest));
    }
}

}  // namespace pvc::config
