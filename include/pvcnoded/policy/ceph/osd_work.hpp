// What a command about an OSD takes, step after step: a value that is told how its last question ended and says what it
// asks next, as the machines of domains do. Nothing is written to a device that was not looked at right before, and
// seen to be the one of the first look: its name may be a link, and a wait for Ceph takes up to a day.
//
// Each step aborts the work when it fails. Forced, osd_remove tells that and goes on, but it neither erases a device
// that is not shown to be the OSD's, nor destroys an OSD whose data has no other copy.
// Specification: storage.md 8.3 and 8.4.
#pragma once

#include "pvcnoded/base/clock.hpp"
#include "pvcnoded/model/block_device.hpp"
#include "pvcnoded/model/ceph_volume_list.hpp"
#include "pvcnoded/model/osd_command.hpp"
#include "pvcnoded/policy/ceph/device_refresh.hpp"
#include "pvcnoded/policy/ceph/device_use.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace pvc::policy {

// In brackets: what of `osd_said` comes back.
namespace osd_ask {

struct program {  // [program_end]
    std::vector<std::string> arguments;
    duration limit{};
    // It changes or destroys something: the command must still stand, and its lock be ours, when it begins.
    bool is_change = false;
    // It erases what was looked at right before: it begins at once, or not at all.
    bool is_erasure = false;

    friend bool operator==(const program&, const program&) = default;
};
struct pause {  // [nothing]
    duration time{};
    std::string_view what;  // it is for; of static lifetime

    friend bool operator==(const pause&, const pause&) = default;
};
// The keys of the OSD as they are stored.
struct read_keys {  // [stored_keys]
    friend bool operator==(const read_keys&, const read_keys&) = default;
};
// In one transaction, under the command's guard; keys that the schema lacks are left out, the object is made if need
// be.
struct write_keys {  // [write_end]
    std::vector<key_value> values;

    friend bool operator==(const write_keys&, const write_keys&) = default;
};
// The object with all that is below it, likewise.
struct remove_object {  // [write_end]
    friend bool operator==(const remove_object&, const remove_object&) = default;
};
struct end {  // none
    bool is_done = false;
    std::string reason{};  // of a failure

    friend bool operator==(const end&, const end&) = default;
};

}  // namespace osd_ask

// How old the look at which device it is may be when a step begins that erases it.
inline constexpr duration osd_look_validity = std::chrono::seconds(5);

using osd_question = std::variant<osd_ask::program, osd_ask::pause, osd_ask::read_keys, osd_ask::write_keys,
                                  osd_ask::remove_object, osd_ask::end>;

namespace osd_said {

struct nothing {};
struct program_end {
    std::optional<int> status{};  // empty: it did not exit by itself
    bool has_started = true;
    std::string output{};
    std::string text{};       // how it ended, in words
    std::string complaint{};  // the last line that it wrote to standard error

    // As it goes into a message.
    [[nodiscard]] std::string how() const { return text.empty() ? "it failed" : text; }
};
struct stored_keys {
    std::string fault{};  // why they could not be read; empty: they were
    stored_osd keys{};
};
struct write_end {
    std::string fault{};  // empty: it is written
};

}  // namespace osd_said

using osd_answer = std::variant<osd_said::nothing, osd_said::program_end, osd_said::stored_keys, osd_said::write_end>;

struct osd_note {
    bool is_warning = false;
    std::string text;

    friend bool operator==(const osd_note&, const osd_note&) = default;
};

struct osd_step {
    osd_question ask;
    std::vector<osd_note> notes{};  // what is to be told first
};

enum class osd_stage : std::uint8_t {
    begin,
    find_device,  // that a detect string means
    read_keys,
    see_device,    // it is a block device
    check_device,  // it may be erased, as the kernel shows it
    probe_device,  // and as what is written on it says
    hold_device,   // and nobody has it for himself, in whatever namespace
    see_blank,     // it is still the same, and what was done to it left nothing on it
    see_again,     // it is still the same, where the looks since took long
    list_own,      // what stands on it is the OSD that is stored
    make_number,
    give_back_number,
    list_numbers,
    mark_down,
    mark_out,
    await_safe,
    stop_service,
    rest,
    destroy,
    reweight,
    list_volume,
    zap,
    size_device,
    no_db_volume,
    make_db_volume,
    prepare,
    activate,
    crush_add,
    settle,
    see_service,
    write_keys,
    purge,
    remove_db_volume,
    remove_object,
    no_group,
    clear_table,
    make_partition,
    await_partition,
    find_partition,
    make_physical_volume,
    make_group,
    finished,
};

