// Asks this node's own management controller once, at the start, whether it answers: those who would fence this node
// depend on it. What it says is logged; it runs beside the start-up and holds nothing up. Where the board that answers
// there is not the one that this host has by its own interface, whoever fenced this node would switch off another: the
// node then publishes an empty `ipmihostname`, and says so each hour. A board that does not tell is asked again every
// 5 min, an own interface that fails every hour.
// Specification: node-lifecycle.md 10.6, 3.2 (S8), AC10; README rulings 16, 41, 42.
#pragma once

#include "pvcnoded/core/subject.hpp"
#include "pvcnoded/power/board.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace pvc::fencing {

// Outlives the subjects.
struct fence_ports {
    power::board& board;
};

class ipmi_check final : public core::subject,
                         public core::prepared_subject,
                         public core::session_subject,
                         public core::figure_source {
public:
    ipmi_check(core::node_context& node, fence_ports outside) : node_(node), board_(outside.board) {}

    [[nodiscard]] std::string_view name() const override { return "ipmi check"; }
    // Leaves a child in the attempt; cancelled, its program has ended.
    async::awaitable<result<void>> prepare(core::preparation in) override;
    // Of each tick: the key is what this check says, whatever somebody writes there.
    [[nodiscard]] std::span<const std::string_view> figure_keys() const override;
    void put(core::figure_sheet& sheet) const override;
    // Of the sessions: withdraws what was published.
    std::unique_ptr<core::session_part> begin(core::session& s) override;

private:
    friend class withdrawal;

    async::awaitable<void> look();
    [[nodiscard]] power::board_access access() const;
    async::awaitable<void> ask_power();
    async::awaitable<std::optional<std::string>> ask_which(std::string here);

    core::node_context& node_;
    power::board& board_;
    async::latest<bool> is_foreign_{false};
};

}  // namespace pvc::fencing
