// When which address is announced: at once, and 0.2, 1, 2 and 5 s after it was added, for as long as it is to stay. A
// neighbour that heard of the old owner less than a second ago does not believe a reply (it takes the first of
// several), but a request of the owner for itself; and one frame may be lost. Many are spread. What the frames say and
// how they are sent is the sender's. Specification: README ruling 83; networking.md 2.1.
#pragma once

#include "pvcnoded/async/timers.hpp"
#include "pvcnoded/netlink/announcement.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>

namespace pvc::netlink {

// Loop thread only.
class announcement_queue {
public:
    // Sends these frames on the device, which is looked up anew, with the hardware address that it has now. False: the
    // device does not have the address (any more), and nothing was sent. Waits for nobody.
    using sender = std::function<bool(const std::string& device, const ip::address& address,
                                      std::span<const announced_as> frames)>;
    // `clock` outlives it.
    announcement_queue(async::timers& clock, sender send) : clock_(clock), due_(clock), send_(std::move(send)) {}
    announcement_queue(const announcement_queue&) = delete;
    announcement_queue& operator=(const announcement_queue&) = delete;
    ~announcement_queue() = default;

    // It is to be added, and to stay.
    void expect(const std::string& device, const ip::address& address);
    // It was added. Announced now and later, unless it is to go by now. Again: from the beginning.
    void announce(const std::string& device, const ip::address& address);
    // It is to go: no frame more, as it would take the address from whoever has it next.
    void forget(const std::string& device, const ip::address& address);
    void forget_all();
    // Asked before each frame; empty: always.
    void announce_if(std::function<bool()> is_to_stay) { is_to_stay_ = std::move(is_to_stay); }

private:
    using key = std::pair<std::string, ip::address>;
    struct frame {
        key of;
        boot_time due;
    };
    void drop(const key& which);
    void send_due();

    async::timers& clock_;
    async::timer due_;
    sender send_;
    std::function<bool()> is_to_stay_;
    std::set<key> expected_;
    std::multimap<time_point, frame> waiting_;
    time_point begun_{};  // of the burst that is going out
    int sent_ = 0;        // in it
};

}  // namespace pvc::netlink
