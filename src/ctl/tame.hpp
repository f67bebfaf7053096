// Text of keys and programs, made fit for a terminal.
#pragma once

#include <string>
#include <string_view>

namespace pvc::ctl {

// As tame_text, and what turns the direction of a line around is "?", too: a name must not look like another one.
[[nodiscard]] std::string tame(std::string_view text);

}  // namespace pvc::ctl
