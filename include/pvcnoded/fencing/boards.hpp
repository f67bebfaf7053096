// The boards of all nodes as this one talks to them: one command at a time to one board, a fencer's before everybody
// else's, and with what probes found out about each. Of one attempt of the daemon; loop thread only. Cancelling a call
// ends its program. Specification: README rulings 15, 41, 42.
#pragma once

#include "pvcnoded/async/semaphore.hpp"
#include "pvcnoded/async/task_group.hpp"
#include "pvcnoded/core/node_context.hpp"
#include "pvcnoded/policy/fencing/probe.hpp"
#include "pvcnoded/power/board.hpp"

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

namespace pvc::core {
struct session;
}

namespace pvc::fencing {

// Since the process began.
struct board_counts {
    histogram answers;  // of questions for the power that were answered
    std::uint64_t probes_answered = 0;
    std::uint64_t probes_failed = 0;
};

class boards {
public:
    // All outlive it.
    boards(const core::node_context& node, power::board& port, board_counts& counts)
        : node_(node), port_(port), counts_(counts) {}
    boards(const boards&) = delete;
    boards& operator=(const boards&) = delete;

    [[nodiscard]] const policy::known_boards& known() const { return known_; }
    [[nodiscard]] policy::known_board known_of(const std::string& node) const;
    void remember(const std::string& node, policy::known_board found) {
        policy::take_board(known_, node, std::move(found));
    }
    void keep_only(const std::vector<std::string>& nodes);
    // Why a fencer may not use that node's board, as a clause; empty: it may (policy/fencing/probe).
    [[nodiscard]] std::string why_unusable(const std::string& node) const;

    // How it was asked by the last probe, for who asks once more; without an address: it never was.
    [[nodiscard]] power::board_access access_of(const std::string& node) const;

    // While it lives, probes leave the node's board to whoever has it.
    class claim {
    public:
        claim(boards& owner, std::string node) : owner_(owner), node_(std::move(node)) {
            owner_.claimed_.insert(node_);
        }
        claim(const claim&) = delete;
        claim& operator=(const claim&) = delete;
        ~claim() { owner_.claimed_.erase(owner_.claimed_.find(node_)); }

    private:
        boards& owner_;
        std::string node_;
    };
    [[nodiscard]] bool is_claimed(const std::string& node) const { return claimed_.contains(node); }

    // How a fencer reaches the board of a node whose keys say this: its address as the name resolves now, else as it
    // did when it was probed, if the board there still has the GUID that the probe saw; cipher suite and privilege as
    // they are configured or were learned. For once before the first command: a name server that is gone takes time
    // (`limit`). Errors: not_found (no address), refused (another board answers there), invalid, timed_out, io.
    async::awaitable<result<power::board_access>> reach(std::string node, policy::board_entry entry, duration limit);
    // A fencer's: ends a question to that board that is under way and waits for no other. A guarded step. To boards
    // that did not answer the last time only so many go at once: each takes 20 s, and a place for programs. Errors:
    // those of power::board::ask.
    static constexpr std::size_t silent_at_once = 8;
    async::awaitable<result<power::board_answer>> command(power::board_access to, power::board_command what,
                                                          boot_time not_after, duration limit = power::command_limit);
    // Of anybody else: waits for its turn and gives way. Errors: as above; stopped (a fencer has the board).
    async::awaitable<result<power::board_answer>> question(power::board_access to, power::board_command what,
                                                           duration limit = power::command_limit);
    async::awaitable<result<std::vector<std::string>>> resolve(std::string host, duration limit) {
        return port_.resolve(std::move(host), limit);
    }
    [[nodiscard]] board_counts& counts() { return counts_; }

private:
    struct turn {
        async::mutex order;
        async::task_group* question = nullptr;  // that is under way
        std::size_t fencers = 0;                // that have it, or wait for it
        bool was_silent = false;                // the last time
    };
    turn& turn_of(const std::string& address);
    void heard_of(turn& one, power::board_command what, const result<power::board_answer>& heard) const;

    const core::node_context& node_;
    power::board& port_;
    board_counts& counts_;
    policy::known_boards known_;
    std::multiset<std::string> claimed_;
    std::map<std::string, std::unique_ptr<turn>> turns_;  // by address; few
    async::ordered_semaphore<std::uint64_t> silent_places_{silent_at_once};
    std::uint64_t next_silent_ = 0;
};

// Whether a command was not answered: it came to no end within its limit, or failed after the time that silence takes.
// Empty: it was not carried out, which says nothing of the board.
[[nodiscard]] std::optional<bool> went_unanswered(const result<power::board_answer>& heard);

// The keys of that node's board, and the hosts of the boards that other nodes name (by node), as they are now.
struct board_keys {
    policy::board_entry entry;
    std::map<std::string, std::string> other_hosts;
};
// In one round trip. Errors: those of a read; invalid (nobody can be asked with that entry).
async::awaitable<result<board_keys>> read_board_keys(core::session& s, std::string node);
// As boards::reach, but never a board that is another node's, or this one's: refused.
async::awaitable<result<power::board_access>> reach_board_of(core::session& s, boards& all, std::string node,
                                                             board_keys keys);

}  // namespace pvc::fencing
