// An operator's word is noted in ZooKeeper before anything else is done about it, so that the fence of whichever
// coordinator does not order the node to be switched on after that (model/fence_power.hpp).
#pragma once

#include "pvcnoded/core/session.hpp"
#include "pvcnoded/policy/fencing/confirm.hpp"

#include <cstdint>
#include <string>

namespace pvc::fencing {

struct word_note {
    std::int32_t version = 0;       // of the key, as it was written
    std::int32_t beat_version = 0;  // of the heartbeat that it was written after
    std::string before;             // a word that stood there, and still holds if this one is refused; empty: none did
    std::optional<policy::order_before> ordered;
};

// Errors: not_found (no such node), and those of ZooKeeper.
async::awaitable<result<word_note>> note_word(core::session& s, std::string node, time_point until);
// A word that is refused is none, and the one that stood there before holds again. One that was written over since is
// somebody else's, and stays.
async::awaitable<void> take_note_back(core::session& s, std::string node, word_note what);

}  // namespace pvc::fencing
