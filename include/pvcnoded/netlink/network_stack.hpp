// The netlink port for links, addresses, routes and their settings of this machine: a look at all of them, one change
// at a time, and a word when something may have changed. What is to be changed is computed from a look
// (policy/networks), never from a single event.
//
// A call may take as long as the kernel waits for others, and holds nothing else up meanwhile. Changes take effect in
// the order in which they were begun: one that was cancelled, or ended with timed_out, may have had its effect or may
// still have it, but not after one begun later has had its own. No exception crosses, every call ends by its deadline.
// Loop thread only. The port outlives its callers, and its watches. Specification: networking.md 2, 3, 5;
// runtime-design.md 4.
#pragma once

#include "pvcnoded/async/wakeup.hpp"
#include "pvcnoded/base/clock.hpp"
#include "pvcnoded/base/result.hpp"
#include "pvcnoded/model/network_change.hpp"
#include "pvcnoded/model/network_state.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace pvc::netlink {

// As long as it lives, its wakeup is notified whenever a link, an address or a default route may have changed: after
// one or many changes, by whoever made them, also by this port; and when events were lost. It says nothing of what: who
// is woken looks.
class network_watch {
public:
    network_watch() = default;
    network_watch(const network_watch&) = delete;
    network_watch& operator=(const network_watch&) = delete;
    virtual ~network_watch() = default;
};

// A rule of routing (`ip rule`), or of a packet filter, that names a device, as packets come in or go out by it.
struct device_rule {
    std::string device;
    std::string text;  // "ip rule 77 (oif eth0, table 100)", "iifname eth0 in chain input of table inet fw"

    friend bool operator==(const device_rule&, const device_rule&) = default;
};

class network_stack {
public:
    network_stack() = default;
    network_stack(const network_stack&) = delete;
    network_stack& operator=(const network_stack&) = delete;
    virtual ~network_stack() = default;

    // All of it. A dump that the kernel calls interrupted is begun anew, a few times; links that come and go meanwhile
    // may be seen or not. Errors: unavailable (interrupted again and again; no socket), io (the kernel refuses, or says
    // what cannot be understood), timed_out.
    virtual async::awaitable<result<model::network_state>> look(time_point deadline) = 0;

    // Of all families. Nothing tells when they change. Errors as those of a look.
    virtual async::awaitable<result<std::vector<device_rule>>> device_rules(time_point /*deadline*/) {
        co_return std::vector<device_rule>();
    }

    // Carries one out. Success also where it is so already, and where what shall be gone is not there. What is there
    // under the name of a link that is to be made is somebody else's, however it looks: who wants to make one saw none.
    // That is already_exists, and the cause says what is there. The ways of single kinds:
    //  - set_master: a device that is a port of another one is taken out of that, and put into this (`if_free`: not).
    //  - add_default_route: one with the same metric by way of another gateway or device is already_exists, and stays.
    //  - set_hardware: what somebody entered as neighbours of the link stays, though the kernel forgets it.
    //  - add_route: the same, of its family, metric and where it leads; its gateway must be reached over the device.
    //    One that "moves" from its own device was there before: it is made behind others of its place and metric, and
    //    the same without its source, which the kernel leaves of IPv6 when that address goes, gets that again.
    //    One that moves is made beside others that are over further devices, as it was: of IPv4 what was the first of
    //    them is the first again.
    //  - set_sysctl: a key that this kernel does not have is not_found.
    //  - tx_checksum_off: a device that cannot is a success.
    // Errors: not_found (no such device, or none that it shall stand on), already_exists, refused (the kernel says no:
    // the cause is what it says), unavailable, timed_out (the outcome is unknown).
    virtual async::awaitable<result<void>> apply(model::network_change change, time_point deadline) = 0;

    // The link of that name if it has that index as well: what somebody has called so since a look is his, and stays;
    // that is a success. Otherwise as delete_link.
    virtual async::awaitable<result<void>> remove_link(std::string name, int index, time_point deadline) = 0;

    // A change that ended with timed_out, or was cancelled, is with the kernel still: it may have its effect yet.
    [[nodiscard]] virtual bool has_late_changes() const { return false; }

    // The value of a key below /proc/sys, without the end of its line. Errors: not_found, io.
    [[nodiscard]] virtual result<std::string> sysctl(const std::string& key) const = 0;

    // Another number each time that the kernel may have told of settings of the link of this index, until then: whether
    // it forwards packets, and that it has got, or lost, its settings of IPv6. Of what else there is (accept_ra, say)
    // nobody tells. Where events were lost, and while nothing is watched, it is another one too.
    [[nodiscard]] virtual std::uint64_t settings_told(int link) const = 0;

    [[nodiscard]] virtual std::unique_ptr<network_watch> watch(async::wakeup& changed) = 0;
};

}  // namespace pvc::netlink
