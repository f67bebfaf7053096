// What every part of a daemon stands on, injected: time, blocking calls, ZooKeeper, the host and its supervisor. What
// only one subject needs (a hypervisor, Ceph) goes to that subject's constructor and is nobody else's
// (docs/decisions/subjects.md).
#pragma once

#include "pvcnoded/async/offload.hpp"
#include "pvcnoded/async/timers.hpp"
#include "pvcnoded/base/random.hpp"
#include "pvcnoded/services/host.hpp"
#include "pvcnoded/services/notifier.hpp"
#include "pvcnoded/services/service_manager.hpp"
#include "pvcnoded/zookeeper/client.hpp"

namespace pvc::core {

// All references must outlive the daemon.
struct platform {
    async::timers& clock;
    async::offload& pool;
    zookeeper::connector& zookeeper;
    services::service_manager& services;
    services::host& host;
    services::notifier& notifier;
    random_source random;
};

}  // namespace pvc::core
