// The board of a node as its keys in ZooKeeper name it, and which board answers there (config.md 5.4; README rulings
// 41, 42). Readers are total: keys may be missing, and hold whatever somebody wrote.
#pragma once

#include "pvcnoded/base/secret.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace pvc::policy {

struct board_entry {
    std::string host;
    std::string user;
    secret password;
    friend bool operator==(const board_entry&, const board_entry&) = default;
};

struct read_board_entry {
    board_entry entry;
    std::string trouble;  // why nobody can be asked with it, as a clause; empty: it can be
};
// The three keys; empty: missing. `ipmihostname` may be empty on purpose: its node found out that it is another's
// board.
[[nodiscard]] read_board_entry board_entry_of(const std::optional<std::string>& host,
                                              const std::optional<std::string>& user,
                                              const std::optional<std::string>& password);

// Of what `mc guid` printed, in small letters; empty: it tells none. One that a maker did not set (zeros, ones) is
// none.
[[nodiscard]] std::string read_board_guid(std::optional<int> status, std::string_view output);

}  // namespace pvc::policy
