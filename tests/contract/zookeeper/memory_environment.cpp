#include "contract/zookeeper/environment.hpp"

#include "pvcnoded/model/lock_name.hpp"
#include "sim/sim_context.hpp"
#include "sim/zookeeper/memory_client.hpp"

#include <map>
#include <stdexcept>

namespace pvc::contract {

namespace {

using sim::memory_connector;
using sim::memory_ensemble;
using sim::sim_loop;

// Somebody else with the lock recipe of kazoo 2.8.0, its reader's mistake included: it takes the last write contender
// of all for its predecessor (zookeeper-schema.md 4.3).
class memory_peer final : public peer {
public:
    memory_peer(sim_loop& loop, memory_ensemble& ensemble, std::string chroot)
        : loop_(loop), ensemble_(ensemble), chroot_(std::move(chroot)), session_(ensemble.open_session()) {}

    awaitable<void> put(std::string path, std::string data) override {
        co_await round_trip();
        ensemble_.put(full(path), data);
    }
    awaitable<void> put_many(std::string path, int count, std::string data) override {
        co_await round_trip();
        for (int i = 0; i < count; ++i) {
            ensemble_.put(full(path) + '/' + std::to_string(i), data);
        }
    }
    awaitable<void> remove(std::string path) override {
        co_await round_trip();
        require(ensemble_.remove(full(path)));
    }
    awaitable<void> remove_tree(std::string path) override {
        co_await round_trip();
        ensemble_.remove_tree(full(path));
    }
    awaitable<std::optional<std::string>> get(std::string path) override {
        co_await round_trip();
        co_return ensemble_.get(full(path));
    }
    awaitable<std::optional<peer_stat>> stat(std::string path) override {
        co_await round_trip();
        const auto found = ensemble_.exists(full(path));
        if (!found) {
            co_return std::nullopt;
        }
        co_return peer_stat{found->czxid, found->mzxid, found->version, found->ephemeral_owner};
    }
    awaitable<std::vector<std::string>> children(std::string path) override {
        co_await round_trip();
        co_return ensemble_.children(full(path));
    }
    awaitable<std::vector<std::string>> closed_nodes(std::string /*path*/) override {
        co_await round_trip();
        co_return std::vector<std::string>();  // there are no access lists here
    }

    awaitable<std::optional<std::string>> acquire(std::string name, std::string kind, std::string path,
                                                  duration limit) override {
        co_await round_trip();
        const std::string parent = full(path);
        if (!ensemble_.exists(parent)) {
            ensemble_.put(parent, "");
        }
        const std::string tag = kind == "read" ? "__rlock__" : "__lock__";
        const auto made = ensemble_.create(parent + '/' + make_guid(random_) + tag, "kazoo peer",
                                           zookeeper::create_mode::ephemeral_sequential, session_);
        require(made);
        const std::string own = made->substr(parent.size() + 1);
        const time_point end = loop_.clock().now() + limit;
        for (;;) {
            const auto predecessor = predecessor_of(own, kind, ensemble_.children(parent));
            if (!predecessor) {
                held_[name] = *made;
                co_return made->substr(chroot_.size());
            }
            while (ensemble_.exists(parent + '/' + *predecessor)) {
                if (loop_.clock().now() >= end) {
                    ensemble_.remove(*made);
                    co_return std::nullopt;
                }
                co_await loop_.sleep(1ms);
            }
        }
    }
    awaitable<void> release(std::string name) override {
        co_await round_trip();
        require(ensemble_.remove(held_.at(name)));
        held_.erase(name);
    }
    awaitable<duration> read_phases(std::string path, int count) override {
        duration longest{};
        for (int i = 0; i < count; ++i) {
            const time_point start = loop_.clock().now();
            auto got = co_await acquire("phase", "read", path, 10s);
            longest = std::max(longest, loop_.clock().now() - start);
            if (got) {
                co_await release("phase");
            }
        }
        co_return longest;
    }

private:
    awaitable<void> round_trip() { co_await loop_.sleep(1ms); }
    [[nodiscard]] std::string full(const std::string& path) const { return path == "/" ? chroot_ : chroot_ + path; }
    template <class T>
    static void require(const result<T>& outcome) {
        if (!outcome) {
            throw std::runtime_error(outcome.error().text());
        }
    }
    static std::optional<std::string> predecessor_of(const std::string& own, const std::string& kind,
                                                     const std::vector<std::string>& names) {
        std::map<std::int64_t, std::string> contenders;
        for (const auto& name : names) {
            const auto child = model::parse_lock_child(name);
            if (child && (child->tag == model::lock_tag::lock || kind == "write")) {
                contenders[child->sequence] = name;
            }
        }
        std::optional<std::string> predecessor;
        for (const auto& [sequence, name] : contenders) {
            if (name == own) {
                break;  // never reached by a reader: that is the mistake
            }
            predecessor = name;
        }
        return predecessor;
    }

