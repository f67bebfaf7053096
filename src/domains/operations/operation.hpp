// What all effects on one virtual machine share: the desired and the observed state, waits that end when either
// changes, and guarded writes. What is done is decided by machines (pvcnoded/policy/domains/operations.hpp). At most
// one operation runs for a domain; it is a task of the session scope, and every way out of it has released what it
// held. Specification: vm-domains.md 5.2.
#pragma once

#include "arrivals.hpp"
#include "ceph_news.hpp"
#include "guests.hpp"
#include "operations/disk_records.hpp"
#include "operations/migration_calls.hpp"
#include "pvcnoded/async/fair_turns.hpp"
#include "pvcnoded/async/semaphore.hpp"
#include "pvcnoded/async/task_group.hpp"
#include "pvcnoded/base/text.hpp"
#include "pvcnoded/core/session.hpp"
#include "pvcnoded/domains/domain_counts.hpp"
#include "pvcnoded/hypervisor/hypervisor.hpp"
#include "pvcnoded/placement/rbd_clearing.hpp"
#include "pvcnoded/policy/domains/console_pace.hpp"
#include "pvcnoded/policy/domains/domain_table.hpp"
#include "pvcnoded/policy/domains/requests.hpp"
#include "pvcnoded/services/console_files.hpp"
#include "pvcnoded/storage/rbd_locks.hpp"
#include "row.hpp"
#include "running_list.hpp"
#include "stays.hpp"
#include "table.hpp"

#include <functional>
#include <string>

namespace pvc::domains {

// How many migrate at the same time; of those that wait the one with the lowest UUID is next. README ruling 25.
using turns = async::ordered_semaphore<uuid>;
// How many are created at the same time, fairly by the pools of their RBD disks. README ruling 77.
using creation_turns = async::fair_turns;
class disk_looks;

// The parts that operations work with. All references outlive every operation.
struct domain_parts {
    core::node_context& node;
    hypervisor::hypervisor& hv;
    storage::rbd_locks& rbd;
    services::console_files& consoles;
    guests& observed;
    domain_table& table;
    running_list& list;
    creation_turns& creations;
    turns& migrations;
    migration_calls& calls;
    disk_records& migration_records;
    disk_records& creation_records;
    arrivals& arrived_here;
    stays& stayed_here;
    domain_counts& counts;
    ceph_news& ceph;
    policy::console_pace& pace;                     // of all consoles
    disk_looks& looks;                              // at who has which disks open
    async::task_group* consoles_scope = nullptr;    // where console watches run
    std::function<bool()> holds_starts{};           // after a fence: nothing may be created
    std::function<bool(const uuid&)> is_awaited{};  // a client's command waits for its operation to end
    // The networks of this node have not been as they shall be since it came up, and that is waited for.
    std::function<bool()> networks_are_coming{};
};

// Of one question to libvirt about one guest.
inline constexpr duration query_limit = std::chrono::seconds(5);

using policy::write_end;

class operation : public domain_parts {
public:
    operation(const domain_parts& parts, core::session& s, domain_row& row)
        : domain_parts(parts), s(s), row(row), here(*row.here), id(row.id), root(model::domain_path(to_text(row.id))) {}
    operation(const operation&) = delete;
    operation& operator=(const operation&) = delete;

    core::session& s;
    domain_row& row;
    local_domain& here;
    const uuid id;
    const std::string root;  // "/domains/<uuid>"

    [[nodiscard]] async::timers& clock() const { return node.clock(); }
    [[nodiscard]] time_point now() const { return node.clock().now(); }
    [[nodiscard]] std::optional<model::guest_class> guest() const { return observed.class_of(id); }
    [[nodiscard]] bool is_guest(model::guest_class which) const { return guest() == which; }
    [[nodiscard]] bool must_end() const { return here.must_end; }
    [[nodiscard]] policy::wish present() const { return {row.created, row.state_changed, row.node_changed}; }
    // "hv2.pvc.local", or the short name where the cluster has no domain (README ruling 8).
    [[nodiscard]] std::string address_of(std::string_view peer) const;
    // RBD locks in its way.
    [[nodiscard]] placement::rbd_clearing rbd_locks() const;
    // For messages: what clients wrote may be of any length.
    [[nodiscard]] std::string name() const;

