// After a live migration that failed, or half of one that was found: which of two copies goes. Pure functions of what
// this host and the other one say; what is destroyed is destroyed on proof only. Specification: vm-domains.md 8.7,
// 8.4 (R6); README rulings 24 and 29.
#pragma once

#include "pvcnoded/base/clock.hpp"
#include "pvcnoded/model/guest_class.hpp"
#include "pvcnoded/model/states.hpp"

#include <cstdint>
#include <optional>
#include <tuple>

namespace pvc::policy {

// What the hypervisor of another node said of a domain: class and cause.
enum class remote_answer : std::uint8_t {
    absent,      // it does not have it
    shut_off,    // it lists it, and it is off (or crashed, or about to be made)
    ending,      // the guest is off, its process is not gone yet
    alive,       // it has it, running
    halted,      // it has it, paused: it ran, and does not execute now
    being_made,  // it has it, paused since it is being set up: it has never executed
    incoming,    // it has it, between two nodes
    refused,     // nothing listens there: no hypervisor
    hanging,     // something listens there and says nothing: the host is on
    silent,
};
[[nodiscard]] remote_answer answer_of(const model::guest_status& status);
// Refused, hanging or silent: it says nothing.
[[nodiscard]] bool is_no_answer(remote_answer answer);

// Table 8.7. `is_done_there`: ZooKeeper says that the migration is over, `start` on the target.
enum class resolve_step : std::uint8_t {
    moved,         // the target has it, nothing is here
    destroy_copy,  // it runs there: the copy here goes
    destroy_half,  // it ran there and ended: the half here is stale
    failed,        // it is here, and only here
    unanswered,    // it runs here, the target does not answer
    ended,         // it is nowhere
    resume_half,   // the half here may be all there is: its locks decide
    halted_there,  // it runs here, the target has a copy that does not: look again for a while
    look_again,
    ask_again,    // the half here stands as long as nobody answers
    unknown_end,  // it is not here, and nobody says whether it is there
};
[[nodiscard]] resolve_step decide_resolve(model::guest_class here, remote_answer there, bool is_done_there);

// Nothing is destroyed on one look: it takes two equal ones, the second begun a second after the first was answered.
class second_look {
public:
    static constexpr duration apart = std::chrono::seconds(1);
    struct finding {
        model::guest_class here = model::guest_class::absent;
        remote_answer there = remote_answer::silent;
        friend bool operator==(const finding&, const finding&) = default;
    };
    // All that it remembers: machines are compared and hashed.
    [[nodiscard]] auto fields() const { return std::tie(first_); }
    friend bool operator==(const second_look&, const second_look&) = default;
    // True: this look, begun at `asked` and answered at `answered`, confirms an earlier one.
    [[nodiscard]] bool confirms(const finding& now, time_point asked, time_point answered);
    void forget() { first_.reset(); }

private:
    struct look {
        finding what;
        time_point answered;

        friend bool operator==(const look&, const look&) = default;
    };
    std::optional<look> first_;
};

// What is known of a node that was asked for a domain, beside its answer.
struct asked_node {
    model::daemon_state daemon = model::daemon_state::stop;
    bool lists_it = false;  // in its `runningdomains`
    bool had_it = false;    // it is `lastnode`, or the last that was seen to run it
};
// R6: one without a hypervisor, or that was switched off in order, has nothing to say about a domain that it never
// had.
[[nodiscard]] bool may_be_silent(const asked_node& node, remote_answer answer);

}  // namespace pvc::policy
