#include "sim/world/chaos.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace pvc::sim {

using namespace std::chrono_literals;

namespace {

// What the kinds of a cluster weigh together on average. Constants: the sum over the registry would make each new kind
// delay all others.
constexpr std::uint64_t usual_weight = 85;
constexpr std::uint64_t usual_weight_with_guests = 170;
constexpr std::uint64_t usual_weight_with_foreign_guests = 140;
constexpr std::uint64_t most_weight = 8;
constexpr std::uint64_t steps_ahead = 400;

// Whole milliseconds, and whole numbers throughout: what the mathematics library makes of a logarithm may differ
// between machines.
duration between(random_source& random, duration least, duration most) {
    const auto low = static_cast<std::uint64_t>(least / 1ms);
    const auto high = static_cast<std::uint64_t>(most / 1ms);
    const auto first = static_cast<std::uint64_t>(std::bit_width(low)) - 1;
    const auto last = static_cast<std::uint64_t>(std::bit_width(high)) - 1;
    const std::uint64_t base = std::uint64_t{1} << (first + random.below(last - first + 1));
    return std::chrono::milliseconds(std::clamp(base + random.below(base), low, high));
}

duration draw_mean_gap(random_source random, bool always_dense, bool has_foreign_guests) {
    const bool is_dense = random.below(8) == 0 || always_dense;
    if (has_foreign_guests) {
        return is_dense ? between(random, 2s, 20s) : between(random, 10s, 60s);
    }
    return is_dense ? between(random, 2s, 30s) : between(random, 10s, 600s);
}

}  // namespace

duration drawing::some_time(duration least, duration most) {
    return between(random, least, most);
}

const std::string& drawing::some_node() {
    const std::uint64_t all = world.members.size() + world.foreigners.size();
    const std::uint64_t which = random.below(all);
    return which < world.members.size() ? world.members[which]->name()
                                        : world.foreigners[which - world.members.size()]->settings.name;
}

const std::string& drawing::some_member() {
    return world.members[random.below(world.members.size())]->name();
}

action& drawing::follow_up(duration delay, std::string_view name) {
    later_.push_back({world.now() + delay, action(name)});
    return later_.back().what;
}

const std::string& drawing::restore(const std::string& path, const std::string& otherwise) {
    const auto known = std::ranges::find(to_restore_, path, &std::pair<std::string, std::string>::first);
    if (known != to_restore_.end()) {
        return known->second;
    }
    to_restore_.emplace_back(path, world.ensemble.get(path).value_or(otherwise));
    return to_restore_.back().second;
}

chaos::chaos(cluster& world, random_source random, const registry& known, const std::vector<std::string>& kinds,
             bool always_dense)
    : world_(world), timer_(world.loop.clock()) {
    const bool has_foreign_guests = !world_.foreign_machines().empty();
    mean_gap_ = draw_mean_gap(random.split("how often"), always_dense, has_foreign_guests);
    whole_ = has_foreign_guests  ? usual_weight_with_foreign_guests
             : world_.has_guests ? usual_weight_with_guests
                                 : usual_weight;
    if (!kinds.empty()) {
        whole_ = kinds.size() * (most_weight + 1) / 2;
    }
    for (const auto* kind : known.actions()) {
        if (!kind->chance) {
            continue;
        }
        random_source stream = random.split(kind->name);
        const bool is_on = stream.below(8) < kind->chance->eighths;
        const std::uint64_t favour = kind->chance->favour == nullptr ? 1 : kind->chance->favour(world_);
        const std::uint64_t weight = favour * (1 + stream.below(most_weight));
        // Kinds that were asked for by name are all on.
        const bool is_wanted = kinds.empty() ? is_on : std::ranges::find(kinds, kind->name) != kinds.end();
        if (is_wanted && weight > 0) {
            source one{kind, stream, weight};
            // The rest of a gap that began before the run.
            random_source moments = stream.split("the first");
            const duration early = some_gap(one, moments);
            one.next = world_.now() + std::min(early, some_gap(one, moments));
            sources_.push_back(std::move(one));
        }
    }
    plan_next();
}

std::string chaos::text() const {
    std::string out = "mean gap " + duration_text(mean_gap_) + ":";
    for (const auto& one : sources_) {
        out += fmt::format(" {}*{}", one.kind->name, one.weight);
    }
    return out;
}

// Of a mean that this kind's share of all weights gives.
duration chaos::some_gap(const source& of, random_source& stream) const {
    const auto twice = static_cast<std::uint64_t>(mean_gap_ / 500us) * whole_ / of.weight;
    return std::chrono::milliseconds(1 + stream.below(twice));
}

void chaos::plan_next() {
    next_ = time_point::max();
    for (const auto& one : sources_) {
        next_ = std::min(next_, one.next);
        for (const auto& planned : one.follow_ups) {
            next_ = std::min(next_, planned.at);
        }
    }
    timer_.arm(next_, [] {});
}

void chaos::perform(const action& what) {
    if (on_drawn) {
        on_drawn(what);
    }
    const auto done = world_.perform(what);
    ignore(done, "its node was drawn from the cluster's own");
}

void chaos::act() {
    if (world_.now() < next_) {
        return;
    }
    for (auto& one : sources_) {
        for (std::size_t i = 0; i < one.follow_ups.size();) {
            if (one.follow_ups[i].at > world_.now()) {
                ++i;
                continue;
            }
            const action what = std::move(one.follow_ups[i].what);
            one.follow_ups.erase(one.follow_ups.begin() + static_cast<std::ptrdiff_t>(i));
            perform(what);
        }
        if (one.next <= world_.now()) {
            perform(draw(one));
        }
    }
    plan_next();
}

void chaos::take_back() {
    for (auto& one : sources_) {
        one.follow_ups.clear();
    }
    for (const auto& [path, value] : to_restore_) {
        world_.ensemble.put(path, value);
    }
    to_restore_.clear();
}

// Each time from numbers of its own: how many the last one took depends on what was there.
action chaos::draw(source& from) {
    random_source stream = from.stream.split(from.times++);
    from.next = world_.now() + some_gap(from, stream);
    drawing what(world_, stream, from.follow_ups, to_restore_);
    action out(*from.kind);
    if (from.kind->takes.starts_with('n')) {
        out.node = what.some_node();
    }
    if (from.kind->can_last) {
        out.lasts = what.some_time(50ms, 60s);
    }
    // Half of what strikes a process does so in the middle of something.
    if (what.random.below(2) == 0) {
        out.after_steps = what.random.below(steps_ahead);
    }
    if (from.kind->chance->arguments != nullptr) {
        from.kind->chance->arguments(what, out);
    }
    return out;
}

}  // namespace pvc::sim
