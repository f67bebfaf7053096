// The test driver behind a daemon of its own: the real protocol, keepalive, and everything that can happen to a daemon.
#include "contract/hypervisor/libvirt_daemon.hpp"
#include "contract/hypervisor/libvirt_environment.hpp"

namespace pvc::contract {

namespace {

// A base of its own: the daemon is there before the adapter is made.
struct with_daemon {
    with_daemon() {
        daemon.start();
        daemon.wait_until_it_serves();
    }
    libvirt_daemon daemon;
};

hypervisor::libvirt_options options_of(const libvirt_daemon& daemon) {
    return {"test+unix:///default?socket=" + daemon.socket(),
            "test+tcp://{}:" + std::to_string(daemon.port()) + "/default"};
}

class daemon_environment final : private with_daemon, public libvirt_environment {
public:
    daemon_environment() : libvirt_environment(options_of(daemon)) {}
    ~daemon_environment() override { end_host(); }

    [[nodiscard]] hypervisor_traits traits() const override {
        hypervisor_traits has;
        has.has_server = true;
        has.has_peers = true;
        has.obeys_shutdown = true;
        return has;
    }
    std::string own_name() override { return "127.0.0.1"; }
    std::string deaf_name() override { return "127.0.0.2"; }

    void freeze_server() override { daemon.freeze(); }
    void thaw_server() override { daemon.thaw(); }
    awaitable<void> stop_server() override {
        daemon.stop();
        co_return;
    }
    awaitable<void> start_server() override {
        daemon.start();
        co_return;
    }
};

}  // namespace

hypervisor_world daemon_world() {
    return {"daemon", [] { return std::make_unique<daemon_environment>(); }};
}

}  // namespace pvc::contract
