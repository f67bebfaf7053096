#include "pvcnoded/policy/fencing/order.hpp"

#include "pvcnoded/base/planted.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

namespace pvc::policy {

using model::daemon_state;
using namespace std::chrono_literals;

std::optional<std::string> turn_of(const std::vector<fence_in_line>& all) {
    const fence_in_line* first = nullptr;
    const auto rank = [](const fence_in_line& one) {
        return std::tuple(!one.has_turn, !one.has_board_answered, std::string_view(one.node));
    };
    for (const auto& one : all) {
        if (one.wants_turn && (first == nullptr || rank(one) < rank(*first))) {
            first = &one;
        }
    }
    return first == nullptr ? std::nullopt : std::optional(first->node);
}

void fence_memory::look(const looks& now_seen, time_point now) {
    if (seen == now_seen) {
        return;
    }
    seen = now_seen;
    since = now;
    if (now_seen.mark_id != failed_mark || now_seen.heartbeat_id != failed_heartbeat) {
        failures = 0;
    }
}

void fence_memory::forget() {
    *this = {};
}

void fence_memory::ended(fence_end how, std::int64_t mark_id, std::int64_t heartbeat_id, time_point now) {
    since = now;  // it is nobody's from now on
    ended_mark = mark_id;
    settled_mark = how == fence_end::abandoned ? settled_mark : mark_id;
    if (how == fence_end::held_back) {
        held_back_mark = mark_id;
    } else if (how == fence_end::unrecordable) {
        not_before = now + without_disk;
    } else if (how == fence_end::passed || how == fence_end::node_back || how == fence_end::gone) {
        back_since_heartbeat = heartbeat_id;
        found_back = now;
    } else if (how == fence_end::failed) {
        failures = static_cast<std::uint8_t>(std::min<int>(failures + 1, 100));
        failed_mark = mark_id;
        failed_heartbeat = heartbeat_id;
        failed_at = now;
    }
}

bool fence_memory::has_failed_at(std::int64_t mark_id, std::int64_t heartbeat_id) const {
    return failures > 0 && failed_mark == mark_id && failed_heartbeat == heartbeat_id;
}

void fence_memory::end_pause(time_point now) {
    failed_at = now - pause_after_failures(failures);
}

void fence_memory::recall(const failed_before& what, std::int64_t mark_id, std::int64_t heartbeat_id, time_point now) {
    if (what.times == 0 || has_failed_at(mark_id, heartbeat_id)) {
        return;
    }
    failures = what.times;
    failed_mark = mark_id;
    failed_heartbeat = heartbeat_id;
    failed_at = now - what.ago;
}

bool fence_memory::is_known_back(std::int64_t heartbeat_id, time_point now, duration keepalive) const {
    return back_since_heartbeat == heartbeat_id && now - found_back < 2 * keepalive;
}

bool lock_wait::may_queue(const std::optional<std::string>& first, bool is_ours, time_point now) {
    if (is_ours || !first) {
        *this = {};
        return true;
    }
    if (behind == first) {
        return false;
    }
    const bool is_given_up = behind.has_value();
    behind = is_given_up ? std::nullopt : first;
    is_told = false;
    since = since ? since : now;
    return is_given_up;
}

lock_wait::telling lock_wait::tell(bool holder_lives, time_point now) {
    if (!behind) {
        return telling::nothing;
    }
    const bool is_long = now - since.value_or(now) >= (holder_lives ? at_work : awaited);
    if (is_long && (!told_awaited || now - *told_awaited >= told_again)) {
        told_awaited = now;
        is_told = true;
        return telling::awaited;
    }
    return std::exchange(is_told, true) ? telling::nothing : telling::who;
}

std::optional<own_record> what_record_says(const model::fence_record& one, std::int64_t state_id,
                                           std::int64_t heartbeat_id) {
    using model::fence_outcome;
    const bool is_open = one.outcome == fence_outcome::under_way || one.outcome == fence_outcome::abandoned ||
                         one.outcome == fence_outcome::handed_on;
    const bool is_as_marked = one.keepalive_id == heartbeat_id && one.mark_id == state_id;
    if (!is_open) {
        return is_as_marked ? std::nullopt : std::optional(own_record::none);
    }
    const bool is_beat_of_proof = one.proof && one.proof->keepalive_id == heartbeat_id;
    if (one.fenced_id == state_id && is_beat_of_proof) {
        return own_record::fenced;
    }
    if (is_beat_of_proof && one.proof->mark_id == state_id) {
        switch (one.proof->kind) {
            case model::fence_proof_kind::power: return own_record::proven;
            case model::fence_proof_kind::operator_word: return own_record::worded;
            case model::fence_proof_kind::lease:
            case model::fence_proof_kind::storage: break;
        }
    }
    if (one.proof || one.fenced_id) {
        return own_record::none;
    }
    const bool is_own_mark =
        one.keepalive_id == heartbeat_id && std::ranges::any_of(one.writes, [&](const auto& write) {
            return write.what == "dead" && write.transaction == state_id;
        });
    return is_as_marked ? own_record::opened : is_own_mark ? own_record::marked : own_record::none;
}

namespace {

constexpr duration clocks_set_within = 1min;
constexpr duration unknown_age = 24h;  // as old as nothing is gone on with

// Empty: by the wall it is of a time to come, which is of a clock that was set wrong, then or now: nobody knows.
std::optional<duration> known_age_in_record(const model::fence_record& of, const model::fence_moment& when,
                                            const std::string& boot_id, const model::fence_moment& now) {
    if (of.boot_id == boot_id) {
        return std::max(duration(now.boot - when.boot), duration::zero());
    }
    const auto ago = std::chrono::duration_cast<duration>(now.wall - when.wall);
    return ago < -clocks_set_within ? std::nullopt : std::optional(std::max(ago, duration::zero()));
}

}  // namespace

duration age_in_record(const model::fence_record& of, const model::fence_moment& when, const std::string& boot_id,
                       const model::fence_moment& now) {
    return known_age_in_record(of, when, boot_id, now).value_or(unknown_age);
}

own_record as_old_as_it_is(own_record what, const model::fence_record& one, const std::string& boot_id,
                           const model::fence_moment& now) {
    if (what != own_record::opened && what != own_record::marked) {
        return what;
    }
    if (one.boot_id != boot_id) {
        return own_record::none;
    }
    const auto& last = !one.commands.empty() ? one.commands.back().ended
                       : !one.writes.empty() ? one.writes.back().at
                                             : one.begun;
    return age_in_record(one, last, boot_id, now) > fence_memory::orphan_age ? own_record::marked : what;
}

std::optional<duration> proof_of_owed_power_on(const std::vector<model::fence_record>& own, std::int64_t state_id,
                                               std::int64_t heartbeat_id, const std::string& boot_id,
                                               const model::fence_moment& now) {
    using model::fence_outcome;
    for (const auto& one : own) {
        const bool is_of_beat = (one.proof ? one.proof->keepalive_id : one.keepalive_id) == heartbeat_id;
        const bool is_fence = one.fenced_id == state_id;
        if (!is_of_beat || (!is_fence && one.mark_id != state_id)) {
            continue;
        }
        const bool is_open = one.outcome == fence_outcome::under_way || one.outcome == fence_outcome::abandoned;
        if (!is_open || one.powered_on) {
            return std::nullopt;  // others have ended it, or nothing is left to do
        }
        if (is_fence) {
            const bool is_power = one.proof && one.proof->kind == model::fence_proof_kind::power;
            return is_power ? std::optional(age_in_record(one, one.proof->at, boot_id, now)) : std::nullopt;
        }
    }
    return std::nullopt;
}

std::string why_left_off(const std::vector<model::fence_record>& own, std::int64_t state_id) {
    const auto found = std::ranges::find_if(own, [state_id](const auto& one) {
        // One that was not seen off may run, and is to be fenced, not to be switched on.
        return one.is_left_off && one.outcome != model::fence_outcome::failed &&
               (one.fenced_id == state_id || one.mark_id == state_id);
    });
    return found == own.end() ? std::string() : found->remark;
}

failed_before failures_in(const std::vector<model::fence_record>& own, std::int64_t state_id, std::int64_t heartbeat_id,
                          const std::string& boot_id, const model::fence_moment& now) {
    failed_before out;
    for (const auto& one : own) {
        const bool is_as_marked = one.keepalive_id == heartbeat_id && one.mark_id == state_id;
        if (!is_as_marked || one.outcome != model::fence_outcome::failed || !one.ended) {
            continue;
        }
        if (out.times == 0) {
            // The whole pause, where nobody knows how much of it is over.
            out.ago = known_age_in_record(one, *one.ended, boot_id, now).value_or(duration::zero());
        }
        out.times = static_cast<std::uint8_t>(std::min<int>(out.times + 1, 100));
    }
    return out;
}

namespace {

// It, or what it goes on from.
bool is_of_chain(const std::vector<model::fence_record>& all, const model::fence_record& one,
                 bool (*is_so)(const model::fence_record&)) {
    const auto before = std::ranges::find(all, one.follows, &model::fence_record::id);
    return is_so(one) || (!one.follows.empty() && before != all.end() && is_so(*before));
}

bool rests_on_word(const model::fence_record& one) {
    return one.way == model::fence_way::operator_word ||
           (one.proof && one.proof->kind == model::fence_proof_kind::operator_word);
}

bool has_ordered_off(const model::fence_record& one) {
    return std::ranges::any_of(one.commands, [](const auto& command) { return command.what == "chassis power off"; });
}

}  // namespace

std::uint8_t fences_within_hour(const std::vector<model::fence_record>& all, wall_time now, std::int64_t going_on) {
    constexpr duration clocks_differ = 1min;
    std::vector<std::int64_t> fenced;
    for (const auto& one : all) {
        const bool is_in_hour = one.begun.wall >= now - 1h && one.begun.wall <= now + clocks_differ;
        const bool is_mere_word = one.way == model::fence_way::operator_word ||
                                  (is_of_chain(all, one, rests_on_word) && !is_of_chain(all, one, has_ordered_off));
        if (one.fenced_id && is_in_hour && !is_mere_word && *one.fenced_id != going_on &&
            std::ranges::find(fenced, *one.fenced_id) == fenced.end()) {
            fenced.push_back(*one.fenced_id);
        }
    }
    return static_cast<std::uint8_t>(std::min<std::size_t>(fenced.size(), 100));
}

duration pause_after_failures(std::uint8_t failures) {
    return failures <= 1 ? 10min : failures == 2 ? 20min : failures == 3 ? 40min : 60min;
}

namespace {

// What somebody else left, once it has looked the same for so long.
next_fence once_old(fence_origin why, const fence_memory& memory, time_point now) {
    const time_point old = memory.since + fence_memory::orphan_age;
    if (now >= old || is_planted(defect::fence_orphan_at_once)) {
        return {why, {}};
    }
    return {{}, old};
}

// Of the node as it is, by this coordinator.
bool has_failed(const left_over& one, const fence_memory& memory) {
    return memory.has_failed_at(one.victim.state_id, one.victim.heartbeat_id);
}

bool is_proven_in_store(const left_over& one) {
    return one.victim.proof && one.victim.proof->is_valid;
}

next_fence for_fenced(const left_over& one, const fence_memory& memory, time_point now) {
    if (!one.victim.is_recovering) {
        const bool is_owed = one.is_power_owed && is_proven_in_store(one) && memory.settled_mark != one.victim.state_id;
        return is_owed ? next_fence{fence_origin::recovering, {}} : next_fence{};
    }
    const bool is_proven = is_proven_in_store(one) || one.record == own_record::fenced;
    if (is_proven && one.is_recoverable_here) {
        return {fence_origin::recovering, {}};
    }
    // What needs Ceph is for others first (ruling 38).
    return once_old(is_proven ? fence_origin::recovering : fence_origin::interrupted, memory, now);
}

next_fence for_dead(const left_over& one, const fence_memory& memory, time_point now) {
    if (is_proven_in_store(one) && one.victim.is_recovering && one.is_recoverable_here) {
        return {fence_origin::recovering, {}};  // on a lease: it stays `dead`
    }
    if (has_failed(one, memory)) {
        return {fence_origin::orphan, {}};
    }
    if (one.record == own_record::proven) {
        return {fence_origin::proven, {}};
    }
    if (one.record == own_record::opened && memory.ended_mark != one.victim.state_id) {
        return {fence_origin::resumed, {}};
    }
    if (one.record == own_record::marked && memory.ended_mark != one.victim.state_id) {
        return {fence_origin::orphan, {}};  // with all of its throws
    }
    if (memory.held_back_mark == one.victim.state_id && one.majority_stays) {
        return {fence_origin::orphan, {}};  // what held it back is over
    }
    return once_old(fence_origin::orphan, memory, now);
}

}  // namespace

next_fence next_attempt(const left_over& one, const fence_memory& memory, time_point now) {
    const bool is_by_word = one.record == own_record::worded ||
                            (is_proven_in_store(one) && one.victim.proof->which == fence_proof::operators_word);
    const bool may_begin = one.may_detect || (one.may_act && is_by_word);
    if (one.is_ours || one.victim.is_gone || !may_begin || !memory.seen) {
        return {};
    }
    if (memory.not_before && now < *memory.not_before) {
        return {{}, memory.not_before};
    }
    if (one.record == own_record::worded) {
        return {fence_origin::proven, {}};
    }
    const time_point again = memory.failed_at + pause_after_failures(memory.failures);
    const bool is_proven_recovery = one.victim.is_recovering && is_proven_in_store(one);
    if (!is_proven_recovery && has_failed(one, memory) && now < again) {
        return {{}, again};
    }
    if (one.victim.state == daemon_state::fenced) {
        return for_fenced(one, memory, now);
    }
    return one.victim.state == daemon_state::dead ? for_dead(one, memory, now) : next_fence{};
}

}  // namespace pvc::policy
