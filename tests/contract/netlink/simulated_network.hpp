// The simulated kernel, with the cards that the suites plug in.
#pragma once

#include "contract/netlink/network_bench.hpp"
#include "sim/network/sim_addresses.hpp"
#include "sim/network/sim_kernel.hpp"
#include "sim/network/sim_network_stack.hpp"

#include <array>

namespace pvc::contract {

// Whoever else changes the machine: what he does is done at once.
class hands_of_others final : public netlink::network_stack {
public:
    explicit hands_of_others(sim::sim_kernel& machine) : machine_(machine) {}

    awaitable<result<model::network_state>> look(time_point /*deadline*/) override { co_return machine_.state(); }
    awaitable<result<void>> apply(model::network_change change, time_point /*deadline*/) override {
        co_return machine_.apply(change);
    }
    awaitable<result<void>> remove_link(std::string name, int /*index*/, time_point deadline) override {
        return apply(model::delete_link{std::move(name)}, deadline);
    }
    [[nodiscard]] result<std::string> sysctl(const std::string& key) const override {
        const auto value = machine_.sysctls().read(key);
        return value ? result<std::string>(*value) : failure(errc::not_found, key);
    }
    [[nodiscard]] std::uint64_t settings_told(int /*link*/) const override { return 0; }
    [[nodiscard]] std::unique_ptr<netlink::network_watch> watch(async::wakeup& /*changed*/) override { return nullptr; }

private:
    sim::sim_kernel& machine_;
};

class simulated_network final : public network_bench {
public:
    simulated_network() {
        for (const auto& one : cards()) {
            machine_.remove_device(one.name);
        }
    }
    async::timers& clock() override { return world_.clock(); }
    void run(std::function<awaitable<void>()> body) override { world_.run(std::move(body)); }
    netlink::network_stack& stack() override { return stack_; }
    netlink::network_stack& other_stack() override { return others_; }
    netlink::addresses& addresses() override { return addresses_; }
    void plug_in(const std::string& device) override { machine_.add_device(device); }
    void pull_out(const std::string& device) override { machine_.remove_device(device); }
    void plug_tap(const std::string& device) override { machine_.add_tap(device, ""); }
    void set_stp(const std::string& bridge, bool is_on) override { machine_.set_stp(bridge, is_on); }
    void call_also(const std::string& device, const std::string& name) override { machine_.add_alt_name(device, name); }
    void filter_traffic(const std::string& device) override { machine_.add_traffic_filter(device); }
    void flush_routes() override { machine_.flush_routes(); }
    void flush_ipv6(bool main, bool local) override { machine_.flush_ipv6(main, local); }
    void append_route(const std::string& device, const model::network_route& route) override {
        machine_.add_route(device, {.is = route});
    }
    void let_links_change(bool is_wanted) override {
        stack_.dump_parts = is_wanted ? 4 : 1;
        if (is_wanted) {
            come_or_go();
        } else {
            other_hand_.disarm();
            machine_.remove_device("a-other");
        }
    }
    [[nodiscard]] std::uint64_t torn_dumps() override { return stack_.torn_dumps; }

private:
    // Now and then there is time for a whole dump in between.
    void come_or_go() {
        constexpr std::array<duration, 3> pauses{700us, 90us, 3ms};
        if (machine_.has_device("a-other")) {
            machine_.remove_device("a-other");
        } else {
            model::network_link other;
            other.name = "a-other";
            other.kind = "bridge";
            machine_.add_link(std::move(other));
        }
        other_hand_.arm(world_.clock().now() + pauses[times_++ % pauses.size()], [this] { come_or_go(); });
    }
    static std::vector<sim::machine_device> cards() {
        return {{.name = "eth0"}, {.name = "eth1"}, {.name = "eth0.100"}};
    }

    sim_world world_;
    sim::sim_kernel machine_{cards()};
    sim::sim_network_stack stack_{machine_, world_.clock()};
    hands_of_others others_{machine_};
    sim::sim_addresses addresses_{machine_, world_.clock()};
    async::timer other_hand_{world_.clock()};
    std::size_t times_ = 0;
};

}  // namespace pvc::contract
