#include "adapter/kernel_requests.hpp"

#include "adapter/messages.hpp"
#include "adapter/routing_socket.hpp"

#include <linux/ethtool.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace pvc::netlink {

namespace {

using namespace std::chrono_literals;

// Where many links come at once, each has addresses of its own a moment later, and a dump that changes while it is made
// is made anew: after pauses that grow, a second in all. One that never fits together must end all the same.
constexpr int dump_attempts = 10;
constexpr duration first_pause = 2ms;

failure late(std::string about) {
    return failure(errc::timed_out, std::move(about), "the kernel did not answer in time");
}

// Closes the socket unless the answer was read to its end, whatever ends the exchange.
class whole_answer {
public:
    explicit whole_answer(std::unique_ptr<routing_socket>& socket) : socket_(socket) {}
    whole_answer(const whole_answer&) = delete;
    whole_answer& operator=(const whole_answer&) = delete;
    ~whole_answer() {
        if (!is_whole) {
            socket_.reset();
        }
    }
    bool is_whole = false;

private:
    std::unique_ptr<routing_socket>& socket_;
};

result<void> pass_over(const reply_message& /*one*/) {
    return {};
}

}  // namespace

std::string kernel_answer::cause() const {
    const std::string words = error_text(error);
    return sentence.empty() ? words : sentence + " (" + words + ')';
}

failure refusal(std::string subject, const kernel_answer& answer) {
    errc code = errc::refused;
    if (answer.error == ENODEV) {
        code = errc::not_found;
    } else if (answer.error == ENOMEM || answer.error == ENOBUFS) {
        code = errc::unavailable;
    }
    return failure(code, std::move(subject), answer.cause());
}

kernel_requests::kernel_requests(boost::asio::any_io_executor executor, async::timers& clock)
    : executor_(std::move(executor)), clock_(clock) {}

kernel_requests::~kernel_requests() = default;

async::awaitable<result<async::mutex::guard>> kernel_requests::turn(std::string about, time_point deadline) {
    auto guard = co_await turns_.lock_until(clock_, deadline, "the routing socket");
    if (!guard || clock_.now() >= deadline) {
        co_return late(std::move(about));
    }
    co_return std::move(*guard);
}

result<void> kernel_requests::open() {
    if (!socket_) {
        PVC_TRY(socket_, routing_socket::open());
    }
    return {};
}

async::awaitable<result<kernel_answer>> kernel_requests::ask(std::string message, time_point deadline) {
    return exchange(std::move(message), pass_over, deadline);
}

async::awaitable<result<kernel_answer>> kernel_requests::exchange(std::string message, taker each,
                                                                  time_point deadline) {
    if (auto opened = open(); !opened) {
        co_return std::move(opened).error();
    }
    const std::uint32_t sequence = ++sequence_;
    if (const int error = socket_->send(message, sequence); error != 0) {
        socket_.reset();
        co_return failure(errc::unavailable, "routing socket", error_text(error));
    }
    co_return co_await read_answer(sequence, each, deadline);
}

async::awaitable<result<kernel_answer>> kernel_requests::read_answer(std::uint32_t sequence, const taker& each,
                                                                     time_point deadline) {
    whole_answer reading(socket_);
    kernel_answer answer;
    result<void> taken;
    for (;;) {
        const auto got = socket_->receive();
        if (got.error == EAGAIN || got.error == ENOBUFS) {  // answers that were lost do not come
            const bool is_ready = co_await wait_readable(executor_, socket_->number(), clock_, deadline);
            if (!is_ready) {
                co_return late("routing socket");
            }
            continue;
        }
        if (got.error != 0 || !got.is_whole) {
            co_return failure(errc::io, "routing socket",
                              got.error != 0 ? error_text(got.error) : "too long an answer");
        }
        PVC_CO_TRY(const auto read, read_datagram(got.bytes, sequence, socket_->port()));
        for (const auto& one : read.messages) {
            if (taken) {
                taken = each(one);
            }
        }
        answer.is_interrupted = answer.is_interrupted || read.is_interrupted;
        if (read.is_over) {
            reading.is_whole = true;
            answer.error = read.error;
            answer.sentence = read.sentence;
            break;
        }
    }
    if (!taken) {
        co_return taken.error();
    }
    co_return answer;
}

