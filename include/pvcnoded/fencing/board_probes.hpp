// Coordinators ask the board of each other node at once and every ten minutes, one by one, so that what could not be
// fenced is known before a node dies; and when somebody asks for it (`pvcnodectl fence probe`). Not in maintenance, and
// never the board of a node that is being fenced. It writes nothing. Loop thread only; of the session scope.
// Specification: README rulings 41, 42.
#pragma once

#include "pvcnoded/core/fence_desk.hpp"
#include "pvcnoded/core/metrics.hpp"
#include "pvcnoded/core/subject.hpp"
#include "pvcnoded/fencing/boards.hpp"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace pvc::fencing {

class probing_part;

class board_probes final : public core::subject,
                           public core::session_subject,
                           public core::reporter,
                           public core::metrics_source,
                           public core::board_prober {
public:
    board_probes(core::node_context& node, std::shared_ptr<boards> all) : node_(node), boards_(std::move(all)) {}

    [[nodiscard]] std::string_view name() const override { return "boards"; }
    std::unique_ptr<core::session_part> begin(core::session& s) override;
    void report(std::vector<std::string>& lines) const override;
    void put_metrics(core::metrics_sheet& sheet) const override;
    std::shared_ptr<core::awaited_explanation> probe_board(std::string node, time_point until) override;

private:
    friend class probing_part;
    using asked = std::shared_ptr<core::awaited_explanation>;

    void answer_all(const std::string& node, const result<core::explanation>& what);

    core::node_context& node_;
    std::shared_ptr<boards> boards_;
    std::map<std::string, std::vector<asked>> wanted_;  // by node
    std::map<std::string, policy::probe_said> said_;    // the last line of the log about a board
    probing_part* part_ = nullptr;                      // of the session
};

}  // namespace pvc::fencing
