// What is asked of the kernel's packet filter: a batch, which is one datagram, and the questions of a look. Each change
// of a batch has a sequence number of its own, also if it takes several messages: so a refusal names it. Specification:
// networking.md 7.3; runtime-design.md 4.
#pragma once

#include "pvcnoded/model/packet_filter.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace pvc::netlink {

// Of the head of a batch: what is said to the batch as a whole.
inline constexpr std::uint32_t batch_sequence = 1;
inline constexpr std::uint32_t first_change_sequence = 2;

// Of at least one change, each of which may be asked for (netlink/filter_limits.hpp). Only the last message of the last
// change is to be acknowledged: the kernel says why it refuses also where nobody asked for an answer.
[[nodiscard]] std::string batch_message(const std::vector<model::filter_change>& changes,
                                        std::optional<std::uint32_t> generation);

// A batch without changes. The kernel takes it when nobody's batch is under way any more, and it changes nothing, the
// generation neither.
[[nodiscard]] std::string empty_batch_message();

[[nodiscard]] std::string get_generation_message(std::uint32_t sequence);
[[nodiscard]] std::string get_table_message(std::uint32_t sequence);
// Of all tables of the family: not every kernel chooses.
[[nodiscard]] std::string dump_chains_message(std::uint32_t sequence);
[[nodiscard]] std::string dump_all_rules_message(std::uint32_t sequence);  // of all tables
[[nodiscard]] std::string dump_rules_message(std::uint32_t sequence);

}  // namespace pvc::netlink
