// Waits until no other node has the domain in its running list, asking the hypervisor of one that keeps it there. One
// whose daemon was stopped in order is waited for until its hypervisor says that it does not have it.
// Specification: vm-domains.md 4.2 (`shutdown`/N), 6.1 step 3; README ruling 89.
#pragma once

#include "pvcnoded/policy/domains/machine.hpp"

#include <set>

namespace pvc::policy {

// Whether a node can have this name; what clients write into `node` may be anything.
[[nodiscard]] bool may_be_a_node(std::string_view name);

struct release_rules {
    bool includes_stopped = false;  // lists of nodes in `stop` and `dead` count too
    duration ask_after{};
    std::optional<duration> give_up_after{};  // a node whose daemon is there
    std::string receiver{};                   // a node whose own list does not count: it is the one to start it

    friend bool operator==(const release_rules&, const release_rules&) = default;
};

struct release_wait {
    enum class at : std::uint8_t { begin, reading, pausing, asking_stopped, asking_holders, waiting, over };
    enum class outcome : std::uint8_t { clear, changed, still_there };

    release_rules rules{};
    at where = at::begin;
    std::optional<time_point> held_since{};  // by a node whose daemon is there; from the beginning of the wait on
    time_point next_question{};
    time_point next_look_at_stopped{};
    std::vector<std::string> holders{};
    std::vector<std::string> stopped{};        // they list it, and their daemon was stopped in order
    std::set<std::string> still_there{};       // of those, but for whose hypervisor says that it is not there
    std::set<std::string> does_not_have_it{};  // by its hypervisor's own word, for this wait
    std::vector<std::string> followed{};       // whose lists are watched
    bool told = false;
    bool told_stopped = false;
    outcome end = outcome::changed;
    std::string node{};  // of `still_there`

    // `goes_on`: whether the answer is still wanted, asked at every resumption.
    [[nodiscard]] step resume(context& c, bool goes_on);
    [[nodiscard]] bool is_over() const { return where == at::over; }
    void hold(holdings& what) const { what.lists = followed; }
    // It waits for a node whose daemon was stopped in order; empty: it does not.
    [[nodiscard]] std::string stopped_holder() const;
    friend bool operator==(const release_wait&, const release_wait&) = default;

private:
    step read();
    step sort(context& c, const std::vector<other_node>& others);
    step weigh(context& c);
    step wait(context& c);
    void take_stopped(context& c);
    [[nodiscard]] bool is_stopped(const std::string& name) const;
    void tell(context& c);
    step finish(outcome how, std::string of = {});
};

}  // namespace pvc::policy
