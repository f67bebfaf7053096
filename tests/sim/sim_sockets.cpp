#include "sim/sim_sockets.hpp"

#include <algorithm>

namespace pvc::sim {

namespace {

constexpr std::string_view sim_stream_name = "simulated socket";
constexpr std::size_t path_bytes_max = 103;  // what an address of the Unix domain holds, less ".new"

failure stream_failure(std::string_view why) {
    return failure(errc::io, std::string(sim_stream_name), std::string(why));
}

void close_server_end(stream_state& of) {
    of.is_server_done = of.is_server_gone = true;
    of.is_reset = of.is_reset || !of.to_server.empty();
}

void close_all(const open_streams& all) {
    for (const auto& one : all) {
        close_server_end(*one);
    }
}

// The daemon's end. `Interface` is a stream_connection.
template <class Interface>
class sim_connection : public Interface {
public:
    sim_connection(async::timers& clock, std::shared_ptr<stream_state> of, std::shared_ptr<open_streams> open)
        : clock_(clock), stream_(std::move(of)), open_(std::move(open)) {
        open_->push_back(stream_);
    }
    sim_connection(const sim_connection&) = delete;
    sim_connection& operator=(const sim_connection&) = delete;
    ~sim_connection() override {
        std::erase(*open_, stream_);
        close_server_end(*stream_);
    }

    async::awaitable<result<std::size_t>> read(std::span<char> into, time_point deadline) override {
        stream_state& of = *stream_;
        for (;;) {
            if (!of.to_server.empty()) {
                const std::size_t size = std::min(into.size(), of.to_server.size());
                of.to_server.copy(into.data(), size);
                of.to_server.erase(0, size);
                co_return size;
            }
            if (of.is_client_gone && of.is_reset) {
                co_return stream_failure("Connection reset by peer");
            }
            if (of.is_client_done) {
                co_return std::size_t{0};
            }
            const bool is_ready = co_await of.readable.wait_until(clock_, deadline, "the next request");
            if (!is_ready) {
                co_return failure(errc::timed_out, std::string(sim_stream_name), "nothing was asked");
            }
        }
    }
    async::awaitable<result<void>> write(std::string_view text, time_point deadline) override {
        stream_state& of = *stream_;
        while (!text.empty()) {
            if (of.is_client_gone || of.is_server_done) {
                co_return stream_failure("Broken pipe");
            }
            if (const std::size_t size = put(text); size > 0) {
                text.remove_prefix(size);
                continue;
            }
            const bool is_ready = co_await of.writable.wait_until(clock_, deadline, "a reader of the answer");
            if (!is_ready) {
                co_return failure(errc::timed_out, std::string(sim_stream_name), "the answer was not read");
            }
        }
        co_return result<void>();
    }
    void write_now(std::string_view text) override {
        if (!stream_->is_client_gone && !stream_->is_server_done) {
            put(text);
        }
    }
    void end_writing() override { stream_->is_server_done = true; }

protected:
    std::size_t put(std::string_view text) {
        const std::size_t free = stream_->room.to_client - std::min(stream_->room.to_client, stream_->to_client.size());
        const std::size_t size = std::min(free, text.size());
        stream_->to_client += text.substr(0, size);
        return size;
    }

