#include "pvcnoded/ctl/options.hpp"

#include "pvcnoded/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string_view>

namespace pvc::ctl {

namespace {

constexpr std::int64_t answer_seconds_max = 60;
constexpr std::string_view says_off = "--yes-the-node-is-off";
constexpr std::int64_t wait_seconds_max = 86'400;

struct command {
    std::string_view name;
    std::string_view usage;                      // of its arguments; empty: it takes none
    std::size_t least;                           // arguments
    std::array<std::string_view, 2> parameters;  // of the request, in the order of the arguments
    std::string_view summary;
    std::string_view about;

    [[nodiscard]] std::size_t most() const {
        return static_cast<std::size_t>(std::ranges::count_if(parameters, [](auto one) { return !one.empty(); }));
    }
    [[nodiscard]] std::string line() const { return fmt::format("{}{}{}", name, usage.empty() ? "" : " ", usage); }
};

constexpr std::array<command, 22> commands{{
    {"status",
     "",
     0,
     {},
     "what this node does, and whether it is all right",
     "State, role, heartbeat and ZooKeeper session, each with its age in seconds, and what each part of the\n"
     "daemon says of itself. It is answered from memory, also while ZooKeeper and libvirt are away. If no daemon\n"
     "listens: its last heartbeat, and what the service manager says; the exit status is 3 all the same.\n"},
    {"watch",
     "",
     0,
     {},
     "the same and the virtual machines, live on one screen",
     "It is drawn anew every 2 seconds until q or Ctrl-C. Where the output is no terminal, it is printed once.\n"},
    {"ready",
     "[--wait]",
     0,
     {},
     "whether the next node may be upgraded",
     "Exit status 0 and \"ready\" if this node runs, is connected to ZooKeeper, its last heartbeat is younger than "
     "two\n"
     "intervals, and neither a flush nor an unflush nor a migration is under way here; else 1 and the reasons.\n"
     "With --wait it asks again each second until that is so, also where no daemon listens yet, at most as\n"
     "long as --timeout says: 1 to 86400 seconds, here 300 if nothing is said.\n"},
    {"tasks",
     "",
     0,
     {},
     "the tree of running tasks: what each waits for, since when, at most how long",
     "Each line: the task's number and how long it lives, what it waits for and since when, how much longer at most,\n"
     "and the locks that it holds. \"idle\" is a task that waits for work, \"*\" one that may be cancelled.\n"},
    {"tasks cancel",
     "ID [--yes]",
     1,
     {"id"},
     "ends one task, and waits until it has",
     "ID is its number in `tasks`. What may be cancelled is an operation on a virtual machine: it ends as with a lost\n"
     "session, its locks are given back, and after a second the node looks at the machine's keys and decides anew. "
     "Its\n"
     "order stands: what is to end for good is changed with pvc vm. Asks first; --yes does not. Only root and the\n"
     "daemon's own user may. Exit status 5: it is told to end, and still does.\n"},
    {"vm list",
     "",
     0,
     {},
     "the virtual machines that belong to this node or run here",
     "State as stored, class of the guest as libvirt has it, and the operation that runs.\n"},
    {"vm show",
     "NAME|UUID",
     1,
     {"vm"},
     "one virtual machine: what is under way, and what would come next",
     "What its operation waits for, at most how long, and what it would wait for next on each answer.\n"},
    {"explain primary",
     "",
     0,
     {},
     "which rule decides about the primary role now",
     "The rule (C1 to C7) that applies on what this node sees, what follows from it and why, and the other\n"
     "coordinators. Nothing is done by asking.\n"},
    {"explain flush",
     "",
     0,
     {},
     "what a flush of this node would do with each virtual machine",
     "Where each would go and why, or that it would be shut down or left; each as if it were the first, by the\n"
     "figures of now. Nothing is written. Unlike the others this is read from ZooKeeper.\n"},
    {"explain networks",
     "",
     0,
     {},
     "the links of this node: what is not as it shall be, and what would be done",
     "What is still to be done to the host's own network, why it was not, each client network with its state, and\n"
     "settings of virtual functions that are not as their keys say. The steps are those that the daemon takes.\n"
     "Nothing is done by asking.\n"},
    {"explain fences",
     "",
     0,
     {},
     "why each node is or is not fenced now, what is missing, and what would be done next",
     "For each other node: what it is taken for, why, what is missing (a board that can be used, the fence lock, an\n"
     "operator's word), what is done next and when. On a coordinator; nothing is done by asking.\n"},
    {"explain capacity",
     "",
     0,
     {},
     "whose virtual machines would find no room elsewhere if their node died now",
     "For each node, as if it alone died: how many virtual machines it has to run, and how many of them would start "
     "on\n"
     "others, by the figures and the limit (fencing overcommit) that a recovery goes by; and each that would not, "
     "with\n"
     "the reason. On a coordinator; nothing is done by asking. This is read from ZooKeeper.\n"},
    {"fence list",
     "",
     0,
     {},
     "the fences that this node carried out, or tried to",
     "The youngest 50 of its records, each with how the node was found dead, what came of it, and how many virtual\n"
     "machines were started elsewhere. Records of other coordinators are on their disks.\n"},
    {"fence show",
     "ID|NODE",
     1,
     {"which"},
     "one fence: each command with its answer, the proof, each virtual machine",
     "By its id in `fence list`, or the youngest of a node. The file itself is /var/lib/pvc/fences/ID.json.\n"},
    {"fence probe",
     "NODE",
     1,
     {"which"},
     "asks the board of another node now: could it be fenced?",
     "Whether the board answers, how fast, with which cipher suite, and what it says of the power; nothing is\n"
     "switched. Coordinators do that by themselves every ten minutes, not in maintenance. A board that is silent "
     "takes\n"
     "20 seconds and more: see --timeout.\n"},
    {"fence retry",
     "NODE",
     1,
     {"which"},
     "a fence that failed is tried again now, and not after its pause",
     "For a node that is dead and was not seen off, once its board is mended: else this coordinator tries again after\n"
     "10, 20, 40 minutes, then each hour. All that a fence rests on holds as ever: it has its saving throws, and is\n"
     "not switched off if it checks in. Refused while the node is not dead, its fence is under way, or none by this\n"
     "node has failed. On the coordinator that tried it, as root. What it comes to: fence show NODE.\n"},
    {"fence confirm",
     "NODE",
     1,
     {"which"},
     "your word that a node is off: its machines are started elsewhere",
     "For a node that is off but could not be seen off: its board died with it, it lost power while it was shut down,\n"
     "or fence_intervals is 0. It holds in maintenance mode, too. IF THE NODE RUNS, ITS MACHINES RUN TWICE and\n"
     "destroy their disks: look at the machine, pull its plugs, and let nobody switch it on meanwhile.\n"
     "Refused while its heartbeat has moved within the time after which it is dead, or its board says on. Asks for\n"
     "the name again, on a terminal only. For scripts: --yes-the-node-is-off NODE, the same name. --although-on:\n"
     "the board says on, and is wrong. On a coordinator, as root. Here --timeout is 60 if nothing is said.\n"},
    {"daemon",
     "",
     0,
     {},
     "the process: version, memory, tasks, loop, log, threads, watches",
     "What the daemon knows of its own process. The loop's delay is how late a timer was: in the last second, and the\n"
     "longest since the start.\n"},
    {"config check",
     "[FILE]",
     0,
     {"file"},
     "whether the daemon would take a configuration file",
     "All problems at once, found by `pvcnoded --check-config` as it is installed; the running daemon is not asked.\n"
     "FILE: what PVCD_CONFIG_FILE names if nothing is said, else /etc/pvc/pvcnoded.yaml. Exit status 1: it would "
     "not.\n"},
    {"config show", "", 0, {}, "the settings that the running daemon uses", "Passwords are not shown.\n"},
    {"log level",
     "[LEVEL [SUBJECT]]",
     0,
     {"level", "subject"},
     "what is logged, or for an hour more or less of it",
     "LEVEL: error, warning, info, debug (each includes those before it), or default: back to what is configured.\n"
     "SUBJECT: only records about that, as a line of the log names it in front of its text: \"web\" of\n"
     "\"info: web - ...\". After an hour it is as before. Without LEVEL: what is set, and for how long.\n"
     "Only root and the daemon's own user may set it.\n"},
    {"log follow",
     "",
     0,
     {},
     "the log as it is written, until Ctrl-C",
     "What is logged from now on, at the level that is set. What is read too slowly is left out, counted and said. At\n"
     "most 4 may follow. With --json one object a line. It ends with the daemon, and the exit status is then 3.\n"},
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
    "Exit status: 0 answered, 1 refused, not found, not ready or not good, 2 usage error, 3 no daemon listens,\n"
    "4 not permitted, 5 no answer in time, 6 an answer that is not understood.\n";

std::string general_help() {
    std::string text =
        "Usage: pvcnodectl [OPTION...] COMMAND\n\nAsks the node daemon of this host what it does.\n\nCommands:\n";
    for (const auto& one : commands) {
        text += fmt::format("  {:<27}  {}\n", one.line(), one.summary);
    }
    return text + "\n" + std::string(common_options);
}

std::string help_of(const command& one) {
    return fmt::format("Usage: pvcnodectl [OPTION...] {}\n\n{}\n{}", one.line(), one.about, common_options);
}

// The longest command that these words begin with, and how many words that takes.
const command* find_command(std::span<const std::string> words, std::size_t& taken) {
    const command* found = nullptr;
    for (const auto& one : commands) {
        const auto parts = split(one.name, ' ');
        if (parts.size() > taken && words.size() >= parts.size() &&
            std::equal(parts.begin(), parts.end(), words.begin())) {
            taken = parts.size();
            found = &one;
        }
    }
    return found;
}

// "explain primary, explain flush" for "explain"; empty: these words begin none.
std::string commands_that_begin_with(const std::vector<std::string>& words) {
    const std::string begin = join(words, " ") + " ";
    std::string found;
    for (const auto& one : commands) {
        if (one.name.starts_with(begin)) {
            found += (found.empty() ? "" : ", ") + std::string(one.name);
        }
    }
    return found;
}

// The command line as it is read, before it is known what command it is for.
struct raw_options {
    std::vector<std::string> words;
    std::optional<std::int64_t> seconds;
    bool wants_help = false;
    bool waits = false;
    bool is_confirmed = false;
    std::optional<std::string> off;  // the node that is, as a script says
    bool although_on = false;
};

std::string problem_of_arguments(const command& of) {
    if (of.most() == 0) {
        return fmt::format("{} takes no argument", of.name);
    }
    if (of.least == 1 && of.most() == 1) {
        return fmt::format("{} takes one argument: {}", of.name, of.usage);
    }
    return fmt::format("{} takes at most {} argument{}: {}", of.name, of.most(), of.most() == 1 ? "" : "s", of.usage);
}

void take_seconds(const raw_options& from, options& out) {
    const std::int64_t most = from.waits ? wait_seconds_max : answer_seconds_max;
    if (from.seconds && (*from.seconds < 1 || *from.seconds > most)) {
        out.problem = fmt::format("--timeout takes a number of seconds from 1 to {}", most);
    } else if (from.seconds && from.waits) {
        out.wait_limit = std::chrono::seconds(*from.seconds);
    } else if (from.seconds) {
        out.asked.deadline = std::chrono::seconds(*from.seconds);
    }
}

void take_word(const raw_options& from, options& out) {
    if (from.off && *from.off != out.asked.parameters.at("which").as_string()) {
        out.problem = fmt::format("{} names another node", says_off);
    } else if (from.off) {
        out.is_confirmed = true;
        out.asked.parameters["is_off"] = *from.off;
    }
    out.asked.parameters["although_on"] = from.although_on;
    if (!from.seconds) {
        out.asked.deadline = std::chrono::seconds(answer_seconds_max);  // its board is asked
    }
}

void take_number(const std::string& word, options& out) {
    const auto number = word.starts_with('+') ? std::nullopt : parse_integer(word);
    if (!number || *number < 1) {
        out.problem = fmt::format("\"{}\" is no number of a task; pvcnodectl tasks shows them", ascii_only(word));
        return;
    }
    out.asked.parameters["id"] = *number;
}

void take_command(const raw_options& from, options& out) {
    std::size_t taken = 0;
    const command* found = find_command(from.words, taken);
    if (from.wants_help) {
        out.help = found == nullptr ? general_help() : help_of(*found);
        return;
    }
    if (from.words.empty()) {
        out.problem = "a command is missing; see pvcnodectl --help";
        return;
    }
    if (found == nullptr) {
        if (const std::string longer = commands_that_begin_with(from.words); !longer.empty()) {
            out.problem = fmt::format("{} what? {}; see pvcnodectl --help", join(from.words, " "), longer);
            return;
        }
        out.problem = fmt::format("unknown command \"{}\"; see pvcnodectl --help", ascii_only(join(from.words, " ")));
        return;
    }
    const std::size_t given = from.words.size() - taken;
    if (given < found->least || given > found->most()) {
        out.problem = problem_of_arguments(*found);
        return;
    }
    if (from.waits && found->name != "ready") {
        out.problem = "--wait is for ready";
        return;
    }
    if (from.is_confirmed && found->name != "tasks cancel") {
        out.problem = "--yes is for tasks cancel";
        return;
    }
    if ((from.off || from.although_on) && found->name != "fence confirm") {
        out.problem = fmt::format("{} is for fence confirm", from.off ? says_off : "--although-on");
        return;
    }
    if (out.as_json && found->name == "watch") {
        out.problem = "watch is for people; for programs: status --json";
        return;
    }
    // An empty word is a variable of a script that was not set.
    if (std::find(from.words.begin() + static_cast<std::ptrdiff_t>(taken), from.words.end(), "") != from.words.end()) {
        out.problem = fmt::format("{}: an argument is empty: {}", found->name, found->usage);
        return;
    }
    take_seconds(from, out);
    out.waits = from.waits;
    out.is_confirmed = from.is_confirmed;
    out.asked.name = found->name;
    for (std::size_t at = 0; at < given; ++at) {
        out.asked.parameters[found->parameters[at]] = from.words[taken + at];
    }
    if (found->name == "tasks cancel") {
        take_number(from.words[taken], out);
    } else if (found->name == "fence confirm") {
        take_word(from, out);
    }
}

}  // namespace

options parse_options(const std::vector<std::string>& arguments) {
    options out;
    out.asked.id = 1;
    raw_options raw;
    bool are_words = false;
    for (std::size_t at = 0; at < arguments.size(); ++at) {
        const std::string& argument = arguments[at];
        const bool takes_value =
            !are_words && (argument == "--socket" || argument == "--timeout" || argument == says_off);
        if (takes_value && at + 1 == arguments.size()) {
            out.problem = argument + " takes a value; see pvcnodectl --help";
            return out;
        }
        if (are_words || !argument.starts_with('-')) {
            raw.words.push_back(argument);
        } else if (argument == "--") {
            are_words = true;
        } else if (argument == "--json") {
            out.as_json = true;
        } else if (argument == "--wait") {
            raw.waits = true;
        } else if (argument == "--yes") {
            raw.is_confirmed = true;
        } else if (argument == says_off) {
            raw.off = arguments[++at];
        } else if (argument == "--although-on") {
            raw.although_on = true;
        } else if (argument == "--socket") {
            out.socket = arguments[++at];
        } else if (argument == "--timeout") {
            raw.seconds = parse_integer(arguments[++at]).value_or(0);
        } else if (argument == "--help" || argument == "-h") {
            raw.wants_help = true;
        } else if (argument == "--version" || argument == "-V") {
            out.wants_version = true;
            return out;
        } else {
            out.problem = fmt::format("unknown option \"{}\"; see pvcnodectl --help", ascii_only(argument));
            return out;
        }
    }
    take_command(raw, out);
    return out;
}

}  // namespace pvc::ctl
