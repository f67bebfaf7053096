// What the suites of the netlink port take from a world: one machine without links but its loopback device, the ports
// to it twice (ours, and those of somebody else on that machine), and what people do to it with their hands.
#pragma once

#include "adapter/attributes.hpp"
#include "contract/netlink/netlink_suite.hpp"
#include "pvcnoded/netlink/addresses.hpp"
#include "pvcnoded/netlink/network_stack.hpp"

#include <array>
#include <bit>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pvc::contract {

constexpr std::uint16_t metrics_of_route = 8;  // RTA_METRICS

// The settings of a route that has this MTU and no other.
inline std::string mtu_setting(std::uint32_t mtu) {
    constexpr std::uint16_t of_mtu = 2;  // RTAX_MTU
    return netlink::attribute_of(metrics_of_route,
                                 netlink::attribute_of(of_mtu, std::bit_cast<std::array<char, sizeof mtu>>(mtu)));
}

class network_bench {
public:
    network_bench() = default;
    network_bench(const network_bench&) = delete;
    network_bench& operator=(const network_bench&) = delete;
    virtual ~network_bench() = default;

    virtual async::timers& clock() = 0;
    virtual void run(std::function<awaitable<void>()> body) = 0;
    virtual netlink::network_stack& stack() = 0;
    virtual netlink::network_stack& other_stack() = 0;
    virtual netlink::addresses& addresses() = 0;

    // A network card comes, of MTU 1500 and down, with a cable in it; it is pulled out.
    virtual void plug_in(const std::string& device) = 0;
    virtual void pull_out(const std::string& device) = 0;
    // The interface of a guest, and the guest's end of it: it works while the guest runs.
    virtual void plug_tap(const std::string& device) = 0;
    virtual void set_stp(const std::string& bridge, bool is_on) = 0;
    // Somebody else: gives a link another name that it is called by as well; has its packets looked at; takes all
    // routes of the main table away, of both families.
    virtual void call_also(const std::string& device, const std::string& name) = 0;
    virtual void filter_traffic(const std::string& device) = 0;
    virtual void flush_routes() = 0;
    // Of IPv6, of these tables.
    virtual void flush_ipv6(bool main, bool local) = 0;
    // Beside another one of its metric.
    virtual void append_route(const std::string& device, const model::network_route& route) = 0;
    // Another link comes and goes all the time, and a dump has many parts; and how many dumps of the first port were
    // made anew, as it came or went between two of them.
    virtual void let_links_change(bool is_wanted) = 0;
    [[nodiscard]] virtual std::uint64_t torn_dumps() = 0;
};

// What a suite says often.
template <class Bench>
class network_suite : public netlink_suite<Bench> {
protected:
    using netlink_suite<Bench>::bench;
    using netlink_suite<Bench>::soon;

    awaitable<result<void>> apply(model::network_change change) {
        auto outcome = co_await bench.stack().apply(change, soon());
        co_return outcome;
    }
    awaitable<void> done(model::network_change change) {
        const auto outcome = co_await apply(change);
        EXPECT_TRUE(outcome) << model::to_text(change) << ": " << (outcome ? "" : outcome.error().text());
    }
    // Fails so, and says why; `about` is what the failure is about or holds.
    awaitable<void> fails(model::network_change change, errc code, std::string_view about = {}) {
        const auto outcome = co_await apply(change);
        EXPECT_FALSE(outcome) << model::to_text(change);
        if (!outcome) {
            EXPECT_EQ(outcome.error().code(), code) << outcome.error().text();
            EXPECT_FALSE(outcome.error().cause().empty());
            EXPECT_NE(outcome.error().text().find(about), std::string::npos) << outcome.error().text();
        }
    }
    awaitable<model::network_state> look() {
        auto seen = co_await bench.stack().look(soon());
        EXPECT_TRUE(seen) << (seen ? "" : seen.error().text());
        co_return seen ? *std::move(seen) : model::network_state();
    }
    awaitable<std::optional<model::network_link>> link(std::string name) {
        const auto seen = co_await look();
        const auto* const found = seen.find(name);
        co_return found == nullptr ? std::nullopt : std::optional(*found);
    }
    // Whether a link works is known a moment after what makes it so.
    awaitable<bool> becomes_running(std::string name, bool is_running) {
        for (int times = 0; times < 500; ++times) {
            const auto seen = co_await link(name);
            if (seen && seen->is_running == is_running) {
                co_return true;
            }
            co_await async::sleep_for(bench.clock(), 10ms, "the carrier");
        }
        co_return false;
    }
    // "10.0.0.1/24 fd00::1/64": what is global on it, in the order of the kernel.
    awaitable<std::string> addresses_of(std::string device) {
        const auto seen = co_await look();
        const auto* const found = seen.find(device);
        std::string text;
        if (found == nullptr) {
            co_return "no device";
        }
        for (const auto& one : seen.addresses_of(found->index)) {
            if (one.is_global()) {
                text += (text.empty() ? "" : " ") + one.address.text();
                EXPECT_EQ(one.settings, model::address_settings()) << one.address.text();
                EXPECT_TRUE(one.is_permanent) << one.address.text();
            }
        }
        co_return text;
    }
    // "10.0.0.254 on eth0"
    awaitable<std::string> routes() {
        const auto seen = co_await look();
        std::string text;
        for (const auto& one : seen.routes()) {
            text += (text.empty() ? "" : ", ") + one.gateway.to_string() + " on " + std::string(seen.name_of(one.link));
        }
        co_return text;
    }
    // A card with a device that is up.
    awaitable<void> plug_in_up(std::string device) {
        bench.plug_in(device);
        co_await done(model::set_up{device});
    }
};

[[nodiscard]] inline host_address at(std::string_view text) {
    return parse_host_address(text).value();
}
[[nodiscard]] inline ip::address address(std::string_view text) {
    return parse_address(text).value();
}

}  // namespace pvc::contract
