// The figures of the tick: asks every source to collect, side by side, and puts what is there into one sheet, whose
// transaction is the own record's (core/own_record.hpp). Specification: node-lifecycle.md 6.2 to 6.4.
#pragma once

#include "pvcnoded/async/condition.hpp"
#include "pvcnoded/core/subject.hpp"

#include <memory>
#include <string>
#include <vector>

namespace pvc::membership {

// What /proc says: memory and load.
class system_figures final : public core::figure_source {
public:
    explicit system_figures(core::session& s) : session_(s) {}
    [[nodiscard]] std::span<const std::string_view> figure_keys() const override;
    void put(core::figure_sheet& sheet) const override;

private:
    core::session& session_;
};

class figures {
public:
    // All sources outlive it.
    figures(core::session& s, std::vector<core::figure_source*> sources);
    figures(const figures&) = delete;
    figures& operator=(const figures&) = delete;
    ~figures();

    // Starts a child for each source, in a scope that ends before this object does.
    void spawn_into(async::task_group& scope);
    // Collects and writes, and is over by the deadline.
    async::awaitable<void> tick(time_point deadline);
    // What the last sheet says of the node.
    [[nodiscard]] const core::figure_sheet& sheet() const;

private:
    struct collector;
    class board;
    async::awaitable<void> follow(collector& one);
    async::awaitable<void> collect(time_point deadline);

    core::session& session_;
    system_figures system_;
    std::vector<core::figure_source*> sources_;
    std::vector<std::unique_ptr<collector>> collectors_;
    std::unique_ptr<board> board_;
    async::wakeup returned_;
    bool is_ticking_ = false;
    async::condition ticked_;  // for the last tick of a stop, while another is under way
};

}  // namespace pvc::membership
