// libvirtd of one machine and its guests. They outlive daemons; the power takes them all. Calls come in here and are
// recorded; events go out to the connected daemon, in one order with the answers.
#pragma once

#include "sim/hypervisor/sim_guest.hpp"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace pvc::sim {

class sim_datacentre;
class sim_hypervisor;

enum class libvirtd_state : std::uint8_t { running, stopped, down };

// Faults set here are of every guest and of the calls without one ("list", "survey"); those of a guest count first.
// Those of "ask" and "probe" are of the machine that is asked, and of its guest.
class sim_machine_guests : public sim_faults {
public:
    // One call of a daemon of this machine. Guests are named by sim_datacentre::call_it.
    struct call {
        time_point at;     // when it was made, by the world's clock
        std::string text;  // "create U1", "migrate U1 hv2.pvc.local tcp://hv2.pvc.local", "ask hv2.pvc.local U1"
        bool is_reading = false;
    };

    sim_machine_guests(sim_datacentre& centre, std::string name);
    sim_machine_guests(const sim_machine_guests&) = delete;
    sim_machine_guests& operator=(const sim_machine_guests&) = delete;
    ~sim_machine_guests();

    const std::string name;

    // --- guests ---
    [[nodiscard]] sim_guest& guest(const uuid& id);
    // It runs, by nobody's doing; events as for a start by virsh.
    sim_guest& put_running(const uuid& id, const std::string& guest_name, const std::string& xml);
    // The UUIDs of the guests that are there.
    [[nodiscard]] std::vector<uuid> guests() const;
    [[nodiscard]] bool executes(const uuid& id) const;

    // --- libvirtd and the power ---
    void stop_libvirtd();      // SIGSTOP: calls hang
    void continue_libvirtd();  // SIGCONT
    void kill_libvirtd();      // connections break, guests go on, creations under way are undone
    void start_libvirtd();
    void restart_libvirtd() {
        kill_libvirtd();
        start_libvirtd();
    }
    void lose_power();  // every guest is gone at once, nobody is told
    void power_on();    // libvirtd runs, no guest does
    [[nodiscard]] bool is_powered() const { return is_powered_; }
    [[nodiscard]] libvirtd_state libvirtd() const { return is_powered_ ? state_ : libvirtd_state::down; }
    // The control connection breaks; libvirtd is well.
    void break_connection();
    // The daemon is connected: it hears of events.
    [[nodiscard]] bool is_watched() const { return daemon_ != nullptr; }

    // Whether the machine has that bridge now: what names one that it has not is not created. Empty: it has all.
    std::function<bool(const std::string& bridge)> has_bridge;

    // --- its way to others ---
    bool resolves_names = true;          // else no connection to another machine comes about
    std::size_t threads_for_others = 0;  // of its daemon: so many questions at a time, the rest wait; 0: no limit
    std::size_t questions_under_way = 0;

    // --- its libvirtd ---
    std::set<uuid> refuses;  // no migration of these comes here: their CPU, or a device, is not there

    // --- what the daemons of this machine called ---
    // Without the calls that only read.
    [[nodiscard]] std::vector<std::string> calls() const;
    [[nodiscard]] const std::vector<call>& all_calls() const { return calls_; }
    [[nodiscard]] std::size_t count(std::string_view text) const;              // calls with exactly this text
    [[nodiscard]] std::vector<time_point> times(std::string_view text) const;  // when they were made
    void clear_calls() { calls_.clear(); }
    // When the last call with this text was made that was told never to answer.
    [[nodiscard]] std::optional<time_point> hangs_since(const std::string& text) const;
    // How many creations ran at the same time, at most.
    [[nodiscard]] std::size_t most_creations() const { return most_creations_; }

    // --- for the parts of the simulation ---
    [[nodiscard]] sim_datacentre& centre() { return centre_; }
    void record(const std::string& text, bool is_reading);
    void note_hanging(const std::string& text);
    // libvirtd does this after a time; later if it is stopped, never if it is killed before.
    void later(duration time, std::function<void()> deed);
    void emit(const hypervisor::guest_event& event);
    void connect(sim_hypervisor& daemon) { daemon_ = &daemon; }
    void disconnect(sim_hypervisor& daemon);
    void attach(sim_hypervisor& daemon) { attached_.push_back(&daemon); }
    void detach(sim_hypervisor& daemon);
    [[nodiscard]] bool is_name_taken(const std::string& guest_name, const uuid& by_other_than) const;
    [[nodiscard]] int free_vnc_port() const;
    void creation_begins();
    void creation_ends() { --creations_; }

private:
    friend class sim_guest;
    void serve(std::function<void()> deed);
    void end_libvirtd();
    void changed();

    sim_datacentre& centre_;
    agenda libvirtd_;  // what libvirtd does
    agenda alarms_;    // what its clients find out
    libvirtd_state state_ = libvirtd_state::running;
    bool is_powered_ = true;
    std::vector<std::function<void()>> backlog_;  // what a stopped libvirtd does when it is continued
    std::map<uuid, std::unique_ptr<sim_guest>> guests_;
    sim_hypervisor* daemon_ = nullptr;
    std::vector<sim_hypervisor*> attached_;
    std::vector<call> calls_;
    std::map<std::string, time_point> hanging_;
    std::size_t creations_ = 0;
    std::size_t most_creations_ = 0;
};

}  // namespace pvc::sim