    // Suspends until something about this domain changed (true) or until the deadline (false).
    async::awaitable<bool> wait(time_point deadline, std::string_view what) {
        return here.changed.wait_until(clock(), deadline, what);
    }
    // Asks the hypervisor for the class now. Empty: it did not answer.
    async::awaitable<std::optional<model::guest_class>> ask_class();
    // Suspends until the guest is not there. False: the deadline passed, or the hypervisor is away.
    async::awaitable<bool> wait_absent(time_point deadline);

    // {check `node`, set `state`} conditional on what the row shows, with whatever `more` holds. What was written is in
    // the row when this returns.
    async::awaitable<write_end> write_state(model::vm_state state, zookeeper::transaction more = {});
    // {state, node, lastnode} likewise, with further checks.
    async::awaitable<write_end> write_placement(model::vm_state state, std::string to, std::string last,
                                                zookeeper::transaction checks = {});
    // A key of this domain that only its node writes; never created. Skipped if it has the value already. False: it
    // was not written, or nobody knows.
    async::awaitable<bool> write_own(std::string_view key, std::string value);
    [[nodiscard]] std::string key(std::string_view suffix) const { return root + std::string(suffix); }

    // Running list: set, and written before this returns (or 2 s have passed).
    async::awaitable<bool> set_listed(bool runs);
    // Locks whose children every write of this operation checks.
    std::vector<const zookeeper::held_lock*> locks;
    // While it has its turn to be created, or waits for it.
    creation_turns::place* turn = nullptr;

    void say(policy::act::line what) const;
    void info(std::string text) const { node.log.info(std::move(text), name()); }
    void warning(message what, const std::string& text) const { node.log.warning(what, text, name()); }
    void error(message what, const std::string& text) const { node.log.error(what, text, name()); }
    void state(std::string text) const { node.log.state(std::move(text), name()); }
    // After a failure that another attempt at once would only repeat.
    void pause(duration time) const { here.pause_until = now() + time; }

private:
    // What a transaction sets of the keys that the row mirrors.
    struct written_keys {
        std::optional<std::pair<model::vm_state, zookeeper::set_handle>> state{};
        std::optional<std::pair<std::string, zookeeper::set_handle>> node{};
        std::optional<std::pair<std::string, std::optional<zookeeper::set_handle>>> last_node{};  // or created
    };
    async::awaitable<write_end> commit(zookeeper::transaction what, written_keys sets);
};

// Locks that are held as long as this lives: every write of the operation checks them.
class lock_checks {
public:
    lock_checks(operation& op, std::vector<const zookeeper::held_lock*> held) : op_(op) { op_.locks = std::move(held); }
    ~lock_checks() { op_.locks.clear(); }
    lock_checks(const lock_checks&) = delete;
    lock_checks& operator=(const lock_checks&) = delete;

private:
    operation& op_;
};

// A domain as it is seen now, without what is held; by an operation that runs also whether the session is connected.
[[nodiscard]] policy::domain_seen seen_of(const domain_parts& parts, const domain_row& row);
[[nodiscard]] policy::domain_seen seen_of(const operation& op);
// As machines know it.
[[nodiscard]] policy::call_end end_of(hypervisor::call_error code);

// Console and VNC (console.cpp).
void follow_console(operation& op);
async::awaitable<void> end_console(operation& op);
// False: what runs could not be read.
async::awaitable<bool> publish_vnc(operation& op);
async::awaitable<bool> read_live_xml(operation& op);

}  // namespace pvc::domains
