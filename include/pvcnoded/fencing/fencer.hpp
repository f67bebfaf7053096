// Coordinators find out which nodes are dead, and fence them: each by an attempt of its own (policy/fencing/attempt),
// under /config/fence_lock, with a record on the disk. It judges after each tick, by what the tick has read; while
// nobody is silent, dead or fenced it asks nobody anything. Of one attempt of the daemon; loop thread only.
// Specification: node-lifecycle.md 10, 11; README rulings 9, 31, 37 to 46, 76.
#pragma once

#include "pvcnoded/core/fence_desk.hpp"
#include "pvcnoded/core/metrics.hpp"
#include "pvcnoded/core/subject.hpp"
#include "pvcnoded/fencing/boards.hpp"
#include "pvcnoded/fencing/fence_ledger.hpp"
#include "pvcnoded/fencing/recovery.hpp"
#include "pvcnoded/policy/fencing/detection.hpp"

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace pvc::fencing {

class fencer_part;

// Since the process began.
struct fence_counts {
    std::array<std::uint64_t, 9> attempts{};  // by fence_end
};

class fencer final : public core::subject,
                     public core::prepared_subject,
                     public core::session_subject,
                     public core::reporter,
                     public core::metrics_source,
                     public core::fence_confirmer,
                     public core::explainer {
public:
    fencer(core::node_context& node, std::shared_ptr<boards> all, std::shared_ptr<fence_records> records,
           std::shared_ptr<recoveries> recovery, std::shared_ptr<fence_counts> counts)
        : node_(node),
          boards_(std::move(all)),
          ledgers_(node, std::move(records)),
          recovery_(std::move(recovery)),
          counts_(std::move(counts)) {}

    [[nodiscard]] std::string_view name() const override { return "fencing"; }
    // Leaves a child in the attempt that writes records.
    async::awaitable<result<void>> prepare(core::preparation in) override;
    async::awaitable<void> end(time_point deadline) override;
    std::unique_ptr<core::session_part> begin(core::session& s) override;
    void report(std::vector<std::string>& lines) const override;
    void put_metrics(core::metrics_sheet& sheet) const override;
    [[nodiscard]] std::string_view topic() const override { return "fences"; }
    std::shared_ptr<core::awaited_explanation> explain(time_point until) override;
    std::shared_ptr<core::awaited_explanation> confirm_fence(core::fence_word word, time_point until) override;
    std::shared_ptr<core::awaited_explanation> retry_fence(std::string node, std::string by) override;

private:
    friend class fencer_part;

    core::node_context& node_;
    std::shared_ptr<boards> boards_;
    fence_ledgers ledgers_;
    std::shared_ptr<recoveries> recovery_;
    std::shared_ptr<fence_counts> counts_;
    fencer_part* part_ = nullptr;  // of the session
    // Over all sessions.
    policy::heartbeats_seen beats_;
    std::map<std::string, time_point> told_;  // of each node, what is said each hour
};

}  // namespace pvc::fencing
