// config.md 5.1, 6.1.
#include "pvcnoded/base/text.hpp"
#include "readers.hpp"

#include <fmt/format.h>

#include <charconv>
#include <limits>

namespace pvc::config {

namespace {
constexpr std::string_view digits = "0123456789";
}  // namespace

// The last run of digits; too many of them for a number can only be out of every range.
std::uint64_t number_in(std::string_view name) {
    const auto last = name.find_last_of(digits);
    if (last == std::string_view::npos) {
        return 0;
    }
    const auto before = name.substr(0, last).find_last_not_of(digits);
    const auto first = before == std::string_view::npos ? 0 : before + 1;
    const auto run = name.substr(first, last + 1 - first);
    std::uint64_t number = 0;
    const auto error = std::from_chars(run.data(), run.data() + run.size(), number).ec;
    return error == std::errc{} ? number : std::numeric_limits<std::uint64_t>::max();
}

void derive_identity(std::string_view hostname, node_config& config) {
    const auto dot = hostname.find('.');
    config.fqdn = hostname;
    config.node = hostname.substr(0, dot);
    config.domain = dot == std::string_view::npos ? "" : hostname.substr(dot + 1);
    config.node_id = number_in(config.node);
}

void read_identity(section& pvc, node_config& config) {
    if (config.node.empty()) {
        pvc.report(severity::fatal, pvc.line(), pvc.path() + ".node",
                   fmt::format("this host has no name; expected a host name, got \"{}\"", printable(config.fqdn)));
    }
    const auto node = pvc.text("node", presence::defaulted, non_empty_text, config.node);
    if (node.given && node.value != config.node && split(node.value, '.').front() != config.node) {
        pvc.report(severity::fatal, node.line, node.path,
                   fmt::format("configured for another node; expected {}, got {}", printable(config.node), node.got));
    }
    config.debug = pvc.boolean("debug", presence::defaulted).value;

    auto functions = pvc.child("functions", presence::required);
    config.functions.hypervisor = functions.boolean("enable_hypervisor", presence::required).value;
    config.functions.networking = functions.boolean("enable_networking", presence::required).value;
    config.functions.storage = functions.boolean("enable_storage", presence::required).value;
    config.functions.api = functions.boolean("enable_api", presence::optional).value;
    functions.finish();
}

}  // namespace pvc::config
