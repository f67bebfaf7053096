// Values of domain keys: statistics, console log, running list. Specification: vm-domains.md 10, 11.
#pragma once

#include "pvcnoded/model/domain_xml.hpp"
#include "pvcnoded/model/guest_figures.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace pvc::model {

// The JSON of /domains/<uuid>/stats: keys in the order that clients know, separators ", " and ": ". Disks in the order
// of the live XML, those without a source left out; interfaces of type bridge only; numbers that are not known are 0
// (err: -1).
[[nodiscard]] std::string domain_stats_text(const guest_figures& figures, const domain_xml& live);

// The value of `consolelog` from the raw end of a console file: valid UTF-8 (bad bytes become U+FFFD), CRLF and CR as
// LF, the last `lines` lines with their newlines (an unfinished last line included), oldest lines dropped until it has
// at most 512 KiB, a single longer line cut at its front at a character boundary. `lines` 0: "".
inline constexpr std::size_t console_value_bytes = 512UL * 1024;
// How much of the end of a file is enough: even if all of it is CRLF, more than console_value_bytes remain, so that the
// line in whose middle it begins is dropped.
inline constexpr std::size_t console_read_bytes = 2 * console_value_bytes + 2;
[[nodiscard]] std::string console_text(std::string_view raw, std::size_t lines,
                                       std::size_t max_bytes = console_value_bytes);

// Why a domain of this name has no console file, which would be called like it: "holds a `/`". Empty: it has one.
[[nodiscard]] std::string_view console_name_problem(std::string_view name);

// Whether /nodes/<node>/runningdomains names this domain.
[[nodiscard]] bool lists_domain(std::string_view running_domains, const uuid& id);

// migration_max_downtime: missing, empty or not a positive number: 300 (vm-domains.md 8.2).
[[nodiscard]] std::uint64_t maximum_downtime_ms(std::string_view text);

enum class migration_method : std::uint8_t { none, live, shutdown };
[[nodiscard]] migration_method parse_migration_method(std::string_view text);

}  // namespace pvc::model
