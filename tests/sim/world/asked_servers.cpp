#include "sim/world/asked_servers.hpp"

#include <algorithm>
#include <limits>

namespace pvc::sim {

asked_servers::asked_servers(sim_node& of, asked_machine& on, std::uint64_t order)
    : node_(of),
      machine_(on),
      runtime_(context_.get_executor(), on.clock),
      answers_(of.daemon(), of.host),
      pages_(of.daemon(), {}),
      server_(on.local, on.clock, on.log,
              [this](const protocol::request& asked, const control::asker& who) { return answers_.to(asked, who); }),
      web_(on.tcp, on.clock, on.log, [this](std::string_view path) { return pages_.at(path); }),
      made_before_(on.local.made()) {
    context_.shuffle(order);
    async::start_root(
        runtime_, "asked", [this] { return serve(); },
        [this](const std::exception_ptr& error) {
            is_over_ = true;
            if (error) {
                machine_.left_behind = "the servers threw: " + async::exception_text(error);
            }
        });
}

async::awaitable<void> asked_servers::serve() {
    co_await async::with_task_group("main", [this](async::task_group& group) -> async::awaitable<void> {
        group.spawn("control", [this] { return control::serve_questions(server_, node_.daemon()); });
        group.spawn("metrics", [this] { return control::serve_metrics(web_, node_.daemon()); });
        co_await ended_.wait(async::wait_note::work("the end of the daemon"));
        group.cancel();
    });
}

asked_servers::~asked_servers() {
    const std::size_t said = machine_.log.lines.size();
    machine_.local.cut();
    machine_.tcp.cut();
    runtime_.cut();
    const auto run_ready = [this] {
        while (context_.run_one()) {
        }
    };
    run_ready();
    runtime_.abandon_tasks(run_ready);
    if (machine_.local.open() + machine_.tcp.open() + machine_.tcp.listeners() != 0) {
        machine_.left_behind = "a connection or a port has outlived the process";
    }
    machine_.log.lines.resize(std::min(machine_.log.lines.size(), said));  // what came of the cut is told to nobody
    machine_.local.renew();
    machine_.tcp.renew();
}

void asked_servers::end() {
    ended_.notify();
    run_all();
    const auto& local = machine_.local;
    const auto& tcp = machine_.tcp;
    if (!is_over_ || runtime_.tasks_begun() != 0) {
        machine_.left_behind = "the servers have not ended with their daemon";
    } else if (local.open() + tcp.open() + tcp.listeners() != 0) {
        machine_.left_behind = "a connection or a port is left open";
    } else if (local.made() > made_before_ && local.exists(path())) {
        machine_.left_behind = "the socket is left behind";
    }
}

void asked_servers::run_some(std::uint64_t most) {
    if (node_.is_paused()) {
        return;
    }
    machine_.clock.run_due();
    for (std::uint64_t i = 0; i < most && context_.run_one(); ++i) {
    }
}

void asked_servers::run_all() {
    run_some(std::numeric_limits<std::uint64_t>::max());
}

std::string asked_servers::path() const {
    const auto& config = node_.daemon().context().config;
    return config ? control::socket_path(*config) : std::string();
}

}  // namespace pvc::sim
