#include "database_claim.hpp"

#include "pvcnoded/async/task_group.hpp"

#include <fmt/format.h>

namespace pvc::role {

using namespace std::chrono_literals;

namespace {

constexpr duration grace = 1s;
constexpr std::size_t output_max = 65536;
constexpr std::string_view earlier_run = "an earlier run of patronictl";

policy::patroni_judgement judgement_of(const async::process_outcome& outcome) {
    const std::string how = outcome.text();
    policy::patroni_run run;
    run.output = outcome.output;
    run.error_output = outcome.error_output;
    run.is_truncated = outcome.truncated;
    run.how_it_ended = how;
    if (const auto* end = std::get_if<async::exited>(&outcome.how)) {
        run.exit_status = end->code;
    }
    return policy::judge_patroni(run);
}

}  // namespace

async::awaitable<database_claim::machine::event> database_claim::ask_patroni(time_point until) {
    async::command what{policy::patroni_command(node_.self())};
    // Python prints names of any alphabet.
    what.environment.emplace_back("LC_ALL", "C.UTF-8");
    async::process_limits limits;
    limits.time = until - node_.clock().now() - grace;
    limits.grace = grace;
    limits.output_bytes = output_max;
    const auto outcome = co_await processes_.run(std::move(what), limits);
    machine::event ended{.now = node_.clock().now()};
    if (outcome) {
        ended.ended = judgement_of(*outcome);
    } else {
        ended.ended = policy::patroni_judgement{false, outcome.error().text()};
        ended.is_missing = outcome.error().code() == errc::not_found;
    }
    co_return ended;
}

// Resumes the machine until it is over, or a takeover need not wait for it any longer.
async::awaitable<void> database_claim::go_on(bool until_settled) {
    auto next = machine_.resume({node_.clock().now()});
    while (next.what != machine::ask::nothing && !(until_settled && machine_.is_settled())) {
        machine::event said;
        if (next.what == machine::ask::run) {
            said = co_await ask_patroni(next.until);
        } else {
            co_await async::sleep_until(node_.clock(), next.until, next.reason);
            said.now = node_.clock().now();
        }
        next = machine_.resume(said);
        tell();
    }
}

// A failure once, and the success.
void database_claim::tell() {
    if (machine_.is_ours()) {
        node_.log.info("Patroni leads the database from this node");
    } else if (machine_.is_settled() && !std::exchange(is_told_, true)) {
        node_.log.warning(message::role_database,
                          fmt::format("Patroni does not lead the database from this node: {}; tried again every {} s "
                                      "while this node is primary",
                                      machine_.reason,
                                      std::chrono::floor<std::chrono::seconds>(machine::between_later_tries).count()));
    }
}

async::awaitable<void> database_claim::take_up() {
    const auto turn = co_await turn_.lock(earlier_run);
    machine_ = {};
    is_wanted_ = true;
    is_told_ = false;
    co_await go_on(true);
    changed_.notify();
}

void database_claim::give_up() {
    is_wanted_ = false;
    changed_.notify();
}

async::awaitable<void> database_claim::try_later() {
    const auto turn = co_await turn_.lock(earlier_run);
    if (has_later_tries()) {
        co_await go_on(false);
    }
}

async::awaitable<void> database_claim::run() {
    for (;;) {
        if (!has_later_tries()) {
            co_await changed_.wait(async::wait_note::work("the primary role"));
            continue;
        }
        co_await async::with_task_group("the database", [this](async::task_group& group) -> async::awaitable<void> {
            group.spawn("later tries", [this]() -> async::awaitable<void> {
                co_await try_later();
                changed_.notify();
            });
            while (has_later_tries()) {
                co_await changed_.wait(async::wait_note::work("the end of the primary role"));
            }
            group.cancel();
        });
    }
}

std::string database_claim::text() const {
    if (!is_wanted_) {
        return {};
    }
    if (machine_.is_ours()) {
        return "the database is led from this node";
    }
    return "the database is not led from this node" + (machine_.reason.empty() ? "" : ": " + machine_.reason);
}

}  // namespace pvc::role
