// The addresses that only the primary has: that no two nodes answer on one, and that who is primary has them all
// (networking.md 6).
//
// What a machine has it has whether or not its daemon runs, and there are moments in which two have the same: what
// is demanded is the end of each. In a hand-over both have an address for an instant, on purpose. A node that nobody
// hears, and that may be primary, keeps its own for at most the isolation limit. A machine without a running daemon, or
// with one that stands still, keeps what it has until somebody ends it, which nobody can do from outside (fencing is
// not there): it counts from the moment its daemon goes on. So does one whose kernel refuses or hangs. What a reference
// daemon has left behind it leaves there for good, by its nature: it counts while it says that the role is its own, and
// as it acts on who is named without a look at who may not have heard it, a pair with it has longer.
#include "pvcnoded/policy/intervals.hpp"
#include "sim/subjects/networks/networks.hpp"
#include "sim/subjects/role/role.hpp"
#include "sim/world/chaos.hpp"
#include "sim/world/judge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <span>

namespace pvc::sim {

namespace {

using namespace std::chrono_literals;
using model::router_state;

constexpr duration hand_over_end = 5s;  // from the end of a transition, and of any disturbance
constexpr duration calm_secondary = 10s;
constexpr duration longer_with_reference = 60s;

bool is_on_its_way(router_state role) {
    return role == router_state::takeover || role == router_state::relinquish;
}

// Who answers on an address, and must not for long beside another.
struct holders {
    std::string names;
    std::size_t count = 0;
    bool is_handed_over = false;
    bool are_calm = true;
    bool has_reference = false;
    std::optional<duration> limit = duration::zero();  // the longest isolation limit; empty: one has none

