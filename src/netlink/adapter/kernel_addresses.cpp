#include "pvcnoded/netlink/adapter/kernel_addresses.hpp"

#include "adapter/announcer.hpp"
#include "adapter/kernel_lane.hpp"
#include "adapter/messages.hpp"

#include "pvcnoded/base/guard.hpp"

#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace pvc::netlink {

namespace {

using host_addresses = std::vector<host_address>;

// What follows is done on threads of the pool, and owns what it touches.

// The link that has the address now.
result<kernel_link> add_to(const std::string& device, host_address which, boot_time not_after,
                           kernel_requests& requests, const errand& by) {
    const std::string about = which.text() + " on " + device;
    if (async::thread_boot_now() > not_after) {
        return failure(errc::stopped, about, "it could not start in time");
    }
    PVC_TRY(auto found, requests.need_link(device, by));
    // Whoever else changes links may have held this up. Nothing stands between here and the request.
    if (!guarded(async::thread_boot_now() <= not_after)) {
        return failure(errc::stopped, about, "it could not start in time");
    }
    const auto added = requests.add_address(found.link.index, {.device = {}, .address = which}, about, by);
    if (!added) {
        const auto& why = added.error();
        return why.code() == errc::already_exists ? failure(errc::refused, about, why.cause()) : why;
    }
    return found;
}

// Whether no other of its place and metric comes before it, of which the kernel takes the first, but such over this
// link.
bool is_first(const std::vector<model::link_route>& all, int link, const staying_route& one) {
    std::size_t before = 0;
    for (const auto& other : all) {
        if (other.link != link || other.table != one.table || other.is.to != one.is.to ||
            other.is.metric != one.is.metric || other.is.tos != one.is.tos) {
            continue;
        }
        if (other.is == one.is) {
            return other.is_before_others && other.place == before;
        }
        ++before;
    }
    return false;
}

// As messages: those that were the first of several come before these, the others behind.
result<std::vector<std::string>> messages_of(int link, const std::vector<staying_route>& staying,
                                             kernel_requests& requests, const errand& by) {
    kernel_requests::found_routes all;
    if (std::ranges::any_of(staying, &staying_route::has_twins)) {
        PVC_TRY(all, requests.all_routes(AF_INET, by));
    }
    std::vector<std::string> messages;
    std::vector<std::string> first;  // the last of them is made first
    for (const auto& one : staying) {
        const bool comes_first = one.has_twins && is_first(all.of_links, link, one);
        auto message =
            add_route_message(link, one.is, one.table, comes_first ? beside_others::follow : beside_others::stay);
        (comes_first ? first : messages).push_back(std::move(message));
    }
    messages.insert(messages.end(), std::move_iterator(first.rbegin()), std::move_iterator(first.rend()));
    return messages;
}

// To the network of an address of IPv6, which the kernel does not leave to another address: of those on the link it
// takes the first away, which is the one of the smallest metric, whoever made it, and its own stays.
result<std::vector<std::string>> messages_of_network(int link, const host_address& which,
                                                     const std::vector<staying_route>& staying,
                                                     kernel_requests& requests, const errand& by) {
    std::vector<std::string> messages;
    const auto network = model::connected_network(which);
    if (staying.empty() || !network) {
        return messages;
    }
    PVC_TRY(const auto there, requests.addresses(link, by));
    const bool has_other = std::ranges::any_of(there, [&](const model::link_address& one) {
        return one.address != which && model::connected_network(one.address) == network;
    });
    PVC_TRY(const auto all, requests.all_routes(AF_INET6, by));
    const auto kernels = std::ranges::find_if(
        all.connected, [&](const model::connected_route& one) { return one.link == link && one.network == *network; });
    if (has_other || kernels == all.connected.end()) {
        return messages;
    }
    for (const auto& one : staying) {
        if (one.is.to == *network && one.is.metric < kernels->metric) {
            messages.push_back(add_route_message(link, one.is, one.table, beside_others::stay));
        }
    }
    if (!messages.empty()) {
        const model::network_route own{.to = *network, .metric = kernels->metric, .protocol = RTPROT_KERNEL};
        messages.push_back(remove_route_message(link, own, model::main_table));
    }
    return messages;
}

result<void> remove_from(const std::string& device, host_address which, const std::vector<staying_route>& staying,
                         kernel_requests& requests, const errand& by) {
    PVC_TRY(const auto found, requests.find_link(device, by));
    if (!found) {
        return {};
    }
    const int link = found->link.index;
    PVC_TRY(auto behind, which.address.is_v4() ? messages_of(link, staying, requests, by)
                                               : messages_of_network(link, which, staying, requests, by));
    return requests.remove_address(link, which, std::nullopt, which.text() + " on " + device, by, std::move(behind));
}

result<host_addresses> list_of(const std::string& device, kernel_requests& requests, const errand& by) {
    PVC_TRY(const auto found, requests.need_link(device, by));
    auto listed = requests.addresses(found.link.index, by);
    if (!listed) {
        const auto& why = listed.error();
        if (why.code() == errc::not_found) {
            return failure(errc::not_found, device, "No such device");
        }
        return why.code() == errc::io ? failure(errc::refused, device, why.cause()) : why;
    }
    host_addresses addresses;
    std::ranges::transform(*listed, std::back_inserter(addresses), &model::link_address::address);
    return addresses;
}

}  // namespace

