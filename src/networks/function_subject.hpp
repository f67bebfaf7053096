// The virtual functions of network cards as a subject; without a card that is configured it does nothing.
#pragma once

#include "function_cards.hpp"
#include "pvcnoded/core/subject.hpp"

namespace pvc::networks {

class function_subject final : public core::subject, public core::prepared_subject, public core::session_subject {
public:
    // All outlive it.
    function_subject(core::node_context& node, netlink::virtual_functions& driver, netlink::network_stack& stack,
                     network_counts& counts)
        : stack_(stack), counts_(counts), cards_(node, driver, stack, counts) {}

    [[nodiscard]] std::string_view name() const override { return "virtual functions"; }
    // S3: functions are made before anything else is done to the links. They stay when the daemon ends.
    async::awaitable<result<void>> prepare(core::preparation in) override;
    std::unique_ptr<core::session_part> begin(core::session& s) override;
    [[nodiscard]] const function_cards& cards() const { return cards_; }

private:
    netlink::network_stack& stack_;
    network_counts& counts_;
    function_cards cards_;
};

}  // namespace pvc::networks
