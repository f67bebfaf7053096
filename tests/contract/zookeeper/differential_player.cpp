#include "contract/zookeeper/differential_player.hpp"

namespace pvc::contract::differential {

namespace {

constexpr duration no_answer_within = 20ms;

}  // namespace

transcript player::play() {
    world_.run([this] { return with_task_group("clients", [this](task_group& group) { return main(group); }); });
    watched_.clear();
    return std::move(out_);
}

awaitable<void> player::main(task_group& group) {
    out_.steps.emplace_back();
    for (std::size_t i = 0; i < clients; ++i) {
        co_await open(i, group);
    }
    for (const std::string path : {"/keep", "/c0", "/c1"}) {
        auto made = co_await zk(0).create(soon(), resolved(path), "");
        require(static_cast<bool>(made), path);
    }
    out_.steps.clear();
    for (const auto& one : scenario_.steps) {
        out_.steps.emplace_back();
        ++out_.seen[std::string(to_text(one.what))];
        co_await execute(one, group);
        co_await barrier();
        if (!out_.problems.empty()) {
            break;
        }
    }
    watched_.clear();
    for (std::size_t i = 0; i < requesters; ++i) {
        zk(i).set_watch_sink(nullptr);  // what they hear of each other's end is no step
    }
    for (std::size_t i = 0; i < clients; ++i) {
        co_await close(i);
    }
}

awaitable<void> player::execute(const step& what, task_group& group) {
    const std::uint64_t connections = zk(what.client).state().value().connections;
    switch (what.what) {
        case step_kind::single: co_await say(what.client, what.requests.front(), 20s); break;
        case step_kind::pipeline: co_await land(what.client, launch(what.client, what.requests, true)); break;
        case step_kind::together: co_await together(what); break;
        case step_kind::drop:
            world_.drop(what.client);
            co_await reconnected(what.client, connections);
            break;
        case step_kind::lost_answers: co_await lose_answers(what); break;
        case step_kind::late_answers: co_await be_late(what); break;
        case step_kind::no_way: co_await have_no_way(what); break;
        case step_kind::reopen:
            if (what.client < requesters) {
                co_await close(what.client);
                co_await open(what.client, group);
            }
            break;
        case step_kind::expire: co_await expire(what, group); break;
        case step_kind::watch: {
            auto key = sessions_[what.client]->watches->add(resolved(what.path), what.watch, published_);
            watched_.push_back({std::move(key), what.watch});
            auto settled = co_await sessions_[what.client]->watches->settle(soon());
            note(what.client, "settled " + code_of(settled));
            break;
        }
        case step_kind::unwatch:
            if (!watched_.empty()) {
                watched_.erase(watched_.begin() + static_cast<std::ptrdiff_t>(what.number % watched_.size()));
            }
            break;
        case step_kind::look_at_watched: co_await look_at_watched(); break;
        case step_kind::contend: co_await contend(what); break;
        case step_kind::dump: co_await dump(); break;
    }
}

awaitable<void> player::together(const step& what) {
    const auto after = co_await stamp();
    auto first = launch(0, what.requests, false);
    auto second = launch(1, what.others, false);
    co_await land(0, std::move(first));
    co_await land(1, std::move(second));
    out_.steps.back().after_zxid = after;
    out_.steps.back().before_zxid = co_await stamp();
}

// A write whose transaction number says where we are.
awaitable<std::int64_t> player::stamp() {
    transaction what;
    what.overwrite(resolved("/keep"), "");
    auto done = co_await zk(0).commit(soon(), what);
    require(static_cast<bool>(done), "a mark");
    co_return done ? done->stats.front().mzxid : 0;
}

awaitable<void> player::lose_answers(const step& what) {
    const std::size_t other = 1 - what.client;
    const std::uint64_t connections = zk(what.client).state().value().connections;
    // The last of them shows to the other client that all were executed.
    auto requests = what.requests;
    request mark;
    mark.what = request::kind::create;
    mark.path = "/mark" + std::to_string(++marks_);
    requests.push_back(mark);
    world_.hold_answers(what.client);
    auto all = launch(what.client, requests, false);
    const time_point end = soon();
    for (bool is_there = false; !is_there && world_.clock().now() < end;) {
        auto seen = co_await zk(other).exists(soon(), resolved(mark.path));
        is_there = static_cast<bool>(seen);
        if (!is_there) {
            co_await async::sleep_for(world_.clock(), 1ms, "a mark");
        }
    }
    world_.drop(what.client);
    co_await land(what.client, std::move(all));
    world_.let_pass(what.client);
    co_await reconnected(what.client, connections);
}

awaitable<void> player::be_late(const step& what) {
    world_.hold_answers(what.client);
    co_await say(what.client, what.requests.front(), no_answer_within);
    world_.let_pass(what.client);
}

awaitable<void> player::have_no_way(const step& what) {
    auto& state = zk(what.client).state();
    const std::uint64_t connections = state.value().connections;
    world_.refuse(what.client);
    auto away = co_await eventually([&state] { return state.value().now == link::suspended; });
    require(away, "suspension");
    co_await say(what.client, what.requests.front(), no_answer_within);
    const std::size_t other = 1 - what.client;
    co_await land(other, launch(other, what.others, true));
    world_.accept(what.client);
    co_await reconnected(what.client, connections);
}

awaitable<void> player::expire(const step& what, task_group& group) {
    auto& state = zk(what.client).state();
    world_.refuse(what.client);
    auto away = co_await eventually([&state] { return state.value().now == link::suspended; });
    require(away, "suspension");
    co_await world_.expire(state.value().session_id);
    world_.accept(what.client);
    auto over = co_await eventually([&state] { return state.value().now == link::lost; });
    require(over, "the loss of the session");
    note(what.client, state.value().reason);
    co_await say(what.client, what.requests.front(), 20s);
    co_await close(what.client);
    co_await open(what.client, group);
}

awaitable<void> player::dump() {
    std::vector<std::string> paths{scenario_.is_chrooted ? "/" : std::string(home)};
    while (!paths.empty()) {
        request what;
        what.path = std::move(paths.back());
        paths.pop_back();
        what.what = request::kind::get;
        auto value = co_await in_words(zk(0), what, soon());
        note_answer(0, what, value, false);
        what.what = request::kind::children;
        auto names = co_await in_words(zk(0), what, soon());
        note_answer(0, what, names, false);
        for (const auto& name : names.names) {
            paths.push_back((what.path == "/" ? "" : what.path) + '/' + name);
        }
    }
}

// --- sessions
// ---------------------------------------------------------------------------------------------------------

namespace {

struct noting_sink final : zookeeper::watch_sink {
    explicit noting_sink(std::function<void(std::string)> take) : note(std::move(take)) {}
    void on_watch_event(const watch_event& event) override {
        note("event " + event_recorder::text(event.kind) + ' ' + event.path);
    }
    std::function<void(std::string)> note;
};

}  // namespace

awaitable<void> player::open(std::size_t client, task_group& group) {
    auto session = std::make_shared<live_session>();
    session->zk = world_.open(client, scenario_.is_chrooted ? std::string(home) : "");
    if (client < requesters) {
        session->sink =
            std::make_unique<noting_sink>([this, client](std::string text) { note(client, std::move(text), true); });
        session->zk->set_watch_sink(session->sink.get());
    } else {
        const std::string name = "hv" + std::to_string(client);
        session->watches = std::make_unique<watch_set>(*session->zk, world_.clock());
        session->locks = std::make_unique<lock_service>(*session->zk, *session->watches, world_.clock(),
                                                        random_source(scenario_.seed).split(name), name, 4711, log_);
    }
    sessions_[client] = session;
    group.spawn("client " + std::to_string(client), [session] { return live(*session); });
    auto connected = co_await session->zk->wait_connected(soon());
    require(static_cast<bool>(connected), "a connection");
    owners_[session->zk->state().value().session_id] =
        "client " + std::to_string(client) + " session " + std::to_string(++opened_[client]);
}

awaitable<void> player::live(live_session& session) {
    co_await with_task_group("session", [&session](task_group& group) -> awaitable<void> {
        group.spawn("connection", [&session] { return session.zk->run(); });
        if (session.watches) {
            group.spawn("watches", [&session] { return session.watches->run(); });
            group.spawn("reaper", [&session] { return session.locks->run(); });
        }
        co_await session.stop.wait(async::wait_note::work("the end of a session"));
        group.cancel();
    });
    session.is_ended = true;
    session.ended.notify();
}

awaitable<void> player::close(std::size_t client) {
    const auto session = std::exchange(sessions_[client], nullptr);
    session->stop.notify();
    const bool ended = co_await session->ended.wait_until(world_.clock(), soon(), "the end of a session");
    require(ended, "the end of a session");
}

awaitable<void> player::reconnected(std::size_t client, std::uint64_t connections) {
    auto& state = zk(client).state();
    auto back = co_await eventually([&state, connections] {
        return state.value().now == link::connected && state.value().connections > connections;
    });
    require(back, "another connection");
}

}  // namespace pvc::contract::differential
