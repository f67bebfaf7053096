// What the hypervisor has: the class of every guest of this host, from events and from full listings. Before the first
// listing of a connection nothing is known, so that a hypervisor that is away makes nobody look dead.
// Specification: vm-domains.md 4.1, 5.2 (9), 9.1.
#pragma once

#include "pvcnoded/core/node_context.hpp"
#include "pvcnoded/hypervisor/hypervisor.hpp"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace pvc::domains {

class guests final : public hypervisor::event_sink {
public:
    guests(core::node_context& node, hypervisor::hypervisor& hv);
    ~guests() override;

    // Called when the class of a guest is another, for every guest when all became unknown or known, and for events
    // that are no change of class. They only take notes.
    std::function<void(const uuid&)> on_change;
    std::function<void()> on_all_changed;
    std::function<void(const hypervisor::guest_event&)> on_event;

    // Lists all guests after every connection; a child of the daemon's scope.
    async::awaitable<void> run();

    // Empty: not known (no connection, or not listed since it came up).
    [[nodiscard]] std::optional<model::guest_class> class_of(const uuid& id) const;
    [[nodiscard]] std::optional<model::guest_status> status_of(const uuid& id) const;
    [[nodiscard]] bool known() const;
    // It is being created, or set up for a migration, and not for longer than that takes: nothing is decided about it.
    [[nodiscard]] bool is_being_made(const uuid& id, time_point since) const;
    // The same without regard to time: libvirt began to set it up, and it has never executed.
    [[nodiscard]] bool is_half_made(const uuid& id) const;
    [[nodiscard]] bool ever_known() const { return ever_listed_; }
    [[nodiscard]] time_point known_since() const { return known_since_; }
    // Every guest that is not absent, ascending; empty while nothing is known.
    [[nodiscard]] std::vector<uuid> present() const;
    [[nodiscard]] std::size_t count() const { return guests_.size(); }

    // A listing that began when events() was `since`: what events said later stays.
    void take(const std::vector<model::guest>& all, std::uint64_t since, std::uint64_t generation);
    // The answer to a question about one guest, asked when events() was `since`.
    void take_one(const uuid& id, const model::guest_status& status, std::uint64_t since);
    [[nodiscard]] std::uint64_t events() const { return events_; }
    [[nodiscard]] std::uint64_t events_of(const uuid& id) const;
    [[nodiscard]] std::uint64_t generation() const { return hv_.connection().value().generation; }
    // Lists now if the last listing was not just now: events may have been missed without anybody's noticing.
    async::awaitable<void> list_anew(time_point deadline);
    // Suspends until known() or the deadline.
    async::awaitable<bool> wait_known(time_point deadline);

private:
    struct entry {
        model::guest_status status;
        std::uint64_t last_event = 0;
    };
    void on_guest_event(const hypervisor::guest_event& event) override;
    void set(const uuid& id, const model::guest_status& status, std::uint64_t event);

    core::node_context& node_;
    hypervisor::hypervisor& hv_;
    std::map<uuid, entry> guests_;         // not absent ones
    std::map<uuid, std::uint64_t> ended_;  // last event of those that went, until the next listing
    std::uint64_t events_ = 0;
    std::optional<std::uint64_t> listed_generation_;
    bool ever_listed_ = false;
    time_point known_since_{};
    time_point listed_{};
    async::wakeup changed_;
    async::wakeup known_;
};

}  // namespace pvc::domains
