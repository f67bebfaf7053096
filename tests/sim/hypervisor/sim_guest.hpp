// One domain of one machine: how it stands and what is planned for it. It exists as long as its machine, whether the
// domain is there or not, so that faults can be set before it is created. What happens is what was measured with
// libvirt and QEMU (vm-domains.md 9.3).
#pragma once

#include "sim/hypervisor/sim_faults.hpp"
#include "sim/world/agenda.hpp"

#include <functional>
#include <memory>
#include <string>

namespace pvc::sim {

class sim_machine_guests;
class sim_migration;

// What the guest's own system does. Chosen by a mark in the XML, "sim:hang"; acpi without one.
enum class guest_kind : std::uint8_t {
    acpi,   // powers off when asked
    hang,   // ignores being asked
    off,    // powers off by itself, off_time after its start
    reset,  // resets every second
    dirty,  // as hang, and a live migration of it does not converge
    errs,   // writes in a loop to a disk that fails: ten I/O errors a second
};

// At which step of a live migration something goes wrong (sim_guest::fail_migration).
enum class migration_step : std::uint8_t {
    connect,  // the target cannot be reached
    prepare,  // the target refuses; it never has the domain
    copy,     // half-way; the target's instance goes, the source runs on
    reply,    // the target runs, the answer is an error; the source is left as `source_copy` says
};
enum class source_copy : std::uint8_t { incoming, running, gone };

class sim_guest : public sim_faults {
public:
    sim_guest(sim_machine_guests& machine, uuid id);

    const uuid id;

    // --- how it stands ---
    [[nodiscard]] bool is_there() const { return is_there_; }  // a look-up finds it
    [[nodiscard]] model::guest_status status() const { return status_; }
    [[nodiscard]] model::guest_class what() const { return model::class_of(status_); }
    [[nodiscard]] bool executes() const;
    [[nodiscard]] const std::string& name() const { return name_; }
    [[nodiscard]] const std::string& xml() const { return xml_; }
    // With the VNC port that it got in place of -1, or what live_xml_override says.
    [[nodiscard]] std::string live_xml() const;
    [[nodiscard]] bool is_migrating() const { return migration_ != nullptr; }
    [[nodiscard]] guest_kind kind() const { return kind_; }
    [[nodiscard]] time_point since() const { return since_; }  // when it appeared
    [[nodiscard]] std::uint64_t starts() const { return starts_; }

    // --- how it behaves ---
    duration shutdown_time = std::chrono::seconds(1);       // from being asked until it is off
    duration going_time = std::chrono::milliseconds(1600);  // QEMU's end after that: SHUTDOWN … STOPPED
    duration create_time = std::chrono::milliseconds(250);
    duration destroy_time = std::chrono::milliseconds(1600);
    duration crash_notice = std::chrono::seconds(2);     // libvirt notices the end of a QEMU that died
    duration off_time = std::chrono::milliseconds(200);  // of the kind `off`
    std::uint64_t memory_bytes = 64ULL << 20U;
    std::optional<std::string> live_xml_override;
    model::guest_figures figures;    // what survey() says, but for identity and status; 64 MiB and one CPU at first
    void set_kind(guest_kind kind);  // from now on, whatever the XML says
    void kind_of_xml();              // as it says again
    // The next migration from this machine goes wrong.
    void fail_migration(migration_step at, hypervisor::call_failure failure, source_copy left = source_copy::incoming);

    // --- what happens to it; each with its events. Nothing happens to a guest that is not there. ---
    void power_off();  // by itself: SHUTDOWN(1), later STOPPED(0)
    void crash();      // QEMU is killed: executes no more; STOPPED(5) when noticed
    void reset();      // REBOOT
    void suspend();    // SUSPENDED(0)
    void resume();     // RESUMED
    void pause_by_io_error(const std::string& disk);
    void change_devices();  // somebody attached or detached one
    // Any status, with its event; `none` removes it. For one that is not there: appear().
    void set_status(model::guest_status status, const std::string& detail = "set");
    // Gone at once, without a word (events may be lost).
    void vanish();
    // It appears, by somebody else's doing (virsh): RESUMED(0), STARTED(0), or in another status.
    void appear(const std::string& name, const std::string& xml,
                model::guest_status status = {model::run_state::running, model::pause_cause::none});

    // --- calls, as libvirtd executes them for a daemon or, by a test, for somebody else ---
    static void nobody(const hypervisor::call_result<void>& /*answer*/) {}
    using answer = std::function<void(hypervisor::call_result<void>)>;
    void create(const std::string& name, const std::string& xml, duration takes, answer done = nobody);
    void shutdown(answer done = nobody);
    void destroy(std::optional<duration> takes = {}, answer done = nobody);
    void resume_call(answer done = nobody);
    // The element as it is becomes part of the definition that runs, once; or leaves it.
    void attach_device(const std::string& xml, answer done = nobody);
    void detach_device(const std::string& xml, answer done = nobody);
    hypervisor::call_result<void> abort_migration();
    [[nodiscard]] hypervisor::migration_progress migration_progress() const;

private:
    friend class sim_machine_guests;
    friend class sim_migration;

    struct migration_fault {
        migration_step at;
        hypervisor::call_failure failure;
        source_copy left;
    };

    void enter(const std::string& name, const std::string& xml, model::guest_status status);
    void change(model::guest_status status);
    void emit(const std::string& detail);
    void emit(hypervisor::event_kind what, const std::string& detail);
    void begin_ending(const std::string& shutdown_detail, const std::string& stopped_detail, duration time);
    void end(const std::string& stopped_detail);
    void leave();
    void begin_running();
    void with_devices(answer done, std::function<hypervisor::call_result<void>()> deed, duration waited = {});
    void make_noise(guest_kind kind);
    void libvirtd_ended();
    void libvirtd_began();
    void power_lost();
    // The deed, if this is still the same life of the domain by then.
    std::function<void()> in_this_life(std::function<void()> deed);

    sim_machine_guests& machine_;
    agenda plans_;  // of the guest itself and its QEMU
    bool is_there_ = false;
    bool is_dead_ = false;  // QEMU is gone, libvirt has not noticed
    bool is_creating_ = false;
    bool is_off_asked_ = false;
    model::guest_status status_;
    std::string name_;
    std::string xml_;
    guest_kind kind_ = guest_kind::acpi;
    std::optional<guest_kind> set_kind_;
    int vnc_port_ = 0;
    std::uint64_t life_ = 0;
    std::uint64_t starts_ = 0;
    time_point since_{};
    sim_migration* migration_ = nullptr;
    std::deque<migration_fault> migration_faults_;
    std::deque<std::function<void()>> when_gone_;
};

[[nodiscard]] std::string_view to_text(model::run_state state);

}  // namespace pvc::sim
