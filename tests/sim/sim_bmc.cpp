#include "sim/sim_bmc.hpp"

#include <algorithm>
#include <utility>

namespace pvc::sim {

using namespace std::chrono_literals;

namespace {

constexpr duration time_out_of_ipmitool = 20s;
constexpr duration late_without_suite = 10s;

bool has_word(const std::vector<std::string>& words, std::string_view word) {
    return std::ranges::find(words, word) != words.end();
}

std::optional<std::string> after(const std::vector<std::string>& words, std::string_view option) {
    const auto at = std::ranges::find(words, option);
    return at != words.end() && at + 1 != words.end() ? std::optional(*(at + 1)) : std::nullopt;
}

sim_program fails(std::string words, duration takes) {
    return {.how = async::exited{1}, .error_output = std::move(words), .takes = takes};
}

}  // namespace

std::optional<sim_program> sim_bmc::answer(const async::command& what) {
    const auto& words = what.arguments;
    if (words.size() == 3 && words[0] == "getent" && words[2] == host) {
        return is_name_known ? sim_program{.output = address + "   STREAM " + host + '\n'}
                             : sim_program{.how = async::exited{2}};
    }
    const auto asked = after(words, "-H");
    const bool is_ipmitool = !words.empty() && words.front().ends_with("ipmitool");
    if (!is_ipmitool || !asked || (*asked != host && *asked != address)) {
        return std::nullopt;
    }
    look();
    ++commands_;
    heard_.push_back(words.back());
    const std::string no_session = "Error: Unable to establish IPMI v2 / RMCP+ session\n";
    if (!is_reachable || (dies_with_machine && !is_machine_on)) {
        return fails(no_session, time_out_of_ipmitool);
    }
    const auto given =
        std::ranges::find(what.environment, "IPMI_PASSWORD", &std::pair<std::string, std::string>::first);
    const bool is_let_in = !is_locked && (!user || after(words, "-U") == *user) &&
                           (!password || (given != what.environment.end() && given->second == *password));
    const auto suite = after(words, "-C");
    if (!is_let_in || (suite && only_suite && *suite != std::to_string(*only_suite))) {
        return fails(no_session, answer_time);
    }
    auto done = answer_to_guest(what);
    done.takes += !suite && only_suite ? late_without_suite : duration{};
    return done;
}

sim_program sim_bmc::answer_to_guest(const async::command& what) {
    const auto& words = what.arguments;
    if (only_operators && !has_word(words, "OPERATOR")) {
        return fails(
            "Set Session Privilege Level to ADMINISTRATOR failed\nError: Unable to establish IPMI v2 / RMCP+ session\n",
            answer_time);
    }
    const std::string verb = words.back();
    if (verb == "guid") {
        return knows_guid ? sim_program{.output = "System GUID  : " + guid + "\nTimestamp    : 01/02/1996 03:04:05\n",
                                        .takes = answer_time}
                          : fails("Get GUID command failed\n", answer_time);
    }
    if (verb == "status") {
        const bool says_on = is_machine_on && !is_booting;
        return {.output = says_on ? "Chassis Power is on\n" : "Chassis Power is off\n", .takes = answer_time};
    }
    if (verb == "off" || verb == "on") {
        return switch_to(verb == "on");
    }
    if (verb == "reset" || verb == "cycle") {
        return again(verb == "cycle");
    }
    return fails("Invalid chassis power command: " + verb + '\n', answer_time);
}

sim_program sim_bmc::switch_to(bool on) {
    if (!on && refuses) {
        return fails("Set Chassis Power Control failed: Command not supported in present state\n", answer_time);
    }
    sim_program done;
    done.takes = answer_time;
    done.output = on ? "Chassis Power Control: Up/On\n" : "Chassis Power Control: Down/Off\n";
    if (!lies && !is_booting) {
        const auto deed = [this, on] {
            const bool is_ignored = !on && asks_to_shut_down && heeds_shutdown && !heeds_shutdown();
            if (!is_ignored) {
                act(on);
            }
        };
        if (acts_before_answer) {
            later(answer_time / 2, deed);
        } else {
            done.effect = deed;
        }
    }
    return done;
}

sim_program sim_bmc::again(bool is_cycle) {
    if (!is_machine_on) {
        return fails("Set Chassis Power Control failed: Command not supported in present state\n", answer_time);
    }
    sim_program done;
    done.takes = answer_time;
    done.output = is_cycle ? "Chassis Power Control: Cycle\n" : "Chassis Power Control: Reset\n";
    if (!lies) {
        done.effect = [this] {
            set_power(false);
            set_power(true);
        };
    }
    return done;
}

void sim_bmc::act(bool on) {
    later(acts_after, [this, on] { set_power(on); });
}

void sim_bmc::set_well() {
    answer_time = std::chrono::milliseconds(300);
    is_reachable = is_name_known = knows_guid = true;
    dies_with_machine = lies = refuses = only_operators = asks_to_shut_down = is_booting = false;
    is_locked = false;
    only_suite.reset();
    acts_after = {};
    switches_on_after.reset();
    due_.clear();
}

void sim_bmc::look() {
    if (has_power) {
        is_machine_on = has_power();
    }
}

void sim_bmc::set_power(bool on) {
    look();
    if (is_machine_on == on) {
        return;
    }
    is_machine_on = on;
    if (on_power) {
        on_power(on);
    }
    if (!on && switches_on_after) {
        later(*switches_on_after, [this] { set_power(true); });
    }
}

void sim_bmc::later(duration time, std::function<void()> what) {
    if (clock_ == nullptr || time == 0ns) {
        what();
        return;
    }
    due_.push_back(std::make_unique<async::timer>(*clock_));
    due_.back()->arm(clock_->now() + time, std::move(what));
}

}  // namespace pvc::sim
