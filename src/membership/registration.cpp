#include "pvcnoded/membership/registration.hpp"

#include "pvcnoded/base/text.hpp"
#include "pvcnoded/core/heartbeat_note.hpp"
#include "pvcnoded/model/node_payloads.hpp"
#include "pvcnoded/model/scalar.hpp"
#include "pvcnoded/policy/membership/schema_rules.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pvc::membership {

using namespace std::chrono_literals;

namespace {

constexpr int attempts_max = 5;

// Reads many keys at once. Missing ones are left out.
async::awaitable<result<model::stored_values>> read_all(core::session& s, std::vector<std::string> paths) {
    model::stored_values values;
    std::vector<zookeeper::read_wish> wishes;
    wishes.reserve(paths.size());
    for (const auto& path : paths) {
        wishes.push_back({path});
    }
    auto all = co_await s.zk.read_together(s.limit(), std::move(wishes));
    for (std::size_t i = 0; i < paths.size(); ++i) {
        if (all[i]) {
            values[paths[i]] = {std::move(all[i]->data), all[i]->stat.version};
        } else if (all[i].error().code() != errc::not_found) {
            co_return all[i].error();
        }
    }
    co_return values;
}

bool may_be_alive(std::string_view daemon_state) {
    using model::daemon_state;
    const auto state = model::parse_daemon_state(daemon_state);
    return state == daemon_state::run || state == daemon_state::init || state == daemon_state::shutdown;
}

// Whether the heartbeat that is stored is the last one that this host sent: then no one else beats under our name.
bool is_own_heartbeat(const core::node_context& node, std::int64_t mzxid) {
    if (node.heartbeat_sent && node.heartbeat_id == mzxid) {
        return true;
    }
    auto text = node.port.host.read_file(core::heartbeat_note_path(node));
    if (!text) {
        return false;
    }
    const auto note = core::parse_heartbeat_note(*text);
    return note && note->boot_id == node.machine.boot_id && note->mzxid == mzxid;
}

// A daemon with our name on another host would be fenced by power-cycling us, and its domains started twice. Ours is
// the only writer of its keepalive: whoever changes it while we watch is the other one.
async::awaitable<result<void>> refuse_twin(core::session& s) {
    auto state = co_await s.zk.get(s.limit(), s.own(model::node_key::daemon_state));
    auto beat = co_await s.zk.get(s.limit(), s.own(model::node_key::keepalive));
    if (!state || !beat) {
        const auto& error = !state ? state.error() : beat.error();
        co_return error.code() == errc::not_found ? result<void>() : result<void>(error);
    }
    if (!may_be_alive(state->data) || is_own_heartbeat(s.node, beat->stat.mzxid)) {
        co_return result<void>();
    }
    const std::int64_t stamp = model::integer_or(beat->data, 0);
    const std::int64_t now = unix_seconds(s.node.clock().wall_now());
    const auto quiet = std::chrono::seconds(std::max<std::int64_t>(0, now - stamp));
    if (quiet > policy::twin_forgotten_after(s.node.times)) {
        co_return result<void>();  // long silent by its own stamp: a node that was cut off, most likely ourselves
    }
    const duration wait = policy::twin_wait(s.node.times);
    s.node.log.info(
        fmt::format("the record of {} says it is alive; watching its heartbeat for {} s to be sure that no "
                    "other host uses this name",
                    s.node.self(), std::chrono::duration_cast<std::chrono::seconds>(wait).count()));
    async::wakeup changed;
    auto key = s.watches.add(s.own(model::node_key::keepalive), zookeeper::watch_kind::data, changed);
    const time_point until = s.limit(wait);
    for (;;) {
        if (key->known() && key->present() && key->stat().mzxid != beat->stat.mzxid) {
            co_return failure(errc::refused, s.own(),
                              "a daemon with this name is alive on another host (its heartbeat changed while this one "
                              "was starting)");
        }
        const bool notified = co_await changed.wait_until(s.node.clock(), until, "a heartbeat of a twin");
        if (!notified) {
            co_return result<void>();
        }
    }
}

// The heartbeat that stands in the record is ours (no twin changed it): noted, so that a daemon started after a crash
// of this one need not watch it again.
async::awaitable<void> note_stored_heartbeat(core::session& s) {
    auto beat = co_await s.zk.exists(s.limit(), s.own(model::node_key::keepalive));
    if (!beat) {
        co_return;
    }
    s.node.heartbeat_id = beat->stat.mzxid;
    core::heartbeat_note note;
    note.boot_id = s.node.machine.boot_id;
    note.boot_ns = s.node.heartbeat_sent ? s.node.heartbeat_sent->time_since_epoch().count() : 0;
    note.mzxid = s.node.heartbeat_id;
    note.role = std::string(model::to_text(s.node.role.now()));
    auto written = co_await s.node.port.host.replace_file(core::heartbeat_note_path(s.node), core::to_text(note));
    ignore(written, "a hint only: without it a start after a crash takes a few seconds longer");
}

async::awaitable<result<void>> write_record(core::session& s, bool exists) {
    const auto facts = facts_of(s.node, s.table.version());
    zookeeper::transaction all;
    if (!exists) {
        for (const auto& key : model::new_node_record(s.table, facts)) {
            all.create(key.path, key.value);
        }
    } else {
        auto stored = co_await read_all(s, model::node_record_paths(s.table, s.node.self()));
        if (!stored) {
            co_return stored.error();
        }
        const auto updates = model::existing_node_updates(s.table, facts, *stored);
        for (const auto& key : updates.creates) {
            all.create(key.path, key.value);
        }
        for (const auto& key : updates.sets) {
            if (key.version) {
                all.set(key.path, key.value, *key.version);
            } else {
                all.overwrite(key.path, key.value);
            }
        }
    }
    auto done = co_await s.zk.commit(s.limit(), std::move(all));
    co_return done ? result<void>() : result<void>(done.error());
}

}  // namespace

