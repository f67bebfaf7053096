// `pvcnodectl explain fences`: what the fencer sees of each node, in words of policy/fencing/explain_fences.
#include "fencer_part.hpp"

#include "pvcnoded/policy/fencing/confirm.hpp"
#include "pvcnoded/policy/fencing/explain_fences.hpp"

#include <algorithm>

namespace pvc::fencing {

namespace {

core::explained_value fence_text_or_none(std::string text) {
    return text.empty() ? core::explained_value() : core::explained_value(std::move(text));
}

core::explained_value fence_seconds_or_none(const std::optional<duration>& time) {
    return time ? core::explained_value(std::chrono::duration<double>(*time).count()) : core::explained_value();
}

}  // namespace

std::shared_ptr<core::awaited_explanation> fencer::explain(time_point /*until*/) {
    auto said = std::make_shared<core::awaited_explanation>();
    if (part_ != nullptr) {
        said->give(part_->explain());
        return said;
    }
    core::explanation nobody;
    nobody.facts = {{"judges", false},
                    {"judges_not_because", std::string(policy::zookeeper_is_away)},
                    {"has_fence_lock", false},
                    {"fence_lock_of_another", core::explained_value()},
                    {"turn", core::explained_value()}};
    nobody.lists.emplace_back("nodes", std::vector<core::explained_fields>());
    said->give(std::move(nobody));
    return said;
}

core::explanation fencer_part::explain() const {
    const auto self = observer();
    std::vector<policy::fence_view> views;
    for (auto& seen : all_seen()) {
        policy::fence_view view;
        view.node = std::move(seen);
        const std::string& node = view.node.name;
        view.board_trouble = boards_.why_unusable(node);
        view.victim = victim_of(view.node);
        view.is_recoverable_here = recovery_->can_recover();
        view.machines_left = recovery_->left_of(node);
        if (const auto run = runs_.find(node); run != runs_.end()) {
            view.stage = std::string(run->second->machine().stage());
            view.waits_for = std::string(run->second->step().reason);
        }
        if (const auto closer = closer_.find(node); closer != closer_.end()) {
            const bool is_of_now = closer->second.records_of == view.node.state_id &&
                                   closer->second.records_of_beat == view.node.heartbeat_id;
            view.record = is_of_now ? closer->second.record : view.record;
            view.are_records_unread = closer->second.are_records_unread;
            view.left_off = is_of_now ? closer->second.left_off : std::string();
        }
        if (const auto memory = memories_.find(node); memory != memories_.end()) {
            view.memory = memory->second;
        }
        views.push_back(std::move(view));
    }
    core::explanation out;
    // Its first effect here is a heartbeat that is not acknowledged, which says less.
    const bool is_there = session_.zk.is_connected();
    const auto why_not = is_there ? policy::why_not_judging(self) : "ZooKeeper is away (see status)";
    const auto held = other_holder();
    out.facts = {{"judges", why_not.empty()},
                 {"judges_not_because", fence_text_or_none(why_not)},
                 {"has_fence_lock", lock_.held() != nullptr},
                 {"fence_lock_of_another", fence_text_or_none(held)},
                 {"turn", fence_text_or_none(turn_.value_or(""))}};
    std::vector<core::explained_fields> rows;
    for (const auto& one : policy::explain_fences(self, views, held, node_.clock().now())) {
        const auto view =
            std::ranges::find(views, one.node, [](const policy::fence_view& each) { return each.node.name; });
        rows.push_back({{"node", one.node},
                        {"is", one.what},
                        {"heartbeat_age_s", fence_seconds_or_none(view->node.silent_for)},
                        {"why", one.why},
                        {"missing", fence_text_or_none(one.missing)},
                        {"next", one.next},
                        {"in_s", fence_seconds_or_none(one.in)}});
    }
    out.lists.emplace_back("nodes", std::move(rows));
    return out;
}

}  // namespace pvc::fencing
