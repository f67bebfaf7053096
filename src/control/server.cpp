#include "pvcnoded/control/server.hpp"

#include "pvcnoded/base/text.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <utility>

namespace pvc::control {

using namespace std::chrono_literals;
using protocol::problem;

namespace {

constexpr duration accept_pause = 1s;  // no descriptors left: others have to end first
constexpr std::size_t read_bytes = 4096;

protocol::answer refuse(std::optional<std::int64_t> id, problem what, std::string text) {
    protocol::answer said;
    said.id = id;
    said.error.emplace(protocol::refusal{what, std::move(text)});
    return said;
}

protocol::answer defective() {
    return refuse({}, problem::defect, "the daemon could not make this answer; its log says why");
}

problem problem_of(const failure& why) {
    switch (why.code()) {
        case errc::unavailable: return problem::other_version;
        case errc::too_large: return problem::too_large;
        default: return problem::bad_request;
    }
}

}  // namespace

bool may_ask(const services::socket_peer& who, std::uint32_t own_user, std::optional<std::uint32_t> group) {
    return may_change(who, own_user) || (group && std::ranges::find(who.groups, *group) != who.groups.end());
}

bool may_change(const services::socket_peer& who, std::uint32_t own_user) {
    return who.user == 0 || who.user == own_user;
}

async::awaitable<void> server::run(std::string path, std::string group) {
    co_await async::with_task_group("connections", [&](async::task_group& scope) -> async::awaitable<void> {
        bool is_told = false;
        for (;;) {
            auto listening = co_await sockets_.listen(path, group, clock_.now() + limits_.make);
            duration rest = limits_.pause;
            if (listening) {
                if (std::exchange(is_told, false)) {
                    log_.info("the local socket is there now: " + path);
                }
                const std::unique_ptr<services::local_listener> from = *std::move(listening);
                if (!group.empty() && !from->group()) {
                    log_.warning(message::control_group,
                                 "there is no group \"" + group + "\": only root may ask over " + path);
                }
                co_await accept_until_lost(*from, scope);
                log_.warning(message::control_socket, "somebody removed " + path + ", making it again");
                rest = limits_.remake;
            } else if (!std::exchange(is_told, true)) {
                const failure why = listening.error();
                log_.warning(message::control_socket,
                             "no local socket: " + why.text() + ", going on without it; tried again each half minute");
            }
            co_await async::sleep_for(clock_, rest, "another attempt to make the socket");
        }
    });
}

async::awaitable<void> server::accept_until_lost(services::local_listener& from, async::task_group& scope) {
    co_await async::with_task_group("listening", [&](async::task_group& here) -> async::awaitable<void> {
        here.spawn("socket file", [&]() -> async::awaitable<void> {
            co_await from.lost();
            here.cancel();
        });
        co_await accept_all(from, scope);
    });
}

async::awaitable<void> server::accept_all(services::local_listener& from, async::task_group& scope) {
    for (;;) {
        auto accepted = co_await from.accept();
        if (!accepted) {
            co_await async::sleep_for(clock_, accept_pause, "free descriptors");
            continue;
        }
        const connection with = *std::move(accepted);
        const std::size_t others = scope.size() - 1;  // this loop is a child too
        if (admit(from, *with, others)) {
            const services::socket_peer& peer = with->peer();
            const asker who{peer.user, peer.pid, may_change(peer, from.own_user())};
            scope.spawn("process " + std::to_string(who.pid), [this, with, who] { return serve(with, who); });
        }
        co_await async::yield();  // whoever connects without end does not keep the others from their turn
    }
}

bool server::admit(const services::local_listener& from, services::local_connection& who, std::size_t others) const {
    if (!may_ask(who.peer(), from.own_user(), from.group())) {
        who.write_now(protocol::encode(refuse({}, problem::refused,
                                              "this user may not ask; root may, and the members of "
                                              "configuration.control.group")));
        return false;
    }
    if (others >= limits_.connections) {
        who.write_now(
            protocol::encode(refuse({}, problem::busy, std::to_string(others) + " are connected already; try again")));
        return false;
    }
    return true;
}

async::awaitable<void> server::serve(connection with, asker who) {
    std::string pending;
    std::array<char, read_bytes> room{};
    time_point until = clock_.now() + limits_.idle;
    for (;;) {
        const auto size = co_await with->read(room, until);
        if (!size || *size == 0) {
            const bool is_late = !size && size.error().code() == errc::timed_out;
            if (is_late) {
                with->write_now(protocol::encode(refuse({}, problem::too_late, "nothing was asked for too long")));
            }
            co_return;
        }
        pending.append(room.data(), *size);
        std::size_t begin = 0;
        for (auto end = pending.find('\n'); end != std::string::npos; end = pending.find('\n', begin)) {
            std::string early;
            const bool goes_on =
                co_await answer_line(with, who, std::string_view(pending).substr(begin, end - begin), early);
            if (!goes_on) {
                co_return;
            }
            pending += early;
            begin = end + 1;
            until = clock_.now() + limits_.idle;
            co_await async::yield();  // many requests at once: everybody else first
        }
        pending.erase(0, begin);
        if (pending.size() > protocol::request_bytes_max) {
            with->write_now(protocol::encode(refuse({}, problem::too_large, "the line is too long")));
            co_return;
        }
    }
}

// Whoever asks must not end the daemon by a mistake in what tells of it.
reply server::answered(const protocol::request& asked, const asker& who) {
    try {
        return answer_(asked, who);
    } catch (const std::exception& why) {
        log_.error(message::control_socket, "no answer to \"" + shown(asked.name) + "\": " + why.what());
        return defective();
    }
}

// It comes a little before whoever asks gives up.
async::awaitable<protocol::answer> server::wait_for(late_answer to_come, std::string name, duration limit) {
    try {
        co_return co_await to_come(clock_.now() + limit * 9 / 10);
    } catch (const std::exception& why) {
        if (async::is_cancellation(std::current_exception())) {
            throw;
        }
        log_.error(message::control_socket, "no answer to \"" + shown(name) + "\": " + why.what());
    }
    co_return defective();
}

// What is sent meanwhile is kept for later, as much as a request may have. Whoever hangs up waits no longer.
async::awaitable<void> server::read_early(connection with, std::string& early, async::task_group& scope) {
    std::array<char, read_bytes> room{};
    while (early.size() <= protocol::request_bytes_max) {
        const auto size = co_await with->read(room, clock_.now() + limits_.idle);
        const bool is_quiet = !size && size.error().code() == errc::timed_out;
        if (!is_quiet && (!size || *size == 0)) {
            scope.cancel();
            co_return;
        }
        early.append(room.data(), size ? *size : 0);
    }
}

// Empty: nobody is there any more.
async::awaitable<std::optional<protocol::answer>> server::wait_beside(connection with, late_answer to_come,
                                                                      const protocol::request& asked,
                                                                      std::string& early) {
    std::optional<protocol::answer> got;
    co_await async::with_task_group("late answer", [&](async::task_group& scope) -> async::awaitable<void> {
        scope.spawn("end of the connection", [&] { return read_early(with, early, scope); });
        got = co_await wait_for(std::move(to_come), asked.name, asked.deadline);
        scope.cancel();
    });
    co_return got;
}

// False: the connection ends.
async::awaitable<bool> server::answer_line(connection with, asker who, std::string_view line, std::string& early) {
    const auto asked = protocol::parse_request(line);
    if (!asked) {
        with->write_now(protocol::encode(refuse({}, problem_of(asked.error()), asked.error().cause())));
        co_return false;
    }
    reply got = answered(*asked, who);
    if (got.later) {
        auto said = co_await wait_beside(with, std::move(got.later), *asked, early);
        if (!said) {
            co_return false;
        }
        got.said = *std::move(said);
    }
    got.said.id = asked->id;
    got.said.more = got.more != nullptr;
    const bool is_sent = co_await send(with, std::move(got.said), std::min<duration>(limits_.write, asked->deadline));
    if (is_sent && got.more) {
        co_await go_on(with, asked->id, *got.more);
        co_return false;
    }
    co_return is_sent;
}

// Until the other side hangs up, says anything, or does not read for too long.
async::awaitable<void> server::go_on(connection with, std::int64_t id, feed& from) {
    co_await async::with_task_group("answers", [&](async::task_group& scope) -> async::awaitable<void> {
        scope.spawn("end of the connection", [&] { return wait_hung_up(with, scope); });
        bool is_read = true;
        while (is_read) {
            protocol::answer said;
            said.id = id;
            said.more = true;
            said.result = co_await from.next();
            is_read = co_await send(with, std::move(said), limits_.follow);
            co_await async::sleep_for(clock_, limits_.collect, "what is told next");
        }
        scope.cancel();
    });
}

async::awaitable<void> server::wait_hung_up(connection with, async::task_group& scope) {
    char unread = 0;
    for (;;) {
        const auto size = co_await with->read({&unread, 1}, clock_.now() + limits_.idle);
        if (size || size.error().code() != errc::timed_out) {
            scope.cancel();
            co_return;
        }
    }
}

async::awaitable<bool> server::send(connection with, protocol::answer what, duration limit) {
    std::string line = protocol::encode(what);
    if (line.size() > protocol::answer_bytes_max) {
        line = protocol::encode(refuse(what.id, problem::too_large, "the answer is too long; ask for less"));
    }
    const auto sent = co_await with->write(line, clock_.now() + limit);
    co_return sent.has_value();
}

}  // namespace pvc::control
