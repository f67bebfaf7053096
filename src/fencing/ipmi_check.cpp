#include "pvcnoded/fencing/ipmi_check.hpp"

#include "pvcnoded/base/text.hpp"

#include <fmt/format.h>

namespace pvc::fencing {

using namespace std::chrono_literals;

namespace {

// As long as whoever fences a node waits for its board; there are boards that need ten seconds.
constexpr async::process_limits limits{.time = 30s, .grace = 500ms, .output_bytes = 4096};
constexpr duration slow_from = 2s;  // is said
constexpr std::string_view is_on = "Chassis Power is on";

async::command question_to(const config::node_config& config) {
    const auto& board = config.ipmi;
    async::command what;
    what.arguments = {"ipmitool", "-I", "lanplus", "-H",    board.host, "-U",
                      board.user, "-E", "chassis", "power", "status"};
    what.environment = {{"IPMI_PASSWORD", board.pass.reveal()}};
    return what;
}

// Why it does not count as reachable; empty: it does.
std::string trouble_in(const result<async::process_outcome>& ended) {
    if (!ended) {
        return ended.error().text();
    }
    if (std::holds_alternative<async::timed_out>(ended->how)) {
        return fmt::format("no answer within {} s", limits.time / 1s);
    }
    if (!ended->succeeded()) {
        const auto said = trim(std::string_view(ended->error_output).substr(0, ended->error_output.find('\n')));
        return said.empty() ? ended->text() : ended->text() + ", " + shown(said);
    }
    const auto said = trim(ended->output);
    return said == is_on ? std::string() : fmt::format("expected \"{}\", got \"{}\"", is_on, shown(said));
}

}  // namespace

async::awaitable<result<void>> ipmi_check::prepare(core::preparation in) {
    in.attempt.spawn("ipmi check", [this] { return ask(); });
    co_return result<void>();
}

async::awaitable<void> ipmi_check::ask() {
    const std::string host = shown(node_.config->ipmi.host);
    const time_point asked = node_.clock().now();
    const auto ended = co_await processes_.run(question_to(*node_.config), limits);
    const auto trouble = trouble_in(ended);
    const duration took = node_.clock().now() - asked;
    if (trouble.empty()) {
        node_.log.ok("IPMI interface " + host + " of this node answers" +
                     (took > slow_from ? fmt::format(", after {} s", took / 1s) : std::string()));
    } else {
        node_.log.warning(message::ipmi_unreachable,
                          fmt::format("IPMI interface {} of this node cannot be used ({}): no other node could fence "
                                      "this one through it",
                                      host, trouble));
    }
}

}  // namespace pvc::fencing
