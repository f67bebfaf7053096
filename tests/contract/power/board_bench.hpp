// Worlds for the power port: a scripted ipmitool, the real one that asks Debian's simulator of boards (ipmi_sim), and
// the double of the simulated world. In each there is one board, which has a machine.
#pragma once

#include "contract/process_bench.hpp"
#include "contract/support/child_process.hpp"
#include "pvcnoded/power/adapter/ipmitool_board.hpp"
#include "sim/sim_bmc.hpp"

#include <memory>
#include <string>

namespace pvc::contract {

struct board_traits {
    bool is_silent = false;
    bool only_operators = false;
    bool refuses_off = false;
    bool is_flooding = false;  // `off`, much more, and then `on`; a program only
};

// A folder with an `ipmitool` of ours, which is found first.
class scripted_board : public real_world {
public:
    scripted_board();
    ~scripted_board();
    scripted_board(const scripted_board&) = delete;
    scripted_board& operator=(const scripted_board&) = delete;
    static bool is_there() { return true; }
    static constexpr bool can_be_strange = true;  // has all traits

    void be(board_traits what);
    [[nodiscard]] power::board_access access() const { return {"192.0.2.3", "admin", secret("Passw0rd"), 3, false}; }
    [[nodiscard]] bool is_machine_on() const { return folder_.read("power") == "on\n"; }
    // The arguments of each call, a line each.
    [[nodiscard]] std::string calls() const { return folder_.read("calls"); }
    power::board& board() { return board_; }

private:
    scratch_folder folder_;
    std::string path_before_;
    async::posix_process processes_{loop().context(), clock()};
    power::ipmitool_board board_{processes_, clock()};
};

class simulator_board : public real_world {
public:
    simulator_board();
    ~simulator_board();
    simulator_board(const simulator_board&) = delete;
    simulator_board& operator=(const simulator_board&) = delete;
    static bool is_there();
    static constexpr bool can_be_strange = false;  // silent is all that it can be

    void be(board_traits what);
    [[nodiscard]] power::board_access access() const { return {address_, "admin", secret("Passw0rd"), 3, false}; }
    [[nodiscard]] bool is_machine_on() const { return folder_.read("power") == "1\n"; }
    [[nodiscard]] std::string calls() const { return {}; }
    power::board& board() { return board_; }

private:
    scratch_folder folder_;
    std::string address_;
    std::unique_ptr<child_process> simulator_;
    async::posix_process processes_{loop().context(), clock()};
    power::ipmitool_board board_{processes_, clock()};
};

class simulated_board : public sim_world {
public:
    simulated_board();
    static bool is_there() { return true; }
    static constexpr bool can_be_strange = true;

    void be(board_traits what);
    [[nodiscard]] power::board_access access() const { return {"192.0.2.3", "admin", secret("Passw0rd"), 3, false}; }
    [[nodiscard]] bool is_machine_on() const { return machine_.is_machine_on; }
    [[nodiscard]] std::string calls() const;
    power::board& board() { return board_; }

private:
    sim::sim_process processes_{clock()};
    sim::sim_bmc machine_{"hv3-lom", &clock()};
    power::ipmitool_board board_{processes_, clock()};
};

}  // namespace pvc::contract
