// The links of this machine as a subject.
#pragma once

#include "bridge_record.hpp"
#include "dhcp_folders.hpp"
#include "firewall_keeper.hpp"
#include "function_cards.hpp"
#include "link_keeper.hpp"
#include "pvcnoded/core/explainer.hpp"
#include "pvcnoded/core/metrics.hpp"
#include "pvcnoded/core/subject.hpp"
#include "pvcnoded/networks/network_subjects.hpp"
#include "role_addresses.hpp"

#include <memory>

namespace pvc::networks {

class network_subject final : public core::subject,
                              public core::prepared_subject,
                              public core::session_subject,
                              public core::reporter,
                              public core::explainer,
                              public core::metrics_source {
public:
    // All outlive it.
    network_subject(core::node_context& node, const network_ports& outside, role_addresses& addresses,
                    const function_cards& functions, network_counts& counts, std::shared_ptr<bridge_record> bridges);

    [[nodiscard]] std::string_view name() const override { return "networks"; }
    // S3: the host's links, and from then on all of them are kept. S4: kernel settings. S11: the distribution's dnsmasq
    // ends.
    async::awaitable<result<void>> prepare(core::preparation in) override;
    // Links stay: virtual machines go on.
    async::awaitable<void> end(time_point /*deadline*/) override { co_return; }
    std::unique_ptr<core::session_part> begin(core::session& s) override;
    void report(std::vector<std::string>& lines) const override;
    [[nodiscard]] std::string_view topic() const override { return "networks"; }
    std::shared_ptr<core::awaited_explanation> explain(time_point until) override;
    void put_metrics(core::metrics_sheet& sheet) const override;

private:
    void tell_what_is_missing();
    async::awaitable<void> stop_dnsmasq();

    core::node_context& node_;
    role_addresses& addresses_;
    const function_cards& functions_;
    network_counts& counts_;
    std::shared_ptr<bridge_record> bridges_;
    link_keeper keeper_;
    firewall_keeper firewall_;
    dhcp_folders dhcp_folders_;
};

}  // namespace pvc::networks
