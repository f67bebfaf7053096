#include "pvcnoded/netlink/adapter/kernel_counters.hpp"

#include "adapter/kernel_lane.hpp"
#include "adapter/messages.hpp"
#include "adapter/system_files.hpp"
#include "pvcnoded/base/text.hpp"

#include <linux/rtnetlink.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace pvc::netlink {

namespace {

constexpr std::size_t names_max = 10'000;

// On a pool thread.
result<std::vector<model::hardware_link>> read_hardware(const std::string& sysfs) {
    const std::string root = sysfs + "/class/net";
    PVC_TRY(auto names, names_in(root, names_max));
    std::ranges::sort(names);
    std::vector<model::hardware_link> found;
    for (auto& name : names) {
        const std::string folder = root + '/' + name;
        if (!is_there(folder + "/device")) {
            continue;
        }
        model::hardware_link one{std::move(name), {}};
        if (const auto text = read_system_file(folder + "/speed")) {  // refused by one that is down, or has none
            one.speed = parse_integer(*text);
        }
        found.push_back(std::move(one));
    }
    return found;
}

// On a pool thread.
result<std::vector<model::link_counters>> read_counters(const std::vector<std::string>& names,
                                                        kernel_requests& requests, const errand& by) {
    std::vector<model::link_counters> found;
    const kernel_requests::taker take = [&](const reply_message& one) -> result<void> {
        if (one.type == RTM_NEWLINK) {
            PVC_TRY(auto counters, parse_link_counters(one.body));
            found.push_back(std::move(counters));
        }
        return {};
    };
    for (const auto& name : names) {
        if (!is_device_name(name)) {
            continue;
        }
        PVC_TRY(const auto answer, requests.exchange(get_counters_message(name), take, by));
        if (answer.error != 0 && answer.error != ENODEV) {
            return failure(errc::io, name, answer.cause());
        }
    }
    return found;
}

}  // namespace

kernel_counters::kernel_counters(async::timers& clock, async::offload& pool, std::string sysfs)
    : clock_(clock), pool_(pool), sysfs_(std::move(sysfs)), lane_(std::make_unique<kernel_lane>(clock, pool)) {}

kernel_counters::~kernel_counters() = default;

async::awaitable<result<std::vector<model::hardware_link>>> kernel_counters::hardware(time_point deadline) {
    constexpr std::string_view about = "network cards";
    if (const auto last = last_look_.lock(); last && !*last) {
        co_return failure(errc::unavailable, std::string(about), "an earlier look at them still hangs");
    }
    const auto is_over = std::make_shared<std::atomic<bool>>(false);
    last_look_ = is_over;
    std::function<result<std::vector<model::hardware_link>>()> work = [sysfs = sysfs_, is_over] {
        auto found = read_hardware(sysfs);
        *is_over = true;
        return found;
    };
    co_return co_await pool_.run(clock_, deadline, std::string(about), std::move(work));
}

async::awaitable<result<std::vector<model::link_counters>>> kernel_counters::count(std::vector<std::string> names,
                                                                                   time_point deadline) {
    const std::string about = "counters of network cards";
    PVC_CO_TRY(const auto turn, co_await lane_->turn(about, deadline));
    kernel_lane::work<std::vector<model::link_counters>> work = [names = std::move(names)](kernel_requests& requests,
                                                                                           const errand& by) {
        return read_counters(names, requests, by);
    };
    co_return co_await lane_->run(about, deadline, std::move(work));
}

}  // namespace pvc::netlink
