// Commands of clients about one domain: they take its slot between two operations. Specification: vm-domains.md 14,
// 5.2; storage.md 6.4 ("flush_locks").
#include "manager.hpp"
#include "operations/migration.hpp"
#include "operations/others.hpp"

#include "pvcnoded/async/deadline.hpp"
#include "pvcnoded/base/guard.hpp"
#include "pvcnoded/base/text.hpp"

#include <algorithm>

namespace pvc::domains {

using namespace std::chrono_literals;
using model::guest_class;
using model::vm_state;

namespace {

constexpr std::size_t words_max = 500;  // of what libvirt says, which may quote the whole element

failure refusal(std::string why) {
    return failure(errc::refused, {}, std::move(why));
}

// Why a guest of this class takes no device; empty: it does.
std::string_view why_no_devices(const std::optional<guest_class>& guest) {
    if (!guest) {
        return "libvirt is away";
    }
    switch (*guest) {
        case guest_class::alive: return {};
        case guest_class::paused: return "it is paused";
        case guest_class::incoming: return "its migration has not ended";
        case guest_class::ending:
        case guest_class::absent: break;
    }
    return "it does not run here";
}

async::awaitable<result<void>> change_device(operation& op, const model::domain_command& what,
                                             const command_guard& guard, time_point deadline) {
    if (const auto why = why_no_devices(op.guest()); !why.empty()) {
        co_return refusal(std::string(why));
    }
    const auto proof = co_await guard();
    if (!proof) {
        co_return failure(errc::stopped, {}, "the command was withdrawn, or its lock is gone");
    }
    if (!op.row.is_owner || !op.is_guest(guest_class::alive)) {
        co_return refusal("it changed meanwhile");
    }
    op.here.live_is_stale = true;  // whatever becomes of the call
    hypervisor::call_result<void> done;
    if (what.verb == model::domain_verb::attach_device) {
        done = co_await op.hv.attach_device(op.id, what.device, guarded_until(*proof + zookeeper::guard_validity),
                                            deadline);
    } else {
        done = co_await op.hv.detach_device(op.id, what.device, guarded_until(*proof + zookeeper::guard_validity),
                                            deadline);
    }
    if (done) {
        co_return result<void>();
    }
    const auto code = done.error().code;
    const bool is_unknown = code == hypervisor::call_error::timed_out || code == hypervisor::call_error::unavailable;
    co_return failure(
        errc::refused, "libvirt",
        ascii_only(done.error().text.substr(0, words_max)) + (is_unknown ? "; whether it was done is not known" : ""));
}

// A node that has it in its running list; one that is dead counts only if its hypervisor says so, and one whose daemon
// was stopped unless its hypervisor says that it does not have it.
async::awaitable<result<void>> nobody_else_runs_it(operation& op) {
    using model::daemon_state;
    PVC_CO_TRY(const auto others, co_await read_others(op));
    for (const auto& one : others) {
        if (!one.lists_it || one.daemon == daemon_state::fenced) {
            continue;
        }
        const remote_answer answer = co_await ask_node(op, one.name);
        const bool is_silent = answer == remote_answer::refused || answer == remote_answer::silent;
        if (answer != remote_answer::absent && !(is_silent && one.daemon == daemon_state::dead)) {
            co_return refusal("node " + shown(one.name) + " still has it in its running list");
        }
    }
    co_return result<void>();
}

// Where it may run, its locks are what keeps its disks whole.
async::awaitable<result<void>> flush(operation& op, const command_guard& guard) {
    const auto seen = co_await op.ask_class();
    if (!seen) {
        co_return refusal("libvirt does not say whether it runs here");
    }
    if (*seen != guest_class::absent) {
        co_return refusal("it is active here");
    }
    if (op.here.listing.lost_creation) {
        co_return refusal("a creation of it may still be carried out");
    }
    const auto began_with = op.present();
    auto elsewhere = co_await nobody_else_runs_it(op);
    if (!elsewhere) {
        co_return elsewhere.error();
    }
    PVC_CO_TRY(auto volumes, co_await stored_volumes(op));
    const bool is_off =
        op.row.state == vm_state::stop || op.row.state == vm_state::disable || op.row.state == vm_state::fail;
    const auto still_ours = [&]() -> async::awaitable<std::optional<boot_time>> {
        const auto proof = co_await guard();
        auto read = co_await op.table.read(op.row);
        const bool is_same = proof && read && op.s.zk.is_connected() && op.row.is_owner && op.present() == began_with &&
                             op.is_guest(guest_class::absent);
        co_return is_same ? std::optional(std::min(*proof, *read)) : std::nullopt;
    };
    const auto cleared = co_await op.rbd_locks().for_client(std::move(volumes), is_off, still_ours);
    switch (cleared.what) {
        case placement::lock_outcome::kind::clear: co_return result<void>();
        case placement::lock_outcome::kind::changed: co_return refusal("it changed meanwhile");
        case placement::lock_outcome::kind::refused:
        case placement::lock_outcome::kind::not_understood: break;
    }
    co_return refusal(cleared.reason);
}

}  // namespace

manager::slot_end::~slot_end() {
    if (is_unfinished && owner.operations_ != nullptr && !owner.operations_->cancelled()) {
        owner.let_go(row);
    }
    row.here->operation = {};
    row.here->doing.reset();
    row.here->must_end = row.here->is_being_created = false;
    if (row.here->pause_until) {
        owner.paused_.insert(row.id);
    }
    --owner.running_operations_;
    owner.look_at(row.id);
    owner.idle_.notify_all();
}

bool manager::owns(const uuid& id) const {
    const auto& rows = table.rows();
    const auto found = rows.find(id);
    return session_ != nullptr && found != rows.end() && found->second.is_known && found->second.is_present &&
           found->second.is_owner;
}

// The row of a domain of ours that nothing is being done about.
domain_row* manager::free_row(const uuid& id) {
    domain_row* row = table.find(id);
    const bool is_free = owns(id) && is_open_ && row->here != nullptr && row->here->is_read &&
                         row->here->operation.empty() && !calls.has(id);
    return is_free ? row : nullptr;
}

bool manager::gives_turn(domain_row& row) {
    const auto next = std::ranges::find(turns_, row.id, [](const command_turn* one) { return one->id; });
    if (next == turns_.end()) {
        return false;
    }
    (*next)->ready.notify();
    return free_row(row.id) != nullptr;
}

async::awaitable<result<void>> manager::execute(model::domain_command what, command_guard guard, time_point deadline) {
    const uuid id = *what.id;
    domain_row* row = nullptr;
    {
        command_turn mine{id, {}};
        struct leaving {
            manager& owner;
            command_turn& turn;
            ~leaving() {
                std::erase(owner.turns_, &turn);
                owner.look_at(turn.id);  // whatever was put off for it
            }
        };
        turns_.push_back(&mine);
        const leaving at_end{*this, mine};
        if (const domain_row* busy = table.find(id); busy != nullptr && busy->here) {
            busy->here->changed.notify();  // one that only waits makes way
        }
        while ((row = free_row(id)) == nullptr) {
            if (!owns(id)) {
                co_return refusal("it does not belong to this node any more");
            }
            if (node.clock().now() >= deadline) {
                co_return failure(errc::timed_out, {}, "its present operation did not end");
            }
            co_await mine.ready.wait_until(node.clock(), deadline, "the end of its operation");
        }
        row->here->operation = to_text(what.verb);
    }
    row->here->changed.try_consume();
    ++running_operations_;
    const slot_end at_end{*this, *row};
    operation op(parts, *session_, *row);
    if (what.verb == model::domain_verb::flush_locks) {
        co_return co_await async::with_deadline(node.clock(), deadline, "RBD locks", flush(op, guard));
    }
    co_return co_await change_device(op, what, guard, deadline);
}

}  // namespace pvc::domains
