#include "pvcnoded/policy/domains/migration_journal.hpp"

#include "pvcnoded/policy/domains/domain_table.hpp"

#include "pvcnoded/base/text.hpp"

namespace pvc::policy {

namespace {

constexpr std::string_view version_word = "1";
constexpr std::string_view nothing = "-";
constexpr std::size_t words = 7;
constexpr std::size_t text_limit = 1024;

// As far as is known.
bool may_be_half(const domain_seen& seen) {
    return seen.guest.value_or(model::guest_class::incoming) == model::guest_class::incoming;
}

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

bool is_of_this_migration(const journal_entry& entry, const domain_seen& seen) {
    return entry.created == seen.wish.created && entry.state_changed == seen.wish.state_changed;
}

bool was_going_off(const journal_entry& entry, const domain_seen& seen) {
    return entry.role == "sender" && entry.step == "offline" && is_of_this_migration(entry, seen) &&
           is_migration(seen.state) && !seen.is_owner && seen.is_guest(model::guest_class::absent);
}

bool may_be_handed_over(const journal_entry& entry, const domain_seen& seen) {
    return entry.role == "sender" && entry.created == seen.wish.created && seen.state == model::vm_state::stop &&
           !seen.is_owner && seen.is_guest(model::guest_class::absent);
}

bool may_be_given_back(const journal_entry& entry, const domain_seen& seen) {
    return entry.role == "sender" && entry.created == seen.wish.created && seen.state == model::vm_state::start &&
           seen.is_owner && entry.state_changed < seen.wish.state_changed && may_be_half(seen);
}

bool needs_record(const domain_seen& seen) {
    const bool concerns_us = seen.is_owner || !seen.is_guest(model::guest_class::absent);
    const bool is_half_to_run = seen.state == model::vm_state::start && seen.is_owner && may_be_half(seen);
    return (is_migration(seen.state) && concerns_us) || is_half_to_run;
}

}  // namespace pvc::policy
