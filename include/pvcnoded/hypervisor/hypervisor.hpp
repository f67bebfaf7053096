// The hypervisor port: the guests of this host, their events and figures, migrations, and questions to other hosts.
//
// A live object: start run() as a child of the daemon's scope; it keeps one control connection with keepalive (5 s x
// 3), and connects again (back-off 0.5 to 1 s) until it is cancelled. While the connection is down every call answers
// `unavailable` at once. Every call has a deadline; when it passes the answer is `timed_out`, the call keeps its place
// in the pool until it returns, and calls about other guests go on. A hanging hypervisor never blocks the loop.
//
// Calls about one guest that change it should not be made two at a time, but for destroy and abort_migration, which may
// be called beside anything. Cancelling a waiter leaves the outcome unknown, but for migrate(). Loop thread only.
// Specification: vm-domains.md 9, 5.2 (5), 8.2; runtime-design.md 3.
#pragma once

#include "pvcnoded/async/latest.hpp"
#include "pvcnoded/async/timers.hpp"
#include "pvcnoded/async/wakeup.hpp"
#include "pvcnoded/base/clock.hpp"
#include "pvcnoded/hypervisor/types.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pvc::hypervisor {

// Who is told of events. The call only takes notes: it must not suspend or call back.
class event_sink {
public:
    event_sink() = default;
    event_sink(const event_sink&) = delete;
    event_sink& operator=(const event_sink&) = delete;
    virtual ~event_sink() = default;
    virtual void on_guest_event(const guest_event& event) = 0;
};

struct migration {
    std::string peer;           // name of the target node, as the remote URI names it: "hv2.pvc.local"
    std::string data_uri;       // "tcp://hv2.pvc.local"
    duration connect_within{};  // limit for opening the target's connection, from when the call has its thread
    std::shared_ptr<std::optional<time_point>> begun{};  // if wanted: filled in when the call has its thread
    int mib_per_second = 0;                              // what is copied at most; 0: as much as goes
};

// How many calls of a kind the caller wants to have at once; the rest wait for a thread.
struct call_limits {
    unsigned creations = 8;
    unsigned migrations = 4;
};

// The calls of a kind, which have threads of their own: one kind that hangs holds up no other.
struct call_pool {
    std::string_view kind;    // a literal; the kinds are always the same
    std::size_t threads = 0;  // that exist: each with a call, or idle for some seconds
    std::size_t waiting = 0;  // calls that wait for a thread
};

class hypervisor {
public:
    hypervisor() = default;
    hypervisor(const hypervisor&) = delete;
    hypervisor& operator=(const hypervisor&) = delete;
    virtual ~hypervisor() = default;

    // From now on. What is under way beyond that ends as it would.
    virtual void allow(call_limits limits) = 0;
    // For whoever watches the node.
    [[nodiscard]] virtual std::vector<call_pool> pools() const = 0;
    // Drives the connection until cancelled.
    virtual async::awaitable<void> run() = 0;
    // Up: events flow, and whoever sees a new generation lists all guests, as events missed meanwhile are not repeated.
    [[nodiscard]] async::latest<connection_state>& connection() { return connection_; }
    void set_sink(event_sink* sink) { sink_ = sink; }

    // Every active guest of this host. Errors: unavailable, timed_out.
    virtual async::awaitable<call_result<std::vector<guest>>> list(time_point deadline) = 0;
    // The same with figures, in one bulk call; a guest whose job is busy gives what it can.
    virtual async::awaitable<call_result<std::vector<guest_figures>>> survey(time_point deadline) = 0;
    // Errors of all that follow: no_domain, wrong_state, unavailable, timed_out, other.
    virtual async::awaitable<call_result<model::guest_status>> status(uuid id, time_point deadline) = 0;
    virtual async::awaitable<call_result<std::string>> live_xml(uuid id, time_point deadline) = 0;

    // Creates a transient domain from the text as it is. A guarded step: it starts before `not_after`, else too_late.
    // Errors: too_late, wrong_state (already active), being_removed, and others with the hypervisor's words.
    virtual async::awaitable<call_result<void>> create(uuid id, std::string xml, boot_time not_after,
                                                       time_point deadline) = 0;
    // Asks the guest; returns when it was asked, not when it is off.
    virtual async::awaitable<call_result<void>> shutdown(uuid id, shutdown_way way, time_point deadline) = 0;
    virtual async::awaitable<call_result<void>> destroy(uuid id, time_point deadline) = 0;
    // A guarded step as create().
    virtual async::awaitable<call_result<void>> resume(uuid id, boot_time not_after, time_point deadline) = 0;
    virtual async::awaitable<call_result<void>> set_maximum_downtime(uuid id, std::uint64_t milliseconds,
                                                                     time_point deadline) = 0;

    // One device of a guest that runs, from its XML element as it is: in the running definition only. A detachment ends
    // when libvirt has waited for the guest to let go, also if it did not. Guarded steps as create(). Errors also:
    // too_late, unsupported, and others with the hypervisor's words.
    virtual async::awaitable<call_result<void>> attach_device(uuid id, std::string xml, boot_time not_after,
                                                              time_point deadline) = 0;
    virtual async::awaitable<call_result<void>> detach_device(uuid id, std::string xml, boot_time not_after,
                                                              time_point deadline) = 0;

    // Live migration, client-managed, with a connection of its own to each side; returns when it has ended. It ends
    // with `unavailable` when either connection breaks. More at once than are allowed wait for a thread.
    // Cancellation: the job is aborted and the call's end awaited, for at most 10 s. Errors: unavailable, wrong_state,
    // unsafe, unsupported, no_domain, aborted, other.
    virtual async::awaitable<call_result<void>> migrate(uuid id, migration how) = 0;
    virtual async::awaitable<call_result<void>> abort_migration(uuid id, time_point deadline) = 0;
    virtual async::awaitable<call_result<migration_progress>> progress(uuid id, time_point deadline) = 0;

    // Asks the hypervisor of another node (by its name as the remote URI names it) for a guest: its status, active or
    // not. Errors: no_domain (it answered and does not have it), refused (nothing listens there: no hypervisor
    // function), timed_out and unavailable (silence), other.
    virtual async::awaitable<call_result<model::guest_status>> ask(std::string peer, uuid id, time_point deadline) = 0;
    // Opens and closes a connection to a node's hypervisor, itself included.
    virtual async::awaitable<call_result<void>> probe(std::string peer, time_point deadline) = 0;

protected:
    void tell(const guest_event& event) {
        if (sink_ != nullptr) {
            sink_->on_guest_event(event);
        }
    }

private:
    async::latest<connection_state> connection_;
    event_sink* sink_ = nullptr;
};

}  // namespace pvc::hypervisor
