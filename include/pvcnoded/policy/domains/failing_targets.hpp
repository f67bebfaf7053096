// The nodes to which a flush has moved in vain: which to leave out of the next choices, so that one dead libvirt is not
// tried with every domain, and which have refused a domain. A value of one flush.
// Specification: README rulings 21, 78.
#pragma once

#include "pvcnoded/base/clock.hpp"
#include "pvcnoded/base/uuid.hpp"
#include "pvcnoded/policy/domains/move_fault.hpp"

#include <map>
#include <set>
#include <string>

namespace pvc::policy {

class failing_targets {
public:
    static constexpr std::size_t domains_max = 2;
    static constexpr duration left_out_for = std::chrono::minutes(10);

    // A move of `domain` to `node` ended where it had begun. True: the node is left out from now on.
    bool failed(const uuid& domain, const std::string& node, move_fault fault, time_point now);
    // By everybody, for now: different domains have failed there for its own reasons.
    [[nodiscard]] std::set<std::string> left_out(time_point now) const;
    // By this domain, as long as there are others: it was tried there.
    [[nodiscard]] std::set<std::string> tried_by(const uuid& domain) const;
    // By this domain in the rest of the flush.
    [[nodiscard]] std::set<std::string> refused(const uuid& domain) const;

private:
    struct record {
        std::set<uuid> domains;
        time_point last;
    };
    std::map<std::string, record> nodes_;  // that failed for their own reasons
    std::map<uuid, std::set<std::string>> tried_;
    std::map<uuid, std::set<std::string>> refused_;
};

// What a flush knows of targets; of an unflush, which chooses none, nothing.
struct known_targets {
    failing_targets failing{};
    std::set<std::string> were_ready{};  // in `run` and `ready` at some time of this flush
    bool is_last = false;                // whatever failed for a node's own reasons is tried once more
    std::set<std::string> tried_now{};   // of these tries
};

}  // namespace pvc::policy
