#include "contract/support/child_process.hpp"
#include "contract/support/tcp_relay.hpp"
#include "contract/support/zookeeper_server.hpp"
#include "contract/zookeeper/environment.hpp"
#include "pvcnoded/async/adapter/real_loop.hpp"
#include "pvcnoded/async/adapter/thread_offload.hpp"
#include "pvcnoded/zookeeper/adapter/c_client.hpp"

#include <unistd.h>

#include <csignal>
#include <map>
#include <random>
#include <sstream>
#include <stdexcept>

namespace pvc::contract {

namespace {

std::string encode(const std::string& text) {
    static constexpr std::string_view digits = "0123456789ABCDEF";
    std::string out;
    for (const char c : text) {
        if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
            out += c;
        } else {
            out += '%';
            out += digits[static_cast<unsigned char>(c) >> 4U];
            out += digits[static_cast<unsigned char>(c) & 0xfU];
        }
    }
    return out.empty() ? "%" : out;
}

std::string decode(const std::string& field) {
    std::string out;
    for (std::size_t i = 0; i < field.size() && field != "%"; ++i) {
        if (field[i] == '%') {
            out += static_cast<char>(std::stoi(field.substr(i + 1, 2), nullptr, 16));
            i += 2;
        } else {
            out += field[i];
        }
    }
    return out;
}

// The program kazoo_peer.py, driven by lines.
class kazoo_process {
public:
    explicit kazoo_process(std::uint16_t port)
        : process_({"/usr/bin/python3", PVC_SOURCE_DIR "/tests/contract/zookeeper/kazoo_peer.py",
                    "127.0.0.1:" + std::to_string(port)},
                   child_process::streams{"", true}) {}

    struct answer {
        bool is_ok = false;
        std::vector<std::string> values;
    };

    // Fails with an exception unless `missing` is the kind of failure.
    awaitable<answer> ask(async::timers& clock, std::string command, std::vector<std::string> arguments,
                          std::string tolerated = {}) {
        const std::string tag = std::to_string(++last_tag_);
        std::string line = tag + ' ' + command;
        for (const auto& one : arguments) {
            line += ' ' + encode(one);
        }
        line += '\n';
        if (write(process_.input(), line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
            throw std::runtime_error("the kazoo peer does not take commands");
        }
        const time_point limit = clock.now() + 60s;
        while (!answers_.contains(tag)) {
            collect();
            if (answers_.contains(tag)) {
                break;
            }
            if (clock.now() > limit || !process_.is_alive()) {
                throw std::runtime_error("the kazoo peer does not answer: " + line);
            }
            co_await async::sleep_for(clock, 1ms, "the kazoo peer");
        }
        answer out = std::move(answers_.at(tag));
        answers_.erase(tag);
        if (!out.is_ok && (out.values.empty() || out.values.front() != tolerated)) {
            std::string text = "kazoo peer: " + line;
            for (const auto& one : out.values) {
                text += ' ' + one;
            }
            throw std::runtime_error(text);
        }
        co_return out;
    }

private:
    void collect() {
        char chunk[65536];
        for (ssize_t got = 0; (got = read(process_.output(), chunk, sizeof chunk)) > 0;) {
            buffer_.append(chunk, static_cast<std::size_t>(got));
        }
        for (std::size_t end = 0; (end = buffer_.find('\n')) != std::string::npos; buffer_.erase(0, end + 1)) {
            std::istringstream fields(buffer_.substr(0, end));
            std::string tag;
            std::string verdict;
            fields >> tag >> verdict;
            answer out;
            out.is_ok = verdict == "ok";
            for (std::string field; fields >> field;) {
                out.values.push_back(decode(field));
            }
            answers_[tag] = std::move(out);
        }
    }

    child_process process_;
    std::string buffer_;
    std::map<std::string, answer> answers_;
    std::uint64_t last_tag_ = 0;
};

// What all cases of a test program share.
struct shared_parts {
    shared_parts() {
        // The port was free when it was looked up; somebody may have been quicker.
        for (int attempt = 1; !server; ++attempt) {
            auto candidate = std::make_unique<zookeeper_server>();
            candidate->start();
            try {
                candidate->wait_serving();
                server = std::move(candidate);
            } catch (const std::runtime_error&) {
                if (attempt == 3) {
                    throw;
                }
            }
        }
        relay = std::make_unique<tcp_relay>(server->port());
    }
    std::unique_ptr<zookeeper_server> server;
    std::unique_ptr<tcp_relay> relay;
    std::unique_ptr<kazoo_process> kazoo;

