// Routes of others that the kernel takes away with an address of the primary: at a hand-over an operator loses none.
#include "role_addresses.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace pvc::networks {

using namespace std::chrono_literals;

namespace {
// A disk that hangs keeps no address here that another node is about to have.
constexpr duration routes_note_limit = 250ms;
}  // namespace

// A daemon that has just started knows no networks yet, and a gateway that was changed is none of its network's any
// more: these addresses go likewise, and what hangs on them with them.
std::vector<policy::role_address> role_addresses::all_of_primary(const places& found) const {
    auto all = all_;
    for (const auto& one : found) {
        if (is_gateway(one) && !knows(one)) {
            all.push_back({"gateway of before", policy::role_phase::f, one});
        }
    }
    return all;
}

void role_addresses::note_routes(const model::network_state& seen, const places& found) {
    const auto all = all_of_primary(found);
    auto now = policy::bound_after_look(bridges_->routes(), *node_.config, all, seen);
    back_ = policy::bound_to_add(now, seen);
    bridges_->update_routes(std::move(now));
    standing_ = policy::routes_to_keep(*node_.config, all, seen);
    tell_leaving(policy::routes_not_to_keep(*node_.config, all, seen));
}

void role_addresses::tell_leaving(std::set<std::string> now) {
    for (const auto& text : now) {
        if (!leaving_.contains(text)) {
            damages_.tell(message::role_address, text);
        }
    }
    leaving_ = std::move(now);
}

// They are on record since the look that saw them; who dies from here on leaves it to the next start.
async::awaitable<std::vector<netlink::staying_route>> role_addresses::let_routes_go(
    const policy::placed_address& with) {
    bridges_->update_routes(policy::bound_without(bridges_->routes(), with));
    co_await bridges_->routes_noted_by(node_.clock().now() + routes_note_limit);
    std::vector<netlink::staying_route> staying;
    const auto found = standing_.find(with.device);
    for (const auto& one : found == standing_.end() ? std::vector<policy::standing_route>() : found->second) {
        if (one.is.is.to.address.is_v4() == with.address.address.is_v4()) {
            staying.push_back({one.is.is, one.is.table, one.has_twins});
        }
    }
    co_return staying;
}

async::awaitable<void> role_addresses::add_routes_again(time_point until) {
    for (auto& one : std::exchange(back_, {})) {
        const std::string step = fmt::format("add the {} over {} again", model::to_text(one.route), one.device);
        auto done = co_await stack_.apply(model::network_change(one), std::min(until, action_deadline()));
        if (done) {
            node_.log.info(fmt::format("the {} over {}, which went with an address of the primary, is there again",
                                       model::to_text(one.route), one.device));
            succeeded(step);
        } else {
            failed(step, done.error());
        }
    }
}

}  // namespace pvc::networks
