// The HTTP server on real sockets of the loopback: whatever comes over a connection costs that connection and nothing
// else.
#include "pvcnoded/control/web_server.hpp"

#include "contract/turn_loop.hpp"

#include "pvcnoded/services/adapter/linux_tcp.hpp"
#include "socket_client.hpp"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <list>

namespace pvc::control {
namespace {

using namespace std::chrono_literals;
using async::awaitable;

class web_log final : public logger {
public:
    void write(log_level level, std::string text, std::string /*prefix*/) override {
        if (level == log_level::warning) {
            warnings.push_back(text);
        }
    }
    std::vector<std::string> warnings;
};

class web_client : public socket_client {
public:
    // `host`: the last number of its own address, 127.0.0.
    web_client(async::timers& clock, std::uint16_t port, int receive_bytes = 0, std::uint32_t host = 1)
        : socket_client(clock, AF_INET) {
        sockaddr_in own{};
        own.sin_family = AF_INET;
        own.sin_addr.s_addr = htonl(0x7f000000U + host);
        EXPECT_EQ(::bind(socket(), reinterpret_cast<const sockaddr*>(&own), sizeof own), 0);
        if (receive_bytes > 0) {
            ::setsockopt(socket(), SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof receive_bytes);
        }
        sockaddr_in to{};
        to.sin_family = AF_INET;
        to.sin_port = htons(port);
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        EXPECT_TRUE(::connect(socket(), reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0 ||
                    errno == EINPROGRESS);
    }
    // What came when it ends with `end`, or when the other side has closed: then with "(closed)" behind it.
    awaitable<std::string> read_to(std::string_view end, duration limit = 5s) {
        const time_point until = clock_.now() + limit;
        for (;;) {
            if (!end.empty() && got_.ends_with(end)) {
                co_return std::exchange(got_, {});
            }
            switch (co_await receive(until)) {
                case came::bytes: break;
                case came::closed: co_return std::exchange(got_, {}) + "(closed)";
                case came::broken: co_return std::exchange(got_, {}) + "(broken)";
                case came::late: co_return std::exchange(got_, {}) + "(late)";
            }
        }
    }
};

class control_web : public testing::Test {
protected:
    http_answer page(std::string_view path) {
        ++asked_;
        if (path == "/long") {
            return {200, "text/plain", std::string(16UL << 20U, 'x')};
        }
        return path == "/page" ? http_answer{200, "text/plain", "it is me\n"} : http_answer{404, "text/plain", "no\n"};
    }
    void with_server(std::function<awaitable<void>()> body, web_limits limits = {}, std::uint16_t port = 0) {
        web_server here(tcp_, loop_.clock(), log_, [this](std::string_view path) { return page(path); }, limits);
        server_ = &here;
        loop_.run("test", [&]() -> awaitable<void> {
            co_await async::with_task_group("all", [&](async::task_group& group) -> awaitable<void> {
                group.spawn("server", [&] { return here.run(ip::make_address("127.0.0.1"), port); });
                for (int i = 0; i < 100 && here.port() == 0 && port == 0; ++i) {
                    co_await async::yield();
                }
                co_await body();
                group.cancel();
            });
        });
        EXPECT_EQ(here.port(), 0);
    }
    web_client& connected(int receive_bytes = 0, std::uint32_t host = 1) {
        return clients_.emplace_back(loop_.clock(), server_->port(), receive_bytes, host);
    }
    awaitable<void> ask(web_client& one) {
        co_await one.send_all("GET /page HTTP/1.1\r\n\r\n");
        const std::string said = co_await one.read_to("it is me\n");
        EXPECT_TRUE(said.starts_with("HTTP/1.1 200 ")) << said;
    }
    awaitable<void> expect_served() {
        web_client& one = connected();
        co_await one.send_all("GET /page HTTP/1.1\r\nConnection: close\r\n\r\n");
        const std::string said = co_await one.read_to("");
        EXPECT_TRUE(said.starts_with("HTTP/1.1 200 OK\r\n") && said.ends_with("\r\n\r\nit is me\n(closed)")) << said;
    }
    awaitable<void> expect_refused(std::string sent, int status) {
        web_client& one = connected();
        co_await one.send_all(sent);
        const std::string said = co_await one.read_to("");
        EXPECT_TRUE(said.starts_with("HTTP/1.1 " + std::to_string(status)) && said.ends_with("(closed)")) << said;
        EXPECT_NE(said.find("Connection: close\r\n"), std::string::npos) << said;
    }

