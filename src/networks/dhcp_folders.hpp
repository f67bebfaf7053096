// The directory of each managed client network for the files of its DHCP, `<dynamic_directory>/dnsmasq/<vni>`. It is
// there as long as the network is, whoever is primary. A task of its own keeps them: a disk that hangs holds up nothing
// else. Nothing else in `dnsmasq` is touched, and nothing at all until the networks are known. Specification:
// networking.md 5.3 (case 29), 8.3.
#pragma once

#include "client_networks.hpp"
#include "link_work.hpp"
#include "pvcnoded/core/node_context.hpp"
#include "told_remarks.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace pvc::networks {

// All others are no networks any more, or bridged ones: they have no directory.
struct dhcp_networks {
    std::set<std::uint32_t> managed;
    std::set<std::uint32_t> unclear;  // what is stored cannot be used now: one that is there stays
    friend bool operator==(const dhcp_networks&, const dhcp_networks&) = default;
};

[[nodiscard]] dhcp_networks dhcp_networks_of(const std::map<std::uint32_t, network_row>& rows);

class dhcp_folders {
public:
    // It outlives this.
    explicit dhcp_folders(core::node_context& node);

    // All networks, as they are from now on.
    void want(dhcp_networks networks);
    // Makes and removes what is not so. What fails is told, and tried again, after 30 s at the longest; what somebody
    // removes comes back as soon. Until cancelled.
    async::awaitable<void> run();

private:
    struct step {
        std::string path;
        bool is_made = false;  // else removed
    };

    // True: all is as it shall be.
    async::awaitable<bool> keep(std::shared_ptr<const dhcp_networks> networks);
    [[nodiscard]] std::set<std::uint32_t> in_place_of_folders() const;
    [[nodiscard]] result<std::vector<step>> steps_for(const dhcp_networks& networks) const;
    async::awaitable<result<void>> carry_out(step one);

    core::node_context& node_;
    told_remarks remarks_;
    std::string folder_;
    std::shared_ptr<const dhcp_networks> wanted_;  // null: not known yet
    retry_pause pause_;
    async::wakeup changed_;
};

}  // namespace pvc::networks
