// The limits that the configuration sets, in each session: it may have been read anew. Specification: config.md 5.8a.
#include "manager.hpp"

namespace pvc::domains {

// As many as the operator wants at once; what is under way beyond that ends as it would.
void manager::obey_settings() {
    const auto& wanted = node.config->hypervisor;
    const auto most_creations = static_cast<unsigned>(wanted.max_creations);
    const auto most_migrations = static_cast<unsigned>(wanted.max_migrations);
    creations.allow(most_creations);
    migrations.allow(most_migrations);
    hv.allow({2 * most_creations, most_migrations});  // as many again have no answer for long, and made room
    pace.allow(static_cast<std::size_t>(wanted.console_writes));
}

}  // namespace pvc::domains
