// Locks on the wire (zookeeper-schema.md 4.1-4.3): names and data of lock children, and who waits for whom. Compatible
// with the lock recipe of the reference's client library.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pvc::model {

enum class lock_kind : std::uint8_t {
    exclusive,  // waits for __lock__ only: readers are ignored
    write,      // waits for __lock__ and __rlock__
    read,       // waits for __lock__
};

enum class lock_tag : std::uint8_t { lock, rlock };

[[nodiscard]] std::string_view to_text(lock_kind kind);
[[nodiscard]] lock_tag tag_of(lock_kind kind);
[[nodiscard]] std::string_view tag_text(lock_tag tag);

// A contender: a child whose name ends in a tag, an optional "-" and exactly ten digits.
struct lock_child {
    std::string name;
    std::string guid;  // whatever stands in front of the tag
    lock_tag tag = lock_tag::lock;
    std::int64_t sequence = 0;  // negative once the parent's counter has overflowed
};

// Empty for every other child ("sync_lock", "x__lock__12").
[[nodiscard]] std::optional<lock_child> parse_lock_child(std::string_view name);

// What is passed to a sequential create: "<guid>__lock__" or "<guid>__rlock__".
[[nodiscard]] std::string lock_child_prefix(std::string_view guid, lock_kind kind);

// Whether a lock of this kind waits for earlier children with this tag.
[[nodiscard]] bool waits_for(lock_kind kind, lock_tag other);

// Where our own child stands among the children of the locked key (4.2 steps 2-4).
struct lock_position {
    std::optional<lock_child> own;          // missing: the child is gone, the session was lost
    std::vector<std::string> surplus;       // further children with our guid: to be deleted
    std::optional<lock_child> predecessor;  // watch exactly this one; none and own present: acquired

    [[nodiscard]] bool acquired() const { return own && !predecessor; }
};

[[nodiscard]] lock_position locate(const std::vector<std::string>& children, std::string_view guid, lock_kind kind);

// The children with this tag, by sequence: what a writer waits for before it queues again (4.3).
[[nodiscard]] std::vector<lock_child> contenders(const std::vector<std::string>& children, lock_tag tag);

// The child's data: "<node>:<pid>:<task>:<reason>", ASCII (other bytes become "?"), at most 200 bytes, the reason cut.
[[nodiscard]] std::string lock_data(std::string_view node, std::int64_t pid, std::string_view task,
                                    std::string_view reason);
inline constexpr std::size_t lock_data_limit = 200;

}  // namespace pvc::model
