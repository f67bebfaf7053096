// The power port: what management controllers (BMCs) of other nodes are asked and told over the network, and the one of
// this host through its own interface. What an answer means is not decided here (policy/fencing/power_answer).
// Specification: node-lifecycle.md 10.3, 10.6; README rulings 15, 40, 41, 42.
#pragma once

#include "pvcnoded/async/wakeup.hpp"
#include "pvcnoded/base/result.hpp"
#include "pvcnoded/base/secret.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pvc::power {

// One command has so long: there are boards that need ten seconds.
inline constexpr duration command_limit = std::chrono::seconds(30);
inline constexpr std::size_t answer_bytes = 4096;  // of each stream; output that exceeds it answers nothing

enum class board_command : std::uint8_t {
    off,
    on,
    status,
    guid,  // which board it is
};
[[nodiscard]] std::string_view to_text(board_command what);  // "chassis power off", "mc guid"

// Where a board is, and as whom it is asked.
struct board_access {
    std::string address;  // or a name, which is resolved then
    std::string user;
    secret password;
    std::optional<int> cipher_suite;  // empty: ipmitool chooses, which takes 10 s with boards that do not tell theirs
    bool as_operator = false;         // with the privilege OPERATOR in place of ADMINISTRATOR
};

// Why nobody is asked with it, as a clause; empty: it can be used.
[[nodiscard]] std::string trouble_with(const board_access& to);

struct board_answer {
    std::optional<int> status;  // of the program; empty: it was ended by its limit or by a signal
    std::string output;
    std::string errors;
    duration took{};
    bool as_operator = false;  // ADMINISTRATOR was refused, or not asked for
};

class board {
public:
    board() = default;
    board(const board&) = delete;
    board& operator=(const board&) = delete;
    virtual ~board() = default;

    // A guarded step: the command is sent after `not_after` in no case. Where the board refuses the privilege
    // ADMINISTRATOR it is asked once more as OPERATOR, within the same limit and under the same guard. `limit`: of all
    // that; what a board that is slower than it was told is unknown. Errors, of all of which but io it is sure that
    // nothing was sent: invalid (the access cannot be one), stopped (it could not start in time), timed_out (too many
    // programs run), not_found (no ipmitool), io. Cancellation: the program has ended by the time this returns; whether
    // the board heard of it is unknown.
    virtual async::awaitable<result<board_answer>> ask(board_access to, board_command what, boot_time not_after,
                                                       duration limit) = 0;
    // The GUID of this host's own board, through the interface of the host. Errors as above; a host without such an
    // interface is an answer with a failing status.
    virtual async::awaitable<result<board_answer>> ask_own_guid(duration limit) = 0;
    // The addresses to which a name resolves now, those of the resolver's choice first; an address is its own. Errors:
    // not_found (the resolver says that there are none), timed_out, invalid, io.
    virtual async::awaitable<result<std::vector<std::string>>> resolve(std::string host, duration limit) = 0;
};

}  // namespace pvc::power
