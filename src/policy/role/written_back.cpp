#include "pvcnoded/policy/role/written_back.hpp"

#include <algorithm>

namespace pvc::policy {

using model::router_state;

namespace {

// From here on rule C5' looks after it.
constexpr duration longest_memory = std::chrono::seconds(20);

const coordinator_peer* peer_named(const coordinator_view& view, const std::optional<std::string>& name) {
    const auto found = std::ranges::find_if(view.peers, [&name](const auto& peer) { return peer.name == name; });
    return found == view.peers.end() ? nullptr : &*found;
}

bool is_somebody_on_the_way(const coordinator_view& view) {
    return view.role == router_state::takeover ||
           std::ranges::any_of(view.peers, [](const auto& peer) { return peer.router == router_state::takeover; });
}

}  // namespace

// Null: nobody, or it may have seen its name by now.
const coordinator_peer* written_back::who_gives_up(const coordinator_view& view) const {
    const auto& named = view.primary.node;
    if (by.empty()) {
        const auto* const peer = peer_named(view, named);
        const bool is_returned =
            peer != nullptr && peer->router == router_state::relinquish && peer->router_written > view.primary.written;
        return is_returned ? peer : nullptr;
    }
    const bool is_another = named && named != by && named != view.self;
    const auto* const peer = is_another ? nullptr : peer_named(view, by);
    if (peer == nullptr || (peer->router != router_state::relinquish && peer->router != router_state::secondary)) {
        return nullptr;
    }
    const bool may_see =
        named == by && peer->router == router_state::secondary && peer->router_written < view.primary.written;
    return may_see ? nullptr : peer;
}

void written_back::look(const coordinator_view& view, time_point now) {
    if (!view.session_live) {
        by.clear();  // how long nobody took it over is not known any more
        return;
    }
    if (view.primary.node == view.self) {
        own_version = view.primary.version;
    }
    const auto* peer = who_gives_up(view);
    if (peer != nullptr && !by.empty() && now - since >= longest_memory) {
        peer = nullptr;
    }
    if (peer == nullptr) {
        by.clear();
        return;
    }
    if (by.empty() || version != view.primary.version || is_somebody_on_the_way(view)) {
        since = now;
    }
    version = view.primary.version;
    by = peer->name;
}

std::optional<returned_name> written_back::returned(const coordinator_view& view, time_point now) const {
    if (by.empty()) {
        return std::nullopt;
    }
    const bool was_named = own_version && *own_version + 1 == view.primary.version;
    return returned_name{by, was_named, now - since};
}

}  // namespace pvc::policy
