// What passes over the network cards of this machine, published with each tick where the active schema has a key for
// it: once a second all counters are read, over all sessions. Specification: networking.md 13.
#pragma once

#include "pvcnoded/core/subject.hpp"
#include "pvcnoded/netlink/link_counters.hpp"
#include "pvcnoded/policy/networks/link_rates.hpp"
#include "told_remarks.hpp"

namespace pvc::networks {

class link_statistics final : public core::subject, public core::prepared_subject, public core::figure_source {
public:
    // Both outlive it.
    link_statistics(core::node_context& node, netlink::link_counters& counters);

    [[nodiscard]] std::string_view name() const override { return "network statistics"; }
    // S3: counting begins.
    async::awaitable<result<void>> prepare(core::preparation in) override;

    [[nodiscard]] std::span<const std::string_view> figure_keys() const override;
    // Looks which cards there are.
    async::awaitable<void> collect(core::session& s, time_point deadline) override;
    void put(core::figure_sheet& sheet) const override;

private:
    [[nodiscard]] bool is_wanted() const;
    async::awaitable<void> run();
    async::awaitable<void> look_for_cards(time_point deadline);
    void tell(std::string_view about, const std::string& text);

    core::node_context& node_;
    netlink::link_counters& counters_;
    policy::link_rates rates_;
    told_remarks remarks_;
    bool is_looking_ = false;
};

}  // namespace pvc::networks
