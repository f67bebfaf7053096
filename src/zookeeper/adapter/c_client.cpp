#include "pvcnoded/zookeeper/adapter/c_client.hpp"

#include "pvcnoded/async/deadline.hpp"
#include "requests.hpp"
#include "resolve.hpp"

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/this_coro.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <zookeeper/zookeeper.h>

#include <algorithm>

namespace pvc::zookeeper {

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

constexpr duration back_off_shortest = 100ms;
constexpr duration back_off_longest = 1s;  // start-up has 15 s for a server that comes back
constexpr duration resolve_limit = 3s;
constexpr duration resolve_beside = 200ms;  // with addresses to go on with: what comes later counts the next time
constexpr duration resolve_again_after = 5s;
constexpr duration close_limit = 2s;

duration elapsed(boot_time since, boot_time now) {
    return now - since;
}

}  // namespace

// What the library knows as the handle's context. It outlives the client if closing the handle hangs on a pool thread.
struct handle_anchor {
    c_client* owner = nullptr;
};

class c_client final : public client {
public:
    c_client(c_connector& connector, connection_options options, random_source random)
        : client(connector.clock_, options.chroot.size()),
          connector_(connector),
          options_(std::move(options)),
          random_(random),
          anchor_(std::make_shared<handle_anchor>()),
          pending_(options_.chroot) {
        anchor_->owner = this;
        connector_.clients_.insert(this);
    }
    ~c_client() override {
        connector_.clients_.erase(this);
        anchor_->owner = nullptr;
        release_descriptor();
        pending_.abandon("closed");
        if (handle_ != nullptr) {
            zookeeper_close(handle_);  // only a cut world gets here with an open handle
        }
    }

    async::awaitable<void> run() override {
        co_await async::with_clean_up(clock(), close_limit + 1s, pump(), [this] { return close(); });
    }

    void on_pause(boot_time before_gap) {
        if (handle_ == nullptr || state().value().now != link::connected) {
            return;
        }
        awaiting_proof_ = true;
        contact_ = std::min(contact_, before_gap);
        suspend("the process stood still");
        if (!check_lost()) {
            send_proof();
        }
        wake_.notify();
    }

protected:
    void send(request& what, reply_handler done) override {
        auto sent = pending_.send(handle_, what, clock().boot_now(), done);
        if (!sent) {
            // Never call back inside send(): the answer takes a turn of the loop.
            auto refused = std::make_shared<refusal>(*this, std::move(done), sent.error());
            refused->self = refused;
            refused->turn.arm(clock().now(), [record = refused.get()] { record->deliver(); });
        }
        wake_.notify();
    }

private:
    struct refusal {
        refusal(c_client& client, reply_handler handler, failure why)
            : turn(client.clock()), done(std::move(handler)), error(std::move(why)) {}
        void deliver() {
            const auto keep = std::move(self);
            reply answer;
            answer.outcome = error;
            done(std::move(answer));
        }
        async::timer turn;
        reply_handler done;
        failure error;
        std::shared_ptr<refusal> self;
    };

    static void on_event(zhandle_t* /*handle*/, int type, int session_state_code, const char* path, void* context) {
        auto* anchor = static_cast<handle_anchor*>(context);
        if (anchor == nullptr || anchor->owner == nullptr) {
            return;
        }
        c_client& self = *anchor->owner;
        if (type == ZOO_SESSION_EVENT) {
            if (session_state_code == ZOO_EXPIRED_SESSION_STATE) {
                self.verdict_ = "the server says that the session has expired";
            } else if (session_state_code == ZOO_AUTH_FAILED_STATE) {
                self.verdict_ = "the server refused our authentication";
            }
            return;
        }
        watch_event event;
        event.path = self.pending_.own_path(path == nullptr ? "" : path);
        if (type == ZOO_CREATED_EVENT) {
            event.kind = event_kind::created;
        } else if (type == ZOO_DELETED_EVENT) {
            event.kind = event_kind::deleted;
        } else if (type == ZOO_CHILD_EVENT) {
            event.kind = event_kind::children_changed;
        } else {
            event.kind = event_kind::changed;
        }
        self.deliver(event);
    }