kernel_addresses::kernel_addresses(async::timers& clock, async::offload& pool)
    : lane_(std::make_unique<kernel_lane>(clock, pool)),
      announcer_(std::make_unique<announcer>()),
      announcements_(
          clock, [this](const std::string& device, const ip::address& address, std::span<const announced_as> frames) {
              return announcer_->send(device, address, frames);
          }) {}

kernel_addresses::~kernel_addresses() = default;

async::awaitable<result<void>> kernel_addresses::add(std::string device, host_address which, boot_time not_after,
                                                     time_point deadline) {
    const std::string about = which.text() + " on " + device;
    announcements_.expect(device, which.address);
    PVC_CO_TRY(const auto turn, co_await lane_->turn(about, deadline));
    kernel_lane::work<kernel_link> work = [device, which, not_after](kernel_requests& requests, const errand& by) {
        return add_to(device, which, not_after, requests, by);
    };
    PVC_CO_TRY(const auto found, co_await lane_->run(about, deadline, std::move(work)));
    if (found.hardware && !found.link.is_loopback) {
        announcements_.announce(device, which.address);
    }
    co_return result<void>();
}

async::awaitable<std::vector<result<void>>> kernel_addresses::add_all(std::vector<address_place> which,
                                                                      boot_time not_after, time_point deadline) {
    std::vector<result<void>> outcome;
    if (which.empty()) {
        co_return outcome;
    }
    for (const auto& one : which) {
        announcements_.expect(one.device, one.address.address);
    }
    const std::string about = std::to_string(which.size()) + " addresses";
    auto turn = co_await lane_->turn(about, deadline);
    if (!turn) {
        outcome.assign(which.size(), turn.error());
        co_return outcome;
    }
    using links = std::vector<result<kernel_link>>;
    kernel_lane::work<links> work = [which, not_after](kernel_requests& requests, const errand& by) {
        links all;
        for (const auto& one : which) {
            all.push_back(add_to(one.device, one.address, not_after, requests, by));
        }
        return result<links>(std::move(all));
    };
    auto done = co_await lane_->run(about, deadline, std::move(work));
    if (!done) {
        outcome.assign(which.size(), done.error());
        co_return outcome;
    }
    for (std::size_t i = 0; i < which.size(); ++i) {
        const auto& found = (*done)[i];
        if (found && found->hardware && !found->link.is_loopback) {
            announcements_.announce(which[i].device, which[i].address.address);
        }
        outcome.push_back(found ? result<void>() : result<void>(found.error()));
    }
    co_return outcome;
}

async::awaitable<result<void>> kernel_addresses::remove(std::string device, host_address which,
                                                        std::vector<staying_route> staying, time_point deadline) {
    const std::string about = which.text() + " on " + device;
    announcements_.forget(device, which.address);
    PVC_CO_TRY(const auto turn, co_await lane_->turn(about, deadline));
    kernel_lane::work<void> work = [device, which, staying = std::move(staying)](kernel_requests& requests,
                                                                                 const errand& by) {
        return remove_from(device, which, staying, requests, by);
    };
    co_return co_await lane_->run(about, deadline, std::move(work));
}

void kernel_addresses::announce(const std::string& device, const ip::address& which) {
    announcements_.announce(device, which);
}

void kernel_addresses::announce_if(std::function<bool()> is_to_stay) {
    announcements_.announce_if(std::move(is_to_stay));
}

async::awaitable<result<std::vector<host_address>>> kernel_addresses::list(std::string device, time_point deadline) {
    PVC_CO_TRY(const auto turn, co_await lane_->turn(device, deadline));
    kernel_lane::work<host_addresses> work = [device](kernel_requests& requests, const errand& by) {
        return list_of(device, requests, by);
    };
    co_return co_await lane_->run(device, deadline, std::move(work));
}

}  // namespace pvc::netlink
