#include "pvcnoded/core/peers.hpp"

#include "pvcnoded/base/planted.hpp"
#include "pvcnoded/base/text.hpp"
#include "pvcnoded/core/session.hpp"

#include <algorithm>

namespace pvc::core {

using namespace std::chrono_literals;

peers::peers(session& s) : session_(s) {
    list_ = s.watches.add(std::string(model::key_path::nodes), zookeeper::watch_kind::children, events_);
}

void peers::follow_list() {
    if (list_->changes() == list_changes_) {
        return;
    }
    list_changes_ = list_->changes();
    const auto& names = list_->names();
    std::erase_if(peers_, [&](const auto& entry) {
        const bool gone = std::ranges::find(names, entry.first) == names.end();
        if (gone) {
            session_.node.log.info("node " + entry.first + " was removed from the cluster");
        }
        return gone;
    });
    const time_point now = session_.node.clock().now();
    for (const auto& name : names) {
        if (name == session_.node.self() || peers_.contains(name)) {
            continue;
        }
        peer& added = peers_[name];
        using zookeeper::watch_kind;
        added.mode = session_.watches.add(model::node_path(name), watch_kind::data, events_);
        added.daemon =
            session_.watches.add(model::node_path(name, model::node_key::daemon_state), watch_kind::data, events_);
        added.router =
            session_.watches.add(model::node_path(name, model::node_key::router_state), watch_kind::data, events_);
        added.heartbeat.connected(now);
        added.cadence.emplace(session_.node.times.keepalive);
        added.state_since = now;
        added.role_since = now;
        added.last_run = now;
        added.read = now;
    }
}

void peers::follow_states() {
    const time_point now = session_.node.clock().now();
    for (auto& [name, peer] : peers_) {
        if (peer.daemon->changes() != peer.daemon_changes) {
            const bool first = peer.daemon_changes == 0;
            peer.daemon_changes = peer.daemon->changes();
            peer.state_since = now;
            if (!first) {
                session_.node.log.info("node " + name + " is now in state " +
                                       (peer.daemon->present() ? peer.daemon->data() : std::string("unknown")));
            }
        }
        if (peer.router->changes() != peer.router_changes) {
            // Only the node itself changes its role: a primary that gives way is there.
            if (peer.router_changes != 0) {
                peer.heartbeat.moved();
            }
            peer.router_changes = peer.router->changes();
            peer.role_since = now;
        }
        if (model::daemon_state_or_fallback(peer.daemon->data()) == model::daemon_state::run) {
            peer.last_run = now;
        }
    }
}

async::awaitable<void> peers::run() {
    is_followed_ = true;
    for (;;) {
        follow_list();
        follow_states();
        changes_.set(changes_.value() + 1);
        co_await events_.wait(async::wait_note::work("changes of other nodes"));
    }
}

async::awaitable<void> peers::read_heartbeats(time_point until) {
    follow_states();
    auto& clock = session_.node.clock();
    std::vector<std::string> names;
    std::vector<zookeeper::read_wish> wishes;
    for (const auto& [name, peer] : peers_) {
        names.push_back(name);
        wishes.push_back({.path = model::node_path(name, model::node_key::keepalive)});
    }
    if (names.empty()) {
        co_return;
    }
    const time_point sent = clock.now();
    const auto stats =
        co_await session_.zk.read_together(std::min(sent + policy::peer_read_limit, until), std::move(wishes));
    for (std::size_t i = 0; i < names.size(); ++i) {
        const auto found = peers_.find(names[i]);
        if (found != peers_.end()) {
            observe(names[i], found->second, stats[i], sent);
        }
    }
}

void peers::observe(const std::string& name, peer& seen, const result<zookeeper::read_reply>& stat, time_point sent) {
    if (!stat && stat.error().code() != errc::not_found) {
        return;
    }
    auto& clock = session_.node.clock();
    const auto id = stat ? std::optional(stat->stat.mzxid) : std::nullopt;
    if (!seen.heartbeat.observe(id, sent, clock.now())) {
        return;
    }
    seen.read = sent;
    if (!stat) {
        return;
    }
    seen.is_beat = !stat->data.empty();
    if (is_planted(defect::fence_age_by_clock)) {
        const auto said = parse_integer(stat->data);
        seen.read += said ? clock.wall_now() - wall_time(std::chrono::seconds(*said)) : duration::zero();
    }
    if (model::daemon_state_or_fallback(seen.daemon->data()) != model::daemon_state::run) {
        seen.cadence->restart();
        return;
    }
    const auto mean = seen.cadence->observe(stat->stat.version, clock.now());
    if (mean) {
        session_.node.log.warning(message::peer_cadence,
                                  policy::cadence_warning(name, *mean, session_.node.times.keepalive));
    }
}

std::vector<policy::coordinator_peer> peers::coordinators() const {
    const time_point now = session_.node.clock().now();
    std::vector<policy::coordinator_peer> all;
    for (const auto& [name, peer] : peers_) {
        if (model::parse_daemon_mode(peer.mode->data()) != model::daemon_mode::coordinator) {
            continue;
        }
        policy::coordinator_peer view;
        view.name = name;
        view.daemon = model::daemon_state_or_fallback(peer.daemon->data());
        view.router = model::router_state_or_fallback(peer.router->data());
        view.keepalive_unchanged_for = peer.heartbeat.unchanged_for(now);
        view.has_beaten = peer.heartbeat.has_moved();
        const bool is_stopped = view.daemon == model::daemon_state::stop || view.daemon == model::daemon_state::fenced;
        view.stopped_for = is_stopped ? now - peer.state_since : duration::zero();
        view.daemon_unchanged_for = now - peer.state_since;
        view.router_unchanged_for = now - peer.role_since;
        view.router_written = peer.router->present() ? peer.router->stat().mzxid : 0;
        view.not_run_for = view.daemon == model::daemon_state::run ? duration::zero() : now - peer.last_run;
        all.push_back(std::move(view));
    }
    return all;
}

std::vector<other_node> peers::all() const {
    std::vector<other_node> all;
    all.reserve(peers_.size());
    for (const auto& [name, peer] : peers_) {
        all.push_back({name, peer.daemon.get(), peer.heartbeat.id(), peer.is_beat,
                       peer.heartbeat.unchanged_for(peer.read), peer.read});
    }
    return all;
}

void peers::add_role_checks(zookeeper::transaction& what) const {
    for (const auto& [name, peer] : peers_) {
        if (model::parse_daemon_mode(peer.mode->data()) == model::daemon_mode::coordinator && peer.router->present()) {
            what.check(model::node_path(name, model::node_key::router_state), peer.router->stat().version);
        }
    }
}

std::optional<model::daemon_state> peers::daemon_state(const std::string& name) const {
    const auto found = peers_.find(name);
    if (found == peers_.end()) {
        return std::nullopt;
    }
    return model::daemon_state_or_fallback(found->second.daemon->data());
}

bool peers::known() const {
    return list_->known() && list_->changes() == list_changes_ && std::ranges::all_of(peers_, [](const auto& entry) {
               return entry.second.mode->known() && entry.second.daemon->known() && entry.second.router->known();
           });
}

}  // namespace pvc::core
