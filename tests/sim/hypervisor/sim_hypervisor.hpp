// The hypervisor port of one life of a daemon, on the guests of its machine. Made anew for every life:
//
//   start:  hypervisor.emplace(dc, "hv1", machine_clock);   stop in order: hypervisor.reset()
//   kill:   hypervisor->cut(), then the frames are destroyed, then hypervisor.reset()
//   pause:  hypervisor->pause() / resume(), beside the clock's and the context's
//
// What the daemon called is kept by its machine (sim_machine_guests::calls). The frames that use it go first.
#pragma once

#include "pvcnoded/async/completion.hpp"
#include "pvcnoded/hypervisor/hypervisor.hpp"
#include "sim/hypervisor/sim_datacentre.hpp"

#include <deque>
#include <list>
#include <map>
#include <memory>
#include <utility>

namespace pvc::sim {

class sim_hypervisor final : public hypervisor::hypervisor {
public:
    template <class T>
    using call_result = pvc::hypervisor::call_result<T>;
    template <class T = void>
    using awaitable = async::awaitable<T>;

    sim_hypervisor(sim_datacentre& centre, const std::string& machine, async::timers& clock);
    sim_hypervisor(const sim_hypervisor&) = delete;
    sim_hypervisor& operator=(const sim_hypervisor&) = delete;
    ~sim_hypervisor() override;

    // The process is killed: nothing that it still does reaches the world; its migrations lose their driver.
    void cut();
    void pause();
    void resume();

    void allow(pvc::hypervisor::call_limits limits) override {
        limits_ = limits;
        pass_migration_thread_on();
    }
    // It has no threads.
    [[nodiscard]] std::vector<pvc::hypervisor::call_pool> pools() const override { return {{"changes"}}; }
    awaitable<void> run() override;
    awaitable<call_result<std::vector<pvc::hypervisor::guest>>> list(time_point deadline) override;
    awaitable<call_result<std::vector<pvc::hypervisor::guest_figures>>> survey(time_point deadline) override;
    awaitable<call_result<model::guest_status>> status(uuid id, time_point deadline) override;
    awaitable<call_result<std::string>> live_xml(uuid id, time_point deadline) override;
    awaitable<call_result<void>> create(uuid id, std::string xml, boot_time not_after, time_point deadline) override;
    awaitable<call_result<void>> shutdown(uuid id, pvc::hypervisor::shutdown_way way, time_point deadline) override;
    awaitable<call_result<void>> destroy(uuid id, time_point deadline) override;
    awaitable<call_result<void>> resume(uuid id, boot_time not_after, time_point deadline) override;
    awaitable<call_result<void>> set_maximum_downtime(uuid id, std::uint64_t milliseconds,
                                                      time_point deadline) override;
    awaitable<call_result<void>> attach_device(uuid id, std::string xml, boot_time not_after,
                                               time_point deadline) override;
    awaitable<call_result<void>> detach_device(uuid id, std::string xml, boot_time not_after,
                                               time_point deadline) override;
    awaitable<call_result<void>> migrate(uuid id, pvc::hypervisor::migration how) override;
    awaitable<call_result<void>> abort_migration(uuid id, time_point deadline) override;
    awaitable<call_result<pvc::hypervisor::migration_progress>> progress(uuid id, time_point deadline) override;
    awaitable<call_result<model::guest_status>> ask(std::string peer, uuid id, time_point deadline) override;
    awaitable<call_result<void>> probe(std::string peer, time_point deadline) override;

    // --- for the machine ---
    void push(const pvc::hypervisor::guest_event& event);
    void connection_broke(const std::string& reason);
    void libvirtd_changed() { machine_changed_.notify(); }

private:
    struct channel;

    template <class T>
    using reply = std::function<void(call_result<T>)>;
    // The fault of a call, if any, is served before.
    template <class T>
    using service = std::function<void(std::optional<duration> takes, reply<T> done)>;

    template <class T>
    awaitable<call_result<T>> call(std::string name, std::optional<uuid> id, std::string text, bool is_reading,
                                   time_point deadline, service<T> serve);
    template <class T>
    awaitable<call_result<T>> ask_peer(std::string name, std::string peer, std::optional<uuid> id, std::string text,
                                       time_point deadline, std::function<call_result<T>(sim_machine_guests&)> look);
    awaitable<bool> open();
    void close();

    // One of the threads that the real port has for migrations, first come, first served.
    class migration_thread {
    public:
        explicit migration_thread(sim_hypervisor& of);
        migration_thread(migration_thread&& other) noexcept : of_(std::exchange(other.of_, nullptr)) {}
        migration_thread(const migration_thread&) = delete;
        migration_thread& operator=(const migration_thread&) = delete;
        migration_thread& operator=(migration_thread&&) = delete;
        ~migration_thread();

    private:
        sim_hypervisor* of_;
    };
    awaitable<migration_thread> thread_to_migrate();
    void pass_migration_thread_on();

    sim_datacentre& centre_;
    sim_machine_guests& machine_;
    async::timers& clock_;
    std::shared_ptr<driver_process> process_;
    std::shared_ptr<channel> channel_;
    async::wakeup machine_changed_;
    async::wakeup broken_;
    std::string break_reason_;
    pvc::hypervisor::call_limits limits_;
    unsigned migrating_ = 0;
    std::list<async::wakeup*> waiting_to_migrate_;
    std::uint64_t generation_ = 0;
    time_point paused_since_{};
    time_point down_since_{};
    bool is_up_ = false;
};

}  // namespace pvc::sim
