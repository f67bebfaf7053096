// The nodes to which a flush has moved in vain: which to leave out of the next choices, so that one dead libvirt is not
// tried with every domain. A value of one flush. Specification: README ruling 21.
#pragma once

#include "pvcnoded/base/clock.hpp"
#include "pvcnoded/base/uuid.hpp"

#include <map>
#include <set>
#include <string>

namespace pvc::policy {

class failing_targets {
public:
    static constexpr int failures_max = 2;
    static constexpr duration left_out_for = std::chrono::minutes(10);

    // A move of `domain` to `node` ended where it had begun. True: the node is left out from now on.
    bool failed(const uuid& domain, const std::string& node, time_point now);
    // By everybody, for now.
    [[nodiscard]] std::set<std::string> left_out(time_point now) const;
    // By this domain in the rest of the flush: the failure may be its own.
    [[nodiscard]] std::set<std::string> tried_by(const uuid& domain) const;

private:
    struct record {
        int failures = 0;
        time_point last;
    };
    std::map<std::string, record> nodes_;
    std::map<uuid, std::set<std::string>> tried_;
};

}  // namespace pvc::policy
