// What flush and unflush share: reading one machine's keys, waiting for its state, and writing under its lock what was
// decided on, with the versions of everything that the decision rests on.
#pragma once

#include "pvcnoded/base/uuid.hpp"
#include "pvcnoded/node/session.hpp"
#include "pvcnoded/policy/flush_rules.hpp"
#include "pvcnoded/policy/target_selection.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace pvc::node {

class domains;

inline constexpr duration move_limit = std::chrono::seconds(120);
inline constexpr int conflicts_max = 3;

struct job {
    session& s;
    domains* machines;
    const zookeeper::watched& order;  // own `domainstate`
    std::string_view what;            // "flush", "unflush"

    [[nodiscard]] const std::string& self() const { return s.node.self(); }
    [[nodiscard]] logger& log() const { return s.node.log; }
    [[nodiscard]] time_point now() const { return s.node.clock().now(); }
    // The longest that a guest takes to go off and come back.
    [[nodiscard]] duration settle_limit() const;
};

// The keys of a machine as they were read, and their versions.
struct stored_machine {
    std::string name;  // for messages
    policy::placed_machine keys;
    std::int64_t state_changed = 0;  // transaction
    std::int64_t node_changed = 0;
    std::int32_t state_version = 0;
    std::int32_t node_version = 0;
    std::int32_t last_node_version = 0;  // -1: the key is missing, which means empty,
    std::int32_t autostart_version = 0;  // and this one `False` (README ruling 27)
};

// Errors: not_found (the machine, or a key that it must have, is gone), and those of a session that broke.
async::awaitable<result<stored_machine>> read_machine(job& of, const uuid& id);

// The state of one machine, followed.
class followed_state {
public:
    followed_state(job& of, const uuid& id);

    enum class outcome : std::uint8_t { left, gone, late };
    // Suspends while the state is one of `these`, or older than transaction `since`.
    async::awaitable<outcome> wait_while(std::function<bool(model::vm_state)> these, std::int64_t since, duration limit,
                                         std::string_view what);

private:
    job& of_;
    async::wakeup changed_;
    std::unique_ptr<zookeeper::watched> key_;
};

// What came of an attempt to write under the lock of the machine's state.
struct attempt {
    enum class kind : std::uint8_t {
        written,
        needless,  // nothing is to be written after all
        conflict,  // something that it rests on changed
        locked,    // somebody holds the lock
        gone,      // the machine, or a key of it, is not there
        broken,    // the session is in trouble: nothing is known
    } what = kind::broken;
    std::int64_t zxid = 0;  // of the write
    std::string why;
};

// What is decided under the lock, and the further versions that it rests on. An empty write: nothing.
struct decision {
    std::optional<policy::placement> write;
    zookeeper::transaction checks;
};
using decide = std::function<async::awaitable<result<decision>>(const stored_machine&)>;

async::awaitable<attempt> place_machine(job& of, const uuid& id, decide by);

// Where a machine should go now, by its own rules and the nodes' present figures (policy/target_selection.hpp).
struct target {
    std::optional<policy::target_choice> choice;
    zookeeper::transaction checks;  // what the choice rests on: the machine's rules, and that the node takes machines
};
// `but`: names of nodes that are no choice.
async::awaitable<result<target>> choose_target(job& of, const uuid& id, const std::set<std::string>& but);

// After trouble with the session: until there is a connection again, or a while has passed.
async::awaitable<void> wait_better(job& of);

async::awaitable<void> flush(job& of);
// What came to a node that was emptied, by a move that began before: it goes on.
async::awaitable<void> move_on(job& of);
async::awaitable<void> unflush(job& of);

}  // namespace pvc::node
