// The explorer's world: the keys, locks and sessions of one domain, two or three nodes with a hypervisor each, and the
// real machines of src/policy on them. Small enough to be tried in every order, and a value: copied for every step.
// What is left out, and why, is in docs/simulation.md ("Exploring").
#pragma once

#include "pvcnoded/policy/domains/migration_journal.hpp"
#include "pvcnoded/policy/domains/operations.hpp"
#include "pvcnoded/policy/domains/oversight.hpp"
#include "sim/explore/identity.hpp"
#include "sim/explore/model_reference.hpp"
#include "sim/explore/shared_value.hpp"

#include <boost/container/static_vector.hpp>
#include <boost/mp11/algorithm.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace pvc::explore {

inline constexpr std::size_t nodes_max = 3;
inline constexpr std::int8_t nobody = -1;
inline constexpr std::int8_t a_client = 7;  // as the owner of a lock's child
inline constexpr std::int8_t a_leak = 32;   // the same, and the node: a child that a reference node has forgotten

// ---- ZooKeeper ------------------------------------------------------------------------------------------------------

enum class sync_value : std::uint8_t { empty, offered, handed_over };
struct stored_keys {
    model::vm_state state = model::vm_state::start;
    std::int8_t node = 0;
    std::int8_t last_node = nobody;  // none: empty
    sync_value sync = sync_value::empty;
    std::int64_t created = 1;
    std::int64_t state_changed = 2;
    std::int64_t node_changed = 2;
    std::int64_t last_changed = 2;
    std::int64_t sync_changed = 2;
    bool is_a_clients = true;  // the `state`: a client wrote it last, or a reference node
};
// Who is queued for each lock, by turn: a node or a client.
using queue = boost::container::static_vector<std::int8_t, 6>;
struct lock_queues {
    queue of_node;
    queue of_state;
    queue of_sync;
};

void leave(queue& of, std::int8_t who);
[[nodiscard]] bool is_first(const queue& of, std::int8_t who);
[[nodiscard]] bool is_queued(const queue& of, std::int8_t who);
[[nodiscard]] std::size_t place_of(const queue& of, std::int8_t who);  // its size: not there

// ---- hypervisors ----------------------------------------------------------------------------------------------------

enum class guest_here : std::uint8_t {
    none,
    runs,
    arriving,  // the receiving half: it has never executed here
    left,      // the sending half, after the switch
};
// One live migration, step by step; the call is answered at its end.
struct live_job {
    enum class at : std::uint8_t { none, begun, copying, switched, resumed } where = at::none;
    std::int8_t from = nobody;
    std::int8_t to = nobody;
};

// ---- a node ---------------------------------------------------------------------------------------------------------

// As the daemon read the domain last.
struct row {
    bool is_known = false;  // read in this session
    stored_keys keys;
    std::int8_t came_from = nobody;
    struct {
        bool is_known = false;
        bool was_owner = false;
        model::vm_state state = model::vm_state::unknown;
        std::int8_t node = nobody;
        std::int64_t changed = 0;
    } stable;
    std::uint8_t writes_since_stable = 0;  // of `state`, as read: one, or more
    std::uint8_t unread_writes = 0;        // and those since
    bool is_handed_over = false;
    time_point state_since{};
};

// The locks of a machine, as far as they are had.
struct lock_claim {
    enum class at : std::uint8_t { none, wanted, on_first, held, late, releasing } where = at::none;
    time_point until{};
};

// (libstdc++ looks for the type anew at every std::holds_alternative: a tenth of the explorer's time.)
template <class... Question>
[[nodiscard]] bool is_any(const policy::step& of) {
    return ((of.what.index() == boost::mp11::mp_find<policy::ask::any, Question>::value) || ...);
}

[[nodiscard]] policy::held_now::locks state_of(const lock_claim& of);

