// RBD locks in the way of a domain, for whoever is no machine of a domain: a client that wants them gone, and who
// recovers the domains of a dead node. What is decided is policy/domains/rbd_clearing and policy/placement/
// storage_proof; this carries out what they ask. Every lock is broken, and every client blocklisted, with a proof of
// its own that it is still this daemon's business. Loop thread only; between two locks it can be cancelled.
// Specification: vm-domains.md 7, storage.md 6.3 and 6.4.
#pragma once

#include "pvcnoded/config/node_config.hpp"
#include "pvcnoded/policy/domains/rbd_clearing.hpp"
#include "pvcnoded/policy/placement/storage_proof.hpp"
#include "pvcnoded/storage/rbd_locks.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace pvc::placement {

// What became of one lock that was to be broken.
struct lock_fate {
    std::string volume;
    std::string id;
    std::string client;
    std::string address;
    std::string outcome;  // "broken", or why not

    friend bool operator==(const lock_fate&, const lock_fate&) = default;
};

struct lock_outcome {
    // not_understood: what Ceph refused is to put the client at `address` on its blocklist (-22).
    enum class kind : std::uint8_t { clear, refused, not_understood, changed } what = kind::clear;
    bool is_no_ceph = false;  // of `refused`: Ceph cannot be asked from here at all
    std::string reason;       // of `refused`, `not_understood`: the failedreason
    std::string address{};
    std::vector<lock_fate> record;  // in their order; what `clear` rests on, and what was done before the others
};

// Whether nobody can write to the disks of a domain any more.
struct proof_outcome {
    policy::proving_by_storage::outcome what = policy::proving_by_storage::outcome::changed;
    std::string reason;                    // of `refused`
    bool is_no_ceph = false;               // likewise: Ceph cannot be asked from here at all
    std::vector<std::string> blocklisted;  // addresses of clients
    std::vector<std::string> clients;      // of whoever had them, also of `refused` and `changed`
};

// The static addresses of this host, of which its locks are.
[[nodiscard]] std::vector<std::string> addresses_of(const config::node_config& config);

class rbd_clearing {
public:
    // A guarded read; empty: the domain is no longer this node's business, else the moment of its sending.
    using guarded_read = std::function<async::awaitable<std::optional<boot_time>>()>;
    // Suspends for a while, or until there is news of the domain.
    using pause = std::function<async::awaitable<void>(duration)>;
    // Who else on this host has these volumes open, by a point in time (README ruling 80).
    using users_look = std::function<async::awaitable<policy::disk_users_read>(std::vector<std::string>, time_point)>;

    // `holders`: addresses of the host whose locks may be broken: this one before a creation, a dead one before its
    // domains are recovered. `tell` gets a line for the log, about the domain. `users` is asked before a lock of this
    // host is broken; none: for whoever recovers the domains of another one. Port and clock outlive it.
    rbd_clearing(storage::rbd_locks& port, async::timers& clock, std::vector<std::string> holders,
                 std::function<void(policy::act::line)> tell, users_look users = {});

    // As before a creation: what others hold is waited for a moment, as its owner may be just closing.
    async::awaitable<lock_outcome> for_start(std::vector<std::string> volumes, guarded_read still_ours, pause wait);
    // For a client that wants them gone (storage.md 6.4): no patience with those of others. `breaks_any`: they are
    // broken too.
    async::awaitable<lock_outcome> for_client(std::vector<std::string> volumes, bool breaks_any,
                                              guarded_read still_ours);
    // For a domain whose node is proven not to run: whoever holds them, without patience, and their clients are kept
    // from writing for a day (storage.md 6.4 "Fencing"). A volume that does not exist is told of, and no hindrance.
    // `blocked`: clients that were seen on the blocklist: their locks are broken without putting them there.
    async::awaitable<lock_outcome> for_recovery(std::vector<std::string> volumes, guarded_read still_dead,
                                                std::vector<std::string> blocked = {});
    // For a domain whose node could not be switched off, and whose disks are all RBD (storage.md 6.4 "Storage proof").
    // `before`: who had them at an earlier look, whose watches may have ended.
    async::awaitable<proof_outcome> prove_silent(std::vector<std::string> volumes, guarded_read still_wanted,
                                                 policy::clients_before before = {});
    // Of the work that is under way, for whoever ends it before it is over: what was done so far.
    [[nodiscard]] const std::vector<lock_fate>& done_so_far() const { return record_; }
    [[nodiscard]] const policy::proving_by_storage& proof_so_far() const { return proving_; }
    // Whose the locks are that are listed by `until`: what cannot be listed is `unreadable`, and nobody's.
    async::awaitable<policy::lock_decision> judge(std::vector<std::string> volumes, time_point until);

    // What machines ask: four volumes at a time, each once; and one lock.
    async::awaitable<policy::rbd_listed> list(std::vector<std::string> volumes, time_point until);
    async::awaitable<policy::call_answer> prepare_one(policy::ask::prepare_rbd_break what, time_point until);
    async::awaitable<policy::call_answer> break_one(policy::ask::break_rbd_lock what, time_point until);
    // Whether one of Ceph's monitors answers.
    async::awaitable<policy::call_answer> ask_monitors(time_point until);

private:
    using machine = std::function<policy::step(policy::context&)>;
    // Until it is over.
    async::awaitable<void> drive(machine what, guarded_read still_ours, pause wait);
    async::awaitable<policy::answer> answer_to(policy::step next, const guarded_read& still_ours, const pause& wait);
    async::awaitable<lock_outcome> clear(policy::clearing_rbd_locks what, guarded_read still_ours, pause wait);
    async::awaitable<policy::proof_said::any> answer_to(policy::proof_ask::any what, const guarded_read& still_wanted);
    async::awaitable<policy::proof_said::clients> clients_of(std::vector<std::string> volumes);
    [[nodiscard]] pause plain_pause();

    storage::rbd_locks& port_;
    async::timers& clock_;
    std::vector<std::string> holders_;
    std::function<void(policy::act::line)> tell_;
    users_look users_;
    [[nodiscard]] std::chrono::seconds block_for(const policy::held_lock& lock, std::chrono::seconds usual) const;

    // Of the work that is under way.
    std::vector<lock_fate> record_;
    policy::proving_by_storage proving_;
    std::vector<std::string> blocked_;
    std::string not_understood_;  // the client that a break was to put on the blocklist
    bool is_no_ceph_ = false;     // what was asked last was answered so
};

}  // namespace pvc::placement
