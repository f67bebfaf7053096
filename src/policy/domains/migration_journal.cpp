#include "pvcnoded/policy/domains/migration_journal.hpp"

#include "pvcnoded/base/text.hpp"

namespace pvc::policy {

namespace {

constexpr std::string_view version_word = "1";
constexpr std::string_view nothing = "-";
constexpr std::size_t words = 7;
constexpr std::size_t text_limit = 1024;

}  // namespace

std::string to_text(const journal_entry& entry) {
    const auto word = [](const std::string& text) { return text.empty() ? std::string(nothing) : text; };
    return join({std::string(version_word), word(entry.role), word(entry.peer), std::to_string(entry.created),
                 std::to_string(entry.state_changed), word(entry.step), word(entry.last_node)},
                " ") +
           "\n";
}

std::optional<journal_entry> parse_journal(std::string_view text) {
    if (text.size() > text_limit) {
        return std::nullopt;
    }
    const auto parts = split_blanks(trim(text));
    if (parts.size() != words || parts[0] != version_word || (parts[1] != "sender" && parts[1] != "receiver")) {
        return std::nullopt;
    }
    const auto created = parse_integer(parts[3]);
    const auto changed = parse_integer(parts[4]);
    if (!created || !changed) {
        return std::nullopt;
    }
    const auto word = [](std::string_view part) { return part == nothing ? std::string() : std::string(part); };
    return journal_entry{word(parts[1]), word(parts[2]), *created, *changed, word(parts[5]), word(parts[6])};
}

}  // namespace pvc::policy
