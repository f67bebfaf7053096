#include "sim/explore/fence/fence_search.hpp"

#include "sim/explore/backwards.hpp"

#include <fmt/format.h>
#include <boost/unordered/unordered_flat_map.hpp>

#include <algorithm>
#include <ctime>
#include <deque>
#include <ostream>
#include <utility>

namespace pvc::explore::fences {

namespace {

struct known_fence {
    std::uint32_t parent = 0;
    move by;
};

class searching_fences {
public:
    searching_fences(const bounds& of, std::size_t limit) : bounds_(of), limit_(limit) {}

    search_result run() {
        add(beginning(bounds_), 0, {});
        while (!waiting_.empty() && !out_.broken && known_.size() <= limit_) {
            auto [index, now] = std::move(waiting_.front());
            waiting_.pop_front();
            expand(index, now);
        }
        out_.is_exhausted = waiting_.empty() && !out_.broken;
        if (out_.is_exhausted) {
            check_progress();
        }
        out_.states = known_.size();
        return std::move(out_);
    }

private:
    std::uint32_t add(world now, std::uint32_t parent, const move& by) {
        const auto next = static_cast<std::uint32_t>(known_.size());
        const auto [found, is_new] = numbers_.try_emplace(identity_of(now), next);
        if (is_new) {
            known_.push_back({parent, by});
            waiting_.emplace_back(next, std::move(now));
        }
        return found->second;
    }

    void expand(std::uint32_t index, const world& now) {
        if (is_at_rest(now)) {
            settled_.push_back(index);
            ++out_.settled;
        }
        bool is_left = false;
        for (const move& one : moves_of(now)) {
            world next = now;
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
                   {"nothing_forgotten", "from here on it never does, although nothing disturbs"});
        }
    }

    void report(std::uint32_t index, broken_rule what) {
        found_break found{std::move(what), {}, {}};
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

    bounds bounds_;
    std::size_t limit_;
    search_result out_;
    boost::unordered_flat_map<identity, std::uint32_t, as_it_is> numbers_;
    std::vector<known_fence> known_;
    std::deque<std::pair<std::uint32_t, world>> waiting_;
    std::vector<std::uint32_t> settled_;
    std::vector<std::uint32_t> ends_;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> edges_;  // to, from
};

double fence_seconds() {
    return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

}  // namespace

search_result search(const bounds& of, std::size_t states_limit) {
    return searching_fences(of, states_limit).run();
}

int explore(bounds within, const std::string& reference, std::size_t states_limit, std::ostream& out,
            std::ostream& error) {
    if (!reference.empty() && reference != "fencer") {
        error << "explore fence: --reference fencer\n";
        return 2;
    }
    within.reference = !reference.empty();
    const double before = fence_seconds();
    const auto result = search(within, states_limit);
    out << fmt::format("fence{}, {} faults, {} returns and writes: {} states, {} steps, {} settled, {}, {:.1f} s\n",
                       reference.empty() ? "" : ", the reference as " + reference, within.faults, within.writes,
                       result.states, result.steps, result.settled,
                       result.broken         ? "broken"
                       : result.is_exhausted ? "exhausted"
                                             : "NOT exhausted",
                       fence_seconds() - before);
    if (!result.broken) {
        return result.is_exhausted ? 0 : 3;
    }
    out << fmt::format("{}: {}\n", result.broken->what.rule, result.broken->what.text);
    for (const auto& line : result.broken->said) {
        out << "  " << line << '\n';
    }
    return 1;
}

}  // namespace pvc::explore::fences
