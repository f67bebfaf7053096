// What a fencer writes down of a fence, as one JSON file an attempt (README rulings 4, 36, 37, 46), and the key by
// which all nodes know of the proof. Readers are total: files may be cut, somebody else's, or from a later version.
#pragma once

#include "pvcnoded/base/clock.hpp"
#include "pvcnoded/base/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pvc::model {

// A moment by both clocks, whole microseconds: by the wall for people, since the boot of `fence_record::boot_id` to
// tell how long things took.
struct fence_moment {
    wall_time wall{};
    boot_time boot{};
    friend bool operator==(const fence_moment&, const fence_moment&) = default;
};
// Now, cut to what a record keeps.
[[nodiscard]] fence_moment fence_moment_of(const clock& now);

// Why it began.
enum class fence_way : std::uint8_t {
    silence,        // its heartbeat was older than it may be
    seen_off,       // its board said that it had no power (ruling 76)
    left_dead,      // another fencer left it so
    left_fenced,    // likewise, in its recovery
    resumed,        // this fencer goes on, without a proof
    proven,         // likewise, with one of which nothing was written
    recovering,     // what was proven and written is gone on with (ruling 37)
    operator_word,  // somebody's word (ruling 43)
};
enum class fence_outcome : std::uint8_t {
    under_way,
    done,          // fenced, its machines recovered or left over
    handed_on,     // fenced; others recover its machines
    failed,        // not seen off
    passed,        // the node was back before anything was done
    node_back,     // likewise, during the recovery
    held_back,     // no majority of coordinators would have been left
    unrecordable,  // the disk took no more
    abandoned,     // maintenance, a lost lock or session, the end of the daemon
    gone,          // the node was removed
};
enum class fence_proof_kind : std::uint8_t {
    power,
    lease,
    operator_word,
    storage,  // of each machine by itself
};
[[nodiscard]] std::string_view to_text(fence_way what);
[[nodiscard]] std::string_view to_text(fence_outcome what);
[[nodiscard]] std::string_view to_text(fence_proof_kind what);  // "power", "lease", "operator", "storage"

// A command to a board, or any other question that decided something, with its answer as it came.
struct fence_command {
    std::string what;  // "chassis power off"
    fence_moment begun;
    fence_moment ended;
    std::optional<int> status;  // empty: it did not end by itself
    std::string output;
    std::string errors;
    std::string read_as;      // what was made of it: "off", "it did not end by itself"
    std::uint64_t times = 1;  // so often in a row it was answered like this
    friend bool operator==(const fence_command&, const fence_command&) = default;
};
struct fence_proof {
    fence_proof_kind kind = fence_proof_kind::power;
    fence_moment at;
    std::string text;
    std::int64_t keepalive_id = 0;  // with `mark_id`: of the state of the node that it is about
    std::int64_t mark_id = 0;
    bool although_on = false;  // by an operator, against what the board said
    friend bool operator==(const fence_proof&, const fence_proof&) = default;
};
// A transaction about the node.
struct fence_written {
    std::string what;
    std::int64_t transaction = 0;
    fence_moment at;
    friend bool operator==(const fence_written&, const fence_written&) = default;
};
struct fence_machine {
    std::string id;
    std::string name;
    std::vector<std::string> locks;           // that were found on its disks, and what became of each
    std::vector<std::string> clients;         // of Ceph that held or watched them
    std::vector<std::string> volumes{};       // of which that was looked at completely, by storage proofs
    std::string target;                       // empty: none
    std::vector<std::string> steps;           // in words, as far as it has come
    std::string outcome;                      // "recovered", "kept"; empty: under way
    std::optional<std::int64_t> transaction;  // of the write that gave it to its target
    std::optional<bool> has_run;              // whether it was seen to run there; empty: not looked yet
    friend bool operator==(const fence_machine&, const fence_machine&) = default;
};
struct fence_record {
    std::string id;
    std::string coordinator;
    std::string node;
    std::string boot_id;  // of the coordinator
    std::string follows;  // the id of the record that this one goes on from; empty: none
    fence_way way = fence_way::silence;
    fence_moment begun;
    std::int64_t keepalive_id = 0;          // K0
    std::int64_t mark_id = 0;               // D0
    std::optional<std::int64_t> fenced_id;  // F0
    std::vector<fence_command> commands;
    std::optional<fence_proof> proof;
    std::vector<fence_written> writes;
    std::vector<fence_machine> machines;
    std::uint64_t machines_left_out = 0;  // that were left alone, beside those above
    bool is_shortened = false;            // it was full: details are missing
    bool is_left_off = false;             // it is not switched on again
    std::optional<fence_moment> powered_on;
    fence_outcome outcome = fence_outcome::under_way;
    std::string remark;  // why it came out so
    std::optional<fence_moment> ended;
    friend bool operator==(const fence_record&, const fence_record&) = default;
};

inline constexpr std::size_t fence_answer_bytes = 4096;         // of a raw answer that are kept
inline constexpr std::size_t fence_record_bytes = 1024 * 1024;  // a file has at most

// "20261127T070012.345Z-hv3": in the order of time as text; a file's name without its ending, and one word of a key.
[[nodiscard]] std::string fence_record_id(wall_time begun, std::string_view node);
[[nodiscard]] bool is_fence_record_id(std::string_view text);
// Whether a record of that id may be about that node: of names that a file's name cannot show it is not certain.
[[nodiscard]] bool is_fence_record_about(std::string_view id, std::string_view node);

// Appends the command, cut to size and without the password. One that was answered like the one before it is counted
// there.
void add_fence_command(fence_record& to, fence_command what, std::string_view password);
// `text` without any part of the password that could be told; and cut.
[[nodiscard]] std::string fence_answer_text(std::string text, std::string_view password);

// A record that is longer than a file may be loses what is needed least: machines that were left alone, then how others
// came to their ends, then answers of boards, then clients with their volumes, then all but 100 machines. What it is
// about, its proof, its writes and its outcome stay. False: it fits.
bool shorten_fence_record(fence_record& what, std::size_t most = fence_record_bytes);

// JSON, ASCII, with a line break at its end. Invalid UTF-8 in texts becomes U+FFFD.
[[nodiscard]] std::string to_text(const fence_record& what);
// Errors: invalid (cut off, no JSON, no record; the cause says what is wrong), too_large, refused (of a later format).
[[nodiscard]] result<fence_record> parse_fence_record(std::string_view text);

// /nodes/<n>/fenceproof: "<record> <coordinator> power|lease|operator" (ruling 37). Valid only while the node has not
// written since, which the keys' transactions tell and not this text.
struct fence_proof_key {
    std::string record;
    std::string coordinator;
    fence_proof_kind kind = fence_proof_kind::power;  // never storage
    friend bool operator==(const fence_proof_key&, const fence_proof_key&) = default;
};
[[nodiscard]] std::string to_text(const fence_proof_key& what);
// Empty: it proves nothing.
[[nodiscard]] std::optional<fence_proof_key> parse_fence_proof(std::string_view text);

}  // namespace pvc::model
