// RBD locks before a machine is created. Specification: vm-domains.md 7.
#pragma once

#include "domain/operation.hpp"

#include "pvcnoded/async/task_group.hpp"

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

// True if no volume has a lock of another host (and all could be read).
async::awaitable<bool> locks_are_ours(operation& op, std::vector<std::string> volumes);

}  // namespace pvc::node
