// The server of the local socket: takes requests from whoever may ask, and hands each to a function that answers at
// once, from memory. It lives as long as the daemon, above attempts and sessions. Whatever comes over a connection
// costs that connection and nothing else (docs/control.md has the limits). Loop thread only.
#pragma once

#include "pvcnoded/async/task_group.hpp"
#include "pvcnoded/base/log_record.hpp"
#include "pvcnoded/protocol/messages.hpp"
#include "pvcnoded/services/local_sockets.hpp"

#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace pvc::control {

struct server_limits {
    std::size_t connections = 32;
    duration idle = std::chrono::seconds(30);  // without a whole request
    duration write = std::chrono::seconds(5);  // for an answer; the deadline of the request, if that is sooner
    duration make = std::chrono::seconds(10);  // the socket; and then again after
    duration pause = std::chrono::seconds(30);
    duration remake = std::chrono::seconds(1);          // before a socket that somebody removed is made again
    duration follow = std::chrono::minutes(10);         // for reading one answer of a request that goes on
    duration collect = std::chrono::milliseconds(100);  // between two of them: what comes meanwhile goes together
};

// Root, the user of the daemon, and who is in the group, if there is one.
[[nodiscard]] bool may_ask(const services::socket_peer& who, std::uint32_t own_user,
                           std::optional<std::uint32_t> group);

// Root and the user of the daemon: they may also change what is logged, and cancel tasks. Members of the group may only
// look.
[[nodiscard]] bool may_change(const services::socket_peer& who, std::uint32_t own_user);

// Who asks.
struct asker {
    std::uint32_t user = 0;
    int pid = 0;
    bool may_change = false;
};

// What goes on after the first answer. It belongs to its connection and ends with it.
class feed {
public:
    feed() = default;
    feed(const feed&) = delete;
    feed& operator=(const feed&) = delete;
    virtual ~feed() = default;
    // Suspends until there is more to tell. Cancelling it loses nothing but what it would have told.
    virtual async::awaitable<boost::json::object> next() = 0;
};

// An answer that has to be waited for: it comes by `until`, and says so if it then is not whole. What it needs it finds
// when it begins, and holds nothing that ends with an attempt or a session. Cancelled with its connection.
using late_answer = std::function<async::awaitable<protocol::answer>(time_point until)>;

struct reply {
    reply(protocol::answer only) : said(std::move(only)) {}
    explicit reply(late_answer to_come) : later(std::move(to_come)) {}
    reply(protocol::answer first, std::unique_ptr<feed> rest) : said(std::move(first)), more(std::move(rest)) {}

    protocol::answer said;
    std::unique_ptr<feed> more;  // null: that was all
    late_answer later;           // not empty: the answer, in place of `said`
};

class server {
public:
    // Does not wait; what must is a `late_answer`.
    using answerer = std::function<reply(const protocol::request&, const asker&)>;

    // All references must outlive it.
    server(services::local_sockets& sockets, async::timers& clock, logger& log, answerer answer,
           server_limits limits = {})
        : sockets_(sockets), clock_(clock), log_(log), answer_(std::move(answer)), limits_(limits) {}
    server(const server&) = delete;
    server& operator=(const server&) = delete;

    // Until cancelled; then the socket and its file are gone. A socket that cannot be made is tried again, and one
    // whose file somebody removed is made again; who is connected stays.
    async::awaitable<void> run(std::string path, std::string group);

private:
    using connection = std::shared_ptr<services::local_connection>;
    async::awaitable<void> accept_until_lost(services::local_listener& from, async::task_group& scope);
    async::awaitable<void> accept_all(services::local_listener& from, async::task_group& scope);
    bool admit(const services::local_listener& from, services::local_connection& who, std::size_t others) const;
    async::awaitable<void> serve(connection with, asker who);
    reply answered(const protocol::request& asked, const asker& who);
    async::awaitable<protocol::answer> wait_for(late_answer to_come, std::string name, duration limit);
    async::awaitable<std::optional<protocol::answer>> wait_beside(connection with, late_answer to_come,
                                                                  const protocol::request& asked, std::string& early);
    async::awaitable<void> read_early(connection with, std::string& early, async::task_group& scope);
    async::awaitable<bool> answer_line(connection with, asker who, std::string_view line, std::string& early);
    async::awaitable<bool> send(connection with, protocol::answer what, duration limit);
    async::awaitable<void> go_on(connection with, std::int64_t id, feed& from);
    async::awaitable<void> wait_hung_up(connection with, async::task_group& scope);

    services::local_sockets& sockets_;
    async::timers& clock_;
    logger& log_;
    answerer answer_;
    server_limits limits_;
};

}  // namespace pvc::control
