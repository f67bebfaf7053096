// Carries out what the machine of a job asks (policy/domains/drain_requests.hpp), and decides nothing. Lives as long as
// the job; cancelling `run` ends what is under way, with the lock of a domain given back.
#pragma once

#include "drain/job.hpp"
#include "pvcnoded/policy/domains/drain_requests.hpp"

#include <functional>
#include <optional>

namespace pvc::domains {

namespace drain = policy::drain;

class drain_shell {
public:
    using machine_function = std::function<drain::outcome(const drain::event&)>;

    drain_shell(job& of, machine_function machine) : of_(of), machine_(std::move(machine)) {}
    // Until the machine is over.
    async::awaitable<void> run();

private:
    // Resumes the machine, and does at once what is to be done.
    drain::step resume(const drain::answer& said);
    void perform(const drain::act::line& what);
    void perform(const drain::act::follow& what);
    void perform(const drain::act::unfollow& what);
    void perform(const drain::act::drop_arrival& what);
    void perform(const drain::act::drop_arrivals& what);
    void perform(const drain::act::settled& what);

    async::awaitable<drain::answer> reply(const drain::ask::better_session& what, const drain::step& asked);
    async::awaitable<drain::answer> reply(const drain::ask::time& what, const drain::step& asked);
    async::awaitable<drain::answer> reply(const drain::ask::fault& what, const drain::step& asked);
    async::awaitable<drain::answer> reply(const drain::ask::present& what, const drain::step& asked);
    async::awaitable<drain::answer> reply(const drain::ask::listed& what, const drain::step& asked);
    async::awaitable<drain::answer> reply(const drain::ask::list_write& what, const drain::step& asked);
    async::awaitable<drain::answer> reply(const drain::ask::arrival& what, const drain::step& asked);
    async::awaitable<drain::answer> reply(const drain::ask::all_keys& what, const drain::step& asked);
    async::awaitable<drain::answer> reply(const drain::ask::keys& what, const drain::step& asked);
    async::awaitable<drain::answer> reply(const drain::ask::other_state& what, const drain::step& asked);
    async::awaitable<drain::answer> reply(const drain::ask::place& what, const drain::step& asked);
    async::awaitable<drain::answer> reply(const drain::ask::order_key& what, const drain::step& asked);
    async::awaitable<drain::answer> reply(const drain::ask::write_word& what, const drain::step& asked);
    // The others are asked with the lock of a domain held (decide_under_lock).
    template <class Question>
    async::awaitable<drain::answer> reply(const Question& what, const drain::step& asked);
    [[nodiscard]] std::vector<std::string> still_here() const;
    async::awaitable<result<placement::decision>> decide_under_lock(uuid id, const placement::stored_domain& now);

    job& of_;
    machine_function machine_;
    std::optional<placement::followed_state> followed_;
};

}  // namespace pvc::domains
