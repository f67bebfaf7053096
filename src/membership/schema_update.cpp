#include "pvcnoded/membership/schema_update.hpp"
#include "pvcnoded/base/planted.hpp"

#include "pvcnoded/async/deadline.hpp"
#include "pvcnoded/membership/registration.hpp"
#include "pvcnoded/membership/tree_repair.hpp"
#include "pvcnoded/model/node_payloads.hpp"
#include "pvcnoded/policy/membership/schema_rules.hpp"

#include <fmt/format.h>

namespace pvc::membership {

using namespace std::chrono_literals;

namespace {

constexpr duration say_again = 60s;
constexpr duration update_lock_limit = 60s;
constexpr duration apply_limit = 90s;

const std::string version_key(model::key_path::schema_version);

std::optional<std::string_view> text_of(const zookeeper::watched& key) {
    return key.present() ? std::optional<std::string_view>(key.data()) : std::nullopt;
}

async::awaitable<policy::update_part> own_part(core::session& s) {
    auto primary = co_await s.zk.get(s.limit(), std::string(model::key_path::primary_node));
    const auto holder = primary ? model::parse_primary_node(primary->data) : std::nullopt;
    std::optional<model::daemon_state> state;
    if (holder) {
        auto stored = co_await s.zk.get(s.limit(), model::node_path(*holder, model::node_key::daemon_state));
        if (stored) {
            state = model::daemon_state_or_fallback(stored->data);
        }
    }
    co_return policy::part_in_update(s.node.self(), holder, state);
}

// The leader's work under the exclusive lock; a follower only waits for it.
async::awaitable<result<void>> apply_or_wait(core::session& s) {
    const auto part = co_await own_part(s);
    if (part != policy::update_part::follow) {
        co_return co_await repair_tree(s, update_lock_limit, foreign_keys::remove);
    }
    zookeeper::lock_request lock;
    lock.path = version_key;
    lock.kind = model::lock_kind::read;
    lock.deadline = s.limit(update_lock_limit);
    lock.task = "schema";
    lock.reason = "wait for the update";
    auto waited = co_await s.locks.with_lock(
        std::move(lock), [](zookeeper::held_lock&) -> async::awaitable<result<void>> { co_return result<void>(); });
    if (!waited && waited.error().code() == errc::session_lost) {
        co_return waited.error();
    }
    if (!waited) {
        s.node.log.warning(
            message::schema_primary_late,
            "the schema update of the primary is not over after 60 s (" + waited.error().text() + "), going on",
            "schema");
    }
    co_return result<void>();
}

async::awaitable<void> restart_workers(core::session& s) {
    if (s.node.config->functions.api) {
        auto worker = co_await s.node.port.services.restart("pvcworkerd.service");
        if (!worker) {
            s.node.log.warning(message::schema_worker_restart,
                               "restart of pvcworkerd.service: " + worker.error().text());
        }
        if (s.node.role.is_primary()) {
            auto api = co_await s.node.port.services.restart("pvcapid.service");
            if (!api) {
                s.node.log.warning(message::schema_api_restart, "restart of pvcapid.service: " + api.error().text());
            }
        }
    }
}

}  // namespace

async::awaitable<result<void>> adopt_schema(core::session& s) {
    async::wakeup changed;
    auto key = s.watches.add(version_key, zookeeper::watch_kind::data, changed);
    const async::latest<zookeeper::session_state>::observer follow(s.zk.state(), changed);
    time_point say = s.node.clock().now();
    for (;;) {
        if (s.zk.state().value().now == zookeeper::link::lost) {
            co_return failure(errc::session_lost, version_key, s.zk.state().value().reason);
        }
        if (key->known()) {
            const auto decision = policy::decide_schema_start(text_of(*key));
            if (decision.action == policy::schema_start::exit) {
                co_return failure(errc::refused, version_key, decision.reason);
            }
            if (decision.action == policy::schema_start::run) {
                s.table = *model::schema::of(decision.version);
                s.node.schema_version.set(decision.version);
                co_return result<void>();
            }
            if (s.node.clock().now() >= say) {
                s.node.log.warning(message::schema_waits, decision.reason);
                s.node.status("waiting for the cluster to be initialised");
                say = s.node.clock().now() + say_again;
            }
        }
        const bool notified =
            co_await changed.wait_until(s.node.clock(), std::max(say, s.limit(1s)), "the cluster to be initialised");
        ignore(result<bool>(notified), "either way it is time to look again");
    }
}

schema_watch::schema_watch(core::session& s) : session_(s) {
    key_ = s.watches.add(version_key, zookeeper::watch_kind::data, changed_);
}

async::awaitable<result<int>> schema_watch::wait_for_change() {
    for (;;) {
        if (key_->known()) {
            const auto decision = policy::decide_schema_change(session_.table.version(), text_of(*key_));
            if (decision.action == policy::schema_change::update && !is_planted(defect::schema_change_ignored)) {
                co_return decision.version;
            }
            if (decision.action == policy::schema_change::exit) {
                co_return failure(errc::refused, version_key, decision.message);
            }
            if (decision.message != warned_) {
                warned_ = decision.message;
                if (!warned_.empty()) {
                    session_.node.log.warning(message::schema_unreadable, warned_, "schema");
                }
            }
        }
        co_await changed_.wait(async::wait_note::work("a change of the schema version"));
    }
}

async::awaitable<result<void>> update_schema(core::session& s, int version) {
    const int before = s.table.version();
    s.node.log.state(fmt::format("schema update from version {} to {}", before, version), "schema");
    s.node.status(fmt::format("schema update from version {} to {}", before, version));
    s.table = *model::schema::of(version);
    auto applied =
        co_await async::with_deadline(s.node.clock(), s.limit(apply_limit), "schema update", apply_or_wait(s));
    if (!applied && applied.error().code() == errc::session_lost) {
        co_return applied.error();
    }
    if (!applied) {
        s.node.log.warning(message::schema_unapplied, "schema update: " + applied.error().text() + ", going on",
                           "schema");
    }
    zookeeper::transaction write;
    write.overwrite(s.own(model::node_key::active_schema), std::to_string(version));
    write.overwrite(s.own(model::node_key::latest_schema),
                    std::to_string(policy::advertised_latest(version, s.node.schema_limit)));
    if (s.table.has("node.data.pvc_version") && before >= 2) {
        write.overwrite(s.own(model::node_key::pvc_version), core::emulated_version(version));
    }
    auto written = co_await s.zk.commit(s.limit(), std::move(write));
    if (!written) {
        s.node.log.warning(message::schema_unpublished, "activeschema was not written: " + written.error().text(),
                           "schema");
        if (written.error().code() == errc::session_lost) {
            co_return written.error();
        }
    }
    co_await restart_workers(s);
    s.node.schema_version.set(version);
    s.node.log.ok(fmt::format("schema version {} is in use", version), "schema");
    co_return result<void>();
}

}  // namespace pvc::membership
