// Every order of what may happen in one world, within bounds, the nearest first; and, asked backwards, that a quiet
// world can always come to rest. What a world is, its subject says (role/role_world.hpp, fence/fence_world.hpp):
// `beginning`, `moves_of`, `apply`, `identity_of`, `is_at_rest` and `to_text` are found beside its types.
#pragma once

#include "sim/explore/backwards.hpp"
#include "sim/explore/identity.hpp"

#include <fmt/format.h>
#include <boost/unordered/unordered_flat_map.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <deque>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pvc::explore {

// `Kind` names the types of a world: world, move, bounds, broken_rule.
template <class Kind>
struct way_to_break {
    typename Kind::broken_rule what;
    std::vector<typename Kind::move> way;
    std::vector<std::string> said;
};

template <class Kind>
struct world_search_result {
    std::size_t states = 0;
    std::size_t steps = 0;
    std::size_t settled = 0;
    bool is_exhausted = false;
    std::optional<way_to_break<Kind>> broken;  // the nearest one
};

template <class Kind>
class world_search {
public:
    using world = typename Kind::world;
    using move = typename Kind::move;
    using broken_rule = typename Kind::broken_rule;

    // `never_rests`: the rule that is broken where a quiet world can never come to rest.
    world_search(const typename Kind::bounds& of, std::size_t limit, std::string never_rests)
        : bounds_(of), limit_(limit), never_rests_(std::move(never_rests)) {}

    world_search_result<Kind> run() {
        add(beginning(bounds_), 0, {});
        while (!waiting_.empty() && !out_.broken && known_.size() <= limit_) {
            auto [index, now] = std::move(waiting_.front());
            waiting_.pop_front();
            expand(index, std::move(now));
        }
        out_.is_exhausted = waiting_.empty() && !out_.broken;
        if (out_.is_exhausted) {
            check_progress();
        }
        out_.states = known_.size();
        return std::move(out_);
    }

private:
    struct known_state {
        std::uint32_t parent = 0;
        move by;
    };

    // It is kept where it is new.
    std::uint32_t add(world&& now, std::uint32_t parent, const move& by) {
        const auto next = static_cast<std::uint32_t>(known_.size());
        const auto [found, is_new] = numbers_.try_emplace(identity_of(now), next);
        if (is_new) {
            known_.push_back({parent, by});
            waiting_.emplace_back(next, std::move(now));
        }
        return found->second;
    }

    void expand(std::uint32_t index, world now) {
        if (is_at_rest(now)) {
            settled_.push_back(index);
            ++out_.settled;
        }
        bool is_left = false;
        const auto moves = moves_of(now);
        for (std::size_t i = 0; i < moves.size(); ++i) {
            const move& one = moves[i];
            world next = i + 1 < moves.size() ? world(now) : world(std::move(now));
            auto broken = apply(next, one);
            ++out_.steps;
            if (broken) {
                known_.push_back({index, one});
                report(static_cast<std::uint32_t>(known_.size() - 1), std::move(*broken));
                return;
            }
            const std::uint32_t to = add(std::move(next), index, one);
            if (one.is_quiet() && to != index) {
                edges_.emplace_back(to, index);
                is_left = true;
            }
        }
        if (!is_left) {
            ends_.push_back(index);
        }
    }

    // Backwards from where all rests, along quiet steps: what is not met never comes to rest.
    void check_progress() {
        const auto can = can_come_to(settled_, known_.size(), edges_);
        const auto dead_end = std::ranges::find_if(ends_, [&can](std::uint32_t one) { return !can[one]; });
        const auto stuck = std::ranges::find(can, false);
        if (stuck != can.end()) {
            out_.is_exhausted = false;
            report(dead_end != ends_.end() ? *dead_end : static_cast<std::uint32_t>(stuck - can.begin()),
                   {never_rests_, "from here on it never does, although nothing disturbs"});
        }
    }

    void report(std::uint32_t index, broken_rule what) {
        way_to_break<Kind> found{std::move(what), {}, {}};
        for (std::uint32_t at = index; at != 0; at = known_[at].parent) {
            found.way.push_back(known_[at].by);
        }
        std::ranges::reverse(found.way);
        world now = beginning(bounds_);
        for (const move& one : found.way) {
            found.said.push_back(to_text(one, now));
            const auto broken = apply(now, one);
            static_cast<void>(broken);
        }
        out_.broken = std::move(found);
    }

    typename Kind::bounds bounds_;
    std::size_t limit_;
    std::string never_rests_;
    world_search_result<Kind> out_;
    boost::unordered_flat_map<identity, std::uint32_t, as_it_is> numbers_;
    std::vector<known_state> known_;
    std::deque<std::pair<std::uint32_t, world>> waiting_;
    std::vector<std::uint32_t> settled_;
    std::vector<std::uint32_t> ends_;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> edges_;  // to, from
};

// `what` and how the search ended, then the way to what is broken. Exit status: 0 exhausted and nothing found;
// 1 something found; 3 not exhausted.
template <class Kind>
int tell_search(std::string_view what, const world_search_result<Kind>& result, std::clock_t begun, std::ostream& out) {
    out << fmt::format("{}: {} states, {} steps, {} settled, {}, {:.1f} s\n", what, result.states, result.steps,
                       result.settled,
                       result.broken         ? "broken"
                       : result.is_exhausted ? "exhausted"
                                             : "NOT exhausted",
                       static_cast<double>(std::clock() - begun) / CLOCKS_PER_SEC);
    if (!result.broken) {
        return result.is_exhausted ? 0 : 3;
    }
    out << fmt::format("{}: {}\n", result.broken->what.rule, result.broken->what.text);
    for (const auto& line : result.broken->said) {
        out << "  " << line << '\n';
    }
    return 1;
}

}  // namespace pvc::explore
