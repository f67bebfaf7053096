#include "guest_shell.hpp"

#include "pvcnoded/async/deadline.hpp"
#include "pvcnoded/base/guard.hpp"
#include "pvcnoded/base/planted.hpp"
#include "pvcnoded/base/text.hpp"
#include "pvcnoded/model/domain_payloads.hpp"
#include "pvcnoded/model/scalar.hpp"
#include "pvcnoded/zookeeper/lock.hpp"

#include <algorithm>
#include <utility>

namespace pvc::fencing {

namespace ask = policy::recovery_ask;
namespace said = policy::recovery_said;
using namespace std::chrono_literals;

namespace {

constexpr duration state_lock_limit = 15s;
// So long machines are watched after the last one was written: the next dead node waits for the end of this recovery.
constexpr duration watched_after_all = 30s;

// What was done is recorded, also where its end is not waited for.
template <class Note>
struct unfinished {
    explicit unfinished(Note what) : note(std::move(what)) {}
    unfinished(const unfinished&) = delete;
    unfinished& operator=(const unfinished&) = delete;
    ~unfinished() {
        if (!is_over) {
            note();
        }
    }
    Note note;
    bool is_over = false;
};

std::vector<policy::recorded_lock> recorded(const std::vector<placement::lock_fate>& all) {
    std::vector<policy::recorded_lock> out;
    for (const auto& one : all) {
        out.push_back({one.volume, one.id, one.client, one.address, one.outcome});
    }
    return out;
}

}  // namespace

guest_shell::guest_shell(recovery_shared& of, policy::guest_recovery machine, std::size_t number)
    : shared_(of), machine_(std::move(machine)), number_(number), reader_(of.s, of.order, of.under, machine_.id) {}

std::string guest_shell::name() const {
    return view_.name.empty() ? to_text(machine_.id) : view_.name;
}

// ---- reads ----------------------------------------------------------------------------------------------------------

// The first read of an attempt is of everything. One that is asked for in the same turn of the loop in which another
// was answered is that one: nothing was done since.
async::awaitable<said::read> guest_shell::read(time_point until) {
    if (!std::exchange(is_view_new_, false)) {
        if (machine_.where == policy::guest_recovery::at::reading) {
            view_ = co_await reader_.read(until);
            take_lists();
        } else {
            view_ = co_await reader_.read_again(view_, until);
        }
        is_view_new_ = true;
        if (!view_.name.empty()) {
            shared_.under.name_machine(machine_.id, view_.name);
            shared_.names[machine_.id] = view_.name;
        }
    }
    co_return view_.said;
}

// A machine that shuts down was read with the lists as they are.
void guest_shell::take_lists() {
    if (!view_.said.guest || view_.said.guest->state == model::vm_state::shutdown) {
        return;
    }
    for (const auto& [node, list] : shared_.lists) {
        if (model::lists_domain(list, machine_.id)) {
            view_.said.guest->listed_by.push_back(node);
        }
    }
}

// Before each lock and each client: as in the last read of the machine.
async::awaitable<std::optional<boot_time>> guest_shell::still_so() {
    const guest_view now = co_await reader_.read_again(view_, shared_.s.limit());
    const auto& victim = now.said.victim;
    const bool stands = victim && !victim->is_gone && victim->state_id == machine_.mark_id &&
                        victim->heartbeat_id == machine_.heartbeat_id && now.said.has_lock;
    const bool is_same = now.said.guest && view_.said.guest && now.said.guest->state_id == view_.said.guest->state_id &&
                         now.said.guest->node == view_.said.guest->node;
    co_return stands&& is_same ? std::optional(now.sent) : std::nullopt;
}

async::awaitable<void> guest_shell::ask_other(said::other_node_said& one, time_point until) {
    using hypervisor::call_error;
    if (shared_.ports.hypervisors == nullptr) {
        co_return;
    }
    const auto status = co_await shared_.ports.hypervisors->ask(libvirtd_of(shared_.s, one.node), machine_.id,
                                                                std::min(until, shared_.s.limit(5s)));
    if (status) {
        one.answer = policy::answer_of(*status);
        co_return;
    }
    switch (status.error().code) {
        case call_error::no_domain: one.answer = policy::remote_answer::absent; break;
        case call_error::refused: one.answer = policy::remote_answer::refused; break;
        case call_error::hanging: one.answer = policy::remote_answer::hanging; break;
        default: break;
    }
}

async::awaitable<said::others> guest_shell::ask_others(time_point until) {
    said::others out;
    const auto names = co_await nodes_but(shared_.s, machine_.dead_node, until);
    if (!names) {
        co_return out;
    }
    std::vector<zookeeper::read_wish> wishes;
    for (const auto& one : *names) {
        wishes.push_back({.path = model::node_path(one, model::node_key::daemon_state)});
        wishes.push_back({.path = model::node_path(one, model::node_key::running_domains)});
    }
    const auto answers = co_await shared_.s.zk.read_together(until, std::move(wishes));
    for (std::size_t i = 0; i < names->size(); ++i) {
        const auto& daemon = answers[2 * i];
        const auto& running = answers[2 * i + 1];
        const auto is_unknown = [](const auto& one) { return !one && one.error().code() != errc::not_found; };
        if (is_unknown(daemon) || is_unknown(running)) {
            co_return out;
        }
        said::other_node_said one;
        one.node = (*names)[i];
        one.daemon = model::daemon_state_or_fallback(daemon ? daemon->data : std::string());
        one.lists_it = running && model::lists_domain(running->data, machine_.id);
        out.nodes.push_back(std::move(one));
    }
    co_await async::for_each_bounded("hypervisors", std::max<std::size_t>(out.nodes.size(), 1), out.nodes,
                                     [this, until](said::other_node_said& one) { return ask_other(one, until); });
    out.is_known = true;
    co_return out;
}

// ---- Ceph -----------------------------------------------------------------------------------------------------------

placement::rbd_clearing guest_shell::locks() const {
    const std::string prefix = "virtual machine " + name() + " of " + shown(machine_.dead_node) + ": ";
    core::log_hub& log = shared_.s.node.log;
    const auto tell = [&log, prefix](policy::act::line line) {
        using level = policy::act::line::level;
        switch (line.how) {
            case level::warning: log.warning(line.id, prefix + line.text); break;
            case level::error: log.error(line.id, prefix + line.text); break;
            default: log.info(prefix + line.text); break;
        }
    };
    return {*shared_.ports.locks, clock(), placement::addresses_of(*shared_.s.node.config), tell};
}

async::awaitable<said::cleared> guest_shell::clear(ask::clear_locks what) {
    using kind = said::cleared::kind;
    if (shared_.ports.locks == nullptr) {
        co_return said::cleared{kind::no_ceph, "this node does not speak to Ceph", {}, {}};
    }
    auto clearing = locks();
    unfinished end([&] {
        shared_.under.note(policy::fence_entry::guest{
            .id = machine_.id, .step = "locks, not finished", .locks = recorded(clearing.done_so_far())});
    });
    auto done =
        co_await clearing.for_recovery(std::move(what.volumes), [this] { return still_so(); }, std::move(what.blocked));
    end.is_over = true;
    said::cleared out;
    out.address = std::move(done.address);
    out.reason = std::move(done.reason);
    out.locks = recorded(done.record);
    using outcome = placement::lock_outcome::kind;
    switch (done.what) {
        case outcome::clear: out.what = kind::clear; break;
        case outcome::refused: out.what = done.is_no_ceph ? kind::no_ceph : kind::refused; break;
        case outcome::not_understood: out.what = kind::not_understood; break;
        case outcome::changed: out.what = kind::changed; break;
    }
    co_return out;
}

async::awaitable<said::proven> guest_shell::prove(ask::prove_silent what) {
    using kind = said::proven::kind;
    if (shared_.ports.locks == nullptr) {
        co_return said::proven{kind::no_ceph, "this node does not speak to Ceph", {}};
    }
    auto clearing = locks();
    unfinished end([&] {
        const auto& proof = clearing.proof_so_far();
        if (!proof.clients.empty()) {
            shared_.under.note(policy::fence_entry::guest{.id = machine_.id,
                                                          .step = "clients of its disks, not all seen blocklisted",
                                                          .clients = proof.clients,
                                                          .volumes = proof.volumes});
        }
    });
    auto done =
        co_await clearing.prove_silent(std::move(what.volumes), [this] { return still_so(); }, std::move(what.before));
    end.is_over = true;
    using outcome = policy::proving_by_storage::outcome;
    switch (done.what) {
        case outcome::proven: co_return said::proven{kind::proven, {}, std::move(done.blocklisted)};
        case outcome::refused:
            co_return said::proven{done.is_no_ceph ? kind::no_ceph : kind::refused, std::move(done.reason),
                                   std::move(done.clients)};
        case outcome::changed: break;
    }
    co_return said::proven{kind::changed, {}, std::move(done.clients)};
}

// On the proof of the last read, which was for this.
async::awaitable<said::done> guest_shell::blocklist(ask::blocklist what, time_point until) {
    if (shared_.ports.locks == nullptr) {
        co_return said::done{"this node does not speak to Ceph"};
    }
    const auto done = co_await shared_.ports.locks->blocklist_by_command(
        what.address, what.time, guarded_until(view_.sent + zookeeper::guard_validity), until);
    if (!done) {
        co_return said::done{done.error().text()};
    }
    shared_.s.node.log.info("virtual machine " + name() + " of " + shown(machine_.dead_node) +
                            ": blocklisted the RBD client " + shown(what.address) + " by command");
    co_return said::done{};
}

async::awaitable<said::blocklist_read> guest_shell::read_blocklist(time_point until) {
    if (shared_.ports.locks == nullptr) {
        co_return said::blocklist_read{{}, "this node does not speak to Ceph"};
    }
    auto listed = co_await shared_.ports.locks->blocklisted(until);
    co_return listed ? said::blocklist_read{*std::move(listed), {}} : said::blocklist_read{{}, listed.error().text()};
}

// ---- the write ------------------------------------------------------------------------------------------------------

zookeeper::transaction guest_shell::transaction_of(const ask::write& what) const {
    using kind = ask::write::kind;
    const guest_versions& seen = view_.versions;
    const std::string root = model::domain_path(to_text(machine_.id));
    zookeeper::transaction out;
    const auto put = [&](std::string_view suffix, std::optional<std::string> value, std::int32_t version) {
        const std::string path = root + std::string(suffix);
        if (value && version < 0) {
            out.create(path, *std::move(value));
        } else if (value) {
            out.set(path, *std::move(value), version);
        } else if (version >= 0) {
            out.check(path, version);
        }
    };
    const bool is_off = what.what == kind::stopped || what.what == kind::parks;
    std::optional<std::string> autostart;
    if (what.what == kind::parks || what.what == kind::revives) {
        autostart = std::string(model::boolean_text(what.what == kind::parks));
    }
    const auto unless_off = [is_off](const std::string& value) {
        return is_off ? std::nullopt : std::optional<std::string>(value);
    };
    const auto state = is_off ? model::vm_state::stop : model::vm_state::start;
    put(model::domain_key::state, std::string(model::to_text(state)), seen.state);
    put(model::domain_key::node, unless_off(what.node), seen.node);
    put(model::domain_key::last_node, unless_off(what.last_node), seen.last_node);
    put(model::domain_key::node_autostart, std::move(autostart), seen.autostart);
    if (!is_planted(defect::fence_unchecked_write)) {
        out.check(model::node_path(machine_.dead_node, model::node_key::daemon_state), seen.victim_state);
        out.check(model::node_path(machine_.dead_node, model::node_key::keepalive), seen.victim_heartbeat);
    }
    if (what.what == kind::moves || what.what == kind::revives) {
        out.append(target_checks_);
    }
    shared_.under.add_check(out);
    return out;
}

async::awaitable<policy::fence_said::written> guest_shell::write(ask::write what, time_point until) {
    using end = policy::fence_said::written::end;
    policy::fence_said::written out;
    zookeeper::lock_request lock;
    lock.path = model::domain_path(to_text(machine_.id), model::domain_key::state);
    lock.deadline = std::min(until, shared_.s.limit(state_lock_limit));
    lock.task = "fence";
    lock.reason = "recovering it from " + machine_.dead_node;
    const auto body = [&](zookeeper::held_lock& held) -> async::awaitable<result<void>> {
        auto write = transaction_of(what);
        held.add_check(write);
        const auto written = co_await shared_.s.zk.commit(shared_.s.limit(), std::move(write));
        if (!written) {
            co_return written.error();
        }
        out.how = end::written;
        out.zxid = written->zxid();
        co_return result<void>();
    };
    const auto done = co_await shared_.s.locks.with_lock(std::move(lock), body);
    if (!done && out.how != end::written) {
        const errc why = done.error().code();
        const bool is_overtaken =
            why == errc::version_conflict || why == errc::not_found || why == errc::already_exists;
        out.how = is_overtaken ? end::overtaken : end::unknown;
    }
    co_return out;
}

// That node's list names it. Its daemon may say `fail` instead, or a client something else.
async::awaitable<said::seen_to_run> guest_shell::watch(std::string node, time_point until) {
    async::wakeup changed;
    const async::condition::observer here(shared_.changed, changed);
    const auto list = shared_.s.watches.add(model::node_path(node, model::node_key::running_domains),
                                            zookeeper::watch_kind::data, changed);
    const auto state = shared_.s.watches.add(model::domain_path(to_text(machine_.id), model::domain_key::state),
                                             zookeeper::watch_kind::data, changed);
    for (;;) {
        if (list->known() && list->present() && model::lists_domain(list->data(), machine_.id)) {
            co_return said::seen_to_run{.is = true};
        }
        const bool is_new = state->known() && (!state->present() || state->stat().mzxid > machine_.zxid);
        const time_point end = shared_.all_done ? std::min(until, *shared_.all_done + watched_after_all) : until;
        if (is_new || clock().now() >= end) {
            co_return said::seen_to_run{.is_changed = is_new};
        }
        co_await changed.wait_until(clock(), end, "it to run on its new node");
    }
}

// ---- the loop -------------------------------------------------------------------------------------------------------

async::awaitable<said::any> guest_shell::answer_to(ask::any what, time_point until) {
    if (std::holds_alternative<ask::guarded_read>(what)) {
        co_return co_await read(until);
    }
    is_view_new_ = false;
    if (std::holds_alternative<ask::time>(what)) {
        co_await async::sleep_until(clock(), until, "another attempt to recover it");
        co_return said::woken{};
    }
    if (std::holds_alternative<ask::others>(what)) {
        co_return co_await ask_others(until);
    }
    if (auto* wanted = std::get_if<ask::target>(&what)) {
        auto place = co_await shared_.planning.place(machine_.dead_node, machine_.id, view_,
                                                     std::move(wanted->preferred), wanted->is_again);
        target_checks_ = std::move(place.checks);
        co_return std::move(place.plan);
    }
    if (auto* which = std::get_if<ask::clear_locks>(&what)) {
        co_return co_await clear(std::move(*which));
    }
    if (auto* which = std::get_if<ask::prove_silent>(&what)) {
        co_return co_await prove(std::move(*which));
    }
    if (auto* which = std::get_if<ask::record>(&what)) {
        const bool is_synced = co_await shared_.under.record(std::move(which->entry));
        co_return is_synced ? said::done{} : said::done{"the record of this fence cannot be written"};
    }
    if (auto* which = std::get_if<ask::blocklist>(&what)) {
        co_return co_await blocklist(std::move(*which), until);
    }
    if (std::holds_alternative<ask::blocklisted>(what)) {
        co_return co_await read_blocklist(until);
    }
    if (auto* which = std::get_if<ask::write>(&what)) {
        co_return co_await write(std::move(*which), until);
    }
    if (auto* which = std::get_if<ask::runs>(&what)) {
        co_return co_await watch(std::move(which->node), until);
    }
    co_return said::woken{};
}

async::awaitable<policy::guest_recovery> guest_shell::run() {
    using places = async::ordered_semaphore<std::size_t>;
    std::optional<places::place> slot(co_await shared_.slots.take(number_, "its turn among eight machines"));
    if (shared_.is_node_back || !shared_.under.holds()) {
        machine_.where = policy::guest_recovery::at::over;
        machine_.end = shared_.is_node_back ? policy::guest_end::node_back : policy::guest_end::abandoned;
    }
    said::any heard = said::woken{};
    std::vector<policy::fence_entry::guest> notes;
    while (machine_.where != policy::guest_recovery::at::over) {
        auto next = machine_.resume(heard, clock().now(), notes);
        for (auto& one : std::exchange(notes, {})) {
            shared_.under.note(std::move(one));
        }
        if (slot && !machine_.holds_slot()) {
            slot.reset();
            leave_work();
        }
        if (next.is_over()) {
            break;
        }
        heard = co_await answer_in_time(std::move(next));
    }
    if (slot) {
        leave_work();
    }
    if (machine_.end != policy::guest_end::recovered && machine_.end != policy::guest_end::unseen) {
        shared_.planning.take_back(machine_.id);
    }
    shared_.is_node_back |= machine_.end == policy::guest_end::node_back;
    co_return machine_;
}

void guest_shell::leave_work() {
    if (--shared_.at_work == 0) {
        shared_.all_done = clock().now();
        shared_.changed.notify_all();
    }
}

// What is late has not answered. Waiting for one of the four places does not count.
async::awaitable<said::any> guest_shell::answer_in_time(policy::recovery_step next) {
    using places = async::ordered_semaphore<std::size_t>;
    const time_point asked = clock().now();
    std::optional<places::place> place;
    const bool breaks_locks =
        std::holds_alternative<ask::clear_locks>(next.what) || std::holds_alternative<ask::prove_silent>(next.what);
    if (breaks_locks) {
        place.emplace(co_await shared_.clearing.take(number_, "its turn among four that clear locks"));
    }
    const bool is_bounded =
        std::holds_alternative<ask::time>(next.what) || std::holds_alternative<ask::runs>(next.what);
    const time_point until = next.until + (clock().now() - asked);
    const auto wrapped = [](async::awaitable<said::any> of) -> async::awaitable<result<said::any>> {
        auto answer = co_await std::move(of);
        co_return result<said::any>(std::move(answer));
    };
    if (is_bounded) {
        co_return co_await answer_to(std::move(next.what), until);
    }
    auto heard = co_await async::with_deadline(clock(), until, std::string(next.reason),
                                               wrapped(answer_to(std::move(next.what), until)));
    co_return heard ? *std::move(heard) : said::any(said::woken{});
}

}  // namespace pvc::fencing
