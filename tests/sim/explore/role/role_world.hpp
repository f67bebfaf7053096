// The world in which a hand-over of the primary role is explored: the key that names the primary, the queues of T and S
// with what each kind of lock waits for, own routerstates, what each node holds of the phases C to G, and two or three
// nodes: ours (the real rules, the real machines of policy/role, and what their shell does with what they ask for), or
// one that walks as the reference does (node-lifecycle.md 7.1, 7.3, 7.4; zookeeper-schema.md 4.3).
//
// What is abstract. Time: a limit ends only when somebody else is out of touch, when otherwise nothing would happen, or
// as a fault (`late`). Silence has three degrees: fresh, 2 x KI, past isolation. A daemon that is cut off notices
// the end of its session before the server does, and gives up by itself before others may count on that; a process
// that is stopped as a whole is not here. A fence at the last degree always succeeds. Contention for the name
// (0.4 s) is one step, and the 0.5 s before a transition are only a reference node's, whose heartbeat may come in them
// and after. A candidate that is past A without its partner is ahead for a holder that begins then; once
// something has disturbed, it may be for any holder. Views are current: what was decided on an old one is a question
// whose answer comes later. Addresses of a phase are one thing, and so are all services. What a crash leaves behind
// does not answer to anybody.
#pragma once

#include "pvcnoded/policy/role/candidate.hpp"
#include "pvcnoded/policy/role/holder.hpp"
#include "pvcnoded/policy/role/written_back.hpp"
#include "sim/explore/identity.hpp"

#include <boost/container/static_vector.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>

namespace pvc::explore::roles {

using policy::role_lock;
using policy::role_phase;

inline constexpr std::int8_t nobody = -1;
inline constexpr std::int8_t nodes_max = 3;

struct bounds {
    std::uint8_t nodes = 2;
    std::uint8_t faults = 1;
    std::uint8_t writes = 1;
    std::int8_t reference = nobody;  // 0: the holder, 1: the candidate
    friend bool operator==(const bounds&, const bounds&) = default;
};

struct contender {
    std::int8_t owner = nobody;
    bool is_reader = false;
    bool is_orphan = false;  // its session has ended, or nobody could delete it: it vanishes later
    std::int64_t sequence = 0;
    bool is_left = false;  // the second, and its session lives: its owner deletes it as soon as he is in touch again
    friend bool operator==(const contender&, const contender&) = default;
};
using contenders = boost::container::static_vector<contender, 12>;

enum class link : std::uint8_t { up, cut, crashed };
enum class silence : std::uint8_t { fresh, silent, past };

// What a node of ours does, and how far the question is.
struct transition {
    std::variant<policy::candidate, policy::holder> machine;
    policy::role_step pending;
    bool is_queued = false;   // a lock was asked for, and its child is there
    bool has_waited = false;  // a writer of another node was before it
    // Readers that are let go first (4.3): when the last lock was released, or the one stepped aside for.
    boost::container::static_vector<std::int64_t, 4> drain;
    std::int64_t known_reader = -1;  // the last of them, until the lock that is asked for next is answered
    bool is_between = false;         // it has let go of S as a writer, and is not queued yet
    bool is_overtaken = false;       // somebody else has queued meanwhile

    [[nodiscard]] auto fields() const {
        return std::tie(machine, pending.what, pending.until, is_queued, has_waited, drain, known_reader, is_between,
                        is_overtaken);
    }
};

// The reference in a transition: one phase after the other, each a lock that is asked for, had and let go.
struct reference_walk {
    enum class at : std::uint8_t { wait_role, clear, ask, wait, act, let_go, release_role, say };
    bool is_candidate = false;
    at where = at::ask;
    role_phase phase = role_phase::a;
    std::int64_t watched = 0;  // the writer that a reader waits for
    friend bool operator==(const reference_walk&, const reference_walk&) = default;
};

// C to F, and the services.
inline constexpr std::uint8_t services = 16;
inline constexpr std::uint8_t addresses = 15;
inline constexpr std::uint8_t everything = services | addresses;
[[nodiscard]] std::uint8_t part_of(role_phase which);

struct member {
    link to_zookeeper = link::up;
    silence heard = silence::fresh;
    bool has_session = true;
    bool is_fenced = false;
    model::router_state role = model::router_state::secondary;
    model::router_state stored = model::router_state::secondary;
    std::uint8_t held = 0;
    std::uint8_t left = 0;  // by a crash
    // Who was in touch at some time since its last transition began; and who was as it took what that one holds still.
    std::uint8_t up_since = 0;
    bool has_edge = false;        // reference: a change of the name that it has not seen
    bool has_tick = false;        // reference: a tick has seen another name, and will write over it
    bool is_leaving = false;      // reference: it has seen another name, and relinquishes whatever the key says by then
    bool is_after_name = false;   // its role was written after the key
    policy::written_back memory;  // ours, beside a reference node
    std::optional<transition> does;
    std::optional<reference_walk> walks;

    [[nodiscard]] auto fields() const {
        return std::tie(to_zookeeper, heard, has_session, is_fenced, role, stored, held, left, up_since, has_edge,
                        has_tick, is_leaving, is_after_name, memory, does, walks);
    }
};

struct world {
    bounds of;
    std::int8_t named = 1;  // /config/primary_node
    std::array<member, nodes_max> nodes;
    std::array<contenders, 2> queues;  // T, S
    std::uint8_t release = 0;          // of the reference; 0: not chosen, 1: 0.9.82, 2: 1.0.3
    std::uint8_t faults = 0;           // left
    std::uint8_t writes = 0;
    bool is_undisturbed = true;  // no fault, no word of a client since the beginning
    bool is_timely = true;       // whoever was in touch came in time
    std::int64_t last_sequence = 0;

