#include "board_bench.hpp"

#include "pvcnoded/base/text.hpp"

#include <sys/stat.h>
#include <unistd.h>

namespace pvc::contract {

namespace {

constexpr std::string_view script = R"sh(#!/bin/sh
cd "$(dirname "$0")" || exit 9
echo "$*" >> calls
[ -e silent ] && exec sleep 1000
no() { echo "$1" >&2; exit 1; }
[ "$IPMI_PASSWORD" = Passw0rd ] || no 'Error: Unable to establish IPMI v2 / RMCP+ session'
case "$*" in
  *"-C 17"*) no 'Error in open session response message : invalid authentication algorithm' ;;
esac
if [ -e operators ]; then
  case "$*" in
    *"-L OPERATOR"*) ;;
    *) no 'Set Session Privilege Level to ADMINISTRATOR failed' ;;
  esac
fi
case "$*" in
  *"chassis power status")
    echo "Chassis Power is $(cat power)"
    if [ -e floods ]; then head -c 5000 /dev/zero | tr '\0' '\n'; echo 'Chassis Power is on'; fi ;;
  *"chassis power off")
    [ -e refuses ] && no 'Set Chassis Power Control failed: Command not supported in present state'
    echo off > power; echo 'Chassis Power Control: Down/Off' ;;
  *"chassis power on") echo on > power; echo 'Chassis Power Control: Up/On' ;;
  *"mc guid") echo 'System GUID  : 31303043-534d-2500-90d8-7a1600000000' ;;
esac
)sh";

void write_program(const scratch_folder& folder, const std::string& name, std::string_view text) {
    folder.write(name, std::string(text));
    ::chmod((folder / name).c_str(), 0755);
}

constexpr std::string_view chassis_script = R"sh(#!/bin/sh
cd "$(dirname "$0")" || exit 9
case "$2 $3" in
  'get power') echo "power:$(cat power)" ;;
  'set power') echo "$4" > power ;;
esac
)sh";

std::string configuration_of(const scratch_folder& folder, const std::string& address) {
    return "name \"board\"\nset_working_mc 0x20\n  startlan 1\n    addr " + address +
           " 623\n    priv_limit admin\n    allowed_auths_callback none md2 md5 straight\n"
           "    allowed_auths_user none md2 md5 straight\n    allowed_auths_operator none md2 md5 straight\n"
           "    allowed_auths_admin none md2 md5 straight\n    guid a123456789abcdefa123456789abcdef\n  endlan\n"
           "  chassis_control \"" +
           (folder / "chassis") +
           " x\"\n  user 1 true \"\" \"test\" user 10 none md2 md5 straight\n"
           "  user 2 true \"admin\" \"Passw0rd\" admin 10 none md2 md5 straight\n";
}

}  // namespace

scripted_board::scripted_board() : path_before_(std::getenv("PATH")) {
    write_program(folder_, "ipmitool", script);
    folder_.write("power", "on\n");
    ::setenv("PATH", (folder_.path() + ':' + path_before_).c_str(), 1);
}

scripted_board::~scripted_board() {
    ::setenv("PATH", path_before_.c_str(), 1);
}

void scripted_board::be(board_traits what) {
    for (const auto& [name, is_so] : {std::pair{"silent", what.is_silent}, std::pair{"operators", what.only_operators},
                                      std::pair{"refuses", what.refuses_off}, std::pair{"floods", what.is_flooding}}) {
        if (is_so) {
            folder_.write(name, "");
        }
    }
}

bool simulator_board::is_there() {
    return ::access("/usr/bin/ipmi_sim", X_OK) == 0 && ::access("/usr/bin/ipmitool", X_OK) == 0;
}

// An address of its own for each process: all of 127/8 is this host.
simulator_board::simulator_board()
    : address_("127." + std::to_string(64 + (::getpid() >> 16) % 64) + '.' + std::to_string((::getpid() >> 8) % 256) +
               '.' + std::to_string(1 + ::getpid() % 253)) {
    if (!is_there()) {
        return;
    }
    write_program(folder_, "chassis", chassis_script);
    folder_.write("power", "1\n");
    folder_.write("lan.conf", configuration_of(folder_, address_));
    folder_.write("commands",
                  "mc_setbmc 0x20\nmc_add 0x20 0 no-device-sdrs 0x23 9 8 0x9f 0x1291 0xf02 persist_sdr\n"
                  "mc_enable 0x20\n");
    simulator_ =
        std::make_unique<child_process>(std::vector<std::string>{"/usr/bin/ipmi_sim", "-n", "-c", folder_ / "lan.conf",
                                                                 "-f", folder_ / "commands", "-s", folder_.path()},
                                        child_process::streams{folder_ / "output", false}, folder_.path());
    // It says nothing when it is ready.
    run([this]() -> awaitable<void> {
        for (int i = 0; i < 100; ++i) {
            const auto heard =
                co_await board_.ask(access(), power::board_command::status, clock().boot_now() + 30s, 2s);
            if (heard && heard->status == 0) {
                co_return;
            }
            co_await async::sleep_for(clock(), 50ms, "the simulator of boards");
        }
    });
}

simulator_board::~simulator_board() = default;

void simulator_board::be(board_traits what) {
    if (what.is_silent) {
        simulator_->signal(SIGSTOP);
    }
}

simulated_board::simulated_board() {
    machine_.address = "192.0.2.3";
    machine_.user = "admin";
    machine_.password = "Passw0rd";
    machine_.only_suite = 3;
    machine_.attach(processes_);
    for (const std::string& one : {"127.0.0.1", "::1"}) {
        processes_.add({"getent", "ahosts", one}, {.output = one + "  STREAM " + one + '\n'});
    }
    processes_.add({"getent", "ahosts", "localhost"}, {.output = "127.0.0.1  STREAM localhost\n127.0.0.1  DGRAM\n"});
    processes_.add({"getent", "ahosts", "nobody.invalid"}, {.how = async::exited{2}});
}

void simulated_board::be(board_traits what) {
    machine_.is_reachable = !what.is_silent;
    machine_.only_operators = what.only_operators;
    machine_.refuses = what.refuses_off;
}

std::string simulated_board::calls() const {
    std::string all;
    for (const auto& line : processes_.lines()) {
        all += line.substr(line.find(' ') + 1) + '\n';
    }
    return all;
}

}  // namespace pvc::contract
