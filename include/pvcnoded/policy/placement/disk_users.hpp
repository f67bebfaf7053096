// Who on this host has an RBD image open, beside the virtual machine that is to be started: a lock with an address of
// this host is stale only where nobody has. What guests say is their live XML; what the host has mapped is in /sys and
// in the command lines of the programs that serve network block devices. Specification: README ruling 80;
// storage.md 6.4.
#pragma once

#include "pvcnoded/model/domain_xml.hpp"
#include "pvcnoded/policy/placement/rbd_lock_policy.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pvc::policy {

struct disk_user {
    enum class kind : std::uint8_t { guest, kernel, nbd } what = kind::guest;
    std::string volume;
    std::string name;     // of the guest, or of the block device: "rbd0"
    bool shares = false;  // its disk is <shareable/> or <readonly/>

    friend bool operator==(const disk_user&, const disk_user&) = default;
};

// Of these volumes, those that a guest has: as disks, or below them (what they are copied to, what they are based on).
[[nodiscard]] std::vector<disk_user> users_in(const model::domain_xml& live, std::string_view name,
                                              const std::vector<std::string>& volumes);

// The image that a device of the kernel's client maps, as /sys shows it; empty: a snapshot, which nobody writes to.
[[nodiscard]] std::string mapped_volume(std::string_view pool, std::string_view space, std::string_view image,
                                        std::string_view snapshot);
// Whether a program with this command line (words that end with a byte 0) serves the volume as a block device; what it
// serves of a snapshot does not count. In doubt it does.
[[nodiscard]] bool serves_volume(std::string_view command_line, std::string_view volume);

// What is left to be broken of these locks, once it is known who has the images open.
struct users_decision {
    std::vector<lock_to_break> to_break;
    std::vector<std::string> left_alone;  // volumes that are shared: librbd hands their locks over
    std::string refusal;                  // not empty: nothing is to be broken, and this is the failedreason
};
// Those with an address of this host; others are what they were.
[[nodiscard]] users_decision decide_on_users(const std::vector<lock_to_break>& to_break,
                                             const std::vector<disk_user>& users,
                                             const std::vector<std::string>& own_addresses);
// Volumes of which it must be known: those whose lock has an address of this host, each once.
[[nodiscard]] std::vector<std::string> volumes_to_ask_about(const std::vector<lock_to_break>& to_break,
                                                            const std::vector<std::string>& own_addresses);

}  // namespace pvc::policy
