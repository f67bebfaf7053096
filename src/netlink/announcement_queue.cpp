#include "pvcnoded/netlink/announcement_queue.hpp"

#include "pvcnoded/base/planted.hpp"

#include <array>

namespace pvc::netlink {

namespace {

using namespace std::chrono_literals;

constexpr std::array<duration, 5> times{0ms, 200ms, 1s, 2s, 5s};
// Later than that it was not this daemon's to send: the process stood still, and another node may have the address.
constexpr duration too_late = 2s;
constexpr int most_at_once = 64;
constexpr duration between_bursts = 10ms;

constexpr std::array<announced_as, 2> of_ipv4{announced_as::request, announced_as::reply};
constexpr std::array<announced_as, 1> of_ipv6{announced_as::advertisement};

std::span<const announced_as> frames_of(const ip::address& address) {
    if (address.is_v6()) {
        return of_ipv6;
    }
    const std::span<const announced_as> all(of_ipv4);
    return is_planted(defect::announced_as_reply) ? all.subspan(1) : all;
}

}  // namespace

void announcement_queue::expect(const std::string& device, const ip::address& address) {
    expected_.emplace(device, address);
}

void announcement_queue::announce(const std::string& device, const ip::address& address) {
    const key which(device, address);
    if (!expected_.contains(which)) {
        return;
    }
    drop(which);
    for (const duration after : times) {
        waiting_.emplace(clock_.now() + after, frame{which, clock_.boot_now() + after});
    }
    send_due();
}

void announcement_queue::drop(const key& which) {
    std::erase_if(waiting_, [&](const auto& one) { return one.second.of == which; });
}

void announcement_queue::forget(const std::string& device, const ip::address& address) {
    if (is_planted(defect::announced_for_ever)) {
        return;
    }
    const key which(device, address);
    expected_.erase(which);
    drop(which);
}

void announcement_queue::forget_all() {
    expected_.clear();
    waiting_.clear();
    due_.disarm();
}

void announcement_queue::send_due() {
    const time_point now = clock_.now();
    if (now - begun_ >= between_bursts) {
        begun_ = now;
        sent_ = 0;
    }
    while (!waiting_.empty() && waiting_.begin()->first <= now && sent_ < most_at_once) {
        const auto next = waiting_.begin()->second;
        waiting_.erase(waiting_.begin());
        const bool is_to_go = is_to_stay_ && !is_to_stay_() && !is_planted(defect::announced_for_ever);
        if (is_to_go || clock_.boot_now() - next.due > too_late) {
            continue;
        }
        ++sent_;
        if (!send_(next.of.first, next.of.second, frames_of(next.of.second))) {
            drop(next.of);
        }
    }
    if (!waiting_.empty()) {
        const time_point next = waiting_.begin()->first;
        due_.arm(next <= now ? begun_ + between_bursts : next, [this] { send_due(); });
    }
}

}  // namespace pvc::netlink
