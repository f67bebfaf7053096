// What a board says about the power of its node (node-lifecycle.md 10.3; README rulings 15, 40, 41), read out of what
// `ipmitool ... chassis power status` printed. Total: any text, of any size, is an answer of some kind.
#pragma once

#include "pvcnoded/base/clock.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

namespace pvc::policy {

enum class board_power : std::uint8_t { unknown, on, off };
[[nodiscard]] std::string_view to_text(board_power what);

struct power_answer {
    board_power power = board_power::unknown;
    std::string why;  // it is unknown; empty otherwise. One line, shown safely, at most 200 characters
    // The user may not use the privilege ADMINISTRATOR: the same command with `-L OPERATOR` may be answered.
    bool needs_operator = false;
};

// `status`: the exit status; empty: it was ended by a signal or a limit. Known is only what comes with status 0 as
// exactly one line "Chassis Power is on" or "... off", in any case of letters; a second line that names the other is no
// answer.
[[nodiscard]] power_answer read_power(std::optional<int> status, std::string_view output, std::string_view errors);

// When a node counts as off (ruling 40). A value: it is told what is asked and answered, in the order of events.
class off_watch {
public:
    // So long must lie between two answers that count together; and no longer between one and the next, or nobody knows
    // what was in between.
    static constexpr duration apart = std::chrono::seconds(5);
    static constexpr duration in_a_row = std::chrono::seconds(60);

    // `chassis power off` ended with status 0 (or not).
    void told_off(bool is_accepted) { is_accepted_ = is_accepted_ || is_accepted; }
    // It still says on so long after that: whatever it says then, it is not because of the order.
    void not_obeyed() { is_accepted_ = false; }
    // The node's heartbeat moved: what was heard before counts no more, and off must be seen twice.
    void beaten();
    // An answer to `status`, at the moment at which it came.
    void heard(board_power what, time_point at);

    // One answer does if an `off` was accepted and this fencer heard `on` since the last heartbeat, and no silence
    // since that: a board that is silent may boot; and off was heard soon. Else two in a row do, at least `apart` from
    // each other: a board that boots says off of a running machine.
    [[nodiscard]] bool is_off() const;
    [[nodiscard]] bool heard_on() const { return heard_on_; }
    // All that it remembers: machines are compared and hashed.
    [[nodiscard]] auto fields() const { return std::tie(is_accepted_, heard_on_, has_beaten_, first_off_, last_off_); }
    friend bool operator==(const off_watch&, const off_watch&) = default;

private:
    bool is_accepted_ = false;
    bool heard_on_ = false;
    bool has_beaten_ = false;
    std::optional<time_point> first_off_;  // of the answers in a row
    std::optional<time_point> last_off_;
};

}  // namespace pvc::policy
