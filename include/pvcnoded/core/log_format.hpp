// A log record as the bytes of a sink: the reference's prompts, dates and colours.
// Specification: config.md 5.6, zookeeper-schema.md 11.
#pragma once

#include "pvcnoded/base/log_record.hpp"

#include <string>

namespace pvc::core {

struct log_style {
    bool colours = false;
    bool dates = false;
    bool journal = false;  // "<N>" in front of every line, for a stream that goes to the journal
};

// Of a longer text the front is kept, and one more line says how much is missing: whoever can write a key that is
// quoted in the log must not be able to fill memory and disk with it.
inline constexpr std::size_t record_lines_max = 2000;
inline constexpr std::size_t record_bytes_max = 64UL * 1024UL;

// One line without its newline: [<N>][colour]<prompt>[reset][date ][prefix - ]text. A text of several lines gives
// several lines, each with the whole front. Text and prefix are tamed (model/log_value.hpp), a prefix is one line.
[[nodiscard]] std::string format_record(const log_record& record, const log_style& style);

// The line that is shipped to ZooKeeper: always dated (without `dates` the date stands in front of everything), with
// the daemon's tag from schema version 11 on.
[[nodiscard]] std::string format_shipped(const log_record& record, const log_style& style, int schema_version);

// "2026/01/31 23:59:59.123456 ", local time.
[[nodiscard]] std::string date_text(wall_time when);

}  // namespace pvc::core
