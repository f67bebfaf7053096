// What a sweep tries of fences: hv3 is the node that dies, faults strike the two coordinators that fence it, its board,
// and Ceph. Each machine must run once at the end, and no half of a fence be left.
#include "sim/subjects/fencing/fencing.hpp"

namespace pvc::sim {

namespace {

constexpr std::string_view fence_names = "fence";
constexpr std::uint64_t fence_thinning = 40;

constexpr sweep_fault fence_faults[] = {
    {"board hv3 silent for 40s", 8, fence_names},
    {"board hv3 slow 10s for 40s", 8, fence_names},
    {"board hv3 refusing for 20s", 8, fence_names},
    {"board hv3 lying for 20s", 8, fence_names},
    {"board hv3 booting for 4s", 4, fence_names},
    {"board hv3 late 8s for 60s", 8, fence_names},
    {"board hv3 soft 15s for 60s", 8, fence_names},
    {"board hv3 returns 10s for 60s", 8, fence_names},
    {"switch-on hv3", 4, fence_names},
    {"switch-off hv3 for 40s", 4, fence_names},
    {"break-lock /config/fence_lock", 2, fence_names},
    {"put /nodes/hv3/daemonstate run", 4, fence_names},
    {"break-disk @ for 20s", 4, fence_names},
    {"cut-ceph @ for 40s", 4, fence_names},
    {"hang-ceph for 20s", 4, fence_names},
    {"keep-broken for 10s", 4, fence_names},
    {"break-switch @ hv3 for 60s", 8, fence_names},
};

// Two coordinators that fence, the node that dies, and a machine on it.
#define PVC_BOARDS "boards\nsetting all storage on\n"
#define PVC_THREE_RUN                                                                   \
    "start hv1\nuntil hv1 is primary within 10s\nstart hv2\nstart hv3\n"                \
    "until hv1 runs within 60s\nuntil hv2 runs within 60s\nuntil hv3 runs within 60s\n" \
    "order-node hv1 ready\norder-node hv2 ready\norder-node hv3 ready\n"                \
    "until /nodes/hv1/domainstate = ready within 20s\n"                                 \
    "until /nodes/hv2/domainstate = ready within 20s\n"                                 \
    "until /nodes/hv3/domainstate = ready within 20s\n"
#define PVC_MACHINE "define-guest hv3 1 acpi\nset-guest 1 start\nuntil guest 1 runs hv3 within 60s\n"
#define PVC_SEVEN_MORE                                                                                     \
    "define-guest hv3 2 acpi\ndefine-guest hv3 3 acpi\ndefine-guest hv3 4 acpi\ndefine-guest hv3 5 acpi\n" \
    "define-guest hv3 6 acpi\ndefine-guest hv3 7 acpi\ndefine-guest hv3 8 acpi\n"                          \
    "set-guest 2 start\nset-guest 3 start\nset-guest 4 start\nset-guest 5 start\n"                         \
    "set-guest 6 start\nset-guest 7 start\nset-guest 8 start\nuntil guest 8 runs hv3 within 60s\n"
#define PVC_STORAGE_PROOF "setting all suicide_intervals 6\nsetting all failed_fence migrate\n"

constexpr sweep_operation fence_operations[] = {
    {"fence", "hv1 hv2 hv3", PVC_BOARDS PVC_THREE_RUN PVC_MACHINE "wait 45s\n", "switch-off hv3 for 500s\nwait 60s",
     fence_thinning},
    {"fence-of-one-that-hangs", "hv1 hv2 hv3", PVC_BOARDS PVC_THREE_RUN PVC_MACHINE "wait 45s\n",
     "pause hv3 for 500s\nwait 60s", fence_thinning},
    {"fence-of-the-primary", "hv1 hv2 hv3",
     PVC_BOARDS PVC_THREE_RUN PVC_MACHINE "make-primary hv3\nuntil hv3 is primary within 60s\nwait 45s\n",
     "switch-off hv3 for 500s\nwait 60s", fence_thinning},
    {"fence-failed", "hv1 hv2 hv3", PVC_BOARDS PVC_THREE_RUN PVC_MACHINE "wait 45s\nboard hv3 silent for 300s\n",
     "switch-off hv3 for 300s\nwait 60s", fence_thinning},
    {"fence-failed-and-storage-proves", "hv1 hv2 hv3",
     PVC_BOARDS PVC_STORAGE_PROOF PVC_THREE_RUN PVC_MACHINE "wait 45s\nboard hv3 silent for 300s\n",
     "pause hv3 for 300s\nwait 60s", fence_thinning},
    {"fence-adopted-when-marked", "hv1 hv2 hv3",
     PVC_BOARDS PVC_THREE_RUN PVC_MACHINE "wait 45s\nboard hv3 silent for 30s\nswitch-off hv3 for 500s\n",
     "put /nodes/hv3/daemonstate dead", fence_thinning},
    {"fence-adopted-when-fenced", "hv1 hv2 hv3",
     PVC_BOARDS PVC_THREE_RUN PVC_MACHINE "wait 45s\nboard hv3 silent for 30s\nswitch-off hv3 for 500s\n"
                                          "put /nodes/hv3/domainstate fence-flush\n",
     "put /nodes/hv3/daemonstate fenced", fence_thinning},
    {"fence-of-eight-machines", "hv1 hv2 hv3", PVC_BOARDS PVC_THREE_RUN PVC_MACHINE PVC_SEVEN_MORE "wait 45s\n",
     "switch-off hv3 for 500s\nwait 60s", 4 * fence_thinning},
    {"fence-confirmed", "hv1 hv2 hv3",
     PVC_BOARDS PVC_THREE_RUN PVC_MACHINE "wait 45s\nboard hv3 silent for 400s\nswitch-off hv3 for 500s\n"
                                          "until /nodes/hv3/daemonstate = dead within 60s\nwait 20s\n",
     "confirm-fence hv1 hv3\nwait 60s", fence_thinning},
};

}  // namespace

void add_fence_sweeps(registry& to) {
    to.add(fence_faults);
    to.add(fence_operations);
}

}  // namespace pvc::sim
