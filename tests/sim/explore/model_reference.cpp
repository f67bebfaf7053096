// What a reference node does: one function for each of its operations, one step at a time.
#include "sim/explore/model_reference.hpp"

#include "sim/explore/model.hpp"

#include "pvcnoded/policy/domains/domain_table.hpp"

#include <algorithm>

namespace pvc::explore {

using namespace std::chrono_literals;
using model::vm_state;
using at_step = reference_daemon::at;

namespace {

constexpr duration lock_limit = 30s;
constexpr duration shutdown_timeout = 180s;
constexpr std::uint8_t live_tries = 3;

// One step of one reference node.
class reference_step {
public:
    reference_step(world& of, std::int8_t who)
        : of_(of), m_(of.m), who_(who), here_(explore::at(of.m, who)), r_(*here_.reference) {}

    void pass();
    void go_on();
    // The node of the reference wrote it, whatever stands there (H11).
    void write(vm_state state);

private:
    void start();
    void end();
    void go_off();
    void send();
    void move();
    void release();
    void receive();
    void take();
    void act(bool is_here);
    void act_as_owner(bool is_here);

    [[nodiscard]] bool runs() const { return r_.has_handle && here_.libvirt_is_up && here_.guest == guest_here::runs; }
    [[nodiscard]] bool has_guest() const { return here_.libvirt_is_up && here_.guest != guest_here::none; }
    // True: it has the lock.
    bool queue(explore::queue& where);
    bool queue_for_sync();
    void give_back(explore::queue& where);
    void give_back_sync();
    void leak_sync();
    void write_word(sync_value value);
    // A call without libvirt ends the thread.
    bool has_libvirt();
    void list(bool is_there) { here_.lists_it = is_there; }
    void fail();

