// The coordinator actor: keeps the primary role where the rules want it. Level-triggered: rules C1-C5 are asked again
// at every change, at the end of every transition and in every tick. With networking disabled the transitions are empty
// (README ruling 11): secondary -> primary -> secondary, each a compare-and-set.
// Specification: node-lifecycle.md 7.1, 7.2.
#pragma once

#include "pvcnoded/node/peers.hpp"
#include "pvcnoded/node/session.hpp"

#include <memory>
#include <string>

namespace pvc::node {

class coordinator {
public:
    coordinator(session& s);
    coordinator(const coordinator&) = delete;
    coordinator& operator=(const coordinator&) = delete;

    // Acts until cancelled. A hypervisor only keeps its routerstate key in line.
    async::awaitable<void> run();
    // The node is ready (S12 done, `run` written): from now on rules are acted on.
    void open() {
        open_ = true;
        changed_.notify();
    }
    void close() { open_ = false; }
    // A tick has passed: durations have grown.
    void tick() { changed_.notify(); }
    [[nodiscard]] peers& others() { return peers_; }
    [[nodiscard]] policy::coordinator_view view() const;

    // Termination step 4: gives the role to a successor if there is one, else just up. Bounded by 60 s and the steps'
    // own limits. Without the role it only withdraws a claim.
    async::awaitable<void> hand_over();

private:
    async::awaitable<void> act(const policy::coordinator_decision& decision);
    async::awaitable<void> contend(policy::primary_view decided_on);
    // `change` holds the checks of what the decision rests on, beside the version of the key.
    async::awaitable<void> write_primary(std::string value, std::int32_t version, std::string_view why,
                                         zookeeper::transaction change = {});
    // Compare-and-set of own routerstate from what was read last. True if it holds now.
    async::awaitable<bool> change_role(model::router_state to, std::string_view why);
    void tell_unwritten(model::router_state to, const failure& why);
    async::awaitable<void> align_stored_role();
    async::awaitable<bool> holds_role();
    async::awaitable<void> vacate_primary();
    async::awaitable<void> wait_for_successor();
    // False as long as the watch still shows what stood there before our own last write.
    [[nodiscard]] bool is_stored_role_current() const;

    session& session_;
    async::wakeup changed_;
    peers peers_;
    std::unique_ptr<zookeeper::watched> primary_;
    std::unique_ptr<zookeeper::watched> own_role_;
    std::uint64_t primary_changes_ = 0;
    time_point primary_since_{};
    std::uint64_t role_changes_ = 0;
    time_point role_since_{};
    std::int64_t role_written_ = 0;  // transaction of our last write of routerstate
    std::string told_unwritten_;     // the last warning about it
    bool open_ = false;
    std::string last_wait_;
};

}  // namespace pvc::node
