// After a live call that failed, or when half of a migration is found: who has the guest? Exactly one copy stays, and
// none is destroyed or resumed without proof. Specification: vm-domains.md 8.7; README rulings 24 and 29.
#pragma once

#include "pvcnoded/policy/domains/after_move.hpp"
#include "pvcnoded/policy/domains/ending.hpp"

namespace pvc::policy {

enum class resolution : std::uint8_t {
    moved,               // the target has it
    clean_failure,       // it is here, and only here
    unanswered,          // it runs here, the target does not answer: no fallback
    kept_without_proof,  // it runs here, the target holds a halted copy: no fallback
    ended,               // it is nowhere: hand over as after a shutdown
    let_go,              // nothing is known and nothing was done
    overtaken,           // this migration is no longer wanted
};
[[nodiscard]] std::string_view to_text(resolution end);
// Libvirt has no job for the half here: nothing arrives into it, and nothing will, as long as it is here. (Of what
// arrives it tells no figures.)
[[nodiscard]] bool is_left_behind(const progress_read& job);
// We sent it, and somebody gave it to this node again, to run: its state and its node are of one transaction, and not
// of this daemon, which forgets that it sent it before it takes that back. Who does that found its target dead, asked
// nobody, and has taken away the locks of its disks: a fencer of the reference (vm-domains.md 15).
[[nodiscard]] bool is_given_back(const domain_seen& seen, const migration_memory& memory);
// Without a `node` nobody knows where it belongs: only a state in which it must be off everywhere counts then.
[[nodiscard]] bool is_nobodys(const domain_seen& seen);

// The half here stands, and nobody has the other: it may be resumed, unless the locks of its disks say that it has run
// elsewhere since. They say nothing where whoever fenced its target has taken them away: then what the keys tell of
// that counts. A look that finds that it is stale must be confirmed by a second one.
struct resuming_half {
    enum class at : std::uint8_t { begin, judging, destroying, proving, resuming, looking, over };
    enum class outcome : std::uint8_t { unclear, resumed, stale };

    std::int64_t created = 0;  // the incarnation that was asked about
    std::string target{};      // where it was sent; empty: nobody knows
    time_point last = time_point::max();
    second_look looks{};  // of the caller, who takes them back
    second_look::finding found{};
    time_point asked{};
    at where = at::begin;
    destroying destroy{};
    bool has_resumed = false;
    outcome end = outcome::unclear;

    [[nodiscard]] step resume(context& c);
    friend bool operator==(const resuming_half&, const resuming_half&) = default;

private:
    step judged(context& c);
    step found_stale(context& c, message what, std::string words);
    step proven(context& c);
    step finish(outcome how);
};

// With the target, until it is clear or the limit of the locks has passed.
struct resolving {
    enum class at : std::uint8_t {
        begin,
        reading,
        asking_here,
        asking_there,
        asking_here_again,
        judging_job,
        destroying_stale,  // what was recovered elsewhere
        destroying,
        ending_hung,
        resuming,
        pausing,
        over,
    };

    std::string target{};
    bool holds_locks = false;  // clients wait behind them: who cannot decide gives them back
    at where = at::begin;
    time_point began{};
    time_point last = time_point::max();
    std::int64_t created = 0;
    wish seen{};
    row_read::end read = row_read::end::failed;
    std::optional<model::guest_class> here{};
    remote_answer there = remote_answer::silent;
    time_point asked{};
    second_look before{};
    bool told = false;
    duration pause{};
    std::string_view waits_for{};
    news awaited{};
    destroying destroy{};
    resuming_half half{};
    resolution end = resolution::let_go;

    [[nodiscard]] step resume(context& c);
    [[nodiscard]] bool is_over() const { return where == at::over; }
    friend bool operator==(const resolving&, const resolving&) = default;

private:
    step look(context& c);
    step has_read(context& c);
    step heard_here(context& c);
    step heard_there(context& c, remote_answer answer);
    step heard_both(context& c);
    step act_on(context& c, resolve_step what);
    step judge_half(context& c);
    step judged_job(context& c);
    step destroy_here(context& c);
    step wait_or_let_go(context& c, resolve_step what);
    step begin_destroying(context& c, bool is_half, at how);
    step begin_half(context& c);
    step after_half(context& c);
    step wait(context& c, duration time, std::string_view what);
    step finish(resolution how);
};

// Our side of a migration that broke with a session or a daemon before.
struct resolving_sent {
    enum class at : std::uint8_t { begin, resolving, unlisting, ending_console, awaiting_receiver, handing_over, over };

    at where = at::begin;
    policy::resolving who{};
    awaiting_receiver receiver{};
    handing_over handed{};

    [[nodiscard]] step resume(context& c);
    void hold(holdings& what) const;
    friend bool operator==(const resolving_sent&, const resolving_sent&) = default;

private:
    step resolved(context& c);
    step go_on(context& c);
    step finish(context& c);
};

// It is ours, to run, and stands here between two nodes: all others are asked. Or it is to go elsewhere, and the record
// of what this half is was lost (`is_found`): as it may as well be one that arrives, it is resumed if it is nowhere
// else; and where another node runs it, libvirt says whether something arrives here. If not, it is what we sent.
struct resolving_own {
    enum class at : std::uint8_t { begin, waiting, reading, asking, judging_job, destroying, resuming, pausing, over };

    bool is_found = false;
    at where = at::begin;
    time_point until{};
    std::int64_t created = 0;
    time_point asked{};
    std::vector<other_node> others{};
    second_look before{};
    second_look locks_before{};
    std::string runs_on{};
    bool told = false;
    news awaited{};
    destroying destroy{};
    resuming_half half{};

    [[nodiscard]] step resume(context& c);
    friend bool operator==(const resolving_own&, const resolving_own&) = default;

private:
    [[nodiscard]] bool stands(const context& c) const;
    step wait_first(context& c);
    step look(context& c);
    step ask_all(context& c);
    step heard_all(context& c);
    step runs_elsewhere(context& c);
    step judged_job(context& c);
    step wait(context& c, duration time);
    step finish();
};

}  // namespace pvc::policy
