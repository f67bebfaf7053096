// The leader of the cluster's database is to be on the primary: what one run of `patronictl … switchover` came to, and
// when it is run again. Specification: node-lifecycle.md 7.3 (G), 7.5 ("Patroni"), AC84; README ruling 32;
// networking.md 6 (case 82).
#pragma once

#include "pvcnoded/base/clock.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pvc::policy {

// The arguments of one run on node `self`, the program first.
[[nodiscard]] std::vector<std::string> patroni_command(std::string_view self);

// What a run left behind. The texts are any bytes.
struct patroni_run {
    std::string_view output{};
    std::string_view error_output{};
    std::optional<int> exit_status{};  // none: a signal or its limit ended it
    bool is_truncated = false;         // it printed more than was kept: what is missing may tell
    std::string_view how_it_ended{};   // in words, for the reason
};

struct patroni_judgement {
    bool is_ours = false;
    std::string reason{};  // why not: printable, one line, bounded
    friend bool operator==(const patroni_judgement&, const patroni_judgement&) = default;
};

// The longest part of what it printed that becomes a reason.
inline constexpr std::size_t patroni_reason_max = 200;

// By the last line of either stream that tells how it went, wherever it stands and whatever loggers wrote around it; by
// the exit status where there is none.
[[nodiscard]] patroni_judgement judge_patroni(const patroni_run& run);

// Five tries, 5 s after one another, for which a takeover waits. Then it is settled, and as long as this node is
// primary it is tried once every 30 s: a database that comes back late is led from here without another takeover, and
// one that never does costs a process twice a minute. Where the program is missing the first tries are left out.
struct claiming_database {
    enum class at : std::uint8_t { begin, running, pausing, over };
    enum class ask : std::uint8_t { run, wait, nothing };

    static constexpr unsigned first_tries = 5;
    static constexpr duration between_first_tries = std::chrono::seconds(5);
    static constexpr duration between_later_tries = std::chrono::seconds(30);
    // Of one run, SIGTERM and the grace before SIGKILL included.
    static constexpr duration run_limit = std::chrono::seconds(10);

    // What it is told. `ended` answers `run`: what the run came to.
    struct event {
        time_point now;
        std::optional<patroni_judgement> ended{};
        bool is_missing = false;  // there is no such program
    };
    struct step {
        ask what = ask::nothing;
        time_point until = time_point::max();  // the run's limit, or the end of the pause
        std::string_view reason{};             // what it waits for, in words; static text
    };

    at where = at::begin;
    unsigned tries = 0;  // that failed, of the first ones
    bool is_given_up = false;
    time_point again_at{};  // while it pauses
    std::string reason{};   // of the last failure

    [[nodiscard]] step resume(const event& e);
    [[nodiscard]] bool is_ours() const { return where == at::over; }
    // A takeover waits no longer.
    [[nodiscard]] bool is_settled() const { return is_ours() || is_given_up; }
    friend bool operator==(const claiming_database&, const claiming_database&) = default;

private:
    step run(time_point now);
    [[nodiscard]] step pause() const;
    step take(const event& e);
};

}  // namespace pvc::policy
