// Whether the RBD locks on the volumes of a virtual machine may be broken, before it is started here or because a
// client wants it: all or none. Specification: storage.md 6.3 and 6.4 ("VM start", "flush_locks"), vm-domains.md 7;
// cases D16-D21, AC108.
#pragma once

#include "pvcnoded/base/address.hpp"
#include "pvcnoded/policy/placement/rbd_lock_seen.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pvc::policy {

// "10.254.0.1" or "fd00::1", as a host's own addresses are written; a prefix length behind it ("/24") is ignored.
[[nodiscard]] std::optional<ip::address> parse_own_address(std::string_view text);
// "10.254.0.2:0/3058373081", "v2:[fd00::1]:6800/17": optional v1:, v2: or any:, then the address, port and nonce.
[[nodiscard]] std::optional<ip::address> parse_lock_address(std::string_view text);

enum class lock_verdict : std::uint8_t {
    own,         // every lock is ours: break `to_break` (perhaps none), then create
    foreign,     // one is not ours: list again for a while (the old owner may be just closing), then fail
    unreadable,  // a volume could not be listed and no foreign lock was seen
};

struct lock_decision {
    lock_verdict verdict = lock_verdict::own;
    std::vector<lock_to_break> to_break;  // verdict own only
    std::string reason;                   // the failedreason of the other two, one line
    std::string in_the_way;               // verdict foreign: which lock, for whoever waits for it
};

// `own_addresses`: the storage address and the other static addresses of this host; those that cannot be read are
// ignored. Loopback and unspecified addresses are the same on every host and never ours.
[[nodiscard]] lock_decision decide_start_locks(const std::vector<volume_locks>& volumes,
                                               const std::vector<std::string>& own_addresses);

// The same for a client's wish to have them broken ("flush_locks"). `breaks_any`: also those of others, of a domain
// that is off; a volume that could not be listed still leaves all of them alone.
[[nodiscard]] lock_decision decide_flush_locks(const std::vector<volume_locks>& volumes,
                                               const std::vector<std::string>& own_addresses, bool breaks_any);

// Whether the lock has an address of this host.
[[nodiscard]] bool is_held_by(const held_lock& lock, const std::vector<std::string>& own_addresses);

// failedreason after a lock could not be broken.
[[nodiscard]] std::string unbreakable_lock_text(const lock_to_break& which, std::string_view error);

}  // namespace pvc::policy
