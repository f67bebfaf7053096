// Carries out what clients of schema 9 and before want done with OSDs: commands in /cmd/ceph, one at a time. What it
// takes decides policy/ceph/osd_work, and is erased only while the command stands and its lock is ours. At later
// versions there is no such key, and nothing is watched. Loop thread only; cancelling run() ends the programs, and the
// command is not answered. Specification: storage.md 8.
#pragma once

#include "objects.hpp"
#include "pvcnoded/async/process.hpp"
#include "pvcnoded/core/command_pipe.hpp"
#include "pvcnoded/policy/ceph/osd_work.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace pvc::ceph {

class osd_commands {
public:
    osd_commands(core::session& s, const objects& all, async::process_runner& processes)
        : session_(s), objects_(all), processes_(processes) {}
    osd_commands(const osd_commands&) = delete;
    osd_commands& operator=(const osd_commands&) = delete;

    // Until cancelled; at once where the active schema has no such commands.
    async::awaitable<void> run();

private:
    [[nodiscard]] std::optional<core::pipe_command> read(std::string_view text) const;
    [[nodiscard]] bool may_be_ours(const model::osd_command& what) const;
    async::awaitable<bool> is_ours(model::osd_command what) const;
    async::awaitable<result<void>> perform(model::osd_command what, core::pipe_guard guard) const;
    async::awaitable<bool> still_stands(const core::pipe_guard& guard) const;
    async::awaitable<result<policy::osd_answer>> carry_out(policy::osd_question ask, const model::osd_command& what,
                                                           std::string id, const core::pipe_guard& guard) const;
    async::awaitable<policy::osd_answer> run_program(policy::osd_ask::program what) const;
    void tell(const std::vector<policy::osd_note>& notes) const;

    core::session& session_;
    const objects& objects_;
    async::process_runner& processes_;
};

}  // namespace pvc::ceph
