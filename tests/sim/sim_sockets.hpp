// Doubles of the local sockets and TCP ports: streams in memory between a daemon and the programs that ask it. They
// draw nothing by themselves, take no time, and have limited room in both directions, so that a slow reader holds the
// writer up. The other end is not a coroutine: whoever plays it calls it when he likes.
#pragma once

#include "pvcnoded/async/timers.hpp"
#include "pvcnoded/services/local_sockets.hpp"
#include "pvcnoded/services/tcp_sockets.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pvc::sim {

// Bytes that are under way in each direction, at most.
struct stream_room {
    std::size_t to_server = 64UL * 1024;
    std::size_t to_client = 64UL * 1024;
};

// What both ends of one connection share.
struct stream_state {
    stream_room room{};
    std::string to_server;
    std::string to_client;
    bool is_client_done = false;  // writes no more
    bool is_client_gone = false;
    bool is_server_done = false;
    bool is_server_gone = false;
    bool is_reset = false;  // one end went with bytes unread: the other one's next read fails
    services::socket_peer peer{};
    ip::address from{};      // of TCP
    async::wakeup readable;  // for the server's end
    async::wakeup writable;
};

// The end of whoever asks. It never waits. Destroying it hangs up.
class sim_client {
public:
    explicit sim_client(std::shared_ptr<stream_state> of) : stream_(std::move(of)) {}
    sim_client(const sim_client&) = delete;
    sim_client& operator=(const sim_client&) = delete;
    ~sim_client() { hang_up(); }

    // As much as there is room for; nothing once the other end has gone.
    std::size_t send(std::string_view text);
    // At most so many bytes of what has come.
    [[nodiscard]] std::string receive(std::size_t most = std::string::npos);
    // All has been read, and nothing more will come.
    [[nodiscard]] bool is_over() const;
    void end_writing();
    void hang_up();

private:
    std::shared_ptr<stream_state> stream_;
};

// Who has connected and was not accepted yet, and what a test lets go wrong.
struct listening_state {
    static constexpr std::size_t most = 64;
    std::deque<std::shared_ptr<stream_state>> waiting;
    async::wakeup come;
    async::wakeup lost;  // its file is another's, or nobody's
    std::optional<std::uint32_t> group;
    int failures = 0;  // so many of the next calls of accept find no descriptor
    bool is_open = true;
};

// Those that a daemon has accepted and not closed.
using open_streams = std::vector<std::shared_ptr<stream_state>>;

class sim_local_sockets final : public services::local_sockets {
public:
    // The clock must outlive it and what it makes.
    explicit sim_local_sockets(async::timers& clock) : clock_(clock) {}

    async::awaitable<result<std::unique_ptr<services::local_listener>>> listen(std::string path, std::string group,
                                                                               time_point deadline) override;

    // Null: nobody listens there, or too many wait.
    [[nodiscard]] std::unique_ptr<sim_client> connect(const std::string& path, services::socket_peer who = {},
                                                      stream_room room = {});
    // The files of the machine.
    [[nodiscard]] bool exists(const std::string& path) const { return files_.contains(path); }
    void put_other_file(const std::string& path) { files_[path] = nullptr; }
    void remove(const std::string& path);
    void lose_power() { files_.clear(); }
    std::map<std::string, std::uint32_t> groups;
    std::uint32_t own_user = 0;
    duration listen_time{};  // it takes so long to make a socket
    void fail_accepts(const std::string& path, int count);
    // Connections that the daemon has accepted and not closed.
    [[nodiscard]] std::size_t open() const { return open_->size(); }
    // A killed daemon: nothing that it still does reaches anybody. What it listens at stays behind as a file.
    void cut();
    void renew() { is_cut_ = false; }
    // How often somebody began to listen here.
    [[nodiscard]] std::uint64_t made() const { return made_; }

private:
    class listener;
    async::timers& clock_;
    std::uint64_t made_ = 0;
    std::map<std::string, std::shared_ptr<listening_state>> files_;  // null: no socket
    std::shared_ptr<open_streams> open_ = std::make_shared<open_streams>();
    bool is_cut_ = false;
};

class sim_tcp_sockets final : public services::tcp_sockets {
public:
    explicit sim_tcp_sockets(async::timers& clock) : clock_(clock) {}

    result<std::unique_ptr<services::tcp_listener>> listen(const ip::address& where, std::uint16_t port) override;

    // Null: nobody listens there, or too many wait.
    [[nodiscard]] std::unique_ptr<sim_client> connect(const ip::address& where, std::uint16_t port,
                                                      stream_room room = {},
                                                      const ip::address& from = ip::address_v4::loopback());
    // Besides the loopback and the unspecified ones.
    void add_address(const ip::address& one) { addresses_.push_back(one); }
    [[nodiscard]] std::size_t listeners() const { return places_.size(); }
    [[nodiscard]] std::size_t open() const { return open_->size(); }
    void cut();
    void renew() { is_cut_ = false; }

private:
    using place = std::pair<ip::address, std::uint16_t>;
    class listener;
    [[nodiscard]] bool is_taken(const place& wanted) const;

    async::timers& clock_;
    std::vector<ip::address> addresses_;
    std::map<place, std::shared_ptr<listening_state>> places_;
    std::shared_ptr<open_streams> open_ = std::make_shared<open_streams>();
    bool is_cut_ = false;
    std::uint16_t last_chosen_ = 40'000;
};

}  // namespace pvc::sim
