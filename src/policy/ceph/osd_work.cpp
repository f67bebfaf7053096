#include "pvcnoded/policy/ceph/osd_work.hpp"

#include "pvcnoded/base/text.hpp"
#include "pvcnoded/model/block_device.hpp"
#include "pvcnoded/model/device_name.hpp"
#include "pvcnoded/model/scsi_disks.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace pvc::policy {

using namespace std::chrono_literals;
using enum osd_stage;
using model::osd_verb;

namespace {

// Looking at a device or at LVM takes a second; a disk that is dying, tens of them.
constexpr duration look_limit = 30s;
// One exchange with the monitors; the tool itself would wait five minutes for them.
constexpr duration monitor_limit = 60s;
constexpr duration list_limit = 60s;       // storage.md 5
constexpr duration volume_limit = 2min;    // LVM writes its metadata, sgdisk a table
constexpr duration erase_limit = 10min;    // signatures, the LVM below and the first megabytes of a slow disk
constexpr duration prepare_limit = 10min;  // makes a file system on all of the device
constexpr duration activate_limit = 5min;  // also starts the unit
constexpr duration stop_limit = 5min;      // systemd itself ends an OSD by force after a while
constexpr duration status_limit = 10s;

constexpr duration safe_pause = 5s;
constexpr int exit_absent = 5;    // of LVM's tools: there is no such volume or group
constexpr int exit_unsigned = 2;  // of blkid: nothing is written on it that it knows
constexpr double mib = 1048576;

constexpr std::string_view placeholder_stats =
    R"({"uuid": "|", "up": 0, "in": 0, "primary_affinity": "|", "utilization": "|", "var": "|", "pgs": "|", )"
    R"("kb": "|", "weight": "|", "reweight": "|", "node": "|", "used": "|", "avail": "|", "wr_ops": "|", )"
    R"("wr_data": "|", "rd_ops": "|", "rd_data": "|", "state": "|"})";

// A device is looked at when the work begins, so that an invalid command fails at once, and right before each step that
// writes to it.
constexpr std::array add_script{find_device,    check_device, probe_device, hold_device, make_number, give_back_number,
                                check_device,   probe_device, hold_device,  zap,         size_device, no_db_volume,
                                make_db_volume, see_blank,    hold_device,  prepare,     list_volume, activate,
                                crush_add,      settle,       see_service,  write_keys,  finished};
constexpr std::array replace_script{find_device,  list_numbers, read_keys, check_device, probe_device, hold_device,
                                    list_own,     mark_down,    mark_out,  await_safe,   check_device, probe_device,
                                    hold_device,  stop_service, rest,      destroy,      reweight,     check_device,
                                    probe_device, hold_device,  zap,       see_blank,    hold_device,  prepare,
                                    list_volume,  activate,     settle,    see_service,  write_keys,   finished};
constexpr std::array refresh_script{find_device, list_numbers, see_device, list_volume, activate,
                                    settle,      see_service,  write_keys, finished};
constexpr std::array remove_script{
    list_numbers, read_keys,    list_own,     check_device,     probe_device,  hold_device, mark_down,    mark_out,
    await_safe,   check_device, probe_device, hold_device,      stop_service,  rest,        check_device, probe_device,
    hold_device,  zap,          purge,        remove_db_volume, remove_object, finished};
constexpr std::array group_script{no_group,       find_device, check_device,         probe_device,   hold_device,
                                  clear_table,    see_blank,   hold_device,          make_partition, await_partition,
                                  find_partition, hold_device, make_physical_volume, find_partition, hold_device,
                                  make_group,     finished};

std::span<const osd_stage> script_of(osd_verb verb) {
    switch (verb) {
        case osd_verb::osd_add: return add_script;
        case osd_verb::osd_replace: return replace_script;
        case osd_verb::osd_refresh: return refresh_script;
        case osd_verb::osd_remove: return remove_script;
        case osd_verb::db_vg_add: return group_script;
    }
    return {};
}

bool is_pause(osd_stage which) {
    return which == rest || which == settle || which == await_partition;
}

// At the device, or at what says which one it is.
bool is_look(osd_stage which) {
    return which == read_keys || which == list_own || which == check_device || which == probe_device ||
           which == hold_device || which == see_again;
}

// At which device it is.
bool is_identification(osd_stage which) {
    return which == check_device || which == see_blank || which == see_again || which == find_partition;
}

}  // namespace

