// One machine's way to the ensemble: what happens to its connections, and the lagging view of its server.
#include "pvcnoded/base/assert.hpp"
#include "sim/zookeeper/memory_client.hpp"
#include "sim/zookeeper/memory_connection.hpp"

#include <utility>

namespace pvc::sim {

namespace {
constexpr duration pause_limit = std::chrono::seconds(2);  // node-lifecycle.md 3.1 rule 7
}

memory_link::memory_link(memory_ensemble& ensemble, async::timers& client_clock)
    : ensemble_(&ensemble), client_clock_(client_clock), late_timer_(ensemble.clock()) {
    ensemble.links_.push_back(this);
}

memory_link::~memory_link() {
    if (ensemble_ != nullptr) {
        std::erase(ensemble_->links_, this);
    }
}

void memory_link::ensemble_gone() {
    ensemble_ = nullptr;
    late_timer_.disarm();
    for (memory_client* one : clients_) {
        one->housekeeping_.disarm();
    }
}

std::vector<std::shared_ptr<memory_connection>> memory_link::live_connections() {
    std::vector<std::shared_ptr<memory_connection>> out;
    std::erase_if(connections_, [&out](const auto& weak) {
        auto one = weak.lock();
        if (one) {
            out.push_back(one);
        }
        return !one;
    });
    return out;
}

void memory_link::drop(in_flight what) {
    for (const auto& one : live_connections()) {
        one->break_now(what, "connection lost");
    }
}

void memory_link::cut(in_flight what) {
    is_cut_ = true;
    drop(what);
}

void memory_link::mend() {
    is_cut_ = false;
}

void memory_link::silence() {
    is_silent_ = true;
}

void memory_link::end_silence() {
    is_silent_ = false;
    flow();
}

void memory_link::hold_answers() {
    is_holding_ = true;
}

void memory_link::release_answers() {
    is_holding_ = false;
    flow();
}

void memory_link::flow() {
    for (const auto& one : live_connections()) {
        one->flow();
    }
}

void memory_link::pause() {
    is_paused_ = true;
    paused_at_ = client_clock_.boot_now();
}

void memory_link::resume() {
    if (!is_paused_) {
        return;
    }
    is_paused_ = false;
    const auto all = clients_;
    if (client_clock_.boot_now() - paused_at_ > pause_limit) {
        for (memory_client* one : all) {
            one->on_pause_end(paused_at_);
        }
    }
    for (memory_client* one : all) {
        for (auto& [what, record] : std::exchange(one->held_by_pause_, {})) {
            one->transmit(std::move(what), std::move(record));
        }
    }
    flow();
    for (memory_client* one : all) {
        one->plan_housekeeping();
    }
}

void memory_link::power_off() {
    is_off_ = true;
    for (const auto& one : live_connections()) {
        one->leave(in_flight::lost);
    }
    for (memory_client* one : clients_) {
        one->connection_.reset();
        one->housekeeping_.disarm();
    }
}

void memory_link::expire_sessions() {
    for (memory_client* one : std::vector(clients_)) {
        if (ensemble_ != nullptr && one->session_id_ != 0) {
            ensemble_->expire_session(one->session_id_);
        }
    }
}

std::size_t memory_link::requests_under_way() const {
    std::size_t count = 0;
    for (const memory_client* one : clients_) {
        count += one->requests_under_way();
    }
    return count;
}

const memory_tree& memory_link::view() const {
    return replica_ && !late_.empty() ? *replica_ : ensemble_->tree_;
}

void memory_link::before_write() {
    if (lag > duration::zero() && !replica_) {
        replica_ = ensemble_->tree_;  // kept as long as it lags: a copy of the tree is dear
    } else if (lag == duration::zero() && late_.empty()) {
        replica_.reset();
    }
}

void memory_link::after_write(std::int64_t zxid, const std::vector<tree_change>& changes, bool may_fire) {
    if (!replica_) {
        if (may_fire) {
            trigger(changes);
        }
        return;
    }
    late_transaction late{ensemble_->clock().now() + lag, zxid, ensemble_->server_time(), {}};
    for (const auto& change : changes) {
        if (change.what != zookeeper::operation::kind::check) {
            late.changes.push_back({change.what, change.path, change.data, zookeeper::any_version, false,
                                    change.what == zookeeper::operation::kind::create ? change.ephemeral_owner : 0});
        }
    }
    late_.push_back(std::move(late));
    late_timer_.arm(late_.front().due, [this] { apply_late(); });
}

void memory_link::apply_late() {
    const time_point now = ensemble_->clock().now();
    std::int64_t due = 0;
    for (const auto& one : late_) {
        if (one.due <= now) {
            due = one.zxid;
        }
    }
    catch_up(due);
}

void memory_link::catch_up(std::int64_t zxid) {
    while (!late_.empty() && late_.front().zxid <= zxid) {
        late_transaction one = std::move(late_.front());
        late_.pop_front();
        const auto done = replica_->apply(one.zxid, one.when, one.changes);
        PVC_ASSERT(done);
        trigger(one.changes);
    }
    if (!late_.empty()) {
        late_timer_.arm(late_.front().due, [this] { apply_late(); });
    } else {
        late_timer_.disarm();
    }
}

void memory_link::trigger(const std::vector<tree_change>& changes) {
    for (const auto& weak : connections_) {
        if (const auto one = weak.lock()) {
            one->trigger(changes);  // only sends: nothing is connected or dropped by it
        }
    }
}

}  // namespace pvc::sim
