// How coordinators find out today what could be fenced tomorrow (README rulings 41, 42): each peer's board is asked at
// once and every ten minutes, one by one. What is due, what is asked next, what an answer becomes, and what is to be
// said of it; values only.
#pragma once

#include "pvcnoded/base/clock.hpp"
#include "pvcnoded/model/states.hpp"
#include "pvcnoded/policy/fencing/board_entry.hpp"
#include "pvcnoded/policy/fencing/power_answer.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pvc::policy {

// What probes found out about the board of one node. Kept while the daemon runs.
struct known_board {
    board_entry entry;
    std::optional<time_point> probed;                     // when the last probe ended
    std::string address;                                  // to which its name resolved last
    std::string guid;                                     // empty: it tells none
    std::string own_guid;                                 // of the board that it had before any that is another node's
    std::optional<int> suite;                             // with which it answers fast; empty: ipmitool's choice
    bool as_operator = false;                             // it lets nobody in as administrator
    board_power power = board_power::unknown;             // by the last probe
    duration latency{};                                   // of that answer
    bool is_distrusted = false;                           // it said `off` while its node checked in, and not `on` since
    std::string trouble = "its board was not asked yet";  // why its node could not be fenced now; empty: it could

    // Whether a fencer may use it, what other nodes' boards are aside.
    [[nodiscard]] bool is_usable() const { return trouble.empty(); }
};
using known_boards = std::map<std::string, known_board>;  // by node

// What a probe of that node's board found. A board that was another node's, and answers where this node's was, does not
// become its own: boards that were exchanged (leases, cables) stay unusable until an entry names another host.
void take_board(known_boards& all, const std::string& node, known_board found);

// Whose board is the same, or was, by the text of the entry, by address or by GUID: one of them is another's. Empty:
// nobody's.
// `own`: this node's board as it is configured, and its address, if known.
[[nodiscard]] std::string who_shares_board(const std::string& node, const known_boards& all, const std::string& self,
                                           const std::string& own_host, const std::string& own_address);
// `known` as it is with what was read just now: the entry of that node and the address to which it leads, and the hosts
// that other nodes name (by node). What probes found out about another board than that is not held for true of it.
[[nodiscard]] known_boards boards_read_anew(known_boards known, const std::string& node, const board_entry& entry,
                                            const std::string& address,
                                            const std::map<std::string, std::string>& other_hosts);
// Of all reasons why that node's board is not to be used by a fencer the first, as a clause; empty: there is none.
[[nodiscard]] std::string why_board_unusable(const std::string& node, const known_boards& all, const std::string& self,
                                             const std::string& own_host, const std::string& own_address);

// ---- what is due ----------------------------------------------------------------------------------------------------
struct probe_candidate {
    std::string node;
    std::optional<time_point> probed;
    bool is_distrusted = false;
    bool is_wanted = false;             // somebody asked for it by hand
    bool is_being_fenced = false;       // its board belongs to the fencer
    std::optional<time_point> again{};  // its keys could not be read: not before
};
struct due_probe {
    std::string node;
    std::optional<time_point> at;  // empty: now
};
// The one that is due first. Empty: none.
[[nodiscard]] std::optional<due_probe> next_probe(const std::vector<probe_candidate>& all, time_point now);

// ---- one probe ------------------------------------------------------------------------------------------------------
enum class probe_question_kind : std::uint8_t {
    none,       // it is over
    resolve,    // the entry's host
    status,     // of the power
    guid,       // of the board
    heartbeat,  // whether the node's heartbeat moves from now on: within two intervals
};
struct probe_question {
    probe_question_kind what = probe_question_kind::none;
    std::string address;
    std::optional<int> suite;
    bool as_operator = false;
};
// What a command to a board came to. `failed`: it could not be given at all; empty: it was.
struct probe_heard {
    std::string failed;
    std::optional<int> status;
    std::string output;
    std::string errors;
    duration took{};
    bool as_operator = false;
};

// A value that is resumed with each answer. `next()` does not change until it is answered.
struct board_probe {
    enum class step : std::uint8_t { resolve, status, guid, heartbeat, over };

    // `before`: what is known so far. `configured`: fencing.ipmi.cipher_suite. `is_run`: the node's daemonstate.
    board_probe(board_entry entry, const known_board& before, std::optional<int> configured, bool is_run);

    [[nodiscard]] probe_question next() const;
    void resolved(const std::vector<std::string>& addresses, std::string_view why_none);
    void answered(const probe_heard& heard);  // status, guid
    void heartbeat_seen(bool has_moved);

    // So long is fast.
    static constexpr duration fast = std::chrono::seconds(2);
    // Who was silent for so long does not speak another suite either.
    static constexpr duration silence = std::chrono::seconds(15);

    step at = step::resolve;
    known_board found;  // complete when it is over, but for `probed`
    bool is_run = false;
    bool is_kept_address = false;  // the name resolves to nothing now
    bool was_answering = false;
    std::string guid_before;
    std::vector<std::optional<int>> suites;  // still to be tried
    std::optional<int> suite;                // with which it is asked now
    std::optional<std::size_t> best;
    struct tried {
        std::optional<int> suite;
        power_answer answer;
        duration took{};
        bool as_operator = false;
        bool has_spoken = false;  // the program ended as if it had been answered
    };
    std::vector<tried> all_tried;

private:
    void take_status(const probe_heard& heard);
    void choose();
};

// ---- what is said
// -------------------------------------------------------------------------------------------------------
struct probe_news {
    enum class kind : std::uint8_t { nothing, usable, unusable, foreign, slow };
    kind what = kind::nothing;
    std::string text;  // a line for the log
};
// The last line that the log had about a board.
struct probe_said {
    time_point at;
    std::string why;       // its node could not be fenced; empty: it could
    bool is_slow = false;  // and it was said how slow the board is
};
// After a probe. Another reason than the one that was said is news at once, as its end is; one that lasts is said each
// hour. `configured`: fencing.ipmi.cipher_suite.
[[nodiscard]] probe_news news_of_probe(const std::string& node, const known_board& after, std::string_view unusable_for,
                                       const std::optional<probe_said>& said, std::optional<int> configured,
                                       time_point now);

}  // namespace pvc::policy
