// The words of a line of a scenario.
#pragma once

#include "pvcnoded/base/text.hpp"

#include <algorithm>
#include <string_view>

namespace pvc::sim {

// Takes the next word off the line; empty at its end.
inline std::string_view next_word(std::string_view& rest) {
    rest = trim(rest);
    const auto end = std::min(rest.find(' '), rest.size());
    const auto word = rest.substr(0, end);
    rest = trim(rest.substr(end));
    return word;
}

}  // namespace pvc::sim
