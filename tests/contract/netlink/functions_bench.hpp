// What the suites of the port to virtual functions take from a world: one card with some, eth0, an ordinary one, wire,
// and what people and guests do to them. Without functions at first, and down.
#pragma once

#include "contract/netlink/netlink_suite.hpp"
#include "pvcnoded/netlink/adapter/kernel_functions.hpp"
#include "sim/network/sim_functions.hpp"

#include <functional>
#include <string>
#include <type_traits>

namespace pvc::contract {

class functions_bench {
public:
    functions_bench() = default;
    functions_bench(const functions_bench&) = delete;
    functions_bench& operator=(const functions_bench&) = delete;
    virtual ~functions_bench() = default;

    virtual async::timers& clock() = 0;
    virtual void run(std::function<awaitable<void>()> body) = 0;
    virtual netlink::virtual_functions& port() = 0;

    // The largest number of functions, and the address of one on the bus.
    [[nodiscard]] virtual int most() const = 0;
    [[nodiscard]] virtual std::string address_of(int index) = 0;
    // By hand: no functions, whatever there was; the address of one, which the port does not set.
    virtual void have_none() = 0;
    virtual void set_mac(int index, const std::string& mac) = 0;
    // The size of frames of eth0, and of the own link of a function.
    virtual void set_card_mtu(int mtu) = 0;
    [[nodiscard]] virtual int mtu_of(int index) = 0;
    // eth0 has a cable in it, and knows its speed.
    virtual awaitable<void> begin_carrier() = 0;
    // eth0 is gone; a card comes in its place.
    virtual void pull_out() = 0;
    virtual void plug_in() = 0;
    // A guest has this function.
    virtual void give_away(int index) = 0;
};

// The card of the guest that tests/guest/run --igb makes, which says so in its environment: elsewhere no file or card
// is touched. Nothing enters a namespace.
class real_card final : public functions_bench {
public:
    real_card();
    ~real_card() override;
    async::timers& clock() override { return world_.clock(); }
    void run(std::function<awaitable<void>()> body) override;
    netlink::virtual_functions& port() override { return port_; }

    [[nodiscard]] int most() const override { return 7; }
    [[nodiscard]] std::string address_of(int index) override;
    void have_none() override;
    void set_mac(int index, const std::string& mac) override;
    void set_card_mtu(int mtu) override;
    [[nodiscard]] int mtu_of(int index) override;
    awaitable<void> begin_carrier() override;
    void pull_out() override;
    void plug_in() override;
    void give_away(int index) override;

    // The name of its own link.
    [[nodiscard]] static std::string device_of(int index);
    // iproute2's word for it, in one line.
    [[nodiscard]] static std::string shown(int index);

private:
    bool is_there_;
    real_world world_;
    async::thread_offload pool_{world_.loop().context()};
    async::posix_process processes_{world_.loop().context(), world_.clock()};
    netlink::kernel_functions port_{world_.clock(), pool_, processes_};
};

class simulated_card final : public functions_bench {
public:
    simulated_card();
    async::timers& clock() override { return world_.clock(); }
    void run(std::function<awaitable<void>()> body) override { world_.run(std::move(body)); }
    netlink::virtual_functions& port() override { return port_; }

    [[nodiscard]] int most() const override { return 64; }
    [[nodiscard]] std::string address_of(int index) override { return port_.function("eth0", index)->pci; }
    void have_none() override { port_.add_card("eth0"); }
    void set_mac(int index, const std::string& mac) override { port_.function("eth0", index)->mac = mac; }
    void set_card_mtu(int mtu) override;
    [[nodiscard]] int mtu_of(int index) override;
    awaitable<void> begin_carrier() override { co_return; }
    void pull_out() override { machine_.remove_device("eth0"); }
    void plug_in() override { machine_.add_device("eth0"); }
    void give_away(int index) override { port_.with_guests.insert("eth0v" + std::to_string(index)); }

private:
    sim_world world_;
    sim::sim_kernel machine_{{{.name = "eth0"}, {.name = "wire"}}};
    sim::sim_functions port_{machine_, world_.clock()};
};

using function_benches = testing::Types<real_card, simulated_card>;

struct function_bench_names {
    template <class Bench>
    static std::string GetName(int /*number*/) {
        return std::is_same_v<Bench, real_card> ? "real" : "simulated";
    }
};

// What a suite says often. All of eth0.
template <class Bench>
class functions_suite : public netlink_suite<Bench> {
protected:
    using netlink_suite<Bench>::bench;
    using netlink_suite<Bench>::soon;

    awaitable<void> has(int count) {
        const auto found = co_await bench.port().count("eth0", soon());
        EXPECT_TRUE(found) << (found ? "" : found.error().text());
        EXPECT_EQ(found ? *found : -1, count);
    }
    awaitable<void> make(int count) {
        const auto outcome = co_await bench.port().make("eth0", count, soon());
        EXPECT_TRUE(outcome) << (outcome ? "" : outcome.error().text());
    }
    awaitable<model::physical_function> look() {
        auto seen = co_await bench.port().look("eth0", soon());
        EXPECT_TRUE(seen) << (seen ? "" : seen.error().text());
        co_return seen ? *std::move(seen) : model::physical_function();
    }
    awaitable<model::virtual_function> function(int index) {
        const auto seen = co_await look();
        const auto* const found = seen.find(index);
        EXPECT_TRUE(found) << index;
        co_return found == nullptr ? model::virtual_function() : *found;
    }
    awaitable<void> set(int index, model::function_setting setting) {
        const auto outcome = co_await bench.port().set({"eth0", index}, setting, soon());
        EXPECT_TRUE(outcome) << to_text(setting) << ": " << (outcome ? "" : outcome.error().text());
    }
    awaitable<void> set_mtu(int index, int mtu) {
        const auto outcome = co_await bench.port().set_mtu({"eth0", index}, mtu, soon());
        EXPECT_TRUE(outcome) << (outcome ? "" : outcome.error().text());
    }
    // The failure says of which function and why, and nothing is another than before.
    awaitable<void> refuses(int index, model::function_setting setting, errc code, std::string_view cause = {}) {
        const auto before = co_await look();
        const auto outcome = co_await bench.port().set({"eth0", index}, setting, soon());
        fails(outcome, code, "eth0v" + std::to_string(index));
        fails(outcome, code, cause);
        const auto after = co_await look();
        EXPECT_EQ(after, before) << to_text(setting);
    }
    template <class T>
    static void fails(const result<T>& outcome, errc code, std::string_view about = {}) {
        EXPECT_FALSE(outcome);
        if (!outcome) {
            EXPECT_EQ(outcome.error().code(), code) << outcome.error().text();
            EXPECT_NE(outcome.error().text().find(about), std::string::npos) << outcome.error().text();
        }
    }
};

}  // namespace pvc::contract
