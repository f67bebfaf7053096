// The addresses on the devices of one simulated machine, and the port to them. They outlive the daemon, and not the
// machine's power.
#pragma once

#include "pvcnoded/async/timers.hpp"
#include "pvcnoded/netlink/addresses.hpp"

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pvc::sim {

class sim_interfaces {
public:
    // A loopback device and the bridges of three networks, without addresses.
    sim_interfaces();

    // The kernel's side of it: what is there already is success.
    void add(const std::string& device, const host_address& which);
    void add(const std::string& device, std::string_view which);  // "10.0.0.254/24"
    void remove(const std::string& device, const host_address& which);
    // A device vanishes with its addresses, or comes without.
    void remove_device(const std::string& device) { devices_.erase(device); }
    void add_device(const std::string& device) { devices_[device]; }
    [[nodiscard]] const std::vector<host_address>* find(const std::string& device) const;
    [[nodiscard]] bool has(const std::string& device, const host_address& which) const;
    // On whichever device, with whatever prefix length: it answers there.
    [[nodiscard]] bool answers(const ip::address& which) const;
    // "10.0.0.254/24 on brcluster, 169.254.169.254/32 on lo": by device.
    [[nodiscard]] std::string text() const;
    void lose_power();

private:
    std::map<std::string, std::vector<host_address>> devices_;
};

class sim_addresses final : public netlink::addresses {
public:
    sim_addresses(sim_interfaces& machine, async::timers& clock) : machine_(machine), clock_(clock), due_(clock) {}

    bool cut = false;  // a killed daemon: nothing that it still does reaches the machine
    duration call_time = std::chrono::milliseconds(1);
    // Calls that begin so fail ("add brcluster", "remove", "list lo"), without an effect.
    std::map<std::string, failure> broken;

    // Nothing is answered: every call ends at its deadline. What was asked meanwhile is done when that ends, in order.
    void hang() { hangs_ = true; }
    void end_hang();
    // Calls are quick again, and what was asked of the slow kernel is done.
    void end_slowness();
    // What a dead daemon had asked for and was not done yet never is.
    void drop_calls();
    void end_faults();
    // Something was done to it that may keep an address where it must not be.
    [[nodiscard]] bool has_fault() const { return hangs_ || !broken.empty() || call_time > std::chrono::seconds(1); }

    // "add 10.0.0.254/24 on brcluster", as they were asked for; listings are not among them.
    std::vector<std::string> calls;
    // "10.0.0.254 on brcluster", likewise as they were sent.
    std::vector<std::string> announced;

    async::awaitable<result<void>> add(std::string device, host_address which, boot_time not_after,
                                       time_point deadline) override;
    async::awaitable<result<void>> remove(std::string device, host_address which, time_point deadline) override;
    async::awaitable<result<std::vector<host_address>>> list(std::string device, time_point deadline) override;

private:
    using effect = std::function<result<void>()>;
    struct asked {
        time_point when;
        std::shared_ptr<effect> what;
        std::shared_ptr<std::optional<result<void>>> outcome;
    };
    [[nodiscard]] std::optional<failure> fault(const std::string& call, const std::string& device) const;
    // Effects happen one after the other, whoever still waits for them.
    async::awaitable<result<void>> pass(std::string about, time_point deadline, effect what);
    void do_due();

    sim_interfaces& machine_;
    async::timers& clock_;
    async::timer due_;
    bool hangs_ = false;
    std::deque<asked> asked_;
};

}  // namespace pvc::sim
