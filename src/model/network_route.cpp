#include "pvcnoded/model/network_route.hpp"

#include <fmt/format.h>

namespace pvc::model {

std::string scope_text(std::uint8_t scope) {
    constexpr std::uint8_t site = 200;
    constexpr std::uint8_t host = 254;
    switch (scope) {
        case universe_scope: return "global";
        case site: return "site";
        case link_scope: return "link";
        case host: return "host";
        default: return fmt::format("{}", scope);
    }
}

std::string to_text(const network_route& route) {
    std::string text = route.is_default() ? "default route" : "route " + route.to.text();
    text += route.gateway ? " via " + route.gateway->to_string() : "";
    std::string more = route.metric == 0 ? "" : fmt::format("metric {}", route.metric);
    if (route.source) {
        more += fmt::format("{}source {}", more.empty() ? "" : ", ", route.source->to_string());
    }
    return more.empty() ? text : text + " (" + more + ")";
}

}  // namespace pvc::model
