#include "sim/explore/fence/fence_search.hpp"

#include <fmt/format.h>

namespace pvc::explore::fences {

search_result search(const bounds& of, std::size_t states_limit) {
    return world_search<kind_of_world>(of, states_limit, "nothing_forgotten").run();
}

int explore(bounds within, const std::string& reference, std::size_t states_limit, std::ostream& out,
            std::ostream& error) {
    if (!reference.empty() && reference != "fencer") {
        error << "explore fence: --reference fencer\n";
        return 2;
    }
    within.reference = !reference.empty();
    const auto begun = std::clock();
    const auto what =
        fmt::format("fence{}, {} faults, {} returns and writes",
                    reference.empty() ? "" : ", the reference as " + reference, within.faults, within.writes);
    return tell_search(what, search(within, states_limit), begun, out);
}

}  // namespace pvc::explore::fences
