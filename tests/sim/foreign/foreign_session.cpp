#include "sim/foreign/foreign_session.hpp"

#include "pvcnoded/async/task_group.hpp"

#include <algorithm>

// Scopes keep the callable they are given until its coroutine has ended.

namespace pvc::sim {

using namespace std::chrono_literals;
using zookeeper::watching;

namespace {

constexpr duration request_limit = 10s;
constexpr duration retry_delay = 100ms;

// What the library repeats by itself once there is a connection again.
bool is_connection_trouble(const failure& error) {
    switch (error.code()) {
        case errc::suspended:
        case errc::session_lost:
        case errc::timed_out:
        case errc::outcome_unknown: return true;
        default: return false;
    }
}

}  // namespace

foreign_session::foreign_session(zookeeper::connector& connector, async::timers& clock, duration before_new_session)
    : connector_(connector), clock_(clock), before_new_session_(before_new_session) {}

foreign_session::~foreign_session() {
    if (client_) {
        client_->set_watch_sink(nullptr);
    }
}

time_point foreign_session::limit() const {
    return clock_.now() + request_limit;
}

async::awaitable<void> foreign_session::run() {
    for (;;) {
        client_ = connector_.open({});
        client_->set_watch_sink(this);
        co_await async::with_task_group("session",
                                        [this, one = client_](async::task_group& group) -> async::awaitable<void> {
                                            group.spawn("links", [this, one] { return follow(one); });
                                            co_await one->run();
                                            group.cancel();
                                        });
        client_->set_watch_sink(nullptr);
        links_.set(links_.version() + 1);
        co_await async::sleep_for(clock_, before_new_session_, "the next session");
    }
}

async::awaitable<void> foreign_session::follow(shared_client one) {
    async::wakeup changed;
    const async::latest<zookeeper::session_state>::observer observer(one->state(), changed);
    std::uint64_t connections = 0;
    for (;;) {
        co_await changed.wait(async::wait_note::work("the state of the connection"));
        links_.set(links_.version() + 1);
        const auto& state = one->state().value();
        if (state.now == zookeeper::link::connected && state.connections != connections) {
            connections = state.connections;
            for (const auto& watch : watches_) {
                enqueue(watch.path);
            }
        }
    }
}

async::awaitable<foreign_session::shared_client> foreign_session::connected() {
    async::wakeup changed;
    const async::latest<std::uint64_t>::observer observer(links_, changed);
    while (!client_ || !client_->is_connected()) {
        co_await changed.wait(async::wait_note::work("a connection to ZooKeeper"));
    }
    co_return client_;
}

async::awaitable<bool> foreign_session::wait_connected(duration limit) {
    async::wakeup changed;
    const async::latest<std::uint64_t>::observer observer(links_, changed);
    const time_point until = clock_.now() + limit;
    while (!client_ || !client_->is_connected()) {
        const bool news = co_await changed.wait_until(clock_, until, "the first connection to ZooKeeper");
        if (!news) {
            co_return false;
        }
    }
    co_return true;
}

async::awaitable<foreign_session::stored> foreign_session::read(std::string path) {
    for (;;) {
        const shared_client now = co_await connected();
        auto outcome = co_await now->get(limit(), path);
        if (outcome) {
            co_return *std::move(outcome);
        }
        if (!is_connection_trouble(outcome.error())) {
            co_return std::nullopt;
        }
        co_await async::sleep_for(clock_, retry_delay, "another attempt to read");
    }
}

async::awaitable<std::vector<std::string>> foreign_session::children(std::string path) {
    for (;;) {
        const shared_client now = co_await connected();
        auto outcome = co_await now->children(limit(), path);
        if (outcome) {
            co_return std::move(outcome->names);
        }
        if (!is_connection_trouble(outcome.error())) {
            co_return std::vector<std::string>();
        }
        co_await async::sleep_for(clock_, retry_delay, "another attempt to list");
    }
}

async::awaitable<void> foreign_session::remove(std::string path) {
    for (;;) {
        const shared_client now = co_await connected();
        auto outcome = co_await now->remove(limit(), path, zookeeper::any_version);
        if (outcome || !is_connection_trouble(outcome.error())) {
            co_return;
        }
        co_await async::sleep_for(clock_, retry_delay, "another attempt to delete");
    }
}

async::awaitable<bool> foreign_session::write(std::vector<model::key_value> pairs) {
    for (;;) {
        zookeeper::transaction change;
        for (const auto& pair : pairs) {
            const stored before = co_await read(pair.path);
            if (before) {
                change.overwrite(pair.path, pair.value);
                change.check(pair.path, before->stat.version + 1);
            } else {
                change.create(pair.path, pair.value);
            }
        }
        const shared_client now = co_await connected();
        auto outcome = co_await now->commit(limit(), std::move(change));
        if (outcome || !is_connection_trouble(outcome.error())) {
            co_return outcome.has_value();
        }
        co_await async::sleep_for(clock_, retry_delay, "another attempt to write");
    }
}

async::awaitable<bool> foreign_session::write(std::string path, std::string value) {
    std::vector<model::key_value> one;
    one.push_back({std::move(path), std::move(value)});
    co_return co_await write(std::move(one));
}

async::awaitable<result<std::string>> foreign_session::create_child(std::string prefix, std::string data) {
    const shared_client now = co_await connected();
    auto outcome =
        co_await now->create(limit(), std::move(prefix), std::move(data), zookeeper::create_mode::ephemeral_sequential);
    if (!outcome) {
        co_return std::move(outcome).error();
    }
    co_return std::move(outcome->path);
}

void foreign_session::watch(std::string path, change_handler handler) {
    watches_.push_back({path, std::move(handler), std::nullopt});
    enqueue(std::move(path));
}

async::awaitable<bool> foreign_session::wake_at_event(std::string path, async::wakeup& target) {
    for (;;) {
        const shared_client now = co_await connected();
        wakes_.emplace(path, &target);
        auto outcome = co_await now->get(limit(), path, watching::yes);
        if (outcome) {
            co_return true;
        }
        forget(target);
        if (!is_connection_trouble(outcome.error())) {
            co_return false;
        }
        co_await async::sleep_for(clock_, retry_delay, "another attempt to watch");
    }
}

void foreign_session::forget(const async::wakeup& target) {
    std::erase_if(wakes_, [&target](const auto& entry) { return entry.second == &target; });
}

void foreign_session::on_watch_event(const zookeeper::watch_event& event) {
    enqueue(event.path);
}

void foreign_session::enqueue(std::string path) {
    queue_.push_back(std::move(path));
    work_.notify();
}

async::awaitable<void> foreign_session::dispatch() {
    for (;;) {
        while (queue_.empty()) {
            co_await work_.wait(async::wait_note::work("watch events"));
        }
        const std::string path = std::move(queue_.front());
        queue_.pop_front();
        const auto [first, last] = wakes_.equal_range(path);
        std::for_each(first, last, [](const auto& entry) { entry.second->notify(); });
        wakes_.erase(first, last);
        // By index: a handler may add watches.
        for (std::size_t i = 0; i < watches_.size(); ++i) {
            if (watches_[i].path == path) {
                co_await look_again(watches_[i]);
            }
        }
    }
}

async::awaitable<foreign_session::stored> foreign_session::read_watching(std::string path) {
    for (;;) {
        const shared_client now = co_await connected();
        auto outcome = co_await now->get(limit(), path, watching::yes);
        if (outcome) {
            co_return *std::move(outcome);
        }
        if (outcome.error().code() == errc::not_found) {
            auto presence = co_await now->exists(limit(), path, watching::yes);
            if (!presence && presence.error().code() == errc::not_found) {
                co_return std::nullopt;
            }
        } else {
            co_await async::sleep_for(clock_, retry_delay, "another attempt to watch");
        }
    }
}

async::awaitable<void> foreign_session::look_again(data_watch& one) {
    const stored now = co_await read_watching(one.path);
    const std::int64_t id = now ? now->stat.mzxid : 0;
    if (one.seen == id) {
        co_return;
    }
    one.seen = id;
    co_await one.handler(now);
}

}  // namespace pvc::sim
