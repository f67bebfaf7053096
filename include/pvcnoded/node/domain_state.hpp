// The domain-state actor: what clients ask of a node as a whole. `flush` empties it of virtual machines, one after the
// other, and ends in `flushed`; `unflush` brings back what belongs here and ends in `ready`.
//
// At most one job. Another value of the key cancels the running one, whose last write is then not made; what it did to
// a machine finishes on its own. A stored order is resumed at the next start or in the next session. What comes to a
// node that was emptied, by a move that began before, is moved on by a short job.
// Specification: node-lifecycle.md 8, 5.2 (step 2); README rulings 13, 21.
#pragma once

#include "pvcnoded/node/session.hpp"

#include <cstdint>
#include <memory>
#include <optional>

namespace pvc::node {

class domains;
class keepalive;

class domain_state_actor {
public:
    // `machines` is null on a node without the hypervisor function. All must outlive the actor.
    domain_state_actor(session& s, keepalive& beat, domains* machines);
    domain_state_actor(const domain_state_actor&) = delete;
    domain_state_actor& operator=(const domain_state_actor&) = delete;

    // Acts until cancelled: a child of the session scope.
    async::awaitable<void> run();
    // S12 is complete and `run` was written: orders are acted on from now on.
    void open();
    // Termination step 2: nothing new is begun; waits for the running job, and cancels it when the deadline passes.
    async::awaitable<void> finish(time_point deadline);

private:
    // What the key says; empty: nothing, or no known word.
    [[nodiscard]] std::optional<model::domain_state> stored() const;
    [[nodiscard]] bool has_order() const;
    [[nodiscard]] bool has_arrivals() const;
    async::awaitable<void> work_off(model::domain_state order);
    async::awaitable<void> perform(model::domain_state order, std::int64_t given);
    async::awaitable<void> conclude(model::domain_state order, std::int64_t given, model::domain_state end,
                                    time_point since);
    void report_unknown_word();
    void report_end(model::domain_state end, time_point since) const;

    session& session_;
    keepalive& beat_;
    domains* machines_;
    async::wakeup changed_;
    async::wakeup job_ended_;  // for finish()
    std::unique_ptr<zookeeper::watched> order_;
    async::task_group* job_ = nullptr;
    model::domain_state job_order_ = model::domain_state::ready;
    std::int64_t settled_ = 0;  // orders up to this transaction were dealt with
    std::uint64_t told_ = 0;    // changes of the key that were looked at for unknown words
    bool is_open_ = false;
    bool is_closing_ = false;
};

}  // namespace pvc::node
