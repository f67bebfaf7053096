#include "pvcnoded/model/node_payloads.hpp"

#include "pvcnoded/base/text.hpp"
#include "pvcnoded/model/scalar.hpp"

#include <algorithm>

namespace pvc::model {

namespace {

constexpr std::int64_t lease_limit_s = 10'000'000;  // far beyond what any configuration can publish

bool is_hexadecimal(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

std::string static_token(std::string_view text) {
    std::string token = ascii_only(trim(text));
    std::ranges::replace(token, ' ', '_');
    return token.empty() ? "unknown" : token;
}

}  // namespace

bool is_uuid(std::string_view text) {
    if (text.size() != 36) {
        return false;
    }
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        if (dash ? text[i] != '-' : !is_hexadecimal(text[i])) {
            return false;
        }
    }
    return true;
}

std::vector<std::string> parse_running_domains(std::string_view text) {
    std::vector<std::string> uuids;
    for (const auto token : split_blanks(text)) {
        if (is_uuid(token) && std::ranges::find(uuids, token) == uuids.end()) {
            uuids.emplace_back(token);
        }
    }
    return uuids;
}

std::string running_domains_text(const std::vector<std::string>& uuids) {
    return join(uuids, " ");
}

std::optional<static_data> parse_static_data(std::string_view text) {
    const auto tokens = split_blanks(text);
    if (tokens.size() < 4) {
        return std::nullopt;
    }
    return static_data{std::string(tokens[0]), std::string(tokens[1]), std::string(tokens[2]), std::string(tokens[3])};
}

std::string static_data_text(const static_data& data) {
    return static_token(data.cpu_count) + " " + static_token(data.kernel) + " " + static_token(data.operating_system) +
           " " + static_token(data.machine);
}

self_reset_lease parse_self_reset(std::string_view text) {
    const auto words = split_blanks(text);
    if (words.size() != 2 || words[0] != "armed") {
        return std::nullopt;
    }
    const auto seconds = parse_integer(words[1]);
    if (!seconds || *seconds <= 0 || *seconds > lease_limit_s) {
        return std::nullopt;
    }
    return std::chrono::seconds(*seconds);
}

std::string self_reset_text(self_reset_lease lease) {
    return lease ? "armed " + std::to_string(lease->count()) : "off";
}

std::optional<std::string> parse_primary_node(std::optional<std::string_view> stored) {
    // Compared to the letter, as peers do: a name with a blank is somebody else's, and is taken back as such.
    const auto name = stored.value_or("");
    if (is_no_value(name) || name == "none") {
        return std::nullopt;
    }
    return std::string(name);
}

std::string primary_node_text(const std::optional<std::string>& node) {
    return node.value_or("none");
}

}  // namespace pvc::model
