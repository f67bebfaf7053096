#include "sim/world/sweep.hpp"

#include "pvcnoded/base/random.hpp"
#include "sim/world/scenario.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <map>
#include <ostream>
#include <vector>

namespace pvc::sim {

namespace {

// How it comes to the moment before, part by part, and what is done then.
struct operation {
    std::string_view name;
    std::array<std::string_view, 3> before;
    std::string_view deed;
};

constexpr std::string_view three_nodes =
    "define-guest hv1 1 acpi\n"
    "start hv1\nstart hv2\nstart hv3\n"
    "until hv1 runs within 60s\nuntil hv2 runs within 60s\nuntil hv3 runs within 60s\n";
constexpr std::string_view by_shutdown = "method-of-guest 1 shutdown\n";
constexpr std::string_view on = "set-guest 1 start\nuntil guest 1 runs hv1 within 10s\nwait 2s\n";
constexpr std::string_view away = "place-guest hv2 1 migrate\nuntil guest 1 state = start within 20s\nwait 2s\n";

constexpr std::string_view two_ready_nodes =
    "define-guest hv1 1 acpi\ndefine-guest hv1 2 acpi\n"
    "start hv1\nstart hv2\n"
    "until hv1 runs within 60s\nuntil hv2 runs within 60s\n"
    "order-node hv1 ready\norder-node hv2 ready\n"
    "until /nodes/hv1/domainstate = ready within 10s\nuntil /nodes/hv2/domainstate = ready within 10s\n"
    "until /nodes/hv2/memfree = 8000 within 10s\n";
constexpr std::string_view both_on =
    "set-guest 1 start\nset-guest 2 start\n"
    "until guest 1 runs hv1 within 10s\nuntil guest 2 runs hv1 within 10s\nwait 2s\n";
constexpr std::string_view emptied =
    "order-node hv1 flush\nuntil /nodes/hv1/domainstate = flushed within 60s\nwait 2s\n";

constexpr std::string_view one_node = "define-guest hv1 1 acpi\nstart hv1\nuntil hv1 runs within 60s\n";

constexpr std::array operations{
    operation{"start", {three_nodes}, "set-guest 1 start"},
    operation{"stop", {three_nodes, on}, "set-guest 1 stop"},
    operation{"shutdown", {three_nodes, on}, "set-guest 1 shutdown"},
    operation{"restart", {three_nodes, on}, "set-guest 1 restart"},
    operation{"live", {three_nodes, on}, "place-guest hv2 1 migrate"},
    operation{"live-only", {three_nodes, on}, "place-guest hv2 1 migrate-live"},
    operation{"offline", {three_nodes, by_shutdown, on}, "place-guest hv2 1 migrate"},
    operation{"unmigrate", {three_nodes, on, away}, "place-guest hv1 1 unmigrate"},
    operation{"flush", {two_ready_nodes, both_on}, "order-node hv1 flush"},
    operation{"unflush", {two_ready_nodes, both_on, emptied}, "order-node hv1 ready"},
    operation{"delete", {three_nodes, on}, "undefine-guest 1"},
    operation{"hand-over", {three_nodes, on}, "make-primary hv2"},
    operation{"registration", {one_node, on}, "start hv2"},
};

// A line of a script; `@` is each of the first two nodes in turn. `stride`: what strikes a later call whenever it was
// ordered need not be tried after each step.
struct fault {
    std::string_view line;
    std::uint64_t stride = 1;
};

constexpr std::string_view machine = "/domains/00000001-aaaa-4bbb-8ccc-000000000001";

constexpr std::array faults{
    // a node and its process
    fault{"kill @ for 3s"},
    fault{"power-off @ for 20s"},
    fault{"pause @ for 3s"},
    fault{"pause @ for 25s"},
    fault{"pause-with-answer @ for 25s"},
    fault{"terminate @"},
    // its way to ZooKeeper
    fault{"cut @ for 3s"},
    fault{"cut @ for 20s"},
    fault{"drop @"},
    fault{"silence @ for 20s"},
    fault{"expire @"},
    fault{"close-session @"},
    fault{"answer-delay @ 2s for 20s"},
    fault{"watch-delay @ 2s for 20s"},
    fault{"lag @ 2s for 20s"},
    fault{"hold-answers @ for 5s"},
    fault{"drop-next @"},
    fault{"lose-answer @"},
    // its machine
    fault{"suspend @ 30s"},
    fault{"hang-disk @ for 40s"},
    fault{"fill-pool @ for 5s"},
    fault{"stop-libvirtd @ for 5s"},
    fault{"stop-libvirtd @ for 40s"},
    fault{"kill-libvirtd @ for 3s"},
    fault{"cut-hypervisor @ for 5s"},
    fault{"cut-hypervisor @ for 40s"},
    fault{"break-storage @ for 20s"},
    fault{"break-names @ for 20s"},
    fault{"few-threads @ 1 for 40s"},
    // single calls
    fault{"fail-call @ create", 8},
    fault{"fail-call @ destroy", 8},
    fault{"fail-call @ shutdown", 8},
    fault{"fail-call @ resume", 8},
    fault{"fail-call @ list", 8},
    fault{"fail-call @ status", 8},
    fault{"fail-call @ abort_migration", 8},
    fault{"fail-call @ ask", 8},
    fault{"fail-call @ live_xml", 8},
    fault{"hang-call @ create", 8},
    fault{"hang-call @ destroy", 8},
    fault{"hang-call @ shutdown", 8},
    fault{"hang-call @ list", 8},
    fault{"hang-call @ status", 8},
    fault{"hang-call @ migrate", 8},
    fault{"hang-call @ ask", 8},
    fault{"late-call @ 3s create", 8},
    fault{"late-call @ 3s destroy", 8},
    fault{"late-call @ 3s list", 8},
    fault{"late-call @ 3s status", 8},
    fault{"late-call @ 3s migrate", 8},
    fault{"late-call @ 3s ask", 8},
    // the servers
    fault{"stop-servers for 3s"},
    fault{"stop-servers for 14s"},
    fault{"freeze-servers for 5s"},
    fault{"freeze-servers for 20s"},
    // clients, and somebody's mistakes
    fault{"set-guest 1 start"},
    fault{"set-guest 1 stop"},
    fault{"set-guest 1 shutdown"},
    fault{"set-guest 1 restart"},
    fault{"set-guest 1 disable"},
    fault{"put /domains/1/state stop"},
    fault{"put /domains/1/state start"},
    fault{"put /domains/1/node hv2"},
    fault{"place-guest hv2 1 migrate"},
    fault{"place-guest hv2 1 flush"},
    fault{"place-guest hv1 1 move"},
    fault{"undefine-guest 1"},
    fault{"order-node @ flush"},
    fault{"order-node @ ready"},
    fault{"make-primary @"},
    fault{"method-of-guest 1 live"},
    fault{"delete /domains/1/lastnode"},
    fault{"delete /domains/1/node_autostart"},
    fault{"delete /domains/1/migration_method"},
    fault{"delete /domains/1/migrate_sync_lock"},
    fault{"delete /domains/1/failedreason"},
    fault{"delete /domains/1/vnc"},
    fault{"hold-lock /domains/1/state for 20s"},
    fault{"break-lock /domains/1/state"},
    fault{"break-lock /domains/1/node"},
    fault{"break-lock /domains/1/migrate_sync_lock"},
    fault{"put /nodes/hv2/daemonstate dead"},
    // guests
    fault{"power-off-guest 1"},
    fault{"crash-guest 1"},
    fault{"fail-migration 1 connect", 8},
    fault{"fail-migration 1 prepare", 8},
    fault{"fail-migration 1 copy", 8},
    fault{"fail-migration 1 reply", 8},
    fault{"fail-migration 1 reply-gone", 8},
};

struct chosen_fault {
    std::string line;
    std::uint64_t stride;
};

std::string replaced(std::string text, std::string_view what, std::string_view by) {
    for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size())) {
        text.replace(at, what.size(), by);
    }
    return text;
}

