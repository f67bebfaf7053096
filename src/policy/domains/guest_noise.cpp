#include "pvcnoded/policy/domains/guest_noise.hpp"

#include "pvcnoded/base/planted.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pvc::policy {

bool guest_noise::is_first(const uuid& guest, guest_noise_kind kind, std::string_view said, time_point now) {
    const auto [at, is_new] = minutes_.try_emplace({guest, kind}, minute{now + told_every, 0, {}});
    if (is_new || is_planted(defect::noise_told)) {
        return true;
    }
    ++at->second.times;
    at->second.last = said;
    return false;
}

std::vector<guest_noise::tally> guest_noise::take_due(time_point now) {
    std::vector<tally> out;
    for (auto at = minutes_.begin(); at != minutes_.end();) {
        auto& [what, of] = *at;
        if (of.until <= now && of.times == 0) {
            at = minutes_.erase(at);
            continue;
        }
        if (of.until <= now) {
            out.push_back({what.first, what.second, of.times, std::move(of.last)});
            of = {now + told_every, 0, {}};
        }
        ++at;
    }
    return out;
}

std::optional<time_point> guest_noise::next_due() const {
    std::optional<time_point> due;
    for (const auto& [what, of] : minutes_) {
        due = std::min(due.value_or(of.until), of.until);
    }
    return due;
}

std::string to_text(const guest_noise::tally& of) {
    switch (of.kind) {
        case guest_noise_kind::reboot:
            return fmt::format("the guest rebooted {} more time(s) in the last minute", of.times);
        case guest_noise_kind::io_error:
            return fmt::format("{} more I/O error(s) of its disks in the last minute, the last one of {}", of.times,
                               of.last);
        case guest_noise_kind::watchdog:
            return fmt::format("its watchdog fired {} more time(s) in the last minute, the last time: {}", of.times,
                               of.last);
        case guest_noise_kind::sleep: break;
    }
    return fmt::format("the guest fell asleep {} more time(s) in the last minute", of.times);
}

}  // namespace pvc::policy
