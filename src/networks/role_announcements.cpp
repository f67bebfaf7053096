// When addresses of the primary that are here are announced anew (README ruling 83).
#include "pvcnoded/base/planted.hpp"
#include "pvcnoded/model/node_payloads.hpp"
#include "role_addresses.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pvc::networks {

namespace {
constexpr duration in_touch_limit = std::chrono::seconds(2);
}  // namespace

// Of all devices that may carry one: an address that was there is added without a word of the kernel, so that no look
// follows.
void role_addresses::note_hardware(const model::network_state& seen) {
    std::map<std::string, model::hardware_address> now;
    for (const auto& one : all_) {
        if (const auto* link = seen.find(one.where.device)) {
            now.emplace(one.where.device, link->hardware);
        }
    }
    for (const auto& one : added_) {
        const auto* link = seen.find(one.device);
        if (link == nullptr) {
            continue;  // with it the address went
        }
        const auto before = hardware_.find(one.device);
        const bool is_another = before != hardware_.end() && before->second != link->hardware;
        if (is_another && !is_planted(defect::readdressed_unheeded) &&
            std::ranges::find(unheard_, one) == unheard_.end()) {
            node_.log.info(fmt::format("{} has the hardware address {} now, announcing {} again", one.device,
                                       model::to_text(link->hardware), one.address.text()));
            unheard_.push_back(one);
            is_missing_.notify();
        }
        now.emplace(one.device, link->hardware);
    }
    hardware_ = std::move(now);
}

void role_addresses::announce_all_again() {
    for (const auto& one : added_) {
        if (std::ranges::find(unheard_, one) == unheard_.end()) {
            unheard_.push_back(one);
        }
    }
}

// Whoever is named, the address is here. But who is out of touch may have a successor already, whose neighbours would
// come back; and what a role that is to go does not announce is left until it is gone, or here to stay again.
async::awaitable<void> role_addresses::announce_unheard(core::session& s) {
    if (unheard_.empty() || !may_hold()) {
        co_return;
    }
    const auto stored = co_await s.zk.get(s.limit(in_touch_limit), std::string(model::key_path::primary_node));
    if (!stored && stored.error().code() != errc::not_found) {
        co_return;  // tried again with the next look
    }
    std::erase_if(unheard_, [this](const auto& one) {
        if (may_hold() && has(one)) {
            port_.announce(one.device, one.address.address);
        }
        return may_hold() || !has(one);
    });
}

}  // namespace pvc::networks
