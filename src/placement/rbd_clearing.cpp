#include "pvcnoded/placement/rbd_clearing.hpp"

#include "pvcnoded/async/for_each.hpp"
#include "pvcnoded/zookeeper/lock.hpp"

#include <array>

namespace pvc::placement {

using namespace std::chrono_literals;

namespace {

constexpr duration call_limit = 30s;
constexpr duration patience = 5s;  // with a foreign lock: its owner may be just closing
constexpr duration list_locks_again = 1s;
constexpr std::array<duration, 2> retry_after{1s, 3s};

policy::held_lock to_policy(const storage::rbd_lock& lock) {
    return {lock.id, lock.client, lock.address};
}

}  // namespace

std::vector<std::string> addresses_of(const config::node_config& config) {
    std::vector<std::string> all;
    for (const auto* network : {&config.networks.storage, &config.networks.cluster, &config.networks.upstream}) {
        if (network->address) {
            all.push_back(network->address->address.to_string());
        }
    }
    return all;
}

rbd_clearing::rbd_clearing(storage::rbd_locks& port, async::timers& clock, std::vector<std::string> holders,
                           std::function<void(std::string)> tell)
    : port_(port), clock_(clock), holders_(std::move(holders)), tell_(std::move(tell)) {}

// `until`: the whole of it ends by then.
async::awaitable<policy::volume_locks> rbd_clearing::list_volume(std::string volume, std::optional<time_point> until) {
    policy::volume_locks one;
    one.volume = volume;
    for (std::size_t attempt = 0;; ++attempt) {
        auto locks =
            co_await port_.list(volume, std::min(clock_.now() + call_limit, until.value_or(time_point::max())));
        if (locks) {
            for (const auto& lock : *locks) {
                one.locks.push_back(to_policy(lock));
            }
            co_return one;
        }
        const errc code = locks.error().code();
        if (code == errc::not_found) {
            co_return one;  // creating the domain reports a missing image
        }
        const bool is_last = attempt == retry_after.size() || (until && clock_.now() + retry_after[attempt] >= *until);
        if (code == errc::unavailable || is_last) {
            one.error = locks.error().cause().empty() ? locks.error().text() : locks.error().cause();
            co_return one;
        }
        co_await async::sleep_for(clock_, retry_after[attempt], "another attempt to list RBD locks");
    }
}

async::awaitable<std::vector<policy::volume_locks>> rbd_clearing::list_all(const std::vector<std::string>& volumes,
                                                                           std::optional<time_point> until) {
    std::vector<policy::volume_locks> all(volumes.size());
    constexpr std::size_t at_once = 4;
    co_await async::for_each_bounded(
        "RBD locks", at_once, all, [&](policy::volume_locks& one) -> async::awaitable<void> {
            auto found = co_await list_volume(volumes[static_cast<std::size_t>(&one - all.data())], until);
            one = std::move(found);
        });
    co_return all;
}

// Breaks them one by one, each with a proof of its own, and looks whether they are gone.
async::awaitable<lock_outcome> rbd_clearing::break_all(std::vector<std::string> volumes,
                                                       std::vector<policy::lock_to_break> to_break,
                                                       verdict_function decide, guarded_read still_ours) {
    for (const auto& one : to_break) {
        const auto ours = co_await still_ours();
        if (!ours) {
            co_return lock_outcome{lock_outcome::kind::changed, {}};
        }
        auto broken = co_await port_.break_lock(one.volume, {one.lock.id, one.lock.client, one.lock.address},
                                                *ours + zookeeper::guard_validity, clock_.now() + call_limit);
        if (!broken) {
            if (broken.error().code() == errc::stopped) {
                co_return lock_outcome{lock_outcome::kind::changed, {}};
            }
            co_return lock_outcome{lock_outcome::kind::refused,
                                   policy::unbreakable_lock_text(one, broken.error().text())};
        }
        tell_("broke the RBD lock \"" + one.lock.id + "\" of " + one.lock.address + " on " + one.volume);
    }
    if (!to_break.empty()) {
        const auto left = decide(co_await list_all(volumes));
        if (left.verdict != policy::lock_verdict::own) {
            co_return lock_outcome{lock_outcome::kind::refused, left.reason};
        }
        if (!left.to_break.empty()) {
            co_return lock_outcome{lock_outcome::kind::refused,
                                   policy::unbreakable_lock_text(left.to_break.front(), "it is still there")};
        }
    }
    co_return lock_outcome{lock_outcome::kind::clear, {}};
}

async::awaitable<policy::lock_decision> rbd_clearing::judge(std::vector<std::string> volumes, time_point until) {
    const auto listed = co_await list_all(volumes, until);
    co_return policy::decide_start_locks(listed, holders_);
}

async::awaitable<lock_outcome> rbd_clearing::for_start(std::vector<std::string> volumes, guarded_read still_ours,
                                                       pause wait) {
    if (volumes.empty()) {
        co_return lock_outcome{lock_outcome::kind::clear, {}};
    }
    const verdict_function decide = [this](const auto& listed) { return policy::decide_start_locks(listed, holders_); };
    const time_point until = clock_.now() + patience;
    policy::lock_decision decision;
    for (;;) {
        decision = decide(co_await list_all(volumes));
        if (decision.verdict != policy::lock_verdict::foreign || clock_.now() >= until) {
            break;
        }
        co_await wait(std::min<duration>(until - clock_.now(), list_locks_again));
        const auto ours = co_await still_ours();
        if (!ours) {
            co_return lock_outcome{lock_outcome::kind::changed, {}};
        }
    }
    if (decision.verdict != policy::lock_verdict::own) {
        co_return lock_outcome{lock_outcome::kind::refused, decision.reason};
    }
    co_return co_await break_all(std::move(volumes), std::move(decision.to_break), decide, still_ours);
}

async::awaitable<lock_outcome> rbd_clearing::for_client(std::vector<std::string> volumes, bool breaks_any,
                                                        guarded_read still_ours) {
    const verdict_function decide = [this, breaks_any](const auto& listed) {
        return policy::decide_flush_locks(listed, holders_, breaks_any);
    };
    auto decision = decide(co_await list_all(volumes));
    if (decision.verdict != policy::lock_verdict::own) {
        co_return lock_outcome{lock_outcome::kind::refused, decision.reason};
    }
    co_return co_await break_all(std::move(volumes), std::move(decision.to_break), decide, still_ours);
}

}  // namespace pvc::placement
