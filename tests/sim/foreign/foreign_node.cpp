#include "sim/foreign/foreign_node.hpp"

namespace pvc::sim {

foreign_node::foreign_node(sim_loop& loop, memory_ensemble& ensemble, foreign_settings wanted)
    : settings(std::move(wanted)), process_(loop, ensemble) {
    settings.kernel = &kernel;
}

foreign_node::~foreign_node() {
    kill();
}

void foreign_node::start() {
    kill();
    is_powered_ = true;
    ++starts_;
    daemon_ = std::make_unique<foreign_daemon>(
        settings, process_.clock(), process_.connector(),
        random_source(settings.seed).split(settings.name).split(std::to_string(starts_)));
    process_.start(settings.name, [this] { return daemon_->run(); });
}

void foreign_node::terminate() {
    if (!is_running()) {
        return;
    }
    if (daemon_->handles_signals()) {
        daemon_->request_stop();
    } else {
        kill();
    }
}

void foreign_node::lose_power() {
    kill();
    is_powered_ = false;
    kernel.lose_power();
}

void foreign_node::kill() {
    process_.kill();
    daemon_.reset();
}

}  // namespace pvc::sim