osd_work::osd_work(model::osd_command what, std::string self)
    : what_(std::move(what)), self_(std::move(self)), script_(script_of(what_.verb)), id_(what_.id) {
    device_ = what_.device;
}

// ---- the way through a script -----------------------------------------------------------------------------------

void osd_work::advance() {
    if (at_ == see_again && is_needed(due_)) {
        at_ = due_;
        return;
    }
    do {
        at_ = script_[index_++];
    } while (!is_needed(at_));
    if (at_ == check_device) {
        seen_.reset();
    }
    if (at_ == check_device && what_.verb == osd_verb::osd_remove) {
        device_ = listed_.device;
        own_ = {listed_.group, listed_.volume};
    }
}

// Whether a forced removal goes on without this step: never past an OSD whose data has no other copy.
bool osd_work::may_skip() const {
    return what_.verb == osd_verb::osd_remove && what_.is_forced && at_ != await_safe && at_ != remove_object;
}

osd_step osd_work::resume(const osd_answer& answer, time_point now) {
    std::vector<osd_note> notes;
    if (at_ == begin) {
        advance();
        return {ask(), std::move(notes)};
    }
    const auto seen = take(answer, now, notes);
    if (seen.what == flow::failed || seen.what == flow::refused) {
        if (seen.what == flow::refused || !may_skip()) {
            at_ = finished;
            return {osd_ask::end{false, seen.why}, std::move(notes)};
        }
        is_spared_ = is_spared_ || is_look(at_);
        notes.push_back({true, seen.why + "; it is forced, so the removal goes on"});
    }
    if (seen.what != flow::again) {
        const bool is_fresh = at_ == see_again;
        advance();
        if (!is_fresh && must_look_again(now)) {
            due_ = std::exchange(at_, see_again);
        }
        identified_at_ = is_identification(at_) ? now : identified_at_;
    }
    return {ask(), std::move(notes)};
}

// ---- answers ----------------------------------------------------------------------------------------------------

osd_work::taken osd_work::take(const osd_answer& answer, time_point now, std::vector<osd_note>& notes) {
    if (const auto* ended = std::get_if<osd_said::program_end>(&answer)) {
        return take_program(*ended, now, notes);
    }
    if (const auto* read = std::get_if<osd_said::stored_keys>(&answer)) {
        return take_keys(*read);
    }
    if (const auto* written = std::get_if<osd_said::write_end>(&answer)) {
        return written->fault.empty() ? taken{}
                                      : taken{flow::failed, "its keys could not be written: " + written->fault};
    }
    pauses_ = false;
    return {at_ == await_safe ? flow::again : flow::next, {}};
}

osd_work::taken osd_work::take_program(const osd_said::program_end& ended, time_point now,
                                       std::vector<osd_note>& notes) {
    const bool is_good = ended.status == 0;
    switch (at_) {
        case await_safe: return take_safety(ended, now, notes);
        case probe_device: return take_signatures(ended);
        case hold_device: return take_held(ended);
        case no_db_volume:
        case no_group:
            if (ended.status == exit_absent) {
                return {};
            }
            return {flow::failed, is_good ? (at_ == no_group ? "the volume group osd-db is there already"
                                                             : "the volume " + db_volume() + " is there already")
                                          : ended.how()};
        case remove_db_volume:
            if (!is_good) {
                notes.push_back({true, ended.how() + "; " + db_stored_ + " may still be there"});
            }
            return {};
        default: break;
    }
    return is_good ? take_output(ended, now, notes) : taken{flow::failed, ended.how()};
}

