// What ZooKeeper has below /networks, as far as links, gateways and the firewall hang on it: a part of the session. Any
// change of a network is taken up 100 ms after it was seen, with all others of that time; while a key of it is being
// read anew, nothing is, so that what one transaction wrote is seen as a whole. Specification: networking.md 5.1, 5.4;
// zookeeper-schema.md 5.
#pragma once

#include "pvcnoded/core/session.hpp"
#include "pvcnoded/core/subject.hpp"
#include "pvcnoded/model/client_network.hpp"
#include "watched_acls.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace pvc::networks {

class firewall_keeper;
class link_keeper;

class network_table final : public core::session_part {
public:
    // All outlive it.
    network_table(core::session& s, link_keeper& keeper, firewall_keeper& firewall);

    async::awaitable<void> run() override;
    async::awaitable<void> wait_loaded(time_point deadline) override;

private:
    struct watched_network {
        zookeeper::watch_rank rank = zookeeper::watch_rank::elsewhere;
        std::vector<std::unique_ptr<zookeeper::watched>> keys;
        std::optional<time_point> untyped_since;  // its node is there, and its type is not
        std::vector<watched_acls> acls;           // of both directions
        // As it was handed over with a type last, and what it was read from: thousands of ACLs are not parsed because
        // another network has changed.
        struct version {
            std::uint64_t keys = 0;
            std::array<watched_acls::version, 2> acls{};
            friend bool operator==(const version&, const version&) = default;
        };
        std::shared_ptr<const model::parsed_network> last;
        std::optional<version> last_of;
        [[nodiscard]] bool is_settled() const;
        [[nodiscard]] version now() const;
        void read(std::string_view name);
    };
    void follow_list();
    void follow_names();
    // Of a network without a type: whoever removes one removes its keys one by one, and this is no mistake yet.
    [[nodiscard]] bool is_in_between(watched_network& network);
    void tell_of_list();
    // Whose keys are watched first: those of networks that have machines here.
    [[nodiscard]] zookeeper::watch_rank rank_of(std::uint32_t vni) const;
    void rank_networks();
    void tell_budget();
    [[nodiscard]] bool is_settled() const;
    void hand_over();
    async::awaitable<void> follow();
    async::awaitable<void> follow_looks();
    async::awaitable<void> write_mtus();
    async::awaitable<void> write_mtu(std::uint32_t vni, int mtu);

    core::session& session_;
    link_keeper& keeper_;
    firewall_keeper& firewall_;
    async::wakeup changed_;
    std::unique_ptr<zookeeper::watched> list_;
    std::uint64_t followed_ = 0;                       // changes of the list, when its names were followed last
    std::map<std::string, watched_network> networks_;  // by name
    std::set<std::string> told_names_;
    std::optional<time_point> look_again_;
    bool is_handed_over_ = false;
    bool has_told_missing_ = false;
    bool has_told_budget_ = false;
};

}  // namespace pvc::networks
