#include "sim/explore/role/role_search.hpp"

#include <fmt/format.h>

namespace pvc::explore::roles {

search_result search(const bounds& of, std::size_t states_limit) {
    return world_search<kind_of_world>(of, states_limit, "the_role_comes_to_rest").run();
}

std::optional<std::int8_t> side_named(std::string_view name) {
    if (name.empty()) {
        return nobody;
    }
    return name == "holder"      ? std::optional<std::int8_t>(0)
           : name == "candidate" ? std::optional<std::int8_t>(1)
                                 : std::nullopt;
}

int explore(bounds within, const std::string& reference, std::size_t states_limit, std::ostream& out,
            std::ostream& error) {
    const auto side = side_named(reference);
    if (!side) {
        error << "explore role: --reference candidate or holder\n";
        return 2;
    }
    within.reference = *side;
    const auto begun = std::clock();
    const auto what =
        fmt::format("role, {} nodes{}, {} faults, {} writes of clients", within.nodes,
                    reference.empty() ? "" : ", the reference as " + reference, within.faults, within.writes);
    return tell_search(what, search(within, states_limit), begun, out);
}

}  // namespace pvc::explore::roles
