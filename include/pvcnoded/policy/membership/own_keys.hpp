// The keys that only this node writes, tick by tick (zookeeper-schema.md 3.2 "The same, per tick"; case ZK-44): what
// changed is set, the last known version of everything else is checked in the same transaction, and a key that somebody
// else changed or deleted is left out, read at the next tick and repaired.
//
// A tick: read every path of repairs() and report it (learned or missing); plan(wanted); send the transaction; on
// success committed(), on a failed operation failed(path) and once more plan(wanted) without that key. After an unknown
// outcome forget().
#pragma once

#include "pvcnoded/model/key_value.hpp"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pvc::policy {

struct key_check {
    std::string path;
    std::int32_t version = 0;

    friend bool operator==(const key_check&, const key_check&) = default;
};

struct own_keys_plan {
    std::vector<model::key_value> creates;
    std::vector<model::key_value> sets;  // unconditional
    std::vector<key_check> checks;

    // Nothing to write: the transaction, if sent at all, holds checks only.
    [[nodiscard]] bool writes_nothing() const { return creates.empty() && sets.empty(); }
};

class own_keys {
public:
    own_keys() = default;
    own_keys(own_keys&&) = default;  // not copyable: it remembers places in its own table
    own_keys& operator=(own_keys&&) = default;

    // What the server has: after a read.
    void learned(std::string_view path, std::string_view value, std::int32_t version);
    void missing(std::string_view path);

    // Own keys that must be read before they can be part of a plan, in path order.
    [[nodiscard]] std::vector<std::string> repairs() const;

    // What to send so that every wanted key has its value. Wanted should name all own keys, those written once at start
    // too; a known key that is not wanted this time (its figure is late) is only checked. Keys in repairs() are left
    // out; wanted keys never heard of are added to repairs().
    [[nodiscard]] own_keys_plan plan(const std::vector<model::key_value>& wanted);

    // The transaction was committed; versions of the sets in order.
    void committed(const own_keys_plan& sent, std::span<const std::int32_t> set_versions);

    // An operation on this key was refused, so that nothing was written: returns the warning. The key is in repairs()
    // from now on.
    [[nodiscard]] std::string failed(std::string_view path);

    // Outcome unknown, or a new session: everything must be read again.
    void forget();

    // Drops a key for good.
    void disown(std::string_view path) {
        places_.clear();
        keys_.erase(std::string(path));
    }

private:
    enum class knowledge : std::uint8_t { unread, absent, present };
    struct entry {
        knowledge known = knowledge::unread;
        std::string value;
        std::int32_t version = 0;
        bool is_set = false;  // in the plan that is being made
    };
    using key_table = std::map<std::string, entry, std::less<>>;
    key_table keys_;
    // Where the wanted keys were last time, as the same ones come every tick; null: not looked for yet.
    std::vector<key_table::value_type*> places_;
};

}  // namespace pvc::policy
