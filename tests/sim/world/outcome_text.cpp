#include "sim/world/outcome_text.hpp"

#include "sim/subjects/domains/guests.hpp"

#include "pvcnoded/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace pvc::sim {

namespace {

constexpr std::size_t longest_value = 100;

bool is_time(std::string_view path) {
    return path.ends_with("/keepalive");
}

// "00000001-aaaa-4bbb-8ccc-000000000001" → "U1", wherever it stands.
std::string with_short_names(std::string text, cluster& world) {
    for (const auto number : guests_of(world).disks) {
        const std::string id = pvc::to_text(guest_id(number));
        for (auto at = text.find(id); at != std::string::npos; at = text.find(id, at)) {
            text.replace(at, id.size(), fmt::format("U{}", number));
        }
    }
    return text;
}

std::string shown_value(std::string_view path, std::string_view value) {
    if (path.starts_with("/domains/") && path.ends_with("/stats") && !value.empty()) {
        return "<statistics>";
    }
    if (is_time(path) && !value.empty()) {
        return "<time>";
    }
    if (path.starts_with("/logs/") && path.ends_with("/messages")) {
        return "<log>";
    }
    std::string text = ascii_only(value.substr(0, longest_value));
    return value.size() > longest_value ? text + fmt::format("... ({} bytes)", value.size()) : text;
}

// "/config/primary_node/<32 digits>__lock__0000000003" → "/config/primary_node/<lock>".
std::string shown_path(std::string_view path, std::string_view own_root) {
    std::string text(path);
    const auto slash = text.rfind('/');
    for (const std::string_view tag : {"__lock__", "__rlock__"}) {
        const auto at = text.find(tag, slash);
        if (at != std::string::npos) {
            text = text.substr(0, slash + 1) + (tag == "__lock__" ? "<lock>" : "<read lock>");
        }
    }
    const bool is_own = !own_root.empty() && text.starts_with(own_root) &&
                        (text.size() == own_root.size() || text[own_root.size()] == '/');
    return is_own ? "~" + text.substr(own_root.size()) : text;
}

}  // namespace

outcome_text::outcome_text(cluster& world)
    : world_(world), tree_before_(world.ensemble.dump()), written_(world.members.size()) {
    world_.ensemble.observe([this](const recorded_change& change) { on_change(change); });
    const auto note = [this](const std::string& machine, std::string_view whom, const std::string& call) {
        const member* one = world_.find(machine);
        if (one != nullptr) {
            written& of = written_[one->number - 1];
            close(of);
            end_repetition(of);
            of.lines.push_back(fmt::format("  {}: {}", whom, call));
            of.calls.push_back(call);
        }
    };
    world_.on_hypervisor_call.emplace_back(
        [note](const std::string& machine, const std::string& call) { note(machine, "libvirt", call); });
    world_.on_program.emplace_back(
        [note](const std::string& machine, const std::string& line) { note(machine, "program", line); });
}

void outcome_text::keep_joining() {
    for (auto& one : written_) {
        one.is_whole = one.is_whole || !one.has_joined;
    }
}

// Told right after the transaction: what it wrote is there.
void outcome_text::join(written& of, const std::string& root) {
    of.has_joined = true;
    if (of.is_whole) {
        return;
    }
    of.is_left_out = true;
    for (const auto& [path, value] : world_.ensemble.dump()) {
        if (path == root || path.starts_with(root + '/')) {
            joined_with_[path] = shown_value(path, value);
        }
    }
}

void outcome_text::end_repetition(written& of) {
    if (of.times > 0) {
        of.lines.push_back("  " + of.repeated + (of.times > 1 ? fmt::format(" x{}", of.times) : ""));
    }
    of.times = 0;
    of.repeated.clear();
}

