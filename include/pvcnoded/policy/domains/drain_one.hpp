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
        pausing,        // the session is in trouble
        settling,       // until it is clear what it is to be
        locking,        // for its lock
        choosing,       // a target, but none in which it or others failed
        choosing_last,  // there is none: any that has not refused it
        writing,        // what was decided, or nothing
        moving,         // until it has come where it was placed, or is off
        looking,        // where it is now
        asking_why,     // it is here still
        over,
    };
    // It is left here, without another word of its keys.
    enum class leftover : std::uint8_t {
        none,
        put_off,  // a node can take it that cannot be had now
        stays,    // every node that can take anything has refused it
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
    std::optional<time_point> settled_by;
    placed_domain locked;  // as read under the lock
    std::optional<planned> plan;
    leftover remains = leftover::none;
    std::optional<placed_domain> found;      // at the end; empty: it needs nothing or stays, or nobody knows
    move_fault fault = move_fault::neither;  // of one that was found here again

    [[nodiscard]] static one_domain of_job(job_kind of, const uuid& id, const std::string& self,
                                           duration shutdown_timeout);
    [[nodiscard]] step resume(context& c, const known_targets& known);
    // Where it was to be moved; empty: nowhere, or by somebody else.
    [[nodiscard]] std::optional<std::string> target() const;
    // It was to leave, and has come back, or never left.
    [[nodiscard]] bool has_returned() const;
    void info(context& c, std::string_view text) const;
    void warn(context& c, message what, std::string_view text) const;
    friend bool operator==(const one_domain&, const one_domain&) = default;

private:
    [[nodiscard]] domain_step present_step(const placed_domain& keys) const;
    step read();
    step pause();
    step has_read(context& c);
    step settle(context& c, domain_step why, std::int64_t since);
    step decide(context& c, const known_targets& known);
    step has_chosen(context& c, const known_targets& known);
    step without_target(const std::vector<possible_node>& nodes, const known_targets& known);
    step write(std::optional<planned> what);
    step write_leaving(const std::optional<target_choice>& choice);
    step was_placed(context& c);
    step conflict(context& c, const std::string& why);
    void report(context& c) const;
    step follow_move(context& c);
    step has_moved(context& c);
    step has_looked(context& c);
    step finish();
};

}  // namespace pvc::policy::drain
