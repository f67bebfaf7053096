#include "pvcnoded/base/text.hpp"
#include "sim/subjects/domains/guests.hpp"
#include "sim/subjects/role/role.hpp"
#include "sim/world/judge.hpp"
#include "sim/world/outcome_text.hpp"
#include "sim/world/scenario.hpp"
#include "sim/world/trace_text.hpp"
#include "sim/world/words.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <sstream>

namespace pvc::sim {

namespace {

// Besides these a node has addresses of its own.
bool has_addresses(const cluster& world, const sim_kernel& of, const std::string& where) {
    const node_settings settings = world.members.empty() ? node_settings() : world.members.front()->node.settings;
    std::size_t found = 0;
    for (const auto& [device, address] : addresses_of_the_primary(settings)) {
        const bool is_there = of.has(std::string(device), *parse_host_address(address));
        if (device == where) {
            return is_there;
        }
        found += is_there ? 1 : 0;
    }
    return where == "all" ? found == 4 : found == 0;
}

bool link_holds(const sim_kernel& of, const condition& asked) {
    if (asked.what == condition::kind::address_is_there) {
        const auto which = *parse_host_address(asked.text);
        return asked.path.empty() ? !of.answers(which.address) : of.has(asked.path, which);
    }
    const auto seen = of.state();
    const auto* link = seen.find(asked.text);
    return asked.what == condition::kind::link_is_up ? link != nullptr && link->is_up : link == nullptr;
}

// The names of its rules, as their tags have them: "pvc1 1001 in ssh 0123456789abcdef" is "ssh".
bool chain_holds(const sim_filter& of, const condition& asked) {
    const auto* const chain = of.find(asked.text);
    if (chain == nullptr || asked.what == condition::kind::chain_is_gone) {
        return chain == nullptr && asked.what == condition::kind::chain_is_gone;
    }
    std::string all;
    for (const auto& rule : chain->rules) {
        std::string_view name = rule.is.tag;
        for (int word = 0; word < 3; ++word) {
            next_word(name);
        }
        name = trim(name.substr(0, std::min(name.rfind(' '), name.size())));
        all.append(all.empty() ? "" : ", ").append(name.empty() ? "?" : name);
    }
    return all == asked.path;
}

std::string to_text(const condition& asked) {
    std::string text = asked.is_negated ? "not " : "";
    const std::string times = asked.times ? fmt::format(" {} times", *asked.times) : "";
    using kind = condition::kind;
    switch (asked.what) {
        case kind::runs: return text + asked.node + " runs";
        case kind::beats: return text + asked.node + " beats";
        case kind::has_role: return text + asked.node + " is " + asked.text;
        case kind::has_state: return text + asked.node + " state " + asked.text;
        case kind::ended: return text + asked.node + " ended " + asked.text;
        case kind::logged: return text + asked.node + " logged " + asked.text + times;
        case kind::wrote: return text + asked.node + " wrote " + asked.text + times;
        case kind::called: return text + asked.node + " called " + asked.text + times;
        case kind::has_addresses: return text + asked.node + " has " + asked.text;
        case kind::link_is_up: return text + asked.node + " link " + asked.text + " up";
        case kind::chain_is: return text + asked.node + " chain " + asked.text + " = " + asked.path;
        case kind::chain_is_gone: return text + asked.node + " chain " + asked.text + " gone";
        case kind::link_is_gone: return text + asked.node + " link " + asked.text + " gone";
        case kind::address_is_there:
            return text + asked.node + " address " + asked.text + (asked.path.empty() ? " gone" : " on " + asked.path);
        case kind::value: return text + asked.path + " = " + asked.text;
        case kind::exists: return text + asked.path + " exists";
        case kind::missing: return text + asked.path + " missing";
        case kind::guest_runs: return text + fmt::format("guest {} runs {}", asked.guest, asked.node);
        case kind::guest_there: return text + fmt::format("guest {} there {}", asked.guest, asked.node);
        case kind::guest_off: return text + fmt::format("guest {} off", asked.guest);
        case kind::guest_key:
            return text + fmt::format("guest {} {} = {}", asked.guest, asked.path.substr(1), asked.text);
        case kind::power_is: return text + asked.node + " power " + asked.text;
        case kind::all_well: return text + "all is well";
    }
    return text;
}

// How scripts begin: of a node that joins meanwhile there is nothing new to tell.
bool is_preparation(const action& what) {
    return what.is("start") || what.is("define-guest");
}

class scenario_runner {
public:
    scenario_runner(const scenario& what, std::ostream* trace)
        : what_(what), world_(what.world), judge_(world_), outcome_(world_) {
        world_.ensemble.keep_trace(false);
        if (trace != nullptr) {
            tracer_.emplace(world_, *trace, [] { return true; });
        }
        for (const auto& one : world_.members) {
            node_beats_.emplace(one->name(), 0);
        }
        world_.ensemble.observe([this](const recorded_change& change) {
            const bool is_member = change.owner > 0 && change.owner <= world_.members.size();
            if (is_member && change.path == world_.members[change.owner - 1]->root() + "/keepalive") {
                ++node_beats_[world_.members[change.owner - 1]->name()];
            }
        });
    }

