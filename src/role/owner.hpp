// The one that changes the role of this node, over all sessions: nobody else holds core::role by its handle. It walks
// its parts through the phases, and gives the role up by itself when nobody hears this node (rule C6), whatever the
// session is doing. Specification: node-lifecycle.md 4 ("Isolated primary"), 7.
#pragma once

#include "pvcnoded/async/semaphore.hpp"
#include "pvcnoded/core/subject.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace pvc::role {

class coordinator;

class owner {
public:
    owner(core::node_context& node, std::vector<core::role_part*> parts);
    owner(const owner&) = delete;
    owner& operator=(const owner&) = delete;

    // Until cancelled: a child of the attempt.
    async::awaitable<void> run();

    [[nodiscard]] model::router_state now() const { return node_.role.now(); }
    // The key says so, or is about to be made to.
    void become(model::router_state to, std::string why) {
        node_.role.become(to);
        why_ = std::move(why);
    }
    // Why the role is what it is; empty: it began so.
    [[nodiscard]] const std::string& why() const { return why_; }
    // Without networking a transition is empty: from `secondary` to `primary` at once (README ruling 11).
    [[nodiscard]] bool has_parts() const { return !parts_.empty(); }

    // At most one transition at a time; only C6 and C7 apply meanwhile. What is undone locally counts as one, until it
    // is.
    [[nodiscard]] bool in_transition() const { return in_transition_ || must_undo_ || is_undoing_; }
    // Changes when a local undo is over.
    [[nodiscard]] async::latest<std::uint64_t>& undone() { return undone_; }
    class transition_mark {
    public:
        explicit transition_mark(owner& of) : of_(of) { of_.in_transition_ = true; }
        transition_mark(const transition_mark&) = delete;
        transition_mark& operator=(const transition_mark&) = delete;
        // One that was cut short midway (the session is lost) is ended without it.
        ~transition_mark();

    private:
        owner& of_;
    };

    // A phase, all parts one after the other.
    async::awaitable<void> take_up(policy::role_phase which, core::session& s);
    async::awaitable<void> give_up(policy::role_phase which, core::session* s);
    // One phase of a takeover that is undone.
    async::awaitable<void> undo_phase(policy::role_phase which, core::session* s);
    // What was taken up, backwards; each part by itself, so that one that hangs does not keep another.
    async::awaitable<void> undo(core::session* s);
    [[nodiscard]] bool has_taken() const { return taken_ > 0; }
    // Is secondary from now on, as somebody said why; its parts are given up beside whatever else happens, without
    // ZooKeeper.
    void give_up_locally(std::string why);

    // Who acts in the present session; null: none is open. It notes itself, and that it goes.
    const coordinator* acting = nullptr;

private:
    async::awaitable<void> undo_locally();
    // Each part beside the others.
    async::awaitable<void> ask_parts(std::function<async::awaitable<void>(core::role_part&)> what);
    [[nodiscard]] bool may_hold() const;

    core::node_context& node_;
    std::string why_;
    std::vector<core::role_part*> parts_;
    std::size_t taken_ = 0;  // so many phases were begun to be taken up
    bool in_transition_ = false;
    bool must_undo_ = false;
    bool is_undoing_ = false;
    async::mutex walking_;  // parts are asked by one at a time
    async::latest<std::uint64_t> undone_;
    async::wakeup changed_;
};

}  // namespace pvc::role
