// A libvirt daemon of a test: in folders of its own, with a socket and a TCP port of its own, and without the drivers
// of the machine's hypervisor. Gone with the object, or with the test program.
#pragma once

#include "contract/support/child_process.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace pvc::contract {

class libvirt_daemon {
public:
    static bool is_installed();
    libvirt_daemon();
    libvirt_daemon(const libvirt_daemon&) = delete;
    libvirt_daemon& operator=(const libvirt_daemon&) = delete;
    ~libvirt_daemon();

    // Returns when the process is there, before it serves.
    void start();
    void wait_until_it_serves();
    void stop();
    void freeze();
    void thaw();

    [[nodiscard]] std::string socket() const { return folder_ + "/libvirt-sock"; }
    [[nodiscard]] std::uint16_t port() const { return port_; }

private:
    std::string folder_;
    std::uint16_t port_ = 0;
    std::optional<child_process> process_;
};

}  // namespace pvc::contract
