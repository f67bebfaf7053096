// The additions of the primary's addresses: all that are wanted at once as one errand to the kernel, and only within 2
// s after a read that named this node. Specification: node-lifecycle.md 4, 7.4.
#include "role_addresses.hpp"

#include "pvcnoded/base/guard.hpp"
#include "pvcnoded/model/node_payloads.hpp"
#include "pvcnoded/policy/networks/host_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace pvc::networks {

using namespace std::chrono_literals;
using policy::placed_address;

namespace {

constexpr duration guarded_step = 2s;  // between the sending of the read that justifies it and the step
constexpr duration named_limit = 2s;   // of that read: an answer that comes later justifies nothing
constexpr int guarded_attempts = 3;

}  // namespace

// When it was asked for, if this node is named. One answer justifies all that is begun soon after it was asked for.
async::awaitable<result<std::optional<boot_time>>> role_addresses::ask_who_is_named(core::session& s,
                                                                                    time_point until) {
    const boot_time now = node_.clock().boot_now();
    if (named_.in == &s && s.zk.is_connected() && now - named_.asked < guarded_step / 4) {
        co_return std::optional(named_.asked);
    }
    const std::string key(model::key_path::primary_node);
    auto stored = co_await s.zk.get(std::min(until, s.limit(named_limit)), key);
    if (!stored) {
        co_return std::move(stored).error();
    }
    if (model::parse_primary_node(stored->data) != node_.self()) {
        co_return std::optional<boot_time>();
    }
    named_ = {&s, now};
    co_return std::optional(now);
}

// Routing daemons switch it off when they start (networking.md 3.2). Where a link does not have accept_ra yet, routes
// that somebody advertises would go with it: who looks after the links sets both, in their order.
async::awaitable<void> role_addresses::forward_ipv6(time_point until) {
    const std::string key = "net/ipv6/conf/all/forwarding";
    const auto value_of = [this](const std::string& of) -> std::optional<std::string> {
        auto read = stack_.sysctl(of);
        return read ? std::optional(*std::move(read)) : std::nullopt;
    };
    if (value_of(key).value_or("1") == "1") {
        co_return;
    }
    const auto seen = co_await stack_.look(until);
    if (!seen) {
        co_return;
    }
    const auto config = policy::with_own_names(*node_.config, policy::names_to_resolve(*node_.config, *seen));
    if (!policy::sysctls_to_set(policy::advertisement_settings(config, *seen), value_of).empty()) {
        co_return;
    }
    model::network_change setting = model::set_sysctl{key, "1"};
    auto set = co_await stack_.apply(std::move(setting), until);
    ignore(set, "it is tried again with the next gateway");
}

// What is no bridge gets none, and no bridge without a port one whose network the host reaches over another link.
void role_addresses::note_withheld(const model::network_state& seen) {
    foreign_.clear();
    for (const auto& bridge : node_.config->host_bridges) {
        if (!policy::why_no_bridge(seen, bridge.name).empty()) {
            foreign_.insert(bridge.name);
        }
    }
    std::set<std::string> withheld;
    for (const auto& one : all_) {
        const auto over =
            is_gateway(one.where) ? "" : policy::reached_without(one.where.device, seen, one.where.address);
        if (over.empty()) {
            continue;
        }
        foreign_.insert(one.where.device);
        if (one.wish == policy::address_wish::wanted && withheld.insert(one.where.text()).second &&
            !withheld_.contains(one.where.text())) {
            node_.log.error(message::role_address,
                            fmt::format("{} is not added: that bridge has no port, and this host, which reaches the "
                                        "network over {}, would lose it",
                                        one.where.text(), over));
        }
    }
    withheld_ = std::move(withheld);
}

async::awaitable<result<void>> role_addresses::try_to_add(places& open, core::session& s, time_point until) {
    auto asked = co_await ask_who_is_named(s, until);
    if (!asked) {
        co_return std::move(asked).error();
    }
    // Another node is named, or the role went meanwhile: that is the role's own business, and no failure.
    std::erase_if(open, [&](const auto& one) {
        const bool is_over = !guarded(asked->has_value()) || !guarded(may_hold()) || !guarded(is_wanted(one));
        if (is_over) {
            succeeded("add " + one.text());
        }
        return is_over;
    });
    if (open.empty()) {
        co_return result<void>();
    }
    const boot_time not_after = guarded_until(**asked + guarded_step);
    const bool routes_ipv6 =
        std::ranges::any_of(open, [](const auto& one) { return is_gateway(one) && one.address.address.is_v6(); });
    if (routes_ipv6) {
        co_await forward_ipv6(until);
    }
    const places asked_for = open;
    std::vector<netlink::address_place> all;
    std::ranges::transform(asked_for, std::back_inserter(all),
                           [](const auto& one) { return netlink::address_place{one.device, one.address}; });
    const auto outcome = co_await port_.add_all(std::move(all), not_after, until);
    open.clear();
    for (std::size_t i = 0; i < outcome.size(); ++i) {
        if (!outcome[i] && outcome[i].error().code() == errc::stopped) {
            open.push_back(asked_for[i]);
        } else {
            note_added(asked_for[i], outcome[i]);
        }
    }
    co_return open.empty() ? result<void>() : failure(errc::stopped, open.front().device, "it could not start in time");
}

void role_addresses::note_added(const placed_address& where, const result<void>& outcome) {
    const std::string step = "add " + where.text();
    additions_ += outcome ? 1 : 0;
    if (outcome && is_wanted(where)) {  // else a removal was begun meanwhile, and stands
        std::erase(added_, where);
        added_.push_back(where);
    }
    if (outcome || (is_gateway(where) && outcome.error().code() == errc::not_found)) {
        succeeded(step);  // a bridge that is not there yet comes with a look
    } else {
        failed(step, outcome.error());
    }
}

async::awaitable<void> role_addresses::add(places wanted, core::session& s) {
    const time_point until = action_deadline();
    result<void> done;
    for (int attempt = 0; attempt < guarded_attempts; ++attempt) {
        done = co_await try_to_add(wanted, s, until);
        if (done || done.error().code() != errc::stopped) {
            break;
        }
    }
    if (!done) {
        for (const auto& one : wanted) {
            failed("add " + one.text(), done.error());
        }
    }
}

}  // namespace pvc::networks
