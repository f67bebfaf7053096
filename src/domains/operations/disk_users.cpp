#include "operations/disk_users.hpp"

#include "pvcnoded/async/for_each.hpp"
#include "pvcnoded/base/planted.hpp"
#include "pvcnoded/base/text.hpp"

#include <algorithm>

namespace pvc::domains {

using policy::disk_user;
using policy::disk_users_read;

namespace {

constexpr std::size_t guests_at_once = 4;
constexpr std::string_view kernel_maps = "/sys/devices/rbd";
constexpr std::string_view block_devices = "/sys/devices/virtual/block";

// One look, and the volumes that it is about.
struct gathered {
    const operation& op;  // of one that asked: what all operations share
    std::vector<std::string> volumes;
    time_point until;
    seen_disk_users seen{};

    [[nodiscard]] bool asks_about(std::string_view volume) const {
        return std::ranges::find(volumes, volume) != volumes.end();
    }
    void note(disk_user::kind what, std::string_view volume, std::string_view name) {
        seen.users.push_back({{}, {what, std::string(volume), std::string(name), false}});
    }
    void fail(std::string why, std::optional<uuid> whose = {}) {
        seen.not_seen.push_back({whose, disk_users_read::end::failed, std::move(why)});
    }
    void fail_by_libvirt(std::string why, std::optional<uuid> whose = {}) {
        seen.not_seen.push_back({whose, disk_users_read::end::no_libvirt, std::move(why)});
    }
};

async::awaitable<void> look_at_guest(uuid id, gathered& into) {
    using hypervisor::call_error;
    const auto xml = co_await into.op.hv.live_xml(id, into.until);
    if (!xml && xml.error().code == call_error::no_domain) {
        co_return;  // it has ended
    }
    if (!xml && (xml.error().code == call_error::unavailable || xml.error().code == call_error::timed_out)) {
        co_return into.fail_by_libvirt("libvirt does not answer for the VM " + to_text(id), id);
    }
    if (!xml) {
        co_return into.fail("the definition of the VM " + to_text(id) + ": " + xml.error().text, id);
    }
    const auto live = model::parse_domain_xml(*xml);
    if (!live) {
        co_return into.fail("the definition of the VM " + to_text(id) + ": " + live.error().text(), id);
    }
    for (auto& user : policy::users_in(*live, shown(live->name.empty() ? to_text(id) : live->name), into.volumes)) {
        into.seen.users.push_back({id, std::move(user)});
    }
}

// libvirt may not show it yet.
void look_at_creations(gathered& into) {
    for (const auto& [id, row] : into.op.table.rows()) {
        const bool is_shown = std::ranges::any_of(into.seen.users, [&](const auto& one) { return one.whose == id; });
        if (is_shown || !row.here || !(row.here->is_being_created || row.here->listing.lost_creation)) {
            continue;
        }
        for (const auto& disk : row.here->stored_disks) {
            if (into.asks_about(disk.volume)) {
                into.seen.users.push_back({id, disk});
            }
        }
    }
}

// A file of /sys that is not there is empty: its device has just gone, or this kernel has no such thing.
std::optional<std::string> read_setting(const std::string& path, gathered& into) {
    auto text = into.op.node.port.host.read_file(path);
    if (text) {
        return *std::move(text);
    }
    if (text.error().code() != errc::not_found) {
        into.fail(path + ": " + text.error().text());
    }
    return std::nullopt;
}

std::vector<std::string> folders_in(std::string_view directory, gathered& into) {
    auto names = into.op.node.port.host.list_folders(std::string(directory));
    if (!names && names.error().code() != errc::not_found) {  // the module is not loaded
        into.fail(std::string(directory) + ": " + names.error().text());
    }
    return names ? *std::move(names) : std::vector<std::string>();
}

void look_at_kernel_maps(gathered& into) {
    for (const auto& name : folders_in(kernel_maps, into)) {
        const std::string root = std::string(kernel_maps) + "/" + name + "/";
        const auto image = read_setting(root + "name", into);
        const auto pool = read_setting(root + "pool", into);
        if (!image || !pool) {
            continue;  // "power", and what belongs to no map
        }
        const std::string volume =
            policy::mapped_volume(*pool, read_setting(root + "pool_ns", into).value_or(""), *image,
                                  read_setting(root + "current_snap", into).value_or(""));
        if (into.asks_about(volume)) {
            into.note(disk_user::kind::kernel, volume, "rbd" + name);
        }
    }
}

// The kernel knows which process serves a device, and no more.
async::awaitable<void> look_at_served_devices(gathered& into) {
    for (const auto& name : folders_in(block_devices, into)) {
        if (!name.starts_with("nbd")) {
            continue;
        }
        const auto pid = read_setting(std::string(block_devices) + "/" + name + "/pid", into);
        const auto number = parse_integer(trim(pid.value_or("")));
        if (!number) {
            continue;  // not connected
        }
        const std::string path = "/proc/" + std::to_string(*number) + "/cmdline";
        const auto command = co_await into.op.node.port.host.read_disk_file(path);
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

async::awaitable<void> look_at_all(gathered& into) {
    const auto active = co_await into.op.hv.list(into.until);
    if (!active) {
        co_return into.fail_by_libvirt("libvirt does not answer");
    }
    co_await async::for_each_bounded("live definitions", guests_at_once, *active,
                                     [&](const auto& guest) { return look_at_guest(guest.id, into); });
    look_at_kernel_maps(into);
    co_await look_at_served_devices(into);
    // Last: what began meanwhile is on its way already.
    look_at_creations(into);
}

}  // namespace

// Of what could not be looked at: libvirt's silence first, then what came first.
disk_users_read seen_disk_users::answer(const uuid& id, const std::vector<std::string>& volumes) const {
    const unseen* worst = nullptr;
    for (const auto& one : not_seen) {
        const bool is_worse =
            worst == nullptr || (one.what == disk_users_read::end::no_libvirt && worst->what != one.what);
        if (one.whose != id && is_worse) {
            worst = &one;
        }
    }
    if (worst != nullptr) {
        return {worst->what, worst->reason, {}};
    }
    disk_users_read all{disk_users_read::end::known, {}, {}};
    for (const auto& one : users) {
        if (one.whose != id && std::ranges::find(volumes, one.what.volume) != volumes.end()) {
            all.users.push_back(one.what);
        }
    }
    return all;
}

async::awaitable<disk_users_read> disk_looks::look(const operation& op, std::vector<std::string> volumes,
                                                   time_point until) {
    const std::uint64_t number = ++asked_;
    struct in_queue {
        using queue = std::vector<const std::vector<std::string>*>;
        queue& all;
        const std::vector<std::string>* which;
        in_queue(queue& others, const std::vector<std::string>& mine) : all(others), which(&mine) {
            all.push_back(which);
        }
        in_queue(const in_queue&) = delete;
        in_queue& operator=(const in_queue&) = delete;
        ~in_queue() { std::erase(all, which); }
    };
    const in_queue asking(waiting_, volumes);
    const auto turn = co_await one_at_a_time_.lock_until(op.clock(), until, "a look at who has which disks open");
    if (!turn) {
        co_return disk_users_read{disk_users_read::end::no_libvirt, "libvirt does not answer", {}};
    }
    // One that was under way when this was asked may have passed whoever has come since.
    if (answered_ < number) {
        const std::uint64_t until_now = asked_;
        gathered found{.op = op, .volumes = {}, .until = until};
        for (const auto* one : waiting_) {
            found.volumes.insert(found.volumes.end(), one->begin(), one->end());
        }
        std::ranges::sort(found.volumes);
        found.volumes.erase(std::ranges::unique(found.volumes).begin(), found.volumes.end());
        co_await look_at_all(found);
        if (!found.seen.not_seen.empty() && op.now() >= until) {
            co_return found.seen.answer(op.id, volumes);  // the time of the others is not over
        }
        answered_ = is_planted(defect::earlier_look_taken) ? asked_ : until_now;
        seen_ = std::move(found.seen);
    }
    co_return seen_.answer(op.id, volumes);
}

}  // namespace pvc::domains
