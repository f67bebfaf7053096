#include "pvcnoded/policy/membership/schema_rules.hpp"

#include "pvcnoded/base/planted.hpp"
#include "pvcnoded/base/text.hpp"
#include "pvcnoded/model/schema.hpp"

#include <algorithm>

namespace pvc::policy {

namespace {

constexpr int lowest_limit = 10;  // the highest version that nodes and clients of 0.9.82 know

std::string too_new(std::int64_t version) {
    return "the cluster uses schema version " + std::to_string(version) + ", this daemon supports up to " +
           std::to_string(model::highest_schema);
}

// A version is a number that is not negative; anything else counts as missing.
std::optional<std::int64_t> parse_version(std::optional<std::string_view> stored) {
    const auto number = parse_integer(trim(stored.value_or("")));
    return number && *number >= 0 ? number : std::nullopt;
}

std::string unreadable(std::optional<std::string_view> stored) {
    if (!stored) {
        return "/schema/version is missing";
    }
    return "/schema/version is not a number: \"" + ascii_only(stored->substr(0, 40)) + "\"";
}

}  // namespace

schema_start_decision decide_schema_start(std::optional<std::string_view> stored) {
    const auto version = parse_version(stored);
    if (!version) {
        return {schema_start::wait, 0, "the cluster is not initialised: " + unreadable(stored)};
    }
    if (*version > model::highest_schema) {
        return {schema_start::exit, 0, too_new(*version)};
    }
    return {schema_start::run, static_cast<int>(*version), {}};
}

schema_change_decision decide_schema_change(int active, std::optional<std::string_view> stored) {
    const auto version = parse_version(stored);
    if (!version) {
        return {schema_change::none, active, unreadable(stored) + ", keeping version " + std::to_string(active)};
    }
    if (*version > model::highest_schema) {
        return {schema_change::exit, active, too_new(*version)};
    }
    if (*version == active) {
        return {schema_change::none, active, {}};
    }
    return {schema_change::update, static_cast<int>(*version), {}};
}

result<std::optional<int>> parse_schema_limit(std::optional<std::string_view> text) {
    if (!text || trim(*text).empty()) {
        return std::optional<int>{};
    }
    const auto number = parse_integer(trim(*text));
    if (!number || *number < lowest_limit || *number > model::highest_schema) {
        return failure(
            errc::invalid, "PVCD_SCHEMA_LIMIT",
            "must be a number from " + std::to_string(lowest_limit) + " to " + std::to_string(model::highest_schema));
    }
    return std::optional<int>{static_cast<int>(*number)};
}

int advertised_latest(int cluster_version, std::optional<int> limit) {
    return std::max({lowest_limit, cluster_version, limit.value_or(lowest_limit)});
}

bool must_raise(int cluster_version, int own_latest, const std::vector<std::optional<std::string>>& all_latest) {
    if (own_latest <= cluster_version || all_latest.empty()) {
        return false;
    }
    if (is_planted(defect::schema_raised_alone)) {
        return true;
    }
    return std::ranges::all_of(all_latest, [own_latest](const std::optional<std::string>& text) {
        return text && parse_integer(trim(*text)) == own_latest;
    });
}

update_part part_in_update(std::string_view self, const std::optional<std::string>& primary,
                           std::optional<model::daemon_state> primary_state) {
    if (primary && *primary == self) {
        return update_part::lead;
    }
    const bool led_by_other = primary && primary_state == model::daemon_state::run;
    return led_by_other ? update_part::follow : update_part::stand;
}

}  // namespace pvc::policy
