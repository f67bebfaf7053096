// QEMU on two hosts, each with a libvirt daemon in namespaces of its own. They share the machine's network: each daemon
// serves on an address of its own, and migrations go over the loopback.
#include "contract/hypervisor/libvirt_environment.hpp"
#include "contract/hypervisor/qemu_host.hpp"
#include "contract/hypervisor/sockets.hpp"

#include <array>

namespace pvc::contract {

namespace {

constexpr const char* first_address = "127.0.0.1";
constexpr const char* second_address = "127.0.0.2";
constexpr const char* deaf_address = "127.0.0.3";

std::uint16_t own_port() {
    use_private_network();
    return free_port();
}

// A base of its own: the daemons are there before the adapters are made.
struct with_hosts {
    with_hosts() : port(own_port()), first("hv1", first_address, port), second("hv2", second_address, port) {
        for (auto* one : {&first, &second}) {
            one->command("start");
        }
        first.wait_until_it_serves();
        second.wait_until_it_serves();
    }
    std::uint16_t port;
    qemu_host first;
    qemu_host second;
};

hypervisor::libvirt_options options_of(const qemu_host& host, std::uint16_t port) {
    return {"qemu+unix:///system?socket=" + host.socket(), "qemu+tcp://{}:" + std::to_string(port) + "/system"};
}

class qemu_environment final : private with_hosts, public libvirt_environment {
public:
    qemu_environment()
        : libvirt_environment(options_of(first, port)),
          other_(std::in_place, loop().context(), loop().clock(), options_of(second, port)) {}
    ~qemu_environment() override {
        other_.reset();
        end_host();
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
    std::string own_name() override { return first_address; }
    std::string deaf_name() override { return deaf_address; }
    hypervisor::hypervisor& other_host() override { return *other_; }
    std::string other_name() override { return second_address; }

    std::string description(const uuid& id, const std::string& name, guest_kind kind) override {
        constexpr std::array sectors{"hang", "acpi", "dirty"};
        const std::string image = qemu_host::image(sectors.at(static_cast<std::size_t>(kind)));
        return "<domain type='qemu'><name>" + name + "</name><uuid>" + to_text(id) +
               "</uuid><memory unit='KiB'>65536</memory><vcpu>1</vcpu>"
               "<os><type arch='x86_64' machine='pc'>hvm</type><boot dev='fd'/></os><features><acpi/></features>"
               "<devices><emulator>/usr/bin/qemu-system-x86_64</emulator>"
               "<disk type='file' device='floppy'><driver name='qemu' type='raw'/><source file='" +
               image +
               "'/><target dev='fda' bus='fdc'/><readonly/></disk>"
               "<controller type='usb' model='none'/></devices></domain>";
    }

    std::string device(char letter) override {
        return "<disk type='file' device='disk'><driver name='qemu' type='raw'/><source file='" +
               qemu_host::image("hang") + "'/><target dev='vd" + letter + "' bus='virtio'/><readonly/></disk>";
    }
    std::string device_mark(char letter) override { return std::string("<target dev='vd") + letter; }

    void freeze_server() override { first.command("freeze"); }
    void freeze_other_server() override { second.command("freeze"); }
    awaitable<void> stop_other_server() override {
        second.command("stop");
        co_return;
    }
    void thaw_server() override { first.command("thaw"); }
    awaitable<void> stop_server() override {
        first.command("stop");
        co_return;
    }
    awaitable<void> start_server() override {
        first.command("start");
        co_return;
    }

    void settle(const environment_burden& before) override {
        other_.reset();
        libvirt_environment::settle(before);
    }

private:
    std::optional<hypervisor::libvirt_hypervisor> other_;
};

}  // namespace

hypervisor_world qemu_world() {
    return {"qemu", [] { return std::make_unique<qemu_environment>(); }};
}

}  // namespace pvc::contract
