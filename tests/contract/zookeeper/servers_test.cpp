// Servers by name and address, and servers that refuse, hang up or drop: against the real adapter only, since it is the
// library's connecting that is looked at.
#include "contract/support/tcp_relay.hpp"
#include "contract/support/zookeeper_server.hpp"
#include "contract/zookeeper/lock_bench.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace pvc::contract {
namespace {

class zookeeper_servers : public zookeeper_node_contract {
protected:
    connection_options at(std::vector<zookeeper::server_address> servers) {
        auto options = env().options();
        options.servers = std::move(servers);
        return options;
    }
    std::uint16_t way() { return env().options().servers.front().port; }
    void connects(connection_options options) {
        env().run([&]() -> awaitable<void> {
            co_await one_client(std::move(options), events_, [&](client& zk) -> awaitable<void> {
                auto root = co_await zk.exists(soon(), "/");
                EXPECT_EQ(code_of(root), "ok");
            });
        });
    }
    // Connection attempts of this machine that failed so far.
    static std::uint64_t failed_attempts() {
        std::ifstream file("/proc/net/snmp");
        std::vector<std::string> names;
        for (std::string line; std::getline(file, line);) {
            if (!line.starts_with("Tcp:")) {
                continue;
            }
            std::istringstream words(line);
            std::vector<std::string> fields{std::istream_iterator<std::string>(words), {}};
            if (names.empty()) {
                names = std::move(fields);
                continue;
            }
            const auto at = std::ranges::find(names, "AttemptFails");
            return std::stoull(fields.at(static_cast<std::size_t>(at - names.begin())));
        }
        return 0;
    }
    static std::size_t open_descriptors() {
        std::size_t count = 0;
        for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
            ++count;
        }
        return count;
    }
};

TEST_P(zookeeper_servers, a_name_is_resolved) {
    connects(at({{"localhost", way()}}));
}

TEST_P(zookeeper_servers, one_good_server_among_names_that_do_not_resolve_and_ports_that_refuse) {
    connects(at({{"no-such-host.invalid", 2181}, {"127.0.0.1", way()}, {"127.0.0.1", free_port()}}));
}

TEST_P(zookeeper_servers, a_name_that_does_not_resolve_is_the_reason) {
    env().run([&]() -> awaitable<void> {
        co_await one_client(
            at({{"no-such-host.invalid", 2181}}), events_,
            [&](client& zk) -> awaitable<void> {
                auto reasoned = co_await eventually([&] { return !zk.state().value().reason.empty(); });
                EXPECT_TRUE(reasoned);
                EXPECT_NE(zk.state().value().reason.find("no-such-host.invalid"), std::string::npos)
                    << zk.state().value().reason;
                EXPECT_EQ(zk.state().value().now, link::connecting);
            },
            false);
    });
}

TEST_P(zookeeper_servers, ipv6) {
    std::unique_ptr<tcp_relay> relay;
    try {
        relay = std::make_unique<tcp_relay>(real_server_port(), tcp_relay::family::ipv6);
    } catch (const std::runtime_error&) {
        GTEST_SKIP() << "no IPv6 on this machine";
    }
    connects(at({{"::1", relay->port()}}));
    EXPECT_EQ(relay->accepted(), 1U);
}

TEST_P(zookeeper_servers, an_even_number_of_servers_that_all_refuse_is_asked_with_pauses) {
    for (const std::size_t count : {2U, 4U, 3U}) {
        std::vector<zookeeper::server_address> servers;
        for (std::size_t i = 0; i < count; ++i) {
            servers.push_back({"127.0.0.1", free_port()});
        }
        env().run([&]() -> awaitable<void> {
            co_await one_client(
                at(servers), events_,
                [&](client& zk) -> awaitable<void> {
                    co_await sleep(300ms);
                    const auto before = failed_attempts();
                    const auto turns = env().turns();
                    const auto from = env().clock().now();
                    co_await sleep(2s);
                    const double seconds = std::chrono::duration<double>(env().clock().now() - from).count();
                    // Without pauses it is thousands. The counter is the machine's, and others may fail meanwhile.
                    EXPECT_LT(static_cast<double>(failed_attempts() - before) / seconds, 200.0) << count;
                    EXPECT_LT(static_cast<double>(env().turns() - turns) / seconds, 500.0) << count;
                    EXPECT_EQ(zk.state().value().now, link::connecting);
                },
                false);
        });
    }
}

