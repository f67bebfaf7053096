// Whose question to Ceph is next, where questions are many and places few: pools take turns, none has more than half
// of the places, and the last free one goes only to a pool that has none. So a pool that answers slowly, or not at
// all, holds up its own questions and no others'. What is about no pool (monitors) counts as a pool of its own.
// A plain value; whoever shares it between threads sees to that. Specification: storage.md 3.2; README ruling 77.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace pvc::protocol {

class pool_turns {
public:
    explicit pool_turns(std::size_t places) : places_(places) {}

    // Of those that wait, in their order: the index of the next one that has a place; empty: none has. `pool_of` names
    // the pool of one of them.
    template <class Waiting, class PoolOf>
    [[nodiscard]] std::optional<std::size_t> next(const Waiting& waiting, PoolOf pool_of) const {
        std::optional<std::size_t> best;
        rank best_rank;
        std::size_t index = 0;
        for (const auto& one : waiting) {
            const rank its = rank_of(pool_of(one));
            if (its.has_place && (!best || its.is_before(best_rank))) {
                best = index;
                best_rank = its;
            }
            ++index;
        }
        return best;
    }
    void take(std::string_view pool);
    void give_back(std::string_view pool);
    [[nodiscard]] std::size_t taken() const { return taken_; }

private:
    struct turns_of {
        std::size_t taken = 0;
        std::uint64_t last = 0;  // its newest turn
    };
    struct rank {
        bool has_place = false;
        std::size_t taken = 0;
        std::uint64_t last = 0;
        [[nodiscard]] bool is_before(const rank& other) const {
            return taken != other.taken ? taken < other.taken : last < other.last;
        }
    };
    [[nodiscard]] rank rank_of(std::string_view pool) const;

    std::size_t places_;
    std::size_t taken_ = 0;
    std::uint64_t turns_ = 0;
    std::map<std::string, turns_of, std::less<>> pools_;
};

}  // namespace pvc::protocol
