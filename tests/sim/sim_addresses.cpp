#include "sim/sim_addresses.hpp"

#include <algorithm>

namespace pvc::sim {

sim_interfaces::sim_interfaces() {
    for (const auto* device : {"lo", "brcluster", "brstorage", "brupstream"}) {
        add_device(device);
    }
}

void sim_interfaces::add(const std::string& device, const host_address& which) {
    const auto found = devices_.find(device);
    if (found != devices_.end() && !has(device, which)) {
        found->second.push_back(which);
    }
}

void sim_interfaces::add(const std::string& device, std::string_view which) {
    add(device, *parse_host_address(which));
}

void sim_interfaces::remove(const std::string& device, const host_address& which) {
    if (const auto found = devices_.find(device); found != devices_.end()) {
        std::erase(found->second, which);
    }
}

const std::vector<host_address>* sim_interfaces::find(const std::string& device) const {
    const auto found = devices_.find(device);
    return found == devices_.end() ? nullptr : &found->second;
}

bool sim_interfaces::has(const std::string& device, const host_address& which) const {
    const auto* there = find(device);
    return there != nullptr && std::ranges::find(*there, which) != there->end();
}

bool sim_interfaces::answers(const ip::address& which) const {
    return std::ranges::any_of(devices_, [&](const auto& device) {
        return std::ranges::find(device.second, which, &host_address::address) != device.second.end();
    });
}

std::string sim_interfaces::text() const {
    std::string all;
    for (const auto& [device, addresses] : devices_) {
        for (const auto& one : addresses) {
            all += (all.empty() ? "" : ", ") + one.text() + " on " + device;
        }
    }
    return all;
}

void sim_interfaces::lose_power() {
    for (auto& [device, addresses] : devices_) {
        addresses.clear();
    }
}

void sim_addresses::end_hang() {
    hangs_ = false;
    for (auto& one : asked_) {
        one.when = std::max(one.when, clock_.now());
    }
    do_due();
}

void sim_addresses::end_slowness() {
    call_time = std::chrono::milliseconds(1);
    for (auto& one : asked_) {
        one.when = std::min(one.when, clock_.now());
    }
    do_due();
}

void sim_addresses::drop_calls() {
    asked_.clear();
    due_.disarm();
}

void sim_addresses::end_faults() {
    broken.clear();
    end_hang();
    end_slowness();
}

std::optional<failure> sim_addresses::fault(const std::string& call, const std::string& device) const {
    for (const auto& name : {call, call + " " + device}) {
        if (const auto found = broken.find(name); found != broken.end()) {
            return found->second;
        }
    }
    return std::nullopt;
}

void sim_addresses::do_due() {
    while (!hangs_ && !asked_.empty() && asked_.front().when <= clock_.now()) {
        const asked next = std::move(asked_.front());
        asked_.pop_front();
        *next.outcome = (*next.what)();
    }
    if (!hangs_ && !asked_.empty()) {
        due_.arm(asked_.front().when, [this] { do_due(); });
    }
}

async::awaitable<result<void>> sim_addresses::pass(std::string about, time_point deadline, effect what) {
    if (cut) {
        co_return failure(errc::stopped, about);
    }
    const time_point begins = std::max(clock_.now(), asked_.empty() ? clock_.now() : asked_.back().when);
    const time_point ends = begins + call_time;
    auto outcome = std::make_shared<std::optional<result<void>>>();
    asked_.push_back({ends, std::make_shared<effect>(std::move(what)), outcome});
    if (asked_.size() == 1 && !hangs_) {
        due_.arm(ends, [this] { do_due(); });
    }
    co_await async::sleep_until(clock_, hangs_ ? deadline : std::min(ends, deadline), "the kernel");
    if (cut) {
        co_return failure(errc::stopped, about);
    }
    do_due();
    if (!*outcome && !hangs_ && clock_.now() < deadline) {
        co_await async::sleep_until(clock_, deadline, "the kernel");  // it began to hang meanwhile
    }
    co_return outcome->value_or(failure(errc::timed_out, about));
}

async::awaitable<result<void>> sim_addresses::add(std::string device, host_address which, boot_time not_after,
                                                  time_point deadline) {
    const std::string about = which.text() + " on " + device;
    calls.push_back("add " + about);
    return pass(about, deadline, [this, device, which, not_after, about]() -> result<void> {
        if (clock_.boot_now() - call_time > not_after) {
            return failure(errc::stopped, about, "it could not start in time");
        }
        if (const auto told = fault("add", device)) {
            return *told;
        }
        if (machine_.find(device) == nullptr) {
            return failure(errc::not_found, device, "No such device");
        }
        machine_.add(device, which);
        if (device != "lo") {
            announced.push_back(which.address.to_string() + " on " + device);
        }
        return {};
    });
}

async::awaitable<result<void>> sim_addresses::remove(std::string device, host_address which, time_point deadline) {
    const std::string about = which.text() + " on " + device;
    calls.push_back("remove " + about);
    return pass(about, deadline, [this, device, which]() -> result<void> {
        if (const auto told = fault("remove", device)) {
            return *told;
        }
        machine_.remove(device, which);
        return {};
    });
}

async::awaitable<result<std::vector<host_address>>> sim_addresses::list(std::string device, time_point deadline) {
    auto found = std::make_shared<std::vector<host_address>>();
    auto listed = co_await pass(device, deadline, [this, device, found]() -> result<void> {
        if (const auto told = fault("list", device)) {
            return *told;
        }
        const auto* there = machine_.find(device);
        if (there == nullptr) {
            return failure(errc::not_found, device, "No such device");
        }
        *found = *there;
        return {};
    });
    if (!listed) {
        co_return std::move(listed).error();
    }
    co_return std::move(*found);
}

}  // namespace pvc::sim
