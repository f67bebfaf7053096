// The simulated hypervisors of the simulated clusters (tests/sim/hypervisor): two machines that talk to each other, and
// a third whose libvirt is not there. What libvirt and QEMU do, they do, so that what holds in the simulation holds
// outside.
#include "contract/hypervisor/environment.hpp"
#include "sim/hypervisor/sim_datacentre.hpp"
#include "sim/hypervisor/sim_hypervisor.hpp"
#include "sim/sim_context.hpp"

#include <array>

namespace pvc::contract {

namespace {

class simulated_environment final : public hypervisor_environment {
public:
    simulated_environment()
        : centre_(loop_.clock()), host_(centre_, "hv1", loop_.clock()), other_(centre_, "hv2", loop_.clock()) {
        centre_.machine("hv3").kill_libvirtd();
    }

    [[nodiscard]] hypervisor_traits traits() const override {
        hypervisor_traits has;
        has.has_server = true;
        has.has_peers = true;
        has.keeps_guests = true;
        has.obeys_shutdown = true;
        has.migrates = true;
        has.takes_devices = true;
        return has;
    }
    void run(std::function<awaitable<void>()> body) override { loop_.run(std::move(body)); }
    async::timers& clock() override { return loop_.clock(); }
    [[nodiscard]] duration slack() const override { return {}; }
    hypervisor::hypervisor& host() override { return host_; }
    hypervisor::hypervisor& other_host() override { return other_; }
    std::string own_name() override { return "hv1.pvc.local"; }
    std::string other_name() override { return "hv2.pvc.local"; }
    std::string deaf_name() override { return "hv3.pvc.local"; }

    std::string description(const uuid& id, const std::string& name, guest_kind kind) override {
        constexpr std::array kinds{"hang", "acpi", "dirty"};
        return "<domain type='kvm'><name>" + name + "</name><uuid>" + to_text(id) +
               "</uuid><description>sim:" + kinds.at(static_cast<std::size_t>(kind)) +
               "</description><memory unit='KiB'>65536</memory><devices></devices></domain>";
    }

    std::string device(char letter) override {
        return std::string("<disk type='file' device='disk'><target dev='vd") + letter + "' bus='virtio'/></disk>";
    }
    std::string device_mark(char letter) override { return std::string("<target dev='vd") + letter; }

    void freeze_server() override { centre_.machine("hv1").stop_libvirtd(); }
    void thaw_server() override { centre_.machine("hv1").continue_libvirtd(); }
    void freeze_other_server() override { centre_.machine("hv2").stop_libvirtd(); }
    awaitable<void> stop_other_server() override {
        centre_.machine("hv2").kill_libvirtd();
        co_return;
    }
    awaitable<void> stop_server() override {
        centre_.machine("hv1").kill_libvirtd();
        co_return;
    }
    awaitable<void> start_server() override {
        centre_.machine("hv1").start_libvirtd();
        co_return;
    }

    // There are neither threads nor descriptors; an open connection is what run() must not leave behind.
    [[nodiscard]] environment_burden burden() override {
        std::size_t connections = 0;
        for (const auto* name : {"hv1", "hv2"}) {
            connections += centre_.machine(name).is_watched() ? 1U : 0U;
        }
        return {.threads = 0, .descriptors = 0, .watches = connections};
    }

private:
    sim::sim_loop loop_;
    sim::sim_datacentre centre_;
    sim::sim_hypervisor host_;
    sim::sim_hypervisor other_;
};

}  // namespace

hypervisor_world simulated_world() {
    return {"simulated", [] { return std::make_unique<simulated_environment>(); }};
}

}  // namespace pvc::contract