class osd_work {
public:
    // A command without a fault, addressed to the node `self`.
    osd_work(model::osd_command what, std::string self);

    // The first answer is `nothing`. Not called again after an end.
    [[nodiscard]] osd_step resume(const osd_answer& answer, time_point now);
    [[nodiscard]] osd_stage stage() const { return at_; }
    // The OSD's number; of osd_add empty until Ceph gave it one.
    [[nodiscard]] const std::string& id() const { return id_; }

private:
    // `refused`: as failed, and no force goes past it.
    enum class flow : std::uint8_t { next, again, failed, refused };
    struct taken {
        flow what = flow::next;
        std::string why{};
    };

    [[nodiscard]] bool is_needed(osd_stage which) const;
    void advance();
    [[nodiscard]] bool must_look_again(time_point now) const;
    [[nodiscard]] taken take(const osd_answer& answer, time_point now, std::vector<osd_note>& notes);
    [[nodiscard]] taken take_program(const osd_said::program_end& ended, time_point now, std::vector<osd_note>& notes);
    [[nodiscard]] taken take_output(const osd_said::program_end& ended, time_point now, std::vector<osd_note>& notes);
    [[nodiscard]] taken take_keys(const osd_said::stored_keys& read);
    [[nodiscard]] taken take_numbers(const osd_said::program_end& ended) const;
    [[nodiscard]] taken take_device(const osd_said::program_end& ended, time_point now);
    [[nodiscard]] taken take_again(const model::block_device& device, time_point now) const;
    [[nodiscard]] taken take_signatures(const osd_said::program_end& ended);
    [[nodiscard]] taken take_held(const osd_said::program_end& ended) const;
    [[nodiscard]] taken take_own(const osd_said::program_end& ended);
    [[nodiscard]] taken take_partition(const model::block_device& device);
    [[nodiscard]] taken judge(const model::block_device& device) const;
    [[nodiscard]] taken not_erased(std::string why) const;
    [[nodiscard]] const std::string& target() const { return partition_.empty() ? device_ : partition_; }
    [[nodiscard]] taken take_size(const osd_said::program_end& ended);
    [[nodiscard]] taken take_safety(const osd_said::program_end& ended, time_point now, std::vector<osd_note>& notes);
    [[nodiscard]] bool may_skip() const;

    [[nodiscard]] osd_question ask() const;
    [[nodiscard]] osd_ask::program program_of(osd_stage which) const;
    [[nodiscard]] osd_ask::program prepare_program() const;
    [[nodiscard]] osd_ask::program db_program(osd_stage which) const;
    [[nodiscard]] osd_ask::program group_program(osd_stage which) const;
    [[nodiscard]] osd_ask::write_keys keys_to_write() const;
    [[nodiscard]] std::string db_volume() const { return "osd-db/osd-" + id_; }

    model::osd_command what_;
    std::string self_;
    osd_stage at_ = osd_stage::begin;
    std::span<const osd_stage> script_;
    std::size_t index_ = 0;
    std::string id_;
    std::string device_;     // with which the present step deals
    own_volume own_;         // of the OSD, as stored or as listed
    stored_osd stored_;      // the keys of the OSD
    std::string partition_;  // that was made, by the kernel's name
    model::device_identity partition_identity_{};
    std::string db_stored_;  // its database's volume as stored
    model::listed_osd listed_;
    std::int64_t db_mib_ = 0;
    bool is_known_to_ceph_ = true;
    bool pauses_ = false;                         // between two looks whether it is safe
    std::optional<model::block_device> first_{};  // the device as it was looked at first
    std::optional<model::block_device> seen_{};   // and last
    time_point identified_at_{};                  // when it was asked for that, or for what says which partition it is
    osd_stage due_ = osd_stage::begin;            // behind another look
    bool is_spared_ = false;  // forced, and the device was not shown to be the OSD's: nothing is erased any more
    std::optional<time_point> unsafe_since_{};
    time_point told_at_{};
};

}  // namespace pvc::policy
