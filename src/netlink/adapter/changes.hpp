// Each kind of change, carried out. On the thread that has `requests`. Specification: networking.md 2.
#pragma once

#include "adapter/kernel_requests.hpp"
#include "pvcnoded/model/network_change.hpp"

#include <string>

namespace pvc::netlink {

// `requests` and the errand outlive it.
class change_work {
public:
    change_work(kernel_requests& requests, const model::network_change& change, const errand& by)
        : requests_(requests), about_(model::to_text(change)), by_(by) {}

    using outcome = result<void>;
    outcome operator()(const model::make_bridge& one);
    outcome operator()(const model::make_vlan& one);
    outcome operator()(const model::make_vxlan& one);
    outcome operator()(const model::plain_vxlan& one);
    outcome operator()(const model::set_hardware& one);
    outcome operator()(const model::set_up& one);
    outcome operator()(const model::set_down& one);
    outcome operator()(const model::set_mtu& one);
    outcome operator()(const model::set_arp_on& one);
    outcome operator()(const model::rename_link& one);
    outcome operator()(const model::set_master& one);
    outcome operator()(const model::delete_link& one);
    outcome operator()(const model::add_address& one);
    outcome operator()(const model::remove_address& one);
    outcome operator()(const model::add_default_route& one);
    outcome operator()(const model::remove_default_route& one);
    outcome operator()(const model::add_route& one);
    outcome operator()(const model::remove_route& one);
    outcome operator()(const model::add_neighbour& one);
    outcome operator()(const model::remove_neighbour& one);
    outcome operator()(const model::set_sysctl& one);
    outcome operator()(const model::tx_checksum_off& one);

private:
    // A link that is to be there as `wanted` is: the message makes it.
    outcome make(const std::string& name, std::string message);
    // The request that is no more than its refusal or success. `also`: an errno that is success too.
    outcome carry_out(std::string message, int also = 0);
    outcome add_local(int link, const model::add_route& one);
    outcome put_back(int link, const model::add_route& one);
    outcome add_moved(int link, const model::add_route& one);
    [[nodiscard]] result<kernel_requests::found_routes> routes_like(const model::network_route& route);
    // Whether the link has exactly this route in the table.
    result<bool> has(int link, model::network_route route, std::uint32_t table);

    kernel_requests& requests_;
    std::string about_;
    const errand& by_;
};

}  // namespace pvc::netlink