    contract::turn_loop loop_;
    services::linux_tcp tcp_{loop_.context(), loop_.clock()};
    web_log log_;
    web_server* server_ = nullptr;
    std::list<web_client> clients_;
    int asked_ = 0;
};

TEST_F(control_web, many_requests_over_one_connection) {
    with_server([this]() -> awaitable<void> {
        web_client& one = connected();
        for (int i = 0; i < 3; ++i) {
            co_await one.send_all("GET /page HTTP/1.1\r\nHost: x\r\n\r\n");
            const std::string said = co_await one.read_to("it is me\n");
            EXPECT_NE(said.find("Connection: keep-alive\r\n"), std::string::npos) << said;
        }
        co_await one.send_all("HEAD /page HTTP/1.1\r\n\r\n");
        const std::string head = co_await one.read_to("\r\n\r\n");
        EXPECT_NE(head.find("Content-Length: 9\r\n"), std::string::npos) << head;
        // Together, and in pieces.
        co_await one.send_all("GET /page HTTP/1.1\r\n\r\nGET /other HTTP/1.1\r\n\r\nGET /page HT");
        co_await async::sleep_for(loop_.clock(), 20ms, "a pause");
        co_await one.send_all("TP/1.0\r\n\r\n");
        const std::string said = co_await one.read_to("");
        EXPECT_LT(said.find("it is me\n"), said.find("HTTP/1.1 404 Not Found")) << said;
        EXPECT_TRUE(said.ends_with("it is me\n(closed)")) << said;
        EXPECT_EQ(asked_, 7);
    });
}

TEST_F(control_web, what_is_not_wanted_costs_its_connection) {
    with_server([this]() -> awaitable<void> {
        co_await expect_refused("POST /page HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc", 405);
        co_await expect_refused("GET /page HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc", 413);
        co_await expect_refused("GET /page HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", 413);
        co_await expect_refused("this is garbage\r\n\r\n", 400);
        co_await expect_refused(std::string("\0\xff\x16\r\n\r\n", 7), 400);
        co_await expect_refused("GET /page HTTP/1.1\r\nLong: " + std::string(9000, 'x'), 431);
        co_await expect_refused("GET /page HTTP/1.1\r\nLong: " + std::string(9000, 'x') + "\r\n\r\n", 431);
        EXPECT_EQ(asked_, 0);
        co_await expect_served();
    });
}

TEST_F(control_web, who_never_ends_a_request) {
    web_limits limits;
    limits.request = 100ms;
    limits.idle = 300ms;
    with_server(
        [this]() -> awaitable<void> {
            web_client& silent = connected();
            web_client& slow = connected();
            co_await slow.send_all("GET /pa");
            const std::string refused = co_await slow.read_to("");
            EXPECT_TRUE(refused.starts_with("HTTP/1.1 408 ")) << refused;
            const std::string nothing = co_await silent.read_to("");
            EXPECT_EQ(nothing, "(closed)");
            // Between two requests there is more time, for the next one again less.
            web_client& good = connected();
            co_await good.send_all("GET /page HTTP/1.1\r\n\r\n");
            co_await good.read_to("it is me\n");
            co_await async::sleep_for(loop_.clock(), 200ms, "half of the idle time");
            co_await good.send_all("GET /page HTTP/1.1\r\n\r\n");
            const std::string again = co_await good.read_to("it is me\n");
            EXPECT_TRUE(again.starts_with("HTTP/1.1 200 ")) << again;
            const std::string end = co_await good.read_to("");
            EXPECT_EQ(end, "(closed)");
        },
        limits);
}

// Whoever came behind it would wait for its whole time.
TEST_F(control_web, who_reads_nothing_keeps_nobody_waiting) {
    web_limits limits;
    limits.write = 60s;
    with_server(
        [this]() -> awaitable<void> {
            web_client& slow = connected(4096);
            co_await slow.send_all("GET /long HTTP/1.1\r\n\r\n");
            const time_point begun = loop_.clock().now();
            co_await expect_served();
            EXPECT_LT(loop_.clock().now() - begun, 30s);
        },
        limits);
}

TEST_F(control_web, who_reads_nothing_is_left) {
    web_limits limits;
    limits.write = 1s;
    with_server(
        [this]() -> awaitable<void> {
            web_client& slow = connected(4096);
            co_await slow.send_all("GET /long HTTP/1.1\r\n\r\n");
            co_await async::sleep_for(loop_.clock(), 2500ms, "the end of its time");
            const std::string said = co_await slow.read_to("");
            EXPECT_LT(said.size(), 16UL << 20U);
        },
        limits);
}

// A local user who connects and says nothing keeps nobody out, and whoever reads is not the one who gives way.
TEST_F(control_web, of_one_address_two_and_the_slowest_gives_way) {
    with_server([this]() -> awaitable<void> {
        web_client& other = connected(0, 2);
        co_await ask(other);
        web_client& silent = connected();
        co_await async::sleep_for(loop_.clock(), 20ms, "it is accepted");
        web_client& reads = connected();
        co_await ask(reads);
        for (int i = 0; i < 20; ++i) {
            web_client& more = connected();
            co_await async::sleep_for(loop_.clock(), 5ms, "it is accepted");
            if (i == 0) {
                const std::string end = co_await silent.read_to("");
                EXPECT_EQ(end, "(closed)");
                co_await ask(more);  // and is a reader now, faster than any that comes after
            }
        }
        co_await expect_served();
        co_await ask(other);  // of another address
    });
}

TEST_F(control_web, no_more_connections_than_are_allowed_and_the_slowest_gives_way) {
    with_server([this]() -> awaitable<void> {
        std::vector<web_client*> all;
        for (std::uint32_t i = 0; i < 16; ++i) {
            all.push_back(&connected(0, 2 + i));
            co_await ask(*all.back());
        }
        co_await expect_served();
        const std::string end = co_await all.front()->read_to("");
        EXPECT_EQ(end, "(closed)");
        co_await ask(*all.back());
        co_await ask(*all[1]);
    });
}

// Its time runs from the first byte, however many come one after the other.
TEST_F(control_web, a_byte_at_a_time_does_not_hold_a_connection) {
    web_limits limits;
    limits.request = 400ms;
    with_server(
        [this]() -> awaitable<void> {
            web_client& slow = connected();
            const time_point begun = loop_.clock().now();
            std::string said;
            while (said.empty() && loop_.clock().now() - begun < 10s) {
                co_await slow.send_all("G");
                said = co_await slow.read_to("", 50ms);
                said = said == "(late)" ? "" : said;
            }
            EXPECT_TRUE(said.starts_with("HTTP/1.1 408 ")) << said;
            EXPECT_LT(loop_.clock().now() - begun, 5s);
        },
        limits);
}

TEST_F(control_web, a_port_in_use_is_told_once_and_tried_again) {
    auto other = tcp_.listen(ip::make_address("127.0.0.1"), 0);
    ASSERT_TRUE(other.has_value());
    const std::uint16_t port = (*other)->port();
    web_limits limits;
    limits.pause = 30ms;
    with_server(
        [&]() -> awaitable<void> {
            co_await async::sleep_for(loop_.clock(), 100ms, "a few attempts");
            EXPECT_EQ(server_->port(), 0);
            EXPECT_EQ(log_.warnings.size(), 1U);
            EXPECT_NE(log_.warnings.front().find("Address already in use"), std::string::npos);
            EXPECT_TRUE(log_.warnings.front().ends_with("[metrics-listen]")) << log_.warnings.front();
            other->reset();
            co_await async::sleep_for(loop_.clock(), 100ms, "another attempt");
            EXPECT_EQ(server_->port(), port);
            co_await expect_served();
            EXPECT_EQ(log_.warnings.size(), 1U);
        },
        limits, port);
}

TEST_F(control_web, an_address_that_this_host_has_not) {
    const auto made = tcp_.listen(ip::make_address("203.0.113.1"), 0);
    EXPECT_FALSE(made.has_value());
    EXPECT_TRUE(tcp_.listen(ip::make_address("127.0.0.1"), 0).has_value());
}

}  // namespace
}  // namespace pvc::control