TEST_P(zookeeper_servers, a_server_that_hangs_up_at_once_is_asked_with_pauses) {
    tcp_relay relay(real_server_port());
    relay.slam(true);
    env().run([&]() -> awaitable<void> {
        co_await one_client(
            at({{"127.0.0.1", relay.port()}}), events_,
            [&](client& zk) -> awaitable<void> {
                co_await sleep(3s);
                EXPECT_GE(relay.accepted(), 2U);
                EXPECT_LT(relay.accepted(), 60U);
                EXPECT_EQ(zk.state().value().now, link::connecting);
                EXPECT_FALSE(zk.state().value().reason.empty());
                relay.slam(false);
                auto connected = co_await zk.wait_connected(soon());
                EXPECT_TRUE(connected);
            },
            false);
    });
}

TEST_P(zookeeper_servers, a_connection_that_breaks_again_and_again_is_renewed_with_pauses) {
    tcp_relay relay(real_server_port());
    env().run([&]() -> awaitable<void> {
        co_await one_client(at({{"127.0.0.1", relay.port()}}), events_, [&](client& zk) -> awaitable<void> {
            const auto before = relay.accepted();
            const time_point end = in(3s);
            while (env().clock().now() < end) {
                const auto seen = zk.state().value().connections;
                relay.drop();
                auto back = co_await eventually([&] { return zk.state().value().connections > seen; });
                EXPECT_TRUE(back);
            }
            EXPECT_LT(relay.accepted() - before, 90U);
        });
    });
}

TEST_P(zookeeper_servers, nothing_spins_while_idle_suspended_or_unanswered) {
    auto options = env().options();
    with_session(options, [&](node_session& hv1) -> awaitable<void> {
        const auto turns_a_second = [&]() -> awaitable<double> {
            const auto turns = env().turns();
            const auto from = env().clock().now();
            co_await sleep(1500ms);
            co_return static_cast<double>(env().turns() - turns) /
                std::chrono::duration<double>(env().clock().now() - from).count();
        };
        auto idle = co_await turns_a_second();
        EXPECT_LT(idle, 50.0);
        env().silence();
        auto silent = co_await turns_a_second();
        EXPECT_LT(silent, 50.0);
        env().let_pass();
        env().refuse_connections();
        auto away = co_await reaches(*hv1.zk, link::suspended);
        EXPECT_TRUE(away);
        auto refused = co_await turns_a_second();
        EXPECT_LT(refused, 200.0);
        env().accept_connections();
    });
}

TEST_P(zookeeper_servers, many_sessions_leave_no_descriptors) {
    connects(env().options());
    const auto before = open_descriptors();
    for (int i = 0; i < 30; ++i) {
        connects(env().options());
    }
    EXPECT_LE(open_descriptors(), before + 2);
}

TEST_P(zookeeper_servers, many_reconnects_leave_no_descriptors) {
    with_client([&](client& zk) -> awaitable<void> {
        const auto before = open_descriptors();
        for (int i = 0; i < 15; ++i) {
            const auto connections = zk.state().value().connections;
            env().drop_connections();
            auto back = co_await eventually([&] {
                return zk.state().value().connections > connections && zk.state().value().now == link::connected;
            });
            EXPECT_TRUE(back);
        }
        EXPECT_LE(open_descriptors(), before + 2);
    });
}

INSTANTIATE_TEST_SUITE_P(real, zookeeper_servers, ::testing::Values("real"), instance_name);

}  // namespace
}  // namespace pvc::contract
