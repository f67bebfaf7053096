// The RBD part of the storage port: who holds locks on an image and who has it open, breaking locks, and keeping a
// client from writing.
//
// Images are named pool/[namespace/]image. Every call has a deadline. Specification: storage.md 6, vm-domains.md 7.
#pragma once

#include "pvcnoded/async/wakeup.hpp"
#include "pvcnoded/base/clock.hpp"
#include "pvcnoded/base/result.hpp"

#include <chrono>
#include <string>
#include <vector>

namespace pvc::storage {

struct rbd_lock {
    std::string id;       // cookie: "auto 140245871"
    std::string client;   // "client.4185"
    std::string address;  // as stored: "10.254.0.2:0/3058373081"

    friend bool operator==(const rbd_lock&, const rbd_lock&) = default;
};

// A client that has an image open for writing, whether it holds a lock or not.
struct rbd_watcher {
    std::string client;
    std::string address;  // as above

    friend bool operator==(const rbd_watcher&, const rbd_watcher&) = default;
};

// For breaking the lock of a client that is on the blocklist already: nothing is put there.
inline constexpr std::chrono::seconds no_blocklisting{-1};

class rbd_locks {
public:
    rbd_locks() = default;
    rbd_locks(const rbd_locks&) = delete;
    rbd_locks& operator=(const rbd_locks&) = delete;
    virtual ~rbd_locks() = default;

    // It asks only on nodes with the storage function.
    [[nodiscard]] virtual bool needs_storage_function() const { return false; }
    // Whether there is a way to Ceph from here at all (its files can be read), without asking it anything. Errors:
    // unavailable, stopped.
    virtual async::awaitable<result<void>> can_ask() { co_return result<void>(); }
    // Errors: not_found (no such image or pool), unavailable (Ceph cannot be asked from here at all), timed_out, io.
    virtual async::awaitable<result<std::vector<rbd_lock>>> list(std::string image, time_point deadline) = 0;
    // Errors: as above.
    virtual async::awaitable<result<std::vector<rbd_watcher>>> watchers(std::string image, time_point deadline) = 0;
    // Has all done that comes before a break of this lock for this time and needs no proof: opening the image and
    // looking for the lock may take seconds. Changes nothing; holds for a minute, as long as whoever asks Ceph lives.
    // Errors: as above; refused (the lock is one of ours).
    virtual async::awaitable<result<void>> prepare_break(std::string image, rbd_lock which,
                                                         std::chrono::seconds block_for, time_point deadline) = 0;
    // Blocklists the client for `block_for` (zero: for as long as the monitors are configured to), then removes its
    // lock; a lock that is gone is success. A guarded step: it starts before `not_after`, else errc::stopped (what
    // was not prepared is opened first). Errors: as above, of which timed_out and io leave unknown whether it was done;
    // invalid is also what Ceph does not understand (-22): some libraries send the time as a text.
    virtual async::awaitable<result<void>> break_lock(std::string image, rbd_lock which, std::chrono::seconds block_for,
                                                      boot_time not_after, time_point deadline) = 0;
    // Keeps the client with this address from writing. A guarded step, as above. Errors: as of break_lock.
    virtual async::awaitable<result<void>> blocklist(std::string address, std::chrono::seconds block_for,
                                                     boot_time not_after, time_point deadline) = 0;
    // The same by the command of the monitors, with the time as a number: where the library's way is not understood.
    virtual async::awaitable<result<void>> blocklist_by_command(std::string address, std::chrono::seconds block_for,
                                                                boot_time not_after, time_point deadline) = 0;
    // The addresses that the monitors refuse now. Errors: unavailable, timed_out, io.
    virtual async::awaitable<result<std::vector<std::string>>> blocklisted(time_point deadline) = 0;
};

}  // namespace pvc::storage
