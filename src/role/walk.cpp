#include "walk.hpp"

#include "pvcnoded/base/planted.hpp"
#include "pvcnoded/model/node_payloads.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pvc::role {

using model::router_state;
using policy::role_answer;
using policy::role_lock;
namespace ask = policy::role_ask;

namespace {

std::string name_of(const std::string& path) {
    return path.substr(path.rfind('/') + 1);
}

bool is_late(const walk::machine& which) {
    const auto* const holder = std::get_if<policy::holder>(&which);
    return holder != nullptr && holder->is_late;
}

}  // namespace

walk::walk(core::session& s, owner& role, walk_ground& ground, machine which, std::string why)
    : session_(s), role_(role), ground_(ground), machine_(std::move(which)), why_(std::move(why)) {
    step_since_ = s.node.clock().now();
    if (std::visit([](const auto& one) { return one.is_empty; }, machine_)) {
        return;  // a write and no locks: nobody is waited for
    }
    using zookeeper::watch_kind;
    on_primary_ = s.watches.add(std::string(model::key_path::primary_node), watch_kind::children, changed_);
    on_sync_ = s.watches.add(std::string(model::key_path::primary_sync_lock), watch_kind::children, changed_);
}

bool walk::is_nobodys_turn(const std::string& child) const {
    return orphans_.contains(child) || std::ranges::any_of(own_guids_, [&child](const auto& guid) {
               return !guid.empty() && child.starts_with(guid);
           });
}

policy::hand_over_seen walk::look() const {
    policy::hand_over_seen seen;
    seen.view = ground_.view();
    if (!on_sync_) {
        return seen;
    }
    for (const auto& name : on_sync_->names()) {
        const auto child = model::parse_lock_child(name);
        if (child && !is_nobodys_turn(name)) {
            seen.on_sync.push_back({child->sequence, child->tag});
        }
    }
    seen.is_candidate_there = std::ranges::any_of(on_primary_->names(), [&](const std::string& name) {
        const auto child = model::parse_lock_child(name);
        return child && child->tag == model::lock_tag::lock && !is_nobodys_turn(name);
    });
    seen.has_waited_for_writer = has_waited_for_writer_;
    seen.candidate_ahead = candidate_ahead_;
    if (const auto* held = lock_of(role_lock::sync).held) {
        const auto child = model::parse_lock_child(name_of(held->child()));
        seen.own_on_sync = child ? std::optional(child->sequence) : std::nullopt;
        // Each child has the next number, so one is missing that nobody may have seen.
        seen.was_overtaken =
            turn_ended_ >= 0 && seen.own_on_sync.value_or(0) > std::max(turn_ended_, known_reader_) + 1;
    } else if (lock_of(role_lock::sync).kept != nullptr) {
        seen.queued_on_sync = queued_on_sync();
        seen.known_reader = known_reader_;
    }
    return seen;
}

std::optional<std::int64_t> walk::queued_on_sync() const {
    const auto& guid = own_guids_.back();
    for (const auto& name : on_sync_->names()) {
        const auto child = model::parse_lock_child(name);
        if (child && !guid.empty() && name.starts_with(guid)) {
            return child->sequence;
        }
    }
    return std::nullopt;
}

// The lock stays queued; the next one is not queued for while these readers are there, as after a release.
bool walk::is_passed(role_lock which) {
    const auto* const one = std::get_if<policy::candidate>(&machine_);
    if (which != role_lock::sync || !on_sync_ || one == nullptr || !one->is_passed(look())) {
        return false;
    }
    const auto own = queued_on_sync();
    for (const auto& name : on_sync_->names()) {
        const auto child = model::parse_lock_child(name);
        if (child && child->tag == model::lock_tag::rlock && own && child->sequence < *own &&
            !orphans_.contains(name)) {
            drain_.readers.push_back(std::string(model::key_path::primary_sync_lock) + "/" + name);
        }
    }
    return true;
}

bool walk::is_behind_writer() const {
    const auto& guid = own_guids_.back();
    std::optional<std::int64_t> own;
    std::optional<std::int64_t> first_writer;
    for (const auto& name : on_sync_->names()) {
        const auto child = model::parse_lock_child(name);
        if (!child) {
            continue;
        }
        if (!guid.empty() && name.starts_with(guid)) {
            own = child->sequence;
        } else if (child->tag == model::lock_tag::lock && !is_nobodys_turn(name)) {
            first_writer = std::min(first_writer.value_or(child->sequence), child->sequence);
        }
    }
    return own && first_writer && *first_writer < *own;
}

