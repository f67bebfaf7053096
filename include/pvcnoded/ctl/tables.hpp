// Answers as people read them. Whatever a text holds, it cannot drive the terminal; what is missing in an answer is
// shown as "-", so that a daemon of another version can be asked.
#pragma once

#include <boost/json/object.hpp>

#include <string>
#include <string_view>

namespace pvc::ctl {

// `command` is the name of the request.
[[nodiscard]] std::string table(std::string_view command, const boost::json::object& result, bool coloured);

}  // namespace pvc::ctl
