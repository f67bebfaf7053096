// Ending a guest: destroying it, and asking it first. Parts of the machines that do so for different reasons.
// Specification: vm-domains.md 6.2, 6.3; README ruling 23.
#pragma once

#include "pvcnoded/policy/domains/machine.hpp"

namespace pvc::policy {

enum class power_end : std::uint8_t {
    off,      // the domain is gone from this host
    changed,  // it is not to end any more; it may still go down
    unknown,  // the hypervisor is away, or the time is over
};

// Destroys it until it is gone, however often that takes, by `last`. Once a call has failed it is tried again only for
// the wish that it was begun for: another word may want the guest to live. What was half of a migration and executes by
// now is another, which has arrived since.
struct destroying {
    static constexpr duration call_limit = std::chrono::seconds(60);
    static constexpr duration gone_within = std::chrono::seconds(5);  // of the call's answer
    static constexpr duration again_after = std::chrono::seconds(2);  // of one that failed
    // Until its guest is gone where the first call hangs and the second one does what it should.
    static constexpr duration two_tries = 2 * (call_limit + guest_query_limit) + again_after + gone_within;

    enum class at : std::uint8_t { begin, destroyed, leaving, looked, pausing, looked_after_pause, over };

    time_point last = time_point::max();
    std::optional<wish> only_for{};  // empty: proven to be stale, whatever is wanted
    at where = at::begin;
    bool was_half = false;  // at the beginning
    time_point complain_at{};
    time_point wait_until{};
    power_end end = power_end::unknown;

    [[nodiscard]] step resume(context& c);
    [[nodiscard]] bool is_over() const { return where == at::over; }
    friend bool operator==(const destroying&, const destroying&) = default;

private:
    [[nodiscard]] bool is_another(const context& c) const;
    step attempt(context& c);
    step wait_gone(context& c);
    step finish(power_end how);
};

// Asks the guest and waits until its domain is gone; destroys it when vm_shutdown_timeout has passed, over all machines
// that did so one after the other.
struct powering_down {
    enum class at : std::uint8_t { begin, waiting, destroying, over };

    at where = at::begin;
    bool asks = false;  // the request is under way beside the wait
    bool is_hung = false;
    time_point began{};
    policy::destroying destroy{};
    power_end end = power_end::unknown;

    // `goes_on`: whether it is still to go off, asked at every resumption.
    [[nodiscard]] step resume(context& c, bool goes_on);
    [[nodiscard]] bool is_over() const { return where == at::over; }
    void hold(holdings& what) const { what.asks_guest_to_end = where == at::waiting && asks; }
    friend bool operator==(const powering_down&, const powering_down&) = default;

private:
    step look(context& c, bool goes_on);
    step finish(power_end how);
};

// Destroys a guest that is off while its process does not go (README ruling 23).
struct ending_hung {
    bool has_begun = false;
    destroying destroy{};

    [[nodiscard]] step resume(context& c);
    friend bool operator==(const ending_hung&, const ending_hung&) = default;
};

}  // namespace pvc::policy
