// A domain that is to come here, runs on another node, and is not sent: a daemon of the reference that was restarted
// in mid-migration has forgotten that it is the sender (README ruling 30; vm-domains.md 8.4 R6). When a receiver gives
// up.
#pragma once

#include "pvcnoded/base/clock.hpp"
#include "pvcnoded/model/states.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pvc::policy {

// What one other node was found to have of it.
enum class holding : std::uint8_t {
    nothing,  // it said so, or need not say
    runs,
    other,    // a copy that does not run, or is on its way
    unknown,  // it did not say, and has to
};
struct holding_node {
    std::string name;
    model::daemon_state daemon = model::daemon_state::stop;
    holding what = holding::unknown;

    friend bool operator==(const holding_node&, const holding_node&) = default;
};

// One look at everything.
struct stranded_look {
    std::vector<holding_node> nodes;  // all but this one
    bool is_contended = false;        // somebody else queues for the sync lock or for `node`
    std::int64_t changed = 0;         // newest transaction among the keys of the migration
};

// What several looks in a row agree about.
struct stranded_sender {
    std::string node;  // "": there is none
    std::int64_t changed = 0;
    time_point since{};

    friend bool operator==(const stranded_sender&, const stranded_sender&) = default;
};
inline constexpr duration stranded_after = std::chrono::seconds(120);

[[nodiscard]] stranded_sender follow(const stranded_sender& before, const stranded_look& look, time_point now);
// True: it stays where it is, the receiver takes the migration back.
[[nodiscard]] bool is_stranded(const stranded_sender& sender, time_point now);
// `lastnode` after that: as in the rollback of a sender that does not know the one before (8.3).
[[nodiscard]] std::string last_node_after_return(std::string_view holder, std::string_view present);

}  // namespace pvc::policy
