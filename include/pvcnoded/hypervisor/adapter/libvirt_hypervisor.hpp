// tidy-allow-file(io_context): the pools take it
// The hypervisor port on libvirt.
//
// Every call of the library is a blocking round trip, so all of them run on pool threads. A libvirt daemon serves five
// calls of one connection at a time and then stops reading it, keepalive included; so what may take long (creates,
// destroys) goes through connections of its own, at most four calls each, and the control connection carries events and
// short queries only. The library's event loop is ours (asio); it exists once in a process, for one io_context at a
// time.
//
// A connection that hangs while it is opened, or is given up, is cut at its socket, so that no thread stays in it.
// Specification: vm-domains.md 9; runtime-design.md 3.
#pragma once

#include "pvcnoded/hypervisor/hypervisor.hpp"

#include <boost/asio/io_context.hpp>

#include <memory>
#include <string>

namespace pvc::hypervisor {

struct libvirt_options {
    std::string local_uri = "qemu:///system";
    std::string remote_uri = "qemu+tcp://{}/system";  // {}: the peer's name
    int keepalive_seconds = 5;
    unsigned keepalive_count = 3;
};

// What the library still holds of the loop, in the whole process.
struct event_loop_load {
    std::size_t handles = 0;
    std::size_t timeouts = 0;
};
[[nodiscard]] event_loop_load libvirt_event_load();

// `context` and `clock` must outlive it, and the context must turn for as long as run() has not ended. Destroying it
// waits a moment for busy threads.
class libvirt_hypervisor final : public hypervisor {
public:
    libvirt_hypervisor(boost::asio::io_context& context, async::timers& clock, libvirt_options options = {});
    ~libvirt_hypervisor() override;

    void allow(call_limits limits) override;
    [[nodiscard]] std::vector<call_pool> pools() const override;
    async::awaitable<void> run() override;

    async::awaitable<call_result<std::vector<guest>>> list(time_point deadline) override;
    async::awaitable<call_result<std::vector<guest_figures>>> survey(time_point deadline) override;
    async::awaitable<call_result<model::guest_status>> status(uuid id, time_point deadline) override;
    async::awaitable<call_result<std::string>> live_xml(uuid id, time_point deadline) override;

    async::awaitable<call_result<void>> create(uuid id, std::string xml, boot_time not_after,
                                               time_point deadline) override;
    async::awaitable<call_result<void>> shutdown(uuid id, shutdown_way way, time_point deadline) override;
    async::awaitable<call_result<void>> destroy(uuid id, time_point deadline) override;
    async::awaitable<call_result<void>> resume(uuid id, boot_time not_after, time_point deadline) override;
    async::awaitable<call_result<void>> set_maximum_downtime(uuid id, std::uint64_t milliseconds,
                                                             time_point deadline) override;

    async::awaitable<call_result<void>> attach_device(uuid id, std::string xml, boot_time not_after,
                                                      time_point deadline) override;
    async::awaitable<call_result<void>> detach_device(uuid id, std::string xml, boot_time not_after,
                                                      time_point deadline) override;

    async::awaitable<call_result<void>> migrate(uuid id, migration how) override;
    async::awaitable<call_result<void>> abort_migration(uuid id, time_point deadline) override;
    async::awaitable<call_result<migration_progress>> progress(uuid id, time_point deadline) override;

    async::awaitable<call_result<model::guest_status>> ask(std::string peer, uuid id, time_point deadline) override;
    async::awaitable<call_result<void>> probe(std::string peer, time_point deadline) override;

private:
    struct state;
    std::unique_ptr<state> state_;
};

}  // namespace pvc::hypervisor
