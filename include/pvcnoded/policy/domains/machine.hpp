// Machines: what takes several steps with one domain, as values. A machine is resumed with what is seen of the domain
// now and the answer to what it asked last, and says what it asks next, until when, and why. It holds no pointers,
// knows no Asio, and does nothing itself: a shell (src/domains/operations/shell) carries out what it asks. So each
// decision is a table test, every order of events can be explored, and what it would do next can be shown.
//
// A machine is an aggregate: its members are all that it remembers between two steps. `where` names the step whose
// answer it awaits. One that uses another hands every resumption on to it until that is over, then reads its `end`.
// Specification: vm-domains.md 5.2, 6, 8. How to write one: docs/how-to-add.md.
#pragma once

#include "pvcnoded/policy/domains/domain_memory.hpp"
#include "pvcnoded/policy/domains/domain_seen.hpp"
#include "pvcnoded/policy/domains/requests.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pvc::policy {

// What a machine is told at a resumption.
struct event {
    const domain_seen& seen;
    const answer& said;  // to what it asked last; `woken` at the beginning
    time_point now;
};

struct step {
    ask::any what;                         // `nothing`: the machine is over
    time_point until = time_point::max();  // the effect's limit, or the end of the wait; max: none of its own
    std::string_view reason;               // what it waits for, in words; static text

    [[nodiscard]] bool is_over() const { return std::holds_alternative<ask::nothing>(what); }
};
[[nodiscard]] inline step over() {
    return {};
}

// One resumption: the event, what is remembered beyond the machine, and the acts so far.
class context {
public:
    context(const event& of, domain_memory& memory, std::vector<act::any>& acts)
        : seen(of.seen), said(of.said), now(of.now), memory(memory), acts(acts) {}

    const domain_seen& seen;
    const answer& said;
    const time_point now;
    domain_memory& memory;
    std::vector<act::any>& acts;

    template <class T>
    [[nodiscard]] const T& answer_as() const {
        return std::get<T>(said);
    }
    [[nodiscard]] bool said_yes() const { return answer_as<yes>().is.value_or(false); }
    [[nodiscard]] bool wrote() const { return answer_as<write_end>() == write_end::written; }

    void info(std::string text) { acts.emplace_back(act::line{act::line::level::info, {}, std::move(text)}); }
    void state(std::string text) { acts.emplace_back(act::line{act::line::level::state, {}, std::move(text)}); }
    void warning(message id, std::string text) {
        acts.emplace_back(act::line{act::line::level::warning, id, std::move(text)});
    }
    void error(message id, std::string text) {
        acts.emplace_back(act::line{act::line::level::error, id, std::move(text)});
    }
    void pause(duration time) { acts.emplace_back(act::pause{time}); }
    void drop_record() { acts.emplace_back(act::drop_record{}); }
};

// What a resumption comes to.
struct outcome {
    std::vector<act::any> actions;  // done at once, in order
    step next;
};
template <class Machine>
[[nodiscard]] outcome resume(Machine& machine, const event& what, domain_memory& memory) {
    outcome out;
    context now(what, memory, out.actions);
    out.next = machine.resume(now);
    return out;
}

// Resumes a part of a machine; once that is over, what comes then.
template <class Part, class Then>
[[nodiscard]] step hand_on(Part& part, context& c, Then then) {
    step next = part.resume(c);
    return next.is_over() ? then() : next;
}

// For waits that only news ends: an operation that reads its own keys wakes itself, and must not go on because of that.
struct news {
    policy::wish wish;
    std::optional<model::guest_class> guest;
    bool is_present = false;
    bool must_end = false;
    time_point until{};

    [[nodiscard]] static news none_since(const context& c, const policy::wish& seen, duration time) {
        return {seen, c.seen.guest, c.seen.is_present, c.seen.must_end, c.now + time};
    }
    [[nodiscard]] bool is_there(const context& c) const {
        return c.now >= until || c.seen.is_present != is_present || c.seen.wish != wish || c.seen.guest != guest ||
               c.seen.must_end != must_end;
    }
    friend bool operator==(const news&, const news&) = default;
};

// Things that last over several steps: what a machine wants to hold, from its first step with it until it wants it no
// more. How far it has come is in domain_seen::held; all of it is given back when the machine is over.
struct holdings {
    std::optional<time_point> locks;  // of `node` and `state`, had by then
    enum class sync : std::uint8_t {
        none,
        offered,  // as the receiver: held until the sender is queued behind, again and again
        taken,    // as the sender: queued for when the receiver was seen, until then
        released,
    } of_sync = sync::none;
    time_point sync_by{};
    enum class turn : std::uint8_t { none, to_migrate, to_be_created } of_turn = turn::none;
    std::vector<std::string> pools;  // of Ceph, for which a turn to be created is wanted
    std::string call_to;             // the live call, to that node
    bool gives_up_call = false;      // it is ended, whatever libvirt says
    bool asks_guest_to_end = false;  // again and again, until it got the request
    std::vector<std::string> lists;  // the running lists of these nodes are followed
    std::string follows_daemon_of;   // the daemon state of that node is
    std::string follows_list_of;     // its running list is
    bool follows_waiters = false;    // who waits behind us is
    bool follows_sender = false;     // who has the locks of a reference sender is looked at, at each change

    friend bool operator==(const holdings&, const holdings&) = default;
};

}  // namespace pvc::policy
