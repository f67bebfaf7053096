// Carries out policy/role/patroni on the process port: the tries that a takeover waits for, and later ones in the
// background. Loop thread only. Specification: node-lifecycle.md 7.4 ("Local actions"), 7.5 ("Patroni").
#pragma once

#include "pvcnoded/async/process.hpp"
#include "pvcnoded/async/semaphore.hpp"
#include "pvcnoded/core/node_context.hpp"
#include "pvcnoded/policy/role/patroni.hpp"

#include <string>

namespace pvc::role {

class database_claim {
public:
    // `processes` outlives it.
    database_claim(core::node_context& node, async::process_runner& processes) : node_(node), processes_(processes) {}

    // Until the database is led from here, or the first tries have failed. Cancelled: Patroni's program has ended.
    async::awaitable<void> take_up();
    // Nothing is tried any more, at once; a run under way is ended beside whatever else happens.
    void give_up();
    // Later tries, until cancelled.
    async::awaitable<void> run();

    [[nodiscard]] bool is_ours() const { return is_wanted_ && machine_.is_ours(); }
    // For the report; empty: this node has not the role.
    [[nodiscard]] std::string text() const;

private:
    using machine = policy::claiming_database;

    [[nodiscard]] bool has_later_tries() const { return is_wanted_ && machine_.is_settled() && !machine_.is_ours(); }
    async::awaitable<void> try_later();
    async::awaitable<machine::event> ask_patroni(time_point until);
    async::awaitable<void> go_on(bool until_settled);
    void tell();

    core::node_context& node_;
    async::process_runner& processes_;
    bool is_wanted_ = false;
    bool is_told_ = false;  // that it failed
    machine machine_;
    async::mutex turn_;      // one run of the program at a time
    async::wakeup changed_;  // for run()
};

}  // namespace pvc::role
