// A TCP stage between a client and a server, on a thread of its own: connections can be refused, cut, frozen in one or
// both directions, and counted, without touching either end.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace pvc::contract {

class tcp_relay {
public:
    enum class flow : std::uint8_t {
        both,       // passes on
        to_server,  // what the server says waits
        none,       // connections stay and are accepted, nothing passes
    };

    enum class family : std::uint8_t { ipv4, ipv6 };
    // Listens on a free port of 127.0.0.1 (or ::1) and forwards to `target` on 127.0.0.1. Throws if it cannot.
    explicit tcp_relay(std::uint16_t target, family wanted = family::ipv4);
    tcp_relay(const tcp_relay&) = delete;
    tcp_relay& operator=(const tcp_relay&) = delete;
    ~tcp_relay();

    [[nodiscard]] std::uint16_t port() const { return port_; }
    // Connections accepted so far.
    [[nodiscard]] std::uint64_t accepted() const { return accepted_; }

    void set_flow(flow wanted);
    // From the moment a request of this kind passes (ZooKeeper's number of it: create 1, delete 2), answers wait: the
    // flow becomes to_server. -1 = never.
    void hold_from(std::int32_t request_type);
    // Nobody listens; what is connected breaks.
    void refuse();
    void listen_again();
    // Every connection breaks now; bytes that had not passed are lost.
    void drop();
    // Connections are accepted and closed at once.
    void slam(bool on);

private:
    struct pair {
        int client = -1;
        int server = -1;
        std::string to_server;
        std::string to_client;
        std::string unparsed;     // of what the client said: the beginning of a packet
        bool is_greeted = false;  // the first packet is the connect request, which has no type
        bool is_over = false;
    };
    void run();
    void wake();
    void accept_one();
    void close_pair(pair& one);
    void pump(pair& one, bool client_ready, bool server_ready);
    void listen_now();
    void look_for_request(pair& one, std::string_view fresh);

    std::uint16_t target_;
    family family_;
    std::uint16_t port_ = 0;
    std::atomic<std::uint64_t> accepted_ = 0;
    std::mutex mutex_;
    int listener_ = -1;
    int keeper_ = -1;  // has the port while nobody listens there, or a connection of anybody's might take it
    int wake_pipe_[2] = {-1, -1};
    std::list<pair> pairs_;
    flow flow_ = flow::both;
    std::int32_t hold_from_ = -1;
    bool is_slamming_ = false;
    bool is_ending_ = false;
    std::thread thread_;
};

}  // namespace pvc::contract
