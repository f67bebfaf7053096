// A scripted management controller behind the process port: it answers `ipmitool ... -H <host> ... chassis power
// <verb>` as a board does, or slowly, wrongly, or not at all. It outlives the power of its machine unless it is fed by
// it.
#pragma once

#include "sim/sim_process.hpp"

#include <algorithm>
#include <functional>
#include <string>

namespace pvc::sim {

class sim_bmc {
public:
    explicit sim_bmc(std::string own_host) : host(std::move(own_host)) {}
    sim_bmc(const sim_bmc&) = delete;
    sim_bmc& operator=(const sim_bmc&) = delete;

    const std::string host;
    bool is_machine_on = true;
    duration answer_time = std::chrono::milliseconds(300);
    bool is_reachable = true;                  // no: every command fails after its own time-out
    bool dies_with_machine = false;            // it has no power of its own
    bool lies = false;                         // it says that it has done what it was told, and does nothing
    std::function<void(bool is_on)> on_power;  // the machine: told when its power changes

    // Makes the `ipmitool` of this simulation know the board. The board must outlive the programs' last run.
    void attach(sim_process& programs) {
        programs.add([this](const async::command& what) { return answer(what); });
    }
    [[nodiscard]] std::size_t commands() const { return commands_; }

private:
    static constexpr duration time_out_of_ipmitool = std::chrono::seconds(20);

    std::optional<sim_program> answer(const async::command& what) {
        const auto& words = what.arguments;
        const auto at = std::ranges::find(words, "-H");
        const bool is_mine = !words.empty() && words.front().ends_with("ipmitool") && at != words.end() &&
                             at + 1 != words.end() && *(at + 1) == host;
        if (!is_mine) {
            return std::nullopt;
        }
        ++commands_;
        if (!is_reachable || (dies_with_machine && !is_machine_on)) {
            sim_program silent;
            silent.how = async::exited{1};
            silent.error_output = "Error: Unable to establish IPMI v2 / RMCP+ session\n";
            silent.takes = time_out_of_ipmitool;
            return silent;
        }
        sim_program done;
        done.takes = answer_time;
        const std::string verb = words.back();
        if (verb == "status") {
            done.output = is_machine_on ? "Chassis Power is on\n" : "Chassis Power is off\n";
        } else if (verb == "off" || verb == "on") {
            done.output = verb == "off" ? "Chassis Power Control: Down/Off\n" : "Chassis Power Control: Up/On\n";
            done.effect = [this, on = verb == "on"] { set_power(on); };
        } else if (verb == "reset" || verb == "cycle") {
            if (!is_machine_on) {
                done.how = async::exited{1};
                done.error_output = "Set Chassis Power Control failed: Command not supported in present state\n";
            } else {
                done.output = verb == "reset" ? "Chassis Power Control: Reset\n" : "Chassis Power Control: Cycle\n";
                done.effect = [this] {
                    set_power(false);
                    set_power(true);
                };
            }
        } else {
            done.how = async::exited{1};
            done.error_output = "Invalid chassis power command: " + verb + '\n';
        }
        return done;
    }

    void set_power(bool on) {
        if (!lies && is_machine_on != on) {
            is_machine_on = on;
            if (on_power) {
                on_power(on);
            }
        }
    }

    std::size_t commands_ = 0;
};

}  // namespace pvc::sim
