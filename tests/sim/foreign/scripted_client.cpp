// tidy-allow-file(sleep): its own sleep() is on the simulated clock
#include "sim/foreign/scripted_client.hpp"

#include "pvcnoded/async/task_group.hpp"
#include "sim/foreign/foreign_lock.hpp"

// Scopes keep the callable they are given until its coroutine has ended.

namespace pvc::sim {

using namespace std::chrono_literals;

namespace {

constexpr duration ask_interval = 1s;
constexpr duration thinking = 4ms;  // of the client before each command and after each look
constexpr duration reconnect_delay = 100ms;
constexpr std::size_t garbage_limit = 64;
constexpr duration state_lock_hold = 500ms;
const std::string primary_key = "/config/primary_node";

}  // namespace

scripted_client::scripted_client(sim_loop& loop, memory_ensemble& ensemble, std::uint64_t seed)
    : loop_(loop),
      random_(random_source(seed).split("client")),
      process_(loop, ensemble),
      session_(std::make_unique<foreign_session>(process_.connector(), process_.clock(), reconnect_delay)) {
    process_.start("client", [this] { return serve(); });
}

scripted_client::~scripted_client() {
    process_.kill();
}

void scripted_client::add(command one) {
    commands_.push_back(std::move(one));
    work_.notify();
}

void scripted_client::set_primary(std::string node) {
    add([this, node] { return change_primary(node, true); });
}
void scripted_client::set_secondary(std::string node) {
    add([this, node] { return change_primary(node, false); });
}
void scripted_client::ready_node(std::string node, bool wait) {
    add([this, node, wait] { return change_domain_state(node, "unflush", "ready", wait); });
}
void scripted_client::flush_node(std::string node, bool wait) {
    add([this, node, wait] { return change_domain_state(node, "flush", "flushed", wait); });
}
void scripted_client::set_maintenance(bool on) {
    put({{"/config/maintenance", on ? "true" : "false"}});
}
void scripted_client::set_state(std::string domain, std::string state) {
    std::vector<model::key_value> pairs;
    pairs.push_back({"/domains/" + domain + "/state", std::move(state)});
    add([this, domain, pairs] { return change_locked(domain, pairs); });
}
void scripted_client::place(std::string domain, std::string state, std::string node, std::string last_node) {
    const std::string root = "/domains/" + domain;
    std::vector<model::key_value> pairs;
    pairs.push_back({root + "/state", std::move(state)});
    pairs.push_back({root + "/node", std::move(node)});
    pairs.push_back({root + "/lastnode", std::move(last_node)});
    add([this, domain, pairs] { return change_locked(domain, pairs); });
}
void scripted_client::put(std::vector<model::key_value> pairs) {
    add([this, pairs] { return write(pairs); });
}
void scripted_client::remove(std::string path) {
    add([this, path] { return remove_tree(path); });
}
void scripted_client::garbage(std::string path) {
    add([this, path] { return write_garbage(path); });
}
void scripted_client::pause(duration time) {
    add([this, time] { return sleep(time); });
}

bool scripted_client::run(duration limit) {
    const time_point until = loop_.clock().now() + limit;
    loop_.run_until([&] { return is_idle() || loop_.clock().now() > until; });
    return is_idle();
}

async::awaitable<void> scripted_client::serve() {
    co_await async::with_task_group("client", [this](async::task_group& group) -> async::awaitable<void> {
        group.spawn("zookeeper", [this] { return session_->run(); });
        group.spawn("callbacks", [this] { return session_->dispatch(); });
        co_await serve_commands();
    });
}

async::awaitable<void> scripted_client::serve_commands() {
    for (;;) {
        while (commands_.empty()) {
            co_await work_.wait(async::wait_note::work("commands"));
        }
        is_busy_ = true;
        const command next = std::move(commands_.front());
        commands_.pop_front();
        co_await sleep(thinking);
        co_await next();
        is_busy_ = false;
    }
}

async::awaitable<void> scripted_client::sleep(duration time) {
    co_await async::sleep_for(process_.clock(), time, "the script");
}

async::awaitable<std::string> scripted_client::value(std::string path) {
    const auto stored = co_await session_->read(std::move(path));
    co_return stored ? stored->data : std::string();
}

async::awaitable<void> scripted_client::write(std::vector<model::key_value> pairs) {
    co_await session_->write(std::move(pairs));
}

async::awaitable<void> scripted_client::change_primary(std::string node, bool to_primary) {
    const std::string root = "/nodes/" + node;
    const std::string mode = co_await value(root + "/daemonmode");
    const std::string state = co_await value(root + "/daemonstate");
    const std::string role = co_await value(root + "/routerstate");
    if (mode.empty() || mode == "hypervisor" || state != "run" || role == (to_primary ? "primary" : "secondary")) {
        ++refusals_;
        co_return;
    }
    co_await session_->write(primary_key, to_primary ? node : "none");
}

async::awaitable<void> scripted_client::change_domain_state(std::string node, std::string request, std::string end,
                                                            bool wait) {
    const std::string key = "/nodes/" + node + "/domainstate";
    const std::string before = co_await value(key);
    if (before.empty() || before == end) {
        ++refusals_;
        co_return;
    }
    co_await session_->write(key, request);
    for (bool is_done = !wait; !is_done;) {
        co_await sleep(ask_interval);
        const std::string now = co_await value(key);
        is_done = now != request;
        co_await sleep(thinking);
    }
}

async::awaitable<void> scripted_client::change_locked(std::string domain, std::vector<model::key_value> pairs) {
    foreign_lock lock(*session_, random_, "/domains/" + domain + "/state", model::lock_kind::exclusive);
    co_await lock.acquire(std::nullopt);
    co_await session_->write(std::move(pairs));
    co_await sleep(state_lock_hold);
    co_await lock.release();
}

async::awaitable<void> scripted_client::remove_tree(std::string path) {
    const auto children = co_await session_->children(path);
    for (const auto& child : children) {
        co_await remove_tree(path + "/" + child);
    }
    co_await session_->remove(path);
}

async::awaitable<void> scripted_client::write_garbage(std::string path) {
    std::string bytes(random_.below(garbage_limit), '\0');
    for (char& byte : bytes) {
        byte = static_cast<char>(random_.below(256));
    }
    co_await session_->write(std::move(path), std::move(bytes));
}

}  // namespace pvc::sim
