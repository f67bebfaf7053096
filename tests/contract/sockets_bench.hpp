// Benches of the local sockets and TCP ports, real and simulated. What a suite may ask of one: listen(), accept(),
// close_listener(), and connect(), the end of a program that asks. That end never waits: send, receive, is_over,
// end_writing, hang_up.
#pragma once

#include "contract/process_bench.hpp"
#include "pvcnoded/services/adapter/linux_tcp.hpp"
#include "pvcnoded/services/adapter/unix_sockets.hpp"
#include "sim/sim_sockets.hpp"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

namespace pvc::contract {

using any_connection = std::unique_ptr<services::stream_connection>;

class real_client {
public:
    real_client(const sockaddr* where, socklen_t size)
        : socket_(::socket(where->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0)),
          is_connected_(::connect(socket_, where, size) == 0) {
        // Connected to at once, as somebody listens on this host; from here on it never blocks.
        ::fcntl(socket_, F_SETFL, O_NONBLOCK);
    }
    real_client(const real_client&) = delete;
    real_client& operator=(const real_client&) = delete;
    ~real_client() { hang_up(); }

    [[nodiscard]] bool is_connected() const { return is_connected_; }
    std::size_t send(std::string_view text) const {
        const ssize_t size = ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
        return size < 0 ? 0 : static_cast<std::size_t>(size);
    }
    std::string receive(std::size_t most = 1UL << 20U) {
        std::string room(most, '\0');
        const ssize_t size = ::recv(socket_, room.data(), room.size(), 0);
        is_over_ = is_over_ || size == 0 || (size < 0 && errno != EAGAIN);
        room.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
        return room;
    }
    [[nodiscard]] bool is_over() const { return is_over_; }
    void end_writing() const { ::shutdown(socket_, SHUT_WR); }
    void hang_up() {
        if (socket_ >= 0) {
            ::close(std::exchange(socket_, -1));
        }
    }

private:
    int socket_;
    bool is_connected_;
    bool is_over_ = false;
};

class real_local : public real_world {
public:
    using client = real_client;
    using listener = services::local_listener;

    awaitable<result<void>> listen() {
        auto made = co_await sockets_.listen(path(), "", clock().now() + 10s);
        if (!made) {
            co_return made.error();
        }
        listener_ = *std::move(made);
        co_return result<void>();
    }
    services::local_sockets& sockets() { return sockets_; }
    listener& here() { return *listener_; }
    void close_listener() { listener_.reset(); }
    [[nodiscard]] std::unique_ptr<client> connect() const { return connect_to(path()); }
    [[nodiscard]] static std::unique_ptr<client> connect_to(const std::string& where) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        where.copy(address.sun_path, sizeof address.sun_path - 1);
        auto made = std::make_unique<client>(reinterpret_cast<const sockaddr*>(&address), sizeof address);
        return made->is_connected() ? std::move(made) : nullptr;
    }
    [[nodiscard]] std::string path() const { return folder_ / "asked.sock"; }
    [[nodiscard]] static bool exists(const std::string& path) { return std::filesystem::exists(path); }
    void put_other_file() const { folder_.write("asked.sock", "no socket"); }
    void remove_file() const { std::filesystem::remove(path()); }
    // Who asks in this bench, as the port must tell.
    [[nodiscard]] static std::uint32_t user() { return ::geteuid(); }
    [[nodiscard]] static std::uint32_t group() { return ::getegid(); }
    [[nodiscard]] static int process() { return ::getpid(); }

private:
    scratch_folder folder_;
    async::thread_offload pool_{loop().context()};
    services::unix_sockets sockets_{loop().context(), pool_, clock()};
    std::unique_ptr<listener> listener_;
};

class sim_local : public sim_world {
public:
    using client = sim::sim_client;
    using listener = services::local_listener;

    awaitable<result<void>> listen() {
        auto made = co_await sockets_.listen(path(), "", clock().now() + 10s);
        if (!made) {
            co_return made.error();
        }
        listener_ = *std::move(made);
        co_return result<void>();
    }
    services::local_sockets& sockets() { return sockets_; }
    listener& here() { return *listener_; }
    void close_listener() { listener_.reset(); }
    [[nodiscard]] std::unique_ptr<client> connect() { return connect_to(path()); }
    [[nodiscard]] std::unique_ptr<client> connect_to(const std::string& where) {
        return sockets_.connect(where, {user(), {group()}, process()});
    }
    [[nodiscard]] static std::string path() { return "/run/pvc/asked.sock"; }
    [[nodiscard]] bool exists(const std::string& path) const { return sockets_.exists(path); }
    void put_other_file() { sockets_.put_other_file(path()); }
    void remove_file() { sockets_.remove(path()); }
    [[nodiscard]] static std::uint32_t user() { return 1000; }
    [[nodiscard]] static std::uint32_t group() { return 1001; }
    [[nodiscard]] static int process() { return 4711; }

private:
    sim::sim_local_sockets sockets_{clock()};
    std::unique_ptr<listener> listener_;
};

