#include "pvcnoded/policy/domains/start_outcomes.hpp"

#include "pvcnoded/base/planted.hpp"
#include "pvcnoded/base/text.hpp"
#include "pvcnoded/policy/domains/rbd_clearing.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace pvc::policy {

using namespace std::chrono_literals;

std::string_view to_text(start_cause cause) {
    switch (cause) {
        case start_cause::none: break;
        case start_cause::networks: return "networks";
        case start_cause::bridge: return "bridge";
        case start_cause::refused_network: return "refused_network";
        case start_cause::ceph: return "ceph";
        case start_cause::libvirt: return "libvirt";
        case start_cause::disk_users: return "disk_users";
        case start_cause::stopped_node: return "stopped_node";
        case start_cause::turn: return "turn";
    }
    return "none";
}

std::string_view in_words(start_cause cause) {
    switch (cause) {
        case start_cause::none: break;
        case start_cause::networks: return "the networks of this node";
        case start_cause::bridge: return "a bridge";
        case start_cause::refused_network: return "a network that is refused";
        case start_cause::ceph: return "Ceph";
        case start_cause::libvirt: return "libvirt";
        case start_cause::disk_users: return "who on this node has its disks open";
        case start_cause::stopped_node: return "a node whose daemon is stopped";
        case start_cause::turn: return "a turn to be created";
    }
    return "nothing";
}

start_outcome judge_bridges(const bridge_seen& seen) {
    const std::string name = ascii_only(seen.name);
    const std::string because = seen.why.empty() ? std::string() : ": " + std::string(seen.why);
    switch (seen.what) {
        case bridge_seen::kind::fine: break;
        case bridge_seen::kind::coming:
            return start_outcome::wait_for(start_cause::bridge, "its bridge " + name + " is not there" + because);
        case bridge_seen::kind::refused:
            return start_outcome::wait_for(start_cause::refused_network,
                                           "the network of its bridge " + name + " is refused" + because);
        case bridge_seen::kind::unknown:
            return start_outcome::fail("its bridge " + name + " belongs to no network that exists");
    }
    return {};
}

start_outcome judge_disks(const std::vector<std::string>& volumes, bool has_storage) {
    const auto image = std::ranges::find_if(volumes, names_an_image);
    if (has_storage || image == volumes.end()) {
        return {};
    }
    return start_outcome::fail("RBD locks of " + ascii_only(*image) +
                               " could not be read: Ceph cannot be asked on this node: its storage function is off");
}

static start_outcome wait_for_ceph(std::string reason) {
    if (is_planted(defect::ceph_fails_machines)) {
        return start_outcome::fail(std::move(reason));
    }
    return start_outcome::wait_for(start_cause::ceph, std::move(reason));
}

start_outcome judge_monitors(const call_answer& said) {
    // Who of those between was the first to give it up changes from try to try.
    if (said.end == call_end::timed_out) {
        return wait_for_ceph(std::string(wait_words::monitors));
    }
    if (said.end == call_end::unavailable) {
        return wait_for_ceph(std::string(wait_words::monitors) + ": " + ascii_only(said.text));
    }
    return {};  // one that refuses is there: what it means shows with the images
}

start_outcome judge_locks(const clearing_rbd_locks& refused) {
    return refused.is_cephs ? wait_for_ceph(refused.reason) : start_outcome::fail(refused.reason);
}

start_outcome judge_images(const rbd_listed& said) {
    const auto silent = std::ranges::find_if(said.volumes, &volume_locks::is_cephs);
    if (silent == said.volumes.end()) {
        return {};
    }
    return wait_for_ceph(std::string(wait_words::images) + ascii_only(silent->volume) + ": " +
                         ascii_only(silent->error.value_or("")));
}

bool is_reason_to_wait(std::string_view reason) {
    constexpr std::array beginnings{
        wait_words::networks,     wait_words::unseen_bridges, wait_words::monitors,   wait_words::images,
        wait_words::libvirt_away, wait_words::libvirt_silent, wait_words::disk_users, wait_words::turn};
    // Those that a name is in; a beginning of some of them is that of failures too.
    constexpr std::array<std::pair<std::string_view, std::string_view>, 4> around{{
        {"its bridge ", " is not there"},
        {"the network of its bridge ", " is refused"},
        {"RBD locks of ", " could not be read: no answer of Ceph in time"},
        {"node ", ", whose daemon is stopped, has it in its running list"},
    }};
    return std::ranges::any_of(beginnings, [reason](auto one) { return reason.starts_with(one); }) ||
           std::ranges::any_of(around, [reason](const auto& one) {
               return reason.starts_with(one.first) && reason.find(one.second) != std::string_view::npos;
           });
}

std::string stopped_holder_text(const std::string& node) {
    return "node " + node +
           ", whose daemon is stopped, has it in its running list, and its libvirt does not say that it is off";
}

duration wait_for_a_cause(unsigned tries) {
    constexpr std::array<duration, 5> pauses{5s, 10s, 20s, 40s, 60s};
    return pauses.at(std::min<std::size_t>(tries, pauses.size() - 1));
}

std::vector<std::string> pools_of(const std::vector<std::string>& volumes) {
    std::vector<std::string> pools;
    for (const auto& one : volumes) {
        if (names_an_image(one)) {
            const std::string pool = one.substr(0, one.find('/'));
            if (std::ranges::find(pools, pool) == pools.end()) {
                pools.push_back(pool);
            }
        }
    }
    return pools;
}

}  // namespace pvc::policy
