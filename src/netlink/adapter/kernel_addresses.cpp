#include "pvcnoded/netlink/adapter/kernel_addresses.hpp"

#include "adapter/announcer.hpp"
#include "adapter/kernel_lane.hpp"
#include "adapter/messages.hpp"

#include "pvcnoded/base/guard.hpp"

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

// Whether it is the first of its place and metric, of which the kernel takes the first.
bool is_first(const std::vector<model::link_route>& all, int link, const staying_route& one) {
    const auto found = std::ranges::find_if(all, [&](const model::link_route& other) {
        return other.table == one.table && other.is.to == one.is.to && other.is.metric == one.is.metric &&
               other.is.tos == one.is.tos;
    });
    return found != all.end() && found->link == link;
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

result<void> remove_from(const std::string& device, host_address which, const std::vector<staying_route>& staying,
                         kernel_requests& requests, const errand& by) {
    PVC_TRY(const auto found, requests.find_link(device, by));
    if (!found) {
        return {};
    }
    const int link = found->link.index;
    PVC_TRY(auto behind, messages_of(link, staying, requests, by));
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
