// Small machines that see to what is here or is gone: adopt, keep, clean up. Specification: vm-domains.md 4.2, 6.7.
#pragma once

#include "pvcnoded/policy/domains/machine.hpp"

namespace pvc::policy {

// It runs where it should: running list, `state` if it has just arrived, console, VNC.
struct adopting {
    enum class at : std::uint8_t { begin, listing, writing, clearing_reason, publishing, clearing_word, over };

    bool with_state = false;
    at where = at::begin;

    [[nodiscard]] step resume(context& c);
    [[nodiscard]] bool is_over() const { return where == at::over; }
    friend bool operator==(const adopting&, const adopting&) = default;

private:
    step listed(context& c);
    step adopted(context& c);
    step publish(context& c);
};

// It is left alone, but shown: running list and console.
struct keeping {
    enum class at : std::uint8_t { begin, listing, seeing, over };

    at where = at::begin;
    bool shows_vnc = false;

    [[nodiscard]] step resume(context& c);
    friend bool operator==(const keeping&, const keeping&) = default;
};

// It is off: running list, console, and where it is ours the keys of a guest. `with_keys`: not without a word of its
// state that allows a write.
struct cleaning_up {
    enum class at : std::uint8_t { begin, listing, ending_console, clearing_vnc, clearing_word, clearing_reason, over };

    bool with_keys = false;
    at where = at::begin;

    [[nodiscard]] step resume(context& c);
    [[nodiscard]] bool is_over() const { return where == at::over; }
    friend bool operator==(const cleaning_up&, const cleaning_up&) = default;
};

}  // namespace pvc::policy