std::vector<chosen_fault> lines_of_faults(std::string_view only) {
    std::vector<chosen_fault> all;
    for (const auto& one : faults) {
        const std::string line = replaced(std::string(one.line), "/domains/1", machine);
        const bool is_of_nodes = line.find('@') != std::string::npos;
        for (const std::string_view node : {"hv1", "hv2"}) {
            if (is_of_nodes || node == "hv1") {
                all.push_back({replaced(line, "@", node), one.stride});
            }
        }
    }
    std::erase_if(all, [only](const auto& one) { return one.line.find(only) == std::string::npos; });
    return all;
}

struct moment {
    std::string line;
    std::uint64_t step;
};

duration longest(const std::vector<moment>& strikes) {
    duration most{};
    for (const auto& one : strikes) {
        const auto what = parse_action(one.line);
        if (what) {
            most = std::max({most, what->lasts.value_or(duration::zero()), what->amount});
        }
    }
    return most;
}

std::string script_of(const operation& of, const std::vector<moment>& strikes, std::uint64_t seed) {
    std::string text = fmt::format("# Sweep: {}", of.name);
    for (const auto& one : strikes) {
        text += fmt::format(", {} after {} steps", replaced(one.line, machine, "/domains/1"), one.step);
    }
    text += of.before.front() == three_nodes ? "\nnodes hv1 hv2 hv3\n" : "\nnodes hv1 hv2\n";
    text += "setting all hypervisor on\n";
    if (seed != 0) {
        text += fmt::format("shuffle {}\n", seed);
    }
    for (const auto part : of.before) {
        text += part;
    }
    for (const auto& one : strikes) {
        text += fmt::format("{} after {} steps\n", one.line, one.step);
    }
    text += of.deed;
    text += '\n';
    if (!strikes.empty()) {
        text += fmt::format("wait {}\n", duration_text(longest(strikes) + 8s));
    }
    // All others end by themselves. What was stopped and has not ended yet is started by the second word.
    for (const std::string_view pause : {"wait 20s\n", "wait 120s\n"}) {
        for (const auto& one : strikes) {
            if (one.line.starts_with("terminate ")) {
                text += fmt::format("{}start {}\n", pause, one.line.substr(std::string_view("terminate ").size()));
            }
        }
    }
    return text + "until all is well within 420s\nhold all is well for 15s\n";
}

