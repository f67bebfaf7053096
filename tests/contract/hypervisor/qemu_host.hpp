// A host with QEMU and a libvirt daemon in namespaces of its own (qemu_host.sh). Gone with the object, guests included.
#pragma once

#include "contract/support/child_process.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace pvc::contract {

class qemu_host {
public:
    // Whether this machine has what it takes: the packages, and the right to make namespaces.
    static bool is_possible();
    // Serves on `address` (one of 127.0.0.0/8) and `port`.
    qemu_host(const std::string& name, const std::string& address, std::uint16_t port);
    qemu_host(const qemu_host&) = delete;
    qemu_host& operator=(const qemu_host&) = delete;
    ~qemu_host();

    // "start", "stop", "freeze", "thaw" the daemon; done when it returns.
    void command(const std::string& what);
    void wait_until_it_serves();

    [[nodiscard]] std::string socket() const { return folder_ + "/run/libvirt/libvirt-sock"; }
    // The image of a floppy with this boot sector, at a path that all hosts see.
    [[nodiscard]] static std::string image(const std::string& kind);

private:
    std::string folder_;
    std::string address_;
    std::uint16_t port_;
    std::optional<child_process> process_;
};

}  // namespace pvc::contract