    async::awaitable<void> resolve_servers() {
        const duration limit = addresses_.empty() ? resolve_limit : resolve_beside;
        auto found = co_await connector_.names_->resolve(clock().now() + limit, options_.servers);
        resolved_at_ = clock().now();
        use(std::move(found));
    }

    void use(resolved_servers found) {
        if (found.addresses.empty()) {
            note_reason(found.problems);
            return;
        }
        // The library goes two servers on after an attempt that failed: in a ring of an even number it would never try
        // every other one.
        if (found.addresses.size() % 2 == 0) {
            found.addresses.push_back(found.addresses.front());
        }
        std::string text;
        for (const auto& address : found.addresses) {
            text += text.empty() ? address : ',' + address;
        }
        if (text == addresses_) {
            return;
        }
        addresses_ = text;
        if (handle_ != nullptr) {
            zoo_set_servers(handle_, addresses_.c_str());
        }
    }

    void open_handle() {
        zoo_set_debug_level(static_cast<ZooLogLevel>(0));  // it would write to stderr; what matters is in our states
        handle_ = zookeeper_init2(addresses_.c_str(), &on_event, static_cast<int>(options_.session_timeout.count()),
                                  nullptr, anchor_.get(), ZOO_NO_LOG_CLIENTENV, nullptr);
        if (handle_ != nullptr) {
            // By default every turn resolves all hosts again (runtime-design.md 2.3).
            zoo_set_servers_resolution_delay(handle_, -1);
        }
    }

    async::awaitable<void> pump() {
        executor_ = co_await asio::this_coro::executor;
        auto known = connector_.names_->known(options_.servers);
        if (known.was_asked) {
            use(std::move(known));
        }
        while (handle_ == nullptr) {
            if (addresses_.empty() || failures_ != 0) {
                co_await resolve_servers();
            }
            if (!addresses_.empty()) {
                open_handle();
            }
            if (handle_ == nullptr) {
                co_await back_off();
            }
        }
        while (!is_over()) {
            co_await turn();
        }
    }

    async::awaitable<void> turn() {
        connector_.check_pause_();
        int descriptor = -1;
        int interest = 0;
        timeval limit{};
        const int code = zookeeper_interest(handle_, &descriptor, &interest, &limit);
        follow_state();
        if (is_over()) {
            co_return;
        }
        if (code != ZOK || descriptor == -1) {
            release_descriptor();
            if (code != ZOK) {
                note_reason(zerror(code));
            }
            co_await failed_attempt();
            co_return;
        }
        watch_descriptor(descriptor, interest);
        const duration time = std::chrono::seconds(limit.tv_sec) + std::chrono::microseconds(limit.tv_usec);
        limit_.arm(clock().now() + std::clamp<duration>(next_check(time), 1ms, 1s), [this] { wake_.notify(); });
        co_await wake_.wait(async::wait_note::work("the ZooKeeper socket"));
        limit_.disarm();
        const int events = std::exchange(ready_, 0);
        if (events == 0) {
            co_return;
        }
        connector_.check_pause_();
        const bool was_down = zoo_state(handle_) != ZOO_CONNECTED_STATE;
        const int processed = zookeeper_process(handle_, events);
        if (processed == ZOK && (events & ZOOKEEPER_READ) != 0 && !awaiting_proof_ &&
            state().value().now == link::connected) {
            contact_ = clock().boot_now();
        }
        follow_state();
        if (processed != ZOK && processed != ZNOTHING && !is_over()) {
            release_descriptor();
            note_reason(zerror(processed));
            if (was_down) {
                co_await failed_attempt();
            }
        }
    }

    // Time until our own clock may end the session, or `time`, whichever is sooner.
    [[nodiscard]] duration next_check(duration time) const {
        const auto& now = state_value();
        if (now.now == link::suspended) {
            return std::min(time, now.timeout - elapsed(contact_, clock().boot_now()));
        }
        return time;
    }

