#include "sim/explore/search.hpp"

#include "sim/explore/graph.hpp"

#include <algorithm>
#include <deque>
#include <ostream>
#include <unordered_map>

namespace pvc::explore {

namespace {

struct hash128 {
    std::uint64_t a = 0;
    std::uint64_t b = 0;
    friend bool operator==(const hash128&, const hash128&) = default;
};
struct take_a {
    std::size_t operator()(const hash128& of) const { return of.a; }
};

std::uint64_t mixed(std::uint64_t x) {
    x ^= x >> 33;
    x *= 0xff51afd7ed558ccdULL;
    x ^= x >> 33;
    x *= 0xc4ceb9fe1a85ec53ULL;
    return x ^ (x >> 33);
}

hash128 hash_of(const std::string& bytes) {
    hash128 out{0x243f6a8885a308d3ULL, 0x13198a2e03707344ULL};
    for (std::size_t i = 0; i < bytes.size(); i += 8) {
        std::uint64_t word = 0;
        for (std::size_t k = i; k < std::min(i + 8, bytes.size()); ++k) {
            word = (word << 8) | static_cast<unsigned char>(bytes[k]);
        }
        out.a = mixed(out.a ^ word);
        out.b = mixed(out.b + word * 0x9e3779b97f4a7c15ULL);
    }
    out.a ^= bytes.size();
    return out;
}

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
            auto [index, now] = std::move(waiting_.front());
            waiting_.pop_front();
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
        const auto [found, is_new] = numbers_.try_emplace(hash_of(bytes_of(now)), next);
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
        std::ranges::sort(edges_);
        std::vector<bool> can(known_.size(), false);
        std::vector<std::uint32_t> work = settled_;
        for (const auto one : settled_) {
            can[one] = true;
        }
        while (!work.empty()) {
            const std::uint32_t to = work.back();
            work.pop_back();
            for (auto edge = std::ranges::lower_bound(edges_, std::pair(to, std::uint32_t{0}));
                 edge != edges_.end() && edge->first == to; ++edge) {
                if (!can[edge->second]) {
                    can[edge->second] = true;
                    work.push_back(edge->second);
                }
            }
        }
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
    std::unordered_map<hash128, std::uint32_t, take_a> numbers_;
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
