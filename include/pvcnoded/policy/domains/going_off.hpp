// Shutdown, stop, terminate, the first half of a restart; a shutdown that is to be completed; half of a migration that
// nobody needs. Specification: vm-domains.md 6.2 to 6.5, 4.2 (`shutdown`/N), 4.3.
#pragma once

#include "pvcnoded/policy/domains/ending.hpp"
#include "pvcnoded/policy/domains/release_wait.hpp"
#include "pvcnoded/policy/domains/settling.hpp"

namespace pvc::policy {

// A guest that is here goes, for one of several reasons.
struct going_off {
    enum class reason : std::uint8_t { shutdown, quiet_shutdown, stop, terminate, restart };
    enum class at : std::uint8_t {
        begin,
        looking_for_node,
        reading,
        powering_down,
        destroying,
        unlisting,
        writing,
        ending_console,
        clearing_vnc,
        cleaning_up,
        over,
    };

    reason why = reason::stop;
    at where = at::begin;
    wish asked{};  // when the cluster was asked for its node, and the keys were read once more
    powering_down power{};
    destroying destroy{};
    cleaning_up clean{};

    [[nodiscard]] step resume(context& c);
    void hold(holdings& what) const;
    friend bool operator==(const going_off&, const going_off&) = default;

private:
    [[nodiscard]] bool goes_on(const context& c) const;
    step begin(context& c);
    step has_looked(context& c);
    step look_again(context& c);
    step has_read(context& c);
    step end(context& c);
    step stop(context& c);
    step terminate(context& c);
    step power_down(context& c);
    step gone(context& c);
    step unlisted(context& c);
    step end_console();
    step clear_vnc(context& c);
    step cleaned(context& c);
    step finish();
};

// It is off here, in `shutdown`: `stop` once nobody else runs it.
struct settling_shutdown {
    enum class at : std::uint8_t { begin, unlisting, ending_console, releasing, looking, writing, clearing_vnc, over };

    at where = at::begin;
    release_wait released{};

    [[nodiscard]] step resume(context& c);
    void hold(holdings& what) const;
    friend bool operator==(const settling_shutdown&, const settling_shutdown&) = default;

private:
    [[nodiscard]] static bool is_still_to_settle(const context& c);
};

// Half of a migration that nobody needs: it has ten seconds to go by itself.
struct dropping_half {
    enum class at : std::uint8_t { begin, waiting, destroying, cleaning_up, over };

    at where = at::begin;
    time_point until{};
    destroying destroy{};
    cleaning_up clean{};

    [[nodiscard]] step resume(context& c);
    friend bool operator==(const dropping_half&, const dropping_half&) = default;

private:
    step wait(context& c);
};

}  // namespace pvc::policy
