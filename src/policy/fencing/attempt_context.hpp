// One resumption of a fence: what is seen and said, and the acts so far. For the sources of attempt.hpp.
#pragma once

#include "pvcnoded/policy/fencing/attempt.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pvc::policy {

// Who says that it is off may be at work on it.
inline constexpr std::string_view word_came = "an operator says that it is off";
inline constexpr std::string_view word_came_late = "an operator says that it is off, after it was ordered on";

struct fence_attempt::context {
    const fence_seen& seen;
    const fence_said::any& said;
    time_point now;
    std::vector<fence_act::any>& acts;

    void note(fence_entry::any entry) const { acts.emplace_back(fence_act::note{std::move(entry)}); }
    void say(fence_news what, std::string text = {}) const { acts.emplace_back(fence_act::say{what, std::move(text)}); }
};

}  // namespace pvc::policy
