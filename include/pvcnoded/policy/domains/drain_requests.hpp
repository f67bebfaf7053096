// What the jobs that empty a node (flush) and refill it (unflush) ask for, and what they are told. A job is a machine,
// as in machine.hpp, but of a whole node: it deals with many domains, one after the other, of which none need belong
// here. It is resumed with the answer to what it asked last, and says what is to be done at once (`act`), what it asks
// next (`ask`), until when, and why. It holds no pointers, knows no Asio, and does nothing itself: a shell
// (src/domains/drain/shell) carries out what it asks and decides nothing.
// Specification: node-lifecycle.md 8.1, 8.2; README ruling 21.
#pragma once

#include "pvcnoded/base/clock.hpp"
#include "pvcnoded/base/message.hpp"
#include "pvcnoded/base/uuid.hpp"
#include "pvcnoded/model/states.hpp"
#include "pvcnoded/policy/domains/flush_rules.hpp"
#include "pvcnoded/policy/domains/move_fault.hpp"
#include "pvcnoded/policy/placement/target_selection.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace pvc::policy::drain {

enum class job_kind : std::uint8_t { flush, unflush };
[[nodiscard]] std::string_view to_text(job_kind kind);

// The keys of one domain, of one reading; transactions are those of the last write of each key.
struct domain_keys {
    std::string name;  // for messages
    placed_domain keys;
    std::int64_t state_changed = 0;
    std::int64_t node_changed = 0;

    friend bool operator==(const domain_keys&, const domain_keys&) = default;
};

// What a wait for another state lasts through.
enum class lasting : std::uint8_t {
    settling,  // it is being restarted or shut down
    arriving,  // it is on its way here
    leaving,   // it is on its way elsewhere, or off
};
[[nodiscard]] bool lasts(lasting what, model::vm_state state);

// In brackets: the alternative of `answer` that comes back.
namespace ask {

struct nothing {};         // the machine is over
struct better_session {};  // [woken] after trouble: there is a connection again, or a while has passed
struct time {};            // [woken] the deadline

// What is here.
struct present {};     // [domains_here] all that run here or are about to
struct listed {};      // [domains_here] the running list
struct list_write {};  // [woken] it was written, or the limit has passed
struct arrival {};     // [arrived] the first that came by a move, and was not dropped yet

// Any domain.
struct all_keys {};  // [all_read] of every domain that is there
struct keys {        // [keys_read]
    uuid id;
};
// Its state is none of these any more, as written by transaction `since` or later. Of the domain that is followed.
struct other_state {  // [state_end]
    lasting through = lasting::leaving;
    std::int64_t since = 0;
};
// Whose fault it is that the domain that is followed was not moved there.
struct fault {  // [move_fault]
    std::string target;
};
// Its lock is taken, `under_lock` is said, and what is to become of it is asked for with the questions below, once it
// is held. `placed` may come instead of each answer: the lock was not had, or the session broke.
struct place {  // [under_lock]
    uuid id;
};

// The order itself, this node's own `domainstate`.
struct order_key {};  // [order_read]
struct write_word {   // [word_written]
    model::domain_state word = model::domain_state::unknown;
    std::int32_t version = 0;  // that it must have
    bool with_list = false;    // and in the same transaction the running list as it is then
};

// With the lock of a domain held.
// The best node for it, but not this node or any of `but`. What is written rests on the last of these choices.
struct target {  // [target_found]
    uuid id;
    std::set<std::string> but;
};
struct write {  // [placed]
    placement what;
};
struct write_nothing {};  // [placed] as needless
struct decide_again {     // [placed] as a conflict: its state is another than before the lock
    std::string name;     // of the domain
};

using any = std::variant<nothing, better_session, time, present, listed, list_write, arrival, all_keys, keys,
                         other_state, fault, place, order_key, write_word, target, write, write_nothing, decide_again>;

}  // namespace ask

