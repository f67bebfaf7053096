// The receiving side of a migration: room, the hand-shake, the guest or the hand-over; and who is asked when nobody
// comes. Specification: vm-domains.md 8.4; README rulings 26, 29, 30.
#pragma once

#include "pvcnoded/policy/domains/machine.hpp"
#include "pvcnoded/policy/domains/settling.hpp"
#include "pvcnoded/policy/domains/stranded_migration.hpp"

#include <map>

namespace pvc::policy {

// Nobody came so far: does anybody have it? (R6)
struct searching {
    enum class at : std::uint8_t { begin, reading, asking, comparing, taking_back, over };
    enum class finding : std::uint8_t { nowhere, somewhere, unclear, taken_back };

    at where = at::begin;
    time_point next{};
    time_point complain_at{};
    std::map<std::string, time_point> fenced_since{};
    std::string silent{};
    stranded_sender sender{};
    // Of one question.
    std::vector<other_node> others{};
    std::vector<holding_node> holders{};
    bool is_unclear = false;
    bool is_somewhere = false;
    finding found = finding::unclear;

    void begin(time_point now);
    [[nodiscard]] step ask(context& c);
    [[nodiscard]] step resume(context& c);
    void complain(context& c);
    friend bool operator==(const searching&, const searching&) = default;

private:
    step ask_nodes(context& c);
    step weigh(context& c);
    void weigh_one(const context& c, const other_node& one, remote_answer answer);
    step compare(context& c);
    step finish(finding what);
};

struct receiving {
    enum class at : std::uint8_t {
        begin,
        waiting_for_room,
        offering,
        reading_again,
        judging_stop,
        pausing_stop,
        waiting,
        searching,
        looking_here,
        writing,
        arriving,
        taking_over,
        reading_overtaken,
        reconnecting,
        reading_failed,
        withdrawing,
        clearing,
        reconnecting_to_clear,
        reading_to_clear,
        over,
    };

    at where = at::begin;
    bool offers = false;  // the lock of the hand-shake, from when there is room
    time_point complain_at{};
    policy::searching search{};
    std::optional<time_point> handed_over{};
    std::optional<time_point> leftover_until{};  // the move is over, and what stands here may still become something
    std::int64_t judged = 0;                     // the `stop` that `is_offline` is about
    std::int64_t asked = 0;
    bool is_offline = false;
    bool is_back = false;
    int offers_refused = 0;
    int clearings = 0;
    adopting adopt{};

    [[nodiscard]] step resume(context& c);
    [[nodiscard]] step begin_clearing(context& c) { return clear(c); }  // alone: it is here already
    void hold(holdings& what) const;
    friend bool operator==(const receiving&, const receiving&) = default;

private:
    step wait_for_room(context& c);
    step offer(context& c);
    step look(context& c);
    step look_at_guest(context& c);
    step look_for_it(context& c);
    step stopped(context& c);
    step take_over(context& c);
    step taken_over(context& c);
    step searched(context& c);
    step looked_here(context& c);
    step wait(context& c);
    step withdraw(context& c);
    step clear(context& c);
    step cleared(context& c);
    step finish(context& c);
};

// It runs here already: arrived in a session, or under a daemon, before; or it was never away, as somebody wrote the
// state alone.
struct having_arrived {
    enum class at : std::uint8_t { begin, adopting, clearing, over };

    at where = at::begin;
    bool was_here = false;  // before the move that its state speaks of
    policy::adopting adopt{};
    receiving trace{};

    [[nodiscard]] step resume(context& c);
    friend bool operator==(const having_arrived&, const having_arrived&) = default;
};

// It was shut down to come here, and its receiver went before it could start it (8.6).
struct taking_over {
    enum class at : std::uint8_t { begin, writing, over };

    at where = at::begin;

    [[nodiscard]] step resume(context& c);
    friend bool operator==(const taking_over&, const taking_over&) = default;
};

}  // namespace pvc::policy
