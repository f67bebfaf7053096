#include "pvcnoded/core/command_pipe.hpp"

#include "pvcnoded/model/domain_command.hpp"

namespace pvc::core {

using namespace std::chrono_literals;

namespace {

constexpr duration lock_limit = 5s;
constexpr duration answer_limit = 10s;  // a session that is away for longer is lost
constexpr duration answer_pause = 100ms;
constexpr duration hold = 1s;  // behind the answer
constexpr std::string_view of_commands = "commands";

}  // namespace

// False: it could not be read on this connection.
async::awaitable<bool> command_pipe::note_what_is_old() {
    const std::uint64_t connection = session_.zk.state().value().connections;
    auto stored = co_await session_.zk.exists(session_.limit(), path_);
    if (!stored && stored.error().code() != errc::not_found) {
        co_return false;
    }
    if (stored) {
        seen_ = std::max(seen_, stored->stat.mzxid);
    }
    connection_ = connection;
    co_return true;
}

// Also while a command is carried out, which may take a day: what is written after the connection came back is new.
async::awaitable<void> command_pipe::note_connections() {
    async::wakeup changed;
    const async::latest<zookeeper::session_state>::observer follow(session_.zk.state(), changed);
    for (;;) {
        if (is_noted()) {
            changed_.notify();
            co_await changed.wait(async::wait_note::work("connections to ZooKeeper"));
            continue;
        }
        if (!session_.zk.is_connected()) {
            co_await changed.wait(async::wait_note::work("connections to ZooKeeper"));
            continue;
        }
        const bool is_done = co_await note_what_is_old();
        if (!is_done) {
            co_await async::sleep_for(session_.node.clock(), answer_pause, "another look at a command pipe");
        }
    }
}

bool command_pipe::is_noted() const {
    return session_.zk.is_connected() && session_.zk.state().value().connections == connection_;
}

async::awaitable<void> command_pipe::take_up() {
    const auto key = session_.watches.add(path_, zookeeper::watch_kind::data, changed_);
    for (;;) {
        if (is_noted() && key->present() && key->stat().mzxid > seen_) {
            seen_ = key->stat().mzxid;
            auto command = read_(key->data());
            if (command) {
                co_await serve({key->data(), key->stat().mzxid, key->stat().version}, *std::move(command));
                continue;
            }
        }
        co_await changed_.wait(async::wait_note::work("commands of clients"));
    }
}

async::awaitable<void> command_pipe::run() {
    co_await async::with_task_group("command pipe", [this](async::task_group& group) {
        group.spawn("connections", [this] { return note_connections(); });
        return take_up();
    });
}

async::awaitable<void> command_pipe::serve(request what, pipe_command command) {
    zookeeper::lock_request lock;
    lock.path = path_;
    lock.kind = model::lock_kind::write;
    lock.deadline = session_.limit(lock_limit);
    lock.task = "command";
    lock.reason = command.name;
    auto served = co_await session_.locks.with_lock(
        std::move(lock), [&](zookeeper::held_lock& held) { return carry_out(what, command, held); });
    if (!served) {
        session_.node.log.warning(message::command_unanswered,
                                  "`" + command.name + "` was not answered: " + served.error().text(),
                                  std::string(of_commands));
    }
}

async::awaitable<result<void>> command_pipe::carry_out(const request& what, const pipe_command& command,
                                                       zookeeper::held_lock& lock) {
    const auto stands = [this, &what]() -> async::awaitable<bool> {
        auto stored = co_await session_.zk.exists(session_.limit(), path_);
        co_return stored && stored->stat.mzxid == what.changed;
    };
    const bool is_there = co_await stands();
    if (!is_there) {
        co_return result<void>();  // answered by another node, or taken back
    }
    if (command.is_ours) {
        const bool is_ours = co_await command.is_ours();
        if (!is_ours) {
            co_return result<void>();
        }
    }
    pipe_guard guard;
    guard.look = [&]() -> async::awaitable<std::optional<boot_time>> {
        const boot_time sent = session_.node.clock().boot_now();
        auto held = co_await lock.verify(session_.limit());
        const bool counts = held && co_await stands();
        co_return counts ? std::optional(sent) : std::nullopt;
    };
    guard.add_check = [&](zookeeper::transaction& write) {
        write.check(path_, what.version);
        lock.add_check(write);
    };
    const time_point deadline = command.limit ? session_.limit(*command.limit) : time_point::max();
    auto done = co_await command.perform(guard, deadline);
    if (done) {
        session_.node.log.info("`" + command.name + "`: done", std::string(of_commands));
    } else {
        session_.node.log.warning(message::command_failed, "`" + command.name + "` failed: " + done.error().text(),
                                  std::string(of_commands));
    }
    auto text = model::command_answer(done.has_value(), what.text);
    auto answered = co_await answer(what, std::move(text), lock);
    if (!answered) {
        co_return answered.error();
    }
    co_await async::sleep_for(session_.node.clock(), hold, "the client to see the answer");
    co_return result<void>();
}

async::awaitable<result<void>> command_pipe::answer(const request& what, std::string text, zookeeper::held_lock& lock) {
    const time_point until = session_.limit(answer_limit);
    for (;;) {
        zookeeper::transaction write;
        write.set(path_, text, what.version);
        lock.add_check(write);
        auto written = co_await session_.zk.commit(session_.limit(), std::move(write));
        if (written) {
            co_return result<void>();
        }
        const errc code = written.error().code();
        if (code == errc::version_conflict) {
            // Ours, whose acknowledgement was lost, or somebody's next command.
            auto stored = co_await session_.zk.get(session_.limit(), path_);
            co_return stored && stored->data == text ? result<void>() : result<void>(written.error());
        }
        const bool may_go_again = code == errc::outcome_unknown || code == errc::suspended || code == errc::timed_out;
        if (!may_go_again || session_.node.clock().now() >= until) {
            co_return written.error();
        }
        auto connected = co_await session_.zk.wait_connected(until);
        if (!connected) {
            co_return connected.error();
        }
        co_await async::sleep_for(session_.node.clock(), answer_pause, "another attempt to answer");
    }
}

}  // namespace pvc::core
