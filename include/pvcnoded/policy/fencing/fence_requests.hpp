// What the fence of a dead node (attempt.hpp) sees, asks for and is told, as values. It holds no pointers, waits for
// nothing and does nothing: a shell carries out what it asks.
//
// What the shell must guarantee:
// - Each question has a number; its answer comes back with that number. An answer with another number is nobody's.
// - `seen` is what the shell knows without asking; the machine is resumed (`woken`) when it changes, and at `until`.
// - A guarded read is one view of the node's keys, own lock child and maintenance flag, read on this session; `sent` is
//   the boot time of its sending. The shell keeps the versions of the last one.
// - A power command and the recovery of a machine begin at the latest 2 s after `sent`, or not at all (`is_begun`).
// - An `on` is ordered only once it stands in `/nodes/<n>/fencepower` that it is, in the version of the last guarded
//   read: an operator's word that was noted there since is not overwritten, and nothing goes to the board.
// - A write is one transaction with the versions of the last guarded read of `daemonstate` and `keepalive`, and a check
//   of the own child of the fence lock. After `unknown` it may have happened: the machine reads again.
// - A record is on the disk, synced, with all that was noted before it, when `synced{true}` is said; not otherwise.
// - When the machine is over, or ends a question that is under way (the next step has another number), the shell
// cancels
//   that: an IPMI command is killed (node-lifecycle.md 10.7).
// - One command at a time goes to one board; a question of somebody else to that board is cancelled for it.
// Specification: node-lifecycle.md 10.2 to 10.5, 10.7; README rulings 37 to 46, 76.
#pragma once

#include "pvcnoded/base/clock.hpp"
#include "pvcnoded/model/states.hpp"
#include "pvcnoded/policy/fencing/record_entry.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace pvc::policy {

// `/nodes/<n>/fenceproof` (ruling 37).
struct stored_proof {
    std::string record;
    std::string by;
    fence_proof which = fence_proof::none;
    bool is_valid = false;  // neither `daemonstate` nor `keepalive` was written after it
    friend bool operator==(const stored_proof&, const stored_proof&) = default;
};

// `/nodes/<n>/selfreset` (10.8).
struct stored_lease {
    duration time{};          // B, of `armed <B>`
    bool is_of_beat = false;  // written by the transaction that wrote `keepalive` (K0)
    friend bool operator==(const stored_lease&, const stored_lease&) = default;
};

struct victim_seen {
    bool is_gone = false;                        // the node was removed, or a key that it must have
    std::optional<model::daemon_state> state{};  // empty: no word that is known
    std::int64_t state_id = 0;                   // of the transaction that wrote it
    std::int64_t heartbeat_id = 0;               // likewise
    bool is_recovering = false;                  // its domainstate is `fence-flush`
    bool is_named_primary = false;               // /config/primary_node names it
    bool is_worded = false;  // by /nodes/<n>/fencepower an operator has said since its last heartbeat that it is off
    std::optional<stored_proof> proof{};
    std::optional<stored_lease> lease{};
    friend bool operator==(const victim_seen&, const victim_seen&) = default;
};
// Since its last heartbeat: he may have his hands in it. By the key, or by the proof that such a word became.
[[nodiscard]] inline bool is_said_to_be_off(const victim_seen& of) {
    return of.is_worded || (of.proof && of.proof->is_valid && of.proof->which == fence_proof::operators_word);
}

// What is known without asking.
struct fence_seen {
    bool session_lives = true;     // false: it has ended. One that is suspended fails reads, and is no end
    bool has_lock = false;         // own child of /config/fence_lock, held
    bool must_end = false;         // the daemon, or the scope of this fence, ends
    bool has_turn = false;         // order.hpp has given it the turn (ruling 39)
    bool is_board_silent = false;  // the last probe had no answer, or it may not be asked
    // What it was asked since then (the question of ruling 76, a command of this fence) went unanswered at last.
    bool is_board_unheard = false;
    // To this fencer, since the node's last heartbeat (ruling 40), in the last answer, which is at most 10 s old: a
    // board that was silent after it said so may have booted, and says off of a running machine then.
    bool has_board_said_on = false;
    bool is_confirmed = false;       // an operator's word for this node has come (ruling 43), its refusals looked at
    bool is_word_withdrawn = false;  // it rests on a word that does not count any more: by its limit, or a heartbeat
    bool is_lock_wanted = false;     // somebody stands behind it in the line for the fence lock
    // Of this node, done, by this fencer's records, this one not counted; empty: they could not be read yet.
    std::optional<std::uint8_t> fences_in_an_hour{};
    friend bool operator==(const fence_seen&, const fence_seen&) = default;
};

enum class fence_write : std::uint8_t {
    mark,     // `run` or `init` to `dead`; under the write lock on `daemonstate`, at most 5 s
    fenced,   // `fenced`, `fenceproof`, and `fence-flush` if machines are to be recovered
    flush,    // after a failed fence: `fence-flush`, and `fenceproof` if the proof is a lease
    role,     // routerstate `secondary`, and /config/primary_node from this node to `none`
    flushed,  // `fence-flush` to `flushed`; after `fenced` the figures too, and `runningdomains` = what is left
};