    scenario_result run() {
        scenario_result out;
        // A script that does nothing but start nodes is about how they join.
        const auto acts = [](const scenario_step& step) {
            return step.what == scenario_step::kind::act && !is_preparation(step.deed);
        };
        if (what_.has_whole_outcome || std::ranges::none_of(what_.steps, acts)) {
            outcome_.keep_joining();
        }
        for (const auto& step : what_.steps) {
            const std::uint64_t before = judge_.steps;
            out.failed = take(step);
            out.steps.push_back(judge_.steps - before);
            if (judge_.broken()) {
                out.failed = fmt::format("line {}: invariant {}: {}", step.line, judge_.broken()->invariant,
                                         judge_.broken()->what);
            }
            if (!out.failed.empty()) {
                break;
            }
        }
        out.outcome = outcome_.lines();
        out.hash = world_.hash.value();
        out.simulated = world_.now() - time_point{};
        return out;
    }

private:
    // Lets time pass until `done` or the moment `end`. True: done.
    template <class Done>
    bool pass(time_point end, Done done) {
        // A mark, so that time does not jump over the end.
        world_.later.after(end - world_.now(), [] {});
        while (!done()) {
            if (world_.now() >= end && world_.is_quiet()) {
                return false;
            }
            if (judge_.broken() || !world_.step()) {
                return done();
            }
            judge_.look();
        }
        return true;
    }

