// A look at XML text before it is parsed: the limits, and what is refused whatever it means (private to the layer).
#pragma once

#include "pvcnoded/base/result.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace pvc::model {

struct xml_limits {
    std::size_t bytes = 1024UL * 1024;
    std::size_t depth = 64;
    std::size_t elements = 20'000;
};

// Only tags are told apart here, in one pass without recursion; whether they are well formed is the parser's business.
// Errors: too_large; invalid for a NUL byte, a document type declaration (no client writes one, and what it declares
// would change what the text means), text outside the root, a second root.
[[nodiscard]] result<void> scan_xml(std::string_view text, const xml_limits& limits);

// "line 3, column 14: expected …, found …" as errc::invalid. What was found is a tag without its attributes, else
// one character: more of it may be a password.
[[nodiscard]] failure xml_error(std::string_view text, std::size_t offset, std::string_view expected,
                                bool may_show_tag = true);

}  // namespace pvc::model
