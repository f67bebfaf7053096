// What starts of machines have heard of Ceph: when a monitor answered last, and how often images of a pool were
// answered for. Who waits for Ceph is told. Loop thread only. Specification: README ruling 77.
#pragma once

#include "pvcnoded/base/clock.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace pvc::domains {

class ceph_news {
public:
    // Of machines with disks in this pool.
    std::function<void(const std::string& pool)> on_answer;

    void note(const std::string& volume) {
        const std::string pool = volume.substr(0, volume.find('/'));
        ++answers_[pool];
        if (on_answer) {
            on_answer(pool);
        }
    }
    [[nodiscard]] std::uint64_t answers(const std::vector<std::string>& pools) const {
        std::uint64_t all = 0;
        for (const auto& one : pools) {
            const auto found = answers_.find(one);
            all += found == answers_.end() ? 0 : found->second;
        }
        return all;
    }
    // A question that was sent then was answered.
    void note_monitors(time_point asked) { monitors_ = asked; }
    // Just now: one answer serves several starts.
    [[nodiscard]] bool has_answered(time_point now) const {
        constexpr duration fresh = std::chrono::seconds(1);
        return monitors_ && now - *monitors_ < fresh;
    }

private:
    std::map<std::string, std::uint64_t> answers_;
    std::optional<time_point> monitors_;
};

}  // namespace pvc::domains
