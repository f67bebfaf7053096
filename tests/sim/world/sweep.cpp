#include "sim/world/sweep.hpp"

#include "pvcnoded/base/random.hpp"
#include "sim/world/registry.hpp"
#include "sim/world/scenario.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <map>
#include <ostream>
#include <vector>

namespace pvc::sim {

namespace {

constexpr std::string_view machine = "/domains/00000001-aaaa-4bbb-8ccc-000000000001";

struct chosen_fault {
    std::string line;
    std::uint64_t stride;
    std::string_view only;

    [[nodiscard]] bool is_for(const sweep_operation& of) const { return of.name.starts_with(only); }
};

std::string replaced(std::string text, std::string_view what, std::string_view by) {
    for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size())) {
        text.replace(at, what.size(), by);
    }
    return text;
}

std::vector<chosen_fault> lines_of_faults(std::string_view only) {
    std::vector<chosen_fault> all;
    for (const auto& one : all_subjects().sweep_faults()) {
        const std::string line = replaced(std::string(one.line), "/domains/1", machine);
        const bool is_of_nodes = line.find('@') != std::string::npos;
        for (const std::string_view node : {"hv1", "hv2"}) {
            if (is_of_nodes || node == "hv1") {
                all.push_back({replaced(line, "@", node), one.stride, one.only});
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

std::string script_of(const sweep_operation& of, const std::vector<moment>& strikes, std::uint64_t seed) {
    std::string text = fmt::format("# Sweep: {}", of.name);
    for (const auto& one : strikes) {
        text += fmt::format(", {} after {} steps", replaced(one.line, machine, "/domains/1"), one.step);
    }
    text += fmt::format("\nnodes {}\nsetting all hypervisor on\n", of.nodes);
    if (seed != 0) {
        text += fmt::format("shuffle {}\n", seed);
    }
    text += of.before;
    for (const auto& one : strikes) {
        text += fmt::format("{} after {} steps\n", one.line, one.step);
    }
    text += of.deed;
    text += '\n';
    if (!strikes.empty()) {
        text += fmt::format("wait {}\n", duration_text(longest(strikes) + 8s));
    }
    // All others end by themselves. What was stopped and has not ended yet is started by the second word; what strikes
    // an operation that is long by itself may come after that.
    const bool is_long = of.stride > 1;
    for (const std::string_view pause : {"wait 20s\n", "wait 120s\n", "wait 600s\n"}) {
        if (pause == "wait 600s\n" && !is_long) {
            continue;
        }
        for (const auto& one : strikes) {
            if (one.line.starts_with("terminate ")) {
                text += fmt::format("{}start {}\n", pause, one.line.substr(std::string_view("terminate ").size()));
            }
        }
    }
    // Nothing strikes what is well already.
    if (is_long && !strikes.empty()) {
        text += "wait 300s\n";
    }
    // What is long by itself may have a call that never ends in its last step, which is given up after ten minutes, and
    // a fence that failed is tried again after ten and twenty.
    return text + fmt::format("until all is well within {}\nhold all is well for 15s\n", is_long ? "3000s" : "720s");
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
        std::vector<std::pair<const sweep_operation*, std::uint64_t>> chosen;
        for (const auto& one : all_subjects().sweep_operations()) {
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
                if (!which.is_for(*what)) {
                    continue;
                }
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
    std::uint64_t length_of(const sweep_operation& of) {
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

    void singles(const sweep_operation& of, std::uint64_t length) {
        for (std::size_t f = 0; f < faults_.size(); ++f) {
            // Each fault begins elsewhere, so that a thinned sweep does not look at the same moments again and again.
            if (!faults_[f].is_for(of)) {
                continue;
            }
            const std::uint64_t thinned = settings_.every > 1 ? settings_.every * of.stride : 1;
            const std::uint64_t step = thinned * faults_[f].stride;
            for (std::uint64_t at = f * 37 % step; at <= length; at += step) {
                try_one(of, {{faults_[f].line, at}});
            }
        }
    }

    void try_one(const sweep_operation& of, const std::vector<moment>& strikes) {
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

    void count(const std::string& failed, const std::string& script, const sweep_operation& of) {
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
    for (const auto& one : all_subjects().sweep_operations()) {
        out << ' ' << one.name;
    }
    out << "\nfaults of a sweep (@: of each of two nodes):\n";
    for (const auto& one : all_subjects().sweep_faults()) {
        out << "  " << one.line << '\n';
    }
}

}  // namespace pvc::sim