bool walk::must_end() const {
    const auto seen = look();
    return std::visit([&seen](const auto& one) { return one.must_end(seen); }, machine_);
}

policy::role_step walk::resume(role_answer said) {
    const auto seen = look();
    const policy::role_event event{seen, said, session_.node.clock().now()};
    const bool was_late = is_late(machine_);
    auto next = std::visit([&event](auto& one) { return one.resume(event); }, machine_);
    if (next.reason != step_.reason || next.what != step_.what) {
        step_since_ = event.now;
    }
    step_ = next;
    if (is_late(machine_) && !was_late) {
        session_.node.log.info(
            fmt::format("the candidate began {:.1f} s ago: giving everything up without waiting for its turns",
                        std::chrono::duration<double>(candidate_ahead_).count()));
    }
    return next;
}

async::awaitable<void> walk::run() {
    const async::latest<std::uint64_t>::observer looks(ground_.looks(), changed_);
    const async::latest<model::router_state>::observer role(session_.node.role.changes(), changed_);
    const async::latest<zookeeper::session_state>::observer link(session_.zk.state(), changed_);
    co_await async::with_task_group("hand-over", [this](async::task_group& scope) -> async::awaitable<void> {
        co_await go_on(scope);
        scope.cancel();
    });
}

async::awaitable<void> walk::go_on(async::task_group& scope) {
    // Who is queued must be known before that says anything.
    const time_point limit = session_.limit();
    while (on_sync_ && (!on_primary_->known() || !on_sync_->known()) && session_.node.clock().now() < limit) {
        const bool notified =
            co_await changed_.wait_until(session_.node.clock(), limit, "who is queued for the locks of the role");
        ignore(result<bool>(notified), "the loop looks again");
    }
    co_await find_orphans();
    auto step = resume(role_answer::woken);
    while (!step.is_over()) {
        const role_answer said = co_await carry_out(step, scope);
        step = resume(said);
    }
}

async::awaitable<void> walk::find_orphans() {
    std::vector<std::string> paths;
    for (const auto* queue : {on_primary_.get(), on_sync_.get()}) {
        const auto names = queue != nullptr ? queue->names() : std::vector<std::string>();
        for (const auto& name : names) {
            if (model::parse_lock_child(name)) {
                paths.push_back(queue->path() + "/" + name);
            }
        }
    }
    for (const auto& path : paths) {
        auto found = co_await session_.zk.get(session_.limit(), path);
        if (found && found->stat.ephemeral_owner == 0) {
            orphans_.insert(name_of(path));
        }
    }
}

async::awaitable<role_answer> walk::carry_out(const policy::role_step& step, async::task_group& scope) {
    if (std::holds_alternative<ask::change>(step.what)) {
        if (step.until == time_point::max()) {
            co_await changed_.wait(async::wait_note::work(step.reason));
            co_return role_answer::woken;
        }
        const bool notified = co_await changed_.wait_until(session_.node.clock(), step.until, step.reason);
        ignore(result<bool>(notified), "the machine looks at the clock");
        co_return role_answer::woken;
    }
    if (const auto* lock = std::get_if<ask::have_lock>(&step.what)) {
        co_return co_await have_lock(*lock, step.until, scope);
    }
    if (const auto* lock = std::get_if<ask::release>(&step.what)) {
        co_await release(lock->which);
        co_return role_answer::done;
    }
    if (const auto* role = std::get_if<ask::write_role>(&step.what)) {
        co_return co_await write_role(*role);
    }
    if (const auto* part = std::get_if<ask::take_up>(&step.what)) {
        const role_answer is_held = co_await verify_locks();
        if (is_held != role_answer::done) {
            co_return is_held;
        }
        const auto which = part->which;
        co_return co_await do_part([this, which] { return role_.take_up(which, session_); });
    }
    if (const auto* part = std::get_if<ask::give_up>(&step.what)) {
        const auto which = part->which;
        const bool is_undo = std::holds_alternative<policy::candidate>(machine_);
        co_return co_await do_part([this, which, is_undo] {
            core::session* const reachable = session_.zk.is_connected() ? &session_ : nullptr;
            return is_undo ? role_.undo_phase(which, reachable) : role_.give_up(which, reachable);
        });
    }
    co_return co_await clear_sync();
}