    async::timers& clock_;
    std::shared_ptr<stream_state> stream_;

private:
    std::shared_ptr<open_streams> open_;
};

class sim_tcp_connection final : public sim_connection<services::tcp_connection> {
public:
    using sim_connection::sim_connection;
    [[nodiscard]] const ip::address& peer() const override { return stream_->from; }
};

class sim_local_connection final : public sim_connection<services::local_connection> {
public:
    using sim_connection::sim_connection;
    [[nodiscard]] const services::socket_peer& peer() const override { return stream_->peer; }
};

std::unique_ptr<sim_client> connect_to(listening_state& there, services::socket_peer who, stream_room room,
                                       const ip::address& from = {}) {
    if (!there.is_open || there.waiting.size() >= listening_state::most) {
        return nullptr;
    }
    auto made = std::make_shared<stream_state>();
    made->room = room;
    made->peer = std::move(who);
    made->from = from;
    there.waiting.push_back(made);
    there.come.notify();
    return std::make_unique<sim_client>(std::move(made));
}

// Who was not accepted finds the connection closed.
void close_listening(listening_state& there) {
    there.is_open = false;
    close_all({there.waiting.begin(), there.waiting.end()});
    there.waiting.clear();
}

async::awaitable<result<std::shared_ptr<stream_state>>> accept_from(std::shared_ptr<listening_state> there) {
    for (;;) {
        if (there->failures > 0) {
            --there->failures;
            co_return stream_failure("Too many open files");
        }
        if (!there->waiting.empty()) {
            auto next = std::move(there->waiting.front());
            there->waiting.pop_front();
            co_return next;
        }
        co_await there->come.wait(async::wait_note::work("somebody who asks"));
    }
}

}  // namespace

std::size_t sim_client::send(std::string_view text) {
    stream_state& of = *stream_;
    if (of.is_server_gone || of.is_client_done) {
        return 0;
    }
    const std::size_t free = of.room.to_server - std::min(of.room.to_server, of.to_server.size());
    const std::size_t size = std::min(free, text.size());
    if (size > 0) {
        of.to_server += text.substr(0, size);
        of.readable.notify();
    }
    return size;
}

std::string sim_client::receive(std::size_t most) {
    stream_state& of = *stream_;
    std::string got = of.to_client.substr(0, most);
    if (!got.empty()) {
        of.to_client.erase(0, got.size());
        of.writable.notify();
    }
    return got;
}

bool sim_client::is_over() const {
    return stream_->to_client.empty() && stream_->is_server_done;
}

void sim_client::end_writing() {
    stream_->is_client_done = true;
    stream_->readable.notify();
}

void sim_client::hang_up() {
    stream_state& of = *stream_;
    if (of.is_client_gone) {
        return;
    }
    of.is_client_done = of.is_client_gone = true;
    of.is_reset = of.is_reset || !of.to_client.empty();
    of.readable.notify();
    of.writable.notify();
}

class sim_local_sockets::listener final : public services::local_listener {
public:
    listener(sim_local_sockets& owner, std::string path, std::shared_ptr<listening_state> of)
        : owner_(owner), path_(std::move(path)), state_(std::move(of)) {}
    ~listener() override {
        close_listening(*state_);
        if (!owner_.is_cut_ && has_file()) {
            owner_.files_.erase(path_);
        }
    }
    async::awaitable<result<std::unique_ptr<services::local_connection>>> accept() override {
        auto next = co_await accept_from(state_);
        if (!next) {
            co_return next.error();
        }
        co_return std::make_unique<sim_local_connection>(owner_.clock_, *std::move(next), owner_.open_);
    }
    async::awaitable<void> lost() override {
        while (has_file()) {
            co_await state_->lost.wait(async::wait_note::work("a socket file that is removed"));
        }
    }
    [[nodiscard]] std::uint32_t own_user() const override { return owner_.own_user; }
    [[nodiscard]] std::optional<std::uint32_t> group() const override { return state_->group; }

private:
    [[nodiscard]] bool has_file() const {
        const auto found = owner_.files_.find(path_);
        return found != owner_.files_.end() && found->second == state_;
    }

