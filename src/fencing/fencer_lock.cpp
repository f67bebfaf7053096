// The fence lock while another one has it: who has it is looked at and said once (policy::lock_wait).
#include "fencer_part.hpp"

#include "pvcnoded/base/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace pvc::fencing {

using namespace std::chrono_literals;

bool fencer_part::may_stand_in_line() {
    waiting_.clear();
    if (closer_.empty()) {
        in_line_.reset();
        lock_wait_ = {};
        return true;
    }
    if (!in_line_) {
        in_line_ =
            session_.watches.add(std::string(model::key_path::fence_lock), zookeeper::watch_kind::children, changed_);
    }
    const bool is_ours = lock_.held() != nullptr;
    if (!in_line_->known() && !is_ours) {
        return false;
    }
    const auto line = model::contenders(in_line_->names(), model::lock_tag::lock);
    const auto first = line.empty() ? std::nullopt : std::optional(line.front().name);
    return lock_wait_.may_queue(first, is_ours, node_.clock().now());
}

bool fencer_part::is_lock_wanted() const {
    return lock_.held() != nullptr && in_line_ && in_line_->known() &&
           model::contenders(in_line_->names(), model::lock_tag::lock).size() > 1;
}

void fencer_part::tell_who_has_lock() {
    if (waiting_.empty() || !lock_wait_.behind) {
        return;
    }
    if (holder_child_ != *lock_wait_.behind) {
        holder_child_ = *lock_wait_.behind;
        holder_.clear();
        scope_->spawn("holder of the fence lock", [this, child = holder_child_] { return read_holder(child); });
        return;
    }
    if (holder_.empty()) {
        return;  // it is being read
    }
    const std::string node = holder_.substr(0, holder_.find(':'));
    const bool lives = std::ranges::any_of(session_.others.all(), [&](const core::other_node& one) {
        return one.name == node && one.silent_for <= 2 * node_.times.keepalive;
    });
    const std::string which = fmt::format("{} {}", waiting_.size() == 1 ? "node" : "nodes",
                                          fmt::join(waiting_.begin(), waiting_.end(), ", "));
    switch (lock_wait_.tell(lives, node_.clock().now())) {
        case policy::lock_wait::telling::nothing: return;
        case policy::lock_wait::telling::who:
            node_.log.info(fmt::format("the fence of {} waits here: {} has the fence lock", which, holder_));
            return;
        case policy::lock_wait::telling::awaited:
            node_.log.error(
                message::fence_lock_awaited,
                fmt::format("{} is dead and has waited {} s for {}, which {} holds", which,
                            (node_.clock().now() - *lock_wait_.since) / 1s, model::key_path::fence_lock, holder_));
            return;
    }
}

async::awaitable<void> fencer_part::read_holder(std::string child) {
    const auto found =
        co_await session_.zk.get(session_.limit(), std::string(model::key_path::fence_lock) + "/" + child);
    if (holder_child_ == child) {
        holder_ = found && !found->data.empty() ? shown(found->data) : child;
        changed_.notify();
    }
}

std::string fencer_part::other_holder() const {
    return lock_.held() == nullptr && lock_wait_.behind && holder_child_ == *lock_wait_.behind ? holder_
                                                                                               : std::string();
}

}  // namespace pvc::fencing
