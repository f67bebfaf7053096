// One domain in a job: looked at, waited for until it is clear what it is to be, and written under its lock.
#pragma once

#include "drain/job.hpp"

namespace pvc::domains {

class one_domain {
public:
    one_domain(job& of, const uuid& id);
    one_domain(const one_domain&) = delete;
    one_domain& operator=(const one_domain&) = delete;
    virtual ~one_domain() = default;

protected:
    enum class fate : std::uint8_t {
        untouched,  // it needs nothing, or is gone
        leaves,     // it is on its way elsewhere without us
        placed,     // written, in transaction written_
        given_up,   // said in the log
    };
    async::awaitable<fate> settle_and_place();

    // What is to be done, of these keys alone.
    [[nodiscard]] virtual policy::domain_step step(const policy::placed_domain& domain) const = 0;
    // What is to be written, under the lock.
    virtual async::awaitable<result<placement::decision>> decide_on(const placement::stored_domain& now) = 0;

    [[nodiscard]] std::string line(std::string_view text) const;
    void info(std::string_view text) const { of_.log().info(line(text), name_); }
    void warning(message what, std::string_view text) const { of_.log().warning(what, line(text), name_); }
    // Suspends until it has come where it was placed, at most 120 s. Empty: not in time, which is said in the log, or
    // it is gone.
    async::awaitable<std::optional<policy::placed_domain>> arrival(std::int64_t since);

    job& of_;
    uuid id_;
    std::string name_;
    std::int64_t written_ = 0;
    // Said if there is nothing to write.
    message needless_id_ = message::flush_needless;
    std::string needless_ = "there is nothing that could be done with it";

private:
    [[nodiscard]] policy::domain_step present_step(const placement::stored_domain& seen) const;
    async::awaitable<bool> settles(policy::domain_step why, std::int64_t since);
    async::awaitable<result<placement::decision>> decide_again(const placement::stored_domain& now);

    placement::followed_state state_;
    bool has_awaited_ = false;  // it did not arrive in all the time that it may take
    std::optional<time_point> settled_by_;
};

}  // namespace pvc::domains
