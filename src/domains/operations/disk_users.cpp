#include "operations/disk_users.hpp"

#include "pvcnoded/async/for_each.hpp"
#include "pvcnoded/base/text.hpp"

#include <algorithm>

namespace pvc::domains {

using policy::disk_user;
using policy::disk_users_read;

namespace {

constexpr std::size_t guests_at_once = 4;
constexpr std::string_view kernel_maps = "/sys/devices/rbd";
constexpr std::string_view block_devices = "/sys/devices/virtual/block";

// What is known so far; the first thing that could not be looked at ends it.
struct gathered {
    std::vector<std::string> volumes;
    disk_users_read all{disk_users_read::end::known, {}, {}};

    [[nodiscard]] bool is_known() const { return all.what == disk_users_read::end::known; }
    [[nodiscard]] bool asks_about(std::string_view volume) const {
        return std::ranges::find(volumes, volume) != volumes.end();
    }
    void note(disk_user::kind what, std::string_view volume, std::string_view name) {
        all.users.push_back({what, std::string(volume), std::string(name), false});
    }
    void fail(std::string why) {
        if (is_known()) {
            all = {disk_users_read::end::failed, std::move(why), {}};
        }
    }
    void fail_by_libvirt(std::string why) {
        if (all.what != disk_users_read::end::no_libvirt) {
            all = {disk_users_read::end::no_libvirt, std::move(why), {}};
        }
    }
};

async::awaitable<void> look_at_guest(const operation& op, uuid id, time_point until, gathered& into) {
    using hypervisor::call_error;
    const auto xml = co_await op.hv.live_xml(id, until);
    if (!xml && xml.error().code == call_error::no_domain) {
        co_return;  // it has ended
    }
    if (!xml && (xml.error().code == call_error::unavailable || xml.error().code == call_error::timed_out)) {
        co_return into.fail_by_libvirt("libvirt does not answer for the VM " + to_text(id));
    }
    if (!xml) {
        co_return into.fail("the definition of the VM " + to_text(id) + ": " + xml.error().text);
    }
    const auto live = model::parse_domain_xml(*xml);
    if (!live) {
        co_return into.fail("the definition of the VM " + to_text(id) + ": " + live.error().text());
    }
    const auto found = policy::users_in(*live, shown(live->name.empty() ? to_text(id) : live->name), into.volumes);
    into.all.users.insert(into.all.users.end(), found.begin(), found.end());
}

// libvirt may not show it yet.
void look_at_creations(const operation& op, gathered& into) {
    for (const auto& [id, row] : op.table.rows()) {
        if (id == op.id || !row.here || !(row.here->is_being_created || row.here->listing.lost_creation)) {
            continue;
        }
        for (const auto& disk : row.here->stored_disks) {
            const bool is_known =
                std::ranges::any_of(into.all.users, [&](const disk_user& user) { return user.volume == disk; });
            if (into.asks_about(disk) && !is_known) {
                into.note(disk_user::kind::guest, disk, shown(row.here->name.empty() ? to_text(id) : row.here->name));
            }
        }
    }
}

// A file of /sys that is not there is empty: its device has just gone, or this kernel has no such thing.
std::optional<std::string> read_setting(const operation& op, const std::string& path, gathered& into) {
    auto text = op.node.port.host.read_file(path);
    if (text) {
        return *std::move(text);
    }
    if (text.error().code() != errc::not_found) {
        into.fail(path + ": " + text.error().text());
    }
    return std::nullopt;
}

std::vector<std::string> folders_in(const operation& op, std::string_view directory, gathered& into) {
    auto names = op.node.port.host.list_folders(std::string(directory));
    if (!names && names.error().code() != errc::not_found) {  // the module is not loaded
        into.fail(std::string(directory) + ": " + names.error().text());
    }
    return names ? *std::move(names) : std::vector<std::string>();
}

void look_at_kernel_maps(const operation& op, gathered& into) {
    for (const auto& name : folders_in(op, kernel_maps, into)) {
        const std::string root = std::string(kernel_maps) + "/" + name + "/";
        const auto image = read_setting(op, root + "name", into);
        const auto pool = read_setting(op, root + "pool", into);
        if (!image || !pool) {
            continue;  // "power", and what belongs to no map
        }
        const std::string volume =
            policy::mapped_volume(*pool, read_setting(op, root + "pool_ns", into).value_or(""), *image,
                                  read_setting(op, root + "current_snap", into).value_or(""));
        if (into.asks_about(volume)) {
            into.note(disk_user::kind::kernel, volume, "rbd" + name);
        }
    }
}

// The kernel knows which process serves a device, and no more.
async::awaitable<void> look_at_served_devices(const operation& op, gathered& into) {
    for (const auto& name : folders_in(op, block_devices, into)) {
        if (!name.starts_with("nbd")) {
            continue;
        }
        const auto pid = read_setting(op, std::string(block_devices) + "/" + name + "/pid", into);
        const auto number = parse_integer(trim(pid.value_or("")));
        if (!number) {
            continue;  // not connected
        }
        const std::string path = "/proc/" + std::to_string(*number) + "/cmdline";
        const auto command = co_await op.node.port.host.read_disk_file(path);
        if (!command && command.error().code() != errc::not_found) {
            co_return into.fail(path + ": " + command.error().text());
        }
        if (!command) {
            continue;  // its client is gone
        }
        for (const auto& volume : into.volumes) {
            if (policy::serves_volume(*command, volume)) {
                into.note(disk_user::kind::nbd, volume, name);
            }
        }
    }
}

}  // namespace

async::awaitable<disk_users_read> read_disk_users(const operation& op, std::vector<std::string> volumes,
                                                  time_point until) {
    gathered found{.volumes = std::move(volumes)};
    const auto active = co_await op.hv.list(until);
    if (!active) {
        co_return disk_users_read{disk_users_read::end::no_libvirt, "libvirt does not answer", {}};
    }
    std::vector<uuid> others;
    for (const auto& guest : *active) {
        if (guest.id != op.id) {
            others.push_back(guest.id);
        }
    }
    co_await async::for_each_bounded("live definitions", guests_at_once, others,
                                     [&](const uuid& id) { return look_at_guest(op, id, until, found); });
    look_at_kernel_maps(op, found);
    if (found.is_known()) {
        co_await look_at_served_devices(op, found);
    }
    // Last: what began meanwhile is on its way already.
    look_at_creations(op, found);
    if (!found.is_known()) {
        found.all.users.clear();
    }
    co_return std::move(found.all);
}

}  // namespace pvc::domains
