// What machines ask, carried out in the explorer's world: one case for each question, as src/domains/operations/effects
// does it with the real parts.
#include "sim/explore/model.hpp"

#include "pvcnoded/base/planted.hpp"

#include <algorithm>

namespace pvc::explore {

using namespace std::chrono_literals;
using model::guest_class;
using model::vm_state;
using policy::answer;
using policy::call_end;
using policy::write_end;
namespace ask = policy::ask;
namespace act = policy::act;

namespace {

template <class... F>
struct overloaded : F... {
    using F::operator()...;
};

constexpr duration guard_validity = 2s;

}  // namespace

// ---- keys -----------------------------------------------------------------------------------------------------------

namespace {

bool has_locks(const scene& m, std::int8_t who) {
    const auto has = [who](const auto& queue) { return std::ranges::find(queue, who) != queue.end(); };
    return has(m.locks.of_node) && has(m.locks.of_state);
}

bool is_as_seen(const scene& m, const node& one) {
    const asked& by = one.does->pending;
    return by.state_changed == m.keys.state_changed && by.node_changed == m.keys.node_changed;
}

// What was written is in the row of the writer at once; a `stop` with the mark is read anew.
void take_own_write(scene& m, node& one) {
    row& r = one.seen;
    r.writes_since_stable = static_cast<std::uint8_t>(std::min(2, r.writes_since_stable + r.unread_writes));
    r.unread_writes = 0;
    r.keys = m.keys;
    r.keys.sync = sync_value::empty;
    r.keys.sync_changed = 0;
    r.is_handed_over = false;
    r.state_since = policy::is_migration(r.keys.state) ? m.now : time_point();
}

}  // namespace

write_end world::write_state(std::int8_t who, vm_state state, policy::sync_word sync) {
    node& one = at(m, who);
    const bool is_blind = state == vm_state::stop && is_planted(defect::blind_stop_write);
    const bool is_locked = one.does && one.does->locks.where == lock_claim::at::held;
    if ((!is_as_seen(m, one) && !is_blind) || (is_locked && !has_locks(m, who))) {
        return write_end::overtaken;
    }
    const std::int64_t stamp = m.stamp();
    // (After a hand-over it says that it starts there, not that it has arrived.)
    if (state == vm_state::start && policy::is_migration(m.keys.state) && one.guest == guest_here::arriving &&
        one.observed == guest_class::incoming && !has_misled(m) && !(one.does && one.does->pending.ran_here)) {
        say("states_are_true", name_of(who) + " wrote `start` of a guest that has not arrived there");
    }
    if (state == vm_state::stop && one.guest == guest_here::runs && one.observed == guest_class::alive) {
        say("states_are_true", name_of(who) + " wrote `stop` of a guest that it executes");
    }
    m.keys.state = state;
    m.keys.state_changed = stamp;
    m.keys.is_a_clients = false;
    count_write(m);
    if (sync == policy::sync_word::handed_over) {
        m.keys.sync = sync_value::handed_over;
        m.keys.sync_changed = stamp;
        notify_sync();
    } else if (sync == policy::sync_word::taken_back && m.keys.sync != sync_value::empty) {
        m.keys.sync = sync_value::empty;
        m.keys.sync_changed = stamp;
        notify_sync();
    }
    take_own_write(m, one);
    one.seen.is_handed_over = sync == policy::sync_word::handed_over;
    return write_end::written;
}

write_end world::write_placement(std::int8_t who, vm_state state, std::int8_t to, std::int8_t last) {
    node& one = at(m, who);
    const bool is_blind = is_planted(defect::blind_rollback);
    const bool is_locked = one.does && one.does->locks.where == lock_claim::at::held;
    const bool is_last_as_seen = one.does->pending.last_changed == m.keys.last_changed;
    if ((!is_blind && (!is_as_seen(m, one) || !is_last_as_seen)) || (is_locked && !has_locks(m, who))) {
        return write_end::overtaken;
    }
    const std::int64_t stamp = m.stamp();
    m.keys.state = state;
    m.keys.node = to;
    m.keys.last_node = last;
    m.keys.is_a_clients = false;
    m.keys.state_changed = m.keys.node_changed = m.keys.last_changed = stamp;
    count_write(m);
    take_own_write(m, one);
    return write_end::written;
}

// ---- guests ---------------------------------------------------------------------------------------------------------

void world::set_guest(std::int8_t who, guest_here what) {
    node& one = at(m, who);
    if (one.guest == guest_here::runs && what == guest_here::none) {
        for (std::int8_t other = 0; other < static_cast<std::int8_t>(m.nodes); ++other) {
            if (see(m, other).guest == guest_here::left) {
                at(m, other).is_stale = true;
            }
        }
    }
    one.is_stale = one.is_stale && what != guest_here::none;
    one.guest = what;
    one.is_going_off = one.is_going_off && what != guest_here::none;
    one.is_remnant = one.is_remnant && what == guest_here::arriving;
    if (what == guest_here::runs) {
        m.disk_locked_by = who;
    } else if (what == guest_here::none && m.disk_locked_by == who) {
        m.disk_locked_by = nobody;
    }
    if (running_in(m) > 1) {
        say("one_copy", "the guest runs on two nodes");
    }
}

policy::call_answer world::destroy(std::int8_t who) {
    node& one = at(m, who);
    if (one.guest == guest_here::none) {
        return {call_end::no_domain, "no domain"};
    }
    bool is_elsewhere = false;
    for (std::int8_t other = 0; other < static_cast<std::int8_t>(m.nodes); ++other) {
        const auto guest = see(m, other).guest;
        is_elsewhere = is_elsewhere || (other != who && (guest == guest_here::runs || guest == guest_here::left));
    }
    const bool has_memory = one.guest != guest_here::arriving && !one.is_stale;
    // It was asked to go off, and has taken all the time that it has for that.
    const bool may_end = !one.does || one.does->pending.may_end || one.is_going_off;
    if (has_memory && !may_end && !is_elsewhere && m.disk_locked_by == who) {
        say("only_copy", name_of(who) + " destroys the only copy of a guest that is to run");
    }
    if (m.job.where != live_job::at::none && (m.job.from == who || m.job.to == who)) {
        fail_job(0);
    }
    set_guest(who, guest_here::none);
    return {call_end::done, {}};
}

policy::remote_answer world::answer_about(std::int8_t who, std::int8_t other) const {
    static_cast<void>(who);
    const node& one = see(m, other);
    if (!one.has_power) {
        return policy::remote_answer::silent;
    }
    if (!one.libvirt_is_up) {
        return policy::remote_answer::refused;
    }
    switch (one.guest) {
        case guest_here::none: return policy::remote_answer::absent;
        case guest_here::runs: return policy::remote_answer::alive;
        case guest_here::arriving:
        case guest_here::left: return policy::remote_answer::incoming;
    }
    return policy::remote_answer::silent;
}

// ---- the live migration ---------------------------------------------------------------------------------------------

void world::answer_call(std::int8_t who, call_end how) {
    node& one = at(m, who);
    if (one.reference) {
        one.reference->has_moved = how == call_end::done;
    } else if (one.does && one.does->call && !one.does->call->is_over) {
        one.does->call->outcome = how;
        one.does->call->is_over = true;
        notify(who);
    } else if (!one.does) {
        look(who);
    }
}

void world::step_job() {
    live_job& job = m.job;
    switch (job.where) {
        case live_job::at::none: return;
        case live_job::at::begun:
            if (!see(m, job.to).libvirt_is_up || see(m, job.to).guest != guest_here::none ||
                see(m, job.from).guest != guest_here::runs) {
                fail_job(0);
                return;
            }
            set_guest(job.to, guest_here::arriving);
            job.where = live_job::at::copying;
            return;
        case live_job::at::copying:
            set_guest(job.from, guest_here::left);
            job.where = live_job::at::switched;
            return;
        case live_job::at::switched:
            set_guest(job.to, guest_here::runs);
            job.where = live_job::at::resumed;
            return;
        case live_job::at::resumed: {
            const std::int8_t from = job.from;
            set_guest(from, guest_here::none);
            job = {};
            answer_call(from, call_end::done);
            return;
        }
    }
}

// 0: as libvirt cleans up, with the guest where it executes or may; 1: the receiving half stands for a while, and what
// was sent is not resumed.
void world::fail_job(std::uint8_t how) {
    const live_job job = std::exchange(m.job, {});
    switch (job.where) {
        case live_job::at::none: return;
        case live_job::at::begun: break;
        case live_job::at::copying:
            if (how == 0 && see(m, job.to).libvirt_is_up) {
                set_guest(job.to, guest_here::none);
            } else {
                at(m, job.to).is_remnant = true;
            }
            break;
        case live_job::at::switched:
            if (how == 0) {
                set_guest(job.to, guest_here::none);
                set_guest(job.from, guest_here::runs);
            } else {
                at(m, job.to).is_remnant = true;
            }
            break;
        case live_job::at::resumed: break;  // it has arrived; the half here stands
    }
    answer_call(job.from, call_end::other);
}

// ---- questions ------------------------------------------------------------------------------------------------------

void world::carry_out(std::int8_t who, const std::vector<act::any>& acts) {
    node& one = at(m, who);
    for (const auto& what : acts) {
        std::visit(overloaded{
                       [&](const act::write_record& of) {
                           one.record = {true,
                                         of.role == "sender",
                                         of.step == "offline",
                                         one.seen.keys.created,
                                         one.seen.keys.state_changed,
                                         node_named(policy::previous_last_node(seen_of(who), one.memory.migration)),
                                         node_named(of.peer)};
                           one.memory.migration.has_record = true;
                       },
                       [&](const act::drop_record& /*of*/) {
                           one.record = {};
                           one.memory.migration.has_record = false;
                       },
                       [&](const act::pause& of) { one.pause_until = m.now + of.time; },
                       [&](const act::arrived_home& /*of*/) { one.seen.came_from = nobody; },
                       [](const act::created& /*of*/) {},
                       [](const auto& /*of*/) {},
                   },
                   what);
    }
}

namespace {

// One disk; whose its lock is, is told by the address.
std::string address_of(std::int8_t node) {
    return "10.254.0." + std::to_string(node + 1);
}

answer locks_on_disk(scene& m, std::int8_t who, const std::string& volume) {
    const std::int8_t holder = m.disk_locked_by;
    policy::rbd_listed all{{{volume, {}, {}}}, {address_of(who)}};
    if (holder != nobody) {
        all.volumes.front().locks.push_back({"its lock", name_of(holder), address_of(holder) + ":0/1"});
        // Nobody there lets go of it: whoever starts it elsewhere is refused.
        m.may_fail = m.may_fail || (holder != who && see(m, holder).guest == guest_here::none);
    }
    return all;
}

answer break_lock(world& of, std::int8_t who, const ask::break_rbd_lock& what) {
    scene& m = of.m;
    if (m.boot_now() > what.proof + guard_validity) {
        return policy::call_answer{call_end::too_late, "late"};
    }
    if (at(m, who).does->pending.may_end) {
        of.say("locks_for_a_start", name_of(who) + " breaks a lock for what is not to run there any more");
    }
    const std::int8_t holder = node_named(what.which.lock.client);
    if (holder != who) {
        of.say("foreign_disk_locks", name_of(who) + " breaks the lock of " + name_of(holder));
    }
    if (m.disk_locked_by == holder) {
        if (see(m, holder).guest != guest_here::none) {
            of.say("only_copy", name_of(who) + " takes its disk from the guest on " + name_of(holder));
        }
        m.disk_locked_by = nobody;
    }
    return policy::call_answer{call_end::done, {}};
}

}  // namespace

std::optional<answer> world::perform(std::int8_t who, const policy::step& what) {
    node& one = at(m, who);
    const auto no_libvirt = [&one] { return !one.libvirt_is_up; };
    const auto written = [&](write_end end) -> std::optional<answer> { return answer(end); };
    return std::visit(
        overloaded{
            [](const ask::nothing& /*of*/) -> std::optional<answer> { return std::nullopt; },
            [](const ask::change& /*of*/) -> std::optional<answer> { return std::nullopt; },
            [](const ask::time& /*of*/) -> std::optional<answer> { return std::nullopt; },
            [&](const ask::row& /*of*/) -> std::optional<answer> {
                read_row(who);
                return policy::row_read{policy::row_read::end::fresh, m.boot_now()};
            },
            [&](const ask::write_state& of) { return written(write_state(who, of.state, of.sync)); },
            [&](const ask::write_placement& of) {
                return written(write_placement(who, of.state, node_named(of.node), node_named(of.last_node)));
            },
            [&](const ask::write_last_node& of) {
                if (!is_as_seen(m, one) || !has_locks(m, who)) {
                    return written(write_end::overtaken);
                }
                m.keys.last_node = node_named(of.last_node);
                m.keys.last_changed = m.stamp();
                one.seen.keys.last_node = m.keys.last_node;
                one.seen.keys.last_changed = m.keys.last_changed;
                return written(write_end::written);
            },
            [&](const ask::clear_own& of) -> std::optional<answer> {
                const bool is_hand_over =
                    m.keys.sync == sync_value::handed_over && m.keys.sync_changed >= one.seen.keys.state_changed;
                if (of.key == policy::own_key::sync_word && m.keys.sync != sync_value::empty && !is_hand_over) {
                    m.keys.sync = sync_value::empty;
                    m.keys.sync_changed = one.memory.migration.sync_written = m.stamp();
                    notify_sync();
                }
                return policy::yes{true};
            },
            [&](const ask::offer_to_receive& /*of*/) -> std::optional<answer> {
                if (!is_as_seen(m, one) && !is_planted(defect::offer_late)) {
                    return policy::yes{false};
                }
                if (m.keys.sync == sync_value::empty) {
                    m.keys.sync = sync_value::offered;
                    m.keys.sync_changed = one.memory.migration.sync_written = m.stamp();
                    notify_sync();
                }
                return policy::yes{true};
            },
            [&](const ask::connection& /*of*/) -> std::optional<answer> { return policy::yes{true}; },
            [&](const ask::sending_keys& /*of*/) -> std::optional<answer> {
                return policy::wishes_read{true, true, m.what == subject::offline ? "shutdown" : "", std::nullopt};
            },
            [&](const ask::set_listed& of) -> std::optional<answer> {
                one.memory.listing.is_listed = of.runs || one.memory.listing.lost_creation;
                one.is_list_late = false;
                store_list(who);
                return policy::yes{true};
            },
            [&](const ask::others& /*of*/) -> std::optional<answer> {
                policy::others_read all;
                all.is_known = true;
                for (std::int8_t i = 0; i < static_cast<std::int8_t>(m.nodes); ++i) {
                    if (i != who) {
                        all.nodes.push_back({name_of(i), see(m, i).stored, see(m, i).lists_it});
                    }
                }
                return all;
            },
            [&](const ask::daemon_runs& of) -> std::optional<answer> {
                return policy::yes{see(m, node_named(of.node)).stored == model::daemon_state::run};
            },
            [](const ask::node_exists& /*of*/) -> std::optional<answer> { return policy::yes{true}; },
            [&](const ask::whose_stop& /*of*/) -> std::optional<answer> { return policy::yes{is_senders_stop(who)}; },
            [&](const ask::target& of) -> std::optional<answer> { return answer_about(who, node_named(of.node)); },
            [&](const ask::nodes& of) -> std::optional<answer> {
                policy::nodes_asked all;
                for (const auto& name : of.names) {
                    all.answers.emplace_back(name, answer_about(who, node_named(name)));
                }
                return all;
            },
            [&](const ask::own_guest& /*of*/) -> std::optional<answer> {
                if (no_libvirt()) {
                    return policy::yes{false};
                }
                see_guest(who);
                return policy::yes{true};
            },
            [&](const ask::destroy& /*of*/) -> std::optional<answer> {
                return no_libvirt() ? policy::call_answer{call_end::unavailable, "away"} : destroy(who);
            },
            [&](const ask::resume_guest& of) -> std::optional<answer> {
                if (no_libvirt()) {
                    return policy::call_answer{call_end::unavailable, "away"};
                }
                if (m.boot_now() > of.proof + guard_validity) {
                    return policy::call_answer{call_end::too_late, "late"};
                }
                if (one.guest == guest_here::none) {
                    return policy::call_answer{call_end::no_domain, "no domain"};
                }
                if (m.job.where != live_job::at::none) {
                    return policy::call_answer{call_end::wrong_state, "a job is under way"};
                }
                // What nobody sends any more takes it, and ends: it has never executed.
                set_guest(who, one.guest == guest_here::arriving ? guest_here::none : guest_here::runs);
                return policy::call_answer{call_end::done, {}};
            },
            [](const ask::set_downtime& /*of*/) -> std::optional<answer> {
                return policy::call_answer{call_end::done, {}};
            },
            [&](const ask::progress& /*of*/) -> std::optional<answer> {
                const bool is_under_way = m.job.where != live_job::at::none;
                const bool arrives = is_under_way && m.job.to == who;  // of that it tells nothing
                return policy::progress_read{!no_libvirt() && !arrives, is_under_way, 0, 0, 0, 0};
            },
            [&](const ask::abort_call& /*of*/) -> std::optional<answer> {
                if (m.job.where == live_job::at::begun || m.job.where == live_job::at::copying) {
                    fail_job(0);
                    return policy::call_answer{call_end::done, {}};
                }
                return policy::call_answer{call_end::wrong_state, "no job that could be ended"};
            },
            [&](const ask::rbd_verdict& /*of*/) -> std::optional<answer> {
                using verdict = policy::rbd_judged::verdict;
                const bool is_own = m.disk_locked_by == nobody || m.disk_locked_by == who;
                return policy::rbd_judged{.what = is_own ? verdict::own : verdict::foreign,
                                          .reason = {},
                                          .is_unlocked = m.disk_locked_by == nobody};
            },
            [&](const ask::list_rbd_locks& of) -> std::optional<answer> {
                return locks_on_disk(m, who, of.volumes.front());
            },
            [](const ask::prepare_rbd_break& /*of*/) -> std::optional<answer> {
                return policy::call_answer{call_end::done, {}};
            },
            [](const ask::disk_users& /*of*/) -> std::optional<answer> {  // there is no other domain
                return policy::disk_users_read{policy::disk_users_read::end::known, {}, {}};
            },
            [&](const ask::break_rbd_lock& of) -> std::optional<answer> { return break_lock(*this, who, of); },
            [&](const ask::contenders& /*of*/) -> std::optional<answer> {
                return policy::contenders_read{policy::contenders_read::end::read, contends(who)};
            },
            [](const ask::make_sync_key& /*of*/) -> std::optional<answer> { return policy::yes{true}; },
            [&](const ask::stranded_keys& /*of*/) -> std::optional<answer> {
                return policy::keys_compared{
                    true, contends(who) || !m.locks.of_node.empty(),
                    std::max({m.keys.state_changed, m.keys.node_changed, m.keys.last_changed, m.keys.sync_changed})};
            },
            [&](const ask::take_back& of) {
                read_row(who);
                one.does->pending.state_changed = m.keys.state_changed;
                one.does->pending.node_changed = m.keys.node_changed;
                one.does->pending.last_changed = m.keys.last_changed;
                const std::int64_t changed =
                    std::max({m.keys.state_changed, m.keys.node_changed, m.keys.last_changed, m.keys.sync_changed});
                const bool is_same = changed == of.changed && !contends(who) && m.locks.of_node.empty() &&
                                     m.locks.of_state.empty() && m.keys.node == who &&
                                     policy::is_migration(m.keys.state) && one.observed == guest_class::absent;
                if (!is_same) {
                    return written(write_end::overtaken);
                }
                const auto last = policy::last_node_after_return(of.node, name_of(m.keys.last_node));
                return written(write_placement(who, vm_state::start, node_named(of.node), node_named(last)));
            },
            [](const ask::definition& /*of*/) -> std::optional<answer> {
                return policy::definition_read{policy::definition_read::end::read, {}, {"vms/its disk"}};
            },
            [&](const ask::create& of) -> std::optional<answer> {
                if (no_libvirt()) {
                    return policy::call_answer{call_end::unavailable, "away"};
                }
                if (m.boot_now() > of.proof + guard_validity) {
                    return policy::call_answer{call_end::too_late, "late"};
                }
                if (one.guest != guest_here::none) {
                    return policy::call_answer{call_end::wrong_state, "it is there"};
                }
                set_guest(who, guest_here::runs);
                one.observed = guest_class::alive;
                return policy::call_answer{call_end::done, {}};
            },
            [](const ask::end_crashed& /*of*/) -> std::optional<answer> { return policy::woken{}; },
            [&](const ask::write_started& of) -> std::optional<answer> {
                const auto& keys = one.seen.keys;
                const bool is_wanted =
                    keys.node == who &&
                    (keys.state == vm_state::start ||
                     (keys.state == vm_state::restart && keys.state_changed == of.began_with.state_changed));
                if (!is_wanted || !is_as_seen(m, one)) {
                    read_row(who);
                    return policy::yes{false};
                }
                return policy::yes{keys.state == vm_state::start ||
                                   write_state(who, vm_state::start, policy::sync_word::kept) == write_end::written};
            },
            [&](const ask::write_failed& of) {
                if (one.seen.keys.state_changed != of.began_with.state_changed) {
                    return written(write_end::overtaken);
                }
                return written(write_state(who, vm_state::fail, policy::sync_word::kept));
            },
            [](const ask::publish_vnc& /*of*/) -> std::optional<answer> { return policy::yes{true}; },
            [](const ask::live_xml& /*of*/) -> std::optional<answer> { return policy::yes{true}; },
            [](const ask::end_console& /*of*/) -> std::optional<answer> { return policy::woken{}; },
            [](const ask::clear_reason& /*of*/) -> std::optional<answer> { return policy::yes{true}; },
            [](const ask::monitors& /*of*/) -> std::optional<answer> {
                return policy::call_answer{call_end::done, {}};
            },
            [](const ask::bridges_look& /*of*/) -> std::optional<answer> { return policy::yes{true}; },
            [](const ask::network_is_gone& /*of*/) -> std::optional<answer> { return policy::yes{false}; },
            [&](const ask::write_reason& /*of*/) -> std::optional<answer> { return policy::yes{is_as_seen(m, one)}; },
        },
        what.what);
}

// The answer of an effect that failed, or of one whose answer was lost.
answer world::failed(const policy::step& what, bool is_done) const {
    return std::visit(
        overloaded{
            [](const ask::row& /*of*/) -> answer { return policy::row_read{}; },
            [](const ask::write_state& /*of*/) -> answer { return write_end::failed; },
            [](const ask::write_placement& /*of*/) -> answer { return write_end::failed; },
            [](const ask::write_last_node& /*of*/) -> answer { return write_end::overtaken; },
            [](const ask::write_failed& /*of*/) -> answer { return write_end::failed; },
            [](const ask::take_back& /*of*/) -> answer { return write_end::failed; },
            [](const ask::others& /*of*/) -> answer { return policy::others_read{}; },
            [](const ask::target& /*of*/) -> answer { return policy::remote_answer::silent; },
            [](const ask::nodes& of) -> answer {
                policy::nodes_asked all;
                for (const auto& name : of.names) {
                    all.answers.emplace_back(name, policy::remote_answer::silent);
                }
                return all;
            },
            [](const ask::destroy& /*of*/) -> answer { return policy::call_answer{call_end::timed_out, "no answer"}; },
            [](const ask::resume_guest& /*of*/) -> answer {
                return policy::call_answer{call_end::timed_out, "no answer"};
            },
            [](const ask::abort_call& /*of*/) -> answer {
                return policy::call_answer{call_end::timed_out, "no answer"};
            },
            [is_done](const ask::create& /*of*/) -> answer {
                return policy::call_answer{is_done ? call_end::unavailable : call_end::other, "it failed"};
            },
            [](const ask::rbd_verdict& /*of*/) -> answer {
                return policy::rbd_judged{policy::rbd_judged::verdict::unreadable, "Ceph is away"};
            },
            [](const ask::contenders& /*of*/) -> answer { return policy::contenders_read{}; },
            [](const ask::stranded_keys& /*of*/) -> answer { return policy::keys_compared{}; },
            [](const ask::list_rbd_locks& of) -> answer {
                return policy::rbd_listed{{{of.volumes.front(), {}, "Ceph is away", true, false, true}}, {}};
            },
            [](const ask::prepare_rbd_break& /*of*/) -> answer {
                return policy::call_answer{call_end::timed_out, "no answer"};
            },
            [](const ask::disk_users& /*of*/) -> answer {
                return policy::disk_users_read{policy::disk_users_read::end::no_libvirt, {}, {}};
            },
            [](const ask::break_rbd_lock& /*of*/) -> answer {
                return policy::call_answer{call_end::timed_out, "no answer"};
            },
            [](const ask::monitors& /*of*/) -> answer { return policy::call_answer{call_end::timed_out, "no answer"}; },
            [](const ask::definition& /*of*/) -> answer { return policy::definition_read{}; },
            [](const auto& /*of*/) -> answer { return policy::yes{}; },
        },
        what.what);
}

}  // namespace pvc::explore
