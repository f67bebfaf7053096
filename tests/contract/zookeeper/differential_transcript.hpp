// What was seen while a scenario was played, and the comparison of two such records.
//
// What is no accident of timing is text and must be equal. Transaction numbers differ between worlds; their order must
// not: whatever is older, equal or newer in one world is so in the other.
#pragma once

#include "contract/zookeeper/differential_scenario.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace pvc::contract::differential {

struct entry {
    std::string text;
    std::vector<std::int64_t> zxids{};
    bool is_event = false;
};

struct step_record {
    std::array<std::vector<entry>, clients> logs;
    // Of a step in which two clients write at once: writes between these two have no order that could be compared.
    std::int64_t after_zxid = 0;
    std::int64_t before_zxid = 0;
};

struct transcript {
    std::vector<step_record> steps;
    // "commit not found" -> how often; also the steps by their names.
    std::map<std::string, std::size_t> seen;
    // What did not happen that must: a client that does not come back, a request without an answer.
    std::vector<std::string> problems;
};

// In words, with both results; nothing if they agree.
[[nodiscard]] std::optional<std::string> difference(const scenario& what, const transcript& memory,
                                                    const transcript& real);

}  // namespace pvc::contract::differential
