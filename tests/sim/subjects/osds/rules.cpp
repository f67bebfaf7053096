// What a command about OSDs must never do: write to a device that it did not name or that somebody uses, or take an OSD
// away of which Ceph did not say that it may go. And what it must do: tell the truth, and give its lock back.
#include "sim/subjects/osds/osds.hpp"
#include "sim/world/judge.hpp"

#include "pvcnoded/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pvc::sim {

namespace {

using namespace std::chrono_literals;

// From the look at which device it is to what is written to it: 5 s until the guard of the command is asked, and 5 s of
// asking it.
constexpr duration look_lasts = 10s;
// A command is taken up within half a second, and whoever is before it has its lock for a second more (storage.md 8.1).
constexpr duration taken_up = 6s;

// What a machine does with the command that it has the lock for.
struct command_run {
    std::string text;
    std::string verb;
    std::vector<std::string> given;
    std::string id;  // of the OSD; of osd_add none
    bool is_forced = false;
    std::string named;     // the device, as the daemon asks for it
    block_pointer device;  // which that was at the first look
    std::string serial;
    block_pointer part;                            // that it made on it
    std::map<std::string, std::string> keys;       // of the OSD, when it began
    std::map<std::string, time_point> identified;  // by path: the last look at which device it is
    std::map<std::string, time_point> looked;      // the last look of any kind
    std::map<std::string, time_point> tried;       // to have it alone
    bool is_safe = false;                          // Ceph said so last
    bool has_erased = false;
};

struct osd_watch {
    std::map<std::string, command_run> runs;  // by machine
    std::string sent;                         // the command that nobody has taken up yet
    time_point sent_at{};
    std::map<std::string, time_point> locked;  // lock children: since when
    std::map<std::string, std::uint64_t> done;
};

std::map<std::string, std::string> keys_of_osd(cluster& world, const std::string& id) {
    std::map<std::string, std::string> all;
    for (const std::string key : {"/node", "/device", "/fsid/osd", "/fsid/cluster", "/lvm/vg", "/lvm/lv"}) {
        all[key] = world.ensemble.get("/ceph/osds/" + id + key).value_or("");
    }
    return all;
}

command_run run_of(cluster& world, const std::string& text) {
    command_run run;
    run.text = text;
    std::string_view rest = text;
    run.verb = std::string(rest.substr(0, rest.find(' ')));
    rest.remove_prefix(std::min(run.verb.size() + 1, rest.size()));
    for (const auto part : split(rest, ',')) {
        run.given.emplace_back(trim(part));
    }
    if (run.verb == "osd_remove") {
        run.id = run.given.front();
        run.is_forced = run.given.size() > 1 && run.given[1] == "True";
    } else if ((run.verb == "osd_replace" || run.verb == "osd_refresh") && run.given.size() > 1) {
        run.id = run.given[1];
    }
    if (!run.id.empty()) {
        run.keys = keys_of_osd(world, run.id);
    }
    return run;
}

// Its own OSD, which such a command may erase.
bool carries_own_osd(const command_run& run, const sim_block& disk) {
    if (!disk.group || !disk.group->osd || run.id.empty()) {
        return false;
    }
    const auto& osd = *disk.group->osd;
    return std::to_string(osd.id) == run.id && osd.fsid == run.keys.at("/fsid/osd") &&
           osd.cluster == run.keys.at("/fsid/cluster");
}

time_point at_or_never(const std::map<std::string, time_point>& all, const std::string& path) {
    const auto found = all.find(path);
    return found == all.end() ? time_point{} : found->second;
}

// Empty: nobody uses it who did so already when it was looked at last.
std::string somebody_uses(const command_run& run, const sim_block& block, const std::string& path) {
    const auto was_seen = [&](const std::map<std::string, time_point>& looks) {
        return block.others_changed < at_or_never(looks, path);  // at the same moment: nobody knows what came first
    };
    const bool is_hidden = block.use == disk_use::mounted_elsewhere || block.use == disk_use::held;
    if (block.use != disk_use::none && was_seen(is_hidden ? run.tried : run.looked)) {
        return "somebody uses it";
    }
    if (!was_seen(run.looked)) {
        return {};
    }
    if (block.group && !carries_own_osd(run, block) && !block.group->name.empty()) {
        return "it belongs to the group " + block.group->name;
    }
    const bool has_own_table = run.has_erased && block.others_changed < at_or_never(run.looked, path);
    for (const auto& part : block.parts) {
        if (part != run.part && !part->content.empty()) {
            return "a partition of it has something on it";
        }
    }
    return !block.table.empty() && !has_own_table ? "it has a partition table" : "";
}

// ---- each program of a daemon

// Empty: this is the device that the command meant.
std::string another_device(cluster& world, command_run& run, const tool_run& seen) {
    auto& shelf = osds_of(world).shelf(seen.machine);
    const auto disk = seen.device ? shelf.disk_of(seen.device) : nullptr;
    if (!disk) {
        return {};  // nothing is written
    }
    if (run.verb == "osd_remove") {
        const bool is_late = disk->others_changed > at_or_never(run.identified, seen.path);
        return carries_own_osd(run, *disk) || is_late ? "" : "it does not carry the OSD " + run.id + " of the keys";
    }
    if (!run.device) {
        return "it was never looked at";
    }
    const bool is_part = seen.device != disk;
    if (is_part && seen.device != run.part) {
        return "it is a partition that this command did not make";
    }
    if (disk == run.device && disk->serial == run.serial) {
        return {};
    }
    // Turned since the last look, which cannot be long ago.
    const std::string& path = is_part ? run.named : seen.path;
    const time_point identified = at_or_never(run.identified, path);
    const bool is_late = shelf.renamed(path) >= identified && world.now() - identified <= look_lasts;
    return is_late ? "" : fmt::format("the command named {}, which was {}", run.named, run.device->name);
}

void look_at(cluster& world, command_run& run, const tool_run& seen) {
    const std::string& tool = seen.arguments.front();
    if (seen.path.empty() || !seen.device) {
        return;
    }
    if (tool == "lsblk") {
        run.identified[seen.path] = world.now();
        if (!run.device) {
            run.device = osds_of(world).shelf(seen.machine).disk_of(seen.device);
            run.named = seen.path;
            run.serial = run.device->serial;
        }
    }
    if (tool == "lsblk" || tool == "blkid") {
        run.looked[seen.path] = world.now();
    }
    if (tool == "wipefs") {
        run.tried[seen.path] = world.now();
    }
}

void follow_program(judge& of, const tool_run& seen) {
    cluster& world = of.world;
    auto& runs = of.state<osd_watch>().runs;
    const auto found = runs.find(seen.machine);
    const auto line = join(seen.arguments, " ");
    const auto wrong = [&](std::string_view rule, std::string_view why) {
        of.say(rule, fmt::format("{} runs `{}` for `{}`: {}", seen.machine, line,
                                 found == runs.end() ? "" : found->second.text, why));
    };
    if (found == runs.end()) {
        if (seen.writes) {
            wrong("named_device", "there is no command");
        }
        return;
    }
    auto& run = found->second;
    if (!seen.writes) {
        look_at(world, run, seen);
    }
    const bool takes_away = seen.is("ceph osd destroy") || seen.is("ceph osd purge") || seen.is("systemctl stop");
    const bool is_zap = seen.is("ceph-volume lvm zap") && run.verb == "osd_remove";
    if (takes_away || is_zap) {
        const bool is_there = osds_of(world).entries.contains(static_cast<int>(parse_integer(run.id).value_or(-1)));
        if (is_there && !run.is_safe) {
            wrong("osds_are_safe_to_go", "Ceph did not say that this is safe");
        }
        if (const auto& node = run.keys["/node"]; trim(node) != seen.machine) {
            wrong("osds_are_safe_to_go", "it is an OSD of node " + node);
        }
    }
    if (!seen.writes) {
        return;
    }
    if (seen.is("sgdisk") && seen.device) {
        run.has_erased = true;
    }
    if ((seen.is("pvcreate") || seen.is("vgcreate")) && run.device && run.part == nullptr &&
        !run.device->parts.empty() && run.has_erased) {
        run.part = run.device->parts.front();
    }
    if (const auto why = another_device(world, run, seen); !why.empty()) {
        wrong("named_device", why);
        return;
    }
    // Turned since the last look: whoever has it now cannot be seen.
    const auto disk = seen.device ? osds_of(world).shelf(seen.machine).disk_of(seen.device) : nullptr;
    if (!disk || (run.device && disk != run.device)) {
        return;
    }
    const bool is_first = !run.has_erased || seen.is("sgdisk --clear") || seen.is("ceph-volume lvm zap");
    if (const auto why = is_first ? somebody_uses(run, *seen.device, seen.path) : std::string(); !why.empty()) {
        wrong("named_device", why);
    }
}

void listen_to_programs(judge& of) {
    auto& osds = osds_of(of.world);
    if (!osds.is_on) {
        return;
    }
    osds.on_run.emplace_back([&of](const tool_run& seen) {
        follow_program(of, seen);
        ++of.transitions["osd program " + seen.arguments.front()];
    });
    osds.on_safety.emplace_back([&of](const std::string& machine, int id, int status) {
        ++of.transitions[fmt::format("osd safety {}", status)];
        auto& runs = of.state<osd_watch>().runs;
        if (const auto found = runs.find(machine); found != runs.end() && found->second.id == std::to_string(id)) {
            found->second.is_safe = status == 0;
        }
    });
}

// ---- what it says

bool has_osd_verb(std::string_view text) {
    static constexpr std::array<std::string_view, 5> verbs{"osd_add ", "osd_replace ", "osd_refresh ", "osd_remove ",
                                                           "db_vg_add "};
    return std::ranges::any_of(verbs, [text](std::string_view verb) { return text.starts_with(verb); });
}

// The OSD that stands on the disk which the command named, as the keys of the tree must say it.
std::string untrue_success(judge& of, const std::string& machine, const command_run& run) {
    cluster& world = of.world;
    if (run.verb == "osd_remove") {
        return world.ensemble.exists("/ceph/osds/" + run.id) ? "the OSD is in the tree still" : "";
    }
    if (!run.device || run.device->others_changed > at_or_never(run.identified, run.named) ||
        osds_of(world).shelf(machine).renamed(run.named) >= at_or_never(run.identified, run.named)) {
        return run.device ? "" : "its device was never looked at";
    }
    if (run.verb == "db_vg_add") {
        const bool has_group = !run.device->parts.empty() && run.device->parts.front()->group &&
                               run.device->parts.front()->group->name == "osd-db";
        return has_group ? "" : "no group osd-db stands on its partition";
    }
    if (!run.device->group || !run.device->group->osd) {
        return "no OSD stands on its device";
    }
    const auto& osd = *run.device->group->osd;
    if (!run.id.empty() && run.id != std::to_string(osd.id)) {
        return "another OSD stands on its device";
    }
    const auto keys = keys_of_osd(world, std::to_string(osd.id));
    const std::map<std::string, std::string> right{{"/node", machine},
                                                   {"/device", "/dev/" + run.device->name},
                                                   {"/fsid/osd", osd.fsid},
                                                   {"/fsid/cluster", osd.cluster},
                                                   {"/lvm/vg", run.device->group->name},
                                                   {"/lvm/lv", run.device->group->volumes[0]}};
    for (const auto& [key, value] : right) {
        if (keys.at(key) != value) {
            return fmt::format("/ceph/osds/{}{} is \"{}\", not \"{}\"", osd.id, key, keys.at(key), value);
        }
    }
    return {};
}

void follow_pipe(judge& of, const seen_change& seen) {
    auto& watch = of.state<osd_watch>();
    const std::string& path = seen.what.path;
    if (!osds_of(of.world).is_on || !path.starts_with(osd_pipe)) {
        return;
    }
    if (is_lock_child(path)) {
        if (seen.what.what == recorded_kind::remove) {
            watch.locked.erase(path);
        } else if (seen.what.what == recorded_kind::create) {
            watch.locked[path] = of.world.now();
        }
        if (seen.writer != nullptr && seen.what.what == recorded_kind::create) {
            watch.runs.insert_or_assign(seen.writer->name(), run_of(of.world, value_of(of, osd_pipe)));
            watch.sent.clear();
        }
        return;
    }
    if (path != osd_pipe || seen.what.what == recorded_kind::remove) {
        return;
    }
    if (seen.writer == nullptr) {
        watch.sent = has_osd_verb(seen.what.data) ? seen.what.data : "";
        watch.sent_at = of.world.now();
        return;
    }
    if (seen.what.what == recorded_kind::create && seen.what.data.empty()) {
        return;  // the pipe itself, made by whoever changes the schema: no answer
    }
    const std::string& name = seen.writer->name();
    const auto& run = watch.runs[name];
    const bool is_success = seen.what.data == "success-" + run.text;
    if (!is_success && seen.what.data != "failure-" + run.text) {
        of.say("osd_commands_are_answered", fmt::format("{} answered `{}` with {}", name, run.text, seen.what.data));
        return;
    }
    ++of.transitions[fmt::format("osd {} {}", run.verb, is_success ? "done" : "failed")];
    if (const auto why = is_success ? untrue_success(of, name, run) : std::string(); !why.empty()) {
        of.say("osd_answers_are_true", fmt::format("{} answered {}: {}", name, seen.what.data, why));
    }
}

// By a node that nothing disturbs, when nobody else is at it. What is disturbed meanwhile need not be: a command that
// stands there when a connection comes back is old.
void commands_are_taken_up(judge& of) {
    auto& watch = of.state<osd_watch>();
    if (watch.sent.empty()) {
        return;
    }
    const auto run = run_of(of.world, watch.sent);
    const bool is_removal = run.verb == "osd_remove";
    const member* const whom = of.world.find(is_removal ? trim(run.keys.at("/node")) : run.given.front());
    // Where the pipe came back in another schema nobody reads it.
    constexpr std::int64_t last_with_pipe = 9;
    const auto schema = whom == nullptr ? std::nullopt : parse_integer(value_of(of, whom->root() + "/activeschema"));
    const bool must = schema && *schema <= last_with_pipe && watch.locked.empty() && of.world.is_calm(*whom) &&
                      whom->node.is_running() && whom->node.is_ready() &&
                      value_of(of, whom->root() + "/daemonstate") == "run" && value_of(of, osd_pipe) == watch.sent;
    if (!must) {
        watch.sent.clear();
    } else if (of.world.now() - watch.sent_at > taken_up) {
        of.say("osd_commands_are_answered", fmt::format("{} does not take up `{}`", whom->name(), watch.sent));
    }
}

// A program that hung before may have its limit, of ten minutes.
std::optional<std::string> nothing_is_under_way(const judge& of) {
    cluster& world = of.world;
    if (!osds_of(world).is_on) {
        return std::nullopt;
    }
    const bool any_runs = std::ranges::any_of(
        world.members, [](const auto& one) { return one->node.ceph && one->node.ceph->processes.running() > 0; });
    for (const auto& name : world.ensemble.children(osd_pipe)) {
        if (is_lock_child(name) && !any_runs) {
            return osd_pipe + '/' + name;
        }
    }
    return std::nullopt;
}

// Of an OSD whose UUID is in the tree all the rest is there, too; who damages the name of its node is not a daemon.
std::optional<std::string> keys_are_of_the_disk(const judge& of) {
    cluster& world = of.world;
    for (const auto& [machine, shelf] : osds_of(world).shelves) {
        for (const auto& disk : shelf.disks) {
            if (!disk->group || !disk->group->osd) {
                continue;
            }
            const std::string id = std::to_string(disk->group->osd->id);
            const auto keys = keys_of_osd(world, id);
            const bool is_right =
                keys.at("/device") == "/dev/" + disk->name && keys.at("/fsid/cluster") == disk->group->osd->cluster &&
                keys.at("/lvm/vg") == disk->group->name && keys.at("/lvm/lv") == disk->group->volumes.front();
            if (keys.at("/fsid/osd") == disk->group->osd->fsid && !is_right) {
                return fmt::format("the keys of OSD {} are not what is on {} of {}", id, disk->name, machine);
            }
        }
    }
    return std::nullopt;
}

constexpr rule osd_rules[] = {
    {.name = "named_device",
     .meaning =
         "a device that is written to is the one that the command named when it was read, and was free at the last "
         "look",
     .on_begin = listen_to_programs},
    {.name = "osds_are_safe_to_go",
     .meaning =
         "no OSD is stopped, destroyed, erased or purged unless Ceph said that it is safe, and by its node alone"},
    {.name = "osd_answers_are_true",
     .meaning = "what is answered as done stands on the disk and in the tree",
     .on_change = follow_pipe},
    {.name = "osd_commands_are_answered",
     .meaning = "a command about OSDs is taken up by a calm node, and answered by its own words",
     .on_second = commands_are_taken_up},
};

constexpr progress osd_progress[] = {
    {"osd_commands_end", "no command about OSDs is under way once nothing hinders it", nothing_is_under_way},
    {"osd_keys_are_right", "the keys of an OSD are what its disk says", keys_are_of_the_disk},
};

constexpr std::string_view expected_osd_events[] = {
    "osd osd_add done",       "osd osd_add failed",   "osd osd_remove done", "osd osd_remove failed",
    "osd osd_replace failed", "osd db_vg_add failed", "osd db_vg_add done",  "osd safety 0",
    "osd safety 11",          "osd safety 16",
};

constexpr planted_mistake mistakes_with_osds[] = {
    {defect::undecided_is_safe, "undecided_is_safe"},
    {defect::device_seen_once, "device_seen_once", "osd-link-is-turned-while-it-waits"},
    {defect::partition_by_digit, "partition_by_digit", "osd-group-on-a-name-with-a-digit"},
};

}  // namespace

void add_osd_rules(registry& to) {
    to.add(osd_rules);
    to.add(osd_progress);
    to.expect(expected_osd_events);
    to.add(mistakes_with_osds);
}

}  // namespace pvc::sim
