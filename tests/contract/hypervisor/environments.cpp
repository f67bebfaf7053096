#include "contract/hypervisor/environment.hpp"
#include "contract/hypervisor/libvirt_daemon.hpp"
#include "contract/hypervisor/libvirt_environment.hpp"
#include "contract/hypervisor/qemu_host.hpp"

namespace pvc::contract {

std::vector<hypervisor_world> make_environments() {
    std::vector<hypervisor_world> all;
    all.push_back({"in_process", [] { return std::make_unique<test_driver_environment>(); }});
    if (libvirt_daemon::is_installed()) {
        all.push_back(daemon_world());
    }
    if (qemu_host::is_possible()) {
        all.push_back(qemu_world());
    }
    all.push_back(simulated_world());
    return all;
}

}  // namespace pvc::contract
