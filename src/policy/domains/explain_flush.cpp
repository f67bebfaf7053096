#include "pvcnoded/policy/domains/explain_flush.hpp"

#include "pvcnoded/policy/placement/target_objection.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pvc::policy {

namespace {

using end = flush_outlook::end;

std::string why_nobody(const target_request& request, std::vector<node_offer> nodes) {
    std::ranges::sort(nodes, {}, &node_offer::name);
    std::string text;
    for (const auto& one : nodes) {
        if (one.name != request.current) {
            text += fmt::format("{}{} {}", text.empty() ? ": " : "; ", one.name, to_text(objection_to(request, one)));
        }
    }
    return text;
}

flush_outlook of_plan(const flush_plan& plan, const std::optional<target_choice>& choice, std::string why_none) {
    switch (plan.way) {
        case flush_way::move: return {end::moves, choice->node, "it has the " + choice->reason};
        case flush_way::return_home:
            return {end::returns_home, choice->node, "it belongs there; it has the " + choice->reason};
        case flush_way::shut_down: break;
    }
    return {end::shuts_down,
            {},
            "no node can take it" + std::move(why_none) + "; it is started again when this node is made ready"};
}

}  // namespace

std::string_view to_text(flush_outlook::end what) {
    switch (what) {
        case end::moves: return "moves";
        case end::returns_home: return "returns home";
        case end::shuts_down: return "shuts down";
        case end::waits: return "waits";
        case end::leaves: return "leaves";
        case end::stays: break;
    }
    return "stays";
}

bool needs_target(const placed_domain& domain, const std::string& self) {
    return flush_step(domain, self) == domain_step::place;
}

flush_outlook explain_flush(const placed_domain& domain, const std::string& self, const target_request& request,
                            const std::vector<node_offer>& nodes) {
    switch (flush_step(domain, self)) {
        case domain_step::skip:
            return {end::stays, {}, fmt::format("its state is {}: it needs nothing", to_text(domain.state))};
        case domain_step::wait_settled:
            return {end::waits, {}, fmt::format("its state is {}: decided when that is over", to_text(domain.state))};
        case domain_step::wait_arrived: return {end::waits, {}, "it is on its way here: decided when it has arrived"};
        case domain_step::wait_moved: return {end::leaves, domain.node, "it is on its way there"};
        case domain_step::place: break;
    }
    const auto choice = select_target(request, nodes);
    // A flush tries it for a while; what it cannot move although there is a node goes on running.
    const bool is_somewhere = std::ranges::any_of(nodes, [&](const node_offer& one) {
        return one.name != request.current && is_allowed(request, one.name) && takes_domains(one);
    });
    if (!choice && is_somewhere) {
        return {end::stays, {}, "no node can take it now" + why_nobody(request, nodes) + "; it goes on running here"};
    }
    const auto plan = plan_flush(domain, self, choice ? std::optional(choice->node) : std::nullopt);
    if (!plan) {
        return {end::stays, {}, "it can be neither moved nor shut down"};
    }
    return of_plan(*plan, choice, choice ? std::string() : why_nobody(request, nodes));
}

}  // namespace pvc::policy
