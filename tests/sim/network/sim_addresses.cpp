#include "sim/network/sim_addresses.hpp"

#include <algorithm>
#include <iterator>

namespace pvc::sim {

result<void> sim_addresses::add_now(const std::string& device, const host_address& which) {
    if (const auto told = fault("add " + device)) {
        return *told;
    }
    if (auto added = machine_.apply(model::add_address{device, which}); !added) {
        const auto& why = added.error();
        return why.code() == errc::already_exists ? failure(errc::refused, why.subject(), why.cause()) : added;
    }
    return {};
}

bool sim_addresses::send(const std::string& device, const ip::address& address,
                         std::span<const netlink::announced_as> frames) {
    const auto there = machine_.addresses_on(device);
    if (cut || std::ranges::find(there, address, &host_address::address) == there.end()) {
        return false;
    }
    const auto* link = machine_.link(device);
    for (const auto frame : frames) {
        if (on_frame && link->is_running) {
            on_frame(device, address, frame);
        }
    }
    return true;
}

void sim_addresses::announce(const std::string& device, const ip::address& which) {
    announcements_.announce(device, which);
}

void sim_addresses::announce_if(std::function<bool()> is_to_stay) {
    announcements_.announce_if(std::move(is_to_stay));
}

void sim_addresses::drop_calls() {
    kernel_calls::drop_calls();
    announcements_.forget_all();
}

async::awaitable<result<void>> sim_addresses::add(std::string device, host_address which, boot_time not_after,
                                                  time_point deadline) {
    const std::string about = which.text() + " on " + device;
    calls.push_back("add " + about);
    announcements_.expect(device, which.address);
    auto added = co_await pass(about, deadline, [this, device, which, not_after, about]() -> result<void> {
        if (clock().boot_now() - call_time > not_after) {
            return failure(errc::stopped, about, "it could not start in time");
        }
        return add_now(device, which);
    });
    if (added && device != "lo") {  // by whoever waits for it: nobody else knows
        announced.push_back(which.address.to_string() + " on " + device);
        announcements_.announce(device, which.address);
    }
    co_return added;
}

async::awaitable<std::vector<result<void>>> sim_addresses::add_all(std::vector<netlink::address_place> which,
                                                                   boot_time not_after, time_point deadline) {
    auto outcome = std::make_shared<std::vector<result<void>>>();
    for (const auto& one : which) {
        calls.push_back("add " + one.address.text() + " on " + one.device);
        announcements_.expect(one.device, one.address.address);
    }
    const std::string about = std::to_string(which.size()) + " addresses";
    auto done = co_await pass(about, deadline, [this, which, not_after, outcome]() -> result<void> {
        const bool is_late = clock().boot_now() - call_time > not_after;
        for (const auto& one : which) {
            outcome->push_back(is_late ? failure(errc::stopped, one.device, "it could not start in time")
                                       : add_now(one.device, one.address));
        }
        return {};
    });
    if (!done) {
        outcome = std::make_shared<std::vector<result<void>>>(which.size(), done.error());
    }
    for (std::size_t i = 0; i < which.size(); ++i) {
        if ((*outcome)[i] && which[i].device != "lo") {
            announced.push_back(which[i].address.address.to_string() + " on " + which[i].device);
            announcements_.announce(which[i].device, which[i].address.address);
        }
    }
    co_return *outcome;
}

async::awaitable<result<void>> sim_addresses::remove(std::string device, host_address which,
                                                     std::vector<netlink::staying_route> staying, time_point deadline) {
    const std::string about = which.text() + " on " + device;
    calls.push_back("remove " + about);
    announcements_.forget(device, which.address);
    return pass(about, deadline, [this, device, which, staying = std::move(staying)]() -> result<void> {
        if (const auto told = fault("remove " + device)) {
            return *told;
        }
        std::vector<model::link_route> routes;
        std::ranges::transform(staying, std::back_inserter(routes), [](const netlink::staying_route& one) {
            return model::link_route{.is = one.is, .table = one.table};
        });
        return machine_.remove_and_keep({device, which}, routes);
    });
}

async::awaitable<result<std::vector<host_address>>> sim_addresses::list(std::string device, time_point deadline) {
    auto found = std::make_shared<std::vector<host_address>>();
    auto listed = co_await pass(device, deadline, [this, device, found]() -> result<void> {
        if (const auto told = fault("list " + device)) {
            return *told;
        }
        if (!machine_.has_device(device)) {
            return failure(errc::not_found, device, "No such device");
        }
        *found = machine_.addresses_on(device);
        return {};
    });
    if (!listed) {
        co_return std::move(listed).error();
    }
    co_return std::move(*found);
}

}  // namespace pvc::sim
