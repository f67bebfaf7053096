// All that lives as long as one session of the daemon.
#pragma once

#include "pvcnoded/membership/keepalive.hpp"
#include "pvcnoded/node/daemon.hpp"

namespace pvc::node {

struct daemon::session_state {
    session_state(core::node_context& node, zookeeper::client& client, const core::subjects& subjects)
        : begun(node.clock().now()),
          s(node, client, node.started ? node.schema_version.value() : 0),
          beat(s, core::all_that_are<core::figure_source>(subjects),
               core::all_that_are<core::fence_survivor>(subjects)) {
        for (const auto& one : subjects) {
            if (auto* acting = dynamic_cast<core::session_subject*>(one.get())) {
                parts.push_back({std::string(one->name()), acting->begin(s)});
            }
        }
    }

    const time_point begun;
    core::session s;
    membership::keepalive beat;
    std::vector<part_of_session> parts;
    async::task_group* scope = nullptr;
};

}  // namespace pvc::node
