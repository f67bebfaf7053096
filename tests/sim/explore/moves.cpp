// Which steps are possible in a state, and what each does. A step of quiet kind is always possible; those of faults and
// clients are counted. Time passes when nothing else is ready.
#include "sim/explore/model.hpp"

#include <algorithm>

namespace pvc::explore {

using namespace std::chrono_literals;
using model::guest_class;
using model::vm_state;
namespace ask = policy::ask;
using kind = move::kind;

namespace {

bool is_wait(const policy::step& what) {
    return is_any<ask::change, ask::time>(what);
}

// What can be asked in the next step; its answer is a step of its own where others may do something in between that
// the answer does not tell.
bool is_asked_elsewhere(const policy::step& what) {
    return is_any<ask::target, ask::nodes>(what);
}

bool may_step_lock(const scene& m, std::int8_t who, const operation& op) {
    switch (op.locks.where) {
        case lock_claim::at::wanted:
        case lock_claim::at::releasing: return true;
        case lock_claim::at::on_first:
            return m.now >= op.locks.until || (is_first(m.locks.of_node, who) &&
                                               (!is_queued(m.locks.of_state, who) || is_first(m.locks.of_state, who)));
        default: return false;
    }
}

bool may_step_sync_lock(const scene& m, std::int8_t who, const hand_shake& shake) {
    switch (shake.lock.where) {
        case lock_claim::at::releasing: return true;
        case lock_claim::at::wanted:
            return m.now >= shake.lock.until || !is_queued(m.locks.of_sync, who) || is_first(m.locks.of_sync, who);
        default: return false;
    }
}

void add_of_operation(const scene& m, std::int8_t who, moves& all) {
    const operation& op = *see(m, who).does;
    const auto& pending = op.pending;
    if (pending.is_answered) {
        all.push_back({kind::answer, who, 0});
    } else if (is_wait(pending.what)) {
        if (pending.what.until <= m.now) {
            all.push_back({kind::wake, who, 0});
        }
    } else {
        all.push_back({kind::perform, who, 0});
    }
    if (op.holds.follows_sender && op.sender.is_old && reference_of(m) != nobody) {
        all.push_back({kind::follow, who, 0});
    }
    if (may_step_lock(m, who, op)) {
        all.push_back({kind::lock, who, 0});
    }
    if (op.asks_guest && see(m, who).guest == guest_here::runs && !see(m, who).is_going_off) {
        all.push_back({kind::end_request, who, 0});
    }
    if (op.call && !op.call->has_begun && m.job.where == live_job::at::none) {
        all.push_back({kind::job, who, 1});
    }
    if (op.sync && !op.sync->has_ended) {
        const hand_shake& shake = *op.sync;
        if (may_step_sync_lock(m, who, shake)) {
            all.push_back({kind::sync_lock, who, 0});
        }
        if (is_wait(shake.pending.what)) {
            const bool is_notified = is_any<ask::change>(shake.pending.what) && shake.is_changed;
            if (is_notified || shake.pending.what.until <= m.now) {
                all.push_back({kind::sync_wake, who, 0});
            }
        }
    }
}

void add_of_node(const scene& m, std::int8_t who, moves& all) {
    const node& one = see(m, who);
    if (one.session_left) {
        all.push_back({kind::notice, who, 0});
    }
    if (!one.has_power) {
        all.push_back({kind::power_on, who, 0});
    } else if (!one.is_up) {
        if (!one.session_left) {
            all.push_back({kind::start_daemon, who, 0});
        }
    } else if (!one.has_session) {
        if (!one.session_left) {
            all.push_back({kind::reconnect, who, 0});
        }
    } else if (one.reference) {
        add_of_reference(m, who, all);
    } else {
        if (is_row_old(m, one)) {
            all.push_back({kind::read_row, who, 0});
        }
        const auto now = one.libvirt_is_up ? std::optional(class_of(one.guest)) : std::nullopt;
        if (now != one.observed) {
            all.push_back({kind::see_guest, who, 0});
        }
        if (one.is_list_late) {
            all.push_back({kind::write_list, who, 0});
        }
        if (one.does) {
            add_of_operation(m, who, all);
        } else {
            const bool is_due =
                (one.look_again && *one.look_again <= m.now) || (one.pause_until && *one.pause_until <= m.now);
            if (is_due) {
                all.push_back({kind::look, who, 0});
            }
        }
    }
    if (!one.libvirt_is_up && one.has_power) {
        all.push_back({kind::start_libvirt, who, 0});
    }
    if (one.is_remnant && one.libvirt_is_up) {
        all.push_back({kind::clean, who, 0});
    }
    if (one.is_going_off && one.guest == guest_here::runs) {
        all.push_back({kind::end_request, who, 1});
    }
}

void add_of_clients(const scene& m, moves& all) {
    for (std::size_t i = 0; i < m.clients.size(); ++i) {
        const client& one = m.clients[i];
        const auto id = static_cast<std::int8_t>(a_client + static_cast<std::int8_t>(i));
        const bool may = !one.has_lock || !is_queued(m.locks.of_state, id) || is_first(m.locks.of_state, id);
        if (one.state != vm_state::unknown && may) {
            all.push_back({kind::client_turn, static_cast<std::int8_t>(i), 0});
        }
    }
}

// Without a lock all of them; with one only two, which wait for it and are waited for: that they write when it is free
// is one of the moments of those without.
constexpr std::uint8_t words_of_clients = 6;
constexpr std::uint8_t words_with_lock = 2;

void add_disturbances(const scene& m, moves& all) {
    if (m.writes_left > 0) {
        for (std::uint8_t how = 0; how < words_of_clients + words_with_lock; ++how) {
            all.push_back({kind::client_word, nobody, how});
        }
    }
    if (m.faults_left == 0) {
        return;
    }
    for (std::int8_t who = 0; who < static_cast<std::int8_t>(m.nodes); ++who) {
        const node& one = see(m, who);
        if (one.is_up && one.has_session) {
            all.push_back({kind::lose_session, who, 0});
            all.push_back({kind::kill_daemon, who, 0});
            if (one.record.is_there) {
                all.push_back({kind::kill_daemon, who, 1});
            }
        }
        if (one.libvirt_is_up) {
            all.push_back({kind::kill_libvirt, who, 0});
        }
        if (one.has_power) {
            all.push_back({kind::lose_power, who, 0});
        }
        if (one.guest == guest_here::runs) {
            all.push_back({kind::end_guest, who, 0});
            all.push_back({kind::end_guest, who, 1});
        }
        if (one.is_up && one.has_session && one.does && !one.does->pending.is_answered &&
            !is_wait(one.does->pending.what)) {
            all.push_back({kind::lose_answer, who, 0});
            all.push_back({kind::fail_effect, who, 0});
        }
    }
    if (m.job.where != live_job::at::none) {
        all.push_back({kind::fail_job, nobody, 0});
        all.push_back({kind::fail_job, nobody, 1});
    }
}

std::optional<time_point> next_time(const scene& m) {
    std::optional<time_point> next = next_time_of_reference(m);
    const auto take = [&](time_point one) {
        if (one > m.now && one != time_point::max()) {
            next = std::min(next.value_or(one), one);
        }
    };
    for (std::int8_t who = 0; who < static_cast<std::int8_t>(m.nodes); ++who) {
        const node& one = see(m, who);
        if (!one.is_up || !one.has_session || one.reference) {
            continue;
        }
        if (one.does) {
            take(one.does->pending.what.until);
            if (one.does->locks.where == lock_claim::at::on_first) {
                take(one.does->locks.until);
            }
            if (one.does->sync && !one.does->sync->has_ended) {
                take(one.does->sync->pending.what.until);
                if (one.does->sync->lock.where == lock_claim::at::wanted) {
                    take(one.does->sync->lock.until);
                }
            }
        } else {
            take(one.look_again.value_or(time_point::max()));
            take(one.pause_until.value_or(time_point::max()));
        }
    }
    return next;
}

}  // namespace

namespace {

// What takes its time in the world: meanwhile deadlines pass, as often as the bounds allow.
bool may_take_long(const move& one) {
    switch (one.what) {
        case kind::clean:
        case kind::start_libvirt:
        case kind::start_daemon:
        case kind::power_on:
        case kind::reconnect:
        case kind::notice: return true;
        case kind::reference: return may_take_long_there(one.how);
        case kind::job: return one.how == 0;
        case kind::end_request: return one.how == 1;
        default: return false;
    }
}

}  // namespace

moves moves_of(const scene& now) {
    moves all;
    for (std::int8_t who = 0; who < static_cast<std::int8_t>(now.nodes); ++who) {
        add_of_node(now, who, all);
    }
    if (now.job.where != live_job::at::none && see(now, now.job.from).libvirt_is_up) {
        all.push_back({kind::job, nobody, 0});
    }
    add_of_clients(now, all);
    const bool is_slow = std::ranges::all_of(all, [](const move& one) { return may_take_long(one); });
    if (is_slow && (all.empty() || now.delays_left > 0) && next_time(now)) {
        all.push_back({kind::time, nobody, 0});
    }
    add_disturbances(now, all);
    return all;
}

// ---- what they do ---------------------------------------------------------------------------------------------------

namespace {

// Their words, each under the lock of `state` and without it.
client word_of(const scene& m, std::uint8_t how) {
    client one;
    one.has_lock = how >= words_of_clients;
    switch (how % words_of_clients) {
        case 0: one.state = vm_state::stop; break;
        case 1:
            one.state = vm_state::migrate;
            one.to = static_cast<std::int8_t>(m.nodes - 1);
            break;
        case 2: one.state = vm_state::shutdown; break;
        case 3: one.state = vm_state::restart; break;
        case 4:
            one.state = vm_state::migrate;
            one.to = 0;
            break;
        default: one.state = vm_state::start; break;
    }
    return one;
}

void write_of_client(world& of, client& one) {
    scene& m = of.m;
    const std::int64_t stamp = m.stamp();
    const bool stays_failed = one.state == vm_state::migrate && m.keys.state == vm_state::fail;
    m.may_fail = m.may_fail && stays_failed;
    if (one.to != nobody) {
        if (m.keys.node != one.to) {
            m.keys.last_node = m.keys.node;
        }
        m.keys.last_changed = stamp;
        m.keys.node = one.to;
        m.keys.node_changed = stamp;
    }
    m.keys.state = one.state;
    m.keys.state_changed = stamp;
    m.keys.is_a_clients = true;
    count_write(m);
    switch (one.state) {
        case vm_state::stop:
        case vm_state::shutdown: m.last_word = client_word::off; break;
        case vm_state::migrate:
            m.last_word = m.last_word == client_word::run ? client_word::run : client_word::moved_off;
            break;
        default: m.last_word = client_word::run; break;
    }
}

void turn_of_client(world& of, std::int8_t index) {
    scene& m = of.m;
    client& one = m.clients.at(static_cast<std::size_t>(index));
    const auto id = static_cast<std::int8_t>(a_client + index);
    if (one.has_lock && !is_queued(m.locks.of_state, id)) {
        m.locks.of_state.push_back(id);
        one.where = client::at::queued;
        return;
    }
    write_of_client(of, one);
    leave(m.locks.of_state, id);
    one = {};
    while (!m.clients.empty() && m.clients.back().state == vm_state::unknown) {
        m.clients.pop_back();
    }
}

void perform(world& of, std::int8_t who) {
    operation& op = *at(of.m, who).does;
    const policy::step what = op.pending.what;
    auto said = of.perform(who, what);
    node& one = at(of.m, who);
    if (!said || !one.does) {
        return;
    }
    if (is_asked_elsewhere(what)) {
        one.does->pending.is_answered = true;
        one.does->pending.said = std::move(*said);
        return;
    }
    of.resume(who, *said);
}

void begin_job(world& of, std::int8_t who) {
    node& one = at(of.m, who);
    live_call& call = *one.does->call;
    call.has_begun = true;
    call.begun = of.m.now;
    of.m.job = {live_job::at::begun, who, call.to};
    if (!one.libvirt_is_up) {
        of.fail_job(0);
    }
}

void kill_libvirt(world& of, std::int8_t who) {
    at(of.m, who).libvirt_is_up = false;
    const live_job job = of.m.job;
    if (job.where != live_job::at::none && (job.from == who || job.to == who)) {
        const bool stands =
            job.where == live_job::at::switched || (job.where == live_job::at::copying && job.to == who);
        of.fail_job(stands ? 1 : 0);
    }
}

void kill_daemon(world& of, std::int8_t who) {
    of.lose_daemon(who);
    node& dead = at(of.m, who);
    dead.is_up = false;
    dead.memory = {};
    dead.has_memory = false;
    dead.seen = {};
    dead.observed.reset();
    dead.has_list = false;
}

// It powers off from inside, or it crashes and leaves the lock that it had on its disk.
void end_guest(world& of, std::int8_t who, bool is_crash) {
    const std::int8_t locked_by = of.m.disk_locked_by;
    if (of.m.job.from == who && of.m.job.where != live_job::at::none) {
        of.fail_job(0);
    }
    of.set_guest(who, guest_here::none);
    if (is_crash) {
        of.m.disk_locked_by = locked_by;
    }
}

// Daemon, libvirt and whatever ran, at once. The lock that the guest had on its disk outlives it: who fences the node
// breaks it, or its own next start there.
void lose_power(world& of, std::int8_t who) {
    scene& m = of.m;
    if (at(m, who).is_up) {
        kill_daemon(of, who);
    }
    const live_job job = m.job;
    if (job.where != live_job::at::none && (job.from == who || job.to == who)) {
        of.fail_job(1);
    }
    const std::int8_t locked_by = m.disk_locked_by;
    of.set_guest(who, guest_here::none);
    m.disk_locked_by = locked_by;
    at(m, who).libvirt_is_up = at(m, who).has_power = false;
}

// What was asked is not done, or its answer never comes.
void fail_question(world& of, std::int8_t who, bool is_done) {
    scene& m = of.m;
    const policy::step what = at(m, who).does->pending.what;
    policy::listing& listing = at(m, who).memory.listing;
    if (is_done) {
        const auto said = of.perform(who, what);
        static_cast<void>(said);
        if (is_any<ask::create>(what)) {
            listing.lost_creation = m.now;
            listing.is_listed = at(m, who).lists_it = true;
        }
    } else if (const auto* list = std::get_if<ask::set_listed>(&what.what)) {
        listing.is_listed = list->runs || listing.lost_creation;
        at(m, who).is_list_late = at(m, who).lists_it != listing.is_listed;
    }
    m.may_fail = m.may_fail || (!is_done && is_any<ask::create>(what)) || is_any<ask::break_rbd_lock>(what);
    if (at(m, who).does) {
        of.resume(who, of.failed(what, is_done));
    }
}

void disturb(world& of, const move& one) {
    scene& m = of.m;
    switch (one.what) {
        case kind::client_word:
            --m.writes_left;
            m.clients.push_back(word_of(m, one.how));
            // At once, or into the queue of the lock: that it comes later is another moment of its word.
            turn_of_client(of, static_cast<std::int8_t>(m.clients.size() - 1));
            return;
        case kind::lose_session:
            --m.faults_left;
            of.lose_session(one.who);
            return;
        case kind::kill_daemon: {
            --m.faults_left;
            kill_daemon(of, one.who);
            if (one.how == 1) {
                at(m, one.who).record = {};
            }
            return;
        }
        case kind::lose_power:
            --m.faults_left;
            lose_power(of, one.who);
            return;
        case kind::end_guest:
            --m.faults_left;
            end_guest(of, one.who, one.how == 1);
            return;
        case kind::kill_libvirt:
            --m.faults_left;
            kill_libvirt(of, one.who);
            return;
        case kind::fail_job:
            --m.faults_left;
            of.fail_job(one.how);
            return;
        case kind::lose_answer:
        case kind::fail_effect:
            --m.faults_left;
            fail_question(of, one.who, one.what == kind::lose_answer);
            return;
        default: return;
    }
}

// What lies beside the daemons: guests, live calls, libvirt, power, sessions.
void go_on_outside(world& of, const move& one) {
    scene& now = of.m;
    switch (one.what) {
        case kind::end_request:
            if (one.how == 0) {
                at(now, one.who).is_going_off = true;
                at(now, one.who).memory.going_down.was_asked = true;
            } else {
                if (now.job.from == one.who && now.job.where != live_job::at::none) {
                    of.fail_job(0);
                }
                of.set_guest(one.who, guest_here::none);
            }
            break;
        case kind::job:
            if (one.how == 1) {
                begin_job(of, one.who);
            } else {
                of.step_job();
            }
            break;
        case kind::clean: of.set_guest(one.who, guest_here::none); break;
        case kind::start_libvirt: at(now, one.who).libvirt_is_up = true; break;
        case kind::notice:
            at(now, one.who).session_left = false;
            of.drop_children(one.who);
            of.notify_sync();
            break;
        case kind::power_on: at(now, one.who).has_power = at(now, one.who).libvirt_is_up = true; break;
        case kind::time:
            // That something could have been done meanwhile is counted.
            if (moves_of(now).front().what != kind::time) {
                --now.delays_left;
            }
            now.now = next_time(now).value_or(now.now);
            break;
        default: disturb(of, one); break;
    }
}

void make(world& of, const move& one) {
    scene& now = of.m;
    switch (one.what) {
        case kind::read_row:
            of.read_row(one.who);
            of.notify(one.who);
            break;
        case kind::see_guest:
            of.see_guest(one.who);
            of.notify(one.who);
            break;
        case kind::perform: perform(of, one.who); break;
        case kind::answer: {
            const policy::answer said = at(now, one.who).does->pending.said;
            of.resume(one.who, said);
            break;
        }
        case kind::wake: of.resume(one.who, policy::woken{}); break;
        case kind::lock: of.step_lock(one.who); break;
        case kind::sync_wake:
            at(now, one.who).does->sync->is_changed = false;
            of.resume_sync(one.who, policy::woken{});
            of.notify(one.who);
            break;
        case kind::sync_lock: of.step_sync_lock(one.who); break;
        case kind::look: of.look(one.who); break;
        case kind::write_list:
            at(now, one.who).is_list_late = false;
            of.store_list(one.who);
            break;
        case kind::reconnect: of.begin_session(one.who); break;
        case kind::start_daemon:
            at(now, one.who).is_up = true;
            of.begin_session(one.who);
            break;
        case kind::follow: of.follow_sender(one.who); break;
        case kind::reference: of.step_reference(one.who, one.how); break;
        case kind::client_turn: turn_of_client(of, one.who); break;
        default: go_on_outside(of, one); break;
    }
}

// Only a daemon that begins anew reads its record: without another fault none does any more.
void forget_records(scene& m) {
    for (std::int8_t who = 0; m.faults_left == 0 && who < static_cast<std::int8_t>(m.nodes); ++who) {
        const node& one = see(m, who);
        if (one.record.is_there && one.is_up && one.has_session) {
            at(m, who).record = {};
        }
    }
}

}  // namespace

std::optional<broken_rule> apply(scene& now, const move& one) {
    world of(now);
    if (reference_of(now) == nobody) {
        make(of, one);
        forget_records(now);
    } else {
        const scene before = now;
        make(of, one);
        of.judge_reference(before, one);
    }
    return std::move(of.broken);
}

}  // namespace pvc::explore
