// Who else is on the networks of the nodes: one neighbour for each address of the primary, who remembers by which
// hardware address it is reached, and believes what Linux believes (measured): a request of an owner for itself always;
// a reply to everybody only if it changed its mind more than a second ago; an advertisement that overrides always. It
// asks now and then by itself, the node that it believes first.
#include "pvcnoded/base/text.hpp"
#include "sim/subjects/networks/networks.hpp"
#include "sim/subjects/role/role.hpp"
#include "sim/world/chaos.hpp"
#include "sim/world/judge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace pvc::sim {

using namespace std::chrono_literals;

namespace {

constexpr duration lock_time = 1s;         // locktime
constexpr duration between_asks = 30s;     // base_reachable_time
constexpr duration believed_within = 2s;   // a second, as rules are asked once a second
constexpr duration longest_overlap = 10s;  // of a hand-over
constexpr duration heard_within = 1300ms;  // a second, and what a look and a call take

struct owner {
    std::string machine;
    model::hardware_address hardware{};
    friend bool operator==(const owner&, const owner&) = default;
};

struct neighbour {
    std::optional<owner> believes;
    time_point changed{};  // its mind
    std::optional<owner> right;
    time_point right_since{};
    std::size_t owners = 0;
    time_point owners_since{};
    // It believed a reference machine that had left the address behind, beside its owner, and has lost its power since:
    // nobody could know that it has to be told, and it asks by itself (`between_asks`).
    bool is_forsaken = false;
};

using place = std::pair<std::string, ip::address>;

// Who answers at a place, as long as no kernel and no network changes.
struct answers {
    place where;
    std::vector<owner> owners;
    neighbour* asks;
};

struct neighbours {
    std::map<place, neighbour> all;
    std::optional<std::pair<std::uint64_t, std::uint64_t>> answers_of;  // what they were made of
    std::vector<answers> all_answers;
    std::uint64_t readdressed = 0;
    std::map<std::string, time_point> when_readdressed;  // "hv1 brcluster"
    std::map<std::string, std::pair<int, model::hardware_address>> bridges;
    std::vector<std::optional<std::uint64_t>> bridges_of;  // of each member that is judged: its kernel's generation
};

std::vector<place> places_of(cluster& world) {
    std::vector<place> all;
    for (const auto& [device, address] : addresses_of_the_primary(world.members.front()->node.settings)) {
        if (device != "lo") {
            all.emplace_back(device, parse_host_address(address)->address);
        }
    }
    for (const auto& [bridge, gateway] : gateways_of(world)) {
        all.emplace_back(bridge, gateway.address);
    }
    return all;
}

// Empty: it does not answer there.
std::optional<owner> owner_on(const sim_kernel& kernel, const std::string& name, const place& where) {
    const auto* link = kernel.link(where.first);
    if (link == nullptr || !link->is_running) {
        return std::nullopt;
    }
    const auto there = kernel.addresses_on(where.first);
    const bool has_it = std::ranges::find(there, where.second, &host_address::address) != there.end();
    return has_it ? std::optional(owner{name, link->hardware}) : std::nullopt;
}

std::vector<owner> owners_of(const cluster& world, const place& where) {
    std::vector<owner> all;
    for (const auto& one : world.members) {
        if (auto found = owner_on(one->node.kernel, one->name(), where)) {
            all.push_back(*std::move(found));
        }
    }
    for (const auto& one : world.foreigners) {
        if (auto found = owner_on(one->kernel, one->settings.name, where)) {
            all.push_back(*std::move(found));
        }
    }
    return all;
}

void believe(const cluster& world, neighbour& one, const owner& whom) {
    if (one.believes != whom) {
        one.believes = whom;
    }
    one.is_forsaken = false;
    one.changed = world.now();
}

void ask(const cluster& world, neighbour& one, const std::vector<owner>& owners) {
    if (one.believes && std::ranges::find(owners, *one.believes) != owners.end()) {
        one.changed = world.now();
    } else if (!owners.empty()) {
        believe(world, one, owners.front());
    } else {
        one.believes.reset();
    }
}

// Empty: nobody of ours that is well has it alone.
const member* judged_owner(const judge& of, const std::vector<owner>& owners) {
    if (owners.size() != 1) {
        return nullptr;
    }
    for (const auto& one : of.world.members) {
        if (one->name() == owners.front().machine && one->node.is_running() && !one->node.is_paused() &&
            of.world.is_calm(*one) && one->node.daemon().context().role.now() == model::router_state::primary) {
            return one.get();
        }
    }
    return nullptr;
}

// Who is to be believed, and since when: as exactly as it is asked.
void note_owner(cluster& world, neighbour& one, const std::vector<owner>& owners) {
    const owner* const now = owners.size() == 1 ? &owners.front() : nullptr;
    if (now == nullptr ? one.right.has_value() : one.right != *now) {
        const bool was_left_behind = one.owners > 1 && world.now() - one.owners_since > longest_overlap;
        one.is_forsaken = was_left_behind && now != nullptr && one.believes && one.believes != *now &&
                          world.find_foreign(one.believes->machine) != nullptr;
        one.right = now == nullptr ? std::nullopt : std::optional(*now);
        one.right_since = world.now();
    }
    if (one.owners != owners.size()) {
        one.owners = owners.size();
        one.owners_since = world.now();
    }
}

void say_wrong(judge& of, const place& where, const neighbour& one) {
    of.say("neighbours_know",
           fmt::format("{} has had {} on {} at {} for {:.3f} s, and a neighbour looks for it at {} of {}",
                       one.right->machine, where.second.to_string(), where.first, model::to_text(one.right->hardware),
                       seconds(of.world.now() - one.right_since), model::to_text(one.believes->hardware),
                       one.believes->machine));
}

void hear(judge& of, member& from, const place& where, netlink::announced_as frame) {
    auto& all = of.world.state<neighbours>().all;
    const auto found = all.find(where);
    const auto whom = owner_on(from.node.kernel, from.name(), where);
    if (found == all.end() || !found->second.believes || !whom) {
        return;  // who never asked does not listen
    }
    auto& one = found->second;
    const auto owners = owners_of(of.world, where);
    note_owner(of.world, one, owners);
    const bool is_late = of.world.now() - one.changed > lock_time;
    if (frame == netlink::announced_as::reply && !is_late) {
        return;
    }
    if (one.right == whom && one.believes != whom && !one.is_forsaken &&
        of.world.now() - one.right_since > heard_within && judged_owner(of, owners) != nullptr) {
        say_wrong(of, where, one);
    }
    believe(of.world, one, *whom);
}

void listen_to_frames(judge& of) {
    if (!has_networking(of.world)) {
        return;
    }
    for (const auto& member : of.world.members) {
        auto& from = *member;
        from.node.addresses.on_frame = [&of, &from](const std::string& device, const ip::address& address,
                                                    netlink::announced_as frame) {
            hear(of, from, {device, address}, frame);
            const auto role = from.node.daemon().context().role.now();
            if (role != model::router_state::primary && role != model::router_state::takeover) {
                of.say("announced_to_stay",
                       fmt::format("{} announces {}, and its role is to go", from.name(), address.to_string()));
            }
        };
    }
}

// Made anew when a machine's kernel or the networks have changed.
const std::vector<answers>& answers_in(cluster& world) {
    auto& seen = world.state<neighbours>();
    std::pair<std::uint64_t, std::uint64_t> now{0, world.changes_below("networks")};
    for (const auto& one : world.members) {
        now.first += one->node.kernel.generation();  // each only grows
    }
    for (const auto& one : world.foreigners) {
        now.first += one->kernel.generation();
    }
    if (seen.answers_of != now) {
        seen.answers_of = now;
        const auto places = places_of(world);
        std::erase_if(seen.all, [&](const auto& one) { return std::ranges::find(places, one.first) == places.end(); });
        seen.all_answers.clear();
        for (const auto& where : places) {
            seen.all_answers.push_back({where, owners_of(world, where), &seen.all[where]});
        }
    }
    return seen.all_answers;
}

void neighbours_know(judge& of) {
    if (!has_networking(of.world)) {
        return;
    }
    for (const auto& [where, owners, asks] : answers_in(of.world)) {
        auto& one = *asks;
        if (!one.believes || of.world.now() - one.changed > between_asks) {
            ask(of.world, one, owners);
        }
        note_owner(of.world, one, owners);
        if (one.believes && one.believes != one.right && !one.is_forsaken &&
            of.world.now() - one.right_since > believed_within && judged_owner(of, owners) != nullptr) {
            say_wrong(of, where, one);
        }
    }
}

void ask_all(cluster& world, const action& /*what*/) {
    for (auto& [where, one] : world.state<neighbours>().all) {
        ask(world, one, owners_of(world, where));
    }
}

bool is_of_the_cluster(const model::network_link& link) {
    static constexpr std::array names{"brcluster", "brstorage", "brupstream"};
    return link.kind == "bridge" &&
           (link.name.starts_with("vmbr") || std::ranges::find(names, link.name) != names.end());
}

// Ports come and go: the address of a bridge stays, and that of a client network's is another one on each node.
void bridges_keep_theirs(judge& of) {
    if (!has_networking(of.world)) {
        return;
    }
    auto& seen = of.world.state<neighbours>();
    decltype(seen.bridges_of) bridges_of;
    for (const auto& one : of.world.members) {
        const bool is_judged = one->node.is_running() && one->node.is_ready() && of.world.is_calm(*one);
        bridges_of.push_back(is_judged ? std::optional(one->node.kernel.generation()) : std::nullopt);
    }
    const bool is_any_unjudged = std::ranges::any_of(bridges_of, [](const auto& of_one) { return !of_one; });
    if (std::exchange(seen.bridges_of, bridges_of) == bridges_of && !is_any_unjudged) {
        return;
    }
    std::map<std::pair<std::string, model::hardware_address>, std::string> whose;
    decltype(seen.bridges) now;
    for (const auto& one : of.world.members) {
        const auto& links = one->node.kernel.state();
        for (const auto& link : links.links()) {
            if (!is_of_the_cluster(link)) {
                continue;
            }
            const std::string name = one->name() + " " + link.name;
            const auto [other, is_first] = whose.try_emplace({link.name, link.hardware}, one->name());
            if (!is_first && link.name.starts_with("vmbr")) {
                of.say("bridges_keep_theirs", fmt::format("{} and {} have {} at {}", other->second, one->name(),
                                                          link.name, model::to_text(link.hardware)));
            }
            const auto before = seen.bridges.find(name);
            const auto told = seen.when_readdressed.find(name);
            const bool is_somebodys = told != seen.when_readdressed.end() && of.world.now() - told->second < 1min;
            const bool is_judged = one->node.is_running() && one->node.is_ready() && of.world.is_calm(*one);
            if (is_judged && !is_somebodys && before != seen.bridges.end() && before->second.first == link.index &&
                before->second.second != link.hardware) {
                of.say("bridges_keep_theirs",
                       fmt::format("{} had {} and has {}", name, model::to_text(before->second.second),
                                   model::to_text(link.hardware)));
            }
            if (is_judged) {
                now.insert_or_assign(name, std::pair(link.index, link.hardware));
            }
        }
    }
    seen.bridges = std::move(now);  // what is not there any more is forgotten: indexes begin anew with a boot
}

void readdress(cluster& world, const action& what, member& target) {
    auto& seen = world.state<neighbours>();
    const auto number = ++seen.readdressed;
    seen.when_readdressed.insert_or_assign(target.name() + " " + what.value, world.now());
    const model::hardware_address other{
        0x0a, 0, 0, 0, static_cast<std::uint8_t>(number >> 8U), static_cast<std::uint8_t>(number)};
    ignore(target.node.kernel.apply(model::set_hardware{what.value, other}), "it is not there");
}

std::uint64_t where_neighbours_are(cluster& world) {
    return has_networking(world) ? 1 : 0;
}

void draw_bridge(drawing& from, action& out) {
    static constexpr std::array bridges{"brcluster", "brstorage", "brupstream", "vmbr1001", "vmbr1002"};
    out.value = from.one_of(bridges);
}

constexpr action_kind actions_of_neighbours[] = {
    {.name = "neighbours-ask",
     .meaning = "neighbours ask who has the addresses of the primary, and remember what they are told",
     .on_cluster = ask_all,
     .chance = drawn{.favour = where_neighbours_are}},
    {.name = "readdress",
     .takes = "nv",
     .meaning = "somebody gives a bridge another hardware address",
     .on_member = readdress,
     .chance = drawn{.favour = where_neighbours_are, .arguments = draw_bridge}},
};

constexpr rule rules_of_neighbours[] = {
    {.name = "neighbours_know",
     .meaning =
         "what a neighbour believes of an address of the primary is right within a second of a hand-over, and of "
         "a change of its bridge's hardware address",
     .on_begin = listen_to_frames,
     .on_second = neighbours_know},
    {.name = "announced_to_stay", .meaning = "who gives the role up announces no address any more"},
    {.name = "bridges_keep_theirs",
     .meaning =
         "the hardware address of a bridge stays what ports come and go, and no two nodes have one for a network",
     .on_tenth_second = bridges_keep_theirs},
};

constexpr planted_mistake mistakes_about_neighbours[] = {
    {defect::announced_as_reply, "announced_as_reply", "neighbours-follow-a-bridge-with-another-address"},
    {defect::announced_for_ever, "announced_for_ever"},
    {.which = defect::readdressed_unheeded, .name = "readdressed_unheeded", .seed = 41},
};

}  // namespace

void add_address_users(registry& to) {
    to.add(actions_of_neighbours);
    to.add(rules_of_neighbours);
    to.add(mistakes_about_neighbours);
}

}  // namespace pvc::sim
