// What of a script is left out, when an OSD may go, and which partition was made: where a mistake costs data, planted
// ones are asked for.
#include "pvcnoded/base/planted.hpp"
#include "pvcnoded/base/text.hpp"
#include "pvcnoded/model/scsi_disks.hpp"
#include "pvcnoded/policy/ceph/osd_work.hpp"

#include <algorithm>
#include <utility>

namespace pvc::policy {

using namespace std::chrono_literals;

namespace {

constexpr duration safe_limit = 24h;
constexpr duration safe_told_each = 60s;
constexpr int exit_undecided = 11;  // of safe-to-destroy: the manager does not know enough to tell

// What an operator can do where Ceph will never tell.
constexpr std::string_view undecided_hint =
    "; if this OSD is dead and the cluster cannot heal, it stays so: see `ceph health detail`, give up by hand what is "
    "lost, or purge the OSD by hand";

}  // namespace

bool osd_work::is_needed(osd_stage which) const {
    using enum osd_stage;
    const bool is_removal = what_.verb == model::osd_verb::osd_remove;
    if (is_planted(defect::device_seen_once) && std::ranges::count(script_.first(index_ - 1), hold_device) > 0 &&
        (which == check_device || which == probe_device || which == hold_device)) {
        return false;
    }
    switch (which) {
        case find_device: return model::is_detect_text(device_);
        case size_device:
        case no_db_volume:
        case make_db_volume: return what_.has_db;
        // Of a removal only what was listed as the OSD's own.
        case check_device:
        case zap: return !is_spared_ && (!is_removal || !listed_.id.empty());
        case probe_device: return !is_spared_ && seen_.has_value();
        // The volumes of an OSD hold its device.
        case hold_device: return !is_spared_ && seen_.has_value() && (seen_->above.empty() || !partition_.empty());
        case list_own: return is_removal ? !device_.empty() : seen_.has_value() && !seen_->above.empty();
        case remove_db_volume: return !db_stored_.empty();
        default: return true;
    }
}

// What is read from a disk that is dying takes tens of seconds: its name may be another's by then.
bool osd_work::must_look_again(time_point now) const {
    using enum osd_stage;
    if (is_planted(defect::device_seen_once)) {
        return false;
    }
    const bool is_erasure = at_ == zap || at_ == prepare || at_ == clear_table || at_ == make_partition ||
                            at_ == make_physical_volume || at_ == make_group;
    return is_erasure && seen_ && now - identified_at_ > osd_look_validity;
}

osd_work::taken osd_work::take_partition(const model::block_device& device) {
    auto part = only_partition(device);
    if (!part) {
        return {flow::failed, device_ + " cannot be used: " + part.error().cause()};
    }
    if (!partition_.empty() && (part->path != partition_ || part->identity != partition_identity_)) {
        return {flow::failed, device_ + " cannot be used: its partition is not the one that was made"};
    }
    partition_ = is_planted(defect::partition_by_digit) ? device_ + "1" : std::move(part->path);
    partition_identity_ = std::move(part->identity);
    return {};
}

osd_work::taken osd_work::take_safety(const osd_said::program_end& ended, time_point now,
                                      std::vector<osd_note>& notes) {
    if (ended.status == 0) {
        return {};
    }
    if (!ended.has_started) {
        return {flow::failed, ended.how()};
    }
    const bool is_undecided = ended.status == exit_undecided;
    if (is_undecided && is_planted(defect::undecided_is_safe)) {
        return {};
    }
    // Only reached forced: what Ceph does not have holds no data of it.
    if (ended.status && !is_undecided && !is_known_to_ceph_) {
        notes.push_back({true, ended.how() + "; Ceph has no such OSD, so the removal goes on"});
        return {};
    }
    if (!unsafe_since_) {
        unsafe_since_ = told_at_ = now;
    }
    if (now - *unsafe_since_ >= safe_limit) {
        return {flow::failed, (is_undecided ? "Ceph could not tell for a day whether it is safe to destroy: "
                                            : "it was not safe to destroy for a day: ") +
                                  ended.how()};
    }
    if (now - told_at_ >= safe_told_each) {
        told_at_ = now;
        const auto minutes = std::chrono::duration_cast<std::chrono::minutes>(now - *unsafe_since_).count();
        const std::string since = ", for " + std::to_string(minutes) + " min: " + ended.how();
        notes.push_back({false, is_undecided ? "Ceph cannot tell whether OSD " + id_ + " is safe to destroy" + since +
                                                   std::string(undecided_hint)
                                             : "OSD " + id_ + " is not safe to destroy yet" + since});
    }
    pauses_ = true;
    return {flow::again, {}};
}

}  // namespace pvc::policy
