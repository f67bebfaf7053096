// The fence of one node: its guarded reads and its writes.
#include "fence_run.hpp"

#include "pvcnoded/model/fence_power.hpp"
#include "pvcnoded/model/node_payloads.hpp"
#include "pvcnoded/model/scalar.hpp"

#include <algorithm>
#include <utility>

namespace pvc::fencing {

namespace ask = policy::fence_ask;
namespace said = policy::fence_said;

namespace {

// Of the guarded read, in the order of its wishes.
enum wish_at : std::uint8_t {
    lock_child,
    daemon,
    beat,
    domains,
    proof,
    lease,
    router,
    maintenance,
    primary,
    power,
    wish_count
};

std::optional<policy::stored_proof> stored_proof_of(const result<zookeeper::read_reply>& key, std::int64_t state_id,
                                                    std::int64_t heartbeat_id) {
    const auto parsed = key ? model::parse_fence_proof(key->data) : std::nullopt;
    if (!parsed) {
        return std::nullopt;
    }
    return policy::stored_proof{.record = parsed->record,
                                .by = parsed->coordinator,
                                .which = proof_of(parsed->kind),
                                .is_valid = state_id <= key->stat.mzxid && heartbeat_id <= key->stat.mzxid};
}

// They were asked for behind all others: the state and the heartbeat of each.
std::vector<coordinator_read> coordinators_in(const std::vector<std::string>& names,
                                              const std::vector<result<zookeeper::read_reply>>& got) {
    std::vector<coordinator_read> all;
    std::size_t place = wish_count;
    for (const auto& name : names) {
        const auto& state = got[place++];
        const auto& heartbeat = got[place++];
        all.push_back({.name = name,
                       .state = state ? model::parse_daemon_state(state->data) : std::nullopt,
                       .heartbeat_id = heartbeat && !heartbeat->data.empty() ? std::optional(heartbeat->stat.mzxid)
                                                                             : std::nullopt});
    }
    return all;
}

}  // namespace

async::awaitable<said::any> fence_run::read(bool counts_coordinators) {
    const std::string own = child();
    std::vector<zookeeper::read_wish> wishes(wish_count);
    wishes[lock_child] = {.path = own.empty() ? std::string(model::key_path::fence_lock) : own, .with_data = false};
    wishes[daemon] = {.path = path(model::node_key::daemon_state)};
    wishes[beat] = {.path = path(model::node_key::keepalive), .with_data = false};
    wishes[domains] = {.path = path(model::node_key::domain_state)};
    wishes[proof] = {.path = path("/fenceproof")};
    wishes[lease] = {.path = path(model::node_key::self_reset)};
    wishes[router] = {.path = path(model::node_key::router_state)};
    wishes[maintenance] = {.path = std::string(model::key_path::maintenance)};
    wishes[primary] = {.path = std::string(model::key_path::primary_node)};
    wishes[power] = {.path = path("/fencepower")};
    // What the last tick read of them is as old as that, and a peer may have fallen silent since.
    const auto others =
        counts_coordinators ? tools_.ground.other_coordinators(machine_.node) : std::vector<std::string>();
    for (const auto& name : others) {
        wishes.push_back({.path = model::node_path(name, model::node_key::daemon_state)});
        wishes.push_back({.path = model::node_path(name, model::node_key::keepalive)});
    }
    const time_point asked = node_.clock().now();
    const auto got = co_await tools_.session.zk.read_together(tools_.session.limit(), std::move(wishes));
    said::read out;
    boot_time first = boot_time::max();
    for (const auto& one : got) {
        if (!one && one.error().code() != errc::not_found) {
            co_return out;
        }
        first = one ? std::min(first, one->sent) : first;
    }
    if (first == boot_time::max()) {
        co_return out;
    }
    out.sent = first;
    out.has_lock = !own.empty() && got[lock_child].has_value();
    out.in_maintenance = got[maintenance] && model::parse_maintenance(got[maintenance]->data);
    if (got[maintenance]) {
        out.maintenance = {.created = got[maintenance]->stat.czxid, .version = got[maintenance]->stat.version};
    }
    if (counts_coordinators) {
        out.majority_stays = tools_.ground.majority_stays_without(machine_.node, coordinators_in(others, got), asked);
    }
    auto& seen = out.victim.emplace();
    if (!got[daemon] || !got[beat] || !got[domains]) {
        seen.is_gone = true;
        co_return out;
    }
    seen.state = model::parse_daemon_state(got[daemon]->data);
    seen.state_id = got[daemon]->stat.mzxid;
    seen.heartbeat_id = got[beat]->stat.mzxid;
    seen.is_recovering = model::parse_domain_state(got[domains]->data) == model::domain_state::fence_flush;
    seen.is_named_primary = got[primary] && got[primary]->data == machine_.node;
    seen.proof = stored_proof_of(got[proof], seen.state_id, seen.heartbeat_id);
    if (const auto armed = got[lease] ? model::parse_self_reset(got[lease]->data) : std::nullopt) {
        seen.lease = policy::stored_lease{.time = *armed, .is_of_beat = got[lease]->stat.mzxid == seen.heartbeat_id};
    }
    const auto word = got[power] ? model::parse_fence_power(got[power]->data) : std::nullopt;
    seen.is_worded = word && !word->is_on && got[power]->stat.mzxid > seen.heartbeat_id;
    keys_ = {.state_version = got[daemon]->stat.version,
             .heartbeat_version = got[beat]->stat.version,
             .domain_state_version = got[domains]->stat.version,
             .proof_version = got[proof] ? got[proof]->stat.version : -1,
             .router_version = got[router] ? got[router]->stat.version : -1,
             .primary_version = got[primary] ? got[primary]->stat.version : -1,
             .power_version = got[power] ? got[power]->stat.version : -1,
             .is_named_primary = seen.is_named_primary,
             .is_flushing = seen.is_recovering};
    co_return out;
}

// What every write rests on. `sets_state`: it sets daemonstate itself.
void fence_run::add_guards(zookeeper::transaction& what, bool sets_state) const {
    if (!sets_state) {
        what.check(path(model::node_key::daemon_state), keys_.state_version);
    }
    what.check(path(model::node_key::keepalive), keys_.heartbeat_version);
    add_check(what);
}

void fence_run::put_proof(zookeeper::transaction& what, policy::fence_proof which) const {
    const std::string text = model::to_text(model::fence_proof_key{ledger_->now().id, node_.self(), kind_of(which)});
    if (keys_.proof_version < 0) {
        what.create(path("/fenceproof"), text);
    } else {
        what.set(path("/fenceproof"), text, keys_.proof_version);
    }
}

async::awaitable<bool> fence_run::claim_power_on() {
    const std::string text = to_text(model::fence_power_key{.is_on = true, .coordinator = node_.self()});
    zookeeper::transaction what;
    what.check(path(model::node_key::daemon_state), keys_.state_version);
    what.check(path(model::node_key::keepalive), keys_.heartbeat_version);
    if (keys_.power_version < 0) {
        what.create(path("/fencepower"), text);
    } else {
        what.set(path("/fencepower"), text, keys_.power_version);
    }
    const auto done = co_await tools_.session.zk.commit(tools_.session.limit(), std::move(what));
    co_return done.has_value();
}

async::awaitable<said::any> fence_run::commit(zookeeper::transaction what) {
    using enum said::written::end;
    const auto done = co_await tools_.session.zk.commit(tools_.session.limit(), std::move(what));
    if (done) {
        co_return said::written{written, done->zxid()};
    }
    const errc code = done.error().code();
    co_return said::written{code == errc::outcome_unknown || code == errc::session_lost ? unknown : overtaken, 0};
}

async::awaitable<said::any> fence_run::write_mark() {
    said::any out = said::written{said::written::end::overtaken, 0};
    zookeeper::lock_request request;
    request.path = path(model::node_key::daemon_state);
    request.kind = model::lock_kind::write;
    request.deadline = tools_.session.limit(policy::fence_limits::mark);
    request.task = "fencing";
    request.reason = "node " + machine_.node + " is dead";
    const auto done = co_await tools_.session.locks.with_lock(
        std::move(request), [&](zookeeper::held_lock& held) -> async::awaitable<result<void>> {
            zookeeper::transaction what;
            what.set(path(model::node_key::daemon_state), std::string(to_text(model::daemon_state::dead)),
                     keys_.state_version);
            add_guards(what, true);
            held.add_check(what);
            out = co_await commit(std::move(what));
            co_return result<void>();
        });
    ignore(done, "what was written says so; without the lock nothing was");
    co_return out;
}

// The figures of a node that is off, as far as its entry has them.
async::awaitable<result<zookeeper::transaction>> fence_run::figures(std::vector<uuid> left) {
    namespace key = model::node_key;
    std::vector<std::string> ids;
    std::ranges::transform(left, std::back_inserter(ids), [](const uuid& id) { return to_text(id); });
    const std::vector<std::pair<const char*, std::string>> values{
        {key::running_domains, model::running_domains_text(ids)},
        {key::domains_count, "0"},
        {key::cpu_load, "0.0"},
        {key::vcpu_alloc, "0"},
        {key::mem_total, "0"},
        {key::mem_used, "0"},
        {key::mem_free, "0"},
        {key::mem_alloc, "0"},
        {key::mem_prov, "0"},
        {key::monitoring_health, "None"}};
    std::vector<zookeeper::read_wish> wishes;
    for (const auto& [name, text] : values) {
        wishes.push_back({.path = path(name), .with_data = false});
    }
    const auto there = co_await tools_.session.zk.read_together(tools_.session.limit(), std::move(wishes));
    zookeeper::transaction what;
    for (std::size_t at = 0; at < values.size(); ++at) {
        if (!there[at] && there[at].error().code() != errc::not_found) {
            co_return there[at].error();
        }
        if (there[at]) {
            what.overwrite(path(values[at].first), values[at].second);
        }
    }
    co_return what;
}

async::awaitable<said::any> fence_run::write(ask::write wanted) {
    zookeeper::transaction what;
    const auto put_domain_state = [&](model::domain_state to) {
        what.set(path(model::node_key::domain_state), std::string(to_text(to)), keys_.domain_state_version);
    };
    switch (wanted.what) {
        case policy::fence_write::mark: co_return co_await write_mark();
        case policy::fence_write::fenced:
            what.set(path(model::node_key::daemon_state), std::string(to_text(model::daemon_state::fenced)),
                     keys_.state_version);
            put_proof(what, wanted.proof);
            if (wanted.recovers) {
                put_domain_state(model::domain_state::fence_flush);
            }
            break;
        case policy::fence_write::flush:
            put_domain_state(model::domain_state::fence_flush);
            if (wanted.proof == policy::fence_proof::lease) {
                put_proof(what, wanted.proof);
            }
            break;
        case policy::fence_write::role:
            if (keys_.router_version >= 0) {
                what.set(path(model::node_key::router_state), std::string(to_text(model::router_state::secondary)),
                         keys_.router_version);
            }
            if (keys_.is_named_primary) {
                what.set(std::string(model::key_path::primary_node), "none", keys_.primary_version);
            }
            break;
        case policy::fence_write::flushed:
            if (wanted.resets_figures) {
                auto reset = co_await figures(wanted.left);
                if (!reset) {
                    co_return said::written{said::written::end::overtaken, 0};
                }
                what = std::move(*reset);
            }
            if (keys_.is_flushing) {
                put_domain_state(model::domain_state::flushed);
            }
            break;
    }
    add_guards(what, wanted.what == policy::fence_write::fenced);
    co_return co_await commit(std::move(what));
}

}  // namespace pvc::fencing
