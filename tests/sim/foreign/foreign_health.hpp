// The health checks of the reference up to 0.9.82: all plugins at once, each writes its entry in one transaction when
// it is done, then the sum (node-lifecycle.md 1.1). `last_run` stays the time at which the plugin was loaded.
#pragma once

#include "sim/foreign/foreign_state.hpp"

namespace pvc::sim {

class foreign_health_checks {
public:
    explicit foreign_health_checks(foreign_state& node) : node_(node) {}

    // The entries of a daemon that starts. Nothing without plugins, like run().
    async::awaitable<void> load();
    async::awaitable<void> run();

private:
    async::awaitable<void> check(foreign_plugin plugin);
    async::awaitable<void> report(foreign_plugin plugin, std::string last_run);

    foreign_state& node_;
    std::string loaded_;
};

}  // namespace pvc::sim
