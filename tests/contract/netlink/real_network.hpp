// The kernel in a network namespace of its own, which each bench enters with the whole program; what is done by hand is
// done with iproute2, whose word for what is there counts beside the adapter's.
#pragma once

#include "contract/netlink/network_bench.hpp"
#include "pvcnoded/async/adapter/thread_offload.hpp"
#include "pvcnoded/netlink/adapter/kernel_addresses.hpp"
#include "pvcnoded/netlink/adapter/kernel_stack.hpp"

#include <atomic>
#include <optional>
#include <thread>

namespace pvc::contract {

// Enters a namespace that is new and has its loopback device up. Once a process is enough for what runs by itself.
class own_namespace {
public:
    own_namespace();
};

class real_network final : public network_bench {
public:
    ~real_network() override;
    async::timers& clock() override { return world_.clock(); }
    void run(std::function<awaitable<void>()> body) override { world_.run(std::move(body)); }
    netlink::network_stack& stack() override { return *stack_; }
    netlink::network_stack& other_stack() override { return other_; }
    netlink::addresses& addresses() override { return *addresses_; }
    void plug_in(const std::string& device) override;
    void pull_out(const std::string& device) override;
    void plug_tap(const std::string& device) override;
    void set_stp(const std::string& bridge, bool is_on) override;
    void call_also(const std::string& device, const std::string& name) override;
    void filter_traffic(const std::string& device) override;
    void flush_routes() override;
    void flush_ipv6(bool main, bool local) override;
    void append_route(const std::string& device, const model::network_route& route) override;
    void let_links_change(bool is_wanted) override;
    [[nodiscard]] std::uint64_t torn_dumps() override { return stack_->interrupted_dumps(); }

    netlink::kernel_stack& adapter() { return *stack_; }
    async::real_loop& loop() { return world_.loop(); }
    void drop_stack() { stack_.reset(); }
    void drop_addresses() { addresses_.reset(); }
    // The far end of a cable.
    [[nodiscard]] static std::string far_end(const std::string& device) { return "x" + device.substr(0, 14); }

private:
    own_namespace namespace_;
    real_world world_;
    async::thread_offload pool_{world_.loop().context(), {.threads = 8}};
    std::optional<netlink::kernel_stack> stack_{std::in_place, world_.loop().context().get_executor(), world_.clock(),
                                                pool_};
    netlink::kernel_stack other_{world_.loop().context().get_executor(), world_.clock(), pool_};
    std::optional<netlink::kernel_addresses> addresses_{std::in_place, world_.clock(), pool_};
    std::vector<int> taps_;
    std::atomic<bool> do_links_change_ = false;
    std::thread other_hand_;
};

// Runs iproute2 with these words, and expects that it succeeds.
void ip_command(const std::string& words);
// What it prints.
[[nodiscard]] std::string ip_output(const std::string& words);
// What a command prints, which is expected to succeed.
[[nodiscard]] std::string output_of(const std::string& command);

}  // namespace pvc::contract
