// When addresses of the primary that are here are announced anew (README ruling 83).
#include "pvcnoded/base/planted.hpp"
#include "role_addresses.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pvc::networks {

void role_addresses::note_hardware(const model::network_state& seen) {
    std::map<std::string, model::hardware_address> now;
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
        now.insert_or_assign(one.device, link->hardware);
    }
    hardware_ = std::move(now);
}

}  // namespace pvc::networks
