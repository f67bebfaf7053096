#include "manager.hpp"

#include "console.hpp"
#include "flush_mark.hpp"
#include "operations/migration.hpp"
#include "pvcnoded/async/task_group.hpp"
#include "pvcnoded/base/planted.hpp"
#include "pvcnoded/base/text.hpp"

#include <algorithm>

namespace pvc::domains {

using namespace std::chrono_literals;
using model::guest_class;
using model::vm_state;
using policy::domain_action;

namespace {

constexpr duration loading_limit = 60s;
constexpr duration tell_fail_every = 60s;
constexpr duration list_read_limit = 5s;
constexpr duration fresh_listing_limit =
    2s;  // libvirtd's answer is wanted, not needed: what is known is right but for missed events
constexpr duration no_due = 3600s;

}  // namespace

local_domain::local_domain(domain_row& owner) : row(owner) {}
local_domain::~local_domain() = default;

manager::manager(core::node_context& context, domain_ports outside)
    : node(context),
      hv(outside.hypervisor),
      observed(context, hv),
      table(context),
      calls(hv),
      records(context),
      parts{context,    hv,    outside.rbd_locks, outside.console_files, observed, table, list, creations,
            migrations, calls, records,           arrived_here,          pace} {
    parts.holds_starts = [this] { return holds_starts_ || is_cleaning_; };
    calls.on_end = [this](const uuid& id) { look_at(id); };
    table.on_read = [this](domain_row& row) { look_at(row.id); };
    table.on_loaded = [this] { work_.notify(); };
    table.is_local = [](const domain_row& row) { return row.here != nullptr; };
    observed.on_change = [this](const uuid& id) {
        domain_row* row = table.find(id);
        if (row != nullptr && row->here) {
            row->here->class_since = node.clock().now();
            const auto now = observed.class_of(id);
            row->here->is_stale_half = row->here->is_stale_half && (!now || now == guest_class::incoming);
        }
        look_at(id);
    };
    observed.on_all_changed = [this] { look_at_all(); };
    observed.on_event = [this](const hypervisor::guest_event& event) { on_event(event); };
}

void manager::look_at(const uuid& id) {
    todo_.insert(id);
    work_.notify();
}

void manager::look_at_all() {
    for (const auto& [id, row] : table.rows()) {
        if (row.here || row.is_owner) {
            todo_.insert(id);
        }
    }
    for (const auto& id : observed.present()) {
        todo_.insert(id);
    }
    work_.notify();
}

void manager::on_event(const hypervisor::guest_event& event) {
    domain_row* row = table.find(event.id);
    if (row == nullptr || !row->here) {
        return;
    }
    local_domain& here = *row->here;
    const std::string name = here.name.empty() ? to_text(event.id) : shown(here.name);
    switch (event.what) {
        case hypervisor::event_kind::rebooted: node.log.info("the guest rebooted", name); break;
        case hypervisor::event_kind::io_error:
            node.log.warning(message::domain_io_error, "I/O error of a disk: " + event.detail, name);
            break;
        case hypervisor::event_kind::watchdog:
            node.log.warning(message::domain_watchdog, "its watchdog fired: " + event.detail, name);
            break;
        case hypervisor::event_kind::devices_changed: here.live_is_stale = true; break;
        case hypervisor::event_kind::job_ended: here.changed.notify(); break;
        case hypervisor::event_kind::status: break;
    }
}

// The last placement outside a migration, and what belongs to it.
void manager::note_placement(domain_row& row) {
    if (!row.is_present || policy::is_migration(row.state) || row.state == vm_state::unknown ||
        row.state_changed == 0) {
        return;
    }
    const bool ran = row.stable.state == vm_state::start || row.stable.state == vm_state::restart;
    if (policy::is_off_state(row.state) || row.state == vm_state::deleted) {
        row.came_from = nullptr;
    } else if (row.stable.known() && ran && !row.stable.was_owner && row.is_owner) {
        row.came_from = row.stable.node;
    }
    row.stable = {row.state, row.is_owner, row.node, row.state_changed, row.state_version};
    if (row.here) {
        row.here->stable_last_node = row.here->last_node;
        row.here->was_going_off = false;
        // What we sent stays so as long as half of it stands here, unresolved.
        const bool is_half = observed.class_of(row.id).value_or(guest_class::incoming) == guest_class::incoming;
        row.here->is_sent_by_us =
            row.here->is_sent_by_us && (row.here->operation == to_text(domain_action::send) || is_half);
        row.here->noted_last_node.reset();
    }
}

bool manager::may_start(domain_row& row) {
    local_domain& here = *row.here;
    if (holds_starts_ || is_cleaning_) {
        return false;
    }
    if (here.adopted_state != row.state_changed) {
        here.spacing.reset();  // somebody wants it anew: nothing of an earlier crash loop counts
        here.not_before = {};
        here.adopted_state = row.state_changed;
    }
    if (here.is_adopted && row.state == vm_state::start) {
        if (is_planted(defect::unexpected_end_ignored)) {
            return false;
        }
        here.is_adopted = false;
        here.is_restarting = true;
        here.not_before = here.spacing.ended(node.clock().now());
        node.log.warning(message::domain_ended, "it ended by itself, starting it again", shown(here.name));
    }
    return true;
}

// A guest that stops executing while it runs here is left as it is, and said once. I/O errors and watchdogs have events
// of their own.
void manager::tell_pause(local_domain& here, guest_class guest) const {
    here.told_pause = here.told_pause && guest == guest_class::paused;
    const auto status = observed.status_of(here.row.id);
    if (guest != guest_class::paused || here.told_pause || !here.is_adopted || !status ||
        status->cause == model::pause_cause::io_error || status->cause == model::pause_cause::watchdog) {
        return;
    }
    here.told_pause = true;
    const bool sleeps = status->state == model::run_state::suspended;
    const std::string why(sleeps ? std::string_view("the guest sleeps") : to_text(status->cause));
    node.log.warning(message::domain_paused, "it is paused (" + why + ") and left as it is", shown(here.name));
}

// Whether what the tables say has been done for this very guest and state.
bool manager::is_done_already(domain_row& row, domain_action action) {
    local_domain& here = *row.here;
    switch (action) {
        case domain_action::nothing:
        case domain_action::wait: return true;
        case domain_action::adopt:
            here.power_down.reset();
            here.is_clean = here.is_forgotten = false;
            if (here.is_adopted && here.adopted_state != row.state_changed) {
                here.spacing.reset();
                here.adopted_state = row.state_changed;
            }
            return here.is_adopted && !here.owes_vnc;
        case domain_action::keep: return here.is_adopted;
        case domain_action::report_fail: {
            time_point& told = told_fail_[row.id];
            if (told == time_point{} || node.clock().now() - told >= tell_fail_every) {
                told = node.clock().now();
                node.log.error(message::domain_failed_elsewhere,
                               "node " + (row.node != nullptr ? *row.node : std::string("?")) +
                                   " failed to start it, and it runs here: it is left running",
                               shown(here.name));
            }
            return here.is_adopted;
        }
        case domain_action::report_unknown:
            if (std::exchange(here.told_state, row.state_changed) != row.state_changed) {
                const bool has_node = row.node != nullptr && !row.node->empty();
                node.log.error(message::domain_word_running,
                               has_node
                                   ? "its state is `" + ascii_only(here.word) +
                                         "`, which is none, and it runs here although it belongs to another " +
                                         "node: left alone"
                                   : std::string("it runs here and its key `node` is missing or empty: left alone"),
                               shown(here.name));
            }
            return true;
        case domain_action::clean_up: return here.is_clean;
        case domain_action::forget: return here.is_clean || here.is_forgotten;
        case domain_action::start: return !may_start(row);
        case domain_action::terminate:
            // It has nowhere to go, and was not asked again since: what else becomes of it is looked at meanwhile.
            if (is_to_run(row.state) && here.nowhere == row.node_changed && node.clock().now() < here.nowhere_until) {
                look_later_[row.id] = here.nowhere_until;
                return true;
            }
            return false;
        default: return false;
    }
}

bool is_nobodys(const domain_row& row) {
    switch (row.state) {
        case vm_state::stop:
        case vm_state::disable:
        case vm_state::mirror:
        case vm_state::deleted: return false;
        default: return row.node == nullptr || row.node->empty();
    }
}

void manager::evaluate(domain_row& row) {
    if (row.here && row.here->console && row.is_known && row.state == vm_state::deleted) {
        row.here->console->silence();  // nothing is written below a domain that is being deleted
    }
    if (row.here && !row.here->operation.empty()) {
        row.here->changed.notify();
        if (row.is_known) {
            note_placement(row);
        }
        unlist_gone(row);
        return;
    }
    if (gives_turn(row)) {
        return;
    }
    if (calls.has(row.id)) {  // of the session before; its end looks at it again
        unlist_gone(row);
        return;
    }
    if (!row.is_known || session_ == nullptr || !session_->zk.is_connected() || is_stopping_) {
        return;
    }
    const auto guest = observed.class_of(row.id);
    if (!row.is_present) {
        evaluate_gone(row, guest);
        return;
    }
    const bool is_here = guest && *guest != guest_class::absent;
    if (!row.here) {
        note_placement(row);
        if (row.is_owner || is_here) {
            row.here = std::make_unique<local_domain>(row);
            row.here->state_since = node.clock().now();
            row.here->class_since = node.clock().now();
            table.mark(row);  // read again, with what matters of a machine that is ours
        }
        return;
    }
    local_domain& here = *row.here;
    if (!here.is_read) {
        return;  // its reading is under way
    }
    note_placement(row);
    note_journal(row);
    end_mark(row, guest);
    if (!guest) {
        return;
    }
    ++evaluations_;
    if (here.pause_until && node.clock().now() < *here.pause_until) {
        return;  // the dispatcher comes back when it has passed
    }
    if (observed.is_being_made(row.id, here.class_since)) {
        return;
    }
    policy::domain_view view;
    view.state = is_nobodys(row) ? vm_state::unknown : row.state;
    view.is_owner = row.is_owner;
    // What has never executed has not arrived, however long it is there.
    const bool is_to_come = row.is_owner && policy::is_migration(view.state);
    view.guest = is_to_come && observed.is_half_made(row.id) ? guest_class::incoming : *guest;
    // Once its live migration began, that it is not here does not say that it ended. Nor does it while a creation is
    // out that nobody has answered: it may yet come to run.
    view.ran_here_before =
        !here.lost_creation &&
        (here.was_going_off || (row.stable.known() && row.stable.was_owner && !here.is_sent_by_us &&
                                (row.stable.state == vm_state::start || row.stable.state == vm_state::restart)));
    view.was_sent_by_us = here.is_sent_by_us;
    view.is_handed_over = here.is_handed_over;
    if (row.state == vm_state::unknown && row.is_owner &&
        std::exchange(here.told_state, row.state_changed) != row.state_changed) {
        node.log.warning(message::domain_word,
                         here.word.empty() ? std::string("its key `state` is missing or empty: left alone")
                                           : "its state is `" + ascii_only(here.word) + "`, which is none: left alone",
                         shown(here.name));
    }
    const domain_action action = action_for(row, view);
    tell_pause(here, *guest);
    sync_list(row, view.guest);
    if (*guest != guest_class::absent) {
        here.is_clean = here.is_forgotten = false;
    }
    if (is_done_already(row, action)) {
        const bool is_idle = !row.is_owner && *guest == guest_class::absent && !here.lost_creation;
        if (is_idle && here.has_record && !policy::is_migration(row.state)) {
            here.has_record = false;
            parts.records.remove(row.id);  // what it was kept for was done by others
        }
        if (is_idle && !here.console) {
            row.here.reset();  // neither belongs nor runs here any more
        }
        return;
    }
    if (!is_in_vain(row, action)) {
        begin(row, action);
    }
}

// A `start` of what does not run may answer the mark of a flush. It is seen to beside the start, once for each word.
void manager::end_mark(const domain_row& row, std::optional<guest_class> guest) {
    const bool runs = guest == guest_class::alive || guest == guest_class::paused;
    if (!row.is_owner || !is_to_run(row.state) || runs || operations_ == nullptr || operations_->cancelled() ||
        std::exchange(row.here->mark_ended_for, row.state_changed) == row.state_changed) {
        return;
    }
    operations_->spawn("mark of " + shown(row.here->name), [&s = *session_, id = row.id, since = row.state_changed] {
        return end_flush_mark(s, id, since);
    });
}

// An operation that ends and is begun again for the same state, over and over, waits a while.
bool manager::is_in_vain(domain_row& row, domain_action action) {
    constexpr unsigned most = 10;
    constexpr duration window = 1s;
    auto& last = row.here->repeated;
    const time_point now = node.clock().now();
    if (last.action != to_text(action) || last.state_changed != row.state_changed || now - last.since > window) {
        last = {to_text(action), row.state_changed, now, 0};
    }
    if (++last.times <= most) {
        return false;
    }
    row.here->pause_until = now + window;
    paused_.insert(row.id);
    work_.notify();
    return true;
}

void manager::begin(domain_row& row, domain_action action) {
    if (operations_ == nullptr || operations_->cancelled()) {
        return;
    }
    local_domain& here = *row.here;
    here.operation = to_text(action);
    if (action != domain_action::clean_up && action != domain_action::forget) {
        here.is_clean = here.is_forgotten = false;
    }
    here.changed.try_consume();
    ++running_operations_;
    const std::string name = here.name.empty() ? to_text(row.id) : shown(here.name);
    // The child may be cancelled before its first step: the slot is given back with the callable then.
    auto slot = std::make_shared<slot_end>(*this, row);
    operations_->spawn(std::string(here.operation) + " " + name,
                       [this, action, slot]() mutable { return perform(action, std::move(slot)); });
}

async::awaitable<void> manager::perform(domain_action action, std::shared_ptr<slot_end> slot) {
    domain_row& row = slot->row;  // rows with an operation are not erased
    operation op(parts, *session_, row);
    row.here->must_end = is_stopping_;
    switch (action) {
        case domain_action::adopt: co_await adopt(op, false); break;
        case domain_action::arrived: co_await arrived(op); break;
        case domain_action::start: co_await start(op); break;
        case domain_action::restart: co_await restart(op); break;
        case domain_action::shutdown: co_await shut_down(op); break;
        case domain_action::quiet_shutdown: co_await shut_down_quietly(op); break;
        case domain_action::stop: co_await domains::stop(op); break;
        case domain_action::destroy:
        case domain_action::terminate: co_await remove_local(op); break;
        case domain_action::settle_shutdown: co_await settle_shutdown(op); break;
        case domain_action::clean_up:
            co_await clean_up(op, true);
            row.here->is_clean = true;
            break;
        case domain_action::forget:
            co_await clean_up(op, false);
            row.here->is_forgotten = true;
            break;
        case domain_action::keep:
        case domain_action::report_fail: co_await keep(op); break;
        case domain_action::send: co_await domains::send(op); break;
        case domain_action::receive: co_await receive(op); break;
        case domain_action::resolve_sent: co_await resolve_sent(op); break;
        case domain_action::resolve_own: co_await resolve_own(op); break;
        case domain_action::hand_over_ended: co_await hand_over_ended(op); break;
        case domain_action::take_over: co_await take_over(op); break;
        case domain_action::see_taken_over: co_await see_taken_over(op); break;
        case domain_action::drop_incoming: co_await drop_incoming(op); break;
        case domain_action::end_hung: co_await end_hung(op); break;
        case domain_action::nothing:
        case domain_action::wait:
        case domain_action::report_unknown: break;
    }
}

time_point manager::next_due() {
    time_point due = node.clock().now() + no_due;
    for (const auto& id : paused_) {
        const domain_row* row = table.find(id);
        if (row != nullptr && row->here && row->here->pause_until && row->here->operation.empty()) {
            due = std::min(due, *row->here->pause_until);
        }
    }
    for (const auto& [id, at] : look_later_) {
        due = std::min(due, at);
    }
    return due;
}

// Guests that ZooKeeper does not know: left alone, said once.
void manager::tell_strangers() {
    for (const auto& id : observed.present()) {
        if (table.find(id) == nullptr && told_strangers_.insert(id).second) {
            node.log.warning(message::domain_stranger, "a virtual machine " + to_text(id) +
                                                           " runs here that the cluster does not know: left alone");
        }
    }
}

async::awaitable<void> manager::begin_list(core::session& s) {
    if (list.has_begun()) {
        co_return;
    }
    auto stored = co_await s.zk.get(s.limit(list_read_limit), s.own("/runningdomains"));
    std::vector<uuid> active;
    for (const auto& id : observed.present()) {
        const domain_row* row = table.find(id);
        const bool is_arriving = row != nullptr && row->is_owner && policy::is_migration(row->state) &&
                                 observed.class_of(id) == guest_class::incoming;
        if (row != nullptr && row->is_present && !is_arriving) {
            active.push_back(id);
        }
    }
    list.begin(stored ? stored->data : std::string(), active);
}

async::awaitable<void> manager::dispatch(core::session& s) {
    // No table is asked before both sides were read in full.
    const async::latest<zookeeper::session_state>::observer follow(s.zk.state(), work_);
    while (!table.is_loaded() || !observed.ever_known()) {
        co_await work_.wait_until(node.clock(), node.clock().now() + 1s, "the first reading of all machines");
    }
    co_await observed.list_anew(node.clock().now() + fresh_listing_limit);
    co_await begin_list(s);
    is_open_ = true;
    opened.set(true);
    look_at_all();
    tell_strangers();
    operations_->spawn("old migration records", [this, &s] { return tidy_journals(parts, s); });
    std::uint64_t connections = s.zk.state().value().connections;
    for (;;) {
        if (s.zk.is_connected() && s.zk.state().value().connections != connections) {
            connections = s.zk.state().value().connections;
            look_at_all();
        }
        const time_point now = node.clock().now();
        std::erase_if(paused_, [&](const uuid& id) {
            domain_row* row = table.find(id);
            if (row == nullptr || !row->here || !row->here->pause_until) {
                return true;
            }
            if (*row->here->pause_until > now) {
                return false;
            }
            row->here->pause_until.reset();
            todo_.insert(id);
            return true;
        });
        std::erase_if(look_later_, [&](const auto& one) {
            const bool is_due = one.second <= now;
            if (is_due) {
                todo_.insert(one.first);
            }
            return is_due;
        });
        const auto batch = std::exchange(todo_, {});
        for (const auto& id : batch) {
            domain_row* row = table.find(id);
            if (row != nullptr) {
                evaluate(*row);
            }
        }
        idle_.notify_all();
        if (todo_.empty()) {
            co_await work_.wait_until(node.clock(), next_due(), "changes of virtual machines");
        }
    }
}

async::awaitable<void> manager::run_hypervisor() {
    co_await async::with_task_group("hypervisor", [this](async::task_group& group) -> async::awaitable<void> {
        group.spawn("connection", [this] { return hv.run(); });
        group.spawn("migrations", [this] { return calls.run(); });
        co_await observed.run();
    });
}

async::awaitable<void> manager::run(core::session& s) {
    session_ = &s;
    is_open_ = false;
    obey_settings();
    holds_starts_ = true;  // until the node's own domain state was read
    for (auto& [id, row] : table.rows()) {
        if (row.here) {
            row.here->console.reset();
            // One that ends before this session looks at it is to be started again, and stays in the list until then.
            row.here->is_restarting = row.here->is_restarting || row.here->is_adopted;
            row.here->is_adopted = false;
            row.here->is_clean = row.here->is_forgotten = false;
        }
    }
    struct leaving {
        manager& owner;
        ~leaving() {
            owner.operations_ = nullptr;
            owner.parts.consoles_scope = nullptr;
            owner.session_ = nullptr;
            owner.is_open_ = false;
            owner.opened.set(false);
        }
    };
    const leaving guard{*this};
    co_await async::with_task_group("machines", [&](async::task_group& group) -> async::awaitable<void> {
        operations_ = &group;
        parts.consoles_scope = &group;
        group.spawn("table", [&] { return table.run(s); });
        group.spawn("hold", [&] { return follow_hold(s); });
        group.spawn("running list", [&] { return list.publish(s); });
        group.spawn("migration records", [&] { return records.run(); });
        co_await dispatch(s);
    });
}

async::awaitable<bool> manager::wait_loaded(time_point deadline) {
    const bool is_read = co_await table.wait_loaded(std::min(deadline, node.clock().now() + loading_limit));
    const bool is_listed = co_await observed.wait_known(deadline);
    if (is_read && is_listed) {
        const auto is_open = [this] { return is_open_; };
        co_return co_await idle_.wait_until(is_open, node.clock(), deadline, "the first look at all machines");
    }
    co_return is_open_;
}

async::awaitable<void> manager::stop(time_point deadline) {
    is_stopping_ = true;
    for (auto& [id, row] : table.rows()) {
        if (row.here && !row.here->operation.empty()) {
            row.here->must_end = true;
            row.here->changed.notify();
        }
    }
    const auto sends_none = [this] {
        return std::ranges::none_of(table.rows(), [](const auto& entry) {
            return entry.second.here && entry.second.here->operation == to_text(domain_action::send);
        });
    };
    co_await idle_.wait_until(sends_none, node.clock(), deadline, "the end of migrations");
    std::vector<std::shared_ptr<console_watch>> consoles;
    for (auto& [id, row] : table.rows()) {
        if (row.here && row.here->console) {
            consoles.push_back(std::exchange(row.here->console, nullptr));
            consoles.back()->ask_end();
        }
    }
    const time_point last = std::min(deadline, node.clock().now() + 5s);
    for (const auto& console : consoles) {
        co_await console->wait_end(node.clock(), last);
    }
}

}  // namespace pvc::domains