struct woken {};
struct domains_here {
    std::vector<uuid> ids;  // in the order in which they are to be taken
};
struct arrived {
    std::optional<uuid> id;  // empty: none
};
struct all_read {
    bool is_known = false;
    std::map<uuid, placed_domain> domains;
};
struct keys_read {
    enum class how : std::uint8_t {
        read,
        removed,      // the domain is gone
        key_missing,  // one that it must have
        failed,       // the session is in trouble
    } what = how::failed;
    domain_keys found;    // of `read`
    std::string missing;  // of `key_missing`: its path
};
enum class state_end : std::uint8_t {
    left,
    gone,  // the key is
    late,
};
struct under_lock {
    domain_keys found;
};
struct target_found {
    std::optional<target_choice> choice;  // empty: none of them can take it
    std::vector<possible_node> nodes;     // all others, also those of `but`
};
struct placed {
    enum class how : std::uint8_t {
        written,
        needless,  // nothing was to be written
        conflict,  // something that it rests on changed
        locked,    // somebody holds the lock
        gone,      // the domain is
        broken,    // the session is in trouble: nothing is known
    } what = how::broken;
    std::int64_t zxid = 0;  // of `written`
    std::string why;        // of `conflict` and `locked`
};
struct order_read {
    enum class how : std::uint8_t {
        read,
        gone,
        failed,  // the session is in trouble
    } what = how::failed;
    std::optional<model::domain_state> word;  // empty: no known one
    std::int64_t changed = 0;                 // transaction
    std::int32_t version = 0;
};
struct word_written {
    enum class how : std::uint8_t {
        written,
        overtaken,  // it was changed since it was read
        failed,     // the session is in trouble, or the outcome is unknown
    } what = how::failed;
    std::int64_t zxid = 0;                // of `written`
    std::vector<std::string> still_here;  // right after it, by name
};
using answer = std::variant<woken, domains_here, arrived, all_read, keys_read, state_end, move_fault, under_lock,
                            target_found, placed, order_read, word_written>;

// Done at once, in order, before what is asked.
namespace act {

struct line {  // of the log
    enum class level : std::uint8_t { info, state, ok, warning, error } how = level::info;
    message id{};       // of warning and error
    std::string about;  // name of the domain; empty: of none
    std::string text;

    friend bool operator==(const line&, const line&) = default;
};
struct follow {  // its state is watched, until `unfollow`
    uuid id;
    friend bool operator==(const follow&, const follow&) = default;
};
struct unfollow {
    friend bool operator==(const unfollow&, const unfollow&) = default;
};
struct drop_arrival {  // it was dealt with, or is none of anybody's business
    uuid id;
    friend bool operator==(const drop_arrival&, const drop_arrival&) = default;
};
struct drop_arrivals {
    friend bool operator==(const drop_arrivals&, const drop_arrivals&) = default;
};
struct settled {  // orders up to this transaction were dealt with
    std::int64_t zxid = 0;
    friend bool operator==(const settled&, const settled&) = default;
};

using any = std::variant<line, follow, unfollow, drop_arrival, drop_arrivals, settled>;

}  // namespace act

// What a job is told at a resumption.
struct event {
    const answer& said;  // to what it asked last; `woken` at the beginning
    time_point now;
    std::int64_t ordered = 0;  // transaction that wrote this node's own `domainstate` last
};

struct step {
    ask::any what;                         // `nothing`: the machine is over
    time_point until = time_point::max();  // the end of the wait; max: it has none, or one of its own
    std::string_view reason;               // what it waits for, in words; static text

    [[nodiscard]] bool is_over() const { return std::holds_alternative<ask::nothing>(what); }
};

// One resumption: the event, and the acts so far.
class context {
public:
    context(const event& of, std::vector<act::any>& acts)
        : said(of.said), now(of.now), ordered(of.ordered), acts(acts) {}

    const answer& said;
    const time_point now;
    const std::int64_t ordered;
    std::vector<act::any>& acts;

    template <class T>
    [[nodiscard]] const T& answer_as() const {
        return std::get<T>(said);
    }

    void info(std::string about, std::string text) {
        acts.emplace_back(act::line{act::line::level::info, {}, std::move(about), std::move(text)});
    }
    void state(std::string text) { acts.emplace_back(act::line{act::line::level::state, {}, {}, std::move(text)}); }
    void ok(std::string text) { acts.emplace_back(act::line{act::line::level::ok, {}, {}, std::move(text)}); }
    void warning(message id, std::string about, std::string text) {
        acts.emplace_back(act::line{act::line::level::warning, id, std::move(about), std::move(text)});
    }
    void error(message id, std::string text) {
        acts.emplace_back(act::line{act::line::level::error, id, {}, std::move(text)});
    }
};

// What a resumption comes to.
struct outcome {
    std::vector<act::any> actions;  // done at once, in order
    step next;
};
template <class Machine>
[[nodiscard]] outcome resume(Machine& machine, const event& what) {
    outcome out;
    context now(what, out.actions);
    out.next = machine.resume(now);
    return out;
}

}  // namespace pvc::policy::drain
