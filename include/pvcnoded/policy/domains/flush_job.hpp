// One flush job as a value, from its first look to its last write: every domain of this node is moved away, or shut
// down where nobody can take it, one after the other, so that each choice of a target sees the effect of the one
// before. What comes back is tried with another node after the rest; what comes here late, by a move that is older than
// the order, goes on. The short job of a node that is `flushed` already is the same with late arrivals alone.
// Specification: node-lifecycle.md 8.1; README ruling 21.
#pragma once

#include "pvcnoded/policy/domains/drain_end.hpp"
#include "pvcnoded/policy/domains/drain_one.hpp"
#include "pvcnoded/policy/domains/drain_requests.hpp"

#include <cstddef>
#include <set>
#include <string>
#include <vector>

namespace pvc::policy::drain {

// A move that ended where it had begun.
struct failed_move {
    uuid domain;
    std::string target;
    time_point at{};

    friend bool operator==(const failed_move&, const failed_move&) = default;
};

struct flush_job {
    static constexpr int rounds_max = 4;
    static constexpr duration list_patience = std::chrono::seconds(10);

    enum class at : std::uint8_t {
        begin,
        listing,          // what is here
        moving,           // `one`
        next_arrival,     // whether something came late
        reading_arrival,  // whether it came by a move that is older than the order
        pausing,          // the session is in trouble
        looking_at_list,  // whether what has gone is off the running list
        awaiting_list,    // until it is
        concluding,       // `last`
        over,
    };

    bool is_short = false;  // the node is flushed: late arrivals alone, and no last write
    given_order order;
    std::string self;
    duration shutdown_timeout{};  // vm_shutdown_timeout
    at where = at::begin;
    std::vector<uuid> domains;  // of this round
    std::size_t taken = 0;      // so many of them
    int round = 0;
    std::vector<uuid> again;  // what came back: for the next round
    one_domain one;
    std::vector<failed_move> failures;  // which targets to leave out follows from them
    std::set<uuid> handled;
    std::vector<uuid> left;    // what has gone, or is off
    std::optional<uuid> late;  // the arrival that is dealt with
    time_point list_until{};
    drain::concluding last;

    [[nodiscard]] step resume(context& c);
    [[nodiscard]] failing_targets failing() const;
    friend bool operator==(const flush_job&, const flush_job&) = default;

private:
    step begin(context& c);
    step begin_rounds(context& c, std::vector<uuid> all);
    step next_domain(context& c);
    step go_on(context& c);
    step after_one(context& c);
    void came_back(context& c);
    step after_rounds(context& c);
    step ask_arrival();
    step has_arrival(context& c);
    step read_arrival();
    step has_read_arrival(context& c);
    step drop_arrival(context& c);
    step look_at_list();
    step has_list(context& c);
    step conclude(context& c);
    step finish();
};

}  // namespace pvc::policy::drain