    [[nodiscard]] bool is_true(const condition& asked) {
        using kind = condition::kind;
        member* node = asked.node.empty() ? nullptr : world_.find(asked.node);
        foreign_node* other = asked.node.empty() ? nullptr : world_.find_foreign(asked.node);
        const auto key = [&](std::string_view suffix) {
            return world_.ensemble.get("/nodes/" + asked.node + std::string(suffix)).value_or("");
        };
        sim_machine_guests* const machine = asked.node.empty() ? nullptr : world_.hardware.centre.find(asked.node);
        bool holds = false;
        switch (asked.what) {
            case kind::runs:
                holds = (other != nullptr ? other->is_ready() : node->node.is_running() && node->node.is_ready()) &&
                        key("/daemonstate") == "run";
                break;
            case kind::has_role: holds = key("/routerstate") == asked.text; break;
            case kind::has_state: holds = key("/daemonstate") == asked.text; break;
            case kind::ended:
                holds = other != nullptr ? !other->is_running()
                                         : !node->node.is_running() && node->last_exit &&
                                               (asked.text.empty() || std::to_string(*node->last_exit) == asked.text);
                break;
            case kind::logged: holds = is_often(asked, node->node.times_logged(asked.text)); break;
            case kind::wrote: holds = is_often(asked, outcome_.times_written(node->number, asked.text)); break;
            case kind::called: holds = is_often(asked, outcome_.times_called(node->number, asked.text)); break;
            case kind::beats: holds = node_beats_[asked.node] > beats_before_; break;
            case kind::has_addresses:
                holds = has_addresses(world_, other != nullptr ? other->kernel : node->node.kernel, asked.text);
                break;
            case kind::link_is_up:
            case kind::link_is_gone:
            case kind::address_is_there:
                holds = link_holds(other != nullptr ? other->kernel : node->node.kernel, asked);
                break;
            case kind::chain_is:
            case kind::chain_is_gone: holds = chain_holds(node->node.filter_table, asked); break;
            case kind::value: holds = world_.ensemble.get(asked.path) == asked.text; break;
            case kind::exists: holds = world_.ensemble.exists(asked.path).has_value(); break;
            case kind::missing: holds = !world_.ensemble.exists(asked.path); break;
            case kind::guest_runs:
                holds = machine != nullptr && machine->executes(guest_id(asked.guest)) &&
                        world_.hardware.centre.running_copies(guest_id(asked.guest)) == 1;
                break;
            case kind::guest_there:
                holds = machine != nullptr && machine->guest(guest_id(asked.guest)).is_there();
                break;
            case kind::guest_off:
                holds = std::ranges::none_of(world_.members,
                                             [&](const auto& one) {
                                                 return one->node.settings.hypervisor &&
                                                        one->node.guests().guest(guest_id(asked.guest)).is_there();
                                             }) &&
                        std::ranges::none_of(world_.foreign_machines(), [&](sim_machine_guests* one) {
                            return one->guest(guest_id(asked.guest)).is_there();
                        });
                break;
            case kind::guest_key:
                holds =
                    world_.ensemble.get("/domains/" + pvc::to_text(guest_id(asked.guest)) + asked.path) == asked.text;
                break;
            case kind::power_is:
                holds = (other != nullptr ? other->is_powered() : node->is_powered) == (asked.text == "on");
                break;
            case kind::all_well: return is_well() != asked.is_negated;
        }
        return holds != asked.is_negated;
    }

    static bool is_often(const condition& asked, std::size_t times) {
        return asked.times ? times == *asked.times : times > 0;
    }

    // It asks for everything, so only now and then, and when nothing is ready.
    [[nodiscard]] bool is_well() {
        if (look_again_ == time_point{} || (world_.is_quiet() && world_.now() >= look_again_)) {
            const auto missing = judge_.missing();
            missing_ = missing.empty() ? "" : missing.front();
            if (world_.has_delayed()) {
                missing_ = "an action of this script is still to come";
            }
            look_again_ = world_.now() + 250ms;
        }
        return missing_.empty();
    }

    [[nodiscard]] std::string described(const condition& asked) const {
        const bool is_missing = asked.what == condition::kind::all_well && !asked.is_negated;
        return to_text(asked) + (is_missing ? ": " + missing_ : "");
    }

    // Empty: it went as the step wants.
    std::string take(const scenario_step& step) {
        const auto never = [] { return false; };
        beats_before_ = step.asked.node.empty() ? 0 : node_beats_[step.asked.node];
        look_again_ = {};
        switch (step.what) {
            case scenario_step::kind::act: {
                if (!is_preparation(step.deed)) {
                    outcome_.keep_joining();
                }
                auto done = world_.perform(step.deed);
                return done ? std::string() : fmt::format("line {}: {}", step.line, done.error().text());
            }
            case scenario_step::kind::wait: {
                const bool unused = pass(world_.now() + step.time, never);
                ignore(unused, "time only");
                return {};
            }
            case scenario_step::kind::expect:
                return is_true(step.asked) ? "" : fmt::format("line {}: not so: {}", step.line, described(step.asked));
            case scenario_step::kind::until:
                return pass(world_.now() + step.time, [&] { return is_true(step.asked); })
                           ? ""
                           : fmt::format("line {}: not within {}: {}", step.line, duration_text(step.time),
                                         described(step.asked));
            case scenario_step::kind::hold:
                return pass(world_.now() + step.time, [&] { return !is_true(step.asked); })
                           ? fmt::format("line {}: no longer so at {:.3f} s: {}", step.line,
                                         std::chrono::duration<double>(world_.now() - time_point{}).count(),
                                         described(step.asked))
                           : "";
        }
        return {};
    }