// In brackets: what comes back.
namespace fence_ask {

struct nothing {  // it is over
    friend bool operator==(const nothing&, const nothing&) = default;
};
struct change {  // [woken] something that is seen is another, or it is time
    friend bool operator==(const change&, const change&) = default;
};
struct guarded_read {  // [read]
    // The states and heartbeats of the other coordinators are read, too, for `majority_stays`.
    bool counts_coordinators = false;
    friend bool operator==(const guarded_read&, const guarded_read&) = default;
};
struct write {  // [written]
    fence_write what = fence_write::mark;
    fence_proof proof = fence_proof::none;  // of `fenced` and `flush`
    bool recovers = false;                  // of `fenced`
    bool resets_figures = false;            // of `flushed`
    std::vector<uuid> left;                 // of `flushed`
    friend bool operator==(const write&, const write&) = default;
};
struct power {  // [board]
    board_command what = board_command::status;
    boot_time sent{};  // of the read that it rests on
    friend bool operator==(const power&, const power&) = default;
};
struct record {  // [synced]
    fence_entry::any entry;
    friend bool operator==(const record&, const record&) = default;
};
// All machines: read, planned (recovery_plan.hpp), and carried out (recovery.hpp), eight side by side, four breaks of
// locks at once; `mark_id` and `heartbeat_id` are F0 for each of their guarded reads and writes.
struct recover {  // [recovered]
    fence_proof proof = fence_proof::none;
    std::int64_t mark_id = 0;
    std::int64_t heartbeat_id = 0;
    friend bool operator==(const recover&, const recover&) = default;
};

using any = std::variant<nothing, change, guarded_read, write, power, record, recover>;

}  // namespace fence_ask

namespace fence_said {

// What a read shows of `/config/maintenance` beside its value.
struct maintenance_key {
    std::int64_t created = 0;  // by which transaction; 0: there is no such key
    std::int32_t version = 0;
    friend bool operator==(const maintenance_key&, const maintenance_key&) = default;
};
// Whether maintenance may have been on between two reads that both say that it is off: to set it and to take it back
// are two writes. One who writes `False` twice ends a fence, too, which only begins anew.
[[nodiscard]] bool may_have_been_on(const maintenance_key& then, const maintenance_key& now);

struct woken {  // nothing was answered; also at the beginning
    friend bool operator==(const woken&, const woken&) = default;
};
struct read {
    std::optional<victim_seen> victim{};  // empty: nobody could be asked
    bool has_lock = false;
    bool in_maintenance = false;
    maintenance_key maintenance{};
    bool majority_stays = false;  // detection.hpp, majority_at::before_power_off; where it was asked for
    boot_time sent{};
    friend bool operator==(const read&, const read&) = default;
};
struct written {
    enum class end : std::uint8_t { written, overtaken, unknown } how = end::unknown;
    std::int64_t zxid = 0;
    friend bool operator==(const written&, const written&) = default;
};
struct board {
    bool is_begun = false;      // false: no process was started, nothing went to the board
    bool is_no_board = false;   // and nothing will: there is none that can be asked, as far as is known
    std::optional<int> status;  // empty: ended by a signal or a limit
    std::string output;
    std::string errors;
    friend bool operator==(const board&, const board&) = default;
};
struct synced {
    bool is = false;
    friend bool operator==(const synced&, const synced&) = default;
};
struct recovered {
    enum class end : std::uint8_t {
        finished,
        node_back,  // F0 does not stand any more
        abandoned,  // lock, session or daemon
    } how = end::abandoned;
    std::vector<uuid> left;   // not recovered: for `runningdomains`
    bool needs_ceph = false;  // some of them for nothing but want of Ceph here
    friend bool operator==(const recovered&, const recovered&) = default;
};

using any = std::variant<woken, read, written, board, synced, recovered>;

}  // namespace fence_said

// What is worth a line in the log; the shell has the words and the names of messages.
enum class fence_news : std::uint8_t {
    marked,
    passed,
    abandoned,
    seen_off,
    not_seen_off,  // a warning: the throws of ruling 76 follow
    failed,        // an error
    no_proof,      // an error: after a failed fence its machines are left
    fenced,
    kept_off,      // an error: fenced for the third time within an hour (45)
    needs_ceph,    // a warning: others are to recover its machines
    node_back,     // a warning
    unrecordable,  // an error
    held_back,     // an error: no majority of coordinators would be left
    powered_on,
    not_powered_on,  // a warning
};

// Done at once, in order.
namespace fence_act {

struct note {  // into the record, after what was recorded before
    fence_entry::any entry;
    friend bool operator==(const note&, const note&) = default;
};
struct say {  // into the log, about the node
    fence_news what = fence_news::marked;
    std::string text;
    friend bool operator==(const say&, const say&) = default;
};

using any = std::variant<note, say>;

}  // namespace fence_act

struct fence_event {
    const fence_seen& seen;
    const fence_said::any& said;
    std::uint32_t number = 0;  // of the question that is answered; 0: `woken`
    time_point now;
};

struct fence_step {
    fence_ask::any what;
    std::uint32_t number = 0;
    time_point until = time_point::max();  // of the effect, or of the wait; max: none of its own
    std::string_view reason;               // what it waits for, in words; static text

    [[nodiscard]] bool is_over() const { return std::holds_alternative<fence_ask::nothing>(what); }
};

// What it asks for, in a few words.
[[nodiscard]] std::string to_text(const fence_ask::any& what);

// How long a fencer waits for /config/fence_lock (10.1), at each schema version: max(KI - 1, 1) s.
[[nodiscard]] duration fence_lock_limit(duration keepalive);

}  // namespace pvc::policy
