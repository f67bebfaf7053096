#include "pvcnoded/netlink/adapter/kernel_stack.hpp"

#include "adapter/change_monitor.hpp"
#include "adapter/changes.hpp"
#include "adapter/filter_devices.hpp"
#include "adapter/kernel_lane.hpp"
#include "adapter/messages.hpp"
#include "adapter/monitor_watch.hpp"
#include "adapter/settings.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <utility>
#include <variant>

namespace pvc::netlink {

namespace {

using placed_addresses = std::set<std::pair<int, ip::address>>;

// In a VRF, and while a link is down, the kernel has them elsewhere, or not at all. Of IPv6 also while nothing is in
// its plug, and before it is known whether somebody else has it; old kernels have its routes over the loopback device.
// A link-local one is another one on each link.
void mark_taken(std::vector<model::link_address>& addresses, const std::vector<local_address>& local,
                const placed_addresses& tentative, const std::map<int, const model::network_link*>& links) {
    const auto is_of_any = [](const ip::address& which) { return which.is_v6() && !which.to_v6().is_link_local(); };
    placed_addresses taken;
    for (const auto& one : local) {
        const auto over = links.find(one.link);
        const bool is_over_loopback = one.address.is_v6() && over != links.end() && over->second->is_loopback;
        taken.emplace(is_of_any(one.address) || is_over_loopback ? 0 : one.link, one.address);
    }
    for (auto& one : addresses) {
        const auto link = links.find(one.link);
        const bool is_used = one.address.address.is_v4() || (link != links.end() && link->second->is_running &&
                                                             !tentative.contains({one.link, one.address.address}));
        const bool is_usual = is_used && link != links.end() && link->second->is_up && link->second->master == 0;
        const auto& which = one.address.address;
        one.is_taken = !is_usual || (!is_of_any(which) && taken.contains({one.link, which})) ||
                       (which.is_v6() && taken.contains({0, which}));
    }
}

// On a pool thread.
result<model::network_state> look_at_all(kernel_requests& requests, const errand& by, bool& has_new) {
    PVC_TRY(auto found, requests.links(by));
    kernel_requests::unsettled_addresses unsettled;
    PVC_TRY(auto addresses, requests.addresses(0, by, &unsettled));
    has_new = unsettled.has_new;
    PVC_TRY(auto local, requests.local_routes(AF_INET, by));
    PVC_TRY(auto local_v6, requests.local_routes(AF_INET6, by));
    std::ranges::move(local_v6.addresses, std::back_inserter(local.addresses));
    PVC_TRY(auto routes, requests.routes(AF_INET, by));
    PVC_TRY(auto routes_v6, requests.routes(AF_INET6, by));
    std::ranges::move(routes_v6.of_links, std::back_inserter(routes.of_links));
    std::ranges::move(local.given, std::back_inserter(routes.of_links));
    std::ranges::move(local_v6.given, std::back_inserter(routes.of_links));
    std::ranges::move(routes_v6.connected, std::back_inserter(routes.connected));
    PVC_TRY(auto neighbours, requests.neighbours(by));
    PVC_TRY(const auto filtered, requests.filtered_links(by));
    for (auto& one : found) {
        one.link.has_traffic_filter = std::ranges::find(filtered, one.link.index) != filtered.end();
    }
    std::map<int, const model::network_link*> by_index;
    std::map<int, std::string_view> names;
    std::vector<model::network_link> links;
    links.reserve(found.size());
    for (auto& one : found) {
        links.push_back(std::move(one.link));
        names.emplace(links.back().index, links.back().name);
        by_index.emplace(links.back().index, &links.back());
    }
    mark_taken(addresses, local.addresses, unsettled.all, by_index);
    for (auto& one : addresses) {
        if (one.settings.label == names[one.link]) {
            one.settings.label.clear();
        }
    }
    return model::network_state(std::move(links), std::move(addresses), std::move(routes.of_default),
                                std::move(routes.of_links), std::move(routes.connected), std::move(neighbours));
}

}  // namespace

kernel_stack::kernel_stack(boost::asio::any_io_executor executor, async::timers& clock, async::offload& pool)
    : changes_(std::make_unique<kernel_lane>(clock, pool)),
      looks_(std::make_unique<kernel_lane>(clock, pool)),
      monitor_(std::make_shared<change_monitor>(std::move(executor), clock)) {}

kernel_stack::~kernel_stack() {
    monitor_->close();
}

async::awaitable<result<model::network_state>> kernel_stack::look(time_point deadline) {
    const std::string about = "a look at links, addresses and routes";
    PVC_CO_TRY(const auto turn, co_await looks_->turn(about, deadline));
    const auto has_new = std::make_shared<bool>(false);
    kernel_lane::work<model::network_state> work = [has_new](kernel_requests& requests, const errand& by) {
        return look_at_all(requests, by, *has_new);
    };
    auto seen = co_await looks_->run(about, deadline, std::move(work));
    if (seen && *has_new) {
        monitor_->tell_later();
    }
    co_return seen;
}

async::awaitable<result<std::vector<device_rule>>> kernel_stack::device_rules(time_point deadline) {
    const std::string about = "a look at rules of routing";
    PVC_CO_TRY(const auto turn, co_await looks_->turn(about, deadline));
    kernel_lane::work<std::vector<device_rule>> work = [](kernel_requests& requests, const errand& by) {
        auto rules = requests.device_rules(by);
        if (!rules) {
            return rules;
        }
        const auto filtered = devices_in_filter();
        if (filtered) {
            std::ranges::copy(*filtered, std::back_inserter(*rules));
        } else if (filtered.error().code() != errc::unavailable) {  // a kernel without packet filters has no such rules
            return result<std::vector<device_rule>>(filtered.error());
        }
        return rules;
    };
    co_return co_await looks_->run(about, deadline, std::move(work));
}

async::awaitable<result<void>> kernel_stack::apply(model::network_change change, time_point deadline) {
    const std::string about = model::to_text(change);
    PVC_CO_TRY(const auto turn, co_await changes_->turn(about, deadline));
    kernel_lane::work<void> work = [change = std::move(change)](kernel_requests& requests, const errand& by) {
        return std::visit(change_work(requests, change, by), change);
    };
    co_return co_await changes_->run(about, deadline, std::move(work));
}

async::awaitable<result<void>> kernel_stack::remove_link(std::string name, int index, time_point deadline) {
    const std::string about = model::to_text(model::delete_link{name});
    PVC_CO_TRY(const auto turn, co_await changes_->turn(about, deadline));
    kernel_lane::work<void> work = [name, index, about](kernel_requests& requests, const errand& by) -> result<void> {
        PVC_TRY(const auto found, requests.find_link(name, by));
        if (!found || found->link.index != index) {
            return {};
        }
        PVC_TRY(const auto answer, requests.ask(delete_link_message(index), by));
        return answer.error == 0 || answer.error == ENODEV ? result<void>() : result<void>(refusal(about, answer));
    };
    co_return co_await changes_->run(about, deadline, std::move(work));
}

bool kernel_stack::has_late_changes() const {
    return changes_->is_busy();
}

result<std::string> kernel_stack::sysctl(const std::string& key) const {
    return read_setting(key);
}

std::uint64_t kernel_stack::settings_told(int link) const {
    return monitor_->settings_told(link);
}

std::unique_ptr<network_watch> kernel_stack::watch(async::wakeup& changed) {
    return std::make_unique<monitor_watch<network_watch>>(monitor_, changed);
}

std::uint64_t kernel_stack::interrupted_dumps() const {
    return looks_->interrupted();
}

}  // namespace pvc::netlink
