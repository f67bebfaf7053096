// What must come about of virtual machines once every fault has ended.
#include "pvcnoded/base/text.hpp"
#include "pvcnoded/model/client_network.hpp"
#include "sim/subjects/ceph/ceph.hpp"
#include "sim/subjects/domains/guest_rules.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pvc::sim {

namespace {

// A client named a bridge of no network; daemons of the other kind wait for none that nobody makes, and say so in the
// words of libvirt.
bool may_fail_for_its_bridge(const judge& of, std::int64_t number, const std::string& reason) {
    const auto& all = guests_of(of.world).bridges;
    if (!all.contains(number)) {
        return false;
    }
    const bool is_by_reference = !of.world.foreign_machines().empty() && !all.at(number).starts_with("vmbr") &&
                                 reason.find("MTU on '" + all.at(number) + "': No such device") != std::string::npos;
    return is_by_reference || reason.find("belongs to no network that exists") != std::string::npos;
}

// Such a one failed on a reference node, in libvirt's words, and an unflush brought it home as it was: what is `fail`
// is started by a client only.
bool failed_at_reference_for_its_bridge(const judge& of, std::int64_t number, const std::string& reason) {
    const auto& all = guests_of(of.world).bridges;
    const auto found = all.find(number);
    const auto vni = found == all.end() ? std::nullopt : model::vni_of(found->second, "vmbr");
    return vni && !of.world.foreign_machines().empty() &&
           !of.world.ensemble.get(fmt::format("/networks/{}", *vni)).has_value() &&
           reason == fmt::format("Cannot get interface MTU on '{}': No such device", found->second);
}

// What a machine's keys say is so, and nowhere is a second copy, a lock or a word left over.
std::optional<std::string> wrong_with_guest(const judge& of, std::int64_t number) {
    const auto id = guest_id(number);
    const std::string root = "/domains/" + pvc::to_text(id);
    const std::string state = value_of(of, root + "/state");
    const std::string node = value_of(of, root + "/node");
    const std::string name = value_of(of, root);  // a client may have given it another one
    std::vector<std::string> places;
    for (const auto& one : of.world.members) {
        if (one->node.settings.hypervisor && one->node.guests().executes(id)) {
            places.push_back(one->name());
        }
    }
    const bool has_foreign = !of.world.foreign_machines().empty();
    if (has_foreign && is_the_references(of, number)) {
        // Of its own defects nothing follows for ours but this: no second copy, and no lock of ours.
        return places.size() > 1 ? std::optional(fmt::format("machine {} runs {}", number, pvc::join(places, " and ")))
                                 : std::nullopt;
    }
    const std::string where = places.empty() ? "nowhere" : pvc::join(places, " and ");
    const bool is_on = state == "start";
    // In `mirror` a client keeps it for as long as it likes; no daemon has a guest of it.
    const bool is_off = state == "stop" || state == "disable" || state == "mirror";
    if (!is_on && !is_off && state != "fail") {
        return fmt::format("machine {} is still in `{}`, on {}, and runs {}", number, state, node, where);
    }
    if (auto wrong = against_the_wish(of, number)) {
        return wrong;
    }
    if (state == "fail") {
        // The last word was to start it: only a disk that another host's lock keeps from it is a reason not to, or a
        // call that was told to fail.
        const std::string reason = value_of(of, root + "/failedreason");
        const bool was_kept = of.world.performed.contains("keep-broken");
        if (reason.find("an injected failure") != std::string::npos || may_fail_for_its_bridge(of, number, reason) ||
            failed_at_reference_for_its_bridge(of, number, reason) ||
            (was_kept && reason.find("could not be removed: it is still there") != std::string::npos)) {
            return std::nullopt;
        }
        if (is_for_a_neighbour(of.world, number, reason)) {
            return std::nullopt;
        }
        if (reason.find("RBD lock") == std::string::npos || of.world.hardware.rbd.locks(guest_image(number)).empty()) {
            return fmt::format("machine {} is in `fail` on {}: \"{}\"", number, node, reason);
        }
    }
    if (is_on && (places.size() != 1 || places.front() != node) &&
        !(places.empty() && waits_for_its_bridge(of, number, node))) {
        return fmt::format("machine {} is `start` on {}, and runs {}", number, node, where);
    }
    if ((is_off && !places.empty()) || places.size() > 1) {
        return fmt::format("machine {} is `{}`, and runs {}", number, state, where);
    }
    for (const std::string suffix : {"/state", "/node", "/migrate_sync_lock"}) {
        if (has_foreign && suffix == "/migrate_sync_lock") {
            continue;  // the reference keeps the lock of a hand-shake that it rolled back
        }
        if (!of.world.ensemble.children(root + suffix).empty()) {
            return fmt::format("machine {} has a lock left on {}", number, suffix);
        }
    }
    if (const auto sync = of.world.ensemble.get(root + "/migrate_sync_lock").value_or(""); !sync.empty()) {
        return fmt::format("machine {} has migrate_sync_lock \"{}\"", number, sync);
    }
    for (const auto& one : of.world.members) {
        const bool is_listed =
            value_of(of, one->root() + "/runningdomains").find(pvc::to_text(id)) != std::string::npos;
        const bool runs_here = std::ranges::find(places, one->name()) != places.end();
        if (const auto what = one->node.guests().guest(id).what();
            !runs_here && (what == model::guest_class::ending || what == model::guest_class::paused)) {
            return fmt::format("machine {} runs {}, and {} still has {} of it", number, where, one->name(),
                               what == model::guest_class::paused ? "half" : "an ending copy");
        }
        const auto followers = one->node.consoles.followers(fmt::format("/var/log/libvirt/{}.log", name));
        // One whose keys name a node that failed to start it runs on here, and is not this node's: nobody follows it.
        const bool is_anothers = state == "fail" && node != one->name();
        if (followers != (runs_here && !is_anothers ? 1U : 0U)) {
            return fmt::format("machine {} runs {}, and {} follows its console {} times", number, where, one->name(),
                               followers);
        }
        if (is_listed != belongs_into_list(of, *one, number).value_or(runs_here)) {
            return fmt::format("machine {} runs {}, and the running list of {} {} it", number, where, one->name(),
                               is_listed ? "has" : "lacks");
        }
    }
    return std::nullopt;
}

std::optional<std::string> guests_are_right(const judge& of) {
    for (const auto number : guests_of(of.world).defined) {
        if (auto wrong = wrong_with_guest(of, number)) {
            return wrong;
        }
    }
    return std::nullopt;
}

// `fail` is for what no waiting heals: Ceph that was silent, or a libvirtd that was away, makes no machine fail.
std::optional<std::string> what_can_start_again_does(const judge& of) {
    for (const auto number : guests_of(of.world).defined) {
        const std::string reason = value_of(of, guest_key(number, "/failedreason"));
        if (may_fail_for_its_bridge(of, number, reason)) {
            continue;
        }
        for (const std::string_view cause :
             {"could not be read", "do not answer", "does not answer", "No such device", "is away", "are not set up"}) {
            if (value_of(of, guest_key(number, "/state")) == "fail" && reason.find(cause) != std::string::npos &&
                !is_the_references(of, number) && !failed_at_reference_for_its_bridge(of, number, reason)) {
                return fmt::format("machine {} is in `fail`, which is not its fault: \"{}\"", number, reason);
            }
        }
    }
    return std::nullopt;
}

// Whoever was asked to be emptied or to come back has done so.
std::optional<std::string> orders_are_done(const judge& of) {
    for (const auto& one : of.world.members) {
        const std::string state = value_of(of, one->root() + "/domainstate");
        if (state == "flush" || state == "unflush") {
            return fmt::format("{} is still in \"{}\"", one->name(), state);
        }
    }
    return std::nullopt;
}

constexpr progress domain_progress[] = {
    {"guests_are_right", "every virtual machine is where and what its keys say, once", guests_are_right},
    {"what_can_start_again_does", "no machine is in `fail` for a cause that lay outside of it",
     what_can_start_again_does},
    {"orders_are_done", "no node is still being flushed or made ready", orders_are_done},
};

}  // namespace

void add_domain_progress(registry& to) {
    to.add(domain_progress);
}

}  // namespace pvc::sim