    world& of_;
    scene& m_;
    std::int8_t who_;
    explore::node& here_;
    reference_daemon& r_;
};

// ---- keys and locks -------------------------------------------------------------------------------------------------

void reference_step::write(vm_state state) {
    // Whether it answers what it acts on, or writes over something newer; and a hand-over that says nothing.
    const bool is_answer = m_.keys.state == r_.state && m_.keys.node == r_.node;
    const bool is_blind = m_.keys.is_a_clients && !r_.state_is_its && !is_answer && m_.keys.state != state;
    const bool is_hand_over = state == vm_state::stop && policy::is_migration(r_.state);
    if (is_blind || is_hand_over || (state == vm_state::stop && r_.state == vm_state::restart)) {
        m_.last_word = client_word::open;
    }
    // What it says is off and is not, and what it says is to run elsewhere: the start of one of ours is refused.
    const bool is_false =
        state == vm_state::stop && any_node(m_, [](const explore::node& one) { return one.guest != guest_here::none; });
    m_.may_fail = m_.may_fail || state == vm_state::fail || is_false || is_blind;
    m_.keys.state = state;
    m_.keys.state_changed = m_.stamp();
    m_.keys.is_a_clients = true;
    count_write(m_);
}

bool reference_step::queue(explore::queue& where) {
    if (!is_queued(where, who_)) {
        where.push_back(who_);
    }
    return is_first(where, who_);
}

bool reference_step::queue_for_sync() {
    if (!is_queued(m_.locks.of_sync, who_)) {
        m_.locks.of_sync.push_back(who_);
        r_.queued = m_.stamp();
        of_.notify_sync();
    }
    return is_first(m_.locks.of_sync, who_);
}

void reference_step::give_back(explore::queue& where) {
    leave(where, who_);
}

void reference_step::give_back_sync() {
    leave(m_.locks.of_sync, who_);
    r_.queued = 0;
    of_.notify_sync();
}

void reference_step::leak_sync() {
    std::ranges::replace(m_.locks.of_sync, who_, static_cast<std::int8_t>(a_leak + who_));
    r_.leaked = std::exchange(r_.queued, 0);
}

void reference_step::write_word(sync_value value) {
    m_.keys.sync = value;
    m_.keys.sync_changed = m_.stamp();
    r_.has_left_word = value != sync_value::empty;
    of_.notify_sync();
}

bool reference_step::has_libvirt() {
    if (!here_.libvirt_is_up) {
        r_.where = at_step::stuck;
    }
    return here_.libvirt_is_up;
}

void reference_step::fail() {
    write(vm_state::fail);
    r_.where = at_step::idle;
}

// ---- passes ---------------------------------------------------------------------------------------------------------

// The rest of its keys; an operation that is under way makes it forget the whole event (H02).
void reference_step::pass() {
    const vm_state state = *std::exchange(r_.reading, std::nullopt);
    if (r_.where != at_step::idle) {
        return;
    }
    r_.state = state;
    r_.node = m_.keys.node;
    if (r_.node == who_) {
        r_.has_handle = has_guest();
    }
    act(runs());
}

void reference_step::act(bool is_here) {
    if (r_.node == who_ && r_.state != vm_state::shutdown) {
        act_as_owner(is_here);
    } else if (is_here && policy::is_migration(r_.state)) {
        r_.where = at_step::locking_node;
        r_.tries = 0;
        r_.has_outlived = false;
    } else if (is_here && r_.state == vm_state::shutdown) {
        r_.where = at_step::asking_off;
    } else if (is_here && r_.node != who_) {
        r_.where = at_step::destroying;  // `fail` too (H31)
    } else if (r_.node == who_) {
        list(false);  // and the state stays (H14)
    }
}

void reference_step::act_as_owner(bool is_here) {
    switch (r_.state) {
        case vm_state::start:
            if (is_here) {
                r_.last_node = m_.keys.last_node;
                list(true);
            }
            r_.where = is_here ? at_step::idle : at_step::looking_at_disk;
            return;
        case vm_state::migrate:
        case vm_state::migrate_live:
        case vm_state::unmigrate: r_.where = is_here ? at_step::writing_running : at_step::offering; return;
        case vm_state::restart: r_.where = is_here ? at_step::asking_off : at_step::writing_running; return;
        case vm_state::stop:
            if (!is_here) {
                list(false);
            }
            r_.where = is_here ? at_step::destroying : at_step::idle;
            return;
        default: return;
    }
}

// ---- start, stop, shutdown, restart ---------------------------------------------------------------------------------

void reference_step::start() {
    const bool is_of_restart = r_.state == vm_state::restart;
    switch (r_.where) {
        case at_step::looking_at_disk:
            if (m_.disk_locked_by != nobody && m_.disk_locked_by != who_) {
                fail();
                return;
            }
            r_.where = at_step::creating;
            return;
        case at_step::creating:
            if (!has_libvirt()) {
                return;
            }
            if (here_.guest != guest_here::none) {
                fail();  // it is there already, and does not execute (H10)
                return;
            }
            of_.set_guest(who_, guest_here::runs);
            r_.has_handle = true;
            r_.where = at_step::listing_created;
            return;
        case at_step::listing_created:
            list(true);
            r_.where = is_of_restart ? at_step::writing_running : at_step::idle;
            return;
        default:
            write(vm_state::start);
            r_.where = at_step::idle;
            return;
    }
}

void reference_step::end() {
    switch (r_.where) {
        case at_step::destroying:
            if (!has_libvirt()) {
                return;
            }
            if (here_.guest == guest_here::none) {
                r_.where = at_step::stuck;
                return;
            }
            [[fallthrough]];
        case at_step::destroying_late: {
            const bool is_late = r_.where == at_step::destroying_late;
            if (!has_libvirt()) {
                return;
            }
            if (m_.job.where != live_job::at::none && (m_.job.from == who_ || m_.job.to == who_)) {
                of_.fail_job(0);
            }
            of_.set_guest(who_, guest_here::none);
            r_.where = is_late ? at_step::unlisting_late : at_step::unlisting_destroyed;
            return;
        }
        case at_step::unlisting_late:
        case at_step::unlisting_destroyed: {
            const bool is_stop = r_.where == at_step::unlisting_destroyed && r_.node == who_;
            list(false);
            r_.where = is_stop ? at_step::writing_destroyed : at_step::idle;
            r_.has_handle = has_guest();
            return;
        }
        default:
            write(vm_state::stop);
            r_.where = at_step::idle;
            return;
    }
}

void reference_step::go_off() {
    const bool is_of_move = policy::is_migration(r_.state);
    const bool is_wanted = m_.keys.state == vm_state::shutdown || m_.keys.state == vm_state::restart ||
                           policy::is_migration(m_.keys.state);
    switch (r_.where) {
        case at_step::asking_off:
            if (has_libvirt()) {
                here_.is_going_off = here_.guest == guest_here::runs;
                r_.until = m_.now + shutdown_timeout;
                r_.where = at_step::going_off;
            }
            return;
        case at_step::going_off:
            if (runs() && !is_wanted) {
                r_.where = is_of_move ? at_step::releasing_node : at_step::idle;
                r_.reading = m_.keys.state;  // and a pass at once
                return;
            }
            r_.has_outlived = runs();
            r_.where = runs() ? at_step::writing_off : at_step::unlisting_off;  // "not running" is off (H09)
            return;
        case at_step::unlisting_off:
            list(false);
            r_.where = at_step::writing_off;
            return;
        case at_step::writing_off:
            write(vm_state::stop);
            r_.where = is_of_move                      ? at_step::releasing_node
                       : r_.state == vm_state::restart ? at_step::writing_restart
                                                       : at_step::idle;
            return;
        case at_step::writing_restart:
            write(vm_state::start);
            r_.where = at_step::restarting;
            return;
        default: r_.where = runs() ? at_step::writing_running : at_step::looking_at_disk; return;
    }
}

// ---- send -----------------------------------------------------------------------------------------------------------

void reference_step::send() {
    const bool is_pointless = m_.keys.node == who_ || m_.keys.node == m_.keys.last_node;
    switch (r_.where) {
        case at_step::locking_node:
            if (queue(m_.locks.of_node)) {
                r_.where = at_step::locking_state;
            }
            return;
        case at_step::locking_state:
            if (queue(m_.locks.of_state)) {
                r_.where = at_step::looking;
            }
            return;
        case at_step::looking:
            r_.target = m_.keys.node;
            r_.until = m_.now + lock_limit;
            r_.where = is_pointless ? at_step::rolled_back_node : at_step::queueing;
            return;
        case at_step::queueing:
            if (is_queued(m_.locks.of_sync, who_) && !is_first(m_.locks.of_sync, who_)) {
                give_back_sync();  // its time is over
                r_.where = at_step::rolling_back;
            } else if (queue_for_sync()) {
                r_.where = at_step::checking;
            }
            return;
        default: {
            const bool is_offline = m_.what == subject::offline;
            const bool is_enforced = r_.state == vm_state::migrate_live;
            if (is_pointless || m_.keys.node != r_.target || (is_offline && is_enforced)) {
                leak_sync();
                r_.where = at_step::rolling_back;
                return;
            }
            r_.where = is_offline ? at_step::asking_off : at_step::calling;
            return;
        }
    }
}

void reference_step::move() {
    if (r_.where == at_step::calling) {
        r_.has_moved.reset();
        r_.where = at_step::called;
        m_.job = {live_job::at::begun, who_, r_.target};
        if (!here_.libvirt_is_up) {
            of_.fail_job(0);
        }
        return;
    }
    if (r_.where == at_step::unlisting_moved) {
        list(false);
        r_.where = at_step::releasing_node;
        return;
    }
    const bool has_moved = *std::exchange(r_.has_moved, std::nullopt);
    if (has_moved) {
        r_.where = at_step::unlisting_moved;
    } else if (++r_.tries < live_tries) {
        r_.where = at_step::calling;  // whatever the target has (8.6)
    } else if (r_.state == vm_state::migrate_live) {
        leak_sync();
        r_.where = at_step::rolling_back;
    } else {
        r_.where = at_step::asking_off;
    }
}

void reference_step::release() {
    switch (r_.where) {
        case at_step::rolling_back: {
            write(vm_state::start);
            m_.keys.node = who_;
            m_.keys.last_node = r_.last_node;
            m_.keys.node_changed = m_.keys.last_changed = m_.keys.state_changed;
            r_.where = at_step::rolled_back_node;
            return;
        }
        case at_step::rolled_back_node:
        case at_step::releasing_node:
            give_back(m_.locks.of_node);
            r_.where = r_.where == at_step::releasing_node ? at_step::releasing_state : at_step::rolled_back_state;
            return;
        case at_step::rolled_back_state:
            give_back(m_.locks.of_state);
            r_.where = at_step::idle;
            return;
        case at_step::releasing_state:
            give_back(m_.locks.of_state);
            r_.where = at_step::releasing_sync;
            return;
        default:
            give_back_sync();
            r_.has_handle = has_guest();
            r_.where = std::exchange(r_.has_outlived, false) ? at_step::destroying_late : at_step::idle;
            return;
    }
}

// ---- receive --------------------------------------------------------------------------------------------------------

void reference_step::receive() {
    switch (r_.where) {
        case at_step::offering:
            write_word(sync_value::offered);
            r_.until = m_.now + lock_limit;
            r_.where = at_step::queueing_first;
            return;
        case at_step::queueing_first:
            if (is_queued(m_.locks.of_sync, who_) && !is_first(m_.locks.of_sync, who_)) {
                give_back_sync();  // its time is over, and its flag stays (H05)
                r_.where = at_step::stuck;
            } else if (queue_for_sync()) {
                r_.where = at_step::holding;
            }
            return;
        case at_step::holding:
            give_back_sync();
            r_.where = at_step::queueing_again;
            return;
        case at_step::queueing_again:
            if (queue_for_sync()) {
                r_.where = at_step::looking_for_guest;
            }
            return;
        default: take(); return;
    }
}

void reference_step::take() {
    switch (r_.where) {
        case at_step::looking_for_guest:
            r_.has_handle = m_.keys.node == who_ ? has_guest() : r_.has_handle;
            r_.fails = has_guest() && !runs();
            if (m_.keys.node != who_ || (!has_guest() && m_.keys.state != vm_state::stop)) {
                r_.where = at_step::releasing_last;  // a state of `migrate` stays, and nobody starts a `start`
                return;
            }
            r_.where = runs() ? at_step::listing_arrived : at_step::writing_arrived;
            return;
        case at_step::listing_arrived:
            list(true);
            r_.where = at_step::writing_arrived;
            return;
        case at_step::writing_arrived:
            write(r_.fails ? vm_state::fail : vm_state::start);
            r_.where = at_step::releasing_last;
            return;
        case at_step::releasing_last:
            give_back_sync();
            r_.where = at_step::clearing_word;
            return;
        default:
            write_word(sync_value::empty);
            r_.where = at_step::idle;
            return;
    }
}

void reference_step::go_on() {
    if (r_.where <= at_step::writing_running) {
        start();
    } else if (r_.where <= at_step::writing_destroyed || r_.where == at_step::destroying_late ||
               r_.where == at_step::unlisting_late) {
        end();
    } else if (r_.where <= at_step::restarting) {
        go_off();
    } else if (r_.where <= at_step::checking) {
        send();
    } else if (r_.where <= at_step::unlisting_moved) {
        move();
    } else if (r_.where <= at_step::rolled_back_state) {
        release();
    } else {
        receive();
    }
}

}  // namespace

void world::step_reference(std::int8_t who, std::uint8_t how) {
    reference_daemon& r = *explore::at(m, who).reference;
    reference_step step(*this, who);
    switch (static_cast<reference_deed>(how)) {
        case reference_deed::notice:
            r.noticed = m.keys.state_changed;
            r.reading = m.keys.state;
            return;
        case reference_deed::read_rest: step.pass(); return;
        case reference_deed::step:
        case reference_deed::slow_step: step.go_on(); return;
        case reference_deed::nudge: step.write(vm_state::start); return;
    }
}

}  // namespace pvc::explore
