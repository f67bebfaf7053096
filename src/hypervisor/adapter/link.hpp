// One connection of the library, opened, used and closed on pool threads. Work items share it and take no more than
// they need: it closes with the last of them.
#pragma once

#include "breaker.hpp"
#include "pvcnoded/hypervisor/error_table.hpp"
#include "pvcnoded/hypervisor/types.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

// The library's own names: its headers stay in the files that call it.
struct _virConnect;  // NOLINT(bugprone-reserved-identifier)
struct _virDomain;   // NOLINT(bugprone-reserved-identifier)

namespace pvc::hypervisor {

// While it lives, its thread may wait in the library.
class pool_section {
public:
    pool_section();
    pool_section(const pool_section&) = delete;
    pool_section& operator=(const pool_section&) = delete;
    ~pool_section();
};

// What callbacks of the library know of a connection. They are called on any thread, but for events of guests, which
// are called on the loop thread.
struct link_note {
    std::atomic<bool> closed{false};
    std::function<void()> tell_closed;                   // thread-safe
    std::function<void(const guest_event&)> tell_event;  // set and called on the loop thread only
};

// How many connections are open, and who wants to hear when one has closed. Any thread.
struct link_count {
    std::atomic<int> open{0};
    std::function<void()> tell_closed;
};

enum class link_access : std::uint8_t { full, read_only };

struct link_wishes {
    std::string uri;
    int keepalive_seconds = 5;
    unsigned keepalive_count = 3;
    std::shared_ptr<link_count> count;
    link_access access = link_access::full;
};

class link {
public:
    // Opens, with keepalive and a close callback where the driver has them. `way_out` ends a hanging call, this one
    // included. Errors: unavailable, with the library's words.
    static call_result<std::shared_ptr<link>> open(const link_wishes& wishes, std::shared_ptr<link_note> note,
                                                   std::shared_ptr<breaker> way_out);
    link(_virConnect* connection, std::shared_ptr<link_note> note, std::shared_ptr<breaker> way_out,
         std::shared_ptr<link_count> count);
    link(const link&) = delete;
    link& operator=(const link&) = delete;
    // Deregisters and closes. Not on a pool thread (a result that nobody took): cuts first, so that nothing waits.
    ~link();

    [[nodiscard]] _virConnect* get() const { return connection_; }
    // No round trip.
    [[nodiscard]] bool is_alive() const;
    [[nodiscard]] const std::shared_ptr<link_note>& note() const { return note_; }
    [[nodiscard]] const std::shared_ptr<breaker>& way_out() const { return way_out_; }

    // Asks for the events of guests; what the driver does not support is left out.
    void register_events();

private:
    _virConnect* connection_;
    std::shared_ptr<link_note> note_;
    std::shared_ptr<breaker> way_out_;
    std::shared_ptr<link_count> count_;
    std::vector<int> registrations_;
    void* number_;  // a number that close callbacks carry, no address
};

// What the library said last on this thread, which must be asked on the thread of the call.
[[nodiscard]] library_error last_error();
[[nodiscard]] call_failure last_failure(const link& on);

}  // namespace pvc::hypervisor
