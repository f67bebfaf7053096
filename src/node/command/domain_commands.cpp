#include "command/domain_commands.hpp"

#include "command/command_pipe.hpp"
#include "pvcnoded/model/domain_command.hpp"

namespace pvc::node {

namespace {

std::optional<pipe_command> read_command(domains& machines, std::string_view text) {
    auto parsed = model::parse_domain_command(text);
    if (!parsed || (parsed->id && !machines.owns(*parsed->id))) {
        return std::nullopt;
    }
    pipe_command command;
    command.name = std::string(to_text(parsed->verb)) + (parsed->id ? " " + to_text(*parsed->id) : std::string());
    command.perform = [&machines, parsed = *std::move(parsed)](pipe_guard guard,
                                                               time_point deadline) -> async::awaitable<result<void>> {
        if (!parsed.fault.empty()) {
            co_return failure(errc::invalid, {}, parsed.fault);
        }
        co_return co_await machines.execute(parsed, std::move(guard), deadline);
    };
    return command;
}

}  // namespace

async::awaitable<void> follow_domain_commands(session& s, domains& machines) {
    const auto path = s.table.path("base.cmd.domain");
    if (!path) {
        co_return;
    }
    command_pipe pipe(s, *path, [&machines](std::string_view text) { return read_command(machines, text); });
    co_await pipe.run();
}

}  // namespace pvc::node
