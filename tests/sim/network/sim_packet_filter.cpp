#include "sim/network/sim_packet_filter.hpp"

#include <algorithm>
#include <utility>

namespace pvc::sim {

namespace {

constexpr const char* subject = "the packet filter";

}  // namespace

class sim_packet_filter::watching final : public netlink::filter_watch {
public:
    watching(sim_packet_filter& filter, async::wakeup& changed) : filter_(filter), changed_(changed) {
        filter_.watches_.push_back(this);
    }
    ~watching() override { std::erase(filter_.watches_, this); }
    void tell() const { changed_.notify(); }

private:
    sim_packet_filter& filter_;
    async::wakeup& changed_;
};

sim_packet_filter::sim_packet_filter(sim_filter& machine, async::timers& clock)
    : kernel_calls(clock, duration::zero()), machine_(machine), events_(clock) {
    machine_.changed = [this] { something_changed(); };
}

void sim_packet_filter::something_changed() {
    if (event_delay == duration(0)) {
        tell();
    } else if (!events_.armed()) {
        events_.arm(clock().now() + event_delay, [this] { tell(); });
    }
}

void sim_packet_filter::tell() {
    if (!cut) {
        for (const auto* one : watches_) {
            one->tell();
        }
    }
}

void sim_packet_filter::end_faults() {
    kernel_calls::end_faults();
    refuses.reset();
    refuses_if = nullptr;
    conflicts = 0;
    next_unanswered = unanswered::no;
    torn_looks = 0;
    event_delay = duration(0);
}

async::awaitable<result<model::filter_state>> sim_packet_filter::look(time_point deadline) {
    ++looks;
    auto seen = std::make_shared<model::filter_state>();
    auto looked = co_await pass(subject, deadline, [this, seen]() -> result<void> {
        if (const auto told = fault("look")) {
            return *told;
        }
        if (torn_looks > 0) {
            --torn_looks;
            return failure(errc::unavailable, subject, "it changed again and again");
        }
        *seen = machine_.state();
        return {};
    });
    if (!looked) {
        co_return std::move(looked).error();
    }
    co_return std::move(*seen);
}

sim_filter::outcome sim_packet_filter::carry_out(const std::vector<model::filter_change>& changes,
                                                 std::optional<std::uint32_t> generation) {
    if (const auto told = fault("commit")) {
        return *told;
    }
    if (conflicts > 0) {
        --conflicts;
        machine_.touch_table();
    }
    auto outcome = outcome_of(changes, generation);
    if (outcome && !*outcome) {
        batches.push_back(changes);
        if (on_batch) {
            on_batch();
        }
    } else if (outcome && on_refusal) {
        on_refusal(changes[(*outcome)->change]);
    }
    return outcome;
}

sim_filter::outcome sim_packet_filter::outcome_of(const std::vector<model::filter_change>& changes,
                                                  std::optional<std::uint32_t> generation) {
    if (refuses && *refuses < changes.size()) {
        return netlink::batch_refusal{*std::exchange(refuses, std::nullopt), "Operation not permitted"};
    }
    if (refuses_if) {
        const auto found = std::ranges::find_if(changes, refuses_if);
        if (found != changes.end()) {
            return netlink::batch_refusal{static_cast<std::size_t>(found - changes.begin()), "Invalid argument"};
        }
    }
    return machine_.commit(changes, generation);
}

async::awaitable<result<std::optional<netlink::batch_refusal>>> sim_packet_filter::commit(
    std::vector<model::filter_change> changes, std::optional<std::uint32_t> generation, time_point deadline) {
    calls.push_back("commit " + std::to_string(changes.size()) + " changes");
    const auto answer = std::exchange(next_unanswered, unanswered::no);
    auto outcome = std::make_shared<sim_filter::outcome>();
    auto passed = co_await pass(subject, deadline, [this, outcome, generation, answer, changes = std::move(changes)]() {
        if (answer != unanswered::not_done) {
            *outcome = carry_out(changes, generation);
        }
        return result<void>();
    });
    if (passed && answer != unanswered::no) {
        co_await async::sleep_until(clock(), deadline, "the kernel");
        passed = failure(errc::timed_out, subject, "the kernel did not answer in time");
    }
    if (passed) {
        co_return *std::move(outcome);
    }
    if (passed.error().code() == errc::timed_out) {
        co_return failure(errc::outcome_unknown, subject, passed.error().cause());
    }
    co_return std::move(passed).error();
}

std::unique_ptr<netlink::filter_watch> sim_packet_filter::watch(async::wakeup& changed) {
    return std::make_unique<watching>(*this, changed);
}

}  // namespace pvc::sim