osd_work::taken osd_work::take_output(const osd_said::program_end& ended, time_point now,
                                      std::vector<osd_note>& notes) {
    switch (at_) {
        case find_device: {
            const auto wish = model::parse_detect_wish(device_);
            auto found = wish ? model::find_scsi_disk(ended.output, *wish) : std::nullopt;
            if (!found) {
                return {flow::failed, "no disk fits " + shown(device_)};
            }
            device_ = *std::move(found);
            notes.push_back({false, shown(what_.device) + " is " + device_});
            return {};
        }
        case see_device:
        case check_device:
        case see_blank:
        case see_again:
        case find_partition: return take_device(ended, now);
        case list_own: return take_own(ended);
        case make_number: {
            auto number = model::parse_osd_number(trim(ended.output));
            if (!number) {
                return {flow::failed, "`ceph osd create` did not say a number, but " + shown(ended.output)};
            }
            id_ = *std::move(number);
            return {};
        }
        case list_numbers: {
            auto seen = take_numbers(ended);
            is_known_to_ceph_ = seen.what == flow::next;
            return seen;
        }
        case size_device: return take_size(ended);
        case list_volume: {
            auto found = model::find_listed_osd(ended.output, id_);
            if (!found) {
                return {flow::failed, found.error().cause()};
            }
            listed_ = *std::move(found);
            return {};
        }
        default: return {};
    }
}

osd_work::taken osd_work::take_keys(const osd_said::stored_keys& read) {
    if (!read.fault.empty()) {
        return {flow::failed, "its keys could not be read: " + read.fault};
    }
    stored_ = read.keys;
    if (const std::string node = stored_value(stored_, "osd.node"); node != self_) {
        return {flow::refused, node.empty() ? "its keys do not say that it is this node's"
                                            : "it is an OSD of node " + shown(node) + ", not of this one"};
    }
    own_ = {stored_value(stored_, "osd.vg"), stored_value(stored_, "osd.lv")};
    if (what_.verb != osd_verb::osd_remove) {
        return {};
    }
    device_ = device_to_list(read.keys);
    const std::string db = stored_value(read.keys, "osd.db_device");
    if (db == db_volume() || db == "/dev/" + db_volume()) {
        db_stored_ = db;
    }
    return device_.empty() ? taken{flow::failed, "its keys do not say on which device it is"} : taken{};
}

osd_work::taken osd_work::take_numbers(const osd_said::program_end& ended) const {
    const auto numbers = split_blanks(ended.output);
    return std::ranges::find(numbers, id_) != numbers.end() ? taken{} : taken{flow::failed, "Ceph has no OSD " + id_};
}

osd_work::taken osd_work::take_device(const osd_said::program_end& ended, time_point now) {
    auto device = model::parse_block_device(ended.output);
    if (!device) {
        return {flow::failed, device_ + " cannot be looked at: " + device.error().cause()};
    }
    if (at_ == see_device) {
        return {};
    }
    if (auto why = first_ ? why_another_device(first_->identity, device->identity) : std::string(); !why.empty()) {
        return not_erased(std::move(why));
    }
    if (at_ == see_again) {
        return take_again(*device, now);
    }
    auto verdict = at_ == find_partition ? take_partition(*device)
                   : at_ == check_device ? judge(*device)
                   : device->above.empty()
                       ? taken{}
                       : not_erased(shown(device->above.front().name) + " stands on it still, or anew");
    if (verdict.what == flow::next) {
        seen_ = *std::move(device);
    }
    return verdict;
}

// In the same use as at the look before.
osd_work::taken osd_work::take_again(const model::block_device& device, time_point now) const {
    if (now - identified_at_ > osd_look_validity) {
        return not_erased("the look at it took longer than 5 s");
    }
    return device.above == seen_->above && device.mounted_at == seen_->mounted_at
               ? taken{}
               : not_erased("it is not used as it was a moment ago");
}

osd_work::taken osd_work::take_signatures(const osd_said::program_end& ended) {
    if (ended.status != 0 && ended.status != exit_unsigned) {
        return {flow::failed, ended.how()};  // also where several signatures contradict each other
    }
    // The same status where it could not be read.
    if (ended.status == exit_unsigned && !ended.complaint.empty()) {
        return {flow::failed, device_ + " cannot be looked at: " + ended.how()};
    }
    auto signatures = model::parse_device_signatures(ended.output);
    if (!signatures.partition_table.empty()) {
        return not_erased("a partition table is written on it");
    }
    seen_->content = std::move(signatures.content);
    if (first_ && first_->content != seen_->content) {
        return not_erased("something else is written on it than when the command came: " + shown(seen_->content));
    }
    auto verdict = judge(*seen_);
    if (verdict.what == flow::next && !first_) {
        first_ = seen_;
    }
    return verdict;
}

