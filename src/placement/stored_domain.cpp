#include "pvcnoded/placement/stored_domain.hpp"

#include "pvcnoded/base/text.hpp"
#include "pvcnoded/model/scalar.hpp"

namespace pvc::placement {

using namespace std::chrono_literals;

namespace {

constexpr duration pause_between_attempts = 500ms;
constexpr duration reconnect_limit = 10s;

// A key that is missing counts as empty, with version -1; a read that failed is a failure.
async::awaitable<result<zookeeper::read_reply>> read_optional(core::session& s, std::string path) {
    auto read = co_await s.zk.get(s.limit(), path);
    if (read || read.error().code() != errc::not_found) {
        co_return read;
    }
    zookeeper::read_reply none;
    none.stat.version = -1;
    co_return none;
}

}  // namespace

async::awaitable<result<stored_domain>> read_domain(core::session& s, const uuid& id) {
    const std::string root = model::domain_path(to_text(id));
    stored_domain out;
    PVC_CO_TRY(const auto name, co_await s.zk.get(s.limit(), root));
    PVC_CO_TRY(const auto state, co_await s.zk.get(s.limit(), root + model::domain_key::state));
    PVC_CO_TRY(const auto node, co_await s.zk.get(s.limit(), root + model::domain_key::node));
    PVC_CO_TRY(const auto last, co_await read_optional(s, root + model::domain_key::last_node));
    PVC_CO_TRY(const auto autostart, co_await read_optional(s, root + model::domain_key::node_autostart));
    out.name = name.data.empty() ? to_text(id) : shown(name.data);
    out.keys.state = model::vm_state_or_fallback(state.data);
    out.keys.node = node.data;
    out.keys.last_node = model::is_no_value(last.data) ? std::string() : last.data;
    out.keys.autostart = model::parse_boolean(autostart.data).value_or(false);
    // README ruling 44: one transaction wrote both.
    out.keys.is_parked =
        out.keys.state == model::vm_state::stop && out.keys.autostart && state.stat.mzxid == autostart.stat.mzxid;
    out.state_changed = state.stat.mzxid;
    out.node_changed = node.stat.mzxid;
    out.state_version = state.stat.version;
    out.node_version = node.stat.version;
    out.last_node_version = last.stat.version;
    out.autostart_version = autostart.stat.version;
    co_return out;
}

followed_state::followed_state(core::session& s, const uuid& id)
    : session_(s),
      key_(s.watches.add(model::domain_path(to_text(id), model::domain_key::state), zookeeper::watch_kind::data,
                         changed_)) {}

async::awaitable<followed_state::outcome> followed_state::wait_while(std::function<bool(model::vm_state)> these,
                                                                     std::int64_t since, duration limit,
                                                                     std::string_view what) {
    const time_point until = session_.limit(limit);
    for (;;) {
        if (key_->known() && !key_->present()) {
            co_return outcome::gone;
        }
        const bool is_current = key_->known() && key_->stat().mzxid >= since;
        if (is_current && !these(model::vm_state_or_fallback(key_->data()))) {
            co_return outcome::left;
        }
        if (session_.node.clock().now() >= until) {
            co_return outcome::late;
        }
        co_await changed_.wait_until(session_.node.clock(), until, what);
    }
}

async::awaitable<void> wait_better(core::session& s) {
    co_await async::sleep_for(s.node.clock(), pause_between_attempts, "another attempt to read or write keys");
    auto connected = co_await s.zk.wait_connected(s.limit(reconnect_limit));
    ignore(connected, "the next request tells");
}

}  // namespace pvc::placement