model::node_facts facts_of(const core::node_context& node, int schema_version) {
    model::node_facts facts;
    facts.node = node.self();
    facts.mode = node.mode;
    facts.statics.cpu_count = std::to_string(node.machine.cpus);
    facts.statics.kernel = node.machine.kernel_release;
    facts.statics.operating_system = node.machine.operating_system;
    facts.statics.machine = node.machine.machine;
    facts.pvc_version = core::emulated_version(schema_version);
    facts.ipmi_hostname = node.config->ipmi.host;
    facts.ipmi_username = node.config->ipmi.user;
    facts.ipmi_password = node.config->ipmi.pass.reveal();
    facts.now_s = unix_seconds(node.clock().wall_now());
    facts.latest_schema = policy::advertised_latest(schema_version, node.schema_limit);
    return facts;
}

std::vector<model::key_value> constant_keys(const core::session& s, const std::vector<core::figure_source*>& sources) {
    // Keys with other writers, or with a rhythm of their own.
    static constexpr std::string_view elsewhere[] = {
        model::node_key::keepalive,         model::node_key::self_reset,   model::node_key::daemon_state,
        model::node_key::router_state,      model::node_key::domain_state, model::node_key::monitoring_health,
        model::node_key::monitoring_plugins};
    auto keys = model::new_node_record(s.table, facts_of(s.node, s.table.version()));
    const std::string root = s.own();
    std::erase_if(keys, [&](const model::key_value& key) {
        const auto is = [&](std::string_view suffix) { return key.path == root + std::string(suffix); };
        return std::ranges::any_of(elsewhere, is) || std::ranges::any_of(sources, [&](const core::figure_source* one) {
                   return std::ranges::any_of(one->figure_keys(), is);
               });
    });
    return keys;
}

async::awaitable<result<void>> register_node(core::session& s) {
    auto alone = co_await refuse_twin(s);
    if (!alone) {
        co_return alone.error();
    }
    for (int attempt = 0;; ++attempt) {
        auto there = co_await s.zk.exists(s.limit(), s.own());
        const bool exists = static_cast<bool>(there);
        if (!exists && there.error().code() != errc::not_found) {
            co_return there.error();
        }
        s.node.registered = true;  // once this was sent, an orderly stop has something to take back
        auto written = co_await write_record(s, exists);
        if (written) {
            co_await note_stored_heartbeat(s);
            co_return written;
        }
        const errc code = written.error().code();
        const bool again = code == errc::version_conflict || code == errc::already_exists || code == errc::not_found ||
                           code == errc::outcome_unknown;
        if (!again || attempt + 1 == attempts_max) {
            co_return std::move(written).error().during("registering the node");
        }
    }
}

async::awaitable<result<bool>> raise_schema(core::session& s) {
    const int own_latest = policy::advertised_latest(s.table.version(), s.node.schema_limit);
    if (own_latest <= s.table.version()) {
        co_return false;
    }
    const std::string key(model::key_path::schema_version);
    auto stored = co_await s.zk.get(s.limit(), key);
    if (!stored) {
        co_return stored.error();
    }
    const auto version = parse_integer(trim(stored->data));
    if (!version || *version != s.table.version()) {
        co_return false;
    }
    auto names = co_await s.zk.children(s.limit(), std::string(model::key_path::nodes));
    if (!names) {
        co_return names.error();
    }
    std::vector<std::string> paths;
    for (const auto& name : names->names) {
        paths.push_back(model::node_path(name, model::node_key::latest_schema));
    }
    auto values = co_await read_all(s, paths);
    if (!values) {
        co_return values.error();
    }
    std::vector<std::optional<std::string>> latest;
    for (const auto& path : paths) {
        const auto found = values->find(path);
        latest.push_back(found == values->end() ? std::nullopt : std::optional(found->second.value));
    }
    if (!policy::must_raise(s.table.version(), own_latest, latest)) {
        s.node.log.info(fmt::format("the cluster stays at schema version {}: not every node can use {}",
                                    s.table.version(), own_latest));
        co_return false;
    }
    zookeeper::transaction raise;
    raise.set(key, std::to_string(own_latest), stored->stat.version);
    for (const auto& path : paths) {
        const auto found = values->find(path);
        if (found != values->end()) {
            raise.check(path, found->second.version);  // a node that was replaced meanwhile may follow less far
        }
    }
    auto done = co_await s.zk.commit(s.limit(), std::move(raise));
    if (!done) {
        if (done.error().code() == errc::version_conflict) {
            co_return false;
        }
        co_return done.error();
    }
    s.node.log.info(fmt::format("raised the cluster from schema version {} to {}", s.table.version(), own_latest));
    co_return true;
}

}  // namespace pvc::membership
