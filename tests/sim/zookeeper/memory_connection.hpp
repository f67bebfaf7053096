// One connection between a client and the ensemble: two pipes that keep their order, and the server's side of it.
// Private to the in-memory ensemble.
#pragma once

#include "sim/zookeeper/memory_client.hpp"

#include <concepts>
#include <deque>
#include <functional>
#include <memory>
#include <unordered_set>

namespace pvc::sim {

// Messages that arrive in the order in which they were sent, each after its delay.
class memory_pipe {
public:
    memory_pipe(async::timers& clock, std::function<bool()> is_blocked)
        : clock_(clock), timer_(clock), is_blocked_(std::move(is_blocked)) {}

    // `arrive` is called once, at most.
    template <std::invocable Function>
    void push(duration delay, Function&& arrive) {
        enqueue(delay, std::make_unique<message_of<std::decay_t<Function>>>(std::forward<Function>(arrive)));
    }
    // Delivers what is due; call it when what blocked is over.
    void flow();
    // Delivers everything now, blocked or not.
    void flush();
    void clear();
    [[nodiscard]] bool empty() const { return queue_.empty(); }

private:
    // One block each, and it need not be copyable: what travels is moved all the way.
    struct message {
        message() = default;
        message(const message&) = delete;
        message& operator=(const message&) = delete;
        virtual ~message() = default;
        virtual void arrive() = 0;
        time_point due{};
    };
    template <class Function>
    struct message_of final : message {
        explicit message_of(Function&& called) : function(std::move(called)) {}
        void arrive() override { function(); }
        Function function;
    };
    void enqueue(duration delay, std::unique_ptr<message> what);

    async::timers& clock_;
    async::timer timer_;
    std::function<bool()> is_blocked_;
    std::deque<std::unique_ptr<message>> queue_;
};

class memory_connection : public std::enable_shared_from_this<memory_connection> {
public:
    memory_connection(memory_ensemble& ensemble, std::shared_ptr<memory_link> link, memory_client& client);

    // --- the client's side ---
    void send_hello(std::int64_t session, std::chrono::milliseconds timeout, std::int64_t last_zxid);
    void send_request(std::uint64_t number, zookeeper::request&& what);
    void send_watches(const std::vector<std::string>& data, const std::vector<std::string>& presence,
                      const std::vector<std::string>& children, std::int64_t since);
    void send_ping();
    // The client closes its socket. What has not arrived is lost or arrives later.
    void leave(in_flight what);
    // Everything arrives, then the session is closed. False: nobody there to hear it.
    bool say_good_bye();

    // --- from outside ---
    void break_now(in_flight what, const std::string& reason);
    void flow();
    void ensemble_gone();
    [[nodiscard]] std::int64_t session() const { return session_; }
    [[nodiscard]] std::size_t watches(std::string_view path) const;
    void trigger(const std::vector<tree_change>& changes);

private:
    friend class memory_ensemble;
    using request = zookeeper::request;

    // `deliver` is called with the client when it arrives, if there is one by then.
    template <std::invocable<memory_client&> Function>
    void to_client(duration extra, Function deliver);
    void on_hello(std::int64_t session, std::chrono::milliseconds timeout, std::int64_t last_zxid);
    void on_request(std::uint64_t number, request& what);
    void on_watches(const std::vector<std::string>& data, const std::vector<std::string>& presence,
                    const std::vector<std::string>& children, std::int64_t since);
    zookeeper::reply execute(request& what);
    zookeeper::reply read(const request& what);
    zookeeper::reply write(request& what);
    void emit(zookeeper::event_kind kind, const std::string& path);
    void watch(std::unordered_set<std::string>& watches, const std::string& path);
    bool touch();
    [[nodiscard]] bool is_client_deaf() const;

    memory_ensemble* ensemble_;
    std::shared_ptr<memory_link> link_;
    memory_client* client_;
    std::int64_t session_ = 0;
    std::int64_t own_zxid_ = 0;  // a write of ours whose answer is held back
    bool is_open_ = true;        // the server's end
    memory_pipe to_server_;
    memory_pipe to_client_;
    memory_pipe pongs_;
    std::unordered_set<std::string> data_watches_;
    std::unordered_set<std::string> child_watches_;
};

}  // namespace pvc::sim
