// Which machines belong to which nodes, and what memory these owe them, by keys. Loop thread only.
// Specification: README ruling 44.
#pragma once

#include "pvcnoded/core/session.hpp"
#include "pvcnoded/policy/fencing/assigned_memory.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace pvc::fencing {

// A machine that a recovery would start elsewhere: it is to run, or migrates.
struct owned_machine {
    uuid id;
    std::string node;
    std::int64_t state_id = 0;             // of the transaction that wrote its state
    std::chrono::milliseconds state_at{};  // when that was, by the servers' clock
    bool is_migrating = false;
};

// The first that is no answer; a key that is missing is one.
[[nodiscard]] std::optional<failure> unread_of(const std::vector<result<zookeeper::read_reply>>& answers);

// Of those that belong to these nodes, but for some. Errors: those of a read.
async::awaitable<result<std::vector<owned_machine>>> running_machines(core::session& s, std::set<std::string> nodes,
                                                                      std::set<uuid> but, time_point until);

class assigned_machines {
public:
    explicit assigned_machines(core::session& s) : session_(s) {}

    // Of those that belong to these nodes, but for some. `now`: by the servers' clock, as the newest figure of a node
    // has it. Errors: those of a read.
    async::awaitable<result<std::vector<policy::assigned_machine>>> read(std::set<std::string> nodes,
                                                                         std::set<uuid> but,
                                                                         std::chrono::milliseconds now,
                                                                         time_point until);

private:
    struct definition {
        time_point read_at;
        std::int64_t memory = 0;
        bool is_set_aside = false;  // huge pages: in no figure of what it has touched, nor in free memory
    };
    async::awaitable<result<std::vector<policy::assigned_machine>>> read_part(std::vector<owned_machine> part,
                                                                              time_point until);
    [[nodiscard]] bool is_known(const uuid& id) const;

    core::session& session_;
    std::map<uuid, definition> definitions_;  // a change of one takes effect when its machine is started anew
};

}  // namespace pvc::fencing
