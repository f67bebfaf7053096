// One flush job as a value, from its first look to its last write: every domain of this node is moved away, or shut
// down where nobody can take it, one after the other, so that each choice of a target sees the effect of the one
// before. What comes back is tried with another node after the rest; what then finds no node that can be had is tried
// at the end, for a minute, with any that has not refused it. Only what no node could take in all that time is shut
// down. What comes here late, by a move that is older than the order, goes on. The short job of a node that is
// `flushed` already is the same with late arrivals alone. Specification: node-lifecycle.md 8.1; README rulings 21, 78.
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
    move_fault fault = move_fault::neither;
    time_point at{};

    friend bool operator==(const failed_move&, const failed_move&) = default;
};

struct flush_job {
    static constexpr int rounds_max = 4;
    static constexpr duration last_patience = std::chrono::seconds(60);
    static constexpr duration pause_between_tries = std::chrono::seconds(5);
    static constexpr duration list_patience = std::chrono::seconds(10);

    enum class at : std::uint8_t {
        begin,
        listing,          // what is here
        moving,           // `one`
        pausing_tries,    // before what is left is tried once more
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
    // What no node took that could be had: for the end.
    struct waiting {
        uuid domain;
        std::string name;
        friend bool operator==(const waiting&, const waiting&) = default;
    };
    std::vector<waiting> put_off;
    std::vector<waiting> returned;     // of the last tries: for the next round of them
    std::vector<std::string> stayed;   // by name: here at the end
    bool is_last = false;              // they are tried once more
    bool has_moved = false;            // one of them, in this round
    std::set<std::string> tried_now;   // nodes, in this round of the last tries
    std::set<std::string> were_ready;  // nodes, at some time of this job
    time_point last_until{};
    one_domain one;
    std::vector<failed_move> failures;  // which targets to leave out follows from them
    std::set<uuid> handled;
    std::vector<uuid> left;    // what has gone, or is off
    std::optional<uuid> late;  // the arrival that is dealt with
    time_point list_until{};
    drain::concluding last;

    [[nodiscard]] step resume(context& c);
    [[nodiscard]] failing_targets failing() const;
    [[nodiscard]] known_targets known() const;
    friend bool operator==(const flush_job&, const flush_job&) = default;

private:
    step begin(context& c);
    step begin_rounds(context& c, std::vector<uuid> all);
    step next_domain(context& c);
    step go_on(context& c);
    step after_one(context& c);
    void came_back(context& c);
    void note_failure(context& c, const std::string& target);
    void has_gone();
    step begin_last_round(context& c);
    step end_last_round(context& c);
    step after_rounds(context& c);
    step ask_arrival();
    step has_arrival(context& c);
    step read_arrival();
    step has_read_arrival(context& c);
    step drop_arrival(context& c);
    step look_at_list();
    step has_list(context& c);
    step conclude(context& c);
    step finish(context& c);
};

}  // namespace pvc::policy::drain
