// One live migration, as the two libvirtds and the process that drives it make it: connect, prepare the target, copy,
// switch over, reply. Client-managed: without its driver it collapses. Private to the simulated hypervisors.
#pragma once

#include "sim/hypervisor/sim_datacentre.hpp"
#include "sim/hypervisor/sim_hypervisor.hpp"

namespace pvc::sim {

class sim_migration {
public:
    sim_migration(sim_datacentre& centre, sim_machine_guests& source, sim_guest& guest,
                  const hypervisor::migration& how, std::shared_ptr<driver_process> driver, sim_guest::answer done);
    sim_migration(const sim_migration&) = delete;
    sim_migration& operator=(const sim_migration&) = delete;
    ~sim_migration() = default;

    void begin();
    // Machines, ways between them or the driver may be otherwise.
    void review();
    // One of the two instances ended by something else.
    void side_ended(const sim_guest& which);
    void kind_changed();
    [[nodiscard]] hypervisor::call_result<void> abort();
    [[nodiscard]] hypervisor::migration_progress progress() const;
    [[nodiscard]] bool is_of(const sim_guest& source) const { return &source == &guest_; }
    [[nodiscard]] bool has_ended() const { return phase_ == phase::ended; }

private:
    enum class phase : std::uint8_t { connecting, preparing, copying, switching, replying, ended };
    using failure_value = hypervisor::call_failure;
    using deed = void (sim_migration::*)();

    void next(phase to, duration time, deed then);
    void try_connect();
    void connect_late();
    void fail_as_told();
    void prepare();
    void copied();
    void switched();
    void replied();
    // What is left when a connection or the driver is gone.
    void collapse(const failure_value& why, bool driver_killed);
    void drop_target(bool driver_killed);
    void source_runs_on();
    void hold(bool held);
    void end(hypervisor::call_result<void> outcome);
    [[nodiscard]] bool is_frozen() const;
    [[nodiscard]] bool takes_fault(migration_step at) const;
    // The instances of this migration; a later life of the domain in the same place is none of our business.
    [[nodiscard]] bool has_source() const { return guest_.is_there() && guest_.life_ == source_life_; }
    [[nodiscard]] bool has_target() const { return target_ != nullptr && target_->migration_ == this; }
    [[nodiscard]] bool is_dirty() const { return guest_.kind() == guest_kind::dirty; }
    [[nodiscard]] std::uint64_t remaining() const;
    void arm_copy();

    sim_datacentre& centre_;
    sim_machine_guests& source_;
    sim_guest& guest_;
    sim_machine_guests* target_machine_ = nullptr;
    sim_guest* target_ = nullptr;
    std::string peer_;
    duration connect_within_;
    int mib_per_second_;  // 0: as much as goes
    std::shared_ptr<driver_process> driver_;
    sim_guest::answer done_;
    phase phase_ = phase::connecting;
    async::timer step_;
    async::timer silence_;
    async::timer collapse_;
    deed then_ = nullptr;
    bool is_held_ = false;               // nothing moves
    std::optional<duration> held_back_;  // what was left of the step then
    std::optional<sim_guest::migration_fault> fault_;
    model::guest_status arrives_as_{model::run_state::running, model::pause_cause::none};
    std::uint64_t source_life_ = 0;
    std::uint64_t total_ = 0;
    std::uint64_t base_remaining_ = 0;
    time_point copy_since_{};
    double bandwidth_ = 1;
};

}  // namespace pvc::sim
