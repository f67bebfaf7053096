// Sends announcements of addresses: each frame at once, and once more 20 ms later. What cannot be sent is passed over:
// the neighbours find out by themselves, later. Specification: networking.md 2.1.
#pragma once

#include "adapter/owned_descriptor.hpp"
#include "pvcnoded/async/timers.hpp"
#include "pvcnoded/netlink/announcement.hpp"

#include <deque>
#include <string>

namespace pvc::netlink {

class announcer {
public:
    explicit announcer(async::timers& clock) : clock_(clock), again_(clock) {}
    announcer(const announcer&) = delete;
    announcer& operator=(const announcer&) = delete;
    ~announcer() = default;

    // A device by the number that it is reached by, and its name.
    struct place {
        int link = 0;
        std::string name;
    };
    void announce(place on, const hardware_address& device, const ip::address& address);
    // What has not been repeated yet is not: somebody else may announce the address now.
    void forget(const std::string& name, const ip::address& address);

private:
    struct repetition {
        time_point when;
        place on;
        ip::address address;
        std::string frame;
    };
    void send(int link, const std::string& frame);
    void repeat_due();

    async::timers& clock_;
    async::timer again_;
    std::deque<repetition> waiting_;  // in the order of time
    owned_descriptor socket_;
};

}  // namespace pvc::netlink
