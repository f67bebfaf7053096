// The virtual machines that concern the virtual functions of this node: those that use one by its keys (`node` and
// `state`), and those that run here (the XML, and `node` and `state` if that names a function of this node). Nothing is
// followed of any other. Lives as long as its session. Specification: networking.md 4.4.
#pragma once

#include "pvcnoded/core/session.hpp"
#include "pvcnoded/policy/networks/function_use.hpp"

#include <map>
#include <memory>
#include <set>
#include <vector>

namespace pvc::networks {

class function_machines {
public:
    // Both outlive it.
    function_machines(core::session& s, async::wakeup& changed) : session_(s), changed_(changed) {}

    // Begins and ends to follow, as the functions there want it; with none, nothing is followed.
    void follow(const policy::function_view& now);
    // What runs here and what is known of machines, as far as it was read.
    void put(policy::function_view& now) const;
    // Nothing is being read; whatever is tells nobody if it has not changed.
    [[nodiscard]] bool is_settled() const;

private:
    using key = std::unique_ptr<zookeeper::watched>;
    struct machine {
        key node;
        key state;
        key xml;
        policy::named_functions named;  // of the XML that was read then:
        std::int64_t named_at = 0;
    };
    [[nodiscard]] std::set<uuid> running() const;
    [[nodiscard]] key follow_key(const uuid& id, const char* name);
    void follow_xml(const uuid& id, machine& one);

    core::session& session_;
    async::wakeup& changed_;
    key running_;
    std::map<uuid, machine> machines_;
};

}  // namespace pvc::networks
