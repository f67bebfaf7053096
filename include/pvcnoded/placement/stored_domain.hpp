// One domain as it is stored: the keys that say where it belongs and what it is to be, with their versions, and waiting
// for its state. Of any domain, whatever node it belongs to; nothing here knows of an own one. Loop thread only.
// Specification: vm-domains.md 2; node-lifecycle.md 8.
#pragma once

#include "pvcnoded/base/uuid.hpp"
#include "pvcnoded/core/session.hpp"
#include "pvcnoded/policy/domains/flush_rules.hpp"

#include <functional>
#include <memory>
#include <string>

namespace pvc::placement {

struct stored_domain {
    std::string name;  // for messages
    policy::placed_domain keys;
    std::int64_t state_changed = 0;  // transaction
    std::int64_t node_changed = 0;
    std::int32_t state_version = 0;
    std::int32_t node_version = 0;
    std::int32_t last_node_version = 0;  // -1: the key is missing, which means empty,
    std::int32_t autostart_version = 0;  // and this one `False` (README ruling 27)
};

// Errors: not_found (the domain, or a key that it must have, is gone: the subject says which), and those of a session
// that broke.
async::awaitable<result<stored_domain>> read_domain(core::session& s, const uuid& id);

// The state of one domain, followed by a watch. Lives no longer than the session.
class followed_state {
public:
    followed_state(core::session& s, const uuid& id);

    enum class outcome : std::uint8_t { left, gone, late };
    // Suspends while the state is one of `these`, or older than transaction `since`.
    async::awaitable<outcome> wait_while(std::function<bool(model::vm_state)> these, std::int64_t since, duration limit,
                                         std::string_view what);

private:
    core::session& session_;
    async::wakeup changed_;
    std::unique_ptr<zookeeper::watched> key_;
};

// After trouble with the session: suspends until there is a connection again, or a while has passed.
async::awaitable<void> wait_better(core::session& s);

}  // namespace pvc::placement
