#include "resolve.hpp"

#include "pvcnoded/async/task_group.hpp"

#include <arpa/inet.h>
#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>

// Scopes, locks and deadlines keep the callable they are given until its coroutine has ended.
// NOLINTBEGIN(cppcoreguidelines-avoid-capturing-lambda-coroutines)

namespace pvc::zookeeper {

namespace {

bool is_numeric(const std::string& host) {
    in6_addr buffer{};
    return inet_pton(AF_INET, host.c_str(), &buffer) == 1 || inet_pton(AF_INET6, host.c_str(), &buffer) == 1;
}

result<std::vector<std::string>> look_up(const std::string& host) {
    addrinfo hints{};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* list = nullptr;
    const int code = getaddrinfo(host.c_str(), nullptr, &hints, &list);
    if (code != 0) {
        return failure(errc::unavailable, host, gai_strerror(code));
    }
    std::vector<std::string> found;
    for (const addrinfo* one = list; one != nullptr; one = one->ai_next) {
        char text[NI_MAXHOST];
        if (getnameinfo(one->ai_addr, one->ai_addrlen, text, sizeof text, nullptr, 0, NI_NUMERICHOST) == 0 &&
            std::ranges::find(found, text) == found.end()) {
            found.emplace_back(text);
        }
    }
    freeaddrinfo(list);
    return found;
}

}  // namespace

async::awaitable<resolved_servers> resolve(async::offload& pool, async::timers& clock, time_point deadline,
                                           const std::vector<server_address>& servers) {
    std::vector<std::vector<std::string>> per_server(servers.size());
    resolved_servers out;
    co_await async::with_task_group("resolve", [&](async::task_group& group) -> async::awaitable<void> {
        for (std::size_t i = 0; i < servers.size(); ++i) {
            if (is_numeric(servers[i].host)) {
                per_server[i] = {servers[i].host};
                continue;
            }
            group.spawn(servers[i].host, [&, i]() -> async::awaitable<void> {
                auto found =
                    co_await pool.run<std::vector<std::string>>(clock, deadline, "look-up of " + servers[i].host,
                                                                [host = servers[i].host] { return look_up(host); });
                if (found) {
                    per_server[i] = *std::move(found);
                } else {
                    out.problems += (out.problems.empty() ? "" : "; ") + found.error().text();
                }
            });
        }
        co_return;
    });
    for (std::size_t i = 0; i < servers.size(); ++i) {
        for (const auto& address : per_server[i]) {
            std::string text = address;
            text += ':';
            text += std::to_string(servers[i].port);
            if (std::ranges::find(out.addresses, text) == out.addresses.end()) {
                out.addresses.push_back(std::move(text));
            }
        }
    }
    std::ranges::sort(out.addresses);
    co_return out;
}

}  // namespace pvc::zookeeper

// NOLINTEND(cppcoreguidelines-avoid-capturing-lambda-coroutines)
