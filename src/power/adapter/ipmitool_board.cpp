#include "pvcnoded/power/adapter/ipmitool_board.hpp"

#include "pvcnoded/base/board_account.hpp"
#include "pvcnoded/base/guard.hpp"
#include "pvcnoded/base/text.hpp"

#include <algorithm>

namespace pvc::power {

namespace {

using namespace std::chrono_literals;

constexpr duration grace = 500ms;
constexpr std::string_view refuses_administrator = "Set Session Privilege Level to ADMINISTRATOR failed";
constexpr std::size_t most_addresses = 16;

async::command program_for(const board_access& to, board_command what) {
    async::command run;
    run.arguments = {"ipmitool", "-I", "lanplus", "-H", to.address, "-U", to.user, "-E"};
    if (to.cipher_suite) {
        run.arguments.insert(run.arguments.end(), {"-C", std::to_string(*to.cipher_suite)});
    }
    if (to.as_operator) {
        run.arguments.insert(run.arguments.end(), {"-L", "OPERATOR"});
    }
    for (const auto word : split(to_text(what), ' ')) {
        run.arguments.emplace_back(word);
    }
    run.environment = {{"IPMI_PASSWORD", to.password.reveal()}};
    return run;
}

// An answer of which the end is missing is none: what was dropped may say the opposite. So no line of it begins as an
// answer does.
void spoil(std::string& output) {
    std::ranges::replace(output, '\n', ' ');
    output.insert(0, "more than " + std::to_string(answer_bytes) + " bytes: ");
}

board_answer answer_of(async::process_outcome ended, bool as_operator) {
    if (ended.truncated && ended.output.size() >= answer_bytes) {
        spoil(ended.output);
    }
    const auto* end = std::get_if<async::exited>(&ended.how);
    return {.status = end != nullptr ? std::optional(end->code) : std::nullopt,
            .output = std::move(ended.output),
            .errors = std::move(ended.error_output),
            .took = ended.took,
            .as_operator = as_operator};
}

bool is_refused_as_administrator(const board_answer& heard) {
    return heard.status && *heard.status != 0 && heard.errors.find(refuses_administrator) != std::string::npos;
}

}  // namespace

async::awaitable<result<board_answer>> ipmitool_board::ask(board_access to, board_command what, boot_time not_after,
                                                           duration limit) {
    if (const auto trouble = trouble_with(to); !trouble.empty()) {
        co_return failure(errc::invalid, "board", trouble);
    }
    const time_point deadline = clock_.now() + limit;
    async::process_limits limits{.time = limit, .grace = grace, .output_bytes = answer_bytes};
    limits.not_after = guarded_until(not_after);
    PVC_CO_TRY(auto ended, co_await processes_.run(program_for(to, what), limits));
    auto heard = answer_of(std::move(ended), to.as_operator);
    const duration left = deadline - clock_.now();
    if (to.as_operator || !is_refused_as_administrator(heard) || left <= 0ns) {
        co_return heard;
    }
    to.as_operator = true;
    limits.time = left;
    auto again = co_await processes_.run(program_for(to, what), limits);
    if (!again && again.error().code() == errc::io) {
        co_return again.error();
    }
    if (!again) {
        co_return heard;  // it was refused, and nothing else was sent
    }
    auto second = answer_of(std::move(*again), true);
    second.took += heard.took;
    co_return second;
}

async::awaitable<result<board_answer>> ipmitool_board::ask_own_guid(duration limit) {
    async::command run;
    run.arguments = {"ipmitool", "-I", "open", "mc", "guid"};
    const async::process_limits limits{.time = limit, .grace = grace, .output_bytes = answer_bytes};
    PVC_CO_TRY(auto ended, co_await processes_.run(std::move(run), limits));
    co_return answer_of(std::move(ended), false);
}

async::awaitable<result<std::vector<std::string>>> ipmitool_board::resolve(std::string host, duration limit) {
    if (const auto trouble = trouble_with_board_host(host); !trouble.empty()) {
        co_return failure(errc::invalid, "host", trouble);
    }
    async::command run;
    run.arguments = {"getent", "ahosts", host};
    const async::process_limits limits{.time = limit, .grace = grace};
    PVC_CO_TRY(const auto ended, co_await processes_.run(std::move(run), limits));
    if (std::holds_alternative<async::timed_out>(ended.how)) {
        co_return failure(errc::timed_out, host, "no answer from the resolver");
    }
    std::vector<std::string> addresses;
    for (const auto line : split(ended.output, '\n')) {
        const std::string address(line.substr(0, line.find(' ')));
        const bool is_new = std::ranges::find(addresses, address) == addresses.end();
        if (is_new && trouble_with_board_host(address).empty() && addresses.size() < most_addresses) {
            addresses.push_back(address);
        }
    }
    if (addresses.empty()) {
        const bool is_unknown = std::holds_alternative<async::exited>(ended.how);
        co_return failure(is_unknown ? errc::not_found : errc::io, host, "it resolves to no address, " + ended.text());
    }
    co_return addresses;
}

}  // namespace pvc::power