    sim_loop& loop_;
    memory_ensemble& ensemble_;
    std::string chroot_;
    std::int64_t session_;
    random_source random_{7};
    std::map<std::string, std::string> held_;
};

class memory_environment final : public environment {
public:
    explicit memory_environment(std::string chroot) : chroot_(std::move(chroot)), peer_(loop_, ensemble_, chroot_) {
        if (!chroot_.empty()) {
            ensemble_.put(chroot_, "");
        }
    }

    [[nodiscard]] bool is_simulated() const override { return true; }
    void run(std::function<awaitable<void>()> body) override { loop_.run(std::move(body)); }
    async::timers& clock() override { return loop_.clock(); }
    zookeeper::connector& clients() override { return connector_; }
    zookeeper::connection_options options() override {
        zookeeper::connection_options out;
        out.servers = {{"zk1", 2181}};
        out.chroot = chroot_;
        return out;
    }
    peer& other() override { return peer_; }

    awaitable<void> stop_server() override {
        ensemble_.stop();
        co_return;
    }
    awaitable<void> start_server() override {
        ensemble_.start();
        co_return;
    }
    void freeze_server() override { ensemble_.freeze(); }
    void thaw_server() override { ensemble_.thaw(); }
    awaitable<void> expire(std::int64_t session) override {
        ensemble_.expire_session(session);
        co_return;
    }

    void drop_connections() override { connector_.link().drop(); }
    void refuse_connections() override { connector_.link().cut(); }
    void accept_connections() override { connector_.link().mend(); }
    void silence() override { connector_.link().silence(); }
    void hold_answers() override { connector_.link().hold_answers(); }
    void hold_answers_from_create() override { hold_from(zookeeper::request::kind::create); }
    void hold_answers_from_delete() override { hold_from(zookeeper::request::kind::remove); }
    void let_pass() override {
        connector_.link().on_request = nullptr;
        connector_.link().end_silence();
        connector_.link().release_answers();
    }
    awaitable<std::size_t> watches() override { co_return ensemble_.watches(""); }
    std::uint64_t attempts() override { return ensemble_.counters().connection_attempts; }
    std::uint64_t turns() override { return loop_.context().steps(); }
    void set_lag(duration lag) override { connector_.link().lag = lag; }
    awaitable<void> stand_still(duration time) override {
        connector_.link().pause();
        co_await loop_.sleep(time);
        connector_.link().resume();
    }

private:
    void hold_from(zookeeper::request::kind what) {
        connector_.link().on_request = [this, what](const zookeeper::request& one) {
            if (one.what == what) {
                connector_.link().hold_answers();
            }
            return sim::verdict::answer;
        };
    }
    static sim::ensemble_settings settings() {
        sim::ensemble_settings out;
        out.session_timeout_min = 1s;
        out.session_timeout_max = 10s;
        return out;
    }
    sim_loop loop_;
    memory_ensemble ensemble_{loop_.clock(), settings()};
    memory_connector connector_{ensemble_};
    std::string chroot_;
    memory_peer peer_;
};

}  // namespace

std::unique_ptr<environment> make_memory_environment(const std::string& chroot) {
    return std::make_unique<memory_environment>(chroot);
}

}  // namespace pvc::contract
