#include "drain/one_domain.hpp"

#include "pvcnoded/policy/domains/domain_table.hpp"

#include <fmt/format.h>

namespace pvc::domains {

using policy::domain_step;

one_domain::one_domain(job& of, const uuid& id) : of_(of), id_(id), name_(to_text(id)), state_(of.s, id) {}

std::string one_domain::line(std::string_view text) const {
    return fmt::format("{}: {}", of_.what, text);
}

domain_step one_domain::present_step(const placement::stored_domain& seen) const {
    const domain_step wanted = step(seen.keys);
    return wanted == domain_step::wait_arrived && has_awaited_ ? domain_step::place : wanted;
}

async::awaitable<one_domain::fate> one_domain::settle_and_place() {
    std::string why;
    for (int conflicts = 0; conflicts <= conflicts_max;) {
        const auto seen = co_await placement::read_domain(of_.s, id_);
        if (!seen && seen.error().code() == errc::not_found) {
            const bool is_removed = seen.error().subject() == model::domain_path(to_text(id_));
            if (!is_removed) {
                warning(message::flush_keys_missing,
                        "its key " + seen.error().subject() + " is missing, it is left as it is");
            }
            co_return is_removed ? fate::untouched : fate::given_up;  // or removed meanwhile
        }
        if (!seen) {
            co_await placement::wait_better(of_.s);
            continue;
        }
        name_ = seen->name;
        const domain_step now = present_step(*seen);
        if (now == domain_step::skip) {
            co_return fate::untouched;
        }
        if (now == domain_step::wait_moved) {
            written_ = seen->state_changed;
            co_return fate::leaves;
        }
        if (now != domain_step::place) {
            const bool goes_on = co_await settles(now, seen->state_changed);
            if (!goes_on) {
                co_return fate::given_up;
            }
            continue;
        }
        placement::attempt tried = co_await placement::place_domain(
            of_.as_order(), id_, [this](const placement::stored_domain& there) { return decide_again(there); });
        switch (tried.what) {
            case placement::attempt::kind::written: written_ = tried.zxid; co_return fate::placed;
            case placement::attempt::kind::needless: warning(needless_id_, needless_); co_return fate::given_up;
            case placement::attempt::kind::gone: co_return fate::untouched;
            case placement::attempt::kind::broken: co_await placement::wait_better(of_.s); break;
            case placement::attempt::kind::conflict:
            case placement::attempt::kind::locked:
                ++conflicts;
                why = std::move(tried.why);
                break;
        }
    }
    warning(message::flush_unwritten, "its keys could not be written, it is left as it is: " + why);
    co_return fate::given_up;
}

// Under the lock nothing may be as it was.
async::awaitable<result<placement::decision>> one_domain::decide_again(const placement::stored_domain& now) {
    if (present_step(now) != domain_step::place) {
        co_return failure(errc::version_conflict, name_, "its state was changed");
    }
    co_return co_await decide_on(now);
}

// Suspends until it is clear what it is to be, from what transaction `since` wrote on. False: it is not, after all the
// time that this may take.
async::awaitable<bool> one_domain::settles(domain_step why, std::int64_t since) {
    const bool is_arriving = why == domain_step::wait_arrived;
    if (is_arriving) {
        has_awaited_ = true;
        info("it is still on its way, waiting for that");
    } else if (!settled_by_) {
        settled_by_ = of_.now() + of_.settle_limit();
        info("it is being restarted or shut down, waiting for that");
    }
    const auto goes_on = [is_arriving](model::vm_state state) {
        return is_arriving ? policy::is_migration(state)
                           : state == model::vm_state::restart || state == model::vm_state::shutdown;
    };
    const auto end = co_await state_.wait_while(goes_on, since, is_arriving ? move_limit : *settled_by_ - of_.now(),
                                                "a virtual machine to settle");
    if (end == placement::followed_state::outcome::late && !is_arriving) {
        const auto waited = std::chrono::duration_cast<std::chrono::seconds>(of_.settle_limit()).count();
        warning(message::flush_settling,
                fmt::format("it is still being restarted or shut down after {} s, going on without it", waited));
        co_return false;
    }
    co_return true;  // if it is gone, the next reading says so
}

async::awaitable<std::optional<policy::placed_domain>> one_domain::arrival(std::int64_t since) {
    const auto end = co_await state_.wait_while(policy::is_under_way, since, move_limit, "a virtual machine to move");
    if (end == placement::followed_state::outcome::late) {
        warning(message::flush_late, "it is still on its way after 120 s, going on with the next one");
    }
    if (end != placement::followed_state::outcome::left) {
        co_return std::nullopt;
    }
    const auto seen = co_await placement::read_domain(of_.s, id_);
    co_return seen ? std::optional(seen->keys) : std::nullopt;
}

}  // namespace pvc::domains
