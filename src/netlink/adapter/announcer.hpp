// Sends the frames that announce addresses. What cannot be sent is passed over: the neighbours find out by themselves,
// later. Nothing here waits for the kernel's lock of links, as that may take long: who has an address is asked by
// binding to it. Specification: networking.md 2.1; README ruling 83.
#pragma once

#include "adapter/owned_descriptor.hpp"
#include "pvcnoded/netlink/announcement.hpp"

#include <span>
#include <string>

namespace pvc::netlink {

class announcer {
public:
    announcer() = default;
    announcer(const announcer&) = delete;
    announcer& operator=(const announcer&) = delete;
    ~announcer() = default;

    // False: the device is not there, is none of Ethernet, or does not have the address; nothing was sent.
    bool send(const std::string& device, const ip::address& address, std::span<const announced_as> frames);

private:
    void send_frame(int link, const std::string& frame);

    owned_descriptor asking_;
    owned_descriptor socket_;
};

}  // namespace pvc::netlink
