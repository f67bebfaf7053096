// A scripted management controller behind the process port: it answers `ipmitool ... -H <host> ... chassis power
// <verb>` and `mc guid` as a board does, or slowly, wrongly, late, or not at all; and `getent ahosts <host>` as a name
// server does. It outlives the power of its machine unless it is fed by it. Draws nothing by itself: what it is like is
// set by whoever plays the world.
#pragma once

#include "sim/sim_process.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace pvc::sim {

class sim_bmc {
public:
    // `clock`: for what it does later; without one it does it at once.
    explicit sim_bmc(std::string own_host, async::timers* clock = nullptr) : host(std::move(own_host)), clock_(clock) {}
    sim_bmc(const sim_bmc&) = delete;
    sim_bmc& operator=(const sim_bmc&) = delete;

    const std::string host;
    std::string address = host;           // to which the name resolves
    std::optional<std::string> user;      // whom it lets in; empty: everybody
    std::optional<std::string> password;  // likewise
    std::string guid = "31303043-534d-2500-90d8-7a1600000000";
    bool is_machine_on = true;
    duration answer_time = std::chrono::milliseconds(300);
    bool is_reachable = true;        // no: every command fails after its own time-out
    bool is_name_known = true;       // to the name server
    bool dies_with_machine = false;  // it has no power of its own
    bool lies = false;               // it says that it has done what it was told, and does nothing
    bool refuses = false;            // to switch off: "Command not supported in present state"
    bool is_locked = false;          // nobody is let in: another password was set
    bool only_operators = false;     // nobody is let in as ADMINISTRATOR
    bool knows_guid = true;
    std::optional<int> only_suite;   // it knows this cipher suite alone, and is ten seconds late where none is given
    duration acts_after{};           // what it is told it does so much later
    bool asks_to_shut_down = false;  // `off` is a wish, which the machine may hear or not
    bool is_booting = false;         // it says `off` of a running machine, and forgets what it is told
    std::optional<duration> switches_on_after;  // by itself, so long after the machine went off
    std::function<void(bool is_on)> on_power;   // the machine: told when its power changes
    std::function<bool()> heeds_shutdown;       // whether the machine shuts down when asked; empty: it does
    std::function<bool()> has_power;            // the machine: whether it is on; empty: as it was last set
    bool acts_before_answer = false;            // what it was told it does, whatever becomes of who told it

    // Makes the `ipmitool` of this simulation know the board. The board must outlive the programs' last run.
    void attach(sim_process& programs) {
        programs.add([this](const async::command& what) { return answer(what); });
    }
    // The same, for a world that decides who reaches which board; empty: none of its programs.
    std::optional<sim_program> answer(const async::command& what);
    // Of the machine, whatever the board is like: somebody pulls the plug, or presses the button.
    void set_power(bool on);
    // No fault any more, and what it was still to do it will not.
    void set_well();
    [[nodiscard]] std::size_t commands() const { return commands_; }
    // What it was told and asked, in this order: "off", "status".
    [[nodiscard]] const std::vector<std::string>& heard() const { return heard_; }

private:
    [[nodiscard]] sim_program answer_to_guest(const async::command& what);
    [[nodiscard]] sim_program switch_to(bool on);
    [[nodiscard]] sim_program again(bool is_cycle);
    void look();
    void act(bool on);
    void later(duration time, std::function<void()> what);

    async::timers* clock_;
    std::vector<std::unique_ptr<async::timer>> due_;
    std::size_t commands_ = 0;
    std::vector<std::string> heard_;
};

}  // namespace pvc::sim
