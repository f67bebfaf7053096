// What patronictl printed, and what is made of it. Input: how it ended (a byte), exit status (a byte), standard output,
// zero byte, standard error.
// Covers: src/policy/role/patroni.cpp
#include "pvcnoded/policy/role/patroni.hpp"

#include "fuzz_support.hpp"

using namespace pvc;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    auto rest = fuzz::text_of(data, size);
    const unsigned how = fuzz::take_byte(rest) % 4;
    const int status = static_cast<int>(fuzz::take_byte(rest));
    policy::patroni_run run;
    run.exit_status = (how & 1U) == 0 ? std::optional(status) : std::nullopt;
    run.is_truncated = (how & 2U) != 0;
    run.output = fuzz::take_until(rest, '\0');
    run.error_output = rest;
    run.how_it_ended = "exit status 1";
    const auto judged = policy::judge_patroni(run);
    // A failure has a reason that can stand in a log, a success has none.
    PVC_ASSERT(judged.is_ours == judged.reason.empty());
    PVC_ASSERT(fuzz::is_printable_ascii(judged.reason));
    PVC_ASSERT(judged.reason.size() <= 2 * policy::patroni_reason_max + 32);
    PVC_ASSERT(!run.is_truncated || !judged.is_ours);
    // Blanks around the output are nothing.
    const std::string errors = "\n " + std::string(run.error_output) + " \n";
    run.error_output = errors;
    PVC_ASSERT(policy::judge_patroni(run) == judged);
    return 0;
}
