// One domain in a flush or unflush: read, waited for until it is clear what it is to be, written under its lock, and
// waited for until it has come where it was placed. A part of the machines of both jobs (flush_job.hpp,
// unflush_job.hpp), who say what follows from its end. Specification: node-lifecycle.md 8.1 (steps 2 to 6), 8.2;
// README ruling 21.
#pragma once

#include "pvcnoded/policy/domains/drain_requests.hpp"
#include "pvcnoded/policy/domains/failing_targets.hpp"

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>

namespace pvc::policy::drain {

inline constexpr duration move_limit = std::chrono::seconds(120);
inline constexpr duration settle_slack = std::chrono::seconds(30);  // beyond the shutdown timeout
inline constexpr int conflicts_max = 3;                             // with one more it is left as it is

struct one_domain {
    enum class at : std::uint8_t {
        begin,
        reading,
        pausing,            // the session is in trouble
        settling,           // until it is clear what it is to be
        locking,            // for its lock
        choosing,           // a target, but none in which it or others failed
        choosing_anywhere,  // there is none: whether there is one without those that only it has tried
        writing,            // what was decided, or nothing
        moving,             // until it has come where it was placed, or is off
        looking,            // where it is now
        over,
    };
    // What was to be written by the last decision.
    struct planned {
        std::variant<flush_way, unflush_way> way;
        placement write;
        std::string reason;  // of the choice, for the operator

        friend bool operator==(const planned&, const planned&) = default;
    };

    job_kind of = job_kind::flush;
    uuid id;
    std::string self;
    duration shutdown_timeout{};  // vm_shutdown_timeout
    at where = at::begin;
    std::string name;
    std::int64_t written = 0;  // transaction of the write that is waited for
    int conflicts = 0;
    bool has_awaited = false;  // it did not arrive in all the time that it may take
    domain_step awaits = domain_step::skip;
    std::optional<time_point> settled_by;
    placed_domain locked;            // as read under the lock
    std::set<std::string> left_out;  // by everybody, when the choice was begun
    bool has_tried_others = false;
    bool is_target_tried = false;  // others may go where this one failed: no reason to shut it down
    std::optional<planned> plan;
    std::optional<placed_domain> found;  // at the end; empty: it needs nothing or stays, or nobody knows

    [[nodiscard]] static one_domain of_job(job_kind of, const uuid& id, const std::string& self,
                                           duration shutdown_timeout);
    // `failing`: what this flush knows of targets; in an unflush, which chooses none, an empty one.
    [[nodiscard]] step resume(context& c, const failing_targets& failing);
    // Where it was to be moved; empty: nowhere, or by somebody else.
    [[nodiscard]] std::optional<std::string> target() const;
    void info(context& c, std::string_view text) const;
    void warn(context& c, message what, std::string_view text) const;
    friend bool operator==(const one_domain&, const one_domain&) = default;

private:
    [[nodiscard]] domain_step present_step(const placed_domain& keys) const;
    step read();
    step pause();
    step has_read(context& c);
    step settle(context& c, domain_step why, std::int64_t since);
    step has_settled(context& c);
    step decide(context& c, const failing_targets& failing);
    step has_chosen(context& c);
    step write(std::optional<planned> what);
    step write_leaving(const std::optional<target_choice>& choice);
    step was_placed(context& c);
    step conflict(context& c, const std::string& why);
    void report(context& c) const;
    step follow_move(context& c);
    step has_moved(context& c);
    step finish();
};

}  // namespace pvc::policy::drain
