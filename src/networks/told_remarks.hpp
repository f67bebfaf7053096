// Remarks about links and networks, each told once for as long as it stays the same, and once when it is over.
#pragma once

#include "pvcnoded/core/log_hub.hpp"
#include "pvcnoded/policy/networks/host_plan.hpp"

#include <map>
#include <span>
#include <string>
#include <vector>

namespace pvc::networks {

class told_remarks {
public:
    explicit told_remarks(core::log_hub& log) : log_(log) {}

    // All that is to be said of one thing now ("host", "network 7").
    void tell(const std::string& about, std::vector<policy::network_remark> now);
    // It is no more.
    void forget(const std::string& about) { told_.erase(about); }
    [[nodiscard]] std::span<const policy::network_remark> of(const std::string& about) const;
    [[nodiscard]] std::size_t size() const;

private:
    core::log_hub& log_;
    std::map<std::string, std::vector<policy::network_remark>> told_;
};

}  // namespace pvc::networks
