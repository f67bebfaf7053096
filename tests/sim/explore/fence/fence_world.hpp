// The world in which the fence of a dead node is explored: a victim (hv3) with its board, two coordinators (hv1 ours,
// hv2 ours or one that fences as the reference does), one machine on a disk in Ceph, and a node that takes it (hv4).
// The machines are the real ones (policy/fencing: detection, order, attempt, recovery); what the shell does with what
// they ask for is here. Identity numbers of transactions count; times are real ones of a clock that goes on only when
// nothing is left to be done at once.
//
// What is abstract. Reads, writes and the disk answer at once, or not (a fault); a program of a board too, but for one
// that is slow. There is one dead node, so that it always has the turn. A daemon that lives beats all the time; what
// others see of that is one new number at its return. The victim's daemon does of its machines what a fenced node does:
// when it is back it ends guests whose keys name another node before it says `run`, and starts what is its own after.
// What a lying board says wrong it says for less than 5 s. Ceph answers, perhaps late.
#pragma once

#include "pvcnoded/policy/fencing/attempt.hpp"
#include "pvcnoded/policy/fencing/detection.hpp"
#include "pvcnoded/policy/fencing/order.hpp"
#include "pvcnoded/policy/fencing/recovery.hpp"
#include "sim/explore/identity.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pvc::explore::fences {

inline constexpr std::int8_t nobody = -1;
inline constexpr std::int8_t victim = 2;
inline constexpr std::int8_t taker = 3;

struct bounds {
    std::uint8_t faults = 1;  // crashes, lost locks, lost answers, what boards do
    std::uint8_t writes = 1;  // the victim's return, a client's `stop`
    bool reference = false;   // hv2 fences as 0.9.82 does
    bool recovers_after_failure = false;
    friend bool operator==(const bounds&, const bounds&) = default;
};

// How the machine stands when the victim falls silent.
enum class beginning_of : std::uint8_t {
    own,          // it runs on the victim
    listed_only,  // it runs on hv2, as its keys say; the victim's list still names it
    arriving,     // it migrates to the victim, and lives on hv2
    leaving,      // it migrates from the victim to hv4, and lives there where it was
};

struct board_state {
    bool refuses = false;
    bool is_soft = false;                    // `off` is a request to shut down
    bool has_booted = false;                 // since the node's last heartbeat: what it said before counts no more
    std::optional<time_point> lies_until{};  // it boots: says off, and takes an `off` that it does not carry out
    std::optional<time_point> off_at{};      // a shutdown that is under way
    friend bool operator==(const board_state&, const board_state&) = default;
};

struct victim_state {
    bool is_on = true;
    bool is_up = true;     // its daemon beats
    bool is_back = false;  // it has beaten, and has not said `run` yet
    bool has_guest = false;
    bool is_blocked = false;  // the client of that guest
    std::uint8_t life = 0;    // counts losses and returns of power
    std::optional<time_point> boots_at{};
    board_state board{};
    friend bool operator==(const victim_state&, const victim_state&) = default;
};

struct stored_keys {
    model::daemon_state state = model::daemon_state::run;
    std::int64_t state_id = 1;
    std::int64_t heartbeat_id = 2;
    bool is_recovering = false;
    bool is_listed = true;  // the machine, in the victim's running list
    std::int8_t proof_by = nobody;
    policy::fence_proof proof = policy::fence_proof::none;
    std::int64_t proof_id = 0;
    friend bool operator==(const stored_keys&, const stored_keys&) = default;
};

struct guest_state {
    model::vm_state state = model::vm_state::start;
    std::int8_t node = victim;
    std::int8_t last = nobody;
    bool autostart = false;
    std::int64_t state_id = 3;
    std::int8_t runs_beside = nobody;  // on a node that is not the victim
    std::int8_t lock = victim;         // of its disk: whose
    friend bool operator==(const guest_state&, const guest_state&) = default;
};

// On a coordinator's disk: what is synced.
struct disk_record {
    bool is_opened = false;
    policy::fence_proof proof = policy::fence_proof::none;
    std::int64_t heartbeat_id = 0;
    std::int64_t mark_id = 0;
    std::int64_t fenced_id = 0;     // F0
    std::uint8_t life = 0;          // of the victim when it was opened: for the rule alone
    bool is_of_dead_guest = false;  // that life was over when the proof was recorded: for the rule alone
    std::optional<time_point> proven_at{};
    bool is_closed = false;  // it has an outcome, or the node was seen on
    friend bool operator==(const disk_record&, const disk_record&) = default;
};

