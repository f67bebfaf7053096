// RBD locks in the way of a domain: classifies all of its volumes' locks, then breaks all or none. Before a domain is
// created, when a client wants them gone, and when the domains of a dead node are recovered. Every lock is broken with
// a proof of its own that it is still this daemon's business. Loop thread only; between two locks it can be cancelled.
// Specification: vm-domains.md 7, storage.md 6.3 and 6.4 ("VM start", "flush_locks").
#pragma once

#include "pvcnoded/config/node_config.hpp"
#include "pvcnoded/policy/placement/rbd_lock_policy.hpp"
#include "pvcnoded/storage/rbd_locks.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace pvc::placement {

struct lock_outcome {
    enum class kind : std::uint8_t { clear, refused, changed } what = kind::clear;
    std::string reason;  // of `refused`: the failedreason
};

// The static addresses of this host, of which its locks are.
[[nodiscard]] std::vector<std::string> addresses_of(const config::node_config& config);

class rbd_clearing {
public:
    // A guarded read; empty: the domain is no longer this node's business, else the moment of its sending.
    using guarded_read = std::function<async::awaitable<std::optional<boot_time>>()>;
    // Suspends for a while, or until there is news of the domain.
    using pause = std::function<async::awaitable<void>(duration)>;

    // `holders`: addresses of the host whose locks may be broken: this one before a creation, a dead one before its
    // domains are recovered. `tell` gets a line for the log. Port and clock outlive it.
    rbd_clearing(storage::rbd_locks& port, async::timers& clock, std::vector<std::string> holders,
                 std::function<void(std::string)> tell);

    // Before a creation: what others hold is waited for a moment, as its owner may be just closing.
    async::awaitable<lock_outcome> for_start(std::vector<std::string> volumes, guarded_read still_ours, pause wait);
    // For a client that wants them gone (storage.md 6.4): no patience with those of others. `breaks_any`: they are
    // broken too.
    async::awaitable<lock_outcome> for_client(std::vector<std::string> volumes, bool breaks_any,
                                              guarded_read still_ours);
    // Whose the locks are that are listed by `until`: what cannot be listed is `unreadable`, and nobody's.
    async::awaitable<policy::lock_decision> judge(std::vector<std::string> volumes, time_point until);

private:
    using verdict_function = std::function<policy::lock_decision(const std::vector<policy::volume_locks>&)>;
    async::awaitable<policy::volume_locks> list_volume(std::string volume, std::optional<time_point> until);
    async::awaitable<std::vector<policy::volume_locks>> list_all(const std::vector<std::string>& volumes,
                                                                 std::optional<time_point> until = {});
    async::awaitable<lock_outcome> break_all(std::vector<std::string> volumes,
                                             std::vector<policy::lock_to_break> to_break, verdict_function decide,
                                             guarded_read still_ours);

    storage::rbd_locks& port_;
    async::timers& clock_;
    std::vector<std::string> holders_;
    std::function<void(std::string)> tell_;
};

}  // namespace pvc::placement