    [[nodiscard]] auto fields() const {
        return std::tie(named, nodes, queues, release, faults, writes, is_undisturbed, is_timely);
    }
    [[nodiscard]] bool is_reference(std::int8_t who) const { return who == of.reference; }
    [[nodiscard]] member& at(std::int8_t who) { return nodes.at(static_cast<std::size_t>(who)); }
    [[nodiscard]] const member& at(std::int8_t who) const { return nodes.at(static_cast<std::size_t>(who)); }
    [[nodiscard]] contenders& queue(role_lock which) { return queues.at(static_cast<std::size_t>(which)); }
    [[nodiscard]] const contenders& queue(role_lock which) const { return queues.at(static_cast<std::size_t>(which)); }
};

struct move {
    enum class kind : std::uint8_t {
        choose,     // the release of the reference
        rule,       // C1 to C5'
        go,         // what was asked for is done, or what is seen has changed
        go_behind,  // `relinquish` is written, and the candidate is far ahead by then
        beat,       // a heartbeat of `other` is seen
        align,      // own routerstate says again what the daemon does
        drop_left,  // what a crash left behind, once another node is named
        react,      // reference: to a change of the name
        leave,      // reference: `relinquish`
        tick,       // reference: the name is written once more
        look,       // ours: at who is named
        step,       // reference: the next step of its walk
        // When time passes.
        late_rule,
        step_aside,
        drained,
        time_out,  // of ours or of the reference
        call_off,
        call_off_done,  // it was done all the same
        fail,           // nobody can be asked
        vanish,         // locks of a session that ended
        grow_silent,
        heal,
        restart,
        // Not quiet.
        crash,
        cut,
        cut_done,  // what was under way was done all the same
        lose_role_lock,
        lose_sync_lock,
        late,  // a time-out although nothing is in the way
        client,
    };
    kind what = kind::go;
    std::int8_t who = nobody;
    std::int8_t other = nobody;

    [[nodiscard]] bool is_quiet() const { return what < kind::crash; }
};

struct broken_rule {
    std::string rule;
    std::string text;
};

[[nodiscard]] world beginning(const bounds& of);
[[nodiscard]] std::vector<move> moves_of(const world& now);
// What is broken by it, or by the world that comes of it.
[[nodiscard]] std::optional<broken_rule> apply(world& now, const move& one);
// One primary who is named and holds everything, nobody else holds anything, nothing is locked, nobody is under way.
[[nodiscard]] bool is_at_rest(const world& now);
// At each moment. An address is on two nodes whose daemons live only while one of them is `relinquish`, or the other
// was in touch after one began to take it: such a one gives way, at its isolation limit if it is cut off right then,
// also if the next transition begins here before that.
[[nodiscard]] std::optional<broken_rule> wrong_now(const world& now);
[[nodiscard]] identity identity_of(const world& now);
[[nodiscard]] std::string to_text(const move& one, const world& before);
[[nodiscard]] std::string_view name_of(std::int8_t who);

// ---- parts of the model

inline constexpr time_point start_of_time{std::chrono::hours(1)};

[[nodiscard]] policy::coordinator_view view_of(const world& now, std::int8_t who, bool is_late);
[[nodiscard]] contender* own_in(contenders& queue, std::int8_t who);
[[nodiscard]] const contender* own_in(const contenders& queue, std::int8_t who);
void remove_own(contenders& queue, std::int8_t who);
void set_named(world& now, std::int8_t whom);
void store_role(world& now, member& of, model::router_state to);
// What it remembers of the key, once it has looked.
[[nodiscard]] policy::written_back looked_at(const world& now, std::int8_t who);

[[nodiscard]] bool can_go(const world& now, std::int8_t who);
[[nodiscard]] std::optional<broken_rule> go(world& now, std::int8_t who);
[[nodiscard]] bool can_call_off(const world& now, std::int8_t who);
[[nodiscard]] std::optional<broken_rule> take_up(world& now, std::int8_t who, role_phase which);
[[nodiscard]] std::optional<broken_rule> answer(world& now, std::int8_t who, policy::role_answer said, time_point when,
                                                std::int8_t heard = nobody, duration ahead = {});
[[nodiscard]] bool can_find_ahead(const world& now, std::int8_t who);
[[nodiscard]] bool is_surely_ahead(const world& now, std::int8_t who);
[[nodiscard]] std::optional<broken_rule> go_behind(world& now, std::int8_t who);
[[nodiscard]] std::optional<broken_rule> follow_rule(world& now, std::int8_t who, bool is_late);
void store_what_is_written(world& now, std::int8_t who);

[[nodiscard]] bool can_step(const world& now, std::int8_t who);
void step_reference(world& now, std::int8_t who);
[[nodiscard]] bool can_time_out_reference(const world& now, std::int8_t who);
void time_out_reference(world& now, std::int8_t who);
void react_reference(world& now, std::int8_t who);
void leave_reference(world& now, std::int8_t who);
[[nodiscard]] bool can_tick(const world& now, std::int8_t who);
void tick_reference(world& now, std::int8_t who);

}  // namespace pvc::explore::roles
