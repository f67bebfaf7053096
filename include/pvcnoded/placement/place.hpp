// Places a domain: writes under the lock of its state what was decided on there, with the versions of everything that
// the decision rests on. Of any domain, for any node: what empties a node uses it, and what recovers the domains of a
// dead one. Loop thread only; cancelling it has released the lock. Specification: node-lifecycle.md 8, 10.6;
// vm-domains.md 6.6.
#pragma once

#include "pvcnoded/placement/stored_domain.hpp"

#include <functional>
#include <optional>
#include <string>

namespace pvc::placement {

// On whose behalf.
struct order {
    core::session& s;
    std::string_view task;  // "flush", "unflush": in the lock and in messages
    // What every write must find as it was when the order was given; asked when one is sent.
    std::function<void(zookeeper::transaction&)> add_checks;
};

// What is decided under the lock, and the further versions that it rests on. An empty write: nothing.
struct decision {
    std::optional<policy::placement> write;
    zookeeper::transaction checks;
};
using decide = std::function<async::awaitable<result<decision>>(const stored_domain&)>;

// What came of an attempt.
struct attempt {
    enum class kind : std::uint8_t {
        written,
        needless,  // nothing is to be written after all
        conflict,  // something that it rests on changed
        locked,    // somebody holds the lock
        gone,      // the domain, or a key of it, is not there
        broken,    // the session is in trouble: nothing is known
    } what = kind::broken;
    std::int64_t zxid = 0;  // of the write
    std::string why;
};

// Waits for the lock at most 30 s, as clients do.
async::awaitable<attempt> place_domain(const order& by, const uuid& id, decide how);

}  // namespace pvc::placement
