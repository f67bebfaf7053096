#include "pvcnoded/model/network_route.hpp"

#include <fmt/format.h>

namespace pvc::model {

std::string scope_text(std::uint8_t scope) {
    constexpr std::uint8_t site = 200;
    switch (scope) {
        case universe_scope: return "global";
        case site: return "site";
        case link_scope: return "link";
        case host_scope: return "host";
        default: return fmt::format("{}", scope);
    }
}

std::string to_text(const network_route& route) {
    std::string text = route.is_local ? "local " : "";
    text += route.is_default() ? "default route" : "route " + route.to.text();
    text += route.gateway ? " via " + route.gateway->to_string() : "";
    for (const auto& way : route.ways) {
        text += (&way == &route.ways.front() ? " via " : ", ") + (way.gateway ? way.gateway->to_string() : "the link");
    }
    std::string more = route.metric == 0 ? "" : fmt::format("metric {}", route.metric);
    const auto add = [&more](const std::string& words) { more += (more.empty() ? "" : ", ") + words; };
    if (route.source) {
        add("source " + route.source->to_string());
    }
    if (route.tos != 0) {
        add(fmt::format("tos {:#x}", route.tos));
    }
    if (!route.settings.empty()) {
        add("with settings of its own");
    }
    return more.empty() ? text : text + " (" + more + ")";
}

}  // namespace pvc::model
