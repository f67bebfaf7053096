// The ACLs of one direction of a client network, as ZooKeeper has them: which there are, and the two keys of each.
// A part of the network's row in the table. Specification: networking.md 5.1, 7.1; zookeeper-schema.md 5.
#pragma once

#include "pvcnoded/async/wakeup.hpp"
#include "pvcnoded/zookeeper/watch_set.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace pvc::networks {

class watched_acls {
public:
    // Below `network` ("/networks/7"), of `direction` ("in", "out"). Those that are referred to outlive it.
    watched_acls(zookeeper::watch_set& watches, std::string_view network, std::string_view direction,
                 async::wakeup& changed, zookeeper::watch_rank rank);

    // Watches the keys of those that the list names now, and no longer those of others.
    void follow();
    // Of what add_to() says: another one as soon as that may be another.
    struct version {
        std::uint64_t list = 0;
        std::uint64_t keys = 0;
        friend bool operator==(const version&, const version&) = default;
    };
    [[nodiscard]] version now() const;
    void set_rank(zookeeper::watch_rank rank);
    [[nodiscard]] bool is_settled() const;
    // What is stored, by the path below the network.
    void add_to(std::map<std::string, std::string, std::less<>>& stored) const;

private:
    struct acl {
        std::unique_ptr<zookeeper::watched> order;
        std::unique_ptr<zookeeper::watched> rule;
    };
    zookeeper::watch_set& watches_;
    async::wakeup& changed_;
    std::string folder_;  // "/firewall_rules/in"
    zookeeper::watch_rank rank_;
    std::unique_ptr<zookeeper::watched> list_;
    std::uint64_t followed_ = 0;       // changes of the list, when its names were followed last
    std::map<std::string, acl> acls_;  // by name
};

}  // namespace pvc::networks
