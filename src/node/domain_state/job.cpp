#include "domain_state/job.hpp"

#include "domain/operation.hpp"
#include "pvcnoded/model/scalar.hpp"

#include <algorithm>
#include <array>

namespace pvc::node {

using namespace std::chrono_literals;

namespace {

constexpr duration client_lock_limit = 30s;
constexpr duration settle_slack = 30s;
constexpr duration pause_between_attempts = 500ms;
constexpr duration reconnect_limit = 10s;

std::string root_of(const uuid& id) {
    return model::domain_path(to_text(id));
}

// The conditional write of a decision, in the order in which clients write these keys.
zookeeper::transaction write_of(const job& of, const uuid& id, const stored_machine& seen, decision&& decided) {
    const std::string root = root_of(id);
    const policy::placement& wanted = *decided.write;
    zookeeper::transaction write;
    const auto put = [&](std::string_view suffix, const std::optional<std::string>& value, std::int32_t version) {
        if (value && version < 0) {
            write.create(root + std::string(suffix), *value);
        } else if (value) {
            write.set(root + std::string(suffix), *value, version);
        } else if (version >= 0) {
            write.check(root + std::string(suffix), version);
        }
    };
    const auto state = wanted.state ? std::optional(std::string(to_text(*wanted.state))) : std::optional<std::string>();
    const auto autostart = wanted.autostart ? std::optional(std::string(model::boolean_text(*wanted.autostart)))
                                            : std::optional<std::string>();
    put("/state", state, seen.state_version);
    put("/node", wanted.node, seen.node_version);
    put("/lastnode", wanted.last_node, seen.last_node_version);
    put("/node_autostart", autostart, seen.autostart_version);
    write.append(std::move(decided.checks));
    // Another order came: this one is over.
    write.check(of.order.path(), of.order.stat().version);
    return write;
}

attempt refused(const failure& why, const std::string& root) {
    attempt out;
    out.why = why.text();
    if (why.code() == errc::version_conflict || why.code() == errc::already_exists) {
        out.what = attempt::kind::conflict;
    } else if (why.code() == errc::not_found) {
        // What it cannot be without: the lock, the rules of placement and the nodes may come and go.
        constexpr std::array<std::string_view, 3> own{"", "/state", "/node"};
        const bool is_machine =
            std::ranges::any_of(own, [&](std::string_view key) { return why.subject() == root + std::string(key); });
        out.what = is_machine ? attempt::kind::gone : attempt::kind::conflict;
    }
    return out;
}

}  // namespace

duration job::settle_limit() const {
    return s.node.config->vm_shutdown_timeout + settle_slack;
}

async::awaitable<void> wait_better(job& of) {
    co_await async::sleep_for(of.s.node.clock(), pause_between_attempts, "another attempt to read or write keys");
    auto connected = co_await of.s.zk.wait_connected(of.s.limit(reconnect_limit));
    ignore(connected, "the next request tells");
}

namespace {
// A key that is missing counts as empty, with version -1; a read that failed is a failure.
async::awaitable<result<zookeeper::read_reply>> read_optional(job& of, std::string path) {
    auto read = co_await of.s.zk.get(of.s.limit(), path);
    if (read || read.error().code() != errc::not_found) {
        co_return read;
    }
    zookeeper::read_reply none;
    none.stat.version = -1;
    co_return none;
}
}  // namespace

async::awaitable<result<stored_machine>> read_machine(job& of, const uuid& id) {
    const std::string root = root_of(id);
    stored_machine out;
    PVC_CO_TRY(const auto name, co_await of.s.zk.get(of.s.limit(), root));
    PVC_CO_TRY(const auto state, co_await of.s.zk.get(of.s.limit(), root + "/state"));
    PVC_CO_TRY(const auto node, co_await of.s.zk.get(of.s.limit(), root + "/node"));
    PVC_CO_TRY(const auto last, co_await read_optional(of, root + "/lastnode"));
    PVC_CO_TRY(const auto autostart, co_await read_optional(of, root + "/node_autostart"));
    out.name = name.data.empty() ? to_text(id) : shown(name.data);
    out.keys.state = model::vm_state_or_fallback(state.data);
    out.keys.node = node.data;
    out.keys.last_node = model::is_no_value(last.data) ? std::string() : last.data;
    out.keys.autostart = model::parse_boolean(autostart.data).value_or(false);
    out.state_changed = state.stat.mzxid;
    out.node_changed = node.stat.mzxid;
    out.state_version = state.stat.version;
    out.node_version = node.stat.version;
    out.last_node_version = last.stat.version;
    out.autostart_version = autostart.stat.version;
    co_return out;
}

followed_state::followed_state(job& of, const uuid& id)
    : of_(of), key_(of.s.watches.add(root_of(id) + "/state", zookeeper::watch_kind::data, changed_)) {}

async::awaitable<followed_state::outcome> followed_state::wait_while(std::function<bool(model::vm_state)> these,
                                                                     std::int64_t since, duration limit,
                                                                     std::string_view what) {
    const time_point until = of_.now() + limit;
    for (;;) {
        if (key_->known() && !key_->present()) {
            co_return outcome::gone;
        }
        const bool is_current = key_->known() && key_->stat().mzxid >= since;
        if (is_current && !these(model::vm_state_or_fallback(key_->data()))) {
            co_return outcome::left;
        }
        if (of_.now() >= until) {
            co_return outcome::late;
        }
        co_await changed_.wait_until(of_.s.node.clock(), until, what);
    }
}

async::awaitable<attempt> place_machine(job& of, const uuid& id, decide by) {
    const std::string root = root_of(id);
    attempt out;
    bool had_lock = false;
    zookeeper::lock_request lock;
    lock.path = root + "/state";
    lock.deadline = of.s.limit(client_lock_limit);
    lock.task = std::string(of.what);
    lock.reason = "placing " + to_text(id);
    auto done = co_await of.s.locks.with_lock(
        std::move(lock), [&](zookeeper::held_lock& held) -> async::awaitable<result<void>> {
            had_lock = true;
            PVC_CO_TRY(const auto seen, co_await read_machine(of, id));
            PVC_CO_TRY(auto decided, co_await by(seen));
            if (!decided.write) {
                out.what = attempt::kind::needless;
                co_return result<void>();
            }
            auto write = write_of(of, id, seen, std::move(decided));
            held.add_check(write);
            PVC_CO_TRY(const auto written, co_await of.s.zk.commit(of.s.limit(), std::move(write)));
            out.what = attempt::kind::written;
            out.zxid = written.zxid();
            co_return result<void>();
        });
    if (done) {
        co_return out;
    }
    if (!had_lock && done.error().code() == errc::timed_out) {
        co_return attempt{attempt::kind::locked, 0, done.error().text()};
    }
    co_return refused(done.error(), root);
}

}  // namespace pvc::node
