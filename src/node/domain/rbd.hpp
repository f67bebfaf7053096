// RBD locks before a machine is created, and when a client wants them gone. Specification: vm-domains.md 7,
// storage.md 6.
#pragma once

#include "domain/operation.hpp"

#include "pvcnoded/async/task_group.hpp"
#include "pvcnoded/policy/rbd_lock_policy.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace pvc::node {

struct lock_outcome {
    enum class kind : std::uint8_t { clear, refused, changed } what = kind::clear;
    std::string reason;  // of `refused`: the failedreason
};
// `still_ours`: a guarded read; empty: the machine is no longer ours to start, else the moment of its sending.
async::awaitable<lock_outcome> clear_locks(operation& op, std::vector<std::string> volumes,
                                           std::function<async::awaitable<std::optional<boot_time>>()> still_ours);

// For a client that wants them gone (storage.md 6.4, "flush_locks"): no patience with those of others. `breaks_any`:
// they are broken too.
async::awaitable<lock_outcome> flush_locks(operation& op, std::vector<std::string> volumes, bool breaks_any,
                                           std::function<async::awaitable<std::optional<boot_time>>()> still_ours);

// Whose the locks are that are listed by `until`: what cannot be listed is `unreadable`, and nobody's.
async::awaitable<policy::lock_decision> judge_locks(operation& op, std::vector<std::string> volumes, time_point until);

}  // namespace pvc::node
