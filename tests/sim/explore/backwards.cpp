#include "sim/explore/backwards.hpp"

#include <numeric>

namespace pvc::explore {

std::vector<bool> can_come_to(const std::vector<std::uint32_t>& there, std::size_t states,
                              const std::vector<std::pair<std::uint32_t, std::uint32_t>>& edges) {
    // Where the edges that end in each state begin in `from`.
    std::vector<std::uint32_t> first(states + 1, 0);
    for (const auto& edge : edges) {
        ++first[edge.first + 1];
    }
    std::partial_sum(first.begin(), first.end(), first.begin());
    std::vector<std::uint32_t> from(edges.size());
    std::vector<std::uint32_t> next = first;
    for (const auto& edge : edges) {
        from[next[edge.first]++] = edge.second;
    }
    std::vector<bool> can(states, false);
    std::vector<std::uint32_t> work = there;
    for (const auto one : there) {
        can[one] = true;
    }
    while (!work.empty()) {
        const std::uint32_t to = work.back();
        work.pop_back();
        for (std::uint32_t edge = first[to]; edge < first[to + 1]; ++edge) {
            if (!can[from[edge]]) {
                can[from[edge]] = true;
                work.push_back(from[edge]);
            }
        }
    }
    return can;
}

}  // namespace pvc::explore