struct fencer {
    bool is_up = true;
    std::optional<time_point> starts_at{};
    time_point connected_since{};
    bool saw_it_beat = true;
    std::int64_t seen_heartbeat = 2;
    time_point heard_at{};
    policy::fence_memory memory{};
    disk_record record{};
    std::optional<policy::fence_attempt> attempt{};
    std::uint8_t fences = 0;
    bool has_read_dead = false;      // its last guarded read showed the node as it was marked
    bool has_read_majority = false;  // and it, that the other coordinator is there
    bool has_read_back = false;      // the last read of the recovery, that the node is back
    std::optional<policy::guest_recovery> recovery{};
    policy::recovery_step recovering{};
    std::optional<time_point> clears_at{};   // Ceph is slow
    std::optional<time_point> answers_at{};  // of a slow board
    std::optional<policy::fence_said::board> board_answer{};
};

struct reference_fencer {
    enum class at : std::uint8_t {
        idle,
        throwing,
        off,
        looking,
        on,
        looking_again,
        settling,
        fenced,
        flush,
        locks,
        move,
        flushed
    };
    at where = at::idle;
    time_point next{};
    std::uint8_t throws = 0;
    bool was_off = false;
    friend bool operator==(const reference_fencer&, const reference_fencer&) = default;
};

struct world {
    bounds of;
    bool is_begun = false;  // how it begins is chosen
    time_point now{std::chrono::hours(10)};
    time_point fell_silent{};
    std::int64_t last_id = 3;
    victim_state dead;
    stored_keys keys;
    guest_state guest;
    std::int8_t lock = nobody;  // /config/fence_lock
    std::array<fencer, 2> fencers;
    reference_fencer reference;
    bool has_reference_acted = false;  // it has written or switched: what then goes wrong is not all ours
    std::uint8_t faults = 0;
    std::uint8_t writes = 0;

    [[nodiscard]] fencer& at(std::int8_t who) { return fencers.at(static_cast<std::size_t>(who)); }
    [[nodiscard]] const fencer& at(std::int8_t who) const { return fencers.at(static_cast<std::size_t>(who)); }
    [[nodiscard]] bool is_ours(std::int8_t who) const { return who == 0 || !of.reference; }
    std::int64_t next_id() { return ++last_id; }
};

struct move {
    enum class kind : std::uint8_t {
        choose,  // how it begins: `other` is beginning_of, `who` 1 for a loss of power
        begin,
        grant,
        go,        // what the fence asked for is answered, or its wait is over
        go_guest,  // likewise the recovery of the machine
        boot,
        say_run,
        soft_off,
        start,  // a coordinator, again
        reference,
        pass_time,
        // Not quiet.
        crash,
        crash_done,  // after what was under way was done
        lose_lock,
        lose_answer,  // of a write that was made
        lose_write,   // a write, or a read, that was not
        full_disk,
        slow,
        refuse,
        heal,  // the board, that refused
        soften,
        lie,
        come_back,
        client_stop,
    };
    kind what = kind::go;
    std::int8_t who = nobody;
    std::int8_t other = nobody;

    [[nodiscard]] bool is_quiet() const { return what < kind::crash || what == kind::heal; }
};

struct broken_rule {
    std::string rule;
    std::string text;
};

[[nodiscard]] world beginning(const bounds& of);
[[nodiscard]] std::vector<move> moves_of(const world& now);
[[nodiscard]] std::optional<broken_rule> apply(world& now, const move& one);
// The victim is back, or fenced with its recovery over; the machine runs somewhere, unless a client wants it off.
[[nodiscard]] bool is_at_rest(const world& now);
[[nodiscard]] identity identity_of(const world& now);
[[nodiscard]] std::string to_text(const move& one, const world& before);
[[nodiscard]] std::string_view name_of(std::int8_t who);

// ---- parts of the model

[[nodiscard]] policy::victim_seen seen_victim(const world& now);
[[nodiscard]] std::optional<policy::fence_attempt> attempt_to_begin(const world& now, std::int8_t who);
[[nodiscard]] std::vector<time_point> times_to_come(const world& now);
// What follows of itself: what coordinators see, and where the machine runs.
void settle(world& now);
void lose_power(world& now);
void switch_off(world& now);
void switch_on(world& now);
[[nodiscard]] std::optional<broken_rule> wrong_now(const world& now);

[[nodiscard]] bool can_go(const world& now, std::int8_t who);
[[nodiscard]] bool can_go_guest(const world& now, std::int8_t who);
enum class fate : std::uint8_t { done, answer_lost, not_done };
[[nodiscard]] std::optional<broken_rule> go(world& now, std::int8_t who, fate how);
[[nodiscard]] std::optional<broken_rule> go_guest(world& now, std::int8_t who, fate how);
[[nodiscard]] std::optional<broken_rule> wake(world& now, std::int8_t who, bool session_lives);
// What is under way is done, though nobody hears of it.
[[nodiscard]] std::optional<broken_rule> carry_out_unheard(world& now, std::int8_t who);

[[nodiscard]] bool can_step_reference(const world& now);
void step_reference(world& now);

}  // namespace pvc::explore::fences
