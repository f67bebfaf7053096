// Answers as people read them. Whatever a text holds, it cannot drive the terminal; what is missing in an answer is
// shown as "-", so that a daemon of another version can be asked.
#pragma once

#include <boost/json/object.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace pvc::ctl {

// `command` is the name of the request; "absent" is what is known where no daemon listens (absence.hpp).
[[nodiscard]] std::string table(std::string_view command, const boost::json::object& result, bool coloured);
// The same for programs, one line of JSON. Characters that could drive a terminal, or turn the direction of its lines,
// are escaped, so that the text means the same.
[[nodiscard]] std::string json_text(const boost::json::object& what);

// The name of a task in the answer to `tasks`; empty: it is not among them.
[[nodiscard]] std::string task_name(const boost::json::object& tasks, std::int64_t id);

// The records in one answer to `log follow`, a line each, in local time; and as JSON objects.
[[nodiscard]] std::string log_lines(const boost::json::object& result, bool coloured);
[[nodiscard]] std::string log_json_lines(const boost::json::object& result);

// What `watch` shows: the head of `status`, the virtual machines (no list: none are shown), the subjects.
[[nodiscard]] std::string live_page(const boost::json::object& status, const boost::json::object& machines,
                                    bool coloured);
// The text as it is written over the one before on a terminal of so many rows: what is beyond them is left out, and
// said.
[[nodiscard]] std::string screen_of(std::string_view text, std::size_t rows);

}  // namespace pvc::ctl
