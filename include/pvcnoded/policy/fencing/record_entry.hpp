// What a fence says is to be recorded, as values: a shell writes them into the record of the attempt, in their order,
// with the times of both clocks (README rulings 4, 36, 46). An entry that is asked for (fence_ask::record) is on the
// disk, synced together with all entries before it, once that is answered; one that is only noted may come later.
// Texts of boards are raw: the writer limits them, and they never hold a password, as none is in a command's output.
#pragma once

#include "pvcnoded/base/uuid.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace pvc::policy {

// Why a fence began.
enum class fence_origin : std::uint8_t {
    silence,         // its heartbeat is older than it may be (10.1)
    seen_off,        // its board says that it has no power (ruling 76): no throws
    orphan,          // it is `dead`, and nobody goes on with it (10.1 a)
    interrupted,     // it is `fenced`, and nobody goes on with its recovery (10.1 b)
    resumed,         // a record of this fencer, opened and without a proof
    proven,          // a record of this fencer with a proof, of which nothing was written yet
    recovering,      // `fenced` with a valid proof in the store, or in a record of this fencer (ruling 37)
    operators_word,  // ruling 43
};
[[nodiscard]] std::string_view to_text(fence_origin why);

enum class board_command : std::uint8_t { off, status, on };
[[nodiscard]] std::string_view to_text(board_command what);

// What shows that a node cannot run its machines any more.
enum class fence_proof : std::uint8_t {
    none,
    power,           // seen off (ruling 40)
    lease,           // its self-reset has certainly happened (ruling 12 a)
    storage,         // its machines' clients are kept from writing, each machine for itself (ruling 12 b)
    operators_word,  // ruling 43
};
// As in `fenceproof`: power, lease, operator; storage is never there.
[[nodiscard]] std::string_view to_text(fence_proof which);

enum class fence_end : std::uint8_t {
    passed,        // the node is back: it beat, or wrote its state. Nothing is done to it
    abandoned,     // no outcome: maintenance, the lock or the session is lost, the daemon stops, another one fences
    held_back,     // no outcome: no majority of coordinators would be left (ruling 31)
    unrecordable,  // no outcome: the disk does not take the record; nothing was done on what is not there
    failed,        // not seen off; tried again after 10, 20, 40, then every 60 min
    done,          // fenced, and its machines recovered or left over
    handed_on,     // fenced; others recover its machines, with what this node lacks
    node_back,     // it came back while its machines were recovered: the rest is its own
    gone,          // its keys are gone
};
[[nodiscard]] std::string_view to_text(fence_end how);

// What became of a machine of the dead node.
enum class guest_end : std::uint8_t {
    recovered,   // written to run elsewhere (or to stay where it runs)
    unseen,      // likewise, and it was not seen to run there in time: looked at again
    stopped,     // it was being shut down: it is off
    left_alone,  // it is not the dead node's, or is to be off
    parked,      // no node may take it: stopped, to be started by whoever finds one (10.5 d, ruling 44)
    kept,        // not recovered: tried again
    needs_ceph,  // not recovered, as this node cannot ask Ceph: for one that can (ruling 38)
    node_back,   // not touched any more, as the node is back
    abandoned,   // this fencer has no say any more
};
[[nodiscard]] std::string_view to_text(guest_end how);

struct recorded_lock {
    std::string volume;
    std::string lock;
    std::string client;
    std::string address;
    std::string outcome;
    friend bool operator==(const recorded_lock&, const recorded_lock&) = default;
};

namespace fence_entry {

struct begun {  // before the mark, and before throws: that it can be written at all
    std::string node;
    fence_origin why = fence_origin::silence;
    std::int64_t heartbeat_id = 0;  // K0
    friend bool operator==(const begun&, const begun&) = default;
};
struct opened {  // before the first `off`, with the mark as it is
    std::string node;
    fence_origin why = fence_origin::silence;
    std::int64_t heartbeat_id = 0;  // K0
    std::int64_t mark_id = 0;       // D0
    friend bool operator==(const opened&, const opened&) = default;
};
struct command {
    board_command what = board_command::status;
    bool is_begun = false;
    std::optional<int> status;  // empty: ended by a signal or a limit
    std::string output;
    std::string errors;
    friend bool operator==(const command&, const command&) = default;
};
struct proof {
    fence_proof which = fence_proof::none;
    std::string words;  // what it rests on
    std::int64_t heartbeat_id = 0;
    std::int64_t mark_id = 0;  // of the state that it is about; F0 follows from the transaction in `wrote`
    friend bool operator==(const proof&, const proof&) = default;
};
struct wrote {              // a transaction about the node
    std::string_view what;  // static text
    std::int64_t zxid = 0;
    friend bool operator==(const wrote&, const wrote&) = default;
};
struct guest {  // one step with a machine
    uuid id{};
    std::string step{};  // in words
    std::vector<recorded_lock> locks{};
    std::vector<std::string> clients{};  // blocklisted, or to be so
    std::vector<std::string> volumes{};  // that nobody else than these had open
    std::string target{};
    std::int64_t zxid = 0;  // of its write; 0: none
    std::optional<guest_end> end{};
    std::optional<bool> ran{};  // whether it was then seen to run there
    friend bool operator==(const guest&, const guest&) = default;
};
struct outcome {
    fence_end end = fence_end::abandoned;
    std::string words;
    bool is_left_off = false;  // nobody switches it on again, for the reason in `words`
    friend bool operator==(const outcome&, const outcome&) = default;
};

using any = std::variant<begun, opened, command, proof, wrote, guest, outcome>;

}  // namespace fence_entry

}  // namespace pvc::policy
