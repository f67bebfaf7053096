// What a sender does when the guest has left, or is off: it sees that the receiver goes on with it, and goes on in its
// place when it does not. Specification: vm-domains.md 8.3 (S8, S9), 8.6; README rulings 26, 27; hazard H02.
#pragma once

#include "pvcnoded/policy/domains/release_wait.hpp"

namespace pvc::policy {

// After the guest is at `target`, or off: the receiver moves the state on, or we do after 10 s, but only from what was
// `handed` over: this migration to that target, or our own `stop`. Anything else is somebody's word.
struct awaiting_receiver {
    enum class at : std::uint8_t { begin, waiting, writing, over };

    std::string target{};
    wish handed{};
    at where = at::begin;
    time_point began{};

    [[nodiscard]] step resume(context& c);
    friend bool operator==(const awaiting_receiver&, const awaiting_receiver&) = default;
};

// A reference receiver that is still busy with the hand-over drops its own `start`, and nothing would start the domain:
// the same state once more makes it look again (vm-domains.md 0, fact 1; hazard H02).
struct seeing_start {
    enum class at : std::uint8_t { begin, reading, waiting, asking, writing, over };

    std::string target{};
    at where = at::begin;
    time_point until{};

    [[nodiscard]] step resume(context& c);
    void hold(holdings& what) const { what.follows_list_of = target; }
    friend bool operator==(const seeing_start&, const seeing_start&) = default;

private:
    [[nodiscard]] bool is_pending(const context& c) const;
    step wait(context& c);
};

// It ended on its way, and is off everywhere: state = stop with our mark, under the locks; the receiver starts it.
struct handing_over {
    enum class at : std::uint8_t {
        begin,
        releasing_elsewhere,
        locking,
        reading,
        looking,
        writing,
        awaiting_receiver,
        unlocking,
        seeing_start,
        over,
    };

    at where = at::begin;
    wish began_with{};
    release_wait released{};
    time_point locks_by{};
    bool wants_locks = false;
    std::string target{};  // it was handed over to
    awaiting_receiver receiver{};
    policy::seeing_start seen{};

    [[nodiscard]] step resume(context& c);
    void hold(holdings& what) const;
    friend bool operator==(const handing_over&, const handing_over&) = default;

private:
    step release(context& c);
    step lock(context& c);
    step read(context& c);
    step looked(context& c);
    step written(context& c);
    [[nodiscard]] static bool is_on_its_way(const context& c);
    step unlock(context& c);
    step unlocked(context& c);
    step after_unlock(context& c);
};

// The same for one that ended before it was to move, of which nothing was seen to yet (4.3, migrate / N).
struct handing_over_ended {
    enum class at : std::uint8_t { begin, unlisting, ending_console, handing_over, over };

    at where = at::begin;
    handing_over handed{};

    [[nodiscard]] step resume(context& c);
    void hold(holdings& what) const;
    friend bool operator==(const handing_over_ended&, const handing_over_ended&) = default;
};

}  // namespace pvc::policy
