// One unflush job as a value: what was shut down for want of a target is started, what lives elsewhere for a while
// comes back, one after the other in ascending order. Specification: node-lifecycle.md 8.2.
#pragma once

#include "pvcnoded/policy/domains/drain_end.hpp"
#include "pvcnoded/policy/domains/drain_one.hpp"
#include "pvcnoded/policy/domains/drain_requests.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace pvc::policy::drain {

struct unflush_job {
    enum class at : std::uint8_t {
        begin,
        reading,     // all domains
        pausing,     // the session is in trouble
        moving,      // `one`
        concluding,  // `last`
        over,
    };

    given_order order;
    std::string self;
    duration shutdown_timeout{};  // vm_shutdown_timeout
    at where = at::begin;
    std::vector<uuid> domains;
    std::size_t taken = 0;  // so many of them
    one_domain one;
    drain::concluding last;

    [[nodiscard]] step resume(context& c);
    friend bool operator==(const unflush_job&, const unflush_job&) = default;

private:
    step read();
    step has_read(context& c);
    step next_domain(context& c);
    step go_on(context& c);
    step conclude(context& c);
};

}  // namespace pvc::policy::drain
