// Start-up phases S6 to S13 and what follows them: the part that lives in a ZooKeeper session.
#include "pvcnoded/membership/registration.hpp"
#include "pvcnoded/membership/schema_update.hpp"
#include "pvcnoded/membership/tree_repair.hpp"
#include "pvcnoded/model/scalar.hpp"
#include "session_state.hpp"

#include <fmt/format.h>

namespace pvc::node {

using namespace std::chrono_literals;
using membership::foreign_keys;
using policy::phase;

namespace {

constexpr duration connect_budget = 15s;
constexpr duration schema_lock_limit = 60s;
constexpr duration update_limit = 90s;  // of a whole hot update (zookeeper-schema.md 8.4)
constexpr duration settle_limit = 15s;

std::string servers_of(const config::node_config& config) {
    std::vector<zookeeper::server_address> all;
    for (const auto& server : config.zookeeper_servers) {
        all.push_back({server.host, server.port});
    }
    return zookeeper::servers_text(all);
}

}  // namespace

// S6: connect, adopt the schema, validate the tree.
async::awaitable<result<void>> daemon::join(session_state& now) {
    core::session& s = now.s;
    auto connected = co_await s.zk.wait_connected(s.limit(connect_budget));
    if (!connected) {
        const std::string why =
            fmt::format("no ZooKeeper server of {} answered within 15 s (attempt {}{}{})", servers_of(*context_.config),
                        attempts_, connected.error().cause().empty() ? "" : ", ", connected.error().cause());
        log_.error(message::start_connect, why + ", starting again");
        co_return failure(errc::unavailable, {}, why);
    }
    log_.ok("connected to ZooKeeper");
    auto adopted = co_await membership::adopt_schema(s);
    if (!adopted) {
        log_.error(message::start_schema, adopted.error().text());
        co_return adopted;
    }
    auto repaired = co_await membership::repair_tree(s, schema_lock_limit, foreign_keys::keep);
    if (!repaired) {
        log_.error(message::start_tree, "validating the tree: " + repaired.error().text());
    }
    co_return repaired;
}

// S8: the own record, and the heartbeat from then on.
async::awaitable<result<void>> daemon::take_entry(session_state& now) {
    auto registered = co_await membership::register_node(now.s);
    if (!registered) {
        log_.error(message::start_registration, registered.error().text());
        co_return registered;
    }
    context_.registered = true;
    log_.ok(fmt::format("registered as {}", model::to_text(context_.mode)));
    now.scope->spawn("keepalive", [&now] { return now.beat.run(); });
    co_return result<void>();
}

// S6 to S11 of the first session. Empty: go on.
async::awaitable<std::optional<daemon::verdict>> daemon::enter_cluster(session_state& now) {
    core::session& s = now.s;
    if (auto end = co_await pass(phase::zookeeper, [&] { return join(now); }, &s)) {
        co_return end;
    }
    if (auto end = co_await pass(phase::node_entry, [&] { return take_entry(now); }, &s)) {
        co_return end;
    }
    auto raised = co_await membership::raise_schema(s);
    if (!raised && raised.error().code() == errc::outcome_unknown) {
        raised = co_await membership::raise_schema(s);  // reads before it writes
    }
    if (!raised) {
        log_.warning(message::start_schema_raise, "raising the schema version: " + raised.error().text());
    }
    for (const auto which : {phase::hypervisor, phase::firewall, phase::dns_service_off}) {
        if (auto end = co_await pass(which, {}, &s)) {
            co_return end;
        }
    }
    co_return std::nullopt;
}

async::awaitable<void> daemon::follow_maintenance(core::session& s) {
    async::wakeup changed;
    auto key = s.watches.add(std::string(model::key_path::maintenance), zookeeper::watch_kind::data, changed);
    for (;;) {
        if (key->known()) {
            const bool now = key->present() && model::parse_maintenance(key->data());
            if (now != context_.maintenance) {
                context_.maintenance = now;
                log_.info(now ? "maintenance mode is on" : "maintenance mode is off");
            }
        }
        co_await changed.wait(async::wait_note::work("a change of maintenance mode"));
    }
}

// S12 and S13; on later rounds (hot update, new session) what exists is adopted and `run` stays.
async::awaitable<void> daemon::objects_and_run(session_state& now) {
    core::session& s = now.s;
    enter(phase::objects);
    auto settled = co_await s.watches.settle(s.limit(settle_limit));
    if (!settled) {
        log_.warning(message::start_state_unread,
                     "reading the cluster's state: " + settled.error().text() + ", going on");
    }
    for (auto& one : now.parts) {
        co_await one.part->wait_loaded(s.limit(settle_limit));
    }
    if (!context_.started) {
        enter(phase::keepalive);
        now.beat.begin_run();
    }
    co_await now.beat.wait_running();
    for (auto& one : now.parts) {
        one.part->open();
    }
    if (!ready_sent_) {
        ready_sent_ = true;
        log_.ok("start-up complete: this node runs");
        port_.notifier.send("READY=1\nSTATUS=running");
    } else {
        context_.status("running");
    }
    if (process_.give_memory_back) {
        process_.give_memory_back();
    }
}

// The actors of a running node until the schema version changes, and the update to it. Empty: serve again.
async::awaitable<std::optional<daemon::verdict>> daemon::serve(session_state& now) {
    core::session& s = now.s;
    membership::schema_watch schema(s);
    result<int> change = 0;
    co_await async::with_task_group("actors", [&](async::task_group& group) -> async::awaitable<void> {
        group.spawn("maintenance", [&] { return follow_maintenance(s); });
        for (auto& one : now.parts) {
            if (one.part->is_of_one_schema()) {
                group.spawn(one.name, [&one] { return one.part->run(); });
            }
        }
        co_await objects_and_run(now);
        change = co_await schema.wait_for_change();
        group.cancel();
    });
    for (auto& one : now.parts) {
        one.part->close();
    }
    if (!change) {
        log_.error(message::schema_change, change.error().text());
        co_return answer_to(phase::zookeeper, change.error());
    }
    auto followed = co_await follow_schema(now, *change);
    if (!followed) {
        co_return verdict{next_step::new_session, exit_status::orderly, followed.error().text()};
    }
    co_return std::nullopt;
}

// A hot update, and the tree as the new version wants it, while the heartbeat goes on.
async::awaitable<result<void>> daemon::follow_schema(session_state& now, int version) {
    core::session& s = now.s;
    now.beat.stop_figures();
    const time_point update_ends = s.limit(update_limit);
    auto updated = co_await membership::update_schema(s, version);
    if (!updated) {
        co_return updated;
    }
    enter(phase::zookeeper);
    const duration left = std::clamp<duration>(update_ends - s.node.clock().now(), 1s, schema_lock_limit);
    auto repaired = co_await membership::repair_tree(s, left, foreign_keys::keep);
    if (!repaired) {
        log_.warning(message::tree_check, "validating the tree: " + repaired.error().text());
    }
    now.beat.resume_figures();
    co_return result<void>();
}

// All that a session is for. Ends with a verdict, or by cancellation (stop request, session lost).
async::awaitable<daemon::verdict> daemon::work(session_state& now) {
    core::session& s = now.s;
    if (!context_.started) {
        if (auto end = co_await enter_cluster(now)) {
            co_return *end;
        }
    } else {
        async::wakeup changed;
        const async::latest<zookeeper::session_state>::observer watch(s.zk.state(), changed);
        while (!s.zk.is_connected()) {
            co_await changed.wait(async::wait_note::work("a ZooKeeper server"));
        }
        log_.ok("connected to ZooKeeper again, in a new session");
        now.scope->spawn("keepalive", [&now] { return now.beat.run(); });
    }
    now.scope->spawn("peers", [&s] { return s.others.run(); });
    for (auto& one : now.parts) {
        if (!one.part->is_of_one_schema()) {
            now.scope->spawn(one.name, [&one] { return one.part->run(); });
        }
    }
    for (;;) {
        auto end = co_await serve(now);
        if (end) {
            co_return *end;
        }
    }
}

}  // namespace pvc::node