struct asked {
    policy::step what;
    bool is_answered = false;  // the effect is done, its answer is on its way
    bool ran_here = false;     // as it was seen when a write of its state was asked for
    bool may_end = false;      // as its keys are seen when this is asked, it may be off here
    policy::answer said{};
    // What a write is guarded by: the keys as they were seen when it was asked for.
    std::int64_t state_changed = 0;
    std::int64_t node_changed = 0;
    std::int64_t last_changed = 0;
};

struct hand_shake {
    std::variant<policy::offering_sync, policy::taking_sync> machine;
    asked pending;
    bool is_changed = false;  // something of its keys is another since it waits
    lock_claim lock;
    bool is_wanted = true;
    bool has_ended = false;
};

struct live_call {
    std::int8_t to = nobody;
    bool has_begun = false;
    time_point begun{};
    bool is_given_up = false;
    bool is_over = false;
    std::optional<policy::call_end> outcome;
};

// The locks of a reference sender, as far as a receiver of ours has seen them (src/domains, reference_sender).
struct sender_seen {
    bool is_old = true;  // children have changed since it looked
    bool has_them = false;
    std::uint8_t changes = 0;  // of the children of `state` since it had them: none, one, more
    std::int64_t changed = 0;
};

struct operation {
    policy::domain_action what = policy::domain_action::nothing;
    policy::domain_machine machine;
    asked pending;
    policy::holdings holds;
    lock_claim locks;
    std::optional<hand_shake> sync;
    std::optional<live_call> call;
    bool asks_guest = false;
    sender_seen sender;

    // What makes two of them different: all but `holds`, which the machine tells.
    [[nodiscard]] auto fields() const {
        return std::tie(what, machine, pending, locks, sync, call, asks_guest, sender);
    }
};

struct record_on_disk {
    bool is_there = false;
    bool is_sender = false;
    bool is_offline = false;
    std::int64_t created = 0;
    std::int64_t state_changed = 0;
    std::int8_t last_node = nobody;
    std::int8_t peer = nobody;
};

struct node {
    // Outside the daemon.
    guest_here guest = guest_here::none;
    bool is_going_off = false;  // the guest got the request
    bool is_remnant = false;    // libvirt itself ends this half, sooner or later
    bool is_stale = false;      // it went on elsewhere, and ended there: nobody misses this copy
    bool libvirt_is_up = true;
    bool has_power = true;
    bool lists_it = false;      // in the stored running list
    bool is_list_late = false;  // which is still to be written
    model::daemon_state stored = model::daemon_state::run;
    record_on_disk record;
    // The daemon.
    bool is_up = true;
    bool has_session = true;
    bool session_left = false;  // it died or lost it: the servers have not noticed yet
    policy::domain_memory memory;
    bool has_memory = false;  // the domain is, or was, its business
    bool has_list = true;     // its running list has begun with what is stored and runs
    row seen;
    std::optional<model::guest_class> observed;
    time_point class_since{};
    std::optional<time_point> pause_until;
    std::optional<time_point> look_again;
    std::optional<operation> does;
    std::optional<reference_daemon> reference;  // instead of ours: nothing of the above but the session is used then
};

// ---- all ------------------------------------------------------------------------------------------------------------

// What is off and is moved stays off if a node has seen it off, and else comes to run: `moved_off`. What a reference
// node wrote over, or handed over without saying so, may be either: `open`.
enum class client_word : std::uint8_t { run, off, moved_off, open };
struct client {
    enum class at : std::uint8_t { idle, queued } where = at::idle;
    bool has_lock = false;
    model::vm_state state = model::vm_state::unknown;  // to be written
    std::int8_t to = nobody;                           // nobody: `node` stays
};

// What is begun at first.
enum class subject : std::uint8_t { migration, offline, start, shutdown, locked };
// It is off at first; of `locked` its disk has a lock that a guest on the first node left.
[[nodiscard]] constexpr bool begins_off(subject what) {
    return what == subject::start || what == subject::locked;
}
struct bounds {
    subject what = subject::migration;
    std::uint8_t nodes = 2;
    std::uint8_t faults = 1;
    std::uint8_t writes = 1;  // of clients, after the first
    std::uint8_t delays = 1;  // deadlines that pass while something slow is under way: a copy, a restart, a clean-up
    std::int8_t reference = nobody;  // the node that runs the reference
};

