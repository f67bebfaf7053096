// The record of one attempt as it grows: what a fence or a recovery says becomes what is on the disk (README rulings
// 36, 46). Kept by fence_ledgers, which write what was only noted; loop thread only.
#pragma once

#include "pvcnoded/async/latest.hpp"
#include "pvcnoded/core/node_context.hpp"
#include "pvcnoded/fencing/fence_records.hpp"
#include "pvcnoded/policy/fencing/fence_requests.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace pvc::fencing {

class fence_ledger {
public:
    // `id`: new for each attempt. `writer` is notified when something is to be written; all outlive it.
    fence_ledger(core::node_context& node, fence_records& records, async::wakeup& writer, std::string id,
                 std::string about);
    fence_ledger(const fence_ledger&) = delete;
    fence_ledger& operator=(const fence_ledger&) = delete;

    [[nodiscard]] const model::fence_record& now() const { return record_; }
    [[nodiscard]] bool is_opened() const { return is_opened_; }
    void follow(std::string earlier) { record_.follows = std::move(earlier); }
    // What no text of the record may show.
    void hide(secret password) { password_ = std::move(password); }
    void against_board(bool although_on) { although_on_ = although_on; }
    // A command that begins now: its end is that of the entry that follows.
    void command_begins() { begun_ = model::fence_moment_of(node_.clock()); }
    void name_machine(const uuid& id, std::string name);

    // True: it is on the disk, with all that was noted before it; false after 5 s. Cancelled, it comes to the disk all
    // the same.
    async::awaitable<bool> record(policy::fence_entry::any entry);
    // Before the first record, and after a write that failed for good, it stays in memory.
    void note(const policy::fence_entry::any& entry);
    [[nodiscard]] const std::string& trouble() const { return trouble_; }
    // What its board said last, or why it was not asked, for a line of the log; empty: no command was noted.
    [[nodiscard]] std::string last_of_board() const;

    // Of whoever writes it. When it is to be written; empty: it need not be.
    [[nodiscard]] std::optional<time_point> due() const;
    async::awaitable<void> write();

private:
    struct entry_writer;
    async::awaitable<result<void>> put();

    core::node_context& node_;
    fence_records& records_;
    model::fence_record record_;
    secret password_;
    bool although_on_ = false;
    model::fence_moment begun_;
    async::wakeup& writer_;
    bool is_opened_ = false;
    bool is_broken_ = false;
    bool is_full_told_ = false;
    std::size_t strangers_ = 0;  // machines that were left alone, and of which nothing else is known
    std::size_t waiting_ = 0;    // for it to be on the disk
    std::uint64_t noted_ = 0;
    std::uint64_t written_ = 0;
    std::uint64_t failures_ = 0;
    time_point not_before_ = time_point::min();
    async::latest<std::uint64_t> tries_;
    std::string trouble_;
};

// All that are being written; they stay until their end is on the disk.
class fence_ledgers {
public:
    fence_ledgers(core::node_context& node, std::shared_ptr<fence_records> records)
        : node_(node), records_(std::move(records)) {}
    fence_ledgers(const fence_ledgers&) = delete;
    fence_ledgers& operator=(const fence_ledgers&) = delete;

    [[nodiscard]] std::shared_ptr<fence_ledger> begin(const std::string& about);
    // Writes what was noted, until cancelled: a child of the attempt of the daemon.
    async::awaitable<void> run();
    // All at once, at the end of the daemon.
    async::awaitable<void> flush();
    [[nodiscard]] fence_records& records() { return *records_; }

private:
    core::node_context& node_;
    std::shared_ptr<fence_records> records_;
    std::vector<std::shared_ptr<fence_ledger>> all_;
    async::wakeup changed_;
};

// As records say it.
[[nodiscard]] model::fence_way way_of(policy::fence_origin why);
[[nodiscard]] model::fence_outcome outcome_of(policy::fence_end how);
[[nodiscard]] model::fence_proof_kind kind_of(policy::fence_proof which);  // not of `none`
[[nodiscard]] policy::fence_proof proof_of(model::fence_proof_kind kind);

}  // namespace pvc::fencing