// What was found, without the numbers in it: findings that differ only in those are of one kind.
std::string kind_of(std::string_view failed) {
    const auto colon = failed.find(": ");
    std::string text(colon == std::string_view::npos ? failed : failed.substr(colon + 2));
    std::erase_if(text, [](char c) { return c >= '0' && c <= '9'; });
    return text.substr(0, 90);
}

// An assertion of the daemon ends the process: the script must not be lost with it.
char script_under_way[8192];

extern "C" void show_script(int /*signal*/) {
    const std::string_view text(script_under_way);
    const auto written = ::write(STDOUT_FILENO, text.data(), text.size());
    static_cast<void>(written);
    ::_exit(1);
}

class sweeper {
public:
    sweeper(const sweep_settings& settings, std::ostream& out)
        : settings_(settings), out_(out), faults_(lines_of_faults(settings.fault)) {}

    [[nodiscard]] bool has_faults() const { return !faults_.empty(); }

    // True: at least one operation has this name.
    bool run() {
        std::vector<std::pair<const operation*, std::uint64_t>> chosen;
        for (const auto& one : operations) {
            if (settings_.operation.empty() || settings_.operation == one.name) {
                chosen.emplace_back(&one, length_of(one));
            }
        }
        for (const auto& [what, length] : chosen) {
            singles(*what, length);
        }
        random_source random(settings_.seed + 1);
        for (std::uint64_t i = 0; i < settings_.pairs && !chosen.empty(); ++i) {
            const auto& [what, length] = chosen[random.below(chosen.size())];
            std::vector<moment> strikes;
            for (int k = 0; k < 2; ++k) {
                const auto& which = faults_[random.below(faults_.size())];
                strikes.push_back({which.line, random.below(length + 1)});
            }
            std::ranges::sort(strikes, {}, &moment::step);
            try_one(*what, strikes);
        }
        return !chosen.empty();
    }

