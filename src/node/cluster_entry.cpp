// Start-up phases S6 to S13 and what follows them: the part that lives in a ZooKeeper session.
#include "command/domain_commands.hpp"
#include "pvcnoded/model/scalar.hpp"
#include "pvcnoded/node/coordinator.hpp"
#include "pvcnoded/node/daemon.hpp"
#include "pvcnoded/node/domain_state.hpp"
#include "pvcnoded/node/domains.hpp"
#include "pvcnoded/node/keepalive.hpp"
#include "pvcnoded/node/registration.hpp"
#include "pvcnoded/node/schema_update.hpp"
#include "pvcnoded/node/tree_repair.hpp"

#include <fmt/format.h>

namespace pvc::node {

using namespace std::chrono_literals;

namespace {

constexpr duration connect_budget = 15s;
constexpr duration schema_lock_limit = 60s;
constexpr duration update_limit = 90s;  // of a whole hot update (zookeeper-schema.md 8.4)
constexpr duration settle_limit = 15s;
constexpr duration probe_limit = 10s;

}  // namespace

daemon::verdict daemon::failed(policy::phase which, const failure& why) const {
    const auto& info = policy::info_of(which);
    verdict end;
    end.reason = fmt::format("S{} {}: {}", info.number, info.name, why.text());
    end.next = next_step::start_again;
    if (why.code() == errc::refused) {
        end.next = next_step::leave;
        end.status = exit_status::environment;
    }
    return end;
}

// S6 to S8 of the first session: connect, adopt the schema, validate, register. Empty: go on.
async::awaitable<std::optional<daemon::verdict>> daemon::enter_cluster(session& s, keepalive& beat,
                                                                       async::task_group& session_scope) {
    enter(policy::phase::zookeeper);
    const std::string servers = zookeeper::servers_text([this] {
        std::vector<zookeeper::server_address> all;
        for (const auto& server : context_.config->zookeeper_servers) {
            all.push_back({server.host, server.port});
        }
        return all;
    }());
    auto connected = co_await s.zk.wait_connected(s.limit(connect_budget));
    if (!connected) {
        const std::string why =
            fmt::format("no ZooKeeper server of {} answered within 15 s (attempt {}{}{})", servers, attempts_,
                        connected.error().cause().empty() ? "" : ", ", connected.error().cause());
        log_.error(message::start_connect, why + ", starting again");
        co_return verdict{next_step::start_again, exit_status::orderly, why};
    }
    log_.ok("connected to ZooKeeper");
    auto adopted = co_await adopt_schema(s);
    if (!adopted) {
        log_.error(message::start_schema, adopted.error().text());
        co_return failed(policy::phase::zookeeper, adopted.error());
    }
    auto repaired = co_await repair_tree(s, schema_lock_limit, foreign_keys::keep);
    if (!repaired) {
        log_.error(message::start_tree, "validating the tree: " + repaired.error().text());
        co_return failed(policy::phase::zookeeper, repaired.error());
    }
    enter(policy::phase::node_entry);
    auto registered = co_await register_node(s);
    if (!registered) {
        log_.error(message::start_registration, registered.error().text());
        co_return failed(policy::phase::node_entry, registered.error());
    }
    context_.registered = true;
    log_.ok(fmt::format("registered as {}", model::to_text(context_.mode)));
    session_scope.spawn("keepalive", [&beat] { return beat.run(); });
    auto claimed = co_await claim_vacant_primary(s);
    if (!claimed) {
        log_.warning(message::start_role_claim, "claiming the primary role: " + claimed.error().text());
    }
    auto raised = co_await raise_schema(s);
    if (!raised && raised.error().code() == errc::outcome_unknown) {
        raised = co_await raise_schema(s);  // reads before it writes
    }
    if (!raised) {
        log_.warning(message::start_schema_raise, "raising the schema version: " + raised.error().text());
    }
    auto probed = co_await probe_hypervisor();
    if (!probed) {
        log_.error(message::start_libvirt, probed.error().text() + ", stopping");
        co_return verdict{next_step::leave, exit_status::environment, probed.error().text()};
    }
    co_return std::nullopt;
}

// S9: a hypervisor node whose libvirt nobody can reach is of no use to its peers.
async::awaitable<result<void>> daemon::probe_hypervisor() {
    if (!domains_) {
        co_return result<void>();
    }
    enter(policy::phase::hypervisor);
    auto answered = co_await port_.hypervisor->probe(context_.self(), port_.clock.now() + probe_limit);
    if (!answered) {
        co_return failure(errc::unavailable, "libvirt of this node", answered.error().text);
    }
    log_.ok("libvirt answers");
    co_return result<void>();
}

async::awaitable<void> daemon::follow_maintenance(session& s) {
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
async::awaitable<void> daemon::objects_and_run(session& s, keepalive& beat, coordinator& roles) {
    enter(policy::phase::objects);
    auto settled = co_await s.watches.settle(s.limit(settle_limit));
    if (!settled) {
        log_.warning(message::start_state_unread,
                     "reading the cluster's state: " + settled.error().text() + ", going on");
    }
    if (domains_) {
        const bool is_loaded = co_await domains_->wait_loaded(s.limit(settle_limit));
        if (!is_loaded) {
            log_.warning(message::start_domains_slow,
                         "the virtual machines could not all be looked at within 15 s, going on");
        }
    }
    if (!context_.started) {
        enter(policy::phase::keepalive);
        beat.begin_run();
    }
    while (!beat.is_running()) {
        co_await beat.ran.wait(async::wait_note::work("the first acknowledged heartbeat"));
    }
    roles.open();
    orders_->open();
    if (!ready_sent_) {
        ready_sent_ = true;
        log_.ok("start-up complete: this node runs");
        port_.notifier.send("READY=1\nSTATUS=running");
    } else {
        context_.status("running");
    }
}

// The actors of a running node until the schema version changes, and the update to it. Empty: serve again.
async::awaitable<std::optional<daemon::verdict>> daemon::serve(session& s, keepalive& beat, coordinator& roles) {
    schema_watch schema(s);
    result<int> change = 0;
    beat.after_heartbeat = [this, &roles](time_point until) -> async::awaitable<void> {
        if (context_.mode == model::daemon_mode::coordinator) {
            co_await roles.others().read_heartbeats(until);
        }
    };
    beat.after_tick = [&roles] { roles.tick(); };
    co_await async::with_task_group("actors", [&](async::task_group& group) -> async::awaitable<void> {
        group.spawn("roles", [&] { return roles.run(); });
        group.spawn("maintenance", [&] { return follow_maintenance(s); });
        if (domains_) {
            group.spawn("commands", [&] { return follow_domain_commands(s, *domains_); });
        }
        co_await objects_and_run(s, beat, roles);
        change = co_await schema.wait_for_change();
        group.cancel();
    });
    roles.close();
    beat.after_heartbeat = nullptr;
    beat.after_tick = nullptr;
    if (!change) {
        log_.error(message::schema_change, change.error().text());
        co_return failed(policy::phase::zookeeper, change.error());
    }
    beat.stop_figures();
    const time_point update_ends = s.limit(update_limit);
    auto updated = co_await update_schema(s, *change);
    if (!updated) {
        co_return verdict{next_step::new_session, exit_status::orderly, updated.error().text()};
    }
    enter(policy::phase::zookeeper);
    const duration left = std::clamp<duration>(update_ends - s.node.clock().now(), 1s, schema_lock_limit);
    auto repaired = co_await repair_tree(s, left, foreign_keys::keep);
    if (!repaired) {
        log_.warning(message::tree_check, "validating the tree: " + repaired.error().text());
    }
    beat.resume_figures();
    co_return std::nullopt;
}

// All that a session is for. Ends with a verdict, or by cancellation (stop request, session lost).
async::awaitable<daemon::verdict> daemon::work(session& s, keepalive& beat, coordinator& roles,
                                               async::task_group& session_scope) {
    if (!context_.started) {
        auto refused = co_await enter_cluster(s, beat, session_scope);
        if (refused) {
            co_return *refused;
        }
    } else {
        async::wakeup changed;
        const async::latest<zookeeper::session_state>::observer watch(s.zk.state(), changed);
        while (!s.zk.is_connected()) {
            co_await changed.wait(async::wait_note::work("a ZooKeeper server"));
        }
        log_.ok("connected to ZooKeeper again, in a new session");
        session_scope.spawn("keepalive", [&beat] { return beat.run(); });
    }
    if (domains_) {
        session_scope.spawn("machines", [this, &s, &beat] { return domains_->run(s, beat); });
    }
    session_scope.spawn("domain state", [this] { return orders_->run(); });
    for (;;) {
        auto end = co_await serve(s, beat, roles);
        if (end) {
            co_return *end;
        }
    }
}

}  // namespace pvc::node
