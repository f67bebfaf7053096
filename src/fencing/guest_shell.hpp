// Carries out what the recovery of one machine of a dead node asks (policy/fencing/recovery.hpp, "What the shell must
// guarantee"). Loop thread only; cancelled between two steps it leaves nothing behind, the lock on a machine's state is
// released. Specification: node-lifecycle.md 10.5.
#pragma once

#include "guest_view.hpp"
#include "recovery_planning.hpp"

#include "pvcnoded/async/condition.hpp"
#include "pvcnoded/async/for_each.hpp"
#include "pvcnoded/async/semaphore.hpp"
#include "pvcnoded/fencing/machine_recoveries.hpp"
#include "pvcnoded/placement/rbd_clearing.hpp"

#include <map>
#include <optional>
#include <string>

namespace pvc::fencing {

// What the machines of one recovery share.
struct recovery_shared {
    core::session& s;
    const recovery_order& order;
    fence_hold& under;
    const recovery_ports& ports;
    recovery_planning& planning;
    bool is_node_back = false;  // F0 does not stand any more: nothing more is begun
    async::ordered_semaphore<std::size_t> slots{8};
    async::ordered_semaphore<std::size_t> clearing{4};
    std::size_t at_work = 0;               // that hold a place, or wait for one
    std::optional<time_point> all_done{};  // since when nobody is at work
    async::condition changed{};            // of what is above
    std::map<uuid, std::string> names{};   // of those that were read
    // The running lists of all nodes but the dead one, from when the recovery began: what came from there before it
    // died, half as it may be, was listed by then.
    std::map<std::string, std::string> lists{};
};

class guest_shell {
public:
    guest_shell(recovery_shared& of, policy::guest_recovery machine, std::size_t number);

    // To its end.
    async::awaitable<policy::guest_recovery> run();

private:
    async::awaitable<policy::recovery_said::any> answer_in_time(policy::recovery_step next);
    async::awaitable<policy::recovery_said::any> answer_to(policy::recovery_ask::any what, time_point until);
    async::awaitable<policy::recovery_said::read> read(time_point until);
    async::awaitable<policy::recovery_said::others> ask_others(time_point until);
    async::awaitable<void> ask_other(policy::recovery_said::other_node_said& one, time_point until);
    async::awaitable<policy::recovery_said::cleared> clear(policy::recovery_ask::clear_locks what);
    async::awaitable<policy::recovery_said::proven> prove(policy::recovery_ask::prove_silent what);
    async::awaitable<policy::recovery_said::done> blocklist(policy::recovery_ask::blocklist what, time_point until);
    async::awaitable<policy::recovery_said::blocklist_read> read_blocklist(time_point until);
    async::awaitable<policy::fence_said::written> write(policy::recovery_ask::write what, time_point until);
    async::awaitable<policy::recovery_said::seen_to_run> watch(std::string node, time_point until);
    void take_lists();
    async::awaitable<std::optional<boot_time>> still_so();
    void leave_work();
    [[nodiscard]] zookeeper::transaction transaction_of(const policy::recovery_ask::write& what) const;
    [[nodiscard]] placement::rbd_clearing locks() const;
    [[nodiscard]] std::string name() const;
    [[nodiscard]] async::timers& clock() const { return shared_.s.node.clock(); }

    recovery_shared& shared_;
    policy::guest_recovery machine_;
    std::size_t number_;
    guest_reader reader_;
    guest_view view_;
    bool is_view_new_ = false;  // nothing was waited for since it was read
    zookeeper::transaction target_checks_;
};

}  // namespace pvc::fencing
