// Proof by storage that a machine cannot write any more, where its node cannot be switched off: every client that has a
// lock on one of its disks, or has one open for writing, is put on the blocklist of Ceph, seen to be there, and nobody
// new has come meanwhile. An image that nobody has proves nothing: who was cut off for a while is no longer listed, and
// may come back. A resumable value that asks one thing at a time; who carries it out is
// placement/rbd_clearing. It is for machines whose disks are all RBD. Specification: storage.md 6.4 ("Storage proof"),
// README ruling 12 (b); case 37.
#pragma once

#include "pvcnoded/base/clock.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace pvc::policy {

// Who has a volume.
struct volume_clients {
    std::string volume;
    std::vector<std::string> addresses;  // as Ceph writes them, each once or more often
    std::optional<std::string> error;    // it could not be asked
    bool is_missing = false;             // it does not exist: nobody writes to it
};

// Who had which volumes when that was looked at completely before, while the machine was on the same dead node: watches
// of clients that were put on the blocklist end soon after.
struct clients_before {
    std::vector<std::string> volumes;
    std::vector<std::string> addresses;
    friend bool operator==(const clients_before&, const clients_before&) = default;
};

// What it asks, with the answer in brackets.
namespace proof_ask {
struct nothing {};  // it is over
struct clients {    // [proof_said::clients]
    std::vector<std::string> volumes;
};
struct still_wanted {};  // [proof_said::proof]
struct blocklist {       // [proof_said::done] begins while the proof is valid, or not at all
    std::string address;
    std::chrono::seconds time{};
    boot_time proof{};
    bool by_command = false;  // of the monitors, the time as a number: the library's way was not understood
};
struct blocklisted {};  // [proof_said::blocklisted]
using any = std::variant<nothing, clients, still_wanted, blocklist, blocklisted>;
}  // namespace proof_ask

namespace proof_said {
struct begin {};
struct clients {
    std::vector<volume_clients> volumes;
};
struct proof {  // empty: it is no longer wanted
    std::optional<boot_time> at;
};
struct done {  // empty: it is
    std::optional<std::string> error{};
    bool is_not_understood = false;  // Ceph says -22
};
struct blocklisted {
    std::vector<std::string> addresses;
    std::optional<std::string> error;
};
using any = std::variant<begin, clients, proof, done, blocklisted>;
}  // namespace proof_said

struct proving_by_storage {
    enum class at : std::uint8_t { begin, listing, asking, blocking, checking, listing_again, over };
    enum class outcome : std::uint8_t { proven, refused, changed };

    std::vector<std::string> volumes{};
    clients_before before{};
    at where = at::begin;
    int round = 1;
    std::vector<std::string> to_block{};
    std::vector<std::string> blocked{};  // of all rounds, in their order
    bool by_command = false;
    std::vector<std::string> clients{};  // all that had the volumes, once that was looked at completely; else none
    outcome end = outcome::changed;
    std::string reason{};  // of `refused`

    // The answer to what was asked last; gives the next question.
    [[nodiscard]] proof_ask::any resume(const proof_said::any& said);

private:
    proof_ask::any list(at which);
    proof_ask::any take(const proof_said::clients& said);
    [[nodiscard]] std::optional<std::string> unproven(const proof_said::clients& said) const;
    proof_ask::any go_on();
    proof_ask::any check(const proof_said::blocklisted& said);
    proof_ask::any finish(outcome how, std::string why = {});
};

}  // namespace pvc::policy
