// The ZooKeeper port: one client = one session.
//
// A live object: open it, start run() as a child of the scope that owns the session, use it while run() lives. run()
// ends when the session is lost (the state says why) or when it is cancelled; it has closed the session by then.
//
// Every request has a deadline. While there is no connection a request waits for one and is not sent; if the deadline
// passes first the answer is errc::suspended and nothing happened. Once a write was sent and no answer came, the answer
// is errc::outcome_unknown: read before acting. Cancelling the waiter of a write leaves its outcome unknown as well.
// A read whose connection broke goes out again on the next one, while there is time.
//
// Errors of every request: suspended, session_lost, timed_out (reads) or outcome_unknown (writes), invalid, too_large,
// and those named at each. Loop thread only. Specification: runtime-design.md 2.5, zookeeper-schema.md 2 and 3.
#pragma once

#include "pvcnoded/async/latest.hpp"
#include "pvcnoded/async/timers.hpp"
#include "pvcnoded/async/wakeup.hpp"
#include "pvcnoded/base/histogram.hpp"
#include "pvcnoded/zookeeper/types.hpp"

#include <concepts>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace pvc::zookeeper {

// The watches of a session go to another server in one packet (runtime-design.md 2.5): what they may take together, and
// what no server takes any more, so that a session that has more ends with its connection.
inline constexpr std::size_t watch_budget_bytes = 512UL * 1024;
inline constexpr std::size_t watches_resent_max = 900UL * 1024;

// The watches that are set, as the library keeps them: of each path up to one of a kind.
class set_watches {
public:
    // `beside`: what each path is longer than what is said here.
    explicit set_watches(std::size_t beside) : beside_(beside) {}
    enum class kind : std::uint8_t { data = 1, absence = 2, children = 4 };  // absence: of a node that is not there
    void add(const std::string& path, kind which);
    void fired(const watch_event& event);
    // In the packet.
    [[nodiscard]] std::size_t bytes() const { return bytes_; }

private:
    std::unordered_map<std::string, std::uint8_t> kinds_;
    std::size_t beside_;
    std::size_t bytes_ = 0;
};

// What goes through the adapter: one request, one reply. Only client.cpp and the adapters use it.
struct request {
    enum class kind : std::uint8_t { get, exists, children, create, remove, sync, commit };
    kind what = kind::get;
    std::string path;
    std::string data;
    std::int32_t version = any_version;
    create_mode mode = create_mode::persistent;
    watching watch = watching::no;
    std::vector<operation> operations;

    [[nodiscard]] bool is_write() const { return what == kind::create || what == kind::remove || what == kind::commit; }
};
struct reply {
    result<void> outcome;
    std::string data;  // get: value; create: path
    node_stat stat;
    std::vector<std::string> names;
    std::vector<node_stat> stats;
    boot_time sent{};
};

// Who takes the answer to a request.
class reply_taker {
public:
    reply_taker() = default;
    reply_taker(const reply_taker&) = delete;
    reply_taker& operator=(const reply_taker&) = delete;
    virtual ~reply_taker() = default;
    virtual void take(reply answer) = 0;
};

// What an adapter keeps of whoever asked, and calls once. A std::function would allocate for it in every request.
class reply_handler {
public:
    reply_handler() = default;
    explicit reply_handler(std::shared_ptr<reply_taker> taker) : taker_(std::move(taker)) {}
    template <std::invocable<reply> Function>
        requires(!std::same_as<Function, reply_handler>)
    reply_handler(Function function) : taker_(std::make_shared<function_taker<Function>>(std::move(function))) {}
    void operator()(reply answer) const { taker_->take(std::move(answer)); }

private:
    template <class Function>
    struct function_taker final : reply_taker {
        explicit function_taker(Function called) : function(std::move(called)) {}
        void take(reply answer) override { function(std::move(answer)); }
        Function function;
    };

    std::shared_ptr<reply_taker> taker_;
};

// What became of requests.
struct request_figures {
    histogram answered;            // from the sending to the answer, refusals among them
    std::uint64_t unanswered = 0;  // sent, and no answer: the deadline passed or the connection broke
};

class client {
public:
    // `chroot`: how long it is.
    explicit client(async::timers& clock, std::size_t chroot = 0) : clock_(clock), watches_(chroot) {}
    client(const client&) = delete;
    client& operator=(const client&) = delete;
    virtual ~client() = default;

    // Drives the session until it is lost or the caller is cancelled.
    virtual async::awaitable<void> run() = 0;

