#include "pvcnoded/policy/fencing/recovery_plan.hpp"

#include "pvcnoded/base/planted.hpp"
#include "pvcnoded/base/text.hpp"
#include "pvcnoded/model/scalar.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace pvc::policy {

namespace {

// No node has so much of anything; garbage beyond it must not overflow a sum.
constexpr std::int64_t room_max = std::int64_t{1} << 40;

std::optional<std::int64_t> room_figure(std::string_view text) {
    const auto number = parse_integer(trim(text));
    return number && *number >= -room_max && *number <= room_max ? number : std::nullopt;
}

// By what it published, not by what is to come to it.
bool shows_machines(const node_room& node) {
    return node.is_ours || room_figure(node.offer.domainscount).value_or(0) > 0 ||
           room_figure(node.offer.vcpualloc).value_or(0) > 0;
}

void add_to(std::string& figure, std::int64_t what) {
    if (const auto number = room_figure(figure)) {
        figure = std::to_string(*number + what);
    }
}

}  // namespace

void recovery_planner::take_off(const placed& one) {
    const auto found =
        std::ranges::find_if(left_, [&one](const node_room& node) { return node.offer.name == one.node; });
    if (found == left_.end() || is_planted(defect::fence_stale_figures)) {
        return;
    }
    auto& offer = found->offer;
    // Where it is there by now, what it has touched is off already.
    const std::int64_t memory = assigned_.owed_to(one.id, one.node).value_or(one.memory);
    add_to(offer.memfree, -memory);
    add_to(offer.memused, memory);
    add_to(offer.memprov, one.memory);
    add_to(offer.vcpualloc, one.vcpus);
    add_to(offer.domainscount, 1);
    const auto load = model::parse_float(offer.cpuload);
    const auto cpus = room_figure(found->cpucount);
    if (load && cpus && *cpus > 0) {
        offer.cpuload = fmt::format("{:.4f}", *load + static_cast<double>(one.vcpus) / static_cast<double>(*cpus));
    }
}

void recovery_planner::begin(std::vector<node_room> nodes, time_point now,
                             const std::vector<assigned_machine>& assigned) {
    std::erase_if(placed_, [now](const placed& one) { return now - one.at > remembered; });
    published_ = std::move(nodes);
    assigned_ = assigned_memory(assigned);
    left_ = published_;
    for (const auto& one : placed_) {
        take_off(one);
    }
}

void recovery_planner::put(const guest_to_place& guest, const std::string& node, time_point now) {
    take_back(guest.id);
    placed_.push_back({guest.id, node, std::clamp<std::int64_t>(guest.memory, 0, room_max),
                       std::clamp<std::int64_t>(guest.vcpus, 0, room_max), now});
    take_off(placed_.back());
}

void recovery_planner::take_back(const uuid& id) {
    if (std::erase_if(placed_, [&id](const placed& one) { return one.id == id; }) == 0) {
        return;
    }
    left_ = published_;
    for (const auto& one : placed_) {
        take_off(one);
    }
}

std::vector<uuid> recovery_planner::placed_machines() const {
    std::vector<uuid> out;
    for (const auto& one : placed_) {
        out.push_back(one.id);
    }
    return out;
}

std::int64_t recovery_planner::owed_to_others(const uuid& but, const std::string& node) const {
    std::int64_t owed = assigned_.owed_on(node) - assigned_.owed_to(but, node).value_or(0);
    for (const auto& one : placed_) {
        if (one.node == node && one.id != but) {
            owed -= assigned_.owed_to(one.id, node).value_or(0);
        }
    }
    return owed;
}

// How much memory it lacks; empty: that is not known. None: 0.
std::optional<std::int64_t> recovery_planner::missing_in(const node_room& node, const uuid& guest,
                                                         std::int64_t memory) const {
    if (is_planted(defect::fence_overcommits)) {
        return 0;
    }
    const auto published = room_figure(node.offer.memfree);
    const auto total = overcommit_ == 100 ? std::optional<std::int64_t>(0) : room_figure(node.memtotal);
    if (!published || !total) {
        return std::nullopt;
    }
    const std::int64_t owed = is_planted(defect::fence_stale_figures) ? 0 : owed_to_others(guest, node.offer.name);
    const std::int64_t free = *published - owed;
    // (1 - overcommit/100) x memtotal, in hundredths.
    const std::int64_t least = (100 - std::clamp<std::int64_t>(overcommit_, 0, 10'000)) * *total;
    const std::int64_t after = 100 * (free - memory);
    return after >= least ? 0 : (least - after + 99) / 100;
}

// Of those of whom nothing shows that they run machines (a node of the reference with none: it may lack the hypervisor
// function, which no key tells) one is taken when no other can; and of those whose libvirtd is silent when there is
// nobody else at all, in the same order.
planned_guest recovery_planner::place(const guest_to_place& guest, time_point now) {
    using kind = planned_guest::kind;
    take_back(guest.id);  // where it was to go before it is not in its own way
    const std::int64_t memory = std::clamp<std::int64_t>(guest.memory, 0, room_max);
    std::array<std::vector<node_offer>, 4> fitting;
    std::optional<std::int64_t> least_missing;
    const node_room* preferred = nullptr;
    bool is_somebody_there = false;
    bool is_somebody_silent = false;
    for (std::size_t i = 0; i < left_.size(); ++i) {
        const node_room& node = left_[i];
        const bool is_possible = takes_domains(node.offer) && is_allowed(guest.request, node.offer.name) &&
                                 node.offer.name != guest.request.current;
        if (!is_possible) {
            continue;
        }
        if (node.silent_for > silent_after_) {
            is_somebody_silent = true;
            continue;
        }
        is_somebody_there = true;
        const auto missing = missing_in(node, guest.id, memory);
        const bool is_silent = node.is_libvirtd_silent && !is_planted(defect::fence_libvirtd_unasked);
        if (missing == 0) {
            fitting.at((is_silent ? 2 : 0) + (shows_machines(published_[i]) ? 0 : 1)).push_back(node.offer);
            preferred = node.offer.name == guest.preferred && !is_silent ? &node : preferred;
        } else if (missing) {
            least_missing = std::min(least_missing.value_or(*missing), *missing);
        }
    }
    if (preferred != nullptr) {
        const std::string name = preferred->offer.name;
        put(guest, name, now);
        return {kind::placed, name, "it was migrating there"};
    }
    const bool is_room = !std::ranges::all_of(fitting, &std::vector<node_offer>::empty);
    for (auto& some : fitting) {
        if (auto choice = select_target(guest.request, std::move(some))) {
            put(guest, choice->node, now);
            return {kind::placed, std::move(choice->node), std::move(choice->reason)};
        }
    }
    if (!is_somebody_there && is_somebody_silent) {
        return {kind::silent,
                {},
                fmt::format("no node that it may run on has sent a heartbeat in the last {} s",
                            std::chrono::duration_cast<std::chrono::seconds>(silent_after_).count())};
    }
    if (!is_somebody_there) {
        return {kind::nobody, {}, "no node that it may run on is in run and ready"};
    }
    if (least_missing && !is_room) {
        return {kind::no_room,
                {},
                fmt::format("it needs {} MiB, and the node with the most room lacks {} MiB of that", memory,
                            *least_missing)};
    }
    return {kind::no_figures, {}, "no node that it may run on has figures that can be compared"};
}

}  // namespace pvc::policy
