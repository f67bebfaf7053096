// The HTTP server of metrics and health: GET and HEAD of a few pages, each made at once, from memory, by whoever is
// asked for it. Whatever comes over a connection costs that connection and nothing else (docs/metrics.md has the
// limits). It lives as long as the daemon, above attempts and sessions. Loop thread only.
#pragma once

#include "pvcnoded/async/task_group.hpp"
#include "pvcnoded/base/log_record.hpp"
#include "pvcnoded/control/http.hpp"
#include "pvcnoded/services/tcp_sockets.hpp"

#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>

namespace pvc::control {

struct web_limits {
    // With one more the slowest gives way: it waits for a request for the longest time, or for a reader of its answer.
    std::size_t connections = 16;
    std::size_t of_one_address = 2;
    duration request = std::chrono::seconds(5);  // from its first byte to the end of its head
    duration idle = std::chrono::seconds(30);    // between two requests; before the first one as `request`
    duration write = std::chrono::seconds(5);    // for reading an answer
    duration pause = std::chrono::seconds(30);   // before another attempt to listen
};

class web_server {
public:
    // The page at a path, without waiting.
    using answerer = std::function<http_answer(std::string_view path)>;

    // All references must outlive it.
    web_server(services::tcp_sockets& sockets, async::timers& clock, logger& log, answerer answer,
               web_limits limits = {})
        : sockets_(sockets), clock_(clock), log_(log), answer_(std::move(answer)), limits_(limits) {}
    web_server(const web_server&) = delete;
    web_server& operator=(const web_server&) = delete;

    // Until cancelled; then the port is free. One that is not to be had is said once and tried again.
    async::awaitable<void> run(ip::address where, std::uint16_t port);
    // Where it listens; 0: it does not at present.
    [[nodiscard]] std::uint16_t port() const { return port_; }

private:
    using connection = std::shared_ptr<services::tcp_connection>;
    struct reader {
        ip::address from;
        time_point since{};                  // of its last answer, or when it came
        bool is_answered = false;            // an answer is being written
        async::task_group* scope = nullptr;  // as soon as it is served
        bool gives_way = false;
    };
    async::awaitable<void> accept_all(services::tcp_listener& from, async::task_group& scope);
    void make_room(const ip::address& from);
    async::awaitable<void> serve(connection with, std::list<reader>::iterator place);
    async::awaitable<void> answer_all(connection with, reader& place);
    // The head of the next request, taken from `pending`; empty: the connection ends.
    async::awaitable<std::string> next_head(connection with, std::string& pending, bool is_first);
    async::awaitable<void> refuse(connection with, int status, std::string_view why);
    // False: the connection ends.
    http_answer answered(std::string_view path);
    async::awaitable<bool> answer(connection with, std::string_view head);

    services::tcp_sockets& sockets_;
    async::timers& clock_;
    logger& log_;
    answerer answer_;
    web_limits limits_;
    std::list<reader> readers_;
    std::uint16_t port_ = 0;
};

}  // namespace pvc::control
