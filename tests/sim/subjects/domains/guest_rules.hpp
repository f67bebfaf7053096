// What must never happen to virtual machines, whatever befalls the cluster.
#pragma once

#include "sim/subjects/domains/domains.hpp"
#include "sim/world/judge.hpp"

#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace pvc::sim {

constexpr std::string_view domains_prefix = "/domains/";

// What clients last asked of a virtual machine (wish_rules.cpp).
struct wish_seen {
    bool is_known = false;         // a client has said whether it is to run, and no reference node has written since
    bool is_on = false;            // it is to run
    bool is_parked = false;        // a flush with nowhere to go shut it down; an unflush starts it
    bool is_mark_over = false;     // it was started and ran since a flush marked it: an unflush has no say any more
    bool is_clients = false;       // the stored state is a client's word
    std::string state;             // as stored
    std::int64_t placed_zxid = 0;  // the last transaction that set its node
    time_point since{};            // the state was written
};

struct wishes_seen {
    std::map<std::string, wish_seen> wishes;  // by "/domains/<uuid>"
    std::string overwritten;                  // a client's word, unless the rest of the transaction says why
    std::int64_t overwritten_zxid = 0;
};

// What one transaction of a daemon set and checked, as far as rules want to know (write_rules.cpp).
struct own_transaction {
    struct lock {
        std::string path;
        std::string task;  // as it says of itself: what it does, with which machine
    };
    struct part {
        recorded_kind what;
        std::string path;
        std::string data;
        std::int32_t expected;
        bool is_overtaken = false;  // the check of a lock child behind another's
        std::string task{};         // of that child
        std::vector<lock> locks{};  // of the machine, that the writer has
    };
    member* writer = nullptr;  // null: none is under way
    std::int64_t zxid = 0;
    std::vector<part> parts{};
};

// A client named a bridge that its node does not have, or that of a refused network: it waits, and says so.
[[nodiscard]] bool waits_for_its_bridge(const judge& of, std::int64_t number, const std::string& node);

struct machine_seen {
    std::string state;
    std::string node;
    time_point since{};  // calm, and not as it should be
};

struct machines_seen {
    std::size_t double_runs = 0;  // of guests, told already
    std::string foreign_break;    // of a disk's lock
    // Of a lock that may be broken: who, which image and client; and for how long his host had slept when that began.
    std::map<std::array<std::string, 3>, duration> breaks_begun;
    std::string call_in_vain;
    std::map<std::int64_t, machine_seen> machines;
    // When a daemon's running list began to lack, or to have, what it should not.
    std::map<std::pair<std::uint32_t, std::int64_t>, time_point> unlisted_since;
    std::set<std::pair<std::uint32_t, std::int64_t>> listed;  // by a member's number and a machine's
    std::map<uuid, time_point> last_ran;
    std::map<std::string, bool> start_is_ours;  // by machine's UUID: a daemon of ours wrote its last `start`
    std::set<uuid> made_by_reference;           // on a reference node, and does not run yet
    std::set<uuid> rash_starts;                 // a reference node started it, on a client's word, beside ours
};

// A reference node has it, or is to have it: what becomes of it is that node's doing, whose defects are known.
[[nodiscard]] bool is_the_references(const judge& of, std::int64_t number);

// Nothing keeps this node's daemon from its work, or has done so of late.
[[nodiscard]] bool is_undisturbed(const judge& of, const member& one);

// vm-domains.md 11.3: what the running list of this node says of the machine. Empty: either is right.
[[nodiscard]] std::optional<bool> belongs_into_list(const judge& of, member& one, std::int64_t number);
void clients_have_the_last_word(judge& of, const seen_change& seen);
// Empty: its state is what clients last asked for. Else what is wrong.
[[nodiscard]] std::optional<std::string> against_the_wish(const judge& of, std::int64_t number);
// Told of every change; the transaction before it is looked at.
void transactions_rest_on_what_was_read(judge& of, const recorded_change& change, member* writer);

}  // namespace pvc::sim
