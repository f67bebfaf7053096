// A stream socket of any kind, watched by the loop: what local and TCP connections share.
#pragma once

#include "pvcnoded/async/timers.hpp"
#include "pvcnoded/services/stream_connection.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/basic_stream_descriptor.hpp>

#include <memory>
#include <utility>

namespace pvc::services {

[[nodiscard]] failure socket_failure(std::string_view what, int code);

// A descriptor, and who waits for it. What is asked of Asio is not taken back when the waiter goes: it is told of at
// the next wait, or when the descriptor is closed.
class watched_descriptor {
public:
    // `number` is closed with it, also where it cannot be watched (no memory for that, no watches left).
    watched_descriptor(boost::asio::io_context& context, int number);

    [[nodiscard]] bool is_watched() const { return descriptor_.is_open(); }
    [[nodiscard]] int number() { return descriptor_.native_handle(); }
    async::wakeup& until_readable() { return ask(descriptor::wait_read, readable_); }
    async::wakeup& until_writable() { return ask(descriptor::wait_write, writable_); }

private:
    using descriptor = boost::asio::posix::basic_stream_descriptor<boost::asio::io_context::executor_type>;
    struct side {
        async::wakeup ready;
        bool is_asked = false;
    };
    async::wakeup& ask(descriptor::wait_type which, const std::shared_ptr<side>& of);

    // Outlive this: the handlers come when the descriptor is gone.
    std::shared_ptr<side> readable_ = std::make_shared<side>();
    std::shared_ptr<side> writable_ = std::make_shared<side>();
    descriptor descriptor_;
};

// The next connection of a listening socket, closed by whoever takes it. `what` names the socket in failures, and has
// static lifetime; here and below.
async::awaitable<result<int>> accept_on(watched_descriptor& listening, std::string_view what);

// Reads and writes, with the contract of stream_connection.
class stream_socket {
public:
    stream_socket(boost::asio::io_context& context, async::timers& clock, int number, std::string_view what)
        : clock_(clock), socket_(context, number), what_(what) {}

    [[nodiscard]] bool is_watched() const { return socket_.is_watched(); }
    async::awaitable<result<std::size_t>> read(std::span<char> into, time_point deadline);
    async::awaitable<result<void>> write(std::string_view text, time_point deadline);
    void write_now(std::string_view text);
    void end_writing();

private:
    async::timers& clock_;
    watched_descriptor socket_;
    std::string_view what_;
};

// A connection of any kind: the reads and writes of `Interface`, a stream_connection, over a socket.
template <class Interface>
class socket_connection : public Interface {
public:
    socket_connection(boost::asio::io_context& context, async::timers& clock, int number, std::string_view what)
        : socket_(context, clock, number, what) {}

    [[nodiscard]] bool is_watched() const { return socket_.is_watched(); }
    async::awaitable<result<std::size_t>> read(std::span<char> into, time_point deadline) override {
        return socket_.read(into, deadline);
    }
    async::awaitable<result<void>> write(std::string_view text, time_point deadline) override {
        return socket_.write(text, deadline);
    }
    void write_now(std::string_view text) override { socket_.write_now(text); }
    void end_writing() override { socket_.end_writing(); }

private:
    stream_socket socket_;
};

}  // namespace pvc::services
