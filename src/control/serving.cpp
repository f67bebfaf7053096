#include "pvcnoded/control/serving.hpp"

namespace pvc::control {

namespace {

async::awaitable<void> wait_until_it_can_be_asked(node::daemon& daemon) {
    async::wakeup changed;
    const async::latest<bool>::observer watch(daemon.can_be_asked(), changed);
    while (!daemon.can_be_asked().value()) {
        co_await changed.wait(async::wait_note::work("a daemon that can be asked"));
    }
}

}  // namespace

std::string socket_path(const config::node_config& of) {
    return of.directories.dynamic + "/pvcnoded.sock";
}

async::awaitable<void> serve_questions(server& by, node::daemon& about) {
    co_await wait_until_it_can_be_asked(about);
    const auto& config = *about.context().config;
    const std::string path = socket_path(config);
    const std::string group = config.control_group;
    co_await by.run(path, group);
}

async::awaitable<void> serve_metrics(web_server& by, node::daemon& about) {
    co_await wait_until_it_can_be_asked(about);
    const auto& wanted = about.context().config->metrics;
    const auto where = parse_address(wanted.address);
    if (wanted.port && where) {
        co_await by.run(*where, static_cast<std::uint16_t>(*wanted.port));
    }
}

}  // namespace pvc::control