    async::awaitable<void> back_off() {
        // While a session may still be saved, not a moment of it is slept away.
        const auto& now = state_value();
        const duration longest = now.now == link::suspended
                                     ? std::clamp<duration>(now.timeout / 10, back_off_shortest, back_off_longest)
                                     : back_off_longest;
        const duration base = std::min(longest, back_off_shortest * (1 << std::min(failures_, 6U)));
        ++failures_;
        const auto jittered =
            duration(static_cast<duration::rep>(static_cast<double>(base.count()) * (0.5 + random_.unit() * 0.5)));
        const time_point until = clock().now() + jittered;
        while (clock().now() < until && !is_over()) {
            const duration wait = std::min(until - clock().now(), next_check(back_off_longest));
            co_await async::sleep_for(clock(), std::max<duration>(wait, 1ms), "the next connection attempt");
            connector_.check_pause_();
            check_lost();
        }
    }

    async::awaitable<void> failed_attempt() {
        co_await back_off();
        if (!is_over() && clock().now() - resolved_at_ > resolve_again_after) {
            co_await resolve_servers();
            check_lost();
        }
    }

    // Brings the published state in line with the library's.
    void follow_state() {
        if (!verdict_.empty()) {
            lose(verdict_);
            return;
        }
        const bool is_up = zoo_state(handle_) == ZOO_CONNECTED_STATE;
        const link now = state_value().now;
        if (is_up && (now == link::connecting || (now == link::suspended && !awaiting_proof_))) {
            failures_ = 0;
            connect();
        } else if (is_up && awaiting_proof_ && !proof_sent_) {
            send_proof();
        } else if (!is_up && now == link::connected) {
            suspend("connection lost");
        } else if (!is_up && awaiting_proof_) {
            proof_sent_ = false;  // the new connection's first answer proves the session by itself
            awaiting_proof_ = false;
        }
        if (!is_up && state_value().now == link::suspended) {
            if (auto why = why_not_resumed(); !why.empty()) {
                lose(std::move(why));
            }
        }
        check_lost();
    }

    void connect() {
        session_state next = state_value();
        next.now = link::connected;
        next.session_id = zoo_client_id(handle_)->client_id;
        next.timeout = std::chrono::milliseconds(zoo_recv_timeout(handle_));
        next.contact = contact_ = clock().boot_now();
        next.reason.clear();
        ++next.connections;
        state().set(std::move(next));
    }

    void suspend(std::string reason) {
        session_state next = state_value();
        next.now = link::suspended;
        next.reason = std::move(reason);
        next.contact = contact_;
        state().set(std::move(next));
    }

    bool check_lost() {
        const auto& now = state_value();
        if (now.now == link::suspended && elapsed(contact_, clock().boot_now()) >= now.timeout) {
            lose("no contact with a server for " + std::to_string(now.timeout.count()) + " ms");
            return true;
        }
        return is_over();
    }

    void lose(std::string reason) {
        if (is_over()) {
            return;
        }
        session_state next = state_value();
        next.now = link::lost;
        next.reason = std::move(reason);
        next.contact = contact_;
        state().set(std::move(next));
    }

    // After a pause: the answers in the socket are old. Only a request sent now proves that the session lives.
    void send_proof() {
        if (handle_ == nullptr || zoo_state(handle_) != ZOO_CONNECTED_STATE) {
            return;
        }
        request what;
        what.what = request::kind::exists;
        what.path = "/";
        proof_sent_ = true;
        auto sent = pending_.send(handle_, what, clock().boot_now(), [this](const reply& answer) {
            proof_sent_ = false;
            const bool proven = answer.outcome || answer.outcome.error().code() == errc::not_found;
            if (proven && awaiting_proof_ && state_value().now == link::suspended) {
                awaiting_proof_ = false;
                connect();
            }
        });
        if (!sent) {
            proof_sent_ = false;
        }
    }

    void note_reason(const std::string& reason) {
        if (state_value().now != link::connecting || state_value().reason == reason) {
            return;
        }
        session_state next = state_value();
        next.reason = reason;
        state().set(std::move(next));
    }

