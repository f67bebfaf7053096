#include "pvcnoded/policy/domains/stranded_migration.hpp"

namespace pvc::policy {

stranded_sender follow(const stranded_sender& before, const stranded_look& look, time_point now) {
    const holding_node* holder = nullptr;
    for (const auto& one : look.nodes) {
        if (one.what == holding::nothing) {
            continue;
        }
        if (one.what != holding::runs || holder != nullptr) {
            return {};  // not one and only one
        }
        holder = &one;
    }
    if (holder == nullptr || holder->daemon != model::daemon_state::run || look.is_contended) {
        return {};
    }
    const bool is_same = before.node == holder->name && before.changed == look.changed;
    return {holder->name, look.changed, is_same ? before.since : now};
}

bool is_stranded(const stranded_sender& sender, time_point now) {
    return !sender.node.empty() && now - sender.since >= stranded_after;
}

std::string last_node_after_return(std::string_view holder, std::string_view present) {
    return std::string(present == holder ? std::string_view() : present);
}

}  // namespace pvc::policy
