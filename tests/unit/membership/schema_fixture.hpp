// A cluster at some schema version, and the question when its nodes have reached another.
#pragma once

#include "unit/node/node_fixture.hpp"

namespace pvc::node {

inline const std::string version_key = "/schema/version";
inline const std::string domain = "/domains/6f892bb5-9b45-41c6-99e8-70a841d1568b";

class schema_fixture : public node_test {
protected:
    // The cluster at a version, with one domain that lacks nothing but what later versions add.
    void at(int version) {
        sim::initialise(ensemble, version);
        ensemble.put("/config/primary_node", "none");
        ensemble.put(domain, "vm1");
    }
    // A peer locks /schema/version.
    std::int64_t lock_version(const std::string& tag = "__lock__") {
        const auto session = ensemble.open_session();
        EXPECT_TRUE(ensemble.create(version_key + "/6f892bb59b4541c699e870a841d1568b" + tag, "kazoo",
                                    zookeeper::create_mode::ephemeral_sequential, session));
        return session;
    }
    bool run_until_active(int version, duration limit = 95s) {
        return run_until(
            [&] {
                return std::ranges::all_of(nodes, [&](const sim_node& node) {
                    return value("/nodes/" + node.settings.name + "/activeschema") == std::to_string(version);
                });
            },
            limit);
    }
};

}  // namespace pvc::node
