// Every subject of the simulated world, in the order in which its rules look and its faults are listed. A new one is a
// folder beside this file and a line here; its function `add_<name>(registry&)` adds what it has.
#include "sim/world/registry.hpp"

#define PVC_SUBJECTS(subject)                                                                            \
    subject(machine) subject(zookeeper) subject(clients) subject(core) subject(membership) subject(role) \
        subject(networks) subject(domains) subject(ceph) subject(osds) subject(hosts) subject(fencing)

namespace pvc::sim {

#define PVC_DECLARE(name) void add_##name(registry& to);
PVC_SUBJECTS(PVC_DECLARE)
#undef PVC_DECLARE

const registry& all_subjects() {
    static const registry all = [] {
        registry made;
#define PVC_ADD(name) add_##name(made);
        PVC_SUBJECTS(PVC_ADD)
#undef PVC_ADD
        return made;
    }();
    return all;
}

}  // namespace pvc::sim
