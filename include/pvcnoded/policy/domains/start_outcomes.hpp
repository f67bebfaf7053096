// Whose fault it is that a machine which is to run could not be started. What lies outside of it is waited for, in
// `start` or `restart`, for as long as it lasts; `fail` is for what no waiting heals. Pure functions of what was seen.
// Specification: README ruling 77.
#pragma once

#include "pvcnoded/base/clock.hpp"
#include "pvcnoded/policy/domains/start_cause.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace pvc::policy {

struct bridge_seen;
struct call_answer;
struct clearing_rbd_locks;
struct rbd_listed;

struct start_outcome {
    enum class kind : std::uint8_t { goes_on, waits, fails } what = kind::goes_on;
    start_cause cause = start_cause::none;  // of `waits`
    std::string reason{};                   // failedreason of the other two: without ages and counts

    [[nodiscard]] static start_outcome wait_for(start_cause cause, std::string reason) {
        return {kind::waits, cause, std::move(reason)};
    }
    [[nodiscard]] static start_outcome fail(std::string reason) {
        return {kind::fails, start_cause::none, std::move(reason)};
    }
    friend bool operator==(const start_outcome&, const start_outcome&) = default;
};

// How reasons to wait begin, and no reason of a failure does.
namespace wait_words {
inline constexpr std::string_view networks = "the networks of this node are not set up yet";
inline constexpr std::string_view unseen_bridges = "whether its bridges are there could not be seen: ";
inline constexpr std::string_view monitors = "Ceph's monitors do not answer";
inline constexpr std::string_view images = "Ceph does not answer for ";
inline constexpr std::string_view libvirt_away = "libvirt of this node is away";
inline constexpr std::string_view libvirt_silent = "libvirt does not answer";
inline constexpr std::string_view disk_users = "who on this node has its disks open could not be read: ";
inline constexpr std::string_view turn = "other machines of this node are being created, and take long";
}  // namespace wait_words

// Whether a stored failedreason says why a daemon, maybe one before this, waited: nobody but a daemon takes it back.
[[nodiscard]] bool is_reason_to_wait(std::string_view reason);

// The bridges that its XML names.
[[nodiscard]] start_outcome judge_bridges(const bridge_seen& seen);
// Whether its RBD disks can be asked for from this node at all.
[[nodiscard]] start_outcome judge_disks(const std::vector<std::string>& volumes, bool has_storage);
// The answer of a monitor.
[[nodiscard]] start_outcome judge_monitors(const call_answer& said);
// Locks that are not out of the way.
[[nodiscard]] start_outcome judge_locks(const clearing_rbd_locks& refused);
// Ceph, asked for its images after libvirt refused to create it.
[[nodiscard]] start_outcome judge_images(const rbd_listed& said);

// Of a node that lists it, and whose daemon was stopped in order.
[[nodiscard]] std::string stopped_holder_text(const std::string& node);

// Until the next try: after so many of them for the same cause.
[[nodiscard]] duration wait_for_a_cause(unsigned tries);

// The pools of these volumes, each once; what names no image has none.
[[nodiscard]] std::vector<std::string> pools_of(const std::vector<std::string>& volumes);

}  // namespace pvc::policy
