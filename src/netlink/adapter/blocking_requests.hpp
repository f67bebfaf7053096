// Requests over a routing socket whose answer the calling thread waits for: for threads of a pool, where the work that
// the kernel does within the call may take long. Specification: networking.md 2.
#pragma once

#include "adapter/kernel_requests.hpp"

#include <string>

namespace pvc::netlink {

// A request and its acknowledgement, with the messages before it. Errors: unavailable (no socket), io (no answer, or
// none that can be understood).
[[nodiscard]] result<kernel_answer> ask_and_wait(std::string message, const kernel_requests::taker& each);

// What the driver has to do with it: not_found, invalid (it does not have that), unavailable, refused.
[[nodiscard]] failure driver_refusal(std::string subject, const kernel_answer& answer);

}  // namespace pvc::netlink
