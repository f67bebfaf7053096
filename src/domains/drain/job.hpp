// What flush and unflush share: the order that they carry out. What they do is decided by the machines of
// policy/domains/flush_job.hpp and unflush_job.hpp.
#pragma once

#include "pvcnoded/placement/place.hpp"
#include "pvcnoded/placement/target.hpp"
#include "pvcnoded/policy/domains/drain_end.hpp"

namespace pvc::domains {

class domain_subject;

struct job {
    core::session& s;
    domain_subject* here;
    const zookeeper::watched& order;  // own `domainstate`
    std::string_view what;            // "flush", "unflush"
    policy::drain::given_order given;
    std::int64_t& settled;  // orders up to this transaction were dealt with

    // Another order came: what this one writes would be too late.
    [[nodiscard]] placement::order as_order() const {
        return {s, what, [this](zookeeper::transaction& write) { write.check(order.path(), order.stat().version); }};
    }
    [[nodiscard]] const std::string& self() const { return s.node.self(); }
    [[nodiscard]] logger& log() const { return s.node.log; }
    [[nodiscard]] time_point now() const { return s.node.clock().now(); }
};

async::awaitable<void> flush(job& of);
// What came to a node that was emptied, by a move that began before: it goes on.
async::awaitable<void> move_on(job& of);
async::awaitable<void> unflush(job& of);

}  // namespace pvc::domains
