#include "pvcnoded/policy/domains/operations.hpp"

namespace pvc::policy {

std::optional<remote_answer> nodes_asked::of(const std::string& node) const {
    for (const auto& [name, answer] : answers) {
        if (name == node) {
            return answer;
        }
    }
    return std::nullopt;
}

std::optional<domain_machine> machine_for(domain_action action) {
    using reason = going_off::reason;
    switch (action) {
        case domain_action::adopt: return adopting{};
        case domain_action::arrived: return having_arrived{};
        case domain_action::start: return starting{};
        case domain_action::restart: return going_off{.why = reason::restart};
        case domain_action::shutdown: return going_off{.why = reason::shutdown};
        case domain_action::quiet_shutdown: return going_off{.why = reason::quiet_shutdown};
        case domain_action::stop: return going_off{.why = reason::stop};
        case domain_action::destroy:
        case domain_action::terminate: return going_off{.why = reason::terminate};
        case domain_action::settle_shutdown: return settling_shutdown{};
        case domain_action::clean_up: return cleaning_up{.with_keys = true};
        case domain_action::forget: return cleaning_up{};
        case domain_action::keep:
        case domain_action::report_fail: return keeping{};
        case domain_action::send: return sending{};
        case domain_action::receive: return receiving{};
        case domain_action::resolve_sent: return resolving_sent{};
        case domain_action::resolve_own: return resolving_own{};
        case domain_action::resolve_found: return resolving_own{.is_found = true};
        case domain_action::hand_over_ended: return handing_over_ended{};
        case domain_action::take_over: return taking_over{};
        case domain_action::see_taken_over: return seeing_taken_over{};
        case domain_action::drop_incoming: return dropping_half{};
        case domain_action::end_hung: return ending_hung{};
        case domain_action::nothing:
        case domain_action::wait:
        case domain_action::report_unknown: break;
    }
    return std::nullopt;
}

outcome resume(domain_machine& machine, const event& what, domain_memory& memory) {
    return std::visit([&](auto& one) { return resume(one, what, memory); }, machine);
}

holdings holdings_of(const domain_machine& machine) {
    return std::visit(
        [](const auto& one) {
            holdings what;
            if constexpr (requires { one.hold(what); }) {
                one.hold(what);
            }
            return what;
        },
        machine);
}

}  // namespace pvc::policy
