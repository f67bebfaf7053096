#include "sim/ceph/sim_rbd_locks.hpp"

#include "pvcnoded/async/wakeup.hpp"

#include <algorithm>

namespace pvc::sim {

namespace {

failure not_understood(std::string about) {
    return failure(errc::invalid, std::move(about), "Invalid argument (EINVAL)");
}

}  // namespace

void sim_rbd_store::lock(const std::string& image, const std::string& address) {
    const std::uint64_t client = ++clients_;
    lock(image, {"auto " + std::to_string(140'000'000 + client), "client." + std::to_string(client), address});
}

std::vector<storage::rbd_lock> sim_rbd_store::locks(const std::string& image) const {
    const auto found = images_.find(image);
    return found == images_.end() ? std::vector<storage::rbd_lock>() : found->second;
}

bool sim_rbd_store::is_blocklisted(const std::string& address) const {
    return std::ranges::find(blocklist_, address) != blocklist_.end();
}

bool sim_rbd_store::has_told_of_lock(const std::string& machine, const std::string& image) const {
    const auto told = told_.find({machine, image});
    const auto held = locks(image);
    return told != told_.end() && std::ranges::any_of(told->second, [&](const storage::rbd_lock& one) {
               return std::ranges::find(held, one) != held.end();
           });
}

result<void> sim_rbd_store::write(const std::string& image, const std::string& address) {
    if (is_blocklisted(address)) {
        return failure(errc::refused, image, "Cannot send after transport endpoint shutdown");
    }
    auto& held = images_[image];
    if (!held.empty() && std::ranges::find(held, address, &storage::rbd_lock::address) == held.end()) {
        return failure(errc::refused, image, "Read-only file system");
    }
    if (held.empty()) {
        lock(image, address);
    }
    return {};
}

void sim_rbd_store::fail_next(const std::string& call, failure error, int times) {
    for (int i = 0; i < times; ++i) {
        next_[call].push_back(error);
    }
}

std::optional<failure> sim_rbd_store::fault(const std::string& call) {
    if (const auto found = next_.find(call); found != next_.end() && !found->second.empty()) {
        failure first = std::move(found->second.front());
        found->second.pop_front();
        return first;
    }
    const auto found = always_.find(call);
    return found == always_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<std::string> sim_rbd_store::calls() const {
    std::vector<std::string> texts;
    for (const auto& one : calls_) {
        texts.push_back(one.text);
    }
    return texts;
}

// The way to the store and back: what every call has in common.
async::awaitable<result<void>> sim_rbd_locks::reach_cluster(std::string call, std::string about, duration time,
                                                            time_point deadline, bool hangs) {
    if (is_unavailable || store_.cut_off.contains(machine_)) {
        co_return failure(errc::unavailable, about, "Ceph cannot be asked from here");
    }
    const bool is_late = hangs || store_.hangs || clock_.now() + time > deadline;
    co_await async::sleep_until(clock_, is_late ? deadline : clock_.now() + time, "Ceph");
    if (cut) {
        co_return failure(errc::stopped, about);
    }
    if (is_late) {
        co_return failure(errc::timed_out, about);
    }
    if (auto told = store_.fault(call)) {
        co_return *std::move(told);
    }
    co_return result<void>();
}

async::awaitable<result<void>> sim_rbd_locks::reach(std::string call, std::string image, duration time,
                                                    time_point deadline) {
    const auto pool = store_.sick.find(image.substr(0, image.find('/')));
    const bool is_sick = pool != store_.sick.end();
    auto reached = co_await reach_cluster(std::move(call), image, is_sick ? time + pool->second.takes : time, deadline,
                                          is_sick && pool->second.hangs);
    if (reached && !store_.images_.contains(image)) {
        co_return failure(errc::not_found, image, "no such image");
    }
    co_return reached;
}

async::awaitable<result<std::vector<storage::rbd_lock>>> sim_rbd_locks::list(std::string image, time_point deadline) {
    if (cut) {
        co_return failure(errc::stopped, image);
    }
    store_.calls_.push_back({clock_.now(), machine_, "list " + image});
    auto reached = co_await reach("list", image, store_.list_time, deadline);
    if (!reached) {
        co_return reached.error();
    }
    auto found = store_.locks(image);
    store_.told_[{machine_, image}] = found;
    if (store_.on_list) {
        store_.on_list(image);
    }
    co_return found;
}

async::awaitable<result<std::vector<storage::rbd_watcher>>> sim_rbd_locks::watchers(std::string image,
                                                                                    time_point deadline) {
    if (cut) {
        co_return failure(errc::stopped, image);
    }
    store_.calls_.push_back({clock_.now(), machine_, "watchers " + image});
    auto reached = co_await reach("watchers", image, store_.list_time, deadline);
    if (!reached) {
        co_return reached.error();
    }
    const auto found = store_.watchers_.find(image);
    co_return found == store_.watchers_.end() ? std::vector<storage::rbd_watcher>() : found->second;
}

// What changes something begins in time, or not at all.
async::awaitable<result<void>> sim_rbd_locks::begin_guarded(std::string text, boot_time not_after) {
    co_await async::yield();
    if (cut || clock_.boot_now() > not_after) {
        co_return failure(errc::stopped, {}, "it could not start in time");
    }
    store_.calls_.push_back({clock_.now(), machine_, std::move(text)});
    co_return result<void>();
}

async::awaitable<result<void>> sim_rbd_locks::prepare_break(std::string image, storage::rbd_lock which,
                                                            std::chrono::seconds /*block_for*/, time_point deadline) {
    if (cut) {
        co_return failure(errc::stopped, image);
    }
    store_.calls_.push_back({clock_.now(), machine_, "open " + image + " " + which.id + " " + which.client});
    auto reached = co_await reach("open", image, store_.list_time, deadline);
    if (!reached && reached.error().code() == errc::not_found) {
        co_return result<void>();
    }
    if (reached) {
        store_.prepared_.insert({machine_, image, which.client});
    }
    co_return reached;
}

async::awaitable<result<void>> sim_rbd_locks::break_lock(std::string image, storage::rbd_lock which,
                                                         std::chrono::seconds block_for, boot_time not_after,
                                                         time_point deadline) {
    std::string text = "break " + image + " " + which.id + " " + which.client;
    const bool is_blocked = block_for == storage::no_blocklisting;
    if (is_blocked) {
        text += " of a blocked client";
    } else if (block_for.count() != 0) {
        text += " for " + std::to_string(block_for.count()) + "s";
    }
    const bool is_open = store_.prepared_.contains({machine_, image, which.client});
    if (!is_open) {
        auto opened = co_await reach("open", image, store_.list_time, deadline);
        if (!opened && opened.error().code() != errc::not_found) {
            co_return opened;
        }
    }
    auto begun = co_await begin_guarded(std::move(text), not_after);
    if (!begun) {
        co_return begun.error();
    }
    store_.prepared_.erase({machine_, image, which.client});
    if (store_.on_break_begun) {
        store_.on_break_begun(machine_, image, which);
    }
    auto reached = co_await reach("break", image, store_.break_time, deadline);
    if (!reached) {
        co_return reached.error();
    }
    if (store_.own.contains(which.client)) {
        co_return failure(errc::refused, image, "the lock is held by Ceph's helper itself");
    }
    auto& held = store_.images_[image];
    const auto found = std::ranges::find(held, which);
    if (found == held.end()) {
        co_return result<void>();
    }
    if (store_.sends_times_as_text && block_for.count() > 0) {
        co_return not_understood(std::move(image));
    }
    if (!store_.keeps_broken) {
        held.erase(found);
    }
    if (!is_blocked) {
        store_.blocklist_.push_back(which.address);
    }
    if (store_.on_break) {
        store_.on_break(machine_, image, which);
    }
    co_return result<void>();
}

async::awaitable<result<void>> sim_rbd_locks::blocklist(std::string address, std::chrono::seconds block_for,
                                                        boot_time not_after, time_point deadline) {
    auto begun =
        co_await begin_guarded("blocklist " + address + " for " + std::to_string(block_for.count()) + "s", not_after);
    if (!begun) {
        co_return begun.error();
    }
    auto reached = co_await reach_cluster("blocklist", address, store_.break_time, deadline);
    if (reached && store_.sends_times_as_text && block_for.count() > 0) {
        co_return not_understood(std::move(address));
    }
    if (reached && !store_.keeps_broken) {
        store_.blocklist_.push_back(std::move(address));
    }
    co_return reached;
}

async::awaitable<result<void>> sim_rbd_locks::blocklist_by_command(std::string address, std::chrono::seconds block_for,
                                                                   boot_time not_after, time_point deadline) {
    auto begun = co_await begin_guarded(
        "blocklist " + address + " for " + std::to_string(block_for.count()) + "s by command", not_after);
    if (!begun) {
        co_return begun.error();
    }
    auto reached = co_await reach_cluster("command", address, store_.break_time, deadline);
    if (reached && !store_.keeps_broken && !store_.ignores_commands) {
        store_.blocklist_.push_back(std::move(address));
    }
    co_return reached;
}

async::awaitable<result<std::vector<std::string>>> sim_rbd_locks::blocklisted(time_point deadline) {
    if (cut) {
        co_return failure(errc::stopped, "blocklist");
    }
    store_.calls_.push_back({clock_.now(), machine_, "blocklisted"});
    auto reached = co_await reach_cluster("blocklisted", "blocklist", store_.list_time, deadline);
    if (!reached) {
        co_return reached.error();
    }
    co_return store_.blocklist_;
}

}  // namespace pvc::sim