    [[nodiscard]] async::latest<session_state>& state() { return state_; }
    [[nodiscard]] bool is_connected() const { return state_.value().now == link::connected; }
    void set_watch_sink(watch_sink* sink) { sink_ = sink; }
    // Bytes of the packet with all watches that are set now.
    [[nodiscard]] std::size_t watch_bytes() const { return watches_.bytes(); }
    // Counts its requests from now on; must outlive the client. Null: nowhere, as at first.
    void set_figures(request_figures* into) { figures_ = into; }

    // Errors: not_found (a watch is then not armed).
    async::awaitable<result<read_reply>> get(time_point deadline, std::string path, watching watch = watching::no);
    // Several reads in one round trip: sent together on one connection, answered in this order, so that none shows an
    // older state than one before it. Again as a whole if that connection breaks. One answer a wish.
    async::awaitable<std::vector<result<read_reply>>> read_together(time_point deadline, std::vector<read_wish> wishes);
    // Errors: not_found (a watch for its creation is armed).
    async::awaitable<result<stat_reply>> exists(time_point deadline, std::string path, watching watch = watching::no);
    // Errors: not_found (a watch is then not armed).
    async::awaitable<result<children_reply>> children(time_point deadline, std::string path,
                                                      watching watch = watching::no);
    // Errors: already_exists, not_found (the parent).
    async::awaitable<result<create_reply>> create(time_point deadline, std::string path, std::string data,
                                                  create_mode mode = create_mode::persistent);
    // Errors: not_found, version_conflict, not_empty.
    async::awaitable<result<void>> remove(time_point deadline, std::string path, std::int32_t expected_version);
    // Waits until the server we talk to has everything that was committed before.
    async::awaitable<result<void>> sync(time_point deadline, std::string path);
    // Errors: those of the first operation that failed, with its path as subject: not_found, already_exists,
    // version_conflict, not_empty. Nothing was applied then.
    // `acknowledged` is called when the server's positive answer arrives, however late, with the time of sending.
    async::awaitable<result<commit_reply>> commit(time_point deadline, transaction what,
                                                  std::function<void(boot_time)> acknowledged = {});

    // Suspends until connected (success), lost (session_lost) or the deadline (suspended).
    async::awaitable<result<void>> wait_connected(time_point deadline);

protected:
    using reply_handler = zookeeper::reply_handler;
    // Sends at once; called only while connected. `done` is called exactly once, on the loop, also when the connection
    // breaks (outcome_unknown for writes, suspended for reads) or the session ends. It never runs inside send(). A
    // write is taken, so that it can go out once only; a read stays with the caller.
    virtual void send(request& what, reply_handler done) = 0;
    // Told how each request ended; not of cancelled ones.
    virtual void on_outcome(const result<void>& /*outcome*/) {}

    // Whether the session can go on with another connection: a server takes its watches. Empty: it can.
    [[nodiscard]] std::string why_not_resumed() const;

    void deliver(const watch_event& event) {
        watches_.fired(event);
        if (sink_ != nullptr) {
            sink_->on_watch_event(event);
        }
    }
    [[nodiscard]] async::timers& clock() const { return clock_; }

private:
    struct outcome_notice;
    struct exchange_record;
    // One that goes out as `what`.
    std::shared_ptr<exchange_record> record_of(const request& what);
    // Counts a request that was sent at `sent`.
    void count(time_point sent, bool is_answered) const;
    async::awaitable<void> exchange(time_point deadline, request what, std::function<void(boot_time)> acknowledged,
                                    reply& answer);

    async::timers& clock_;
    async::latest<session_state> state_;
    set_watches watches_;
    watch_sink* sink_ = nullptr;
    request_figures* figures_ = nullptr;
};

struct server_address {
    std::string host;  // name, IPv4, or IPv6 without brackets
    std::uint16_t port = 2181;
};

struct connection_options {
    std::vector<server_address> servers;
    std::string chroot;  // "" or "/pvc"; paths of the port are relative to it
    std::chrono::milliseconds session_timeout{10'000};
};

// Makes clients: the real adapter, or one of the in-memory ensemble.
class connector {
public:
    connector() = default;
    connector(const connector&) = delete;
    connector& operator=(const connector&) = delete;
    virtual ~connector() = default;
    virtual std::unique_ptr<client> open(connection_options options) = 0;
};

// "hv1:2181, hv2:2181": for messages.
[[nodiscard]] std::string servers_text(const std::vector<server_address>& servers);

}  // namespace pvc::zookeeper