    // The library closes and reopens its socket as it likes, and the new one may have the same number: identity is the
    // inode. Asio gets a duplicate that only we close.
    void watch_descriptor(int descriptor, int interest) {
        struct stat identity{};
        if (fstat(descriptor, &identity) != 0) {
            release_descriptor();
            return;
        }
        if (!socket_ || identity.st_ino != inode_) {
            release_descriptor();
            const int own = fcntl(descriptor, F_DUPFD_CLOEXEC, 3);
            if (own < 0) {
                return;
            }
            socket_ = std::make_shared<socket>(executor_, own);
            inode_ = identity.st_ino;
        }
        if ((interest & ZOOKEEPER_READ) != 0) {
            arm(socket_->reading, asio::posix::descriptor_base::wait_read, ZOOKEEPER_READ);
        }
        if ((interest & ZOOKEEPER_WRITE) != 0) {
            arm(socket_->writing, asio::posix::descriptor_base::wait_write, ZOOKEEPER_WRITE);
        }
    }

    struct socket {
        socket(const asio::any_io_executor& executor, int descriptor) : stream(executor, descriptor) {}
        asio::posix::stream_descriptor stream;
        bool reading = false;
        bool writing = false;
        bool released = false;
    };

    void arm(bool& armed, asio::posix::descriptor_base::wait_type direction, int event) {
        if (armed) {
            return;
        }
        armed = true;
        socket_->stream.async_wait(direction, [this, current = socket_, &armed, event](const async::error_code& code) {
            armed = false;
            // A handler of a socket that was given up must not touch the present one (nor this client, which may be
            // gone).
            if (current->released || code) {
                return;
            }
            ready_ |= event;
            wake_.notify();
        });
    }

    void release_descriptor() {
        if (socket_) {
            socket_->released = true;
            async::error_code ignored;
            socket_->stream.close(ignored);
            socket_.reset();
        }
        inode_ = 0;
        ready_ = 0;
    }

    async::awaitable<void> close() {
        if (!is_over()) {
            lose("closed");
        }
        release_descriptor();
        pending_.abandon(state_value().reason);
        anchor_->owner = nullptr;
        zhandle_t* handle = std::exchange(handle_, nullptr);
        if (handle == nullptr) {
            co_return;
        }
        if (zoo_state(handle) != ZOO_CONNECTED_STATE) {
            zookeeper_close(handle);  // returns at once; the session, if it lives, expires
            co_return;
        }
        // With a connection it says good-bye and waits for the answer: milliseconds, or seconds for a silent server.
        auto closed =
            co_await connector_.lane_.run<bool>(clock(), clock().now() + close_limit, "closing the ZooKeeper session",
                                                [handle, anchor = anchor_]() -> result<bool> {
                                                    zookeeper_close(handle);
                                                    return true;
                                                });
        ignore(closed, "a server that does not answer lets the session expire");
    }

    [[nodiscard]] const session_state& state_value() const { return const_cast<c_client*>(this)->state().value(); }
    [[nodiscard]] bool is_over() const { return state_value().now == link::lost; }

    c_connector& connector_;
    connection_options options_;
    random_source random_;
    std::shared_ptr<handle_anchor> anchor_;
    pending_requests pending_;
    zhandle_t* handle_ = nullptr;
    std::string addresses_;
    time_point resolved_at_{};
    asio::any_io_executor executor_;
    std::shared_ptr<socket> socket_;
    ino_t inode_ = 0;
    int ready_ = 0;
    async::wakeup wake_;
    async::timer limit_{clock()};
    boot_time contact_{};
    unsigned failures_ = 0;
    std::string verdict_;
    bool awaiting_proof_ = false;
    bool proof_sent_ = false;
};

c_connector::c_connector(async::timers& clock, async::offload& lane, random_source random,
                         std::function<void()> check_pause)
    : clock_(clock),
      lane_(lane),
      names_(std::make_unique<resolver>(lane, clock)),
      random_(random),
      check_pause_(std::move(check_pause)) {}

c_connector::~c_connector() = default;

std::unique_ptr<client> c_connector::open(connection_options options) {
    return std::make_unique<c_client>(*this, std::move(options), random_.split("client " + std::to_string(++opened_)));
}

void c_connector::on_pause(boot_time before_gap) {
    for (c_client* one : clients_) {
        one->on_pause(before_gap);
    }
}

}  // namespace pvc::zookeeper
