// What a board says of its power and of itself, and how its node's keys name it: known only if it is said as it must
// be. The first byte is the status, the rest the output and, behind a NUL, what it printed of errors. Covers:
// src/policy/fencing/power_answer.cpp src/policy/fencing/board_entry.cpp src/base/board_account.cpp
#include "fuzz_support.hpp"
#include "pvcnoded/policy/fencing/board_entry.hpp"
#include "pvcnoded/policy/fencing/power_answer.hpp"

#include <algorithm>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using pvc::policy::board_power;
    const auto text = pvc::fuzz::text_of(data, size);
    const std::optional<int> status =
        text.empty() || text.front() == '-' ? std::nullopt : std::optional(text.front() - '0');
    const auto rest = text.substr(std::min<std::size_t>(text.size(), 1));
    const auto end = rest.find('\0');
    const auto output = rest.substr(0, end);
    const auto errors = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    const auto answer = pvc::policy::read_power(status, output, errors);
    PVC_ASSERT((answer.power == board_power::unknown) == !answer.why.empty());
    PVC_ASSERT(answer.why.size() <= 1000 && answer.why.find('\n') == std::string::npos);
    PVC_ASSERT(answer.power == board_power::unknown || status == 0);
    // What is known is known without anything around it as well, and from nothing but the output.
    PVC_ASSERT(pvc::policy::read_power(status, output, {}).power == answer.power);

    const auto guid = pvc::policy::read_board_guid(status, output);
    PVC_ASSERT(guid.empty() || (status == 0 && pvc::policy::read_board_guid(0, "System GUID : " + guid) == guid));
    const std::string value(rest);
    const auto entry = pvc::policy::board_entry_of(value, "admin", "secret");
    PVC_ASSERT(entry.trouble.find('\n') == std::string::npos);
    const auto hidden = pvc::policy::board_entry_of("hv1", "admin", value);
    PVC_ASSERT(hidden.trouble.size() < 100);
    return 0;
}