struct scene {
    subject what = subject::migration;
    std::uint8_t nodes = 2;
    std::uint8_t faults_left = 0;
    std::uint8_t writes_left = 0;
    std::uint8_t delays_left = 0;
    stored_keys keys;
    lock_queues locks;
    live_job job;
    std::int8_t disk_locked_by = nobody;
    std::array<shared_value<node, part_identity>, nodes_max> all;
    boost::container::static_vector<client, 4> clients;
    client_word last_word = client_word::run;
    bool may_fail = false;  // a start was refused by a fault: `fail` is what is to become of it
    time_point now{std::chrono::hours(1)};
    std::int64_t last_stamp = 10;

    [[nodiscard]] boot_time boot_now() const { return boot_time(now.time_since_epoch()); }
    std::int64_t stamp() { return ++last_stamp; }
};

// To change it: no state has it in common with this one any more. Who only looks uses `see`.
[[nodiscard]] inline node& at(scene& m, std::int8_t who) {
    return m.all.at(static_cast<std::size_t>(who)).change();
}
[[nodiscard]] inline const node& see(const scene& m, std::int8_t who) {
    return m.all.at(static_cast<std::size_t>(who)).see();
}
[[nodiscard]] inline const node& at(const scene& m, std::int8_t who) {
    return see(m, who);
}
template <class Question>
[[nodiscard]] bool any_node(const scene& m, Question question) {
    bool is_any = false;
    for (std::int8_t who = 0; who < static_cast<std::int8_t>(m.nodes); ++who) {
        is_any = is_any || question(see(m, who));
    }
    return is_any;
}
[[nodiscard]] int running_in(const scene& m);  // how many execute the guest
void count_write(scene& m);                    // of `state`, for those who have not read it yet
[[nodiscard]] const std::string& name_of(std::int8_t node);
[[nodiscard]] std::int8_t node_named(std::string_view name);
// A domain that runs on the first node, where all is quiet; a client is about to migrate it to the second.
[[nodiscard]] scene beginning(const bounds& of);
// What it is known by (canonical.hpp).
[[nodiscard]] identity identity_of(const scene& of);

// ---- steps ----------------------------------------------------------------------------------------------------------

struct move {
    enum class kind : std::uint8_t {
        read_row,   // the daemon reads the keys after an event
        see_guest,  // it hears of its guest
        perform,    // what its machine asked is done
        answer,     // and the answer comes
        wake,       // a wait ends: its time is over, or it was notified
        lock,       // its locks go a step further
        sync_wake,  // the same of its hand-shake
        sync_lock,
        end_request,  // the guest, asked to, has gone off
        job,          // the live migration goes a step further
        clean,        // libvirt ends the receiving half of a migration that broke
        look,         // nothing runs, and the manager looks again
        write_list,   // its running list, that was refused before
        reconnect,    // a new session
        start_daemon,
        start_libvirt,
        notice,     // the servers notice that a session is gone
        follow,     // a receiver looks who has the locks of a reference sender
        reference,  // a reference node: how it goes on, model_reference.cpp
        power_on,
        client_turn,  // a client has its lock, or needs none: it writes
        time,         // nothing is ready: the next deadline
        // Not quiet.
        client_word,  // a client begins
        lose_session,
        kill_daemon,  // variants: its record kept; lost, or not to be parsed, which says as little as none
        kill_libvirt,
        lose_power,
        end_guest,    // variants: it powers off from inside; it crashes, and its lock on the disk stays
        fail_job,     // variants: cleanly; with the guest over there, the half here left; or gone from here
        lose_answer,  // what was asked is done, and the answer never comes
        fail_effect,  // what was asked is not done
    };
    kind what = kind::time;
    std::int8_t who = nobody;
    std::uint8_t how = 0;

    [[nodiscard]] bool is_quiet() const { return what < kind::client_word; }
};
[[nodiscard]] std::string to_text(const move& one, const scene& before);

