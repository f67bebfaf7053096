#include "sim/hypervisor/sim_hypervisor.hpp"

#include "sim/hypervisor/sim_call.hpp"

#include <fmt/format.h>
#include <boost/asio/this_coro.hpp>

#include <algorithm>

namespace pvc::sim {

using pvc::hypervisor::guest_event;

sim_hypervisor::sim_hypervisor(sim_datacentre& centre, const std::string& machine, async::timers& clock)
    : centre_(centre),
      machine_(centre.machine(machine)),
      clock_(clock),
      process_(std::make_shared<driver_process>()),
      channel_(std::make_shared<channel>(clock, process_)) {
    machine_.attach(*this);
}

sim_hypervisor::~sim_hypervisor() {
    cut();
}

void sim_hypervisor::cut() {
    if (std::exchange(process_->is_alive, false)) {
        is_up_ = false;
        channel_->clear();
        machine_.detach(*this);
        centre_.review();
    }
}

void sim_hypervisor::pause() {
    if (!std::exchange(process_->is_paused, true)) {
        paused_since_ = centre_.clock().now();
        channel_->timer.disarm();
        centre_.review();
    }
}

void sim_hypervisor::resume() {
    if (std::exchange(process_->is_paused, false)) {
        if (is_up_ && centre_.clock().now() - paused_since_ >= centre_.times.keepalive) {
            connection_broke("connection closed due to keepalive timeout");
        }
        channel_->flow();
        centre_.review();
    }
}

// --- the connection ---

async::awaitable<void> sim_hypervisor::run() {
    struct closing {
        explicit closing(sim_hypervisor& one) : self(one) {}
        closing(const closing&) = delete;
        closing& operator=(const closing&) = delete;
        ~closing() { self.close(); }
        sim_hypervisor& self;
    };
    const closing at_end(*this);
    duration pause = centre_.times.reconnect_min;
    for (;;) {
        if (co_await open()) {
            pause = centre_.times.reconnect_min;
            co_await broken_.wait(async::wait_note::work("the hypervisor's connection"));
        }
        co_await async::sleep_for(clock_, pause, "the hypervisor's next connection");
        pause = std::min(pause * 2, centre_.times.reconnect_max);
    }
}

async::awaitable<bool> sim_hypervisor::open() {
    const auto refused = [this](const std::string& reason) {
        connection().set({false, generation_, reason});
        return false;
    };
    co_await async::sleep_for(clock_, centre_.times.connect, "connecting to the hypervisor");
    const time_point limit = clock_.now() + centre_.times.keepalive;
    while (machine_.libvirtd() == libvirtd_state::stopped && process_->is_alive) {
        if (!co_await machine_changed_.wait_until(clock_, limit, "connecting to the hypervisor")) {
            co_return refused("the hypervisor does not answer");
        }
    }
    if (!process_->is_alive || machine_.libvirtd() == libvirtd_state::down) {
        co_return refused("Failed to connect socket to '/var/run/libvirt/libvirt-sock': Connection refused");
    }
    machine_.connect(*this);
    is_up_ = true;
    std::ignore = broken_.try_consume();
    connection().set({true, ++generation_, ""});
    co_return true;
}

void sim_hypervisor::close() {
    if (process_->is_alive) {
        machine_.disconnect(*this);
        channel_->fail_pending("the connection was closed");
        if (std::exchange(is_up_, false)) {
            down_since_ = centre_.clock().now();
            connection().set({false, generation_, "closed"});
        }
    }
}

void sim_hypervisor::connection_broke(const std::string& reason) {
    machine_.disconnect(*this);
    channel_->push(duration::zero(), [this, reason, generation = generation_] {
        if (is_up_ && generation == generation_) {
            is_up_ = false;
            down_since_ = centre_.clock().now();
            connection().set({false, generation_, reason});
            channel_->fail_pending(reason);
            broken_.notify();
        }
    });
}

void sim_hypervisor::push(const guest_event& event) {
    channel_->push(centre_.times.message, [this, event] { tell(event); });
}

}  // namespace pvc::sim
