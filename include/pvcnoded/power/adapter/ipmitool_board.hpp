// The power port on the programs ipmitool and getent: a process for each command, which can be ended whatever it waits
// for. The password goes through the environment (IPMI_PASSWORD), never through an argument.
#pragma once

#include "pvcnoded/async/process.hpp"
#include "pvcnoded/power/board.hpp"

namespace pvc::power {

class ipmitool_board final : public board {
public:
    // Both must outlive it.
    ipmitool_board(async::process_runner& processes, async::timers& clock) : processes_(processes), clock_(clock) {}

    async::awaitable<result<board_answer>> ask(board_access to, board_command what, boot_time not_after,
                                               duration limit) override;
    async::awaitable<result<board_answer>> ask_own_guid(duration limit) override;
    async::awaitable<result<std::vector<std::string>>> resolve(std::string host, duration limit) override;

private:
    async::process_runner& processes_;
    async::timers& clock_;
};

}  // namespace pvc::power
