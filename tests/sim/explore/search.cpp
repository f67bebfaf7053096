#include "sim/explore/search.hpp"

#include "sim/explore/backwards.hpp"
#include "sim/explore/graph.hpp"

#include <boost/unordered/unordered_flat_map.hpp>

#include <algorithm>
#include <deque>
#include <ostream>

namespace pvc::explore {

namespace {

struct known_state {
    std::uint32_t parent = 0;
    move by;
};

class searching_all {
public:
    searching_all(const bounds& of, const search_limits& limits, std::ostream* log, graph* picture)
        : bounds_(of), limits_(limits), log_(log), picture_(picture) {}

    search_result run() {
        add(beginning(bounds_), 0, {});
        while (!waiting_.empty() && !out_.broken) {
            if (known_.size() > limits_.states || waiting_.size() > limits_.waiting) {
                return finish(false);
            }
            const bool is_first = limits_.is_nearest_first;
            auto [index, now] = std::move(is_first ? waiting_.front() : waiting_.back());
            is_first ? waiting_.pop_front() : waiting_.pop_back();
            expand(index, now);
        }
        if (!out_.broken) {
            check_progress();
        }
        return finish(waiting_.empty());
    }

private:
    search_result finish(bool is_exhausted) {
        out_.states = known_.size();
        out_.is_exhausted = is_exhausted && !out_.broken;
        return std::move(out_);
    }

    // Its number, and whether it is new.
    std::uint32_t add(scene now, std::uint32_t parent, const move& by) {
        const auto next = static_cast<std::uint32_t>(known_.size());
        const auto [found, is_new] = numbers_.try_emplace(identity_of(now), next);
        if (is_new) {
            known_.push_back({parent, by});
            waiting_.emplace_back(next, std::move(now));
            if (log_ != nullptr && known_.size() % 200'000 == 0) {
                *log_ << known_.size() << " states, " << waiting_.size() << " waiting\n" << std::flush;
            }
        }
        return found->second;
    }

    void expand(std::uint32_t index, const scene& now) {
        if (is_settled(now)) {
            ++out_.settled;
            settled_.push_back(index);
            if (auto wrong = wrong_when_settled(now)) {
                report(index, std::move(*wrong));
                return;
            }
        }
        const auto moves = moves_of(now);
        if (std::ranges::none_of(moves, &move::is_quiet)) {
            ends_.push_back(index);
        }
        for (const move& one : moves) {
            scene next = now;
            auto broken = apply(next, one);
            ++out_.steps;
            if (picture_ != nullptr) {
                picture_->add(now, next, one);
            }
            if (broken) {
                known_.push_back({index, one});
                report(static_cast<std::uint32_t>(known_.size() - 1), std::move(*broken));
                return;
            }
            const std::uint32_t to = add(std::move(next), index, one);
            if (one.is_quiet()) {
                edges_.emplace_back(to, index);
            }
        }
    }

    // Backwards from all settled states along quiet steps: what is not met can never settle.
    void check_progress() {
        const auto can = can_come_to(settled_, known_.size(), edges_);
        // Best one that nothing leaves: the way to it tells most.
        const auto is_stuck = [&can](std::uint32_t one) { return !can[one]; };
        const auto dead_end = std::ranges::find_if(ends_, is_stuck);
        const auto stuck = std::ranges::find(can, false);
        if (stuck != can.end()) {
            report(dead_end != ends_.end() ? *dead_end : static_cast<std::uint32_t>(stuck - can.begin()),
                   {"machines_in_time", "from here on nothing ever comes to an end, although nothing disturbs"});
        }
    }

    void report(std::uint32_t index, broken_rule what) {
        found_break found{std::move(what), {}, {}};
        for (std::uint32_t at = index; at != 0; at = known_[at].parent) {
            found.way.push_back(known_[at].by);
        }
        std::ranges::reverse(found.way);
        scene now = beginning(bounds_);
        for (const move& one : found.way) {
            found.said.push_back(to_text(one, now));
            const auto broken = apply(now, one);
            static_cast<void>(broken);
        }
        out_.broken = std::move(found);
    }

    bounds bounds_;
    search_limits limits_;
    std::ostream* log_;
    graph* picture_;
    search_result out_;
    boost::unordered_flat_map<identity, std::uint32_t, as_it_is> numbers_;
    std::vector<known_state> known_;
    std::deque<std::pair<std::uint32_t, scene>> waiting_;
    std::vector<std::uint32_t> settled_;
    std::vector<std::uint32_t> ends_;                             // that nothing leaves while all is quiet
    std::vector<std::pair<std::uint32_t, std::uint32_t>> edges_;  // to, from
};

}  // namespace

search_result search(const bounds& of, const search_limits& limits, std::ostream* log, graph* picture) {
    return searching_all(of, limits, log, picture).run();
}

}  // namespace pvc::explore
