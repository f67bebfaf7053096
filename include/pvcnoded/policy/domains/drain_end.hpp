// The last write of a flush or unflush, which tells the client that it is done, and what is said of it: only as long as
// the order stands. A part of the machines of both jobs (flush_job.hpp, unflush_job.hpp).
// Specification: node-lifecycle.md 8.1 (end), 8.2, 8.3; README ruling 13.
#pragma once

#include "pvcnoded/policy/domains/drain_requests.hpp"

namespace pvc::policy::drain {

// The order that a job carries out.
struct given_order {
    std::int64_t given = 0;      // transaction that wrote it
    time_point began{};          // of the job
    bool has_hypervisor = true;  // the node has that function; without it nothing runs here

    friend bool operator==(const given_order&, const given_order&) = default;
};

struct concluding {
    enum class at : std::uint8_t {
        begin,
        reading,  // whether the order stands
        pausing,  // the session is in trouble
        writing,
        over,
    };

    job_kind of = job_kind::flush;
    given_order order;
    at where = at::begin;

    [[nodiscard]] step resume(context& c);
    friend bool operator==(const concluding&, const concluding&) = default;

private:
    [[nodiscard]] model::domain_state word_at_end() const;
    step read();
    step pause();
    step has_read(context& c);
    step has_written(context& c);
    void report(context& c, const std::vector<std::string>& still_here) const;
    step finish(context& c, std::int64_t settled);
};

}  // namespace pvc::policy::drain