async::awaitable<result<kernel_answer>> kernel_requests::dump(std::string message, std::function<void()> begin_anew,
                                                              taker each, time_point deadline) {
    for (int attempt = 0; attempt < dump_attempts; ++attempt) {
        begin_anew();
        auto answer = co_await exchange(message, each, deadline);
        // EINTR: the same, told at the end instead of in its parts.
        const bool is_torn = answer && (answer->is_interrupted || answer->error == EINTR);
        if (!is_torn) {
            co_return answer;
        }
        ++interrupted_;
        const time_point again = clock_.now() + first_pause * (1 << attempt);
        if (again >= deadline) {
            co_return late("routing socket");
        }
        co_await async::sleep_until(clock_, again, "links and addresses that change");
    }
    co_return failure(errc::unavailable, "routing socket", "what was asked for changed again and again");
}

async::awaitable<result<std::optional<kernel_link>>> kernel_requests::find_link(std::string name, time_point deadline) {
    std::optional<kernel_link> found;
    if (!is_device_name(name)) {
        co_return found;
    }
    const taker take = [&](const reply_message& one) -> result<void> {
        if (one.type == RTM_NEWLINK) {
            PVC_TRY(found, parse_link(one.body));
        }
        return {};
    };
    PVC_CO_TRY(const auto answer, co_await exchange(get_link_message(name), take, deadline));
    if (answer.error != 0 && answer.error != ENODEV) {
        co_return refusal(name, answer);
    }
    co_return found;
}

async::awaitable<result<kernel_link>> kernel_requests::need_link(std::string name, time_point deadline) {
    PVC_CO_TRY(auto found, co_await find_link(name, deadline));
    if (!found) {
        co_return failure(errc::not_found, name, "No such device");
    }
    co_return *std::move(found);
}

async::awaitable<result<std::vector<kernel_link>>> kernel_requests::links(time_point deadline) {
    std::vector<kernel_link> found;
    const taker take = [&](const reply_message& one) -> result<void> {
        if (one.type == RTM_NEWLINK) {
            PVC_TRY(auto link, parse_link(one.body));
            if (link) {
                found.push_back(*std::move(link));
            }
        }
        return {};
    };
    const auto begin_anew = [&] { found.clear(); };
    PVC_CO_TRY(const auto answer, co_await dump(dump_links_message(), begin_anew, take, deadline));
    if (answer.error != 0) {
        co_return failure(errc::io, "links", answer.cause());
    }
    co_return found;
}

async::awaitable<result<std::vector<model::link_address>>> kernel_requests::addresses(int link, time_point deadline) {
    std::vector<model::link_address> found;
    const taker take = [&](const reply_message& one) -> result<void> {
        if (one.type == RTM_NEWADDR) {
            PVC_TRY(const auto address, parse_link_address(one.body));
            if (address && (link == 0 || address->link == link)) {
                found.push_back(*address);
            }
        }
        return {};
    };
    const auto begin_anew = [&] { found.clear(); };
    PVC_CO_TRY(const auto answer, co_await dump(dump_addresses_message(link), begin_anew, take, deadline));
    if (answer.error != 0) {
        const errc code = answer.error == ENODEV ? errc::not_found : errc::io;
        co_return failure(code, "addresses", answer.cause());
    }
    co_return found;
}