// What the benches of TCP share; `Sockets` are those of `World`.
template <class World, class Sockets>
class tcp_bench : public World {
public:
    using listener = services::tcp_listener;

    awaitable<result<void>> listen() {
        auto made = sockets_.listen(loopback(), 0);
        if (!made) {
            co_return made.error();
        }
        listener_ = *std::move(made);
        co_return result<void>();
    }
    services::tcp_sockets& sockets() { return sockets_; }
    listener& here() { return *listener_; }
    void close_listener() {
        port_ = listener_->port();
        listener_.reset();
    }
    [[nodiscard]] static ip::address loopback() { return ip::address_v4::loopback(); }

protected:
    [[nodiscard]] std::uint16_t port() const { return listener_ ? listener_->port() : port_; }

    Sockets sockets_ = make();

private:
    Sockets make() {
        if constexpr (requires(World& world) { Sockets(world.loop().context(), world.clock()); }) {
            return Sockets(this->loop().context(), this->clock());
        } else {
            return Sockets(this->clock());
        }
    }

    std::unique_ptr<listener> listener_;
    std::uint16_t port_ = 0;
};

class real_tcp : public tcp_bench<real_world, services::linux_tcp> {
public:
    using client = real_client;

    [[nodiscard]] std::unique_ptr<client> connect() const { return connect_to(port()); }
    [[nodiscard]] static std::unique_ptr<client> connect_to(std::uint16_t port) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        auto made = std::make_unique<client>(reinterpret_cast<const sockaddr*>(&address), sizeof address);
        return made->is_connected() ? std::move(made) : nullptr;
    }
};

class sim_tcp : public tcp_bench<sim_world, sim::sim_tcp_sockets> {
public:
    using client = sim::sim_client;

    [[nodiscard]] std::unique_ptr<client> connect() { return connect_to(port()); }
    [[nodiscard]] std::unique_ptr<client> connect_to(std::uint16_t port) { return sockets_.connect(loopback(), port); }
};

template <class Bench>
class sockets_suite : public testing::Test {
protected:
    using client = typename Bench::client;

    awaitable<void> listening() {
        const auto made = co_await bench.listen();
        EXPECT_TRUE(made) << (made ? "" : made.error().text());
    }
    // The daemon's end of the next connection.
    awaitable<any_connection> accepted() {
        auto next = co_await bench.here().accept();
        EXPECT_TRUE(next) << (next ? "" : next.error().text());
        co_return next ? any_connection(*std::move(next)) : nullptr;
    }
    struct pair {
        std::unique_ptr<client> there;
        any_connection here;
    };
    // Both ends of a new connection.
    awaitable<pair> connected() {
        pair both;
        both.there = bench.connect();
        EXPECT_NE(both.there, nullptr);
        both.here = co_await accepted();
        co_return both;
    }
    // What a test does with both ends of one.
    template <class Test>
    void on_connection(Test test) {
        bench.run([this, &test]() -> awaitable<void> {
            co_await listening();
            auto one = co_await connected();
            co_await test(one);
        });
    }
    [[nodiscard]] time_point soon(duration time = 10s) { return bench.clock().now() + time; }

    // Exactly so many bytes, in as many reads as it takes; less, if it ends or fails before.
    awaitable<std::string> read_bytes(services::stream_connection& from, std::size_t count) {
        std::string got;
        std::array<char, 4096> room{};
        while (got.size() < count) {
            const auto size =
                co_await from.read(std::span(room).first(std::min(room.size(), count - got.size())), soon());
            if (!size || *size == 0) {
                break;
            }
            got.append(room.data(), *size);
        }
        co_return got;
    }
    // What the program gets, until so much of it is there or nothing more will come.
    awaitable<std::string> receive_bytes(client& from, std::size_t count, duration limit = 10s) {
        std::string got;
        const time_point until = soon(limit);
        while (got.size() < count && bench.clock().now() < until) {
            const std::string more = from.receive(std::min<std::size_t>(count - got.size(), 1UL << 20U));
            if (more.empty()) {
                if (from.is_over()) {
                    break;
                }
                co_await async::sleep_for(bench.clock(), 1ms, "bytes");
            }
            got += more;
        }
        co_return got;
    }
    awaitable<bool> comes_to_an_end(client& of) {
        const std::string rest = co_await receive_bytes(of, std::string::npos);
        co_return of.is_over();
    }

    Bench bench;
};

}  // namespace pvc::contract
