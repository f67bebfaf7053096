// What the parts of one foreign daemon share: its settings, clock and session, and what it believes about itself. As
// with the reference, that is what its own watches have shown last, not what was written last.
#pragma once

#include "pvcnoded/base/random.hpp"
#include "pvcnoded/model/states.hpp"
#include "sim/foreign/foreign_session.hpp"
#include "sim/foreign/foreign_settings.hpp"

namespace pvc::sim {

struct foreign_state {
    const foreign_settings& settings;
    async::timers& clock;
    foreign_session& session;
    random_source& random;

    model::router_state role = model::router_state::client;
    model::daemon_state daemon = model::daemon_state::init;
    std::string running_domains;

    [[nodiscard]] const foreign_timings& timings() const { return settings.timings; }
    [[nodiscard]] std::string own(std::string_view suffix) const {
        return "/nodes/" + settings.name + std::string(suffix);
    }
    async::awaitable<void> pass(duration time, std::string_view what) const {
        if (time > duration(0)) {
            co_await async::sleep_for(clock, time, what);
        }
    }
    async::awaitable<bool> write_role(model::router_state to) const {
        co_return co_await session.write(own("/routerstate"), std::string(model::to_text(to)));
    }
};

inline const std::string foreign_primary_key = "/config/primary_node";
inline const std::string foreign_sync_key = "/config/primary_node/sync_lock";

}  // namespace pvc::sim
