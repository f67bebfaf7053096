// tidy-allow-file(sleep): its waits are on the simulated clock
#include "sim/foreign/foreign_migration.hpp"

#include "pvcnoded/async/completion.hpp"
#include "pvcnoded/async/task_group.hpp"
#include "pvcnoded/base/text.hpp"
#include "pvcnoded/model/schema.hpp"

#include <algorithm>

// Scopes keep the callable they are given until its coroutine has ended.

namespace pvc::sim {

using namespace std::chrono_literals;

namespace {

constexpr duration no_limit = 100'000s;
constexpr duration new_session = 100ms;
constexpr int live_tries = 3;

bool is_migration(const std::string& state) {
    return state == "migrate" || state == "migrate-live";
}

}  // namespace

foreign_migration::foreign_migration(foreign_session& session, random_source random, sim_datacentre& centre,
                                     std::string node, const foreign_migration_times& wanted)
    : times(wanted), session_(session), random_(std::move(random)), centre_(centre), node_(std::move(node)) {}

foreign_migration::~foreign_migration() {
    for (const auto& one : domains_) {
        if (one.driver) {
            centre_.kill(*one.driver);
        }
    }
}

bool foreign_migration::is_busy(const uuid& id) const {
    return std::ranges::any_of(domains_, [&](const domain& one) { return one.id == id && one.is_busy; });
}

async::awaitable<void> foreign_migration::load_list() {
    const auto stored = co_await session_.read("/nodes/" + node_ + "/runningdomains");
    if (stored) {
        for (const auto word : split_blanks(stored->data)) {
            listed_.emplace_back(word);
        }
    }
}

void foreign_migration::follow(const uuid& id) {
    domain& one = domains_.emplace_back();
    one.id = id;
    one.root = model::domain_path(to_text(id));
    // Each change starts a thread of its own.
    session_.watch(one.root + "/state", [this, &one](const foreign_session::stored& now) -> async::awaitable<void> {
        if (now) {
            passes_->spawn("pass", [this, &one] { return pass(one); });
        } else {
            one.is_busy = one.has_handle = false;  // of a domain with the same name that comes later
        }
        co_return;
    });
}

async::awaitable<void> foreign_migration::run(std::vector<uuid> domains) {
    co_await async::with_task_group("passes", [&](async::task_group& group) -> async::awaitable<void> {
        passes_ = &group;
        co_await load_list();
        for (const auto& id : domains) {
            follow(id);
        }
        async::wakeup never;
        co_await never.wait(async::wait_note::work("changes of domains"));
    });
}

async::awaitable<void> foreign_migration::run_all() {
    co_await async::with_task_group("passes", [&](async::task_group& group) -> async::awaitable<void> {
        passes_ = &group;
        co_await load_list();
        duration since_tick{};
        for (;;) {
            for (const auto& name : co_await session_.children("/domains")) {
                const auto id = parse_uuid(name);
                if (id && std::ranges::none_of(domains_, [&](const domain& one) { return one.id == *id; })) {
                    follow(*id);
                }
            }
            co_await wait(times.discovery);
            since_tick += times.discovery;
            if (since_tick >= times.tick) {
                since_tick = {};
                co_await nudge();
            }
        }
    });
}

// What it had a handle of, and does not run any more: the same state once more makes it look.
async::awaitable<void> foreign_migration::nudge() {
    for (auto& one : domains_) {
        const bool is_listed = std::ranges::count(listed_, to_text(one.id)) > 0;
        if (!is_listed || one.is_busy || !one.has_handle || runs(one)) {
            continue;
        }
        const view now = co_await look(one);
        if (now.state == "start" && now.node == node_) {
            co_await session_.write(one.root + "/state", "start");
        }
    }
}

async::awaitable<void> foreign_migration::wait(duration time) {
    if (time > duration::zero()) {
        co_await async::sleep_for(session_.clock(), time, "the next step");
    }
}

sim_guest& foreign_migration::guest(const domain& one) {
    return centre_.machine(node_).guest(one.id);
}

// "RUNNING", and nothing else.
bool foreign_migration::runs(const domain& one) {
    return one.has_handle && guest(one).status().state == model::run_state::running;
}

std::unique_ptr<foreign_lock> foreign_migration::lock_of(const domain& one, const std::string& key) {
    return std::make_unique<foreign_lock>(session_, random_, one.root + key, model::lock_kind::exclusive);
}

// One key after the other.
async::awaitable<foreign_migration::view> foreign_migration::look(const domain& one) {
    const auto word = [](const foreign_session::stored& key) { return key ? key->data : std::string(); };
    view now;
    now.state = word(co_await session_.read(one.root + "/state"));
    now.node = word(co_await session_.read(one.root + "/node"));
    now.last_node = word(co_await session_.read(one.root + "/lastnode"));
    now.method = word(co_await session_.read(one.root + "/migration_method"));
    co_return now;
}

async::awaitable<void> foreign_migration::pass(domain& one) {
    co_await wait(times.notice);
    view now = co_await look(one);
    if (one.is_busy) {
        note("dropped " + now.state);
        co_return;  // the event is lost
    }
    if (now.node == node_) {
        one.has_handle = guest(one).is_there();
    }
    one.is_busy = true;
    co_await act(one, std::move(now));
}

async::awaitable<void> foreign_migration::act(domain& one, view now) {
    const bool is_here = runs(one);
    if (now.node == node_ && now.state == "start") {
        if (is_here) {
            one.last_node = now.last_node;
            co_await list(one.id, true);
            co_await session_.write(one.root + "/failedreason", "");
        } else {
            co_await start(one);
        }
    } else if (now.node == node_ && is_migration(now.state)) {
        if (!is_here) {
            co_await receive(one);  // leaves the flag set if it times out
            co_return;
        }
        co_await set_state(one, "start");
    } else if (now.node == node_ && now.state == "stop") {
        if (is_here) {
            co_await destroy(one);
            co_await list(one.id, false);
            co_await set_state(one, "stop");
        } else {
            co_await list(one.id, false);
        }
    } else if (now.node == node_ && now.state == "restart") {
        co_await restart(one);
    } else if (is_here && is_migration(now.state)) {
        co_await send(one, std::move(now));
    } else if (is_here && now.state == "shutdown") {
        const bool is_off = co_await shut_down(one, "shutdown");
        if (is_off) {
            co_await list(one.id, false);
        }
        co_await set_state(one, "stop");
    } else if (is_here && now.node != node_) {
        note("terminate");
        co_await destroy(one);
        co_await list(one.id, false);
    }
    one.is_busy = false;
}

async::awaitable<void> foreign_migration::set_state(domain& one, std::string state) {
    note("state " + state);
    co_await session_.write(one.root + "/state", std::move(state));
}

async::awaitable<void> foreign_migration::list(uuid id, bool runs) {
    const std::string text = to_text(id);
    const bool is_listed = std::ranges::count(listed_, text) > 0;
    if (runs == is_listed) {
        co_return;
    }
    if (runs) {
        listed_.push_back(text);
    } else {
        std::erase(listed_, text);
    }
    if (on_list) {
        on_list(join(listed_, " "));
    }
    co_await session_.write("/nodes/" + node_ + "/runningdomains", join(listed_, " "));
}

async::awaitable<hypervisor::call_result<void>> foreign_migration::call(std::function<void(sim_guest::answer)> begin) {
    const auto pending = std::make_shared<async::completion<hypervisor::call_result<void>>>();
    begin([pending](const hypervisor::call_result<void>& answer) { pending->set(answer); });
    co_await async::completion<hypervisor::call_result<void>>::wait(
        pending, session_.clock(), session_.clock().now() + no_limit, "the hypervisor");
    co_return pending->value();
}

// --- the sender ---

async::awaitable<void> foreign_migration::send(domain& one, view asked) {
    note("send");
    const auto of_node = lock_of(one, "/node");
    const auto of_state = lock_of(one, "/state");
    co_await of_node->acquire(std::nullopt);
    co_await of_state->acquire(std::nullopt);
    const view before = co_await look(one);
    if (before.node == node_ || before.node == before.last_node) {
        co_await of_node->release();
        co_await of_state->release();
        co_return;
    }
    co_await wait(times.pause);
    auto sync = lock_of(one, "/migrate_sync_lock");
    note("queue");
    const bool has_turn = co_await sync->acquire(times.lock_limit);
    if (!has_turn) {
        co_await roll_back(one, *of_node, *of_state, nullptr);
        co_return;
    }
    const view then = co_await look(one);
    if (then.node != before.node || then.node == node_ || then.node == then.last_node) {
        co_await roll_back(one, *of_node, *of_state, std::move(sync));
        co_return;
    }
    co_await wait(times.before_call);
    const bool is_moved = asked.method != "shutdown" && co_await send_live(one, before);
    if (!is_moved && (asked.state == "migrate-live" || asked.method == "live")) {
        co_await roll_back(one, *of_node, *of_state, std::move(sync));
        co_return;
    }
    if (!is_moved) {
        co_await send_offline(one);
    }
    const bool outlived = guest(one).is_there() && !is_moved;
    co_await wait(times.before_release);
    co_await of_node->release();
    co_await wait(times.between_releases);
    co_await of_state->release();
    co_await wait(times.between_releases);
    co_await sync->release();
    if (outlived) {
        co_await wait(times.late_destroy);
        co_await destroy(one);
        co_await list(one.id, false);
    }
    one.has_handle = guest(one).is_there();
}

async::awaitable<bool> foreign_migration::send_live(domain& one, const view& asked) {
    for (int attempt = 0; attempt < live_tries; ++attempt) {
        if (attempt > 0) {
            co_await wait(times.between_tries);
        }
        note("migrate");
        auto done = co_await call([this, &one, &asked](sim_guest::answer answer) {
            one.driver = centre_.migrate(one.id, node_, asked.node, std::move(answer));
        });
        one.driver.reset();
        if (done) {
            co_await wait(times.after_call);
            co_await list(one.id, false);
            co_return true;
        }
    }
    co_return false;
}

// After its time it says `stop` with the guest running.
async::awaitable<void> foreign_migration::send_offline(domain& one) {
    const bool is_off = co_await shut_down(one, "migrate");
    if (is_off) {
        co_await list(one.id, false);
    }
    co_await set_state(one, "stop");
}

// The lock of the hand-shake is never given back.
async::awaitable<void> foreign_migration::roll_back(domain& one, foreign_lock& of_node, foreign_lock& of_state,
                                                    std::unique_ptr<foreign_lock> sync) {
    note("rollback");
    std::vector<model::key_value> keys;
    keys.push_back({one.root + "/state", "start"});
    keys.push_back({one.root + "/node", node_});
    keys.push_back({one.root + "/lastnode", one.last_node});
    co_await session_.write(std::move(keys));
    co_await of_node.release();
    co_await of_state.release();
    if (sync) {
        one.leaked.push_back(std::move(sync));
    }
}

// --- the receiver ---

async::awaitable<void> foreign_migration::receive(domain& one) {
    note("receive");
    co_await session_.write(one.root + "/migrate_sync_lock", to_text(one.id));
    co_await wait(times.announce);
    const auto phase_a = lock_of(one, "/migrate_sync_lock");
    const bool has_turn = co_await phase_a->acquire(times.lock_limit);
    if (!has_turn) {
        note("receive timed out");
        co_return;  // with its flag set: this machine is not managed any more
    }
    note("phase A");
    co_await wait(times.hold);
    co_await phase_a->release();
    co_await wait(times.requeue);
    const auto phase_c = lock_of(one, "/migrate_sync_lock");
    co_await phase_c->acquire(std::nullopt);
    note("phase C");
    co_await wait(times.look);
    co_await take_over(one);
    co_await wait(times.let_go);
    co_await phase_c->release();
    co_await session_.write(one.root + "/migrate_sync_lock", "");
    one.is_busy = false;
}

async::awaitable<void> foreign_migration::take_over(domain& one) {
    const view now = co_await look(one);
    if (now.node != node_) {
        co_return;
    }
    one.has_handle = guest(one).is_there();
    if (runs(one)) {
        co_await list(one.id, true);
        co_await set_state(one, "start");
    } else if (one.has_handle) {
        std::vector<model::key_value> keys;
        keys.push_back({one.root + "/state", "fail"});
        keys.push_back({one.root + "/failedreason", "Failed to receive migration"});
        note("fail");
        co_await session_.write(std::move(keys));
    } else if (now.state == "stop") {
        co_await set_state(one, "start");
    }
}

// --- the rest of its life ---

async::awaitable<void> foreign_migration::start(domain& one) {
    const auto name = co_await session_.read(one.root);
    const auto xml = co_await session_.read(one.root + "/xml");
    if (!name || !xml) {
        co_return;
    }
    if (const auto refused = refuse_start ? refuse_start(one.id) : std::nullopt) {
        note("refused");
        std::vector<model::key_value> keys;
        keys.push_back({one.root + "/state", "fail"});
        keys.push_back({one.root + "/failedreason", *refused});
        co_await session_.write(std::move(keys));
        co_return;
    }
    note("create");
    auto done = co_await call(
        [&](sim_guest::answer answer) { guest(one).create(name->data, xml->data, times.create, std::move(answer)); });
    one.has_handle = guest(one).is_there();
    std::vector<model::key_value> keys;
    if (done) {
        co_await list(one.id, true);
    } else {
        note("fail");
        keys.push_back({one.root + "/state", "fail"});
    }
    keys.push_back({one.root + "/failedreason", done ? std::string() : done.error().text});
    co_await session_.write(std::move(keys));
}

// By way of `stop`; what ignores the request is not restarted at all.
async::awaitable<void> foreign_migration::restart(domain& one) {
    if (runs(one)) {
        const bool is_off = co_await shut_down(one, "restart");
        if (is_off) {
            co_await list(one.id, false);
        }
        co_await set_state(one, "stop");
        co_await wait(times.restart_pause);
        co_await set_state(one, "start");
        if (!runs(one)) {
            co_await start(one);
        }
    }
    co_await set_state(one, "start");
}

async::awaitable<void> foreign_migration::destroy(domain& one) {
    note("destroy");
    if (guest(one).is_there()) {
        auto done = co_await call([&](sim_guest::answer answer) { guest(one).destroy({}, std::move(answer)); });
        std::ignore = done;
    }
    one.has_handle = guest(one).is_there();
}

// True: not running any more, whatever it is then.
async::awaitable<bool> foreign_migration::shut_down(domain& one, std::string during) {
    note("shutdown");
    guest(one).shutdown();
    const time_point until = session_.clock().now() + times.shutdown_limit;
    while (session_.clock().now() < until) {
        co_await wait(times.shutdown_poll);
        const auto stored = co_await session_.read(one.root + "/state");
        if (!runs(one) || !stored || stored->data != during) {
            co_return !runs(one);
        }
    }
    co_return false;
}

// --- the process ---

foreign_hypervisor::foreign_hypervisor(sim_loop& loop, memory_ensemble& ensemble, sim_datacentre& centre,
                                       std::string name, const foreign_migration_times& wanted)
    : times(wanted), centre_(centre), name_(std::move(name)), process_(loop, ensemble) {
    std::ignore = centre_.machine(name_);
}

foreign_hypervisor::~foreign_hypervisor() {
    kill();
}

void foreign_hypervisor::start(std::vector<uuid> domains) {
    kill();
    session_ = std::make_unique<foreign_session>(process_.connector(), process_.clock(), new_session);
    part_ =
        std::make_unique<foreign_migration>(*session_, random_source(++starts_).split(name_), centre_, name_, times);
    process_.start(name_, [this, domains]() -> async::awaitable<void> {
        co_await async::with_task_group(name_, [&](async::task_group& group) -> async::awaitable<void> {
            group.spawn("zookeeper", [this] { return session_->run(); });
            group.spawn("callbacks", [this] { return session_->dispatch(); });
            group.spawn("domains", [this, &domains] { return part_->run(domains); });
            co_return;
        });
    });
}

void foreign_hypervisor::kill() {
    process_.kill();
    part_.reset();
    session_.reset();
}

}  // namespace pvc::sim
