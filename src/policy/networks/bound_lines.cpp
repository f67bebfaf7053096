// Routes as lines of the record of links: nobody but the daemon writes them, and a crash may have left anything.
#include "pvcnoded/base/text.hpp"
#include "pvcnoded/policy/networks/bound_routes.hpp"

#include <fmt/format.h>

#include <charconv>
#include <limits>

namespace pvc::policy {

namespace {

constexpr std::size_t fixed_words = 5;  // route, device, index, table, where it leads
constexpr int base_of_hex = 16;
constexpr std::uint16_t most_weight = 256;

std::string hex_of(std::string_view bytes) {
    std::string text;
    for (const char one : bytes) {
        text += fmt::format("{:02x}", static_cast<unsigned char>(one));
    }
    return text;
}

bool take_hex(std::string& to, std::string_view hex) {
    if (hex.empty() || hex.size() % 2 != 0 || hex.size() / 2 > model::route_settings_max) {
        return false;
    }
    for (; !hex.empty(); hex.remove_prefix(2)) {
        const auto pair = hex.substr(0, 2);
        unsigned int value = 0;
        const auto read = std::from_chars(pair.begin(), pair.end(), value, base_of_hex);
        if (read.ec != std::errc() || read.ptr != pair.end()) {
            return false;
        }
        to += static_cast<char>(value);
    }
    return true;
}

template <class Number>
bool take_route_number(Number& to, std::string_view text) {
    const auto read = parse_integer(text);
    if (!read || *read < 0 || *read > static_cast<std::int64_t>(std::numeric_limits<Number>::max())) {
        return false;
    }
    to = static_cast<Number>(*read);
    return true;
}

bool take_route_address(std::optional<ip::address>& to, std::string_view text, const host_address& like) {
    const auto read = parse_address(text);
    if (!read || read->is_v4() != like.address.is_v4() || (read->is_v6() && read->to_v6().scope_id() != 0)) {
        return false;
    }
    to = *read;
    return true;
}

std::string way_text(const model::route_way& way) {
    return fmt::format("{},{}{}", way.gateway ? way.gateway->to_string() : "link", way.weight,
                       way.is_onlink ? ",onlink" : "");
}

bool take_way(std::vector<model::route_way>& to, std::string_view text, const host_address& like) {
    const auto parts = split(text, ',');
    model::route_way way;
    const bool is_it = (parts.size() == 2 || (parts.size() == 3 && parts[2] == "onlink")) &&
                       (parts[0] == "link" || take_route_address(way.gateway, parts[0], like)) &&
                       take_route_number(way.weight, parts[1]) && way.weight >= 1 && way.weight <= most_weight;
    way.is_onlink = parts.size() == 3;
    to.push_back(way);
    return is_it && to.size() <= model::route_ways_max;
}

// One of those that may be missing. False: it is none.
bool take_route_word(bound_route& to, std::string_view word) {
    auto& is = to.is;
    const auto equals = word.find('=');
    const auto name = word.substr(0, equals);
    const auto value = equals == std::string_view::npos ? std::string_view() : word.substr(equals + 1);
    if (equals == std::string_view::npos) {
        to.is_waiting = to.is_waiting || word == "waits";
        is.is_onlink = is.is_onlink || word == "onlink";
        is.is_local = is.is_local || word == "local";
        to.comes_first = to.comes_first || word == "first";
        return word == "waits" || word == "onlink" || word == "local" || word == "first";
    }
    if (name == "via") {
        return take_route_address(is.gateway, value, is.to);
    }
    if (name == "source") {
        return take_route_address(is.source, value, is.to);
    }
    if (name == "way") {
        return take_way(is.ways, value, is.to);
    }
    if (name == "settings") {
        return is.settings.empty() && take_hex(is.settings, value);
    }
    return (name == "metric" && take_route_number(is.metric, value)) ||
           (name == "scope" && take_route_number(is.scope, value)) ||
           (name == "protocol" && take_route_number(is.protocol, value)) ||
           (name == "tos" && take_route_number(is.tos, value));
}

}  // namespace

std::string bound_line(const bound_route& one) {
    const auto& is = one.is;
    std::string text =
        fmt::format("route {} {} {} {}{}{} scope={} protocol={}", one.device, one.link, one.table, is.to.text(),
                    one.is_waiting ? " waits" : "", one.comes_first ? " first" : "", is.scope, is.protocol);
    const auto add = [&text](std::string_view what, const std::string& value) {
        text += fmt::format(" {}={}", what, value);
    };
    if (is.gateway) {
        add("via", is.gateway->to_string());
    }
    if (is.source) {
        add("source", is.source->to_string());
    }
    if (is.metric != 0) {
        add("metric", std::to_string(is.metric));
    }
    if (is.tos != 0) {
        add("tos", std::to_string(is.tos));
    }
    if (!is.settings.empty()) {
        add("settings", hex_of(is.settings));
    }
    for (const auto& way : is.ways) {
        add("way", way_text(way));
    }
    return text + (is.is_onlink ? " onlink" : "") + (is.is_local ? " local" : "");
}

std::optional<bound_route> parse_bound(std::span<const std::string_view> words) {
    if (words.size() < fixed_words) {
        return std::nullopt;
    }
    bound_route one;
    one.device = words[1];
    const auto to = parse_host_address(words[4]);
    if (!to || !take_route_number(one.link, words[2]) || one.link < 1 || !take_route_number(one.table, words[3])) {
        return std::nullopt;
    }
    one.is.to = *to;
    for (const auto word : words.subspan(fixed_words)) {
        if (!take_route_word(one, word)) {
            return std::nullopt;
        }
    }
    return one;
}

}  // namespace pvc::policy
