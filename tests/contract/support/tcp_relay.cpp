#include "contract/support/tcp_relay.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <stdexcept>
#include <vector>

namespace pvc::contract {

namespace {

constexpr std::size_t buffer_limit = 4UL * 1024 * 1024;

sockaddr_in loopback(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

void prepare(int stream) {
    const int on = 1;
    setsockopt(stream, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    fcntl(stream, F_SETFL, O_NONBLOCK);
}

// False: the other end is gone.
bool take(int from, std::string& into) {
    char buffer[65536];
    const ssize_t got = recv(from, buffer, sizeof buffer, 0);
    if (got > 0) {
        into.append(buffer, static_cast<std::size_t>(got));
        return true;
    }
    return got < 0 && (errno == EAGAIN || errno == EINTR);
}

bool give(int to, std::string& from) {
    const ssize_t sent = send(to, from.data(), from.size(), MSG_NOSIGNAL);
    if (sent > 0) {
        from.erase(0, static_cast<std::size_t>(sent));
        return true;
    }
    return sent < 0 && (errno == EAGAIN || errno == EINTR);
}

}  // namespace

tcp_relay::tcp_relay(std::uint16_t target, family wanted) : target_(target), family_(wanted) {
    if (pipe2(wake_pipe_, O_CLOEXEC | O_NONBLOCK) != 0) {
        throw std::runtime_error("no pipe for a relay");
    }
    listen_now();
    thread_ = std::thread([this] { run(); });
}

tcp_relay::~tcp_relay() {
    {
        const std::lock_guard guard(mutex_);
        is_ending_ = true;
    }
    wake();
    thread_.join();
    for (auto& one : pairs_) {
        close_pair(one);
    }
    if (listener_ >= 0) {
        close(listener_);
    }
    close(keeper_);
    close(wake_pipe_[0]);
    close(wake_pipe_[1]);
}

void tcp_relay::listen_now() {
    const bool is_ipv6 = family_ == family::ipv6;
    sockaddr_in6 address6{};
    address6.sin6_family = AF_INET6;
    address6.sin6_port = htons(port_);
    address6.sin6_addr = in6addr_loopback;
    sockaddr_in address4 = loopback(port_);
    auto* address = is_ipv6 ? reinterpret_cast<sockaddr*>(&address6) : reinterpret_cast<sockaddr*>(&address4);
    socklen_t length = is_ipv6 ? sizeof address6 : sizeof address4;
    const auto open_one = [&] {
        const int one = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        const int on = 1;
        setsockopt(one, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        setsockopt(one, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
        return one;
    };
    listener_ = open_one();
    bool is_listening = bind(listener_, address, length) == 0 && listen(listener_, 64) == 0 &&
                        getsockname(listener_, address, &length) == 0;
    if (is_listening && keeper_ < 0) {
        keeper_ = open_one();
        is_listening = bind(keeper_, address, length) == 0;
    }
    if (!is_listening) {
        close(listener_);
        close(wake_pipe_[0]);
        close(wake_pipe_[1]);
        throw std::runtime_error("the relay cannot listen on port " + std::to_string(port_));
    }
    port_ = ntohs(is_ipv6 ? address6.sin6_port : address4.sin_port);
}

void tcp_relay::wake() {
    const char byte = 'x';
    [[maybe_unused]] const ssize_t written = write(wake_pipe_[1], &byte, 1);
}

void tcp_relay::set_flow(flow wanted) {
    {
        const std::lock_guard guard(mutex_);
        flow_ = wanted;
    }
    wake();
}

void tcp_relay::hold_from(std::int32_t request_type) {
    const std::lock_guard guard(mutex_);
    hold_from_ = request_type;
}

// A packet: its length, and but for the first one its number and its type, four bytes each.
void tcp_relay::look_for_request(pair& one, std::string_view fresh) {
    one.unparsed.append(fresh);
    const auto word = [&one](std::size_t at) {
        std::uint32_t value = 0;
        for (std::size_t i = 0; i < 4; ++i) {
            value = value << 8U | static_cast<unsigned char>(one.unparsed[at + i]);
        }
        return value;
    };
    while (one.unparsed.size() >= 12 && one.unparsed.size() >= 4 + word(0)) {
        if (one.is_greeted && static_cast<std::int32_t>(word(8)) == hold_from_) {
            hold_from_ = -1;
            flow_ = flow::to_server;
        }
        one.is_greeted = true;
        one.unparsed.erase(0, 4 + word(0));
    }
}

void tcp_relay::slam(bool on) {
    const std::lock_guard guard(mutex_);
    is_slamming_ = on;
}

void tcp_relay::refuse() {
    {
        const std::lock_guard guard(mutex_);
        if (listener_ >= 0) {
            close(listener_);
            listener_ = -1;
        }
    }
    drop();
}

void tcp_relay::listen_again() {
    {
        const std::lock_guard guard(mutex_);
        if (listener_ < 0) {
            listen_now();
        }
    }
    wake();
}

void tcp_relay::drop() {
    {
        const std::lock_guard guard(mutex_);
        for (auto& one : pairs_) {
            close_pair(one);
        }
    }
    wake();
}

void tcp_relay::close_pair(pair& one) {
    for (int* stream : {&one.client, &one.server}) {
        if (*stream >= 0) {
            close(*stream);
            *stream = -1;
        }
    }
    one.is_over = true;
}

void tcp_relay::accept_one() {
    const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) {
        return;
    }
    ++accepted_;
    if (is_slamming_) {
        close(client);
        return;
    }
    const int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_in address = loopback(target_);
    if (connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        close(client);
        close(server);
        return;
    }
    prepare(client);
    prepare(server);
    pairs_.emplace_back().client = client;
    pairs_.back().server = server;
}

void tcp_relay::pump(pair& one, bool client_ready, bool server_ready) {
    bool is_alive = true;
    if (client_ready && one.to_server.size() < buffer_limit) {
        const std::size_t before = one.to_server.size();
        is_alive = take(one.client, one.to_server);
        look_for_request(one, std::string_view(one.to_server).substr(before));
    }
    if (is_alive && server_ready && one.to_client.size() < buffer_limit) {
        is_alive = take(one.server, one.to_client);
    }
    if (!one.to_server.empty() && flow_ != flow::none) {
        is_alive = give(one.server, one.to_server) && is_alive;
    }
    if (!one.to_client.empty() && flow_ == flow::both) {
        is_alive = give(one.client, one.to_client) && is_alive;
    }
    if (!is_alive) {
        close_pair(one);
    }
}

void tcp_relay::run() {
    std::vector<pollfd> waits;
    std::vector<pair*> order;
    for (;;) {
        waits.assign(1, {wake_pipe_[0], POLLIN, 0});
        order.clear();
        {
            const std::lock_guard guard(mutex_);
            if (is_ending_) {
                return;
            }
            std::erase_if(pairs_, [](const pair& one) { return one.is_over; });
            waits.push_back({listener_, POLLIN, 0});
            for (auto& one : pairs_) {
                const auto events = [](bool reads, bool writes) {
                    return static_cast<short>((reads ? POLLIN : 0) | (writes ? POLLOUT : 0));
                };
                waits.push_back(
                    {one.client,
                     events(one.to_server.size() < buffer_limit, flow_ == flow::both && !one.to_client.empty()), 0});
                waits.push_back(
                    {one.server,
                     events(one.to_client.size() < buffer_limit, flow_ != flow::none && !one.to_server.empty()), 0});
                order.push_back(&one);
            }
        }
        poll(waits.data(), waits.size(), -1);
        char drained[256];
        while (read(wake_pipe_[0], drained, sizeof drained) > 0) {
        }
        const std::lock_guard guard(mutex_);
        if (listener_ >= 0 && (waits[1].revents & POLLIN) != 0) {
            accept_one();
        }
        for (std::size_t i = 0; i < order.size(); ++i) {
            if (!order[i]->is_over) {
                pump(*order[i], (waits[2 + 2 * i].revents & (POLLIN | POLLHUP | POLLERR)) != 0,
                     (waits[3 + 2 * i].revents & (POLLIN | POLLHUP | POLLERR)) != 0);
            }
        }
    }
}

}  // namespace pvc::contract
