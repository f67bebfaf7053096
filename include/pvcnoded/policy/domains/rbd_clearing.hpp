// RBD locks in the way of a domain: all of them are listed and classified, then all are broken or none, then they are
// listed again. Opening an image may take long and a proof holds for two seconds: so the image of each is opened first,
// then who else on this node has it open is looked at, then the proof that it is still wanted is taken, and then there
// is only the break. Where nobody knows what became of one, what the storage says is decided on anew, so often. Before
// a creation, what others hold is waited for a moment. Used by a start, as a part, and by placement/rbd_clearing for
// whoever is no machine: a client, and who recovers the domains of a dead node. Specification: vm-domains.md 7,
// storage.md 6.3 and 6.4 ("VM start", "Fencing", "flush_locks"); README ruling 80.
#pragma once

#include "pvcnoded/policy/domains/machine.hpp"
#include "pvcnoded/policy/placement/disk_users.hpp"
#include "pvcnoded/policy/placement/rbd_lock_policy.hpp"

#include <string>
#include <vector>

namespace pvc::policy {

// Lists the locks of all volumes; those that cannot be listed twice more, after 1 s and 3 s.
struct reading_rbd_locks {
    enum class at : std::uint8_t { begin, listing, pausing, over };

    std::vector<std::string> volumes{};
    time_point limit = time_point::max();  // it is over by then
    at where = at::begin;
    std::vector<volume_locks> found{};  // in the order of `volumes`
    std::vector<std::string> own_addresses{};
    std::size_t tries = 0;  // beyond the first
    time_point again_at{};

    [[nodiscard]] step resume(context& c);
    friend bool operator==(const reading_rbd_locks&, const reading_rbd_locks&) = default;

private:
    [[nodiscard]] std::vector<std::string> unread() const;
    step list(context& c, std::vector<std::string> which);
    step pause();
    step take(context& c);
};

struct lock_rules {
    duration patience{};      // with what others hold: its owner may be just closing
    bool breaks_any = false;  // also what others hold
    // Whether its guest is here, whose lock it then is: events come late, and without its lock a guest has no disk.
    bool asks_libvirt = false;
    // Whether others on this host have the image open, whose lock it is then (README ruling 80).
    bool asks_users = false;
    // Whether another node has the domain still, whose lock it is then: it may be destroying it.
    bool asks_others = false;
    bool tells_missing = false;        // a volume that does not exist, as a warning
    std::chrono::seconds block_for{};  // the client of a lock that is broken; zero: as Ceph is configured

    [[nodiscard]] static lock_rules before_a_start() {
        return {.patience = std::chrono::seconds(5), .asks_libvirt = true, .asks_users = true, .asks_others = true};
    }
    // Of a domain whose node is proven not to run: whoever holds them. An outage may last longer than Ceph keeps a
    // client away by itself.
    [[nodiscard]] static lock_rules of_a_dead_node() {
        return {.breaks_any = true, .tells_missing = true, .block_for = std::chrono::hours(24)};
    }
    friend bool operator==(const lock_rules&, const lock_rules&) = default;
};

struct clearing_rbd_locks {
    enum class at : std::uint8_t {
        begin,
        listing,
        waiting,         // for another's to go
        looking_again,   // whether that is still wanted
        asking_others,   // whose patience is over: who lists the domain
        asking_holders,  // of those, what they have
        looking_here,    // for its guest
        preparing,       // the image of the next lock is opened
        asking_users,    // who else here has it open
        proving,
        breaking,
        listing_again,  // what was broken is gone
        over,
    };
    enum class outcome : std::uint8_t {
        clear,
        refused,
        changed,
        no_libvirt,
        unseen,  // whose a lock is, for a trouble that is not this machine's
    };

    lock_rules rules{};
    reading_rbd_locks read{};
    at where = at::begin;
    time_point patient_until{};
    time_point again_at{};
    std::string in_the_way{};  // while it waits: which lock, of whom
    std::vector<lock_to_break> to_break{};
    bool is_after_break = false;              // what is asked about came after the break
    std::vector<lock_to_break> broken_now{};  // since it was listed
    std::vector<std::string> left_alone{};    // volumes that others here share
    time_point users_until{};                 // what the last look at who has them open saw counts so long; zero: none
    std::optional<boot_time> users_proof{};   // the proof that was taken right after it
    int rounds = 0;                           // it was listed anew, as nobody knew what became of a break
    int late = 0;                             // so often the next one could not begin in time
    outcome end = outcome::changed;
    std::string reason{};   // of `refused`, `no_libvirt`, `unseen`: the failedreason
    bool is_cephs = false;  // of `refused`: Ceph, or the way to it, was silent; it says nothing of the domain

    // `goes_on`: whether it is still wanted, asked at every resumption.
    [[nodiscard]] step resume(context& c, bool goes_on);
    friend bool operator==(const clearing_rbd_locks&, const clearing_rbd_locks&) = default;

private:
    [[nodiscard]] lock_decision decision() const;
    [[nodiscard]] bool is_ceph_silent() const;
    step list(context& c, at which);
    void tell_nameless(context& c) const;
    void tell_missing(context& c) const;
    step decide(context& c);
    step wait();
    step prove(at which);
    step others_seen(context& c);
    step holders_seen(context& c);
    step look_here(context& c);
    step prepare(context& c);
    step prepared(context& c);
    step ask_users(context& c);
    step users_seen(context& c);
    step break_next(context& c);
    step too_late(context& c);
    step list_anew(context& c, const call_answer& why);
    step refuse(const call_answer& why);
    void tell_broken(context& c) const;
    step broken(context& c);
    [[nodiscard]] bool has_successor(const lock_decision& left) const;
    step conclude(context& c);
    step finish(outcome how, std::string why = {});
};

}  // namespace pvc::policy
