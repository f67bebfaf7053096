#include "sim/hypervisor/sim_rbd_locks.hpp"

#include "pvcnoded/async/wakeup.hpp"

#include <algorithm>

namespace pvc::sim {

void sim_rbd_store::lock(const std::string& image, const std::string& address) {
    const std::uint64_t client = ++clients_;
    lock(image, {"auto " + std::to_string(140'000'000 + client), "client." + std::to_string(client), address});
}

std::vector<storage::rbd_lock> sim_rbd_store::locks(const std::string& image) const {
    const auto found = images_.find(image);
    return found == images_.end() ? std::vector<storage::rbd_lock>() : found->second;
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
async::awaitable<result<void>> sim_rbd_locks::reach(std::string call, std::string image, duration time,
                                                    time_point deadline) {
    if (is_unavailable || store_.cut_off.contains(machine_)) {
        co_return failure(errc::unavailable, image, "Ceph cannot be asked from here");
    }
    const bool is_late = store_.hangs || clock_.now() + time > deadline;
    co_await async::sleep_until(clock_, is_late ? deadline : clock_.now() + time, "Ceph");
    if (cut) {
        co_return failure(errc::stopped, image);
    }
    if (is_late) {
        co_return failure(errc::timed_out, image);
    }
    if (auto told = store_.fault(call)) {
        co_return *std::move(told);
    }
    if (!store_.images_.contains(image)) {
        co_return failure(errc::not_found, image, "no such image");
    }
    co_return result<void>();
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
    co_return store_.locks(image);
}

async::awaitable<result<void>> sim_rbd_locks::break_lock(std::string image, storage::rbd_lock which,
                                                         boot_time not_after, time_point deadline) {
    co_await async::yield();
    if (cut || clock_.boot_now() > not_after) {
        co_return failure(errc::stopped, image, "it could not start in time");
    }
    store_.calls_.push_back({clock_.now(), machine_, "break " + image + " " + which.id + " " + which.client});
    auto reached = co_await reach("break", image, store_.break_time, deadline);
    if (!reached) {
        co_return reached.error();
    }
    auto& held = store_.images_[image];
    if (std::erase(held, which) > 0) {
        store_.blocklist_.push_back(which.address);
        if (store_.on_break) {
            store_.on_break(machine_, image, which);
        }
    }
    co_return result<void>();
}

}  // namespace pvc::sim
