#include "adapter/change_monitor.hpp"

#include "adapter/attributes.hpp"

#include <linux/netconf.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <span>

namespace pvc::netlink {

namespace {

using namespace std::chrono_literals;

constexpr duration retry_interval = 5s;
constexpr duration until_settled = 3100ms;  // is_new_address()
constexpr int buffer_size = 1 << 20;
// Datagrams taken in one turn of the loop.
constexpr int turn_max = 1000;
// The last two: settings of forwarding.
constexpr std::array<int, 7> network_groups{RTNLGRP_LINK,        RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR,
                                            RTNLGRP_IPV4_ROUTE,  RTNLGRP_IPV6_ROUTE,  RTNLGRP_IPV4_NETCONF,
                                            RTNLGRP_IPV6_NETCONF};
constexpr std::array<int, 1> filter_groups{NFNLGRP_NFTABLES};

bool subscribe(int socket, std::span<const int> groups) {
    if (::setsockopt(socket, SOL_SOCKET, SO_RCVBUFFORCE, &buffer_size, sizeof buffer_size) != 0) {
        ::setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &buffer_size, sizeof buffer_size);  // smaller, and lost sooner
    }
    sockaddr_nl own{};
    own.nl_family = AF_NETLINK;
    return ::bind(socket, reinterpret_cast<const sockaddr*>(&own), sizeof own) == 0 &&
           std::ranges::all_of(groups, [socket](int group) {
               return ::setsockopt(socket, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &group, sizeof group) == 0;
           });
}

// Of IPv6 nothing hangs on what routing daemons and routers say, and they may say much: the routes of addresses are the
// kernel's, and an operator's are made by hand, or by a client of DHCP. Of IPv4 the kernel takes away all that lead
// over a link with its last address, whoever made them.
bool is_of_nobody(const nlmsghdr& head, std::string_view body) {
    const auto route =
        head.nlmsg_type == RTM_NEWROUTE || head.nlmsg_type == RTM_DELROUTE ? read_as<rtmsg>(body) : std::nullopt;
    constexpr std::array<int, 5> heeded{RTPROT_UNSPEC, RTPROT_KERNEL, RTPROT_BOOT, RTPROT_STATIC, RTPROT_DHCP};
    return route && route->rtm_family == AF_INET6 &&
           ((route->rtm_flags & RTM_F_CLONED) != 0 ||
            std::ranges::find(heeded, int{route->rtm_protocol}) == heeded.end());
}

}  // namespace

change_monitor::change_monitor(boost::asio::any_io_executor executor, async::timers& clock, monitored what)
    : executor_(std::move(executor)), clock_(clock), what_(what) {
    retry_.emplace(clock);
    later_.emplace(clock);
}

void change_monitor::close() {
    retry_.reset();
    later_.reset();
    socket_.reset();
    watchers_.clear();
}

void change_monitor::add(async::wakeup& changed) {
    watchers_.push_back(&changed);
    if (!socket_ && retry_ && !retry_->armed()) {
        open_or_retry();
    }
}

void change_monitor::remove(async::wakeup& changed) {
    const auto found = std::ranges::find(watchers_, &changed);
    if (found == watchers_.end()) {
        return;  // closed before
    }
    watchers_.erase(found);
    if (watchers_.empty()) {
        retry_->disarm();
        later_->disarm();
        socket_.reset();
    }
}

void change_monitor::tell_later() {
    if (later_ && !watchers_.empty() && !later_->armed()) {
        later_->arm(clock_.now() + until_settled, [this] { tell(); });
    }
}

bool change_monitor::open() {
    const bool is_filter = what_ == monitored::packet_filter;
    const auto groups = is_filter ? std::span<const int>(filter_groups) : std::span<const int>(network_groups);
    const int number =
        ::socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, is_filter ? NETLINK_NETFILTER : NETLINK_ROUTE);
    if (number < 0) {
        return false;
    }
    socket_.emplace(executor_);
    async::error_code code;
    if (subscribe(number, groups)) {
        socket_->assign(number, code);
    }
    if (!socket_->is_open()) {
        ::close(number);
        socket_.reset();
        return false;
    }
    ++opened_;
    told_of_all_ = ++told_;
    return true;
}

// What happened while nobody listened is made up for: watchers of a socket that is new look once more.
void change_monitor::open_or_retry() {
    const bool is_first = opened_ == 0;
    if (open()) {
        listen();
    } else {
        retry_->arm(clock_.now() + retry_interval, [this] { open_or_retry(); });
    }
    if (!is_first || !socket_) {
        tell();
    }
}

void change_monitor::listen() {
    socket_->async_wait(descriptor::wait_read,
                        [weak = weak_from_this(), mine = opened_](const async::error_code& code) {
                            const auto self = weak.lock();
                            if (!code && self && self->socket_ && self->opened_ == mine) {
                                self->drain();
                            }
                        });
}

std::uint64_t change_monitor::settings_told(int link) {
    if (!socket_) {
        told_of_all_ = ++told_;
    }
    const auto found = told_of_link_.find(link);
    return std::max(told_of_all_, found == told_of_link_.end() ? 0 : found->second);
}

// One event, or the beginning of it. False: nobody need look.
bool change_monitor::note(std::string_view event) {
    const auto head = read_as<nlmsghdr>(event);
    const auto body = event.substr(std::min(event.size(), sizeof(nlmsghdr)));
    if (!head || what_ != monitored::network) {
        return true;
    }
    if (is_of_nobody(*head, body)) {
        return false;
    }
    const auto gone = head->nlmsg_type == RTM_DELLINK ? read_as<ifinfomsg>(body) : std::nullopt;
    if (gone && gone->ifi_family == AF_UNSPEC) {  // of another family it is a port that leaves its bridge
        told_of_link_.erase(gone->ifi_index);
    }
    if (head->nlmsg_type != RTM_NEWNETCONF && head->nlmsg_type != RTM_DELNETCONF) {
        return true;
    }
    std::optional<std::int32_t> link;  // of "all" and "default" it is below 0
    attributes all(body.substr(std::min(body.size(), padded(sizeof(netconfmsg)))));
    while (const auto one = all.next()) {
        link = one->type == NETCONFA_IFINDEX ? read_as<std::int32_t>(one->value) : link;
    }
    (link && *link > 0 ? told_of_link_[*link] : told_of_all_) = ++told_;
    return true;
}

void change_monitor::drain() {
    bool has_news = false;
    for (int taken = 0; taken < turn_max; ++taken) {
        // The rest of the datagram is thrown away.
        std::array<char, 64> front{};
        const ssize_t size = ::recv(socket_->native_handle(), front.data(), front.size(), MSG_TRUNC);
        if (size >= 0) {
            has_news = note({front.data(), std::min(front.size(), static_cast<std::size_t>(size))}) || has_news;
            continue;
        }
        if (errno == ENOBUFS) {
            told_of_all_ = ++told_;  // some were lost, which is one more change
            has_news = true;
        }
        if (errno == EINTR || errno == ENOBUFS) {
            continue;
        }
        if (errno != EAGAIN) {
            has_news = true;
            socket_.reset();
            retry_->arm(clock_.now() + retry_interval, [this] { open_or_retry(); });
        }
        break;
    }
    if (socket_) {
        listen();
    }
    if (has_news) {
        tell();
    }
}

void change_monitor::tell() const {
    for (async::wakeup* const one : watchers_) {
        one->notify();
    }
}

}  // namespace pvc::netlink