osd_work::taken osd_work::take_held(const osd_said::program_end& ended) const {
    if (ended.status == 0) {
        return {};
    }
    return {flow::failed,
            target() + " is not erased: it cannot be had exclusively, so somebody uses it: " + ended.how()};
}

// The number alone is no proof: a disk of another cluster has one, too.
osd_work::taken osd_work::take_own(const osd_said::program_end& ended) {
    auto found = model::find_listed_osd(ended.output, id_);
    if (!found) {
        return {flow::failed, found.error().cause()};
    }
    const auto differs = [&](std::string_view key, const std::string& listed, std::string_view what) -> std::string {
        if (std::ranges::find(stored_, key, &stored_key::key) == stored_.end()) {
            return {};  // the schema has no such key
        }
        const std::string stored = stored_value(stored_, key);
        if (stored.empty()) {
            return "its keys do not say the UUID of the " + std::string(what) + "; osd_refresh writes it";
        }
        return equal_ignoring_case(stored, listed) ? std::string()
                                                   : "the " + std::string(what) + " is " + shown(stored) +
                                                         " by its keys, but " + listed + " on the device";
    };
    for (auto why :
         {differs("osd.ofsid", found->osd_fsid, "OSD"), differs("osd.cfsid", found->cluster_fsid, "cluster")}) {
        if (!why.empty()) {
            return not_erased(std::move(why));
        }
    }
    listed_ = *std::move(found);
    return {};
}

osd_work::taken osd_work::judge(const model::block_device& device) const {
    auto why = why_not_to_erase(device, own_);
    return why.empty() ? taken{} : not_erased(std::move(why));
}

osd_work::taken osd_work::not_erased(std::string why) const {
    return {flow::failed, device_ + " is not erased: " + std::move(why)};
}

osd_work::taken osd_work::take_size(const osd_said::program_end& ended) {
    const auto bytes = parse_integer(trim(ended.output));
    db_mib_ = bytes ? static_cast<std::int64_t>(static_cast<double>(*bytes) * what_.db_ratio / mib) : 0;
    return db_mib_ > 0 ? taken{} : taken{flow::failed, "the size of " + device_ + " makes no room for a database"};
}

// ---- questions --------------------------------------------------------------------------------------------------

osd_question osd_work::ask() const {
    if (at_ == await_safe && pauses_) {
        return osd_ask::pause{safe_pause, "another look whether it is safe to destroy"};
    }
    if (is_pause(at_)) {
        return at_ == settle ? osd_ask::pause{500ms, "the OSD to start"}
               : at_ == rest ? osd_ask::pause{2s, "the OSD to be gone"}
                             : osd_ask::pause{2s, "the partition to appear"};
    }
    switch (at_) {
        case osd_stage::read_keys: return osd_ask::read_keys{};
        case osd_stage::write_keys: return keys_to_write();
        case osd_stage::remove_object: return osd_ask::remove_object{};
        case finished: return osd_ask::end{true, {}};
        default: return program_of(at_);
    }
}

