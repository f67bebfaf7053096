#include "pvcnoded/placement/rbd_clearing.hpp"

#include "pvcnoded/async/for_each.hpp"
#include "pvcnoded/base/guard.hpp"
#include "pvcnoded/model/ceph_blocklist.hpp"
#include "pvcnoded/zookeeper/lock.hpp"

#include <algorithm>
#include <utility>

namespace pvc::placement {

namespace ask = policy::ask;
using namespace std::chrono_literals;

namespace {

policy::held_lock to_policy(const storage::rbd_lock& lock) {
    return {lock.id, lock.client, lock.address};
}

// Whether Ceph, or the way to it, was silent, or whether it answered, and refused.
policy::call_end call_end_of(errc code) {
    switch (code) {
        case errc::timed_out: return policy::call_end::timed_out;
        case errc::unavailable:
        case errc::io: return policy::call_end::unavailable;  // the helper is gone, for one
        case errc::stopped: return policy::call_end::too_late;
        default: return policy::call_end::other;
    }
}

policy::volume_locks to_policy(std::string volume, const result<std::vector<storage::rbd_lock>>& listed) {
    policy::volume_locks one;
    one.volume = std::move(volume);
    if (listed) {
        for (const auto& lock : *listed) {
            one.locks.push_back(to_policy(lock));
        }
    } else if (const auto why = listed.error(); why.code() == errc::not_found) {
        one.is_missing = true;  // creating the domain reports it
    } else {
        one.error = why.cause().empty() ? why.text() : why.cause();
        one.may_pass = why.code() != errc::unavailable && why.code() != errc::invalid;
        one.is_cephs = call_end_of(why.code()) != policy::call_end::other;
    }
    return one;
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
                           std::function<void(policy::act::line)> tell, users_look users)
    : port_(port), clock_(clock), holders_(std::move(holders)), tell_(std::move(tell)), users_(std::move(users)) {}

// ---- what machines ask ----------------------------------------------------------------------------------------------

async::awaitable<policy::rbd_listed> rbd_clearing::list(std::vector<std::string> volumes, time_point until) {
    policy::rbd_listed all;
    all.volumes.resize(volumes.size());
    all.own_addresses = holders_;
    is_no_ceph_ = false;
    constexpr std::size_t at_once = 4;
    co_await async::for_each_bounded(
        "RBD locks", at_once, all.volumes, [&](policy::volume_locks& one) -> async::awaitable<void> {
            const std::string& volume = volumes[static_cast<std::size_t>(&one - all.volumes.data())];
            const auto listed = co_await port_.list(volume, until);
            is_no_ceph_ |= !listed && listed.error().code() == errc::unavailable;
            one = to_policy(volume, listed);
        });
    co_return all;
}

std::chrono::seconds rbd_clearing::block_for(const policy::held_lock& lock, std::chrono::seconds usual) const {
    const bool is_there = std::ranges::any_of(
        blocked_, [&lock](const std::string& one) { return model::is_same_client(one, lock.address); });
    return is_there ? storage::no_blocklisting : usual;
}

async::awaitable<policy::call_answer> rbd_clearing::prepare_one(ask::prepare_rbd_break what, time_point until) {
    const policy::held_lock& lock = what.which.lock;
    const auto done = co_await port_.prepare_break(what.which.volume, {lock.id, lock.client, lock.address},
                                                   block_for(lock, what.block_for), until);
    if (done) {
        co_return policy::call_answer{policy::call_end::done, {}};
    }
    is_no_ceph_ = done.error().code() == errc::unavailable;
    co_return policy::call_answer{call_end_of(done.error().code()), done.error().text()};
}

async::awaitable<policy::call_answer> rbd_clearing::break_one(ask::break_rbd_lock what, time_point until) {
    using policy::call_end;
    const policy::held_lock& lock = what.which.lock;
    auto broken = co_await port_.break_lock(what.which.volume, {lock.id, lock.client, lock.address},
                                            block_for(lock, what.block_for),
                                            guarded_until(what.proof + zookeeper::guard_validity), until);
    record_.push_back({what.which.volume, lock.id, lock.client, lock.address,
                       broken ? std::string("broken") : broken.error().text()});
    if (broken) {
        co_return policy::call_answer{call_end::done, {}};
    }
    is_no_ceph_ = broken.error().code() == errc::unavailable;
    not_understood_ = broken.error().code() == errc::invalid ? lock.address : std::string();
    co_return policy::call_answer{call_end_of(broken.error().code()), broken.error().text()};
}

async::awaitable<policy::call_answer> rbd_clearing::ask_monitors(time_point until) {
    const auto said = co_await port_.blocklisted(until);
    if (said) {
        co_return policy::call_answer{policy::call_end::done, {}};
    }
    const auto why = said.error();
    co_return policy::call_answer{call_end_of(why.code()), why.cause().empty() ? why.text() : why.cause()};
}

// ---- the loop -------------------------------------------------------------------------------------------------------

async::awaitable<policy::answer> rbd_clearing::answer_to(policy::step next, const guarded_read& still_ours,
                                                         const pause& wait) {
    if (auto* which = std::get_if<ask::list_rbd_locks>(&next.what)) {
        co_return co_await list(std::move(which->volumes), next.until);
    }
    if (auto* which = std::get_if<ask::prepare_rbd_break>(&next.what)) {
        co_return co_await prepare_one(std::move(*which), next.until);
    }
    if (auto* which = std::get_if<ask::disk_users>(&next.what)) {
        co_return co_await users_(std::move(which->volumes), next.until);
    }
    if (auto* which = std::get_if<ask::break_rbd_lock>(&next.what)) {
        co_return co_await break_one(std::move(*which), next.until);
    }
    if (std::holds_alternative<ask::row>(next.what)) {
        using end = policy::row_read::end;
        const auto proof = co_await still_ours();
        co_return proof ? policy::row_read{end::fresh, *proof} : policy::row_read{};
    }
    co_await wait(next.until - clock_.now());
    co_return policy::woken{};
}

async::awaitable<void> rbd_clearing::drive(machine what, guarded_read still_ours, pause wait) {
    const policy::domain_seen unseen;  // whether it is still wanted is in the answer of `still_ours`
    policy::domain_memory none;
    policy::answer said;
    for (;;) {
        std::vector<policy::act::any> acts;
        policy::context now({unseen, said, clock_.now()}, none, acts);
        policy::step next = what(now);
        for (const auto& one : acts) {
            if (const auto* line = std::get_if<policy::act::line>(&one)) {
                tell_(*line);
            }
        }
        if (next.is_over()) {
            co_return;
        }
        said = co_await answer_to(std::move(next), still_ours, wait);
    }
}

rbd_clearing::pause rbd_clearing::plain_pause() {
    return [this](duration time) { return async::sleep_for(clock_, time, "another attempt to list RBD locks"); };
}

async::awaitable<lock_outcome> rbd_clearing::clear(policy::clearing_rbd_locks what, guarded_read still_ours,
                                                   pause wait) {
    record_.clear();
    not_understood_.clear();
    is_no_ceph_ = false;
    co_await drive([&what](policy::context& now) { return what.resume(now, true); }, std::move(still_ours),
                   std::move(wait));
    using kind = lock_outcome::kind;
    auto record = std::exchange(record_, {});
    switch (what.end) {
        case policy::clearing_rbd_locks::outcome::clear:
            co_return lock_outcome{kind::clear, false, {}, {}, std::move(record)};
        case policy::clearing_rbd_locks::outcome::refused:
        case policy::clearing_rbd_locks::outcome::unseen: {
            const auto how = not_understood_.empty() ? kind::refused : kind::not_understood;
            co_return lock_outcome{how, is_no_ceph_, std::move(what.reason), std::exchange(not_understood_, {}),
                                   std::move(record)};
        }
        case policy::clearing_rbd_locks::outcome::changed:
        case policy::clearing_rbd_locks::outcome::no_libvirt: break;
    }
    co_return lock_outcome{kind::changed, false, {}, {}, std::move(record)};
}

// ---- proof by storage -----------------------------------------------------------------------------------------------

namespace {
constexpr std::size_t volumes_at_once = 4;
constexpr duration proof_call_limit = 10s;
}  // namespace

async::awaitable<policy::proof_said::clients> rbd_clearing::clients_of(std::vector<std::string> volumes) {
    policy::proof_said::clients all;
    all.volumes.resize(volumes.size());
    const time_point until = clock_.now() + proof_call_limit;
    co_await async::for_each_bounded("clients of RBD images", volumes_at_once, all.volumes,
                                     [&](policy::volume_clients& one) -> async::awaitable<void> {
                                         one.volume = volumes[static_cast<std::size_t>(&one - all.volumes.data())];
                                         const auto locks = co_await port_.list(one.volume, until);
                                         const auto watchers = co_await port_.watchers(one.volume, until);
                                         const auto note = [this, &one](const auto& listed, const auto& address) {
                                             is_no_ceph_ |= !listed && listed.error().code() == errc::unavailable;
                                             if (listed) {
                                                 for (const auto& client : *listed) {
                                                     one.addresses.push_back(address(client));
                                                 }
                                             } else if (listed.error().code() == errc::not_found) {
                                                 one.is_missing = true;
                                             } else {
                                                 one.error = listed.error().text();
                                             }
                                         };
                                         note(locks, [](const storage::rbd_lock& held) { return held.address; });
                                         note(watchers, [](const storage::rbd_watcher& who) { return who.address; });
                                     });
    co_return all;
}

async::awaitable<policy::proof_said::any> rbd_clearing::answer_to(policy::proof_ask::any what,
                                                                  const guarded_read& still_wanted) {
    namespace said = policy::proof_said;
    if (auto* of = std::get_if<policy::proof_ask::clients>(&what)) {
        auto all = co_await clients_of(std::move(of->volumes));
        co_return all;
    }
    if (std::holds_alternative<policy::proof_ask::still_wanted>(what)) {
        const auto proof = co_await still_wanted();
        co_return said::proof{proof};
    }
    const time_point until = clock_.now() + proof_call_limit;
    if (auto* which = std::get_if<policy::proof_ask::blocklist>(&what)) {
        const boot_time not_after = guarded_until(which->proof + zookeeper::guard_validity);
        const auto done = which->by_command
                              ? co_await port_.blocklist_by_command(which->address, which->time, not_after, until)
                              : co_await port_.blocklist(which->address, which->time, not_after, until);
        if (done) {
            tell_({policy::act::line::level::info, {}, "blocklisted the RBD client " + which->address});
            co_return said::done{};
        }
        co_return said::done{done.error().text(), done.error().code() == errc::invalid};
    }
    auto listed = co_await port_.blocklisted(until);
    co_return listed ? said::blocklisted{*std::move(listed), {}} : said::blocklisted{{}, listed.error().text()};
}

async::awaitable<proof_outcome> rbd_clearing::prove_silent(std::vector<std::string> volumes, guarded_read still_wanted,
                                                           policy::clients_before before) {
    is_no_ceph_ = false;
    policy::proving_by_storage& machine = proving_;
    machine = {.volumes = std::move(volumes), .before = std::move(before)};
    policy::proof_said::any said = policy::proof_said::begin{};
    for (;;) {
        auto next = machine.resume(said);
        if (std::holds_alternative<policy::proof_ask::nothing>(next)) {
            break;
        }
        said = co_await answer_to(std::move(next), still_wanted);
    }
    const bool is_no_ceph = machine.end == policy::proving_by_storage::outcome::refused && is_no_ceph_;
    co_return proof_outcome{machine.end, machine.reason, is_no_ceph, machine.blocked, machine.clients};
}

// ---- for whom -------------------------------------------------------------------------------------------------------

async::awaitable<policy::lock_decision> rbd_clearing::judge(std::vector<std::string> volumes, time_point until) {
    policy::reading_rbd_locks reading{.volumes = std::move(volumes), .limit = until};
    co_await drive([&reading](policy::context& now) { return reading.resume(now); }, {}, plain_pause());
    co_return policy::decide_start_locks(reading.found, holders_);
}

async::awaitable<lock_outcome> rbd_clearing::for_start(std::vector<std::string> volumes, guarded_read still_ours,
                                                       pause wait) {
    // Whether its guest is on the host that is named, who calls this knows.
    policy::lock_rules rules = policy::lock_rules::before_a_start();
    rules.asks_libvirt = rules.asks_others = false;
    rules.asks_users = static_cast<bool>(users_);
    return clear({.rules = rules, .read = {.volumes = std::move(volumes)}}, std::move(still_ours), std::move(wait));
}

async::awaitable<lock_outcome> rbd_clearing::for_client(std::vector<std::string> volumes, bool breaks_any,
                                                        guarded_read still_ours) {
    return clear({.rules = {.breaks_any = breaks_any, .asks_users = static_cast<bool>(users_)},
                  .read = {.volumes = std::move(volumes)}},
                 std::move(still_ours), plain_pause());
}

async::awaitable<lock_outcome> rbd_clearing::for_recovery(std::vector<std::string> volumes, guarded_read still_dead,
                                                          std::vector<std::string> blocked) {
    blocked_ = std::move(blocked);
    return clear({.rules = policy::lock_rules::of_a_dead_node(), .read = {.volumes = std::move(volumes)}},
                 std::move(still_dead), plain_pause());
}

}  // namespace pvc::placement
