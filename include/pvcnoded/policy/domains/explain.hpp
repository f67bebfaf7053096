// What an operation does now, and what it would do next: a machine is a value, so a copy of it is asked. For whoever
// looks at a node that does not get on. Specification: vm-domains.md 5.2.
#pragma once

#include "pvcnoded/policy/domains/operations.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace pvc::policy {

// One answer to what is asked now, and what comes of it: what it would wait for then; "over" if it would end.
struct what_if {
    std::string_view answer;  // in words; static text
    std::string next;

    friend bool operator==(const what_if&, const what_if&) = default;
};

// The answers that may come to a question, each once. Of a wait: that its time is over.
[[nodiscard]] std::vector<std::pair<std::string_view, answer>> possible_answers(const ask::any& question);

// What it waits for now, in words.
[[nodiscard]] std::string awaited(const domain_machine& machine, const step& pending);

// Nothing is changed and nothing is done by asking.
[[nodiscard]] std::vector<what_if> next_steps(const domain_machine& machine, const step& pending,
                                              const domain_seen& seen, const domain_memory& memory, time_point now);

}  // namespace pvc::policy
