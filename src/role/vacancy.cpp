#include "vacancy.hpp"

#include "pvcnoded/model/node_payloads.hpp"

namespace pvc::role {

async::awaitable<result<void>> claim_vacancy(core::session& s, time_point deadline,
                                             std::optional<policy::primary_view> decided_on,
                                             const zookeeper::held_lock* held) {
    const std::string key(model::key_path::primary_node);
    auto stored = co_await s.zk.get(deadline, key);
    policy::primary_view now;
    zookeeper::transaction claim;
    if (stored) {
        now.node = model::parse_primary_node(stored->data);
        now.version = stored->stat.version;
        claim.set(key, s.node.self(), now.version);
    } else if (stored.error().code() == errc::not_found) {
        now.version = decided_on ? decided_on->version : 0;
        claim.create(key, s.node.self());
    } else {
        co_return stored.error();
    }
    if (!policy::still_vacant(decided_on.value_or(now), now)) {
        co_return failure(errc::refused, key, now.node.value_or("another node was faster"));
    }
    if (held != nullptr) {
        held->add_check(claim);
    }
    auto done = co_await s.zk.commit(deadline, std::move(claim));
    co_return done ? result<void>() : result<void>(done.error());
}

}  // namespace pvc::role
