// What a child process printed, in pieces of any size, and what the daemon makes of systemctl's words. Input: how it
// ended, the exit status, the limit, the size of a piece (a byte each), standard output, zero byte, standard error.
// Covers: include/pvcnoded/async/bounded_text.hpp src/services/systemctl_reply.cpp src/async/process_outcome.cpp
#include "fuzz_support.hpp"
#include "pvcnoded/async/bounded_text.hpp"
#include "pvcnoded/services/systemctl_reply.hpp"
#include "pvcnoded/services/unit_readiness.hpp"

using namespace pvc;

static std::string collect(std::string_view printed, std::size_t limit, std::size_t piece, bool& truncated) {
    async::bounded_text kept(limit);
    for (auto rest = printed; !rest.empty();) {
        kept.add(fuzz::take(rest, piece));
        PVC_ASSERT(kept.text().size() <= limit);
    }
    PVC_ASSERT(kept.text() == printed.substr(0, limit));
    PVC_ASSERT(kept.truncated() == (printed.size() > limit));
    truncated = truncated || kept.truncated();
    return kept.take();
}

// One line that can stand in a log, and that names the unit.
static void check_failure(const failure& error, const async::process_outcome& outcome) {
    PVC_ASSERT(error.subject() == "a.service");
    PVC_ASSERT(error.code() == errc::refused || error.code() == errc::unavailable || error.code() == errc::timed_out);
    PVC_ASSERT((error.code() == errc::timed_out) == std::holds_alternative<async::timed_out>(outcome.how));
    PVC_ASSERT(!error.cause().empty() && error.cause().size() <= services::longest_systemctl_cause);
    PVC_ASSERT(fuzz::is_printable_ascii(error.text()));
    services::unit_state state{"a.service", error};
    PVC_ASSERT(fuzz::is_printable_ascii(state.text()) && state.text().starts_with("a.service"));
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    auto rest = fuzz::text_of(data, size);
    async::process_outcome outcome;
    const unsigned kind = fuzz::take_byte(rest) % 3;
    const int code = static_cast<int>(fuzz::take_byte(rest));
    const std::size_t limit = std::size_t{8} * fuzz::take_byte(rest);
    const std::size_t piece = 1 + fuzz::take_byte(rest);
    if (kind == 1) {
        outcome.how = async::signalled{code};
    } else if (kind == 2) {
        outcome.how = async::timed_out{code != 0};
    } else {
        outcome.how = async::exited{code};
    }
    outcome.output = collect(fuzz::take_until(rest, '\0'), limit, piece, outcome.truncated);
    outcome.error_output = collect(rest, limit, piece, outcome.truncated);
    const auto requested = services::request_reply("a.service", outcome);
    PVC_ASSERT(requested.has_value() == (kind == 0 && code == 0));
    if (!requested) {
        check_failure(requested.error(), outcome);
    }
    const auto active = services::activity_reply("a.service", outcome);
    PVC_ASSERT(active.has_value() == (kind == 0 && (code == 0 || code == 3 || code == 4)));
    PVC_ASSERT(!active || *active == (code == 0));
    if (!active) {
        check_failure(active.error(), outcome);
    }
    return 0;
}
