#include "resolve.hpp"

#include "pvcnoded/async/task_group.hpp"
#include "pvcnoded/base/address.hpp"

#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

namespace pvc::zookeeper {

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

// A look-up, as the thread that makes it and the loop share it. The call on the lane lets it go when it has ended, or
// will never begin.
struct resolver::inquiry {
    std::mutex mutex;
    std::optional<result<std::vector<std::string>>> answer;
};

void resolver::take_answer(const std::string& name, host& of) {
    if (!of.last) {
        return;
    }
    const std::lock_guard lock(of.last->mutex);
    auto answer = std::exchange(of.last->answer, std::nullopt);
    if (answer && *answer && !(*answer)->empty()) {
        of.addresses = **std::move(answer);
        of.problem.clear();
    } else if (answer) {
        of.problem = *answer ? name + " has no address" : answer->error().text();
    }
}

async::awaitable<void> resolver::ask(std::string name, time_point deadline) {
    host& of = hosts_[name];
    if (of.last && of.last.use_count() > 1) {
        of.problem = "the look-up of " + name + " has not ended yet";
        co_return;
    }
    take_answer(name, of);
    of.last = std::make_shared<inquiry>();
    std::function<result<bool>()> call = [how = how_, name, shared = of.last]() -> result<bool> {
        auto found = how(name);
        const std::lock_guard lock(shared->mutex);
        shared->answer.emplace(std::move(found));
        return true;
    };
    auto ended = co_await lane_.run<bool>(clock_, deadline, "look-up of " + name, std::move(call));
    if (ended) {
        take_answer(name, of);
    } else {
        of.problem = ended.error().text();
    }
}

async::awaitable<resolved_servers> resolver::resolve(time_point deadline, std::vector<server_address> servers) {
    co_await async::with_task_group("resolve", [&](async::task_group& group) -> async::awaitable<void> {
        std::set<std::string> names;
        for (const auto& server : servers) {
            if (!parse_address(server.host) && names.insert(server.host).second) {
                group.spawn(server.host, [this, name = server.host, deadline] { return ask(name, deadline); });
            }
        }
        co_return;
    });
    co_return known(servers);
}

resolved_servers resolver::known(const std::vector<server_address>& servers) const {
    resolved_servers out;
    for (const auto& server : servers) {
        std::vector<std::string> all;
        const auto found = hosts_.find(server.host);
        if (parse_address(server.host)) {
            all = {server.host};
        } else if (found == hosts_.end()) {
            out.was_asked = false;
        } else {
            all = found->second.addresses;
            const std::string& problem = found->second.problem;
            if (!problem.empty() && out.problems.find(problem) == std::string::npos) {
                out.problems += (out.problems.empty() ? "" : "; ") + problem;
            }
        }
        for (const auto& address : all) {
            std::string text = address;
            text += ':';
            text += std::to_string(server.port);
            if (std::ranges::find(out.addresses, text) == out.addresses.end()) {
                out.addresses.push_back(std::move(text));
            }
        }
    }
    std::ranges::sort(out.addresses);
    return out;
}

}  // namespace pvc::zookeeper