    static shared_parts* get() {
        static const bool is_possible = has_zookeeper_server();
        if (!is_possible) {
            return nullptr;
        }
        static shared_parts parts;
        return &parts;
    }
    kazoo_process& peer() {
        if (!kazoo) {
            kazoo = std::make_unique<kazoo_process>(server->port());
        }
        return *kazoo;
    }
};

class kazoo_peer final : public peer {
public:
    kazoo_peer(kazoo_process& process, async::timers& clock, std::string chroot)
        : process_(process), clock_(clock), chroot_(std::move(chroot)) {}

    awaitable<void> put(std::string path, std::string data) override {
        co_await process_.ask(clock_, "put", words(full(path), std::move(data)));
    }
    awaitable<void> put_many(std::string path, int count, std::string data) override {
        co_await process_.ask(clock_, "put_many", words(full(path), std::to_string(count), std::move(data)));
    }
    awaitable<void> remove(std::string path) override { co_await process_.ask(clock_, "remove", words(full(path))); }
    awaitable<void> remove_tree(std::string path) override {
        co_await process_.ask(clock_, "remove_tree", words(full(path)));
    }
    awaitable<std::optional<std::string>> get(std::string path) override {
        auto got = co_await process_.ask(clock_, "get", words(full(path)), "NoNodeError");
        co_return got.is_ok ? std::optional(got.values.at(0)) : std::nullopt;
    }
    awaitable<std::optional<peer_stat>> stat(std::string path) override {
        auto got = co_await process_.ask(clock_, "stat", words(full(path)), "NoNodeError");
        if (!got.is_ok) {
            co_return std::nullopt;
        }
        peer_stat out;
        out.czxid = std::stoll(got.values.at(0));
        out.mzxid = std::stoll(got.values.at(1));
        out.version = std::stoi(got.values.at(2));
        out.ephemeral_owner = std::stoll(got.values.at(3));
        co_return out;
    }
    awaitable<std::vector<std::string>> children(std::string path) override {
        auto got = co_await process_.ask(clock_, "children", words(full(path)));
        co_return got.values;
    }
    awaitable<std::vector<std::string>> closed_nodes(std::string path) override {
        auto got = co_await process_.ask(clock_, "closed_nodes", words(full(path)));
        co_return got.values;
    }
    awaitable<std::optional<std::string>> acquire(std::string name, std::string kind, std::string path,
                                                  duration limit) override {
        const double seconds = std::chrono::duration<double>(limit).count();
        auto got = co_await process_.ask(clock_, "acquire",
                                         words(std::move(name), std::move(kind), full(path), std::to_string(seconds)));
        co_return got.values.empty() ? std::nullopt : std::optional(got.values.front().substr(chroot_.size()));
    }
    awaitable<void> release(std::string name) override {
        co_await process_.ask(clock_, "release", words(std::move(name)));
    }
    awaitable<duration> read_phases(std::string path, int count) override {
        auto got = co_await process_.ask(clock_, "read_phases", words(full(path), std::to_string(count)));
        co_return std::chrono::duration_cast<duration>(std::chrono::duration<double>(std::stod(got.values.at(0))));
    }

private:
    template <class... Word>
    static std::vector<std::string> words(Word... word) {
        return {std::move(word)...};
    }
    [[nodiscard]] std::string full(const std::string& path) const {
        return path == "/" && !chroot_.empty() ? chroot_ : chroot_ + path;
    }

    kazoo_process& process_;
    async::timers& clock_;
    std::string chroot_;
};

class real_environment final : public environment {
public:
    real_environment(shared_parts& parts, std::string chroot)
        : parts_(parts), chroot_(std::move(chroot)), peer_(parts.peer(), loop_.clock(), chroot_) {
        restore();
        loop_.run("setting up", [this]() -> awaitable<void> {
            co_await parts_.peer().ask(loop_.clock(), "wipe", {});
            if (!chroot_.empty()) {
                co_await peer_.put("/", "");
            }
        });
    }
    ~real_environment() override { restore(); }

