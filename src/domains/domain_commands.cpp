#include "pvcnoded/domains/domain_commands.hpp"

#include "pvcnoded/core/command_pipe.hpp"
#include "pvcnoded/domains/domain_subject.hpp"
#include "pvcnoded/model/domain_command.hpp"

namespace pvc::domains {

namespace {

std::optional<core::pipe_command> read_command(domain_subject& here, std::string_view text) {
    auto parsed = model::parse_domain_command(text);
    if (!parsed || (parsed->id && !here.owns(*parsed->id))) {
        return std::nullopt;
    }
    core::pipe_command command;
    command.name = std::string(to_text(parsed->verb)) + (parsed->id ? " " + to_text(*parsed->id) : std::string());
    command.perform = [&here, parsed = *std::move(parsed)](core::pipe_guard guard,
                                                           time_point deadline) -> async::awaitable<result<void>> {
        if (!parsed.fault.empty()) {
            co_return failure(errc::invalid, {}, parsed.fault);
        }
        co_return co_await here.execute(parsed, std::move(guard), deadline);
    };
    return command;
}

class commands_of_session final : public core::session_part {
public:
    commands_of_session(core::session& s, domain_subject& here) : session_(s), here_(here) {}
    [[nodiscard]] bool is_of_one_schema() const override { return true; }
    async::awaitable<void> run() override {
        const auto path = session_.table.path("base.cmd.domain");
        if (!path) {
            co_return;
        }
        core::command_pipe pipe(session_, *path, [this](std::string_view text) { return read_command(here_, text); });
        co_await pipe.run();
    }

private:
    core::session& session_;
    domain_subject& here_;
};

}  // namespace

std::unique_ptr<core::session_part> domain_commands::begin(core::session& s) {
    return std::make_unique<commands_of_session>(s, here_);
}

}  // namespace pvc::domains