    void add(const std::string& name, router_state role) {
        names += (count++ == 0 ? "" : " and ") + name;
        is_handed_over = is_handed_over || is_on_its_way(role);
    }
    [[nodiscard]] std::optional<duration> allowed() const {
        if (are_calm && !has_reference) {
            return hand_over_end;
        }
        const duration more = has_reference ? longer_with_reference : duration::zero();
        return limit ? std::optional(*limit + *limit / 50 + hand_over_end + more) : std::nullopt;
    }
};

holders holders_of(cluster& world, const ip::address& which) {
    holders found;
    for (const auto& one : world.members) {
        const sim_node& node = one->node;
        if (!node.is_running() || node.is_paused() || node.addresses.has_fault() || node.network.has_fault() ||
            !node.kernel.answers(which)) {
            continue;
        }
        const auto& context = node.daemon().context();
        found.add(one->name(), context.role.now());
        found.are_calm = found.are_calm && world.is_calm(*one);
        const auto limit = policy::isolation_limit(context.times);
        found.limit = limit && found.limit ? std::optional(std::max(*limit, *found.limit)) : std::nullopt;
    }
    for (const auto& one : world.foreigners) {
        if (!one->is_running() || one->link().is_cut() || !one->kernel.answers(which)) {
            continue;
        }
        const auto role = one->state().role;
        if (role == router_state::primary || is_on_its_way(role)) {
            found.add(one->settings.name, role);
            found.has_reference = true;
        }
    }
    return found;
}

struct overlap {
    std::string names;
    time_point since{};
};
struct addresses_seen {
    std::map<ip::address, overlap> overlaps;
    // Those that more than one machine answers on, whoever runs there: all others are right.
    std::optional<std::pair<std::uint64_t, std::uint64_t>> shared_of;  // what that was made of
    std::vector<ip::address> shared;
    struct role_of {
        router_state role = router_state::client;
        time_point since{};
    };
    std::map<std::uint32_t, role_of> roles;
};

std::vector<sim_kernel*> kernels_of(cluster& world) {
    std::vector<sim_kernel*> all;
    std::ranges::transform(world.members, std::back_inserter(all), [](const auto& one) { return &one->node.kernel; });
    std::ranges::transform(world.foreigners, std::back_inserter(all), [](const auto& one) { return &one->kernel; });
    return all;
}

std::vector<ip::address> shared_addresses(cluster& world, std::span<sim_kernel* const> kernels) {
    std::vector<ip::address> all;
    for (const auto& [device, address] : addresses_of_the_primary(world.members.front()->node.settings)) {
        if (device != "lo") {  // nobody else's to see
            all.push_back(parse_host_address(address)->address);
        }
    }
    for (const auto& [bridge, gateway] : gateways_of(world)) {
        all.push_back(gateway.address);
    }
    std::erase_if(all, [&](const ip::address& which) {
        return std::ranges::count_if(kernels, [&](const sim_kernel* one) { return one->answers(which); }) < 2;
    });
    return all;
}

// Looks at kernels and keys when they have changed.
const std::vector<ip::address>& addresses_with_two(judge& of, addresses_seen& seen) {
    const auto kernels = kernels_of(of.world);
    std::pair<std::uint64_t, std::uint64_t> now{0, of.world.changes_below("networks")};
    for (const auto* one : kernels) {
        now.first += one->generation();  // each only grows
    }
    if (seen.shared_of != now) {
        seen.shared_of = now;
        seen.shared = shared_addresses(of.world, kernels);
        std::erase_if(seen.overlaps,
                      [&](const auto& one) { return std::ranges::find(seen.shared, one.first) == seen.shared.end(); });
    }
    return seen.shared;
}

void there_is_one_holder(judge& of) {
    if (!has_networking(of.world)) {
        return;
    }
    auto& seen = of.state<addresses_seen>();
    for (const auto& which : addresses_with_two(of, seen)) {
        const auto found = holders_of(of.world, which);
        overlap& now = seen.overlaps[which];
        if (found.count < 2 || found.is_handed_over) {
            now = {};
            continue;
        }
        if (now.names != found.names) {
            now = {found.names, of.world.now()};
        }
        const auto allowed = found.allowed();
        if (allowed && of.world.now() - now.since > *allowed) {
            of.say("one_holder", fmt::format("{} have both had {} for {:.3f} s", found.names, which.to_string(),
                                             seconds(of.world.now() - now.since)));
        }
    }
}

// A hand-over from a reference node to one of ours, from its `relinquish` on. It looks at nothing but locks, and at the
// key no more (README ruling 87): ours must be there in time, whatever the key says by then.
struct given_by_reference {
    std::string named;
    std::string named_before;
    std::string from;  // empty: there is none
    std::string to;
    bool is_named_back = false;
    duration late{};  // of the way of who takes it to the servers and back, at most
    std::map<ip::address, time_point> missing;
    std::map<std::string, time_point, std::less<>> beats;
    std::map<std::string, time_point, std::less<>> silent_until;
};

constexpr duration quick_way = 1ms;  // to the servers and back: what a link takes that nobody made slow

// Daemons read the heartbeats of others with their own: one that had been silent is heard again so much later.
constexpr duration heard_after = 10s;

// Without a heartbeat for so long a node is silent (rule C1).
duration silence(const cluster& world) {
    return 2s * world.members.front()->node.settings.keepalive_interval;
}

void note_beat(given_by_reference& now, const std::string& path, time_point at, duration silence) {
    const auto last = now.beats.find(path);
    if (last != now.beats.end() && at - last->second > silence) {
        now.silent_until[path] = at;
    }
    now.beats[path] = at;
}

// Not one that has said `run` and beats later.
bool was_heard(const given_by_reference& now, const std::string& path, time_point at, duration silence) {
    const auto last = now.beats.find(path);
    const auto returned = now.silent_until.find(path);
    return last != now.beats.end() && at - last->second < silence &&
           (returned == now.silent_until.end() || at - returned->second > heard_after);
}

void follow_references(judge& of, const seen_change& seen) {
    auto& now = of.state<given_by_reference>();
    if (seen.what.what == recorded_kind::remove) {
        // Somebody breaks the lock of the role: what was taken up is given up again (rule C7), and begun anew.
        const bool is_of_role = seen.what.path.starts_with("/config/primary_node/") &&
                                seen.what.path.find("/sync_lock") == std::string::npos;
        if (is_of_role && seen.what.session == 0) {
            now.from.clear();
        }
        return;
    }
    if (seen.what.path == "/config/primary_node") {
        now.named_before = std::exchange(now.named, seen.what.data);
        // A client wants something else; or the first sign comes after `relinquish`, and cannot be told from that:
        // ruling 22 has its time.
        const bool is_unforeseen = now.named == now.from && !now.is_named_back;
        if (seen.what.session == 0 || is_unforeseen || (now.named != now.from && now.named != now.to)) {
            now.from.clear();
        }
        return;
    }
    if (seen.what.path.ends_with("/keepalive")) {
        note_beat(now, seen.what.path, of.world.now(), silence(of.world));
        return;
    }
    const std::string_view suffix = "/routerstate";
    if (!seen.what.path.starts_with("/nodes/") || !seen.what.path.ends_with(suffix)) {
        return;
    }
    const auto name = seen.what.path.substr(7, seen.what.path.size() - 7 - suffix.size());
    if (of.world.find_foreign(name) != nullptr && seen.what.data == "relinquish") {
        now.from = name;
        now.is_named_back = now.named == name;
        now.to = now.is_named_back ? now.named_before : now.named;
        now.missing.clear();
        now.late = {};
    } else if (name == now.to && seen.what.data == "primary") {
        now.from.clear();
    }
}

// Whoever takes the role over has to wait for it, also where a contender hears late that he has it.
bool is_locked_by_another(const judge& of, const member& taking) {
    const std::string key = "/config/primary_node";
    const auto children = of.world.ensemble.children(key);
    return std::ranges::any_of(children, [&](const std::string& name) {
        const std::string holder = value_of(of, key + '/' + name);
        const auto is_his = [&](const auto& one) {
            return one.get() != &taking && holder.starts_with(one->name() + ':') && !of.world.is_calm(*one);
        };
        return name.find("lock__") != std::string::npos &&
               (holder == "client" || std::ranges::any_of(of.world.members, is_his));
    });
}

void somebody_has_them(judge& of) {
    auto& now = of.state<given_by_reference>();
    if (now.from.empty() || !has_networking(of.world)) {
        return;
    }
    auto* const taking = of.world.find(now.to);
    auto* const giving = of.world.find_foreign(now.from);
    const bool can_take = taking != nullptr && taking->node.is_running() && taking->node.is_ready() &&
                          !taking->node.is_paused() && of.world.is_calm(*taking) &&
                          value_of(of, taking->root() + "/routerstate") != "client" &&
                          value_of(of, taking->root() + "/daemonstate") == "run";
    // One that beats more rarely is silent between two beats, and is waited for.
    const bool is_heard = can_take && giving != nullptr && giving->is_running() && !giving->link().is_cut() &&
                          was_heard(now, "/nodes/" + now.from + "/keepalive", of.world.now(), silence(of.world)) &&
                          taking->node.daemon().context().times.grace() > giving->settings.keepalive_interval * 1s;
    // Whoever else still says that he is primary, or on his way, may have them: he is waited for.
    const bool has_other = std::ranges::any_of(of.world.members, [&](const auto& one) {
        const std::string role = value_of(of, one->root() + "/routerstate");
        return one.get() != taking && (role == "primary" || role == "relinquish" || role == "takeover");
    });
    if (!is_heard || has_other || is_locked_by_another(of, *taking)) {
        now.from.clear();
        return;
    }
    // Alone it asks some thirty times until phase D, one after the other.
    constexpr int asks_until_addresses = 32;
    const auto& link = taking->node.connector.link();
    now.late = std::max<duration>(
        now.late, link.latency - quick_way + link.watch_delay + std::max(link.answer_delay, link.write_answer_delay));
    const duration allowed = (now.is_named_back ? 2s : 1s) + asks_until_addresses * now.late;
    const auto kernels = kernels_of(of.world);
    for (const auto& [device, address] : addresses_of_the_primary(taking->node.settings)) {
        const auto which = parse_host_address(address)->address;
        if (std::ranges::any_of(kernels, [&](const sim_kernel* one) { return one->answers(which); })) {
            now.missing.erase(which);
            continue;
        }
        const time_point since = now.missing.try_emplace(which, of.world.now()).first->second;
        if (of.world.now() - since > allowed) {
            of.say("handed_over_in_time",
                   fmt::format("{} gives the role to {}, and {} has been on nobody for {:.3f} s", now.from, now.to,
                               which.to_string(), seconds(of.world.now() - since)));
            now.from.clear();
            return;
        }
    }
}

// By the last second: what was asked of a machine's kernel, and what it was.
struct asked_of_kernel {
    std::size_t calls = 0;
    std::uint64_t generation = 0;
    time_point touched{};  // by somebody else
    std::set<std::string> had;
    std::vector<model::hardware_address> hardware;  // of the devices that carry them
};

// A role that was given up and taken again within a second is a new one.
void note_role_writes(judge& of, const seen_change& seen) {
    if (seen.writer != nullptr && seen.suffix == "/routerstate" && seen.subject == seen.writer) {
        of.state<std::map<std::uint32_t, asked_of_kernel>>()[seen.writer->number].touched = of.world.now();
    }
}

// Of a primary that has been one for a while, and whose looks at its links are not answered: what is there, and was, is
// not added again, unless somebody did something
// to the machine's links before the daemon's last look: a bridge with another hardware address is announced so.
void nothing_is_added_blindly(judge& of) {
    constexpr duration between_looks = 1min;  // and as long as an outage may keep what is to be announced
    if (!has_networking(of.world)) {
        return;
    }
    auto& known = of.state<std::map<std::uint32_t, asked_of_kernel>>();
    const auto& roles = of.state<addresses_seen>().roles;
    for (const auto& one : of.world.members) {
        const auto& calls = one->node.addresses.calls;
        asked_of_kernel& before = known[one->number];
        const std::uint64_t generation = one->node.kernel.generation();
        if (generation == before.generation && calls.size() == before.calls) {
            before.touched = one->node.is_paused() ? of.world.now() : before.touched;
            continue;  // what it has is what it had
        }
        const auto role = roles.find(one->number);
        const bool is_settled = one->node.is_running() && role != roles.end() &&
                                role->second.role == router_state::primary &&
                                of.world.now() - role->second.since > hand_over_end;
        // Each call makes the kernel another, also one that changes nothing: nobody else did.
        const bool is_unchanged = generation - before.generation == calls.size() - std::min(before.calls, calls.size());
        std::vector<model::hardware_address> hardware;
        for (const auto& [device, address] : addresses_of_the_primary(one->node.settings)) {
            const auto* link = one->node.kernel.link(std::string(device));
            hardware.push_back(link == nullptr ? model::hardware_address() : link->hardware);
        }
        before.touched =
            is_unchanged && hardware == before.hardware && !one->node.is_paused() ? before.touched : of.world.now();
        const bool is_untouched = one->node.network.has_fault() && of.world.now() - before.touched > between_looks;
        for (std::size_t i = before.calls; is_settled && is_untouched && i < calls.size(); ++i) {
            for (const auto& [device, address] : addresses_of_the_primary(one->node.settings)) {
                const auto which = *parse_host_address(address);
                const auto call = fmt::format("add {} on {}", which.text(), device);
                if (calls[i] == call && before.had.contains(call)) {
                    of.say("nothing_added_blindly", fmt::format("{} adds {} on {}, which was there all the time",
                                                                one->name(), which.text(), device));
                }
            }
        }
        std::set<std::string> has;
        for (const auto& [device, address] : addresses_of_the_primary(one->node.settings)) {
            if (const auto which = *parse_host_address(address); one->node.kernel.has(std::string(device), which)) {
                has.insert(fmt::format("add {} on {}", which.text(), device));
            }
        }
        before = {calls.size(), generation, before.touched, std::move(has), std::move(hardware)};
    }
}

// Since when a daemon has been what it is.
void note_roles(judge& of) {
    if (!has_networking(of.world)) {
        return;
    }
    auto& roles = of.state<addresses_seen>().roles;
    for (const auto& one : of.world.members) {
        const auto role =
            one->node.is_running() ? one->node.daemon().context().role.now() : router_state::takeover;  // no secondary
        auto& known = roles[one->number];
        if (known.role != role) {
            known = {role, of.world.now()};
        }
    }
}

std::string held_by(const member& one) {
    std::string held;
    for (const auto& [device, address] : addresses_of_the_primary(one.node.settings)) {
        const auto which = *parse_host_address(address);
        if (one.node.kernel.answers(which.address)) {
            held += (held.empty() ? "" : ", ") + which.text();
        }
    }
    // On the bridges of client networks nobody else has any. One whose link could not be noted before the file gave
    // another card is left alone, with what is on it, and that is told.
    const auto& seen = one.node.kernel.state();
    for (const auto& address : seen.addresses()) {
        const auto device = seen.name_of(address.link);
        const auto vni = model::vni_of(device, "vmbr");
        if (vni && !is_left_on_device_of_before(one.node, *vni) && address.is_global() && address.is_permanent &&
            address.address.text() != strangers_address) {
            held += fmt::format("{}{} on {}", held.empty() ? "" : ", ", address.address.text(), device);
        }
    }
    return held;
}

constexpr member_rule a_secondary_has_none{
    .is_judged =
        [](const judge& of, const member& one) {
            if (!has_networking(of.world)) {
                return false;
            }
            const auto& now = of.state<addresses_seen>().roles[one.number];
            return now.role == router_state::secondary && one.node.is_ready() && !one.node.is_paused() &&
                   of.world.is_calm(one) && of.world.now() - now.since > calm_secondary &&
                   of.world.now() - one.calm_from > calm_secondary &&
                   value_of(of, "/config/primary_node") != one.name();  // it found its own, and is about to take over
        },
    .reads = [](const judge& /*of*/,
                const member& one) { return std::optional(member_rule::versions{one.node.kernel.generation()}); },
    .wrong =
        [](const judge& of, const member& one) {
            const auto since = of.state<addresses_seen>().roles[one.number].since;
            const std::string held = held_by(one);
            return held.empty() ? held
                                : fmt::format("{} has been secondary for {:.3f} s and has {}", one.name(),
                                              seconds(of.world.now() - since), held);
        },
};

std::optional<std::string> the_primary_has_all(const judge& of) {
    if (!has_networking(of.world)) {
        return std::nullopt;
    }
    const std::string named = value_of(of, "/config/primary_node");
    for (const auto& one : of.world.members) {
        if (one->name() != named) {
            if (const std::string held = held_by(*one); !held.empty()) {
                return fmt::format("{} is not primary and has {}", one->name(), held);
            }
            continue;
        }
        for (const auto& [device, address] : addresses_of_the_primary(one->node.settings)) {
            if (!one->node.kernel.has(std::string(device), *parse_host_address(address))) {
                return fmt::format("{} is primary and has no {} on {}", one->name(), address, device);
            }
        }
        for (const auto& [bridge, gateway] : gateways_of(of.world)) {
            // A bridge that is too small for IPv6, or that could not be made: see network_links. A network is refused
            // where what it stands on was left on the device of before.
            const auto& seen = one->node.kernel.state();
            const auto* link = seen.find(bridge);
            const auto vni = model::vni_of(bridge, "vmbr");
            const bool can_have = link != nullptr && (gateway.address.is_v4() || link->mtu >= 1280) &&
                                  !(vni && is_left_on_device_of_before(one->node, *vni));
            if (can_have && !one->node.kernel.has(bridge, gateway)) {
                std::string has;
                for (const auto& other : one->node.kernel.addresses_on(bridge)) {
                    has += " " + other.text();
                }
                return fmt::format("{} is primary and has no {} on {}, but{}", one->name(), gateway.text(), bridge,
                                   has.empty() ? " nothing" : has);
            }
        }
    }
    return std::nullopt;
}

constexpr rule address_rules[] = {
    {.name = "one_holder",
     .meaning = "a floating address answers on at most one node outside the intended overlap",
     .on_second = there_is_one_holder},
    {.name = "handed_over_in_time",
     .meaning =
         "what a reference node hands over to one of ours is on nobody for at most 1 s, 2 s where it named itself "
         "again",
     .on_change = follow_references,
     .on_quiet = somebody_has_them},
    {.name = "nothing_added_blindly",
     .meaning = "a primary adds no address that is there and was not touched",
     .on_change = note_role_writes,
     .on_second = nothing_is_added_blindly},
    {.name = "secondary_without_addresses",
     .meaning = "a secondary that has been calm for 10 s has no address of the primary",
     .on_second = note_roles,
     .of_member = a_secondary_has_none},
};

constexpr progress address_progress[] = {
    {"primary_has_addresses", "who is primary has all addresses of the primary, and nobody else has one",
     the_primary_has_all},
};

// Only where somebody uses them.
std::uint64_t with_networking(cluster& world) {
    return has_networking(world) ? 1 : 0;
}

void break_addresses(cluster& world, const action& what, member& target) {
    for (const auto* call : {"add", "remove"}) {
        target.node.addresses.broken.insert_or_assign(call, failure(errc::refused, call, "Operation not permitted"));
    }
    world.lasting(what, &target, true, [&target] { target.node.addresses.broken.clear(); });
}

void hang_addresses(cluster& world, const action& what, member& target) {
    target.node.addresses.hang();
    world.lasting(what, &target, true, [&target] { target.node.addresses.end_hang(); });
}

void slow_addresses(cluster& world, const action& what, member& target) {
    target.node.addresses.call_time = what.amount;
    world.lasting(what, &target, true, [&target] { target.node.addresses.end_slowness(); });
}

constexpr action_kind actions_on_addresses[] = {
    {.name = "break-addresses",
     .takes = "n",
     .meaning = "the kernel refuses to add and to remove addresses",
     .can_last = true,
     .on_member = break_addresses,
     .chance = drawn{.favour = with_networking}},
    {.name = "hang-addresses",
     .takes = "n",
     .meaning = "what is asked of the kernel about addresses is not answered, and done later",
     .can_last = true,
     .on_member = hang_addresses,
     .chance = drawn{.favour = with_networking}},
    {.name = "slow-addresses",
     .takes = "nd",
     .meaning = "every call about addresses takes so long",
     .can_last = true,
     .on_member = slow_addresses,
     .chance = drawn{.favour = with_networking,
                     .arguments = [](drawing& from, action& out) { out.amount = from.some_time(10ms, 15s); }}},
    {.name = "wipe-addresses",
     .takes = "n",
     .meaning = "somebody takes all addresses off the machine's devices",
     .on_member =
         [](cluster& world, const action& /*what*/, member& target) {
             target.node.kernel.remove_all_addresses();
             world.disturb(target, std::nullopt);
         },
     .chance = drawn{.favour = with_networking}},
};

}  // namespace

bool has_networking(const cluster& world) {
    return !world.members.empty() && world.members.front()->node.settings.networking;
}

std::array<placed_address, 4> addresses_of_the_primary(const node_settings& of) {
    return {{{"brupstream", of.upstream_floating_ip},
             {"brcluster", of.cluster_floating_ip},
             {"brstorage", of.storage_floating_ip},
             {"lo", "169.254.169.254/32"}}};
}

void add_addresses(registry& to) {
    to.add(actions_on_addresses);
    to.add(address_rules);
    to.add(address_progress);
    to.add(subject_part{.heal_member = [](cluster& /*world*/, member& one) { one.node.addresses.end_faults(); }});
}

}  // namespace pvc::sim
