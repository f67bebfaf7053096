// What the primary starts and stops besides addresses: the API service, and the database's leader, which Patroni is
// asked to move here. Both begin in phase G and neither waits for the other; a takeover's G is over when the service
// was enabled and Patroni has led the database here, or each was given up for now. What could not be done is said once
// and tried again every 30 s as long as this node has the role.
//
// In B' the service is disabled in the background: the phase does not wait for `systemctl`, a later takeover does.
//
// Only with the networking function (README ruling 11), on a coordinator.
// Specification: node-lifecycle.md 7.3 (B, G), 7.4 ("Local actions"), 7.5 ("Patroni"); README ruling 32;
// networking.md 6 (case 82).
#pragma once

#include "pvcnoded/async/process.hpp"
#include "pvcnoded/core/subject.hpp"

#include <memory>

namespace pvc::role {

class api_service;
class database_claim;

class role_services final : public core::subject,
                            public core::prepared_subject,
                            public core::role_part,
                            public core::reporter {
public:
    // `processes` outlives it.
    role_services(core::node_context& node, async::process_runner& processes);
    ~role_services() override;

    [[nodiscard]] std::string_view name() const override { return "role services"; }
    // Before S6: what goes on in the background, as long as the attempt lasts.
    async::awaitable<result<void>> prepare(core::preparation in) override;
    // Waits for a disabling that goes on in the background, once. It is ended with the attempt.
    async::awaitable<void> end(time_point deadline) override;
    // Cancelled: the programs that it started have ended.
    async::awaitable<void> take_up(policy::role_phase which, core::session& s) override;
    // At once.
    async::awaitable<void> give_up(policy::role_phase which, core::session* s) override;
    void report(std::vector<std::string>& lines) const override;

    // Patroni has led the database here since this node took the role. The DNS aggregator waits for it.
    [[nodiscard]] bool is_database_ours() const;

private:
    std::unique_ptr<api_service> api_;
    std::unique_ptr<database_claim> database_;
};

}  // namespace pvc::role
