#include "adapter/kernel_requests.hpp"

#include "adapter/attributes.hpp"
#include "adapter/messages.hpp"
#include "adapter/route_order.hpp"
#include "pvcnoded/base/guard.hpp"

#include <linux/ethtool.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <utility>

namespace pvc::netlink {

namespace {

using namespace std::chrono_literals;

// Where many links come at once, each has addresses of its own a moment later, and a dump that changes while it is made
// is made anew: after pauses that grow, a second in all. One that never fits together must end all the same.
constexpr int dump_attempts = 10;
constexpr std::size_t most_rules = 10'000;
constexpr duration first_pause = 2ms;
// A socket takes no more than it has room for.
constexpr std::size_t most_in_datagram = 100'000;

// How long a lost answer is waited for before the thread asks whether anybody still wants it.
constexpr duration between_questions = 100ms;

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

// As the kernel stamps addresses: since it runs.
std::uint32_t hundredths_of_kernel() {
    constexpr duration hundredth = 10ms;
    return static_cast<std::uint32_t>(async::thread_now().time_since_epoch() / hundredth);
}

result<void> pass_over(const reply_message& /*one*/) {
    return {};
}

// Of a dump so far, in which those of one place stand together.
std::size_t before_it(const std::vector<model::link_route>& all, const model::connected_route& one) {
    std::size_t count = 0;
    for (auto route = all.rbegin(); route != all.rend() && route->is.to == one.network; ++route) {
        count += route->link == one.link && route->table == model::main_table && route->is.metric == one.metric &&
                 route->is.tos == 0;
    }
    return count;
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

failure too_late(std::string about) {
    return failure(errc::timed_out, std::move(about), "the kernel did not answer in time");
}

kernel_requests::kernel_requests(std::size_t answer_size) : answer_size_(answer_size) {}

kernel_requests::~kernel_requests() = default;

result<void> kernel_requests::open() {
    if (!socket_) {
        PVC_TRY(socket_, routing_socket::open(answer_size_));
    }
    return {};
}

result<kernel_answer> kernel_requests::ask(std::string message, const errand& by) {
    return exchange(std::move(message), pass_over, by);
}

result<kernel_answer> kernel_requests::ask_all(std::string message, std::vector<std::string> behind,
                                               std::vector<kernel_answer>& ends, const errand& by) {
    if (behind.empty()) {
        return ask(std::move(message), by);
    }
    if (auto opened = open(); !opened) {
        return std::move(opened).error();
    }
    const std::uint32_t sequence = ++sequence_;
    std::size_t taken = 0;
    for (auto& one : behind) {
        if (message.size() + one.size() > most_in_datagram) {
            break;
        }
        nlmsghdr head{};
        std::memcpy(&head, one.data(), sizeof head);
        head.nlmsg_seq = ++sequence_;
        head.nlmsg_pid = socket_->port();
        std::memcpy(one.data(), &head, sizeof head);
        message.resize(padded(message.size()));
        message += one;
        ++taken;
    }
    ends.assign(taken, kernel_answer{.error = ENODATA, .sentence = {}});
    if (!guarded(by.is_wanted())) {
        return too_late("routing socket");
    }
    if (const int error = socket_->send(message, sequence); error != 0) {
        socket_.reset();
        return failure(errc::unavailable, "routing socket", error_text(error));
    }
    PVC_TRY(auto answer, read_answer(sequence, pass_over, by));
    read_ends(sequence + 1, ends);
    for (; taken < behind.size(); ++taken) {
        PVC_TRY(auto end, ask(std::move(behind[taken]), by));
        ends.push_back(std::move(end));
    }
    return answer;
}

// The kernel did all of it within the call that sent it: what it has to say is there, or was lost.
void kernel_requests::read_ends(std::uint32_t first, std::vector<kernel_answer>& ends) {
    whole_answer reading(socket_);
    for (;;) {
        const auto got = socket_->receive();
        reading.is_whole = got.error == EAGAIN;
        if (got.error != 0 || !got.is_whole) {
            return;
        }
        const auto read = read_acknowledgements(got.bytes, socket_->port());
        if (!read) {
            return;
        }
        for (const auto& one : *read) {
            if (const std::size_t place = one.sequence - first; place < ends.size()) {
                ends[place] = {.error = one.error, .sentence = one.sentence};
            }
        }
    }
}

result<kernel_answer> kernel_requests::exchange(std::string message, const taker& each, const errand& by) {
    if (auto opened = open(); !opened) {
        return std::move(opened).error();
    }
    if (!guarded(by.is_wanted())) {
        return too_late("routing socket");
    }
    const std::uint32_t sequence = ++sequence_;
    if (const int error = socket_->send(message, sequence); error != 0) {
        socket_.reset();
        return failure(errc::unavailable, "routing socket", error_text(error));
    }
    return read_answer(sequence, each, by);
}

result<kernel_answer> kernel_requests::read_answer(std::uint32_t sequence, const taker& each, const errand& by) {
    whole_answer reading(socket_);
    kernel_answer answer;
    result<void> taken;
    for (;;) {
        const auto got = socket_->receive();
        if (got.error == EAGAIN || got.error == ENOBUFS) {  // answers that were lost do not come
            while (!socket_->wait(std::min<duration>(between_questions, by.deadline() - async::thread_now()))) {
                if (!by.is_wanted()) {
                    return too_late("routing socket");
                }
            }
            continue;
        }
        if (got.error != 0 || !got.is_whole) {
            return failure(errc::io, "routing socket", got.error != 0 ? error_text(got.error) : "too long an answer");
        }
        PVC_TRY(const auto read, read_datagram(got.bytes, sequence, socket_->port()));
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
        if (!guarded(!by.is_given_up())) {
            return too_late("routing socket");
        }
    }
    if (!taken) {
        return taken.error();
    }
    return answer;
}

result<kernel_answer> kernel_requests::dump(std::string message, const std::function<void()>& begin_anew,
                                            const taker& each, const errand& by) {
    for (int attempt = 0; attempt < dump_attempts; ++attempt) {
        begin_anew();
        auto answer = exchange(message, each, by);
        // EINTR: the same, told at the end instead of in its parts.
        const bool is_torn = answer && (answer->is_interrupted || answer->error == EINTR);
        if (!is_torn) {
            return answer;
        }
        ++interrupted_;
        const duration pause = std::min<duration>(first_pause * (1 << attempt), by.deadline() - async::thread_now());
        ignore(socket_->wait(pause), "nothing comes, as the answer was read to its end");
    }
    return failure(errc::unavailable, "routing socket", "what was asked for changed again and again");
}

result<std::optional<kernel_link>> kernel_requests::find_link(const std::string& name, const errand& by) {
    std::optional<kernel_link> found;
    if (!is_device_name(name)) {
        return found;
    }
    const taker take = [&](const reply_message& one) -> result<void> {
        if (one.type == RTM_NEWLINK) {
            PVC_TRY(found, parse_link(one.body));
        }
        return {};
    };
    PVC_TRY(const auto answer, exchange(get_link_message(name), take, by));
    if (answer.error != 0 && answer.error != ENODEV) {
        return refusal(name, answer);
    }
    return found;
}

result<kernel_link> kernel_requests::need_link(const std::string& name, const errand& by) {
    PVC_TRY(auto found, find_link(name, by));
    if (!found) {
        return failure(errc::not_found, name, "No such device");
    }
    return *std::move(found);
}

result<std::vector<kernel_link>> kernel_requests::links(const errand& by) {
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
    PVC_TRY(const auto answer, dump(dump_links_message(), begin_anew, take, by));
    if (answer.error != 0) {
        return failure(errc::io, "links", answer.cause());
    }
    return found;
}

result<std::vector<model::link_address>> kernel_requests::addresses(int link, const errand& by,
                                                                    unsettled_addresses* unsettled) {
    std::vector<model::link_address> found;
    const taker take = [&](const reply_message& one) -> result<void> {
        if (one.type == RTM_NEWADDR) {
            PVC_TRY(const auto address, parse_link_address(one.body));
            if (address && (link == 0 || address->link == link)) {
                found.push_back(*address);
            }
            const bool is_v6 = address && address->address.address.is_v6();
            if (is_v6 && unsettled != nullptr && is_tentative_address(one.body, hundredths_of_kernel())) {
                unsettled->all.emplace(address->link, address->address.address);
                unsettled->has_new = unsettled->has_new || is_new_address(one.body, hundredths_of_kernel());
            }
        }
        return {};
    };
    const auto begin_anew = [&] {
        found.clear();
        if (unsettled != nullptr) {
            *unsettled = {};
        }
    };
    PVC_TRY(const auto answer, dump(dump_addresses_message(link), begin_anew, take, by));
    if (answer.error != 0) {
        const errc code = answer.error == ENODEV ? errc::not_found : errc::io;
        return failure(code, "addresses", answer.cause());
    }
    return found;
}

result<std::vector<model::default_route>> kernel_requests::default_routes(const errand& by) {
    std::vector<model::default_route> found;
    const taker take = [&](const reply_message& one) -> result<void> {
        if (one.type == RTM_NEWROUTE) {
            PVC_TRY(auto routes, parse_default_route(one.body));
            std::ranges::move(routes, std::back_inserter(found));
        }
        return {};
    };
    const auto begin_anew = [&] { found.clear(); };
    PVC_TRY(const auto answer, dump(dump_routes_message(), begin_anew, take, by));
    if (answer.error != 0 && answer.error != ENOENT) {  // without any route there is no table
        return failure(errc::io, "routes", answer.cause());
    }
    return found;
}

result<kernel_requests::found_routes> kernel_requests::all_routes(int family, const errand& by) {
    return dump_routes(family, std::numeric_limits<std::size_t>::max(), by);
}

result<kernel_requests::found_routes> kernel_requests::routes(int family, const errand& by) {
    return dump_routes(family, model::link_routes_max, by);
}

result<kernel_requests::found_routes> kernel_requests::dump_routes(int family, std::size_t most, const errand& by) {
    found_routes found;
    std::map<int, std::size_t> count;  // by link
    route_order order;
    // The link that it is over; 0: over none of which there is a list.
    const auto add = [&](std::string_view body) -> result<int> {
        const bool is_default = is_default_route(body);
        if (is_default) {
            PVC_TRY(auto defaults, parse_default_route(body));
            std::ranges::move(defaults, std::back_inserter(found.of_default));
        }
        PVC_TRY(auto connected, parse_connected_route(body));
        if (connected) {
            connected->behind = before_it(found.of_links, *connected);
            found.connected.push_back(*std::move(connected));
            return 0;
        }
        const auto link = link_of_route(body);
        if (!is_default && link && count[*link] >= most) {
            return *link;  // without a closer look: there may be hundreds of thousands
        }
        PVC_TRY(const auto read, parse_link_routes(body));
        int over = read.empty() ? 0 : read.front().link;
        for (const auto& route : read) {
            over = route.link == over ? over : 0;
            if (auto& so_far = count[route.link]; is_default || so_far < most) {
                ++so_far;
                found.of_links.push_back(route);
            }
        }
        return over;
    };
    const taker take = [&](const reply_message& one) -> result<void> {
        // A kernel without IPv6 tells of what it has.
        if (one.type != RTM_NEWROUTE || !one.body.starts_with(static_cast<char>(family))) {
            return {};
        }
        if (const auto head = read_as<rtmsg>(one.body); head && head->rtm_type == RTN_LOCAL) {
            return {};  // local_routes() has these
        }
        const std::size_t first = found.of_links.size();
        PVC_TRY(const int link, add(one.body));
        order.take(one.body, link, found.of_links, first);
        return {};
    };
    const auto begin_anew = [&] {
        found = {};
        count.clear();
        order = {};
    };
    PVC_TRY(const auto answer, dump(dump_link_routes_message(family), begin_anew, take, by));
    const bool is_none = answer.error == ENOENT || answer.error == EOPNOTSUPP || answer.error == EAFNOSUPPORT;
    if (answer.error != 0 && !is_none) {
        return failure(errc::io, "routes", answer.cause());
    }
    return found;
}

result<std::vector<model::link_neighbour>> kernel_requests::neighbours(const errand& by) {
    std::vector<model::link_neighbour> found;
    for (const bool are_proxies : {false, true}) {
        const std::size_t before = found.size();
        std::map<int, std::size_t> count;  // by link
        const taker take = [&](const reply_message& one) -> result<void> {
            if (one.type == RTM_NEWNEIGH) {
                PVC_TRY(const auto neighbour, parse_neighbour(one.body));
                if (neighbour && count[neighbour->link]++ < model::link_neighbours_max) {
                    found.push_back(*neighbour);
                }
            }
            return {};
        };
        const auto begin_anew = [&] {
            found.resize(before);
            count.clear();
        };
        PVC_TRY(const auto answer, dump(dump_neighbours_message(are_proxies), begin_anew, take, by));
        if (answer.error != 0) {
            return failure(errc::io, "neighbours", answer.cause());
        }
    }
    return found;
}

result<kernel_requests::found_local> kernel_requests::local_routes(int family, const errand& by) {
    found_local found;
    std::map<int, std::size_t> count;  // by link
    const taker take = [&](const reply_message& one) -> result<void> {
        if (one.type != RTM_NEWROUTE || !one.body.starts_with(static_cast<char>(family))) {
            return {};
        }
        PVC_TRY(const auto local, parse_local_route(one.body));
        if (local) {
            found.addresses.push_back(*local);
            return {};
        }
        PVC_TRY(const auto given, parse_link_routes(one.body));
        for (const auto& route : given) {
            if (count[route.link]++ < model::link_routes_max) {
                found.given.push_back(route);
            }
        }
        return {};
    };
    const auto begin_anew = [&] {
        found = {};
        count.clear();
    };
    PVC_TRY(const auto answer, dump(dump_local_routes_message(family), begin_anew, take, by));
    const bool is_none = answer.error == ENOENT || answer.error == EOPNOTSUPP || answer.error == EAFNOSUPPORT;
    if (answer.error != 0 && !is_none) {  // without any there is no table
        return failure(errc::io, "local routes", answer.cause());
    }
    return found;
}

result<std::vector<device_rule>> kernel_requests::device_rules(const errand& by) {
    std::vector<device_rule> found;
    for (const int family : {AF_INET, AF_INET6}) {
        const std::size_t before = found.size();
        const taker take = [&](const reply_message& one) -> result<void> {
            if (one.type != RTM_NEWRULE || !one.body.starts_with(static_cast<char>(family))) {
                return {};
            }
            PVC_TRY(const auto rule, parse_rule(one.body));
            for (const auto& device : {rule.in, rule.out}) {
                if (!device.empty() && found.size() < most_rules) {
                    found.push_back({device, rule.text});
                }
            }
            return {};
        };
        const auto begin_anew = [&] { found.resize(before); };
        PVC_TRY(const auto answer, dump(dump_rules_message(family), begin_anew, take, by));
        const bool is_none = answer.error == EOPNOTSUPP || answer.error == EAFNOSUPPORT;
        if (answer.error != 0 && !is_none) {
            return failure(errc::io, "rules of routing", answer.cause());
        }
    }
    return found;
}

result<std::vector<int>> kernel_requests::filtered_links(const errand& by) {
    std::vector<int> found;
    const taker take = [&](const reply_message& one) -> result<void> {
        if (one.type == RTM_NEWQDISC) {
            PVC_TRY(const int link, parse_filtering_queue(one.body));
            if (link != 0) {
                found.push_back(link);
            }
        }
        return {};
    };
    const auto begin_anew = [&] { found.clear(); };
    PVC_TRY(const auto answer, dump(dump_queues_message(), begin_anew, take, by));
    // A kernel without traffic control has none.
    if (answer.error != 0 && answer.error != EOPNOTSUPP) {
        return failure(errc::io, "traffic filters", answer.cause());
    }
    return found;
}

result<void> kernel_requests::add_address(int link, const model::add_address& what, std::string about,
                                          const errand& by) {
    const auto& which = what.address;
    PVC_TRY(const auto answer, ask(add_address_message(link, what), by));
    if (answer.error == 0) {
        return result<void>();
    }
    if (answer.error != EEXIST) {
        return refusal(std::move(about), answer);
    }
    const auto renew = [&]() -> result<void> {
        if (!what.lifetime) {
            return result<void>();
        }
        PVC_TRY(const auto renewed, ask(add_address_message(link, what, true), by));
        return renewed.error == 0 ? result<void>() : refusal(about, renewed);
    };
    if (which.address.is_v4()) {
        return renew();  // another prefix length would have been another entry
    }
    // Of IPv6 the kernel has one entry for an address, whatever its prefix length is.
    std::optional<model::link_address> there;
    const taker take = [&](const reply_message& one) -> result<void> {
        if (one.type == RTM_NEWADDR) {
            PVC_TRY(there, parse_link_address(one.body));
        }
        return {};
    };
    PVC_TRY(const auto seen, exchange(get_address_message(link, which.address.to_v6()), take, by));
    ignore(seen, "if it is gone again, somebody else removed it");
    if (there && there->address != which) {
        return failure(errc::already_exists, std::move(about), "it is there as " + there->address.text());
    }
    return renew();
}

result<void> kernel_requests::remove_address(int link, host_address which, std::optional<ip::address> peer,
                                             std::string about, const errand& by, std::vector<std::string> behind) {
    std::vector<kernel_answer> ends;
    PVC_TRY(const auto answer, ask_all(remove_address_message(link, which, peer), std::move(behind), ends, by));
    // Where IPv6 is off, on the device or altogether, none of its addresses is there.
    const bool is_without = which.address.is_v6() && (answer.error == ENXIO || answer.error == EOPNOTSUPP);
    if (answer.error == 0 || answer.error == EADDRNOTAVAIL || answer.error == ENODEV || is_without) {
        return result<void>();
    }
    return refusal(std::move(about), answer);
}

result<int> kernel_requests::switch_tx_checksum_off(const std::string& device, const errand& by) {
    if (!is_device_name(device) || device.size() >= IFNAMSIZ) {
        return ENODEV;
    }
    if (auto opened = open(); !opened) {
        return std::move(opened).error();
    }
    if (!guarded(by.is_wanted())) {
        return too_late(device);
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
