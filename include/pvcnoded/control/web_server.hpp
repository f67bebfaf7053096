// The HTTP server of metrics and health: GET and HEAD of a few pages, each made at once, from memory, by whoever is
// asked for it. Whatever comes over a connection costs that connection and nothing else (docs/metrics.md has the
// limits). It lives as long as the daemon, above attempts and sessions. Loop thread only.
#pragma once

#include "pvcnoded/async/task_group.hpp"
#include "pvcnoded/base/log_record.hpp"
#include "pvcnoded/control/http.hpp"
#include "pvcnoded/services/tcp_sockets.hpp"

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace pvc::control {

struct web_limits {
    std::size_t connections = 16;
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
    using connection = std::shared_ptr<services::stream_connection>;
    async::awaitable<void> accept_all(services::tcp_listener& from, async::task_group& scope);
    async::awaitable<void> serve(connection with);
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
    std::uint16_t port_ = 0;
};

}  // namespace pvc::control
