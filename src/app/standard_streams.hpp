// Standard streams of a daemon: possibly closed, possibly pipes that nobody reads, possibly the journal.
#pragma once

#include <string_view>

namespace pvc::app {

// Opens /dev/null in the place of standard descriptors that are closed, so that no other file gets their numbers.
void repair_standard_streams();

// Writes a line if that is possible without waiting; else drops it. For what is said outside the log.
void say(int descriptor, std::string_view line);

// Writes all of it, waiting if need be: for commands that end after it (--help, --check-config).
void print(int descriptor, std::string_view text);

// True if standard output is the stream that the journal gave us (JOURNAL_STREAM, systemd.exec(5)).
[[nodiscard]] bool is_journal(int descriptor, const char* journal_stream);

}  // namespace pvc::app
