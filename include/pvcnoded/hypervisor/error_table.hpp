// What an error of the hypervisor's library means to a caller: the one place where its numbers are read. No type of the
// library here, so that the table is tested by itself. Specification: vm-domains.md 6.1 (create errors).
#pragma once

#include "pvcnoded/hypervisor/types.hpp"

#include <string>
#include <string_view>

namespace pvc::hypervisor {

// As the library reports it: `number` is its virErrorNumber, 0 if it failed without giving a reason.
struct library_error {
    int number = 0;
    std::string text;
};

// Whether the connection that the call was made on is still there when the error is looked at.
enum class link_state : std::uint8_t { alive, dead };

[[nodiscard]] call_error classify(int number, link_state link);

// A create that failed with "operation failed" (9) may have met the rest of an old instance. What its text says of
// that; `unclear`: a look-up of the UUID decides.
enum class removal_hint : std::uint8_t { being_removed, other_domain, unclear };
[[nodiscard]] removal_hint hint_of_create_error(std::string_view text, const uuid& id);

// The class of a failed create. `exists`: the UUID was found (active or not) right after.
[[nodiscard]] call_error classify_create(const library_error& error, link_state link, const uuid& id, bool exists);

}  // namespace pvc::hypervisor