async::awaitable<role_answer> walk::have_lock(ask::have_lock what, time_point until, async::task_group& scope) {
    lock_here& here = lock_of(what.which);
    const bool is_sync = what.which == role_lock::sync;
    zookeeper::lock_request request;
    request.path = std::string(is_sync ? model::key_path::primary_sync_lock : model::key_path::primary_node);
    request.kind = what.kind;
    request.deadline = until;
    request.create_ancestors = true;
    request.task = "coordinator";
    request.reason = why_;
    is_writing_ = is_sync ? what.kind == model::lock_kind::write : is_writing_;
    request.drain = is_sync && what.kind == model::lock_kind::write ? &drain_ : nullptr;
    request.guid = &own_guids_.emplace_back();
    std::erase_if(drain_.readers, [this](const auto& reader) { return orphans_.contains(name_of(reader)); });
    for (const auto& reader : drain_.readers) {
        const auto child = model::parse_lock_child(name_of(reader));
        known_reader_ = std::max(known_reader_, child ? child->sequence : known_reader_);
    }
    auto with = [this, &here, request](core::kept_locks::body body) -> async::awaitable<result<void>> {
        co_return co_await session_.locks.with_lock(
            request, [&here, &body](zookeeper::held_lock& held) -> async::awaitable<result<void>> {
                struct noted {
                    lock_here& here;
                    ~noted() { here.held = nullptr; }
                };
                const noted guard{here};
                here.held = &held;
                co_return co_await body();
            });
    };
    here.kept = std::make_unique<core::kept_locks>(scope, changed_, std::move(with));
    using status = core::kept_locks::status;
    has_waited_for_writer_ = false;
    while (here.kept->state() == status::pending) {
        has_waited_for_writer_ = has_waited_for_writer_ || (is_sync && on_sync_ && is_behind_writer());
        if (must_end()) {
            co_await release(what.which);
            co_return role_answer::ended;
        }
        if (is_passed(what.which)) {
            session_.node.log.info("the other side is a step ahead: its turn is taken as it comes");
            co_return role_answer::passed;
        }
        co_await changed_.wait(async::wait_note::work(to_text(what.which)));
    }
    if (here.kept->state() == status::held) {
        if (is_sync && look().was_overtaken) {
            session_.node.log.info("the other side is a step ahead: it has come between two turns");
        }
        co_return role_answer::done;
    }
    session_.node.log.warning(message::role_lock_missed, fmt::format("{}: {}", to_text(what.which), here.kept->text()));
    co_await release(what.which);
    co_return role_answer::failed;
}

async::awaitable<void> walk::release(role_lock which) {
    lock_here& here = lock_of(which);
    if (!here.kept) {
        co_return;
    }
    if (which == role_lock::sync) {
        turn_ended_ = is_writing_ ? look().own_on_sync.value_or(-1) : -1;
    }
    here.kept->release();
    while (!here.kept->has_ended()) {
        co_await changed_.wait(async::wait_note::work("the release of a lock"));
    }
    here.kept.reset();
}

async::awaitable<role_answer> walk::verify_locks() {
    for (auto& here : locks_) {
        if (here.held == nullptr || here.held->valid()) {
            continue;
        }
        auto seen = co_await here.held->verify(session_.limit());
        if (!seen) {
            co_return seen.error().code() == errc::refused ? role_answer::lost : role_answer::failed;
        }
    }
    co_return role_answer::done;
}

async::awaitable<role_answer> walk::clear_sync() {
    const std::string key(model::key_path::primary_sync_lock);
    zookeeper::transaction change;
    change.set(key, "", zookeeper::any_version);
    for (const auto& here : locks_) {
        if (here.held != nullptr) {
            here.held->add_check(change);
        }
    }
    auto done = co_await session_.zk.commit(session_.limit(), std::move(change));
    if (done) {
        co_return role_answer::done;
    }
    if (done.error().code() == errc::not_found && done.error().subject() == key) {
        auto created = co_await session_.zk.create(session_.limit(), key, "");
        co_return created ? role_answer::done : role_answer::failed;
    }
    if (done.error().code() == errc::not_found) {
        co_return role_answer::lost;  // an own child: somebody deleted it, or the session is another
    }
    session_.node.log.warning(message::role_lock_missed, "clearing " + key + ": " + done.error().text());
    co_return role_answer::failed;
}

