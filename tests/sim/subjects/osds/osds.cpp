#include "sim/subjects/osds/osds.hpp"

#include "sim/subjects/ceph/ceph.hpp"

#include "pvcnoded/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pvc::sim {

namespace {

// Each OSD of sim_ceph stands on a disk of the machine that it is said to be on.
void begin_osds(cluster& world) {
    auto& osds = osds_of(world);
    const auto version = parse_integer(world.ensemble.get("/schema/version").value_or(""));
    osds.is_on = has_storage(world) && world.foreigners.empty() && version && *version < 10;
    if (!osds.is_on) {
        return;
    }
    std::map<std::string, std::vector<osd_on_disk>> on;
    for (const auto& [id, osd] : world.hardware.ceph.osds) {
        const osd_on_disk one{id, osds.new_fsid(), osd_cluster_fsid};
        osds.entries[id].fsid = one.fsid;
        on[osd.host].push_back(one);
    }
    for (const auto& one : world.members) {
        osds.shelves[one->name()] = usual_disks(on[one->name()]);
        for (const auto& disk : osds.shelf(one->name()).disks) {
            if (!disk->group || !disk->group->osd) {
                continue;
            }
            const std::string root = "/ceph/osds/" + std::to_string(disk->group->osd->id);
            world.ensemble.put({{root + "/device", "/dev/" + disk->name},
                                {root + "/db_device", ""},
                                {root + "/fsid", ""},
                                {root + "/fsid/osd", disk->group->osd->fsid},
                                {root + "/fsid/cluster", osd_cluster_fsid},
                                {root + "/lvm", ""},
                                {root + "/lvm/vg", disk->group->name},
                                {root + "/lvm/lv", disk->group->volumes.front()}});
        }
    }
    install_osd_tools(world);
}

void heal_osds(cluster& world) {
    auto& osds = osds_of(world);
    if (!osds.is_on) {
        return;
    }
    osds.says = safety::by_state;
    osds.failing.clear();
    osds.hanging.clear();
    osds.slow.clear();
    for (const auto& [id, entry] : osds.entries) {
        if (const auto found = world.hardware.ceph.osds.find(id); found != world.hardware.ceph.osds.end()) {
            found->second.is_in = !entry.is_out;
        }
    }
    // The client that sent the last command has gone.
    if (world.ensemble.exists(osd_pipe)) {
        world.ensemble.put(osd_pipe, "");
    }
}

constexpr subject_part osd_part{.begin = begin_osds, .heal = heal_osds};
constexpr key_rules osd_keys_of_commands{
    .is_shared =
        [](const seen_change& seen) { return seen.what.path == osd_pipe || seen.what.path.starts_with("/ceph/osds/"); },
    .needs_version = [](const seen_change& seen) { return seen.what.path == osd_pipe; }};

}  // namespace

std::string osd_world::new_fsid() {
    return fmt::format("0d8ea6ef-8c5a-4e7d-9f53-{:012x}", ++fsids);
}

bool tool_run::is(std::string_view beginning) const {
    return join(arguments, " ").starts_with(beginning);
}

bool is_of_osd_command(cluster& world, const seen_change& seen) {
    return osds_of(world).is_on && seen.what.path.starts_with("/ceph/osds/") &&
           (!seen.what.path.ends_with("/stats") || seen.what.what == recorded_kind::remove ||
            seen.what.data.starts_with(R"({"uuid": "|")"));
}

void add_osds(registry& to);
void add_osds(registry& to) {
    to.add(osd_part);
    to.add(osd_keys_of_commands);
    add_osd_actions(to);
    add_osd_rules(to);
}

}  // namespace pvc::sim
