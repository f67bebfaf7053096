// Printable ASCII, of which nearly every text is: nothing in it is to be decoded, tamed or escaped.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace pvc {

// How much of the beginning is that.
[[nodiscard]] inline std::size_t plain_length(std::string_view text) {
    return static_cast<std::size_t>(std::ranges::find_if_not(text, [](char c) { return c >= ' ' && c <= '~'; }) -
                                    text.begin());
}

}  // namespace pvc
