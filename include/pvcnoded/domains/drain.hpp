// What clients ask of a node as a whole. `flush` empties it of virtual machines, one after the other, and ends in
// `flushed`; `unflush` brings back what belongs here and ends in `ready`.
//
// At most one job. Another value of the key cancels the running one, whose last write is then not made; what it did to
// a domain finishes on its own. A stored order is resumed at the next start or in the next session. What comes to a
// node that was emptied, by a move that began before, is moved on by a short job. A node without the hypervisor
// function that is made `ready`, whoever writes that, writes `flushed`: nobody is to send it a machine; as it was found
// when it joined it stays (AC02).
// Specification: node-lifecycle.md 8, 5.2 (step 2); README rulings 13, 21.
#pragma once

#include "pvcnoded/core/metrics.hpp"
#include "pvcnoded/core/subject.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace pvc::domains {

class domain_subject;

// What there is to be told of the order, over all sessions.
struct drain_view {
    std::string_view under_way{};  // the job, as its order says it; empty: none
    bool is_flushed = false;       // as the key was seen last
};

class drain_subject final : public core::subject,
                            public core::session_subject,
                            public core::readiness_reporter,
                            public core::reporter,
                            public core::metrics_source {
public:
    // `here` is null on a node without the hypervisor function, and outlives this.
    explicit drain_subject(domain_subject* here) : here_(here) {}
    [[nodiscard]] std::string_view name() const override { return "drain"; }
    std::unique_ptr<core::session_part> begin(core::session& s) override;
    void report_unready(std::vector<std::string>& reasons) const override;
    // What runs here although the node is `flushed`: who reads that word switches the host off (README ruling 78).
    void report(std::vector<std::string>& lines) const override;
    void put_metrics(core::metrics_sheet& sheet) const override;

private:
    [[nodiscard]] std::vector<std::string> left_here() const;

    domain_subject* here_;
    drain_view view_;
};

}  // namespace pvc::domains
