// One round of questions to Ceph, as the primary asks them in each tick: a value that says what is to be asked next and
// until when, takes the answers, and knows in the end what they said. Specification: storage.md 4.2, 4.7.
#pragma once

#include "pvcnoded/base/clock.hpp"
#include "pvcnoded/base/result.hpp"
#include "pvcnoded/model/ceph_health.hpp"
#include "pvcnoded/model/ceph_osds.hpp"
#include "pvcnoded/model/ceph_pools.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pvc::policy {

// In the order in which they are asked.
enum class ceph_question : std::uint8_t {
    health,
    status,
    df,
    pools,
    counters,
    recovery,
    osd_dump,
    osd_df,
    osd_status,
    none
};

// The complete command; empty for `counters`, which are asked of the library.
[[nodiscard]] std::string_view command_of(ceph_question what);
// In messages: "health", "df as JSON".
[[nodiscard]] std::string_view to_text(ceph_question what);
// Answered by the manager alone: without one it has no answer.
[[nodiscard]] bool needs_manager(ceph_question what);

// How long a round may take in all: KI - 1 s, and long enough for a question whatever KI is.
[[nodiscard]] duration ceph_round_limit(duration keepalive);

// What the answers of one round said; what is empty was not asked, or has no answer that can be used.
struct ceph_seen {
    std::optional<model::ceph_health> health;
    std::optional<std::string> status;  // text of `ceph status`
    std::optional<std::string> df;      // text of `ceph df`
    std::optional<std::vector<model::pool_room>> rooms;
    std::optional<std::vector<model::pool_counters>> counters;
    std::optional<std::vector<model::pool_recovery>> recovery;  // asked only where a pool is not whole
    std::optional<std::vector<model::osd_map_row>> osd_map;
    std::optional<std::vector<model::osd_room_row>> osd_rooms;
    std::optional<std::vector<model::osd_status_row>> osd_status;
};

struct ceph_refusal {
    ceph_question what;
    failure why;
};

// What was made of the last answer to each question: one that is the same is not parsed again. Only short ones are
// kept; those of a large cluster differ each time.
struct ceph_answers {
    static constexpr std::size_t bytes_max = 16'384;
    std::array<std::string, static_cast<std::size_t>(ceph_question::none)> printed{};
    ceph_seen seen{};
};

class ceph_round {
public:
    struct about {
        bool has_osds = false;   // in the tree; else nothing is asked of OSDs
        bool has_pools = false;  // likewise of pools
        time_point begun{};
        time_point deadline{};
        // Until then the manager is left alone: it did not answer in an earlier round.
        time_point manager_paused_until{};
        // Nothing was answered yet, so that there may be no connection to the cluster: making it takes its time.
        bool may_connect = true;
        // With which it begins; those before it come last. As the round before has it, so that a slow Ceph is asked for
        // everything in time.
        ceph_question first = ceph_question::health;
        ceph_answers* answers = nullptr;  // of earlier rounds; outlives this one. Null: each answer is parsed
    };
    struct ask {
        ceph_question what = ceph_question::none;
        time_point until{};
    };

    explicit ceph_round(const about& what) : about_(what), at_(what.first) {}

    // Empty: it is over. The same until it is answered.
    [[nodiscard]] std::optional<ask> next(time_point now);
    // The answer to a command, as Ceph printed it.
    void take(const result<std::string>& printed, time_point now);
    void take(result<std::vector<model::pool_counters>> counted, time_point now);

    [[nodiscard]] const ceph_seen& seen() const { return seen_; }
    [[nodiscard]] ceph_seen take_seen() { return std::move(seen_); }
    [[nodiscard]] const std::vector<ceph_refusal>& refusals() const { return refusals_; }
    // What ended it: no monitor answers, or there is no connection to any.
    [[nodiscard]] const std::optional<ceph_refusal>& silence() const { return silence_; }
    // Ceph said something, of use or not: not so in a silence, or where nothing could be asked.
    [[nodiscard]] bool has_answer() const { return !silence_ && has_taken_; }
    // It was refused at once: to ask again soon is of little use.
    [[nodiscard]] bool was_refused_at_once() const { return was_refused_at_once_; }
    // What was not asked any more for lack of time.
    [[nodiscard]] ceph_question left_out() const { return left_out_; }
    // With which the next round is to begin: with what was left out, and what is only published together with it.
    [[nodiscard]] ceph_question next_first() const;
    [[nodiscard]] time_point manager_paused_until() const { return about_.manager_paused_until; }
    // In this round the manager had no time to answer.
    [[nodiscard]] bool is_manager_silent() const { return is_manager_silent_; }

private:
    [[nodiscard]] bool is_wanted(ceph_question what, time_point now) const;
    void refuse(failure why, time_point now);
    result<void> read(std::string_view printed);
    template <class T>
    result<void> keep(std::optional<T> ceph_seen::* where, std::string_view printed,
                      result<T> (*parse)(std::string_view));
    void go_on();

    about about_;
    ceph_question at_;
    ceph_seen seen_;
    std::vector<ceph_refusal> refusals_;
    std::optional<ceph_refusal> silence_;
    ceph_question left_out_ = ceph_question::none;
    bool was_refused_at_once_ = false;
    bool is_manager_silent_ = false;
    bool has_taken_ = false;  // an answer, or word that there is none
};

}  // namespace pvc::policy
