#include "contract/support/tcp_relay.hpp"
#include "contract/zookeeper/differential_scenario.hpp"
#include "contract/zookeeper/differential_world.hpp"
#include "contract/zookeeper/environment.hpp"
#include "sim/sim_context.hpp"
#include "sim/zookeeper/memory_client.hpp"

#include <array>

namespace pvc::contract::differential {

namespace {

class memory_world final : public world {
public:
    explicit memory_world(const alteration& alter) {
        ensemble_.put(std::string(home), "");
        for (auto& one : ways_) {
            one = std::make_unique<sim::memory_connector>(ensemble_);
        }
        if (alter) {
            alter(ensemble_, link(0));
        }
    }

    void run(std::function<awaitable<void>()> body) override { loop_.run(std::move(body)); }
    async::timers& clock() override { return loop_.clock(); }
    std::unique_ptr<zookeeper::client> open(std::size_t client, const std::string& chroot) override {
        zookeeper::connection_options options;
        options.servers = {{"zk1", 2181}};
        options.chroot = chroot;
        return ways_[client]->open(std::move(options));
    }
    void drop(std::size_t client) override { link(client).drop(); }
    void refuse(std::size_t client) override { link(client).cut(); }
    void accept(std::size_t client) override { link(client).mend(); }
    void hold_answers(std::size_t client) override { link(client).hold_answers(); }
    void let_pass(std::size_t client) override { link(client).release_answers(); }
    awaitable<void> expire(std::int64_t session) override {
        ensemble_.expire_session(session);
        co_return;
    }

private:
    sim::memory_link& link(std::size_t client) { return ways_[client]->link(); }
    static sim::ensemble_settings settings() {
        sim::ensemble_settings out;
        out.session_timeout_min = 1s;
        out.session_timeout_max = 10s;
        return out;
    }
    sim::sim_loop loop_;
    sim::memory_ensemble ensemble_{loop_.clock(), settings()};
    std::array<std::unique_ptr<sim::memory_connector>, clients> ways_;
};

class real_world final : public world {
public:
    explicit real_world(std::unique_ptr<environment> env) : env_(std::move(env)) {
        for (auto& one : relays_) {
            one = std::make_unique<tcp_relay>(real_server_port());
        }
    }

    void run(std::function<awaitable<void>()> body) override { env_->run(std::move(body)); }
    async::timers& clock() override { return env_->clock(); }
    std::unique_ptr<zookeeper::client> open(std::size_t client, const std::string& chroot) override {
        auto options = env_->options();
        options.servers = {{"127.0.0.1", relays_[client]->port()}};
        options.chroot = chroot;
        return env_->clients().open(std::move(options));
    }
    void drop(std::size_t client) override { relays_[client]->drop(); }
    void refuse(std::size_t client) override { relays_[client]->refuse(); }
    void accept(std::size_t client) override { relays_[client]->listen_again(); }
    void hold_answers(std::size_t client) override { relays_[client]->set_flow(tcp_relay::flow::to_server); }
    void let_pass(std::size_t client) override { relays_[client]->set_flow(tcp_relay::flow::both); }
    awaitable<void> expire(std::int64_t session) override { co_await env_->expire(session); }

private:
    std::unique_ptr<environment> env_;
    std::array<std::unique_ptr<tcp_relay>, clients> relays_;
};

}  // namespace

std::unique_ptr<world> make_memory_world(const alteration& alter) {
    return std::make_unique<memory_world>(alter);
}

std::unique_ptr<world> make_real_world() {
    auto env = make_real_environment(std::string(home));
    return env == nullptr ? nullptr : std::make_unique<real_world>(std::move(env));
}

}  // namespace pvc::contract::differential