    sim_local_sockets& owner_;
    std::string path_;
    std::shared_ptr<listening_state> state_;
};

async::awaitable<result<std::unique_ptr<services::local_listener>>> sim_local_sockets::listen(std::string path,
                                                                                              std::string group,
                                                                                              time_point deadline) {
    if (is_cut_) {
        co_return failure(errc::stopped, path);
    }
    if (clock_.now() + listen_time > deadline) {
        co_await async::sleep_until(clock_, deadline, "the socket");
        co_return failure(errc::timed_out, path);
    }
    if (listen_time > duration::zero()) {
        co_await async::sleep_for(clock_, listen_time, "the socket");
    } else {
        co_await async::yield();
    }
    const auto found = files_.find(path);
    if (found != files_.end() && found->second == nullptr) {
        co_return failure(errc::refused, path, "what stands there is no socket");
    }
    if (path.size() > path_bytes_max) {
        co_return failure(errc::invalid, path, "the path is too long for a socket");
    }
    auto made = std::make_shared<listening_state>();
    if (const auto known = groups.find(group); known != groups.end()) {
        made->group = known->second;
    }
    const auto before = std::exchange(files_[path], made);
    if (before != nullptr) {
        before->lost.notify();
    }
    ++made_;
    co_return std::make_unique<listener>(*this, std::move(path), std::move(made));
}

std::unique_ptr<sim_client> sim_local_sockets::connect(const std::string& path, services::socket_peer who,
                                                       stream_room room) {
    const auto found = files_.find(path);
    return found == files_.end() || found->second == nullptr ? nullptr
                                                             : connect_to(*found->second, std::move(who), room);
}

void sim_local_sockets::remove(const std::string& path) {
    const auto found = files_.find(path);
    if (found != files_.end()) {
        const auto before = std::move(found->second);
        files_.erase(found);
        if (before != nullptr) {
            before->lost.notify();
        }
    }
}

void sim_local_sockets::cut() {
    is_cut_ = true;
    close_all(*open_);
    for (const auto& [path, there] : files_) {
        if (there != nullptr) {
            close_listening(*there);
        }
    }
}

void sim_local_sockets::fail_accepts(const std::string& path, int count) {
    listening_state& there = *files_.at(path);
    there.failures = count;
    there.come.notify();
}

class sim_tcp_sockets::listener final : public services::tcp_listener {
public:
    listener(sim_tcp_sockets& owner, place where, std::shared_ptr<listening_state> of)
        : owner_(owner), where_(std::move(where)), state_(std::move(of)) {}
    ~listener() override {
        close_listening(*state_);
        owner_.places_.erase(where_);
    }
    async::awaitable<result<std::unique_ptr<services::tcp_connection>>> accept() override {
        auto next = co_await accept_from(state_);
        if (!next) {
            co_return next.error();
        }
        co_return std::make_unique<sim_tcp_connection>(owner_.clock_, *std::move(next), owner_.open_);
    }
    [[nodiscard]] std::uint16_t port() const override { return where_.second; }

private:
    sim_tcp_sockets& owner_;
    place where_;
    std::shared_ptr<listening_state> state_;
};

bool sim_tcp_sockets::is_taken(const place& wanted) const {
    return std::ranges::any_of(places_, [&](const auto& entry) {
        const auto& [where, port] = entry.first;
        return port == wanted.second && where.is_v4() == wanted.first.is_v4() &&
               (where == wanted.first || where.is_unspecified() || wanted.first.is_unspecified());
    });
}

result<std::unique_ptr<services::tcp_listener>> sim_tcp_sockets::listen(const ip::address& where, std::uint16_t port) {
    if (is_cut_) {
        return failure(errc::stopped, std::string(sim_stream_name));
    }
    const bool is_here =
        where.is_loopback() || where.is_unspecified() || std::ranges::find(addresses_, where) != addresses_.end();
    if (!is_here) {
        return stream_failure("Cannot assign requested address");
    }
    place wanted(where, port);
    while (port == 0 && (wanted.second == 0 || is_taken(wanted))) {
        wanted.second = ++last_chosen_;
    }
    if (is_taken(wanted)) {
        return stream_failure("Address already in use");
    }
    auto made = std::make_shared<listening_state>();
    places_.emplace(wanted, made);
    return std::make_unique<listener>(*this, std::move(wanted), std::move(made));
}

void sim_tcp_sockets::cut() {
    is_cut_ = true;
    close_all(*open_);
    for (const auto& [where, there] : places_) {
        close_listening(*there);
    }
}

std::unique_ptr<sim_client> sim_tcp_sockets::connect(const ip::address& where, std::uint16_t port, stream_room room,
                                                     const ip::address& from) {
    for (const auto& [place, there] : places_) {
        if (place.second == port && place.first.is_v4() == where.is_v4() &&
            (place.first == where || place.first.is_unspecified())) {
            return connect_to(*there, {}, room, from);
        }
    }
    return nullptr;
}

}  // namespace pvc::sim
