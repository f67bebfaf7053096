#include "pvcnoded/policy/domains/hand_over.hpp"

#include <algorithm>

namespace pvc::policy {

std::string hand_over_mark(const uuid& id) {
    return to_text(id) + " handed over";
}

bool is_hand_over(const uuid& id, std::int64_t state_changed, std::string_view sync_value, std::int64_t sync_changed) {
    return state_changed != 0 && sync_changed == state_changed && sync_value == hand_over_mark(id);
}

bool held_it_then(const sender_locks& sender, const state_lock& now, std::int64_t written) {
    if (sender.first_since > written) {
        return false;
    }
    if (!now.contenders.empty() && now.contenders.front() == sender.child) {
        return true;
    }
    const bool is_gone = std::ranges::find(now.contenders, sender.child) == now.contenders.end();
    return is_gone && now.children_version == sender.children_version + 1 && now.children_changed > written;
}

}  // namespace pvc::policy
