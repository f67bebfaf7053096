// The local sockets and TCP ports: one suite for both, on real sockets and on the simulated ones.
#include "contract/sockets_bench.hpp"

namespace pvc::contract {
namespace {

template <class Bench>
class sockets_contract : public sockets_suite<Bench> {};
using socket_benches = testing::Types<real_local, sim_local, real_tcp, sim_tcp>;
TYPED_TEST_SUITE(sockets_contract, socket_benches);

TYPED_TEST(sockets_contract, what_is_sent_is_read_and_the_other_way) {
    this->on_connection([this](const auto& one) -> awaitable<void> {
        EXPECT_EQ(one.there->send("ask"), 3U);
        const std::string asked = co_await this->read_bytes(*one.here, 3);
        EXPECT_EQ(asked, "ask");
        const auto sent = co_await one.here->write("answer", this->soon());
        EXPECT_TRUE(sent);
        one.here->write_now("+");
        const std::string got = co_await this->receive_bytes(*one.there, 7);
        EXPECT_EQ(got, "answer+");
    });
}

TYPED_TEST(sockets_contract, a_read_gives_what_is_there) {
    this->on_connection([this](const auto& one) -> awaitable<void> {
        std::array<char, 64> room{};
        for (const std::string_view piece : {"half a li", "ne\nand"}) {
            one.there->send(piece);
            const auto size = co_await one.here->read(room, this->soon());
            EXPECT_TRUE(size && std::string_view(room.data(), *size) == piece);
        }
        // Less room than bytes: the rest comes next.
        one.there->send("12345");
        const auto first = co_await one.here->read(std::span(room).first(2), this->soon());
        EXPECT_TRUE(first && *first == 2);
        const std::string rest = co_await this->read_bytes(*one.here, 3);
        EXPECT_EQ(rest, "345");
    });
}

TYPED_TEST(sockets_contract, nothing_to_read_is_too_late_at_the_deadline_only) {
    this->on_connection([this](const auto& one) -> awaitable<void> {
        std::array<char, 8> room{};
        const time_point begun = this->bench.clock().now();
        const auto none = co_await one.here->read(room, begun + 50ms);
        EXPECT_TRUE(!none && none.error().code() == errc::timed_out);
        EXPECT_GE(this->bench.clock().now(), begun + 50ms);
        // What is there is read also when the time is over.
        one.there->send("x");
        auto got = none;
        for (int times = 0; times < 500 && !got; ++times) {
            co_await async::sleep_for(this->bench.clock(), 20ms, "its way");
            got = co_await one.here->read(room, begun);
        }
        EXPECT_TRUE(got && *got == 1);
    });
}

TYPED_TEST(sockets_contract, the_other_side_ends) {
    this->on_connection([this](const auto& one) -> awaitable<void> {
        one.there->send("last words");
        one.there->end_writing();
        const std::string words = co_await this->read_bytes(*one.here, 100);
        EXPECT_EQ(words, "last words");
        std::array<char, 8> room{};
        for (int i = 0; i < 2; ++i) {  // and it stays so
            const auto size = co_await one.here->read(room, this->soon());
            EXPECT_TRUE(size && *size == 0);
        }
        // It has not gone: it reads.
        const auto sent = co_await one.here->write("an answer", this->soon());
        EXPECT_TRUE(sent);
        const std::string got = co_await this->receive_bytes(*one.there, 9);
        EXPECT_EQ(got, "an answer");
    });
}

TYPED_TEST(sockets_contract, this_side_ends) {
    this->on_connection([this](const auto& one) -> awaitable<void> {
        one.here->write_now("bye");
        one.here->end_writing();
        const std::string got = co_await this->receive_bytes(*one.there, 100);
        EXPECT_EQ(got, "bye");
        EXPECT_TRUE(one.there->is_over());
        one.there->send("one more");
        const std::string more = co_await this->read_bytes(*one.here, 8);
        EXPECT_EQ(more, "one more");
    });
}

TYPED_TEST(sockets_contract, a_connection_that_is_destroyed_is_closed) {
    this->on_connection([this](auto& one) -> awaitable<void> {
        one.here->write_now("answer");
        one.here.reset();
        const std::string got = co_await this->receive_bytes(*one.there, 100);
        EXPECT_EQ(got, "answer");
        EXPECT_TRUE(one.there->is_over());
    });
}

TYPED_TEST(sockets_contract, the_other_side_hangs_up_while_somebody_waits) {
    this->on_connection([this](const auto& one) -> awaitable<void> {
        co_await async::with_task_group("scope", [&](async::task_group& group) -> awaitable<void> {
            group.spawn("reader", [&]() -> awaitable<void> {
                std::array<char, 8> room{};
                const auto size = co_await one.here->read(room, this->soon());
                EXPECT_TRUE(size && *size == 0);
            });
            co_await async::sleep_for(this->bench.clock(), 20ms, "the reader");
            one.there->hang_up();
        });
    });
}

// With bytes unread it may be an end or a failure, and it is one of the two soon.
TYPED_TEST(sockets_contract, the_other_side_hangs_up_with_bytes_unread) {
    this->on_connection([this](const auto& one) -> awaitable<void> {
        one.here->write_now("nobody reads this");
        co_await async::sleep_for(this->bench.clock(), 20ms, "its way");
        one.there->hang_up();
        std::array<char, 8> room{};
        const auto size = co_await one.here->read(room, this->soon());
        EXPECT_TRUE(size ? *size == 0 : size.error().code() == errc::io);
    });
}

TYPED_TEST(sockets_contract, writing_to_who_has_gone_fails) {
    this->on_connection([this](const auto& one) -> awaitable<void> {
        one.there->hang_up();
        const std::string much(1UL << 20U, 'x');
        result<void> sent;
        for (int i = 0; i < 100 && sent; ++i) {  // the first one may still be taken
            sent = co_await one.here->write(much, this->soon());
        }
        EXPECT_TRUE(!sent && sent.error().code() == errc::io);
        one.here->write_now("and no signal comes");
    });
}

TYPED_TEST(sockets_contract, a_large_answer_to_a_slow_reader) {
    this->on_connection([this](const auto& one) -> awaitable<void> {
        std::string much;
        for (int i = 0; much.size() < (24UL << 20U); ++i) {
            much += std::to_string(i) + ",";
        }
        bool is_written = false;
        co_await async::with_task_group("scope", [&](async::task_group& group) -> awaitable<void> {
            group.spawn("writer", [&]() -> awaitable<void> {
                const auto sent = co_await one.here->write(much, this->soon(60s));
                EXPECT_TRUE(sent);
                is_written = true;
            });
            co_await async::sleep_for(this->bench.clock(), 100ms, "a full buffer");
            EXPECT_FALSE(is_written) << "nobody has read anything";
            const std::string got = co_await this->receive_bytes(*one.there, much.size(), 60s);
            EXPECT_TRUE(got == much);
        });
        EXPECT_TRUE(is_written);
    });
}

TYPED_TEST(sockets_contract, who_does_not_read_is_given_up) {
    this->on_connection([this](const auto& one) -> awaitable<void> {
        const std::string much(64UL << 20U, 'x');
        const auto sent = co_await one.here->write(much, this->soon(100ms));
        EXPECT_TRUE(!sent && sent.error().code() == errc::timed_out);
        one.here->write_now("no room, and no wait");
        // A part has been sent.
        const std::string got = co_await this->receive_bytes(*one.there, 1000);
        EXPECT_EQ(got, std::string(1000, 'x'));
    });
}

TYPED_TEST(sockets_contract, a_writer_that_is_not_read_holds_nobody_else_up) {
    this->bench.run([this]() -> awaitable<void> {
        co_await this->listening();
        // A program that sends without end meets the limit, too.
        const auto one = co_await this->connected();
        const std::string piece(1UL << 20U, 'y');
        std::size_t taken = 0;
        for (int i = 0; i < 100; ++i) {
            const std::size_t size = one.there->send(piece);
            taken += size;
            co_await async::sleep_for(this->bench.clock(), 1ms, "room");
        }
        EXPECT_GT(taken, 0U);
        EXPECT_LT(taken, 64UL << 20U) << "nobody has read anything";
        const auto other = co_await this->connected();
        other.there->send("quick");
        const std::string quick = co_await this->read_bytes(*other.here, 5);
        EXPECT_EQ(quick, "quick");
        // Reading makes room again.
        const std::string read = co_await this->read_bytes(*one.here, taken);
        EXPECT_EQ(read.size(), taken);
        std::size_t more = 0;
        for (int i = 0; i < 1000 && more == 0; ++i) {
            co_await async::sleep_for(this->bench.clock(), 10ms, "room");
            more = one.there->send(piece);
        }
        EXPECT_GT(more, 0U);
    });
}

TYPED_TEST(sockets_contract, both_directions_at_once) {
    this->on_connection([this](const auto& one) -> awaitable<void> {
        const std::string much(8UL << 20U, 'z');
        co_await async::with_task_group("scope", [&](async::task_group& group) -> awaitable<void> {
            group.spawn("writer", [&]() -> awaitable<void> {
                const auto sent = co_await one.here->write(much, this->soon(60s));
                EXPECT_TRUE(sent);
            });
            group.spawn("reader", [&]() -> awaitable<void> {
                const std::string asked = co_await this->read_bytes(*one.here, 4);
                EXPECT_EQ(asked, "more");
            });
            co_await async::sleep_for(this->bench.clock(), 20ms, "both");
            one.there->send("more");
            const std::string got = co_await this->receive_bytes(*one.there, much.size(), 60s);
            EXPECT_EQ(got.size(), much.size());
        });
    });
}

TYPED_TEST(sockets_contract, a_cancelled_read_loses_nothing) {
    this->on_connection([this](const auto& one) -> awaitable<void> {
        std::array<char, 8> room{};
        for (int i = 0; i < 2; ++i) {
            bool is_begun = false;
            const bool is_cancelled = co_await cancel_when(
                this->bench.clock(), [&] { return is_begun; },
                [&]() -> awaitable<void> {
                    is_begun = true;
                    const auto size = co_await one.here->read(room, this->soon(60s));
                    EXPECT_TRUE(false) << "nothing was sent";
                });
            EXPECT_TRUE(is_cancelled);
            one.there->send("later");
            const std::string got = co_await this->read_bytes(*one.here, 5);
            EXPECT_EQ(got, "later");
        }
    });
}

TYPED_TEST(sockets_contract, a_cancelled_write_has_sent_a_part) {
    this->on_connection([this](auto& one) -> awaitable<void> {
        const std::string much(64UL << 20U, 'x');
        bool is_begun = false;
        const bool is_cancelled = co_await cancel_when(
            this->bench.clock(), [&] { return is_begun; },
            [&]() -> awaitable<void> {
                is_begun = true;
                const auto sent = co_await one.here->write(much, this->soon(60s));
                EXPECT_FALSE(sent) << "nobody reads";
            });
        EXPECT_TRUE(is_cancelled);
        one.here.reset();
        const std::string got = co_await this->receive_bytes(*one.there, much.size());
        EXPECT_LT(got.size(), much.size());
        EXPECT_EQ(got, std::string(got.size(), 'x'));
    });
}

TYPED_TEST(sockets_contract, a_cancelled_accept_loses_nobody) {
    this->bench.run([this]() -> awaitable<void> {
        co_await this->listening();
        for (int i = 0; i < 2; ++i) {
            bool is_begun = false;
            const bool is_cancelled = co_await cancel_when(
                this->bench.clock(), [&] { return is_begun; },
                [&]() -> awaitable<void> {
                    is_begun = true;
                    const auto next = co_await this->bench.here().accept();
                    EXPECT_FALSE(next) << "nobody has connected";
                });
            EXPECT_TRUE(is_cancelled);
            const auto one = co_await this->connected();
            one.there->send("x");
            const std::string got = co_await this->read_bytes(*one.here, 1);
            EXPECT_EQ(got, "x");
        }
    });
}

TYPED_TEST(sockets_contract, who_waits_is_accepted_in_turn) {
    this->bench.run([this]() -> awaitable<void> {
        co_await this->listening();
        std::vector<std::unique_ptr<typename TypeParam::client>> waiting;
        for (int i = 0; i < 5; ++i) {
            waiting.push_back(this->bench.connect());
            waiting.back()->send(std::to_string(i));
        }
        waiting[3]->hang_up();  // before it was its turn: it is accepted all the same, or passed over
        std::string order;
        for (int i = 0; i < 4; ++i) {
            const auto here = co_await this->accepted();
            const std::string number = co_await this->read_bytes(*here, 1);
            order += number;
        }
        EXPECT_TRUE(order == "0123" || order == "0124") << order;
    });
}

TYPED_TEST(sockets_contract, a_listener_that_is_destroyed_leaves_connections_alone) {
    this->on_connection([this](const auto& one) -> awaitable<void> {
        const auto waiting = this->bench.connect();
        this->bench.close_listener();
        EXPECT_EQ(this->bench.connect(), nullptr);
        one.there->send("still here");
        const std::string got = co_await this->read_bytes(*one.here, 10);
        EXPECT_EQ(got, "still here");
        const auto sent = co_await one.here->write("so am I", this->soon());
        EXPECT_TRUE(sent);
        const std::string back = co_await this->receive_bytes(*one.there, 7);
        EXPECT_EQ(back, "so am I");
        const bool is_over = co_await this->comes_to_an_end(*waiting);
        EXPECT_TRUE(is_over) << "nobody will accept it";
    });
}

// What is left of it is not told to anybody, and breaks nothing.
TYPED_TEST(sockets_contract, it_goes_while_somebody_waits) {
    this->on_connection([this](auto& one) -> awaitable<void> {
        for (int i = 0; i < 3; ++i) {
            bool is_begun = false;
            const bool is_cancelled = co_await cancel_when(
                this->bench.clock(), [&] { return is_begun; },
                [&]() -> awaitable<void> {
                    const any_connection mine = std::move(one.here);
                    std::array<char, 8> room{};
                    is_begun = true;
                    const auto size = co_await mine->read(room, this->soon(60s));
                    EXPECT_FALSE(size);
                });
            EXPECT_TRUE(is_cancelled);
            const bool is_over = co_await this->comes_to_an_end(*one.there);
            EXPECT_TRUE(is_over);
            one = co_await this->connected();
        }
    });
}

// Of local sockets only.

template <class Bench>
class local_contract : public sockets_suite<Bench> {};
using local_benches = testing::Types<real_local, sim_local>;
TYPED_TEST_SUITE(local_contract, local_benches);

TYPED_TEST(local_contract, who_asks_is_told) {
    this->bench.run([this]() -> awaitable<void> {
        co_await this->listening();
        const auto there = this->bench.connect();
        auto next = co_await this->bench.here().accept();
        EXPECT_TRUE(next);
        const services::socket_peer& who = (*next)->peer();
        EXPECT_EQ(who.user, this->bench.user());
        EXPECT_EQ(who.pid, this->bench.process());
        EXPECT_FALSE(who.groups.empty());
        EXPECT_EQ(who.groups.front(), this->bench.group());
        EXPECT_FALSE(this->bench.here().group());
    });
}

TYPED_TEST(local_contract, the_file_comes_and_goes_with_its_listener) {
    this->bench.run([this]() -> awaitable<void> {
        EXPECT_FALSE(this->bench.exists(this->bench.path()));
        EXPECT_EQ(this->bench.connect(), nullptr);
        co_await this->listening();
        EXPECT_TRUE(this->bench.exists(this->bench.path()));
        this->bench.close_listener();
        EXPECT_FALSE(this->bench.exists(this->bench.path()));
    });
}

TYPED_TEST(local_contract, the_second_one_takes_the_place_of_the_first) {
    this->bench.run([this]() -> awaitable<void> {
        co_await this->listening();
        const auto before = co_await this->connected();
        auto second = co_await this->bench.sockets().listen(this->bench.path(), "", this->soon());
        EXPECT_TRUE(second);
        const auto there = this->bench.connect();
        auto here = co_await (*second)->accept();
        EXPECT_TRUE(here);
        there->send("x");
        const std::string got = co_await this->read_bytes(**here, 1);
        EXPECT_EQ(got, "x");
        before.there->send("y");
        const std::string old = co_await this->read_bytes(*before.here, 1);
        EXPECT_EQ(old, "y");
        // The file is the second one's: the first does not take it with it.
        this->bench.close_listener();
        EXPECT_TRUE(this->bench.exists(this->bench.path()));
        EXPECT_NE(this->bench.connect(), nullptr);
        (*second).reset();
        EXPECT_FALSE(this->bench.exists(this->bench.path()));
    });
}

TYPED_TEST(local_contract, what_is_no_socket_is_left_alone) {
    this->bench.run([this]() -> awaitable<void> {
        this->bench.put_other_file();
        const auto made = co_await this->bench.sockets().listen(this->bench.path(), "", this->soon());
        EXPECT_TRUE(!made && made.error().code() == errc::refused);
        EXPECT_TRUE(this->bench.exists(this->bench.path()));
    });
}

TYPED_TEST(local_contract, a_path_that_is_too_long) {
    this->bench.run([this]() -> awaitable<void> {
        const auto made = co_await this->bench.sockets().listen("/run/" + std::string(200, 'x'), "", this->soon());
        EXPECT_TRUE(!made && made.error().code() == errc::invalid);
    });
}

TYPED_TEST(local_contract, a_file_that_somebody_removed) {
    this->on_connection([this](const auto& one) -> awaitable<void> {
        this->bench.remove_file();
        EXPECT_EQ(this->bench.connect(), nullptr);
        one.there->send("x");
        const std::string got = co_await this->read_bytes(*one.here, 1);
        EXPECT_EQ(got, "x");
        this->bench.close_listener();
        EXPECT_FALSE(this->bench.exists(this->bench.path()));
        co_await this->listening();
        EXPECT_NE(this->bench.connect(), nullptr);
    });
}

TYPED_TEST(local_contract, a_file_that_is_lost_is_told_of) {
    this->bench.run([this]() -> awaitable<void> {
        for (int round = 0; round < 3; ++round) {
            co_await this->listening();
            bool is_lost = false;
            co_await async::with_task_group("scope", [&](async::task_group& group) -> awaitable<void> {
                group.spawn("watcher", [&]() -> awaitable<void> {
                    co_await this->bench.here().lost();
                    is_lost = true;
                });
                co_await async::sleep_for(this->bench.clock(), 50ms, "nothing");
                EXPECT_FALSE(is_lost);
                if (round == 0) {
                    this->bench.remove_file();
                } else if (round == 1) {
                    auto second = co_await this->bench.sockets().listen(this->bench.path(), "", this->soon());
                    EXPECT_TRUE(second);
                } else {
                    group.cancel();
                }
                for (int i = 0; i < 2000 && !is_lost && round < 2; ++i) {
                    co_await async::sleep_for(this->bench.clock(), 10ms, "the watcher");
                }
            });
            EXPECT_EQ(is_lost, round < 2) << round;
        }
        // Lost already: at once. And a wait that was cancelled has taken nothing away.
        this->bench.remove_file();
        co_await this->bench.here().lost();
    });
}

TYPED_TEST(local_contract, a_group_that_nobody_knows_is_none) {
    this->bench.run([this]() -> awaitable<void> {
        const auto made = co_await this->bench.sockets().listen(this->bench.path(), "no-such-group", this->soon());
        EXPECT_TRUE(made && !(*made)->group());
    });
}

// Of TCP only.

template <class Bench>
class tcp_contract : public sockets_suite<Bench> {};
using tcp_benches = testing::Types<real_tcp, sim_tcp>;
TYPED_TEST_SUITE(tcp_contract, tcp_benches);

TYPED_TEST(tcp_contract, port_0_is_a_free_one) {
    auto first = this->bench.sockets().listen(this->bench.loopback(), 0);
    auto second = this->bench.sockets().listen(this->bench.loopback(), 0);
    ASSERT_TRUE(first && second);
    EXPECT_NE((*first)->port(), 0);
    EXPECT_NE((*second)->port(), (*first)->port());
}

TYPED_TEST(tcp_contract, a_port_in_use_is_refused_and_can_be_had_later) {
    auto first = this->bench.sockets().listen(this->bench.loopback(), 0);
    ASSERT_TRUE(first);
    const std::uint16_t port = (*first)->port();
    const auto refused = this->bench.sockets().listen(this->bench.loopback(), port);
    EXPECT_TRUE(!refused && refused.error().code() == errc::io);
    (*first).reset();
    const auto later = this->bench.sockets().listen(this->bench.loopback(), port);
    EXPECT_TRUE(later && (*later)->port() == port);
}

TYPED_TEST(tcp_contract, an_address_of_another_host) {
    const auto made = this->bench.sockets().listen(ip::make_address("192.0.2.1"), 0);
    EXPECT_TRUE(!made && made.error().code() == errc::io);
}

TYPED_TEST(tcp_contract, an_unspecified_address_is_every_one) {
    this->bench.run([this]() -> awaitable<void> {
        auto all = this->bench.sockets().listen(ip::address_v4::any(), 0);
        EXPECT_TRUE(all);
        const auto there = this->bench.connect_to((*all)->port());
        EXPECT_NE(there, nullptr);
        const auto here = co_await (*all)->accept();
        EXPECT_TRUE(here);
    });
}

}  // namespace
}  // namespace pvc::contract