    int report() {
        for (const auto& [kind, count] : kinds_) {
            if (count > settings_.scripts) {
                out_ << fmt::format("{} times: {}\n", count, kind);
            }
        }
        out_ << fmt::format("{} passed, {} failed\n", passed_, failed_);
        return failed_ == 0 ? 0 : 1;
    }

private:
    // How many steps it takes without a fault; that it comes about at all is the first run of each.
    std::uint64_t length_of(const operation& of) {
        const auto parsed = parse_scenario(script_of(of, {}, settings_.seed));
        if (!parsed) {
            count({parsed.error().text()}, script_of(of, {}, settings_.seed), of);
            return 0;
        }
        const auto came = run_scenario(*parsed);
        if (settings_.part == 1 || !came.failed.empty()) {
            count(came.failed, script_of(of, {}, settings_.seed), of);
        }
        const auto until = static_cast<std::ptrdiff_t>(came.steps.size()) - 2;
        return until >= 0 ? came.steps[static_cast<std::size_t>(until)] : 0;
    }

    void singles(const operation& of, std::uint64_t length) {
        for (std::size_t f = 0; f < faults_.size(); ++f) {
            // Each fault begins elsewhere, so that a thinned sweep does not look at the same moments again and again.
            const std::uint64_t step = settings_.every * faults_[f].stride;
            for (std::uint64_t at = f * 37 % step; at <= length; at += step) {
                try_one(of, {{faults_[f].line, at}});
            }
        }
    }

    void try_one(const operation& of, const std::vector<moment>& strikes) {
        if (number_++ % settings_.parts + 1 != settings_.part) {
            return;
        }
        const std::string script = script_of(of, strikes, settings_.seed);
        const std::size_t size = std::min(script.size(), sizeof script_under_way - 1);
        script.copy(script_under_way, size);
        script_under_way[size] = '\0';
        const auto parsed = parse_scenario(script);
        count(parsed ? run_scenario(*parsed).failed : parsed.error().text(), script, of);
    }

    void count(const std::string& failed, const std::string& script, const operation& of) {
        if (failed.empty()) {
            ++passed_;
            return;
        }
        ++failed_;
        if (++kinds_[fmt::format("{}: {}", of.name, kind_of(failed))] <= settings_.scripts) {
            out_ << fmt::format("FOUND by this script: {}\n{}\n", failed, script);
            out_.flush();
        }
    }

    sweep_settings settings_;
    std::ostream& out_;
    std::vector<chosen_fault> faults_;
    std::uint64_t number_ = 0;
    std::uint64_t passed_ = 0;
    std::uint64_t failed_ = 0;
    std::map<std::string, std::uint64_t> kinds_;
};

}  // namespace

int sweep(const sweep_settings& settings, std::ostream& out, std::ostream& error) {
    sweeper one(settings, out);
    if (!one.has_faults()) {
        error << "no line of a fault contains \"" << settings.fault << "\" (pvcnoded-sim list has all)\n";
        return 2;
    }
    std::signal(SIGABRT, show_script);
    if (!one.run()) {
        error << "no operation is called " << settings.operation << " (pvcnoded-sim list has all)\n";
        return 2;
    }
    return one.report();
}

void list_sweep(std::ostream& out) {
    out << "operations of a sweep:\n ";
    for (const auto& one : operations) {
        out << ' ' << one.name;
    }
    out << "\nfaults of a sweep (@: of each of two nodes):\n";
    for (const auto& one : faults) {
        out << "  " << one.line << '\n';
    }
}

}  // namespace pvc::sim
