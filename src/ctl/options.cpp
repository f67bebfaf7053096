#include "pvcnoded/ctl/options.hpp"

#include "pvcnoded/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

namespace pvc::ctl {

namespace {

struct command {
    std::string_view name;
    std::string_view argument;  // what it takes; empty: nothing
    std::string_view summary;
    std::string_view about;
};

constexpr std::array<command, 5> commands{{
    {"status", "", "what this node does, and whether it is all right",
     "State, role, heartbeat and ZooKeeper session, each with its age in seconds, and what each part of the\n"
     "daemon says of itself. It is answered from memory, also while ZooKeeper and libvirt are away.\n"},
    {"tasks", "", "the tree of running tasks: what each waits for, since when, at most how long",
     "Each line: how long the task lives, what it waits for and since when, how much longer at most, and the\n"
     "locks that it holds. \"idle\" is a task that waits for work.\n"},
    {"vm list", "", "the virtual machines that belong to this node or run here",
     "State as stored, class of the guest as libvirt has it, and the operation that runs.\n"},
    {"vm show", "NAME|UUID", "one virtual machine: what is under way, and what would come next",
     "What its operation waits for, at most how long, and what it would wait for next on each answer.\n"},
    {"daemon", "", "the process: version, memory, number of tasks", "What the daemon knows of its own process.\n"},
}};

constexpr std::string_view common_options =
    "Options:\n"
    "  --json          the answer as JSON, for programs (docs/control.md names the fields)\n"
    "  --socket PATH   the daemon's socket (default /run/pvc/pvcnoded.sock: pvcnoded.sock in the\n"
    "                  dynamic_directory of its configuration)\n"
    "  --timeout S     give up after so many seconds, 1 to 60 (default 5)\n"
    "  --help          this text, or that of a command\n"
    "  --version       the version\n"
    "\n"
    "Exit status: 0 answered, 1 refused or not found, 2 usage error, 3 no daemon listens, 4 not permitted,\n"
    "5 no answer in time, 6 an answer that is not understood.\n";

std::string general_help() {
    std::string text =
        "Usage: pvcnodectl [OPTION...] COMMAND\n\nAsks the node daemon of this host what it does.\n\nCommands:\n";
    for (const auto& one : commands) {
        text +=
            fmt::format("  {:<18}  {}\n",
                        fmt::format("{}{}{}", one.name, one.argument.empty() ? "" : " ", one.argument), one.summary);
    }
    return text + "\n" + std::string(common_options);
}

std::string help_of(const command& one) {
    return fmt::format("Usage: pvcnodectl [OPTION...] {}{}{}\n\n{}\n{}", one.name, one.argument.empty() ? "" : " ",
                       one.argument, one.about, common_options);
}

// The command that these words begin with, and how many words that takes.
const command* find_command(std::span<const std::string> words, std::size_t& taken) {
    for (const auto& one : commands) {
        const auto parts = split(one.name, ' ');
        if (words.size() >= parts.size() && std::equal(parts.begin(), parts.end(), words.begin())) {
            taken = parts.size();
            return &one;
        }
    }
    return nullptr;
}

void take_command(const std::vector<std::string>& words, bool wants_help, options& out) {
    std::size_t taken = 0;
    const command* found = find_command(words, taken);
    if (wants_help) {
        out.help = found == nullptr ? general_help() : help_of(*found);
        return;
    }
    if (words.empty()) {
        out.problem = "a command is missing; see pvcnodectl --help";
        return;
    }
    if (found == nullptr) {
        out.problem = fmt::format("unknown command \"{}\"; see pvcnodectl --help", ascii_only(join(words, " ")));
        return;
    }
    const std::size_t wanted = found->argument.empty() ? 0 : 1;
    if (words.size() - taken != wanted) {
        out.problem = wanted == 0 ? fmt::format("{} takes no argument", found->name)
                                  : fmt::format("{} takes one argument: {}", found->name, found->argument);
        return;
    }
    out.asked.name = found->name;
    if (wanted == 1) {
        out.asked.parameters["vm"] = words.back();
    }
}

}  // namespace

options parse_options(const std::vector<std::string>& arguments) {
    options out;
    out.asked.id = 1;
    std::vector<std::string> words;
    bool wants_help = false;
    bool are_words = false;
    for (std::size_t at = 0; at < arguments.size(); ++at) {
        const std::string& argument = arguments[at];
        const bool takes_value = !are_words && (argument == "--socket" || argument == "--timeout");
        if (takes_value && at + 1 == arguments.size()) {
            out.problem = argument + " takes a value; see pvcnodectl --help";
            return out;
        }
        if (are_words || !argument.starts_with('-')) {
            words.push_back(argument);
        } else if (argument == "--") {
            are_words = true;
        } else if (argument == "--json") {
            out.as_json = true;
        } else if (argument == "--socket") {
            out.socket = arguments[++at];
        } else if (argument == "--timeout") {
            const auto seconds = parse_integer(arguments[++at]);
            if (!seconds || *seconds < 1 || *seconds > 60) {
                out.problem = "--timeout takes a number of seconds from 1 to 60";
                return out;
            }
            out.asked.deadline = std::chrono::seconds(*seconds);
        } else if (argument == "--help" || argument == "-h") {
            wants_help = true;
        } else if (argument == "--version" || argument == "-V") {
            out.wants_version = true;
            return out;
        } else {
            out.problem = fmt::format("unknown option \"{}\"; see pvcnodectl --help", ascii_only(argument));
            return out;
        }
    }
    take_command(words, wants_help, out);
    return out;
}

}  // namespace pvc::ctl