struct broken_rule {
    std::string_view rule;  // named as in the world (tests/sim/subjects)
    std::string text;
};
// All moves that are possible now, those of faults and clients among them.
using moves = boost::container::static_vector<move, 64>;
[[nodiscard]] moves moves_of(const scene& now);
// Makes it; says what it broke.
std::optional<broken_rule> apply(scene& now, const move& one);
// The daemon has read its keys before they were last written.
[[nodiscard]] bool is_row_old(const scene& m, const node& one);
// Nothing goes on, and nothing is left to do; and what is wrong with that.
[[nodiscard]] bool is_settled(const scene& now);
[[nodiscard]] std::optional<broken_rule> wrong_when_settled(const scene& now);

// ---- parts of apply (model_node.cpp, model_effects.cpp) -------------------------------------------------------------

class world {
public:
    explicit world(scene& of) : m(of) {}

    scene& m;
    std::optional<broken_rule> broken;
    bool has_own_news = false;  // something it holds is given back in this step: its machine is to know

    [[nodiscard]] policy::domain_seen seen_of(std::int8_t who) const;
    void say(std::string_view rule, std::string text);
    // The daemon.
    void read_row(std::int8_t who);
    void see_guest(std::int8_t who);
    // The stored running list becomes what the daemon wants it to be, unless that is still to be written.
    void store_list(std::int8_t who);
    void notify(std::int8_t who);  // whoever waits for a change of the domain
    void look(std::int8_t who);    // between two operations
    void resume(std::int8_t who, const policy::answer& said);
    void hold(std::int8_t who);
    void end_operation(std::int8_t who);
    void resume_sync(std::int8_t who, const policy::answer& said);
    void notify_sync();  // children or value of `migrate_sync_lock` are others
    void step_lock(std::int8_t who);
    void step_sync_lock(std::int8_t who);
    void begin_session(std::int8_t who);
    void lose_daemon(std::int8_t who);
    void lose_session(std::int8_t who);
    // Effects.
    [[nodiscard]] std::optional<policy::answer> perform(std::int8_t who, const policy::step& what);
    [[nodiscard]] policy::answer failed(const policy::step& what, bool is_done) const;
    void carry_out(std::int8_t who, const std::vector<policy::act::any>& acts);
    policy::write_end write_state(std::int8_t who, model::vm_state state, policy::sync_word sync);
    policy::write_end write_placement(std::int8_t who, model::vm_state state, std::int8_t to, std::int8_t last);
    policy::call_answer destroy(std::int8_t who);
    [[nodiscard]] policy::remote_answer answer_about(std::int8_t who, std::int8_t asked) const;
    void set_guest(std::int8_t who, guest_here what);
    void step_job();
    void fail_job(std::uint8_t how);
    void answer_call(std::int8_t who, policy::call_end how);
    void drop_children(std::int8_t who);
    // A reference node (model_reference.cpp).
    void step_reference(std::int8_t who, std::uint8_t how);
    void follow_sender(std::int8_t who);
    [[nodiscard]] bool is_senders_stop(std::int8_t who);
    [[nodiscard]] bool contends(std::int8_t who);
    void judge_reference(const scene& before, const move& by);
};

// ---- a reference node (model_reference.cpp) -------------------------------------------------------------------------

[[nodiscard]] std::int8_t reference_of(const scene& of);
void add_of_reference(const scene& now, std::int8_t who, moves& all);
[[nodiscard]] bool may_take_long_there(std::uint8_t how);
[[nodiscard]] std::optional<time_point> next_time_of_reference(const scene& now);
[[nodiscard]] bool is_settled_reference(const scene& now);
[[nodiscard]] bool is_the_references(const scene& now);
[[nodiscard]] bool hangs_on_reference(const scene& now);
[[nodiscard]] bool has_left_word(const scene& now);
[[nodiscard]] bool has_misled(const scene& now);

[[nodiscard]] model::guest_class class_of(guest_here what);

}  // namespace pvc::explore
