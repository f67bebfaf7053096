// Two or three machines with a hypervisor port each, for the tests of the simulation itself.
#pragma once

#include "sim/hypervisor/sim_hypervisor.hpp"
#include "sim/sim_context.hpp"

#include <gtest/gtest.h>

#include <optional>

namespace pvc::sim {

using async::awaitable;

struct event_recorder final : hypervisor::event_sink {
    void on_guest_event(const hypervisor::guest_event& event) override {
        using hypervisor::event_kind;
        if (event.what == event_kind::status) {
            const auto state = event.status.state;
            const bool runs = state == model::run_state::running;
            seen.push_back(event.detail + " " +
                           std::string(runs ? "running" : model::to_text(model::class_of(event.status))));
        } else {
            seen.push_back(event.what == event_kind::io_error ? "io_error " + event.detail : event.detail);
        }
    }
    std::vector<std::string> seen;
};

class hypervisor_fixture : public ::testing::Test {
protected:
    hypervisor_fixture() {
        dc.call_it(u1, "U1");
        dc.call_it(u2, "U2");
    }
    // The daemons of hv1 and hv2 are connected.
    void with_daemons(std::function<awaitable<void>()> body) {
        hv1.emplace(dc, "hv1", loop.clock());
        hv2.emplace(dc, "hv2", loop.clock());
        hv1->set_sink(&events);
        hv2->set_sink(&events2);
        loop.run([&]() -> awaitable<void> {
            co_await async::with_task_group("test", [&](async::task_group& group) -> awaitable<void> {
                group.spawn("hv1", [&] { return hv1->run(); });
                group.spawn("hv2", [&] { return hv2->run(); });
                co_await loop.sleep(10ms);
                EXPECT_TRUE(hv1->connection().value().up);
                co_await body();
                group.cancel();
            });
        });
        hv1.reset();
        hv2.reset();
    }
    time_point in(duration time) { return loop.clock().now() + time; }
    boot_time soon() { return loop.clock().boot_now() + 2s; }
    static std::string xml(const uuid& id, const std::string& name, const std::string& kind = "acpi") {
        return "<domain type='kvm'><name>" + name + "</name><uuid>" + to_text(id) + "</uuid><description>sim:" + kind +
               "</description><devices><graphics type='vnc' port='-1' listen='127.0.0.1'/></devices></domain>";
    }

    const uuid u1 = *parse_uuid("11111111-1111-1111-1111-111111111111");
    const uuid u2 = *parse_uuid("22222222-2222-2222-2222-222222222222");
    sim_loop loop;
    sim_datacentre dc{loop.clock()};
    sim_machine_guests& m1 = dc.machine("hv1");
    sim_machine_guests& m2 = dc.machine("hv2");
    std::optional<sim_hypervisor> hv1;
    std::optional<sim_hypervisor> hv2;
    event_recorder events;
    event_recorder events2;
};

}  // namespace pvc::sim
