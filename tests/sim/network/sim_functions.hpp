// The port to the virtual functions of one simulated machine's network cards. A card is a device of its kernel: it goes
// and comes with that, and has no functions when it is back.
#pragma once

#include "pvcnoded/netlink/virtual_functions.hpp"
#include "sim/network/kernel_calls.hpp"
#include "sim/network/sim_kernel.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>

namespace pvc::sim {

class sim_functions final : public netlink::virtual_functions, public kernel_calls {
public:
    sim_functions(sim_kernel& machine, async::timers& clock)
        : kernel_calls(clock, std::chrono::milliseconds(1)), machine_(machine) {}

    // A device that can have functions; it has so many when the machine has come up.
    void add_card(const std::string& name, int has = 0);
    // All cards are as they are when the machine comes up.
    void lose_power();
    // What its driver does, by kind of setting ("trust"): does not report it; does not have it; takes it and does
    // nothing with it.
    struct habits {
        std::set<std::string, std::less<>> hides;
        std::set<std::string, std::less<>> lacks;
        std::set<std::string, std::less<>> ignores;
    };
    habits driver;
    // A function as the hardware has it; null: the card or the function is not there.
    [[nodiscard]] model::virtual_function* function(const std::string& card, int index);
    // A guest has them: their links are not here.
    std::set<std::string, std::less<>> with_guests;
    std::map<std::string, int> mtus;  // of links of functions that were set
    bool has_module = false;

    async::awaitable<result<void>> allow_unsafe_interrupts(time_point deadline) override;
    async::awaitable<result<int>> count(std::string card, time_point deadline) override;
    async::awaitable<result<void>> make(std::string card, int count, time_point deadline) override;
    async::awaitable<result<model::physical_function>> look(std::string card, time_point deadline) override;
    async::awaitable<result<void>> set(model::function_name which, model::function_setting setting,
                                       time_point deadline) override;
    async::awaitable<result<void>> set_mtu(model::function_name which, int mtu, time_point deadline) override;

private:
    struct card {
        int link = 0;  // of the device that had these functions
        int at_boot = 0;
        std::vector<model::virtual_function> functions;
    };
    // Null: there is no such device, or it can have none.
    card* find(const std::string& name);
    void make_now(card& which, int count) const;
    result<void> set_now(const model::function_name& which, const model::function_setting& setting);

    sim_kernel& machine_;
    std::map<std::string, card> cards_;
};

}  // namespace pvc::sim