void outcome_text::close(written& of) {
    if (of.open.empty()) {
        return;
    }
    if (std::exchange(of.is_left_out, false)) {
        of.lines.clear();
        of.open.clear();
        of.times = 0;
        of.repeated.clear();
        return;
    }
    static const std::vector<std::string> tick{"set ~/keepalive = <time>", "set ~/selfreset = off"};
    const bool is_tick = of.open == tick;
    // Every tick has them while a guest runs.
    const bool is_statistics =
        std::ranges::all_of(of.open, [](const auto& line) { return line.ends_with("= <statistics>"); });
    if (is_statistics) {
        of.open.clear();
        return;
    }
    const bool is_ship =
        of.open.size() == 1 && of.open.front().ends_with("= <log>") && of.open.front().starts_with("set");
    if (is_tick || is_ship) {
        const std::string name = is_tick ? "tick" : "ship the log";
        if (of.repeated != name) {
            end_repetition(of);
            of.repeated = name;
        }
        ++of.times;
    } else {
        end_repetition(of);
        for (std::size_t i = 0; i < of.open.size(); ++i) {
            of.lines.push_back((i == 0 ? "  " : "    and ") + of.open[i]);
        }
    }
    of.open.clear();
}

void outcome_text::on_change(const recorded_change& change) {
    if (change.owner == 0 || change.owner > written_.size() || change.what == recorded_kind::check) {
        return;
    }
    written& of = written_[change.owner - 1];
    if (change.zxid != of.open_zxid) {
        close(of);
        of.open_zxid = change.zxid;
    }
    const std::string root = world_.members[change.owner - 1]->root();
    std::string line(to_text(change.what));
    if (!change.path.empty()) {
        line += ' ' + shown_path(change.path, root);
    }
    const bool is_lock = change.path.find("lock__") != std::string::npos;
    if ((change.what == recorded_kind::create && !is_lock) || change.what == recorded_kind::set) {
        line += " = " + shown_value(change.path, change.data);
    }
    line = with_short_names(std::move(line), world_);
    of.operations.push_back(line);
    const bool joins = !of.has_joined && line == "set ~/daemonstate = run";
    of.open.push_back(std::move(line));
    if (joins) {
        join(of, root);
    }
}

std::size_t outcome_text::times_written(std::uint64_t member, std::string_view text) const {
    return static_cast<std::size_t>(std::ranges::count_if(written_[member - 1].operations,
                                                          [text](const auto& line) { return line.starts_with(text); }));
}

std::size_t outcome_text::times_called(std::uint64_t member, std::string_view text) const {
    return static_cast<std::size_t>(
        std::ranges::count_if(written_[member - 1].calls, [text](const auto& call) { return call.starts_with(text); }));
}

std::vector<std::string> outcome_text::lines() {
    std::vector<std::string> out;
    for (std::size_t i = 0; i < written_.size(); ++i) {
        close(written_[i]);
        end_repetition(written_[i]);
        out.push_back("writes of " + world_.members[i]->name());
        out.insert(out.end(), written_[i].lines.begin(), written_[i].lines.end());
    }
    out.emplace_back("tree");
    const auto now = world_.ensemble.dump();
    std::map<std::string, std::string> changed;
    for (const auto& [path, value] : now) {
        const auto before = tree_before_.find(path);
        const std::string text = shown_path(path, "") + " = " + shown_value(path, value);
        const auto joined = joined_with_.find(path);
        if (joined != joined_with_.end() && joined->second == shown_value(path, value)) {
            continue;
        }
        if (before == tree_before_.end()) {
            changed[path] = "  + " + text;
        } else if (before->second != value) {
            changed[path] = "  ~ " + text;
        }
    }
    for (const auto& [path, value] : tree_before_) {
        if (!now.contains(path)) {
            changed[path] = "  - " + shown_path(path, "");
        }
    }
    for (const auto& [path, line] : changed) {
        out.push_back(with_short_names(line, world_));
    }
    if (!guests_of(world_).disks.empty()) {
        out.emplace_back("guests");
    }
    for (const auto number : guests_of(world_).disks) {
        std::string where;
        for (const auto& one : world_.members) {
            if (one->node.settings.hypervisor && one->node.guests().guest(guest_id(number)).is_there()) {
                where += (where.empty() ? "" : ", ") + one->name() +
                         (one->node.guests().executes(guest_id(number)) ? "" : " (does not execute)");
            }
        }
        out.push_back(fmt::format("  U{} {}", number, where.empty() ? "off" : "on " + where));
    }
    for (auto& line : out) {
        line.resize(line.find_last_not_of(' ') + 1);
    }
    return out;
}

}  // namespace pvc::sim
