#include "pvcnoded/netlink/adapter/kernel_stack.hpp"

#include "adapter/change_monitor.hpp"
#include "adapter/changes.hpp"
#include "adapter/kernel_requests.hpp"
#include "adapter/settings.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <variant>

namespace pvc::netlink {

namespace {

// So many changes are made before what else is ready has its turn: some milliseconds.
constexpr std::uint32_t changes_at_once = 16;

class monitor_watch final : public network_watch {
public:
    monitor_watch(std::shared_ptr<change_monitor> monitor, async::wakeup& changed)
        : monitor_(std::move(monitor)), changed_(changed) {
        monitor_->add(changed_);
    }
    monitor_watch(const monitor_watch&) = delete;
    monitor_watch& operator=(const monitor_watch&) = delete;
    ~monitor_watch() override { monitor_->remove(changed_); }

private:
    std::shared_ptr<change_monitor> monitor_;
    async::wakeup& changed_;
};

}  // namespace

kernel_stack::kernel_stack(boost::asio::any_io_executor executor, async::timers& clock)
    : requests_(std::make_unique<kernel_requests>(executor, clock)),
      dumps_(std::make_unique<kernel_requests>(executor, clock)),
      monitor_(std::make_shared<change_monitor>(executor, clock)) {}

kernel_stack::~kernel_stack() {
    monitor_->close();
}

async::awaitable<result<model::network_state>> kernel_stack::look(time_point deadline) {
    PVC_CO_TRY(const auto turn, co_await dumps_->turn("a look at links, addresses and routes", deadline));
    PVC_CO_TRY(auto found, co_await dumps_->links(deadline));
    PVC_CO_TRY(auto addresses, co_await dumps_->addresses(0, deadline));
    PVC_CO_TRY(auto routes, co_await dumps_->default_routes(deadline));
    PVC_CO_TRY(auto link_routes, co_await dumps_->link_routes(AF_INET, deadline));
    PVC_CO_TRY(auto link_routes_v6, co_await dumps_->link_routes(AF_INET6, deadline));
    std::ranges::move(link_routes_v6, std::back_inserter(link_routes));
    std::vector<model::network_link> links;
    links.reserve(found.size());
    for (auto& one : found) {
        links.push_back(std::move(one.link));
    }
    co_return model::network_state(std::move(links), std::move(addresses), std::move(routes), std::move(link_routes));
}

async::awaitable<result<void>> kernel_stack::apply(model::network_change change, time_point deadline) {
    result<void> outcome;
    {
        PVC_CO_TRY(const auto turn, co_await requests_->turn(model::to_text(change), deadline));
        change_work work(*requests_, change, deadline);
        outcome = co_await std::visit(work, change);
    }
    if (++applied_ % changes_at_once == 0) {
        co_await async::yield();
    }
    co_return outcome;
}

result<std::string> kernel_stack::sysctl(const std::string& key) const {
    return read_setting(key);
}

std::unique_ptr<network_watch> kernel_stack::watch(async::wakeup& changed) {
    return std::make_unique<monitor_watch>(monitor_, changed);
}

std::uint64_t kernel_stack::interrupted_dumps() const {
    return dumps_->interrupted();
}

}  // namespace pvc::netlink
