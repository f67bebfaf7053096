#include "manager.hpp"

#include "console.hpp"
#include "operations/migration.hpp"
#include "pvcnoded/async/task_group.hpp"
#include "pvcnoded/base/text.hpp"

#include <algorithm>

namespace pvc::domains {

using namespace std::chrono_literals;
using model::guest_class;
using model::vm_state;
using policy::domain_action;

namespace {

constexpr duration loading_limit = 60s;
constexpr duration list_read_limit = 5s;
constexpr duration fresh_listing_limit =
    2s;  // libvirtd's answer is wanted, not needed: what is known is right but for missed events
constexpr duration no_due = 3600s;

}  // namespace

local_domain::local_domain(domain_row& owner) : row(owner) {}
local_domain::~local_domain() = default;

manager::manager(core::node_context& context, domain_ports outside, domain_counts& counted)
    : node(context),
      hv(outside.hypervisor),
      observed(context, hv),
      table(context),
      calls(hv),
      migration_records(context, "migrations", "the record of its migration"),
      creation_records(context, "creations", "the record of its creation"),
      counts(counted),
      parts{context,    hv,    outside.rbd_locks, outside.console_files, observed,     table,       list,   creations,
            migrations, calls, migration_records, creation_records,      arrived_here, stayed_here, counts, ceph,
            pace,       looks} {
    parts.holds_starts = [this] { return holds_starts_ || is_cleaning_; };
    follow_causes();
    calls.on_end = [this](const uuid& id) { look_at(id); };
    table.on_read = [this](domain_row& row) { look_at(row.id); };
    table.on_replaced = [](const domain_row& row) {
        row.here->adoption.begin_anew();
        row.here->migration.is_sent_by_us = false;
    };
    table.on_loaded = [this] { work_.notify(); };
    table.is_local = [](const domain_row& row) { return row.here != nullptr; };
    observed.on_change = [this](const uuid& id) {
        domain_row* row = table.find(id);
        if (row != nullptr && row->here) {
            row->here->class_since = node.clock().now();
            const auto now = observed.class_of(id);
            row->here->migration.is_stale_half =
                row->here->migration.is_stale_half && (!now || now == guest_class::incoming);
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
    using kind = policy::guest_noise_kind;
    switch (event.what) {
        case hypervisor::event_kind::rebooted: tell_noise(*row, kind::reboot, {}); break;
        case hypervisor::event_kind::io_error: tell_noise(*row, kind::io_error, event.detail); break;
        case hypervisor::event_kind::watchdog: tell_noise(*row, kind::watchdog, event.detail); break;
        case hypervisor::event_kind::devices_changed: row->here->live_is_stale = true; break;
        case hypervisor::event_kind::job_ended: row->here->changed.notify(); break;
        case hypervisor::event_kind::status: break;
    }
}

namespace {

std::string noisy_name(const domain_row& row) {
    return row.here && !row.here->name.empty() ? shown(row.here->name) : to_text(row.id);
}

}  // namespace

// A guest writes these as often as it likes.
void manager::tell_noise(const domain_row& row, policy::guest_noise_kind kind, const std::string& said) {
    if (!noise_.is_first(row.id, kind, said, node.clock().now())) {
        return;
    }
    work_.notify();  // there is a time at which the number of the others is told
    switch (kind) {
        case policy::guest_noise_kind::reboot: node.log.info("the guest rebooted", noisy_name(row)); break;
        case policy::guest_noise_kind::io_error:
            node.log.warning(message::domain_io_error, "I/O error of a disk: " + said, noisy_name(row));
            break;
        case policy::guest_noise_kind::watchdog:
            node.log.warning(message::domain_watchdog, "its watchdog fired: " + said, noisy_name(row));
            break;
        case policy::guest_noise_kind::sleep:
            node.log.warning(message::domain_paused, "it is paused (the guest sleeps) and left as it is",
                             noisy_name(row));
            break;
    }
}

void manager::tell_counted_noise(time_point now) {
    for (const auto& of : noise_.take_due(now)) {
        const domain_row* row = table.find(of.guest);
        const std::string name = row == nullptr ? to_text(of.guest) : noisy_name(*row);
        switch (of.kind) {
            case policy::guest_noise_kind::reboot: node.log.info(to_text(of), name); break;
            case policy::guest_noise_kind::io_error:
                node.log.warning(message::domain_io_error, to_text(of), name);
                break;
            case policy::guest_noise_kind::watchdog:
                node.log.warning(message::domain_watchdog, to_text(of), name);
                break;
            case policy::guest_noise_kind::sleep: node.log.warning(message::domain_paused, to_text(of), name); break;
        }
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
    return std::min(due, noise_.next_due().value_or(due));
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
    auto stored = co_await s.zk.get(s.limit(list_read_limit), s.own(model::node_key::running_domains));
    std::vector<uuid> active;
    for (const auto& id : observed.present()) {
        const domain_row* row = table.find(id);
        const bool is_arriving = row != nullptr && row->is_owner && policy::is_migration(row->state) &&
                                 observed.class_of(id) == guest_class::incoming;
        if (row != nullptr && row->is_present && !is_arriving) {
            active.push_back(id);
        }
    }
    std::ranges::copy(take_lost_creations(), std::back_inserter(active));
    list.begin(stored ? stored->data : std::string(), active);
}

async::awaitable<void> manager::dispatch(core::session& s) {
    // No table is asked before both sides were read in full.
    const async::latest<zookeeper::session_state>::observer follow(s.zk.state(), work_);
    while (!table.is_loaded() || !observed.ever_known()) {
        co_await work_.wait_until(node.clock(), node.clock().now() + 1s, "the first reading of all virtual machines");
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
        tell_counted_noise(now);
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

// One that ends before it is looked at is to be started again, and stays in the list until then.
void manager::look_anew(local_domain& here) {
    here.adoption.is_restarting = here.adoption.is_restarting || here.adoption.is_adopted;
    here.adoption.is_adopted = false;
    here.adoption.untidy();
}

async::awaitable<void> manager::run(core::session& s) {
    session_ = &s;
    is_open_ = false;
    obey_settings();
    holds_starts_ = true;  // until the node's own domain state was read
    for (auto& [id, row] : table.rows()) {
        if (row.here) {
            row.here->console.reset();
            look_anew(*row.here);
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
    co_await async::with_task_group("domains", [&](async::task_group& group) -> async::awaitable<void> {
        operations_ = &group;
        parts.consoles_scope = &group;
        group.spawn("table", [&] { return table.run(s); });
        group.spawn("hold", [&] { return follow_hold(s); });
        group.spawn("running list", [&] { return list.publish(s); });
        group.spawn("migration records", [&] { return migration_records.run(); });
        group.spawn("creation records", [&] { return creation_records.run(); });
        group.spawn("networks", [&] { return follow_networks(); });
        group.spawn("held-up machines", [&] { return tell_waiting(); });
        co_await dispatch(s);
    });
}

async::awaitable<bool> manager::wait_loaded(time_point deadline) {
    const bool is_read = co_await table.wait_loaded(std::min(deadline, node.clock().now() + loading_limit));
    const bool is_listed = co_await observed.wait_known(deadline);
    if (is_read && is_listed) {
        const auto is_open = [this] { return is_open_; };
        co_return co_await idle_.wait_until(is_open, node.clock(), deadline, "the first look at all virtual machines");
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
    // A creation that is out comes true, whether this daemon is there or not: as long as there is time, what came of it
    // is told. What is out at the end stays in the running list.
    const auto is_done = [this] {
        return std::ranges::none_of(table.rows(), [](const auto& entry) {
            const auto& here = entry.second.here;
            return here && (here->doing == domain_action::send || here->is_being_created);
        });
    };
    co_await idle_.wait_until(is_done, node.clock(), deadline, "the end of migrations and creations");
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
