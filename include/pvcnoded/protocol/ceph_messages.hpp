// What the daemon and its helper for Ceph say to each other, a frame each (frame.hpp). The helper begins with a
// greeting; every request has one answer, in any order, told apart by its id. Parsing is total: any bytes give a
// message or a failure; members that are not known are passed over. Texts are UTF-8: what of them is not is replaced
// when it is written; an output alone is any bytes. Specification: storage.md 3, 6; ruling 3.
#pragma once

#include "pvcnoded/base/result.hpp"
#include "pvcnoded/protocol/frame.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace pvc::protocol::ceph {

inline constexpr std::int64_t version = 1;
// The helper refuses more at once (errc::unavailable).
inline constexpr std::size_t requests_max = 256;
// A request may not ask for more time.
inline constexpr std::chrono::milliseconds limit_max{3600LL * 1000};

struct greeting {
    std::int64_t version = 0;
    std::string build;  // of the helper, for a person
    friend bool operator==(const greeting&, const greeting&) = default;
};

struct lock {
    std::string id;      // cookie
    std::string client;  // "client.4185"
    std::string address;
    friend bool operator==(const lock&, const lock&) = default;
};
struct watcher {
    std::string client;   // "client.4185"
    std::string address;  // "10.254.0.2:0/3058373081"
    friend bool operator==(const watcher&, const watcher&) = default;
};
struct counters {  // model::pool_counters
    std::string pool;
    std::uint64_t object_clones = 0, object_copies = 0, objects_missing_on_primary = 0, objects_unfound = 0,
                  objects_degraded = 0, reads = 0, read_kib = 0, writes = 0, written_kib = 0;
    friend bool operator==(const counters&, const counters&) = default;
};

// ---- questions; images are pool/[namespace/]image -------------------------------------------------------------------
namespace ask {
struct monitor_command {
    std::string text;
    friend bool operator==(const monitor_command&, const monitor_command&) = default;
};
struct pool_counters {
    std::vector<std::string> pools;
    friend bool operator==(const pool_counters&, const pool_counters&) = default;
};
struct locks {
    std::string image;
    friend bool operator==(const locks&, const locks&) = default;
};
struct watchers {
    std::string image;
    friend bool operator==(const watchers&, const watchers&) = default;
};
// Opens the image and looks at the lock, which may take long, so that all that is left of a `break_lock` of the same
// lock for the same time is the break. Nothing is changed; what was opened is kept for a minute.
struct prepare_break {
    std::string image;
    lock which;
    std::int64_t blocklist_seconds = 0;
    bool is_blocked = false;  // of a client that is on the blocklist already: nothing is put there
    friend bool operator==(const prepare_break&, const prepare_break&) = default;
};
// The client is put on the blocklist first; a lock that is gone is success. What was not prepared is opened first.
struct break_lock {
    std::string image;
    lock which;
    std::int64_t not_after_ns = 0;       // CLOCK_BOOTTIME: it is not begun later (errc::stopped)
    std::int64_t blocklist_seconds = 0;  // 0: as the monitors are configured
    bool is_blocked = false;             // as above
    friend bool operator==(const break_lock&, const break_lock&) = default;
};
// Keeps a client from writing, whether it holds a lock or not.
struct blocklist {
    std::string address;
    std::int64_t not_after_ns = 0;
    std::int64_t seconds = 0;
    bool by_command = false;  // of the monitors, the time as a number: some libraries send it as a text
    friend bool operator==(const blocklist&, const blocklist&) = default;
};
// What the helper takes.
struct usage {
    friend bool operator==(const usage&, const usage&) = default;
};
}  // namespace ask

struct request {
    std::int64_t id = 0;
    std::chrono::milliseconds limit{0};  // from when it is read; later than that nothing of it is begun
    std::variant<ask::monitor_command, ask::pool_counters, ask::locks, ask::watchers, ask::break_lock, ask::blocklist,
                 ask::usage, ask::prepare_break>
        what;
    friend bool operator==(const request&, const request&) = default;
};
// The pool whose OSDs it needs; empty: none.
[[nodiscard]] std::string_view pool_of(const request& what);

// ---- answers --------------------------------------------------------------------------------------------------------
namespace say {
struct done {
    friend bool operator==(const done&, const done&) = default;
};
struct failed {
    errc code = errc::io;
    std::string cause;  // for a person
    friend bool operator==(const failed&, const failed&) = default;
};
struct output {  // the body of the frame
    std::string bytes;
    friend bool operator==(const output&, const output&) = default;
};
struct counted {
    std::vector<counters> pools;
    friend bool operator==(const counted&, const counted&) = default;
};
struct locked {
    std::vector<lock> locks;
    friend bool operator==(const locked&, const locked&) = default;
};
struct watched {
    std::vector<watcher> watchers;
    friend bool operator==(const watched&, const watched&) = default;
};
struct used {
    std::uint64_t private_bytes = 0;
    std::uint64_t threads = 0;
    std::uint64_t handles = 0;
    friend bool operator==(const used&, const used&) = default;
};
}  // namespace say

struct answer {
    std::int64_t id = 0;
    std::variant<say::done, say::failed, say::output, say::counted, say::locked, say::watched, say::used> what;
    friend bool operator==(const answer&, const answer&) = default;
};

// Errors of the first three: too_large.
[[nodiscard]] result<std::string> encode(const greeting& what);
[[nodiscard]] result<std::string> encode(const request& what);
[[nodiscard]] result<std::string> encode(const answer& what);
// Errors: invalid (the cause says what was expected and what was got).
[[nodiscard]] result<greeting> parse_greeting(const frame& from);
[[nodiscard]] result<request> parse_request(const frame& from);
[[nodiscard]] result<answer> parse_answer(frame from);

}  // namespace pvc::protocol::ceph
