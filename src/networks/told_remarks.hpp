// Remarks about links and networks, each told once for as long as it stays the same, and once when it is over. With a
// clock also those of the host that come and go all the time: see policy/networks/repeated_lines.hpp.
#pragma once

#include "pvcnoded/core/log_hub.hpp"
#include "pvcnoded/policy/networks/host_plan.hpp"
#include "pvcnoded/policy/networks/repeated_lines.hpp"

#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace pvc::networks {

// Warnings of what may happen many times a second.
class counted_warnings {
public:
    // Both outlive it.
    counted_warnings(core::log_hub& log, const pvc::clock& clock) : log_(log), clock_(clock) {}

    // False: it was only counted.
    bool tell(message which, const std::string& text);
    void tell_due();
    [[nodiscard]] std::optional<time_point> next_due() const { return events_.next_due(); }

private:
    core::log_hub& log_;
    const pvc::clock& clock_;
    policy::repeated_events events_;
    std::map<std::string, message> kinds_;  // by text
};

class told_remarks {
public:
    // Without a clock each is told whenever it comes and goes.
    explicit told_remarks(core::log_hub& log, const pvc::clock* clock = nullptr) : log_(log), clock_(clock) {}

    // All that is to be said of one thing now ("host", "network 7").
    void tell(const std::string& about, std::vector<policy::network_remark> now);
    // It is no more.
    void forget(const std::string& about) { told_.erase(about); }
    // How often those came that come and go.
    void tell_due();
    [[nodiscard]] std::optional<time_point> next_due() const { return states_.next_due(); }
    [[nodiscard]] std::span<const policy::network_remark> of(const std::string& about) const;
    [[nodiscard]] std::size_t size() const;

private:
    void say(const policy::network_remark& one);
    [[nodiscard]] bool is_first(const policy::network_remark& one, bool is_so);

    core::log_hub& log_;
    const pvc::clock* clock_;
    std::map<std::string, std::vector<policy::network_remark>> told_;
    policy::repeated_states states_;
    std::map<std::string, policy::network_remark> counted_;  // by text
};

}  // namespace pvc::networks