async::awaitable<role_answer> walk::write_role(ask::write_role what) {
    const router_state to = what.to;
    const auto* const candidate = std::get_if<policy::candidate>(&machine_);
    const bool has_locks = to == router_state::primary && candidate != nullptr && !candidate->is_empty;
    if (has_locks) {
        const role_answer is_held = co_await verify_locks();
        if (is_held != role_answer::done) {
            co_return is_held;
        }
    }
    std::string why = candidate != nullptr && !candidate->withdrawn.empty() ? candidate->withdrawn : why_;
    // What was seen when this was asked for, not what the watch shows by now.
    auto guard = [this, has_locks, named = what.named](zookeeper::transaction& change) mutable {
        if (named) {
            named = is_planted(defect::role_written_late) ? std::optional(ground_.view().primary.version) : named;
            change.check(std::string(model::key_path::primary_node), *named);
        }
        if (const auto* held = has_locks ? lock_of(role_lock::primary).held : nullptr) {
            held->add_check(change);
        }
    };
    const bool is_written = co_await ground_.change_role(to, std::move(why), std::move(guard));
    if (is_written && to == router_state::relinquish && on_primary_) {
        const time_point written = session_.node.clock().now();
        const duration ahead = co_await find_candidate_ahead();
        candidate_ahead_ = ahead > duration::zero() ? ahead + (session_.node.clock().now() - written) : ahead;
    }
    co_return is_written ? role_answer::done : role_answer::failed;
}

// Both times are the servers': how long this node stood still, and what its own clock says of that, does not matter.
async::awaitable<duration> walk::find_candidate_ahead() const {
    const auto own = co_await session_.zk.get(session_.limit(), session_.own(model::node_key::router_state));
    const auto named = ground_.view().primary.node;
    if (!own || !named) {
        co_return duration::zero();
    }
    const std::int64_t own_session = session_.zk.state().value().session_id;
    for (const auto& child : model::contenders(on_primary_->names(), model::lock_tag::lock)) {
        const auto found =
            co_await session_.zk.get(session_.limit(), std::string(model::key_path::primary_node) + "/" + child.name);
        if (!found || found->stat.ephemeral_owner == 0 || found->stat.ephemeral_owner == own_session) {
            continue;
        }
        // Whoever says who it is (a reference node does not) is another's lock, or one that this node has left behind.
        const auto colon = found->data.find(':');
        if (colon == std::string::npos || std::string_view(found->data).substr(0, colon) == *named) {
            co_return std::max(duration::zero(), duration(own->stat.mtime - found->stat.ctime));
        }
    }
    co_return duration::zero();
}

async::awaitable<role_answer> walk::do_part(std::function<async::awaitable<void>()> what) {
    role_answer said = role_answer::ended;
    co_await async::with_task_group("phase", [&](async::task_group& group) -> async::awaitable<void> {
        group.spawn("withdrawal", [&]() -> async::awaitable<void> {
            async::wakeup changed;
            const async::latest<std::uint64_t>::observer looks(ground_.looks(), changed);
            const async::latest<model::router_state>::observer role(session_.node.role.changes(), changed);
            while (!must_end()) {
                co_await changed.wait(async::wait_note::work("a reason to withdraw"));
            }
            group.cancel();
        });
        co_await what();
        said = role_answer::done;
        group.cancel();
    });
    co_return said;
}

walk::report walk::describe() const {
    report out;
    const auto seen = look();
    const auto* const candidate = std::get_if<policy::candidate>(&machine_);
    out.side = candidate != nullptr ? "takeover" : "relinquish";
    out.phase = to_text(candidate != nullptr ? candidate->phase : std::get<policy::holder>(machine_).phase);
    out.withdrawn = candidate != nullptr ? candidate->withdrawn : std::string();
    out.asks = policy::to_text(step_.what);
    out.waits_for = step_.reason;
    out.since = step_since_;
    out.until = step_.until;
    for (const auto which : {role_lock::primary, role_lock::sync}) {
        if (lock_of(which).held != nullptr) {
            out.held.emplace_back(to_text(which));
        }
    }
    out.others_queued = seen.on_sync.size();
    out.is_candidate_there = seen.is_candidate_there;
    return out;
}

}  // namespace pvc::role
