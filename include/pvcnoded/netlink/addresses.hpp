// The part of the netlink port that the primary role needs: addresses on devices of this machine, told to the
// neighbours when they are added.
//
// Devices are named as the kernel names them, and looked up anew in each call. What a call asks for is a state, not a
// change: to add what is there, and to remove what is not, succeeds.
//
// *Order.* Calls take effect in the order in which they were begun, whatever became of them: one that was cancelled, or
// ended with timed_out, may have had its effect or may still have it, but not after a call begun later has had its own.
// So a removal that was begun after an addition stands, and whoever does not know looks with list().
//
// Every call ends by its deadline; no exception crosses. Loop thread only. The port outlives its callers.
// Specification: networking.md 2, 2.1, 6; node-lifecycle.md 3.1 (rule 8), 7.5.
#pragma once

#include "pvcnoded/async/wakeup.hpp"
#include "pvcnoded/base/address.hpp"
#include "pvcnoded/base/clock.hpp"
#include "pvcnoded/base/result.hpp"
#include "pvcnoded/model/network_state.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace pvc::netlink {

struct address_place {
    std::string device;
    host_address address;
};

// One over the device of an address that goes. Of IPv4: with the last one the kernel takes all of them away. Of IPv6:
// to the network of the address with a metric of its own, which the kernel takes for the one that it made with the
// address.
struct staying_route {
    model::network_route is;
    std::uint32_t table = model::main_table;
    bool has_twins = false;  // others of its place and metric, over other devices or none, among which it has a place
};

class addresses {
public:
    addresses() = default;
    addresses(const addresses&) = delete;
    addresses& operator=(const addresses&) = delete;
    virtual ~addresses() = default;

    // Adds the address with its prefix length, global scope, no broadcast address, of IPv6 without duplicate address
    // detection, and announces it, also where it was there already: at once, and 0.2, 1, 2 and 5 s later, by a
    // gratuitous ARP request and reply, of IPv6 by an unsolicited neighbour advertisement; nothing on a loopback
    // device. Each with the hardware address that the device has then, and only while it has the address, no removal of
    // it was begun and announce_if() says so. The call waits for none but the first, and an announcement
    // that fails is no failure of it. What the process is too late for (2 s) is not sent. The same address with another
    // prefix length stays as it is: it is another entry of the kernel. A guarded step: it starts before `not_after`,
    // else stopped and nothing was done. Errors: stopped; not_found (no such device); refused (the kernel says no; the
    // cause says why); unavailable (too much hangs already); timed_out (the outcome is unknown).
    virtual async::awaitable<result<void>> add(std::string device, host_address which, boot_time not_after,
                                               time_point deadline) = 0;
    // Each of them as add() does, in this order, as one errand to the kernel: they have one turn and one deadline, and
    // one that is refused keeps no other. What became of each, in the same order.
    virtual async::awaitable<std::vector<result<void>>> add_all(std::vector<address_place> which, boot_time not_after,
                                                                time_point deadline) = 0;
    // Removes the address with this prefix length. A device that is not there has none: that is success too. These
    // routes, in this order, are over the device afterwards, as they were: those that went come again within the same
    // datagram, so that who dies in between has lost none. One that the kernel refuses is no failure: who looks sees
    // it. Errors: refused, unavailable, timed_out, as above.
    virtual async::awaitable<result<void>> remove(std::string device, host_address which,
                                                  std::vector<staying_route> staying, time_point deadline) = 0;
    async::awaitable<result<void>> remove(std::string device, host_address which, time_point deadline) {
        return remove(std::move(device), which, {}, deadline);
    }
    // Announces one that add() added, and no removal was begun of since, from the beginning; else nothing.
    virtual void announce(const std::string& device, const ip::address& which) = 0;
    // A frame is sent only if this says so right before: of what is to go, another node may have taken it already.
    // Empty: always. It is asked until another one is given.
    virtual void announce_if(std::function<bool()> is_to_stay) = 0;
    // All addresses of the device, in the order of the kernel. Errors: not_found, refused, unavailable, timed_out.
    virtual async::awaitable<result<std::vector<host_address>>> list(std::string device, time_point deadline) = 0;
};

}  // namespace pvc::netlink