    [[nodiscard]] bool is_simulated() const override { return false; }
    void run(std::function<awaitable<void>()> body) override { loop_.run("case", std::move(body)); }
    async::timers& clock() override { return loop_.clock(); }
    zookeeper::connector& clients() override { return connector_; }
    zookeeper::connection_options options() override {
        zookeeper::connection_options out;
        out.servers = {{"127.0.0.1", parts_.relay->port()}};
        out.chroot = chroot_;
        return out;
    }
    peer& other() override { return peer_; }

    awaitable<void> stop_server() override {
        parts_.server->kill();
        co_return;
    }
    awaitable<void> start_server() override {
        parts_.server->start();
        const time_point limit = loop_.clock().now() + 60s;
        // Not wait_serving(): that would stop the loop and look like a pause of the process.
        while (!parts_.server->is_serving(0.2)) {
            if (loop_.clock().now() > limit) {
                throw std::runtime_error("the ZooKeeper server does not come up");
            }
            co_await async::sleep_for(loop_.clock(), 20ms, "the server");
        }
    }
    void freeze_server() override { parts_.server->freeze(); }
    void thaw_server() override { parts_.server->thaw(); }
    awaitable<void> expire(std::int64_t session) override {
        // Our client must not take the session back while the other one says good-bye.
        parts_.relay->refuse();
        std::vector<std::string> words{std::to_string(session)};
        co_await parts_.peer().ask(loop_.clock(), "expire", std::move(words));
        parts_.relay->listen_again();
    }

    void drop_connections() override { parts_.relay->drop(); }
    void refuse_connections() override { parts_.relay->refuse(); }
    void accept_connections() override { parts_.relay->listen_again(); }
    void silence() override { parts_.relay->set_flow(tcp_relay::flow::none); }
    void hold_answers() override { parts_.relay->set_flow(tcp_relay::flow::to_server); }
    void hold_answers_from_create() override { parts_.relay->hold_from(1); }
    void hold_answers_from_delete() override { parts_.relay->hold_from(2); }
    void let_pass() override {
        parts_.relay->hold_from(-1);
        parts_.relay->set_flow(tcp_relay::flow::both);
    }
    awaitable<std::size_t> watches() override {
        const std::string answer = parts_.server->ask("wchs");
        const auto at = answer.find("Total watches:");
        co_return at == std::string::npos ? 0 : std::stoul(answer.substr(at + 14));
    }
    std::uint64_t attempts() override { return parts_.relay->accepted(); }
    std::uint64_t turns() override { return loop_.turns(); }
    void set_lag(duration /*lag*/) override {}
    awaitable<void> stand_still(duration time) override {
        // The loop's thread stops; the relay's goes on, so answers reach our socket.
        usleep(static_cast<useconds_t>(std::chrono::duration_cast<std::chrono::microseconds>(time).count()));
        co_return;
    }

private:
    void restore() {
        parts_.server->thaw();
        if (!parts_.server->is_running()) {
            parts_.server->start();
            parts_.server->wait_serving();
        }
        let_pass();
        parts_.relay->slam(false);
        parts_.relay->listen_again();
    }

    shared_parts& parts_;
    async::real_loop loop_;
    async::thread_offload pool_{loop_.context()};
    zookeeper::c_connector connector_{loop_.clock(), pool_, random_source(std::random_device()()),
                                      [this] { loop_.check_pause(); }};
    async::real_loop::pause_observer pauses_{loop_, [this](boot_time before) { connector_.on_pause(before); }};
    std::string chroot_;
    kazoo_peer peer_;
};

}  // namespace

std::unique_ptr<environment> make_real_environment(const std::string& chroot) {
    shared_parts* parts = shared_parts::get();
    return parts == nullptr ? nullptr : std::make_unique<real_environment>(*parts, chroot);
}

std::uint16_t real_server_port() {
    return shared_parts::get()->server->port();
}

std::unique_ptr<environment> make_environment(const std::string& kind) {
    const std::string chroot = kind.ends_with("_chroot") ? "/pvc" : "";
    return kind.starts_with("memory") ? make_memory_environment(chroot) : make_real_environment(chroot);
}

}  // namespace pvc::contract
