// The server of the local socket on real sockets in a folder of its own: whatever comes over a connection costs that
// connection and nothing else.
#include "pvcnoded/control/server.hpp"

#include "contract/process_bench.hpp"
#include "contract/turn_loop.hpp"
#include "pvcnoded/services/adapter/unix_sockets.hpp"
#include "sim/sim_sockets.hpp"
#include "socket_client.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <list>
#include <stdexcept>

namespace pvc::control {
namespace {

using namespace std::chrono_literals;
using async::awaitable;
using contract::scratch_folder;

class silent_log final : public logger {
public:
    void write(log_level level, std::string text, std::string /*prefix*/) override {
        lines.push_back(text);
        warnings += level == log_level::warning ? 1 : 0;
    }
    std::vector<std::string> lines;
    int warnings = 0;
};

class client : public socket_client {
public:
    explicit client(async::timers& clock) : socket_client(clock, AF_UNIX) {}
    bool connect(const std::string& path) const {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        path.copy(address.sun_path, sizeof address.sun_path - 1);
        return ::connect(socket(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    }
    // The next line; "closed" or "late".
    awaitable<std::string> line(duration limit = 60s) {
        const time_point until = clock_.now() + limit;
        for (;;) {
            if (const auto end = got_.find('\n'); end != std::string::npos) {
                std::string found = got_.substr(0, end);
                got_.erase(0, end + 1);
                co_return found;
            }
            const came next = co_await receive(until);
            if (next != came::bytes) {
                co_return next == came::late ? "late" : "closed";
            }
        }
    }
};

std::string asking(const std::string& name, std::int64_t id = 1) {
    protocol::request what;
    what.id = id;
    what.name = name;
    return protocol::encode(what);
}

class control_server : public testing::Test {
protected:
    // Tells a number that grows, as often as it is asked to.
    class test_feed final : public feed {
    public:
        explicit test_feed(control_server& of) : of_(of) { ++of_.feeds_; }
        ~test_feed() override { --of_.feeds_; }
        awaitable<boost::json::object> next() override {
            co_await of_.more_.wait(async::wait_note::work("something to tell"));
            co_return boost::json::object{{"number", ++number_}, {"text", std::string(of_.feed_bytes_, 'x')}};
        }

    private:
        control_server& of_;
        int number_ = 0;
    };
    // Answers with what it was asked; "long" with a MiB.
    reply answer(const protocol::request& asked, const asker& who) {
        ++asked_;
        last_ = who;
        protocol::answer said;
        if (asked.name == "defect") {
            throw std::logic_error("a table has no such row");
        }
        if (asked.name == "slow" || asked.name == "slow defect") {
            return reply([this, name = asked.name](time_point until) -> awaitable<protocol::answer> {
                if (name == "slow defect") {
                    throw std::logic_error("a table has no such row");
                }
                protocol::answer late;
                given_ = until - loop_.clock().now();
                late.result["in_time"] = co_await more_.wait_until(loop_.clock(), until, "something that takes long");
                co_return late;
            });
        }
        if (asked.name == "follow") {
            return {std::move(said), std::make_unique<test_feed>(*this)};
        }
        said.result["name"] = asked.name == "long" ? std::string(1UL << 20U, 'x') : asked.name;
        return said;
    }
    void with_server(std::function<awaitable<void>()> body, server_limits limits = {}) {
        server here(
            sockets_, loop_.clock(), log_, [this](const auto& asked, const asker& who) { return answer(asked, who); },
            limits);
        loop_.run("test", [&]() -> awaitable<void> {
            co_await async::with_task_group("all", [&](async::task_group& group) -> awaitable<void> {
                group.spawn("server", [&] { return here.run(path_, group_); });
                co_await listening();
                co_await body();
                group.cancel();
            });
        });
    }
    awaitable<void> listening() {
        struct stat found{};
        for (int i = 0; i < 20000 && (::lstat(path_.c_str(), &found) != 0 || !S_ISSOCK(found.st_mode)); ++i) {
            co_await async::sleep_for(loop_.clock(), 1ms, "the socket");
        }
    }
    client& connected() {
        client& one = clients_.emplace_back(loop_.clock());
        EXPECT_TRUE(one.connect(path_));
        return one;
    }
    // A new connection is served.
    awaitable<void> expect_served() {
        client& one = connected();
        one.send(asking("ping", 99));
        const std::string said = co_await one.line();
        const auto got = protocol::parse_answer(said);
        EXPECT_TRUE(got && got->id == 99 && got->result.at("name") == "ping") << said;
        one.hang_up();
    }
    awaitable<void> expect_problem(client& one, protocol::problem what) {
        const std::string said = co_await one.line();
        const auto got = protocol::parse_answer(said);
        EXPECT_TRUE(got && got->error && got->error->what == what) << said;
        const std::string after = co_await one.line();
        EXPECT_EQ(after, "closed");
    }

    scratch_folder folder_;
    std::string path_ = folder_ / "pvcnoded.sock";
    std::string group_;
    contract::turn_loop loop_;
    async::thread_offload pool_{loop_.context()};
    services::unix_sockets sockets_{loop_.context(), pool_, loop_.clock()};
    silent_log log_;
    std::list<client> clients_;
    int asked_ = 0;
    asker last_;
    int feeds_ = 0;  // that live
    std::size_t feed_bytes_ = 0;
    async::wakeup more_;
    duration given_{0};  // to what takes long, to make its answer
};

TEST_F(control_server, answers_one_after_the_other) {
    with_server([&]() -> awaitable<void> {
        client& one = connected();
        const std::string first = asking("status", 1);
        // In pieces, and two at once.
        one.send(std::string_view(first).substr(0, 10));
        co_await async::sleep_for(loop_.clock(), 5ms, "a pause");
        one.send(first.substr(10) + asking("tasks", 2));
        for (const auto& [id, name] : {std::pair{1, "status"}, std::pair{2, "tasks"}}) {
            const std::string said = co_await one.line();
            const auto got = protocol::parse_answer(said);
            EXPECT_TRUE(got && got->id == id && got->result.at("name") == name) << said;
        }
    });
    EXPECT_EQ(log_.lines.size(), 0U);
}

// An answer that is waited for keeps nobody else waiting, and comes before who asks gives up.
TEST_F(control_server, an_answer_that_takes_long) {
    with_server([&]() -> awaitable<void> {
        client& one = connected();
        protocol::request what;
        what.id = 4;
        what.name = "slow";
        what.deadline = 500ms;
        one.send(protocol::encode(what) + asking("status", 5));
        co_await expect_served();
        for (const std::string wanted : {"{\"in_time\":false}", "{\"name\":\"status\"}"}) {
            const std::string said = co_await one.line();
            EXPECT_NE(said.find("\"result\":" + wanted), std::string::npos) << said;
        }
        EXPECT_LE(given_, 450ms);  // the answer is to come before whoever asked has gone
        EXPECT_GT(given_, 0ms);
        more_.notify();
        one.send(asking("slow", 6));
        const std::string said = co_await one.line();
        EXPECT_NE(said.find("{\"in_time\":true}"), std::string::npos) << said;
        one.send(asking("slow defect", 7));
        const std::string bad = co_await one.line();
        const auto got = protocol::parse_answer(bad);
        EXPECT_TRUE(got && got->id == 7 && got->error && got->error->what == protocol::problem::defect) << bad;
        // What is sent meanwhile is answered in its turn.
        one.send(asking("slow", 9));
        co_await async::sleep_for(loop_.clock(), 20ms, "the request");
        one.send(asking("status", 10));
        co_await async::sleep_for(loop_.clock(), 20ms, "the next request");
        more_.notify();
        for (const int wanted : {9, 10}) {
            const std::string next = co_await one.line();
            const auto answer = protocol::parse_answer(next);
            EXPECT_TRUE(answer && answer->id == wanted && !answer->error) << next;
        }
        client& gone = connected();
        gone.send(asking("slow", 8));
        co_await async::sleep_for(loop_.clock(), 20ms, "the request");
        gone.hang_up();
        co_await expect_served();
    });
}

TEST_F(control_server, a_socket_that_somebody_removed_is_made_again) {
    server_limits limits;
    limits.remake = 10ms;
    with_server(
        [&]() -> awaitable<void> {
            client& before = connected();
            for (int round = 0; round < 2; ++round) {
                co_await async::sleep_for(loop_.clock(), 20ms, "the server");
                EXPECT_EQ(::unlink(path_.c_str()), 0);
                co_await listening();
                co_await expect_served();
            }
            // Who is connected stays.
            before.send(asking("still here", 7));
            const std::string said = co_await before.line();
            const auto got = protocol::parse_answer(said);
            EXPECT_TRUE(got && got->id == 7) << said;
        },
        limits);
    EXPECT_EQ(log_.warnings, 2);
}

TEST_F(control_server, garbage_costs_its_connection) {
    with_server([&]() -> awaitable<void> {
        for (const std::string garbage : {"GET / HTTP/1.1\r\n", "\n", "{}\n", "\xff\xfe\xfd\n"}) {
            client& one = connected();
            one.send(garbage);
            co_await expect_problem(one, protocol::problem::bad_request);
            co_await expect_served();
        }
        client& later = connected();
        later.send("{\"version\":2,\"id\":1,\"name\":\"status\"}\n");
        co_await expect_problem(later, protocol::problem::other_version);
    });
}

TEST_F(control_server, an_endless_line_ends_at_the_limit) {
    with_server([&]() -> awaitable<void> {
        client& one = connected();
        const std::string piece(1UL << 20U, 'x');
        std::size_t sent = 0;
        bool goes_on = true;
        while (goes_on && sent < 1024) {  // a GiB, if it were taken
            goes_on = co_await one.send_all(piece);
            sent += goes_on ? 1 : 0;
        }
        EXPECT_FALSE(goes_on);
        EXPECT_EQ(sent, 0U);
        co_await expect_problem(one, protocol::problem::too_large);
        co_await expect_served();
    });
}

TEST_F(control_server, who_does_not_read_is_left) {
    with_server(
        [&]() -> awaitable<void> {
            client& one = connected();
            std::string many;
            for (int i = 0; i < 20; ++i) {
                many += asking("long", i);
            }
            one.send(many);
            co_await async::sleep_for(loop_.clock(), 400ms, "the limit of a write");
            EXPECT_EQ(asked_, 1);  // the others were not looked at
            co_await expect_served();
            std::string said;
            do {
                said = co_await one.line();
            } while (said != "closed" && said != "late");
            EXPECT_EQ(said, "closed");
        },
        {.write = 100ms});
}

TEST_F(control_server, who_does_not_ask_is_left) {
    with_server(
        [&]() -> awaitable<void> {
            client& silent = connected();
            client& half = connected();
            half.send("{\"version\":");
            co_await expect_problem(silent, protocol::problem::too_late);
            co_await expect_problem(half, protocol::problem::too_late);
            co_await expect_served();
        },
        {.idle = 100ms});
}

TEST_F(control_server, an_answer_that_cannot_be_made_ends_nobody) {
    with_server([&]() -> awaitable<void> {
        client& one = connected();
        one.send(asking("defect", 8));
        const std::string said = co_await one.line();
        const auto got = protocol::parse_answer(said);
        EXPECT_TRUE(got && got->id == 8 && got->error && got->error->what == protocol::problem::defect) << said;
        one.send(asking("ping", 9));
        const std::string next = co_await one.line();
        EXPECT_TRUE(protocol::parse_answer(next) && protocol::parse_answer(next)->id == 9) << next;
        co_await expect_served();
    });
}

TEST_F(control_server, so_many_at_once_and_no_more) {
    with_server(
        [&]() -> awaitable<void> {
            std::vector<client*> all;
            for (int i = 0; i < 4; ++i) {
                all.push_back(&connected());
                all.back()->send(asking("ping"));
                const std::string said = co_await all.back()->line();
                const auto got = protocol::parse_answer(said);
                EXPECT_TRUE(got && !got->error) << said;
            }
            for (int i = 0; i < 200; ++i) {
                client& refused = connected();
                const std::string said = co_await refused.line();
                const auto got = protocol::parse_answer(said);
                EXPECT_TRUE(got && got->error && got->error->what == protocol::problem::busy) << said;
                refused.hang_up();
            }
            all.front()->hang_up();
            co_await async::sleep_for(loop_.clock(), 20ms, "the end of one");
            co_await expect_served();
        },
        {.connections = 4});
}

TEST_F(control_server, a_request_that_goes_on_until_it_is_hung_up) {
    with_server(
        [&]() -> awaitable<void> {
            client& one = connected();
            one.send(asking("follow", 7));
            for (int number = 0; number < 3; ++number) {
                const std::string said = co_await one.line();
                const auto got = protocol::parse_answer(said);
                EXPECT_TRUE(got && got->id == 7 && got->more) << said;
                EXPECT_TRUE(got && (number == 0 || got->result.at("number") == number)) << said;
                co_await expect_served();
                more_.notify();
            }
            EXPECT_EQ(feeds_, 1);
            co_await async::sleep_for(loop_.clock(), 300ms, "longer than a request may take");
            EXPECT_EQ(feeds_, 1);
            one.hang_up();
            co_await async::sleep_for(loop_.clock(), 50ms, "its end");
            EXPECT_EQ(feeds_, 0);
        },
        {.idle = 100ms, .collect = 1ms});
}

TEST_F(control_server, a_request_that_goes_on_ends_when_something_is_said_or_nothing_is_read) {
    with_server(
        [&]() -> awaitable<void> {
            client& talks = connected();
            talks.send(asking("follow"));
            const std::string first = co_await talks.line();
            EXPECT_TRUE(protocol::parse_answer(first)) << first;
            talks.send(asking("ping"));
            const std::string after = co_await talks.line();
            EXPECT_EQ(after, "closed");
            EXPECT_EQ(feeds_, 0);

            feed_bytes_ = 1UL << 20U;
            client& sleeps = connected();
            sleeps.send(asking("follow"));
            for (int i = 0; i < 300 && (i < 20 || feeds_ != 0); ++i) {
                more_.notify();
                co_await async::sleep_for(loop_.clock(), 5ms, "more than it reads");
            }
            EXPECT_EQ(feeds_, 0);
            co_await expect_served();
        },
        {.follow = 100ms, .collect = 1ms});
}

TEST_F(control_server, who_asks_is_told_to_who_answers) {
    with_server([&]() -> awaitable<void> {
        co_await expect_served();
        EXPECT_EQ(last_.user, ::geteuid());
        EXPECT_EQ(last_.pid, ::getpid());
        EXPECT_TRUE(last_.may_change);
    });
}

// Members of the group may ask; to cancel or to set anything is for root and the daemon's own user.
TEST_F(control_server, a_member_of_the_group_may_ask_and_change_nothing) {
    sim::sim_local_sockets machine(loop_.clock());
    machine.own_user = 500;
    machine.groups["watchers"] = 4;
    const std::string path = "/run/pvcnoded/control.sock";
    server here(machine, loop_.clock(), log_,
                [this](const auto& asked, const asker& who) { return answer(asked, who); });
    loop_.run("test", [&]() -> awaitable<void> {
        co_await async::with_task_group("all", [&](async::task_group& group) -> awaitable<void> {
            group.spawn("server", [&] { return here.run(path, "watchers"); });
            for (int i = 0; i < 100 && !machine.exists(path); ++i) {
                co_await async::yield();
            }
            struct row {
                std::uint32_t user;
                std::vector<std::uint32_t> groups;
                bool may_ask;
                bool may_change;
            };
            for (const row& one : std::vector<row>{{0, {0}, true, true},
                                                   {500, {500}, true, true},
                                                   {1000, {1000, 4}, true, false},
                                                   {1000, {0, 4}, true, false},
                                                   {1000, {1000}, false, false}}) {
                asked_ = 0;
                const auto way = machine.connect(path, {one.user, one.groups, 77});
                way->send(asking("tasks cancel"));
                for (int i = 0; i < 100 && asked_ == 0; ++i) {
                    co_await async::yield();
                }
                EXPECT_EQ(asked_ > 0, one.may_ask) << one.user;
                EXPECT_TRUE(asked_ == 0 || last_.may_change == one.may_change) << one.user;
            }
            group.cancel();
        });
    });
}

TEST_F(control_server, who_hangs_up_in_the_middle_takes_nobody_along) {
    with_server([&]() -> awaitable<void> {
        for (int i = 0; i < 100; ++i) {
            client& one = connected();
            one.send(i % 2 == 0 ? asking("long") : std::string("{\"ver"));
            if (i % 3 == 0) {
                co_await async::sleep_for(loop_.clock(), 1ms, "a part of the answer");
            }
            one.hang_up();
        }
        co_await async::sleep_for(loop_.clock(), 50ms, "their ends");
        co_await expect_served();
    });
}

TEST_F(control_server, the_file_has_its_rights_and_goes_with_the_server) {
    const auto before = contract::open_descriptors();
    with_server([&]() -> awaitable<void> {
        struct stat found{};
        EXPECT_EQ(::lstat(path_.c_str(), &found), 0);
        EXPECT_EQ(found.st_mode, S_IFSOCK | 0660U);
        EXPECT_EQ(found.st_uid, ::geteuid());
        connected().send("{\"ver");  // still connected at the end
        co_return;
    });
    clients_.clear();
    struct stat found{};
    EXPECT_NE(::lstat(path_.c_str(), &found), 0);
    EXPECT_NE(::lstat((path_ + ".new").c_str(), &found), 0);
    loop_.run("leftovers", [&] { return async::sleep_for(loop_.clock(), 10ms, "handlers of closed descriptors"); });
    EXPECT_LE(contract::open_descriptors(), before + 3);  // what the pool keeps
}

TEST_F(control_server, a_socket_that_was_left_behind_is_replaced) {
    {
        const int left = ::socket(AF_UNIX, SOCK_STREAM, 0);
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        path_.copy(address.sun_path, sizeof address.sun_path - 1);
        ASSERT_EQ(::bind(left, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
        ::close(left);
        client refused(loop_.clock());
        EXPECT_FALSE(refused.connect(path_));
    }
    struct stat before{};
    ASSERT_EQ(::lstat(path_.c_str(), &before), 0);
    with_server([&]() -> awaitable<void> {
        struct stat now = before;
        for (int i = 0; i < 20000 && now.st_ino == before.st_ino; ++i) {
            co_await async::sleep_for(loop_.clock(), 1ms, "the new socket");
            EXPECT_EQ(::lstat(path_.c_str(), &now), 0);  // there is always one
        }
        co_await expect_served();
    });
}

TEST_F(control_server, what_is_no_socket_is_left_alone) {
    folder_.write("pvcnoded.sock", "precious");
    server here(sockets_, loop_.clock(), log_,
                [this](const auto& asked, const asker& who) { return answer(asked, who); }, {.pause = 5ms});
    loop_.run("test", [&]() -> awaitable<void> {
        co_await async::with_task_group("all", [&](async::task_group& group) -> awaitable<void> {
            group.spawn("server", [&] { return here.run(path_, group_); });
            for (int i = 0; i < 20000 && log_.warnings == 0; ++i) {
                co_await async::sleep_for(loop_.clock(), 1ms, "the first attempt");
            }
            co_await async::sleep_for(loop_.clock(), 50ms, "more attempts");
            EXPECT_EQ(folder_.read("pvcnoded.sock"), "precious");
            std::filesystem::remove(path_);
            co_await listening();
            co_await expect_served();
            group.cancel();
        });
    });
    ASSERT_EQ(log_.warnings, 1);  // said once
    EXPECT_NE(log_.lines.front().find("[control-socket]"), std::string::npos);
}

TEST_F(control_server, a_group_that_is_not_there_is_said) {
    group_ = "no-such-group-of-this-host";
    with_server([&]() -> awaitable<void> { co_await expect_served(); });
    ASSERT_EQ(log_.lines.size(), 1U);
    EXPECT_NE(log_.lines.front().find("[control-group]"), std::string::npos);
}

TEST(control_rights, who_may_ask) {
    struct row {
        std::uint32_t user;
        std::vector<std::uint32_t> groups;
        std::optional<std::uint32_t> group;
        bool may;
    };
    constexpr std::uint32_t own = 500;
    for (const row& one : std::vector<row>{{0, {0}, {}, true},
                                           {own, {7}, {}, true},
                                           {1000, {1000}, {}, false},
                                           {1000, {0}, {}, false},  // the group of root is not meant by "none"
                                           {1000, {1000}, 4, false},
                                           {1000, {4}, 4, true},
                                           {1000, {1000, 24, 4}, 4, true},
                                           {1000, {}, 4, false}}) {
        EXPECT_EQ(may_ask({one.user, one.groups, 1}, own, one.group), one.may) << one.user;
        // To be in the group is not enough.
        EXPECT_EQ(may_change({one.user, one.groups, 1}, own), one.user == 0 || one.user == own) << one.user;
    }
}

}  // namespace
}  // namespace pvc::control
