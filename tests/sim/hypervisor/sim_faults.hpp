// What calls are told to do instead of what they would do: for the next ones, in order, or for all until told
// otherwise. Names of calls are those of the port: "create", "destroy", "migrate", …
#pragma once

#include "pvcnoded/base/clock.hpp"
#include "pvcnoded/hypervisor/types.hpp"

#include <deque>
#include <map>
#include <optional>
#include <string>

namespace pvc::sim {

struct sim_fault {
    std::optional<hypervisor::call_failure> failure;
    std::optional<duration> takes;
    bool hangs = false;
    std::optional<duration> late{};  // answered so much later, with what was so at first
};

class sim_faults {
public:
    // The call does nothing and answers this.
    void fail_next(const std::string& call, hypervisor::call_failure failure, int times = 1) {
        for (int i = 0; i < times; ++i) {
            next_[call].push_back({.failure = failure, .takes = {}});
        }
    }
    // The call takes this long, in place of its usual time.
    void delay_next(const std::string& call, duration takes) { next_[call].push_back({.failure = {}, .takes = takes}); }
    // The call does nothing and never answers.
    void hang_next(const std::string& call) { next_[call].push_back({.failure = {}, .takes = {}, .hangs = true}); }
    // What the call found is told only after this time: events overtake it.
    void answer_next_late(const std::string& call, duration time) {
        next_[call].push_back({.failure = {}, .takes = {}, .hangs = false, .late = time});
    }
    void fail_always(const std::string& call, hypervisor::call_failure failure) {
        always_[call] = {.failure = std::move(failure), .takes = {}};
    }
    void delay_always(const std::string& call, duration takes) { always_[call] = {.failure = {}, .takes = takes}; }
    void clear_faults(const std::string& call) {
        next_.erase(call);
        always_.erase(call);
    }

    void clear_faults() {
        next_.clear();
        always_.clear();
    }

    // Used up by a call of this name.
    [[nodiscard]] std::optional<sim_fault> take(const std::string& call) {
        if (const auto found = next_.find(call); found != next_.end() && !found->second.empty()) {
            sim_fault first = std::move(found->second.front());
            found->second.pop_front();
            return first;
        }
        const auto found = always_.find(call);
        return found == always_.end() ? std::nullopt : std::optional(found->second);
    }

private:
    std::map<std::string, std::deque<sim_fault>> next_;
    std::map<std::string, sim_fault> always_;
};

}  // namespace pvc::sim
