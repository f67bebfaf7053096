#include "guests.hpp"

#include "pvcnoded/async/task_group.hpp"
#include "pvcnoded/base/planted.hpp"

namespace pvc::domains {

using namespace std::chrono_literals;

namespace {
constexpr duration list_limit = 5s;
constexpr duration list_again = 1s;
constexpr duration just_listed = 1s;
}  // namespace

guests::guests(core::node_context& node, hypervisor::hypervisor& hv) : node_(node), hv_(hv) {
    hv_.set_sink(this);
}

guests::~guests() {
    hv_.set_sink(nullptr);
}

bool guests::known() const {
    const auto& link = hv_.connection().value();
    if (is_planted(defect::stale_class_kept) && ever_listed_) {
        return true;
    }
    return link.up && listed_generation_ == link.generation;
}

std::optional<model::guest_status> guests::status_of(const uuid& id) const {
    if (!known()) {
        return std::nullopt;
    }
    const auto found = guests_.find(id);
    return found == guests_.end() ? model::guest_status{} : found->second.status;
}

std::optional<model::guest_class> guests::class_of(const uuid& id) const {
    const auto status = status_of(id);
    return status ? std::optional(model::class_of(*status)) : std::nullopt;
}

bool guests::is_being_made(const uuid& id, time_point since) const {
    constexpr duration longest = 30s;
    return is_half_made(id) && node_.clock().now() - since < longest;
}

bool guests::is_half_made(const uuid& id) const {
    const auto status = status_of(id);
    return status && status->cause == model::pause_cause::starting_up;
}

std::vector<uuid> guests::present() const {
    std::vector<uuid> all;
    if (known()) {
        for (const auto& [id, guest] : guests_) {
            all.push_back(id);
        }
    }
    return all;
}

std::uint64_t guests::events_of(const uuid& id) const {
    const auto found = guests_.find(id);
    if (found != guests_.end()) {
        return found->second.last_event;
    }
    const auto gone = ended_.find(id);
    return gone == ended_.end() ? 0 : gone->second;
}

void guests::set(const uuid& id, const model::guest_status& status, std::uint64_t event) {
    const auto found = guests_.find(id);
    const model::guest_status before = found == guests_.end() ? model::guest_status{} : found->second.status;
    if (model::class_of(status) == model::guest_class::absent) {
        guests_.erase(id);
        if (event != 0) {
            ended_[id] = event;
        }
    } else {
        entry& one = guests_[id];
        one.status = status;
        one.last_event = std::max(one.last_event, event);
        ended_.erase(id);
    }
    if (before != status && on_change) {
        on_change(id);
    }
}

void guests::on_guest_event(const hypervisor::guest_event& event) {
    if (event.what == hypervisor::event_kind::status) {
        set(event.id, event.status, ++events_);
    } else if (on_event) {
        on_event(event);
    }
}

void guests::take(const std::vector<model::guest>& all, std::uint64_t since, std::uint64_t generation) {
    if (generation != hv_.connection().value().generation || !hv_.connection().value().up) {
        return;
    }
    const bool was_known = known();
    std::map<uuid, model::guest_status> listed;
    for (const auto& one : all) {
        listed[one.id] = one.status;
    }
    std::vector<uuid> gone;
    for (const auto& [id, guest] : guests_) {
        if (!listed.contains(id) && (guest.last_event <= since || is_planted(defect::stale_listing))) {
            gone.push_back(id);
        }
    }
    for (const auto& id : gone) {
        set(id, {}, 0);
    }
    for (const auto& [id, status] : listed) {
        if (events_of(id) <= since || is_planted(defect::stale_listing)) {
            set(id, status, 0);
        }
    }
    std::erase_if(ended_, [&](const auto& entry) { return entry.second <= since; });
    listed_generation_ = generation;
    ever_listed_ = true;
    listed_ = node_.clock().now();
    if (!was_known) {
        known_since_ = node_.clock().now();
        known_.notify();
        if (on_all_changed) {
            on_all_changed();
        }
    }
}

void guests::take_one(const uuid& id, const model::guest_status& status, std::uint64_t since) {
    if (known() && events_of(id) <= since) {
        set(id, status, 0);
    }
}

async::awaitable<void> guests::run() {
    const async::latest<hypervisor::connection_state>::observer follow(hv_.connection(), changed_);
    bool was_up = false;
    bool was_ever_up = false;
    std::string told_reason = hv_.connection().value().reason;  // "not connected yet", or the like
    std::string told_listing;
    for (;;) {
        const hypervisor::connection_state now = hv_.connection().value();
        if (now.up != was_up || (now.up && listed_generation_ != now.generation)) {
            if (!now.up && was_up) {
                node_.log.error(message::libvirt_away, "libvirt is away: " + now.reason +
                                                           "; virtual machines are left as they are until it is back");
            }
            if (was_up && !now.up && on_all_changed) {
                on_all_changed();
            }
            was_up = now.up;
            was_ever_up = was_ever_up || now.up;
        }
        if (!now.up && !was_ever_up && now.reason != std::exchange(told_reason, now.reason)) {
            node_.log.error(message::libvirt_away, "libvirt cannot be reached: " + now.reason);
        }
        if (!now.up || listed_generation_ == now.generation) {
            co_await changed_.wait(async::wait_note::work("the connection to libvirt"));
            continue;
        }
        const std::uint64_t since = events_;
        auto all = co_await hv_.list(node_.clock().now() + list_limit);
        if (all) {
            if (ever_listed_) {
                node_.log.ok("libvirt is back");
            }
            take(*all, since, now.generation);
            told_listing.clear();
            continue;
        }
        if (all.error().text != std::exchange(told_listing, all.error().text)) {
            node_.log.warning(message::libvirt_listing,
                              "listing the virtual machines of this host: " + told_listing + ", trying again");
        }
        co_await async::sleep_for(node_.clock(), list_again, "another attempt to list the guests");
    }
}

async::awaitable<void> guests::list_anew(time_point deadline) {
    if (!known() || node_.clock().now() - listed_ <= just_listed) {
        co_return;
    }
    const std::uint64_t since = events_;
    const std::uint64_t asked = generation();
    const auto all = co_await hv_.list(deadline);
    if (all) {
        take(*all, since, asked);
    }
}

async::awaitable<bool> guests::wait_known(time_point deadline) {
    while (!known()) {
        const bool notified = co_await known_.wait_until(node_.clock(), deadline, "the first listing of the guests");
        if (!notified && !known()) {
            co_return false;
        }
    }
    co_return true;
}

}  // namespace pvc::domains
