#include "osd_commands.hpp"

#include "osd_keys.hpp"
#include "osd_tools.hpp"
#include "pvcnoded/base/guard.hpp"
#include "pvcnoded/base/text.hpp"
#include "pvcnoded/model/osd_command.hpp"

#include <utility>

namespace pvc::ceph {

using namespace std::chrono_literals;
namespace ask = policy::osd_ask;
namespace said = policy::osd_said;

namespace {

constexpr duration connection_wait = 60s;  // longer than a session survives without one
constexpr int guard_attempts = 3;
constexpr std::string_view of_commands = "commands";
constexpr std::string_view withdrawn = "the command was withdrawn, or its lock is gone";

std::string name_of(const model::osd_command& what) {
    std::string name(to_text(what.verb));
    for (const auto* part : {&what.id, &what.device}) {
        name += part->empty() ? "" : " " + shown(*part);
    }
    return name;
}

}  // namespace

async::awaitable<void> osd_commands::run() {
    const auto path = session_.table.path("base.cmd.ceph");
    if (!path) {
        co_return;
    }
    core::command_pipe pipe(session_, *path, [this](std::string_view text) { return read(text); });
    co_await pipe.run();
}

std::optional<core::pipe_command> osd_commands::read(std::string_view text) const {
    auto parsed = model::parse_osd_command(text);
    if (!parsed || !may_be_ours(*parsed)) {
        return std::nullopt;
    }
    core::pipe_command command;
    command.name = name_of(*parsed);
    command.limit.reset();  // each step has its own
    command.is_ours = [this, what = *parsed] { return is_ours(what); };
    command.perform = [this, what = *parsed](core::pipe_guard guard, time_point /*deadline*/) {
        return perform(what, std::move(guard));
    };
    return command;
}

// What names nobody is answered by whoever has the lock first.
bool osd_commands::may_be_ours(const model::osd_command& what) const {
    if (what.verb != model::osd_verb::osd_remove) {
        return what.node.empty() || what.node == session_.node.self();
    }
    const auto found = objects_.osds().find(what.id);
    const bool is_elsewhere = found != objects_.osds().end() && found->second.node->present() &&
                              trim(found->second.node->data()) != session_.node.self();
    return !is_elsewhere;
}

// Of a removal the tree decides, not what was seen of it last.
async::awaitable<bool> osd_commands::is_ours(model::osd_command what) const {
    if (what.verb != model::osd_verb::osd_remove || what.id.empty()) {
        co_return true;
    }
    auto stored = co_await session_.zk.get(session_.limit(), *session_.table.path("osd.node", what.id));
    co_return stored ? trim(stored->data) == session_.node.self() : stored.error().code() == errc::not_found;
}

// A connection that comes back in time changes nothing.
async::awaitable<bool> osd_commands::still_stands(const core::pipe_guard& guard) const {
    for (int tries = 0; tries < guard_attempts; ++tries) {
        auto connected = co_await session_.zk.wait_connected(session_.limit(connection_wait));
        if (!connected) {
            co_return false;
        }
        const std::uint64_t connection = session_.zk.state().value().connections;
        const auto proof = co_await guard();
        if (proof && guarded(session_.node.clock().boot_now() < *proof + zookeeper::guard_validity)) {
            co_return true;
        }
        if (!proof && session_.zk.is_connected() && session_.zk.state().value().connections == connection) {
            co_return false;
        }
    }
    co_return false;
}

void osd_commands::tell(const std::vector<policy::osd_note>& notes) const {
    for (const auto& one : notes) {
        if (one.is_warning) {
            session_.node.log.warning(message::osd_step_skipped, one.text, std::string(of_commands));
        } else {
            session_.node.log.info(one.text, std::string(of_commands));
        }
    }
}

async::awaitable<result<void>> osd_commands::perform(model::osd_command what, core::pipe_guard guard) const {
    if (!what.fault.empty()) {
        co_return failure(errc::invalid, {}, what.fault);
    }
    if (what.verb == model::osd_verb::osd_remove && !objects_.osds().contains(what.id)) {
        auto stored = co_await session_.zk.exists(session_.limit(), *session_.table.path("osd.id", what.id));
        if (!stored) {
            co_return failure(errc::not_found, {}, "there is no OSD " + what.id);
        }
    }
    policy::osd_work work(what, session_.node.self());
    policy::osd_answer answer;
    for (;;) {
        auto step = work.resume(answer, session_.node.clock().now());
        tell(step.notes);
        if (const auto* end = std::get_if<ask::end>(&step.ask)) {
            co_return end->is_done ? result<void>() : result<void>(failure(errc::refused, {}, end->reason));
        }
        auto done = co_await carry_out(std::move(step.ask), what, work.id(), guard);
        if (!done) {
            co_return done.error();
        }
        answer = *std::move(done);
    }
}

async::awaitable<result<policy::osd_answer>> osd_commands::carry_out(policy::osd_question ask,
                                                                     const model::osd_command& what, std::string id,
                                                                     const core::pipe_guard& guard) const {
    const auto* program = std::get_if<ask::program>(&ask);
    const auto* keys = std::get_if<ask::write_keys>(&ask);
    const bool is_removal = std::holds_alternative<ask::remove_object>(ask);
    if (keys != nullptr || is_removal || (program != nullptr && program->is_change)) {
        const time_point asked = session_.node.clock().now();
        const bool stands = co_await still_stands(guard);
        if (!stands) {
            co_return failure(errc::stopped, {}, std::string(withdrawn));
        }
        // Somebody may have taken it into use while ZooKeeper was away.
        if (program != nullptr && program->is_erasure &&
            !guarded(session_.node.clock().now() - asked <= policy::osd_look_validity)) {
            co_return failure(errc::stopped, {}, "too long ago that the device was looked at: nothing of it is erased");
        }
    }
    if (program != nullptr) {
        const std::string line = name_of(what) + ": " + shown_command(program->arguments);
        if (program->is_change) {
            session_.node.log.info(line, std::string(of_commands));
        } else {
            session_.node.log.debug(line, std::string(of_commands));
        }
        auto ended = co_await run_program(*program);
        co_return ended;
    }
    if (const auto* pause = std::get_if<ask::pause>(&ask)) {
        co_await async::sleep_for(session_.node.clock(), pause->time, pause->what);
        // Pauses until it is safe take up to a day, and nobody else's command comes in meanwhile.
        const bool stands = co_await still_stands(guard);
        co_return stands ? result<policy::osd_answer>(said::nothing{})
                         : result<policy::osd_answer>(failure(errc::stopped, {}, std::string(withdrawn)));
    }
    if (std::holds_alternative<ask::read_keys>(ask)) {
        auto read = co_await read_osd_keys(session_, id);
        co_return read ? policy::osd_answer(said::stored_keys{{}, std::move(read->stored)})
                       : policy::osd_answer(said::stored_keys{read.error().text(), {}});
    }
    result<void> written;
    if (keys != nullptr) {
        written = co_await write_osd(session_, id, keys->values, guard.add_check);
    } else {
        written = co_await remove_osd(session_, id, guard.add_check);
    }
    co_return policy::osd_answer(said::write_end{written ? std::string() : written.error().text()});
}

async::awaitable<policy::osd_answer> osd_commands::run_program(policy::osd_ask::program what) const {
    said::program_end end;
    auto ended = co_await run_tool(processes_, *session_.node.config, what.arguments, what.limit);
    if (!ended) {
        end.has_started = false;
        end.text = shown_command(what.arguments) + " cannot be started: " + ended.error().text();
        co_return policy::osd_answer(std::move(end));
    }
    if (const auto* exit = std::get_if<async::exited>(&ended->how)) {
        end.status = exit->code;
    }
    end.text = outcome_text(what.arguments, *ended);
    end.complaint = last_complaint(*ended);
    end.output = std::move(ended->output);
    co_return policy::osd_answer(std::move(end));
}

}  // namespace pvc::ceph
