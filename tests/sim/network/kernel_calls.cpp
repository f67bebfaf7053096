#include "sim/network/kernel_calls.hpp"

#include <algorithm>

namespace pvc::sim {

namespace {

// What is answered at once lets others have their turn now and then.
constexpr std::uint64_t calls_in_a_row = 8;

}  // namespace

void kernel_calls::end_hang() {
    hangs_ = false;
    for (auto& one : asked_) {
        one.when = std::max(one.when, clock_.now());
    }
    do_due();
}

void kernel_calls::end_slowness() {
    call_time = usual_time_;
    for (auto& one : asked_) {
        one.when = std::min(one.when, clock_.now());
    }
    do_due();
}

void kernel_calls::drop_calls() {
    asked_.clear();
    due_.disarm();
}

void kernel_calls::end_faults() {
    broken.clear();
    end_hang();
    end_slowness();
}

std::optional<failure> kernel_calls::fault(std::string_view call) const {
    for (const auto& [name, told] : broken) {
        if (call.starts_with(name) && (call.size() == name.size() || call[name.size()] == ' ')) {
            return told;
        }
    }
    return std::nullopt;
}

void kernel_calls::do_due() {
    while (!hangs_ && !asked_.empty() && asked_.front().when <= clock_.now()) {
        const asked next = std::move(asked_.front());
        asked_.pop_front();
        *next.outcome = (*next.what)();
    }
    if (!hangs_ && !asked_.empty()) {
        due_.arm(asked_.front().when, [this] { do_due(); });
    }
}

async::awaitable<result<void>> kernel_calls::pass(std::string about, time_point deadline, effect what) {
    if (cut) {
        co_return failure(errc::stopped, about);
    }
    if (clock_.now() >= deadline) {
        co_return failure(errc::timed_out, about, "the kernel did not answer in time");
    }
    if (call_time == duration::zero() && asked_.empty() && !hangs_) {
        if (++at_once_ % calls_in_a_row == 0) {
            co_await async::yield();
        }
        if (cut) {
            co_return failure(errc::stopped, about);
        }
        co_return what();
    }
    const time_point begins = std::max(clock_.now(), asked_.empty() ? clock_.now() : asked_.back().when);
    const time_point ends = begins + call_time;
    auto outcome = std::make_shared<std::optional<result<void>>>();
    asked_.push_back({ends, std::make_shared<effect>(std::move(what)), outcome});
    if (asked_.size() == 1 && !hangs_) {
        due_.arm(ends, [this] { do_due(); });
    }
    co_await async::sleep_until(clock_, hangs_ ? deadline : std::min(ends, deadline), "the kernel");
    if (cut) {
        co_return failure(errc::stopped, about);
    }
    do_due();
    if (!*outcome && !hangs_ && clock_.now() < deadline) {
        co_await async::sleep_until(clock_, deadline, "the kernel");  // it began to hang meanwhile
    }
    co_return outcome->value_or(failure(errc::timed_out, about, "the kernel did not answer in time"));
}

}  // namespace pvc::sim
