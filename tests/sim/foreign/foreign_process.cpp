#include "sim/foreign/foreign_process.hpp"

#include "sim/sim_node.hpp"

namespace pvc::sim {

foreign_process::foreign_process(sim_loop& loop, memory_ensemble& ensemble)
    : loop_(loop),
      clock_(loop.clock()),
      connector_(std::make_unique<machine_connector>(ensemble, clock_)),
      tag_(loop.context().new_tag()) {
    loop_.add_clock(clock_);
}

foreign_process::~foreign_process() {
    kill();
    loop_.remove_clock(clock_);
}

zookeeper::connector& foreign_process::connector() {
    return *connector_;
}

memory_link& foreign_process::link() {
    return connector_->link();
}

void foreign_process::start(const std::string& name, std::function<async::awaitable<void>()> body) {
    kill();
    has_ended_ = false;
    complaint_.clear();
    runtime_.emplace(loop_.context().get_executor(tag_), clock_);
    async::start_root(*runtime_, name, std::move(body), [this](const std::exception_ptr& error) {
        has_ended_ = true;
        if (error) {
            complaint_ = async::exception_text(error);
        }
    });
}

void foreign_process::kill() {
    if (!runtime_) {
        return;
    }
    connector_->link().power_off();
    runtime_->cut();
    const auto run_ready = [this] { loop_.context().run_ready_of(tag_); };
    run_ready();
    runtime_->abandon_tasks(run_ready);
    runtime_.reset();
    connector_->renew();
}

}  // namespace pvc::sim