osd_ask::program osd_work::program_of(osd_stage which) const {
    const std::string name = "osd." + id_;
    const std::string unit = "ceph-osd@" + id_;
    const std::string sure = "--yes-i-really-mean-it";
    switch (which) {
        case find_device: return {{"lsscsi", "-s"}, look_limit, false};
        case see_device:
        case check_device:
        case see_blank:
        case see_again:
        case find_partition:
            return {{"lsblk", "--json", "--bytes", "--output", std::string(model::lsblk_columns), device_},
                    look_limit,
                    false};
        case probe_device: return {{"blkid", "--probe", "--output", "export", device_}, look_limit, false};
        // It opens for itself alone what it is asked about, and fails where somebody else has done so: also by a mount
        // that is seen in another namespace only.
        case hold_device: return {{"wipefs", "--no-act", "--all", target()}, look_limit, false};
        case make_number: return {{"ceph", "osd", "create"}, monitor_limit, true};
        case give_back_number: return {{"ceph", "osd", "rm", id_}, monitor_limit, true};
        case list_numbers: return {{"ceph", "osd", "ls"}, monitor_limit, false};
        case mark_down: return {{"ceph", "osd", "down", id_}, monitor_limit, true};
        case mark_out: return {{"ceph", "osd", "out", id_}, monitor_limit, true};
        case await_safe: return {{"ceph", "osd", "safe-to-destroy", name}, monitor_limit, false};
        case stop_service: return {{"systemctl", "stop", unit}, stop_limit, true};
        case destroy: return {{"ceph", "osd", "destroy", id_, sure}, monitor_limit, true};
        case reweight: return {{"ceph", "osd", "crush", "reweight", name, what_.weight}, monitor_limit, true};
        case list_own:
        case list_volume: return {{"ceph-volume", "lvm", "list", "--format", "json", device_}, list_limit, false};
        case zap: return {{"ceph-volume", "lvm", "zap", "--destroy", device_}, erase_limit, true, true};
        case prepare: return prepare_program();
        case activate:
            return {{"ceph-volume", "lvm", "activate", "--bluestore", id_, listed_.osd_fsid}, activate_limit, true};
        case crush_add:
            return {{"ceph", "osd", "crush", "add", name, what_.weight, "root=default", "host=" + self_},
                    monitor_limit,
                    true};
        case see_service: return {{"systemctl", "status", unit}, status_limit, false};
        case purge: return {{"ceph", "osd", "purge", id_, sure}, monitor_limit, true};
        case size_device:
        case no_db_volume:
        case make_db_volume:
        case remove_db_volume: return db_program(which);
        default: return group_program(which);
    }
}

osd_ask::program osd_work::prepare_program() const {
    std::vector<std::string> arguments{"ceph-volume", "lvm", "prepare"};
    if (what_.verb == osd_verb::osd_replace) {
        arguments.insert(arguments.end(), {"--osd-id", id_});
    }
    arguments.insert(arguments.end(), {"--bluestore", "--data", device_});
    if (what_.has_db) {
        arguments.insert(arguments.end(), {"--block.db", db_volume()});
    }
    return {std::move(arguments), prepare_limit, true, true};
}

osd_ask::program osd_work::db_program(osd_stage which) const {
    switch (which) {
        case size_device: return {{"blockdev", "--getsize64", device_}, look_limit, false};
        case no_db_volume: return {{"lvdisplay", db_volume()}, look_limit, false};
        case make_db_volume:
            return {{"lvcreate", "--yes", "--name", "osd-" + id_, "--size", std::to_string(db_mib_), "osd-db"},
                    volume_limit,
                    true};
        default: return {{"lvremove", "--yes", "--force", db_stored_}, volume_limit, true};
    }
}

osd_ask::program osd_work::group_program(osd_stage which) const {
    switch (which) {
        case no_group: return {{"vgdisplay", "osd-db"}, look_limit, false};
        case clear_table: return {{"sgdisk", "--clear", device_}, volume_limit, true, true};
        case make_partition:
            return {{"sgdisk", "--new", "1::", "--typecode", "1:8e00", device_}, volume_limit, true, true};
        case make_physical_volume: return {{"pvcreate", "--force", partition_}, volume_limit, true, true};
        default: return {{"vgcreate", "--force", "osd-db", partition_}, volume_limit, true, true};
    }
}

osd_ask::write_keys osd_work::keys_to_write() const {
    osd_ask::write_keys all{{{"osd.id", ""},
                             {"osd.node", self_},
                             {"osd.db_device", what_.has_db ? db_volume() : std::string()},
                             {"osd.stats", std::string(placeholder_stats)}}};
    for (auto& one : device_keys(listed_)) {
        all.values.push_back(std::move(one));
    }
    return all;
}

}  // namespace pvc::policy
