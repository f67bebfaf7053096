#include "pvcnoded/netlink/adapter/kernel_addresses.hpp"

#include "adapter/announcer.hpp"
#include "adapter/kernel_requests.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace pvc::netlink {

kernel_addresses::kernel_addresses(boost::asio::any_io_executor executor, async::timers& clock)
    : clock_(clock),
      requests_(std::make_unique<kernel_requests>(std::move(executor), clock)),
      announcer_(std::make_unique<announcer>(clock)) {}

kernel_addresses::~kernel_addresses() = default;

async::awaitable<result<void>> kernel_addresses::add(std::string device, host_address which, boot_time not_after,
                                                     time_point deadline) {
    const std::string about = which.text() + " on " + device;
    PVC_CO_TRY(const auto turn, co_await requests_->turn(about, deadline));
    if (clock_.boot_now() > not_after) {
        co_return failure(errc::stopped, about, "it could not start in time");
    }
    PVC_CO_TRY(const auto found, co_await requests_->need_link(device, deadline));
    // Nothing has suspended since, but for an answer that was lost.
    if (clock_.boot_now() > not_after) {
        co_return failure(errc::stopped, about, "it could not start in time");
    }
    const auto added = co_await requests_->add_address(found.link.index, which, about, deadline);
    if (!added && added.error().code() == errc::already_exists) {
        co_return failure(errc::refused, about, added.error().cause());
    }
    if (added && found.hardware && !found.link.is_loopback) {
        announcer_->announce(found.link.index, *found.hardware, which.address);
    }
    co_return added;
}

async::awaitable<result<void>> kernel_addresses::remove(std::string device, host_address which, time_point deadline) {
    const std::string about = which.text() + " on " + device;
    PVC_CO_TRY(const auto turn, co_await requests_->turn(about, deadline));
    PVC_CO_TRY(const auto found, co_await requests_->find_link(device, deadline));
    if (!found) {
        co_return result<void>();
    }
    announcer_->forget(found->link.index, which.address);
    co_return co_await requests_->remove_address(found->link.index, which, std::nullopt, about, deadline);
}

async::awaitable<result<std::vector<host_address>>> kernel_addresses::list(std::string device, time_point deadline) {
    PVC_CO_TRY(const auto turn, co_await requests_->turn(device, deadline));
    PVC_CO_TRY(const auto found, co_await requests_->need_link(device, deadline));
    auto listed = co_await requests_->addresses(found.link.index, deadline);
    if (!listed) {
        const bool is_gone = listed.error().code() == errc::not_found;
        co_return is_gone ? failure(errc::not_found, device, "No such device")
                          : failure(errc::refused, device, listed.error().cause());
    }
    std::vector<host_address> addresses;
    std::ranges::transform(*listed, std::back_inserter(addresses), &model::link_address::address);
    co_return addresses;
}

}  // namespace pvc::netlink
