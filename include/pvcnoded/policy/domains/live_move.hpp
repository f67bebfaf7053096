// One live call, and what may end it early. Specification: vm-domains.md 8.3 (S6).
#pragma once

#include "pvcnoded/policy/domains/machine.hpp"

namespace pvc::policy {

enum class live_end : std::uint8_t {
    moved,
    failed,       // libvirt's words are in `text`; another try may help
    hopeless,     // another try cannot help (8.3: not repeated)
    no_progress,  // it did not converge, and nobody waits
    somebody_waits,
    withdrawn,  // the desired state changed meanwhile
    must_end,   // the daemon stops
    target_dead,
    gone,  // the guest is not here any more, and the call does not end
};

struct live_move {
    enum class at : std::uint8_t { begin, waiting, looking, aborting, aborted, ending, over };

    std::string target{};
    at where = at::begin;
    std::optional<migration_watch> watch{};  // from when the call has its thread
    bool was_copying = false;
    bool gives_up = false;
    time_point nobody_waited{};
    time_point last_here{};
    time_point next_look{};
    time_point next_report{};
    time_point abort_until{};
    time_point abort_next{};
    std::optional<live_end> why{};
    // How it ended.
    live_end end = live_end::failed;
    std::string text{};
    move_fault fault = move_fault::neither;
    bool was_short = false;  // it ended in the time that is granted to reach the target
    bool was_busy = false;   // libvirt still has an earlier job with the guest, which runs on

    [[nodiscard]] step resume(context& c);
    [[nodiscard]] bool is_over() const { return where == at::over; }
    void hold(holdings& what) const;
    friend bool operator==(const live_move&, const live_move&) = default;

private:
    step look(context& c);
    step wait(context& c);
    step judge(context& c, const progress_read& progress);
    step abort(context& c);
    step wait_aborted(context& c);
    step wind_up(context& c);
    step finish(context& c);
    [[nodiscard]] std::optional<live_end> reason_to_end(const context& c) const;
    [[nodiscard]] move_fault whose_fault(std::optional<call_end> ended) const;
};

}  // namespace pvc::policy
