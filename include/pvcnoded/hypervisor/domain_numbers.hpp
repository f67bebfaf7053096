// The library's numbers for states, reasons and lifecycle events, turned into the port's words. Total: a number that a
// newer library invents is the cautious reading. Specification: vm-domains.md 4.1, 9.3.
#pragma once

#include "pvcnoded/model/guest_class.hpp"

#include <optional>
#include <string>

namespace pvc::hypervisor {

// virDomainState and its reason.
[[nodiscard]] model::guest_status status_from_numbers(int state, int reason);

// virDomainEventType and its detail: what the guest is from now on. Nothing for events of the configuration.
[[nodiscard]] std::optional<model::guest_status> status_from_event(int event, int detail);
// "stopped (5)", for a log line.
[[nodiscard]] std::string event_text(int event, int detail);

}  // namespace pvc::hypervisor