async::awaitable<result<std::vector<model::default_route>>> kernel_requests::default_routes(time_point deadline) {
    std::vector<model::default_route> found;
    const taker take = [&](const reply_message& one) -> result<void> {
        if (one.type == RTM_NEWROUTE) {
            PVC_TRY(auto routes, parse_default_route(one.body));
            std::ranges::move(routes, std::back_inserter(found));
        }
        return {};
    };
    const auto begin_anew = [&] { found.clear(); };
    PVC_CO_TRY(const auto answer, co_await dump(dump_routes_message(), begin_anew, take, deadline));
    if (answer.error != 0 && answer.error != ENOENT) {  // without any route there is no table
        co_return failure(errc::io, "routes", answer.cause());
    }
    co_return found;
}

async::awaitable<result<std::vector<model::link_route>>> kernel_requests::link_routes(int family, time_point deadline) {
    std::vector<model::link_route> found;
    const taker take = [&](const reply_message& one) -> result<void> {
        // A kernel without IPv6 tells of what it has.
        if (one.type == RTM_NEWROUTE && one.body.starts_with(static_cast<char>(family))) {
            PVC_TRY(auto routes, parse_link_routes(one.body));
            std::ranges::move(routes, std::back_inserter(found));
        }
        return {};
    };
    const auto begin_anew = [&] { found.clear(); };
    PVC_CO_TRY(const auto answer, co_await dump(dump_link_routes_message(family), begin_anew, take, deadline));
    const bool is_none = answer.error == ENOENT || answer.error == EOPNOTSUPP || answer.error == EAFNOSUPPORT;
    if (answer.error != 0 && !is_none) {
        co_return failure(errc::io, "routes", answer.cause());
    }
    co_return found;
}

async::awaitable<result<void>> kernel_requests::add_address(int link, host_address which, std::string about,
                                                            time_point deadline) {
    PVC_CO_TRY(const auto answer, co_await ask(add_address_message(link, which), deadline));
    if (answer.error == 0) {
        co_return result<void>();
    }
    if (answer.error != EEXIST) {
        co_return refusal(std::move(about), answer);
    }
    if (which.address.is_v4()) {
        co_return result<void>();  // another prefix length would have been another entry
    }
    // Of IPv6 the kernel has one entry for an address, whatever its prefix length is.
    std::optional<model::link_address> there;
    const taker take = [&](const reply_message& one) -> result<void> {
        if (one.type == RTM_NEWADDR) {
            PVC_TRY(there, parse_link_address(one.body));
        }
        return {};
    };
    PVC_CO_TRY(const auto seen, co_await exchange(get_address_message(link, which.address.to_v6()), take, deadline));
    ignore(seen, "if it is gone again, somebody else removed it");
    if (there && there->address != which) {
        co_return failure(errc::already_exists, std::move(about), "it is there as " + there->address.text());
    }
    co_return result<void>();
}

async::awaitable<result<void>> kernel_requests::remove_address(int link, host_address which,
                                                               std::optional<ip::address> peer, std::string about,
                                                               time_point deadline) {
    PVC_CO_TRY(const auto answer, co_await ask(remove_address_message(link, which, peer), deadline));
    // Where IPv6 is off, on the device or altogether, none of its addresses is there.
    const bool is_without = which.address.is_v6() && (answer.error == ENXIO || answer.error == EOPNOTSUPP);
    if (answer.error == 0 || answer.error == EADDRNOTAVAIL || answer.error == ENODEV || is_without) {
        co_return result<void>();
    }
    co_return refusal(std::move(about), answer);
}

result<int> kernel_requests::switch_tx_checksum_off(const std::string& device) {
    if (!is_device_name(device)) {
        return ENODEV;
    }
    if (auto opened = open(); !opened) {
        return std::move(opened).error();
    }
    ethtool_value wanted{};
    wanted.cmd = ETHTOOL_STXCSUM;
    wanted.data = 0;
    ifreq request{};
    std::memcpy(request.ifr_name, device.data(), device.size());
    request.ifr_data = reinterpret_cast<char*>(&wanted);
    return ::ioctl(socket_->number(), SIOCETHTOOL, &request) == 0 ? 0 : errno;
}

}  // namespace pvc::netlink