    const scenario& what_;
    cluster world_;
    judge judge_;
    outcome_text outcome_;
    std::optional<trace_text> tracer_;
    std::map<std::string, std::uint64_t> node_beats_;
    std::uint64_t beats_before_ = 0;
    std::string missing_;  // of what `all is well` demands, at the last look
    time_point look_again_{};
};

// All of it or nothing: the script must not be lost on a full disk.
bool replace(const std::string& file, const std::string& text, std::ostream& out) {
    const std::string fresh = file + ".new";
    std::ofstream made(fresh, std::ios::binary);
    made << text;
    made.close();
    std::error_code failed;
    const bool is_writable = ::access(file.c_str(), W_OK) == 0;
    if (made && is_writable) {
        std::filesystem::rename(fresh, file, failed);
    }
    if (!made || !is_writable || failed) {
        std::error_code ignored;
        std::filesystem::remove(fresh, ignored);
        out << file << ": the outcome could not be written\n";
        return false;
    }
    out << file << ": recorded\n";
    return true;
}

// The first line in which two texts differ, with what is around it.
std::string difference(const std::vector<std::string>& expected, const std::vector<std::string>& got) {
    std::size_t at = 0;
    while (at < expected.size() && at < got.size() && expected[at] == got[at]) {
        ++at;
    }
    std::string text;
    for (std::size_t i = at - std::min<std::size_t>(at, 4); i < at; ++i) {
        text += "      " + expected[i] + '\n';
    }
    for (std::size_t i = at; i < std::min(at + 6, expected.size()); ++i) {
        text += "    - " + expected[i] + '\n';
    }
    for (std::size_t i = at; i < std::min(at + 6, got.size()); ++i) {
        text += "    + " + got[i] + '\n';
    }
    return text;
}

}  // namespace

scenario_result run_scenario(const scenario& what, std::ostream* trace) {
    scenario_runner runner(what, trace);
    return runner.run();
}

bool run_scenario_file(const std::string& file, bool record, std::ostream* trace, std::ostream& out) {
    std::ifstream in(file, std::ios::binary);
    std::ostringstream read;
    read << in.rdbuf();
    if (!in || std::filesystem::is_directory(file)) {
        out << file << ": cannot be read\n";
        return false;
    }
    const std::string text = read.str();
    auto parsed = parse_scenario(text);
    if (!parsed) {
        out << file << ": " << parsed.error().text() << '\n';
        return false;
    }
    const auto outcome = run_scenario(*parsed, trace);
    if (!outcome.failed.empty()) {
        out << file << ": " << outcome.failed << "\n    see what happens: pvcnoded-sim scenario " << file
            << " --trace FILE\n";
        return false;
    }
    if (record) {
        std::string whole = text.substr(0, parsed->outcome_at);
        whole += whole.ends_with("\n\n") || whole.empty() ? "" : whole.ends_with('\n') ? "\n" : "\n\n";
        whole += "outcome\n";
        for (const auto& line : outcome.outcome) {
            whole += line + '\n';
        }
        return replace(file, whole, out);
    }
    const bool demands_outcome =
        parsed->outcome_at < text.size();  // what exploring found has none: its lines say what must be
    if (demands_outcome && outcome.outcome != parsed->outcome) {
        out << file << ": another outcome than expected (- expected, + got):\n"
            << difference(parsed->outcome, outcome.outcome) << "    if it is right: pvcnoded-sim scenario " << file
            << " --record, and read the difference\n";
        return false;
    }
    out << fmt::format("{}: ok, {:.1f} s simulated, hash {:016x}\n", file,
                       std::chrono::duration<double>(outcome.simulated).count(), outcome.hash);
    return true;
}

}  // namespace pvc::sim
