// What must be true of a fence, whatever befalls the cluster: seen from outside, of the power, the store and the disks.
#include "sim/subjects/fencing/fence_rules.hpp"

#include "pvcnoded/base/text.hpp"
#include "pvcnoded/base/uuid.hpp"
#include "pvcnoded/model/fence_record.hpp"
#include "sim/subjects/domains/guests.hpp"
#include "sim/subjects/fencing/fencing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <ranges>

namespace pvc::sim {

using namespace std::chrono_literals;

namespace {

constexpr std::string_view fence_lock_prefix = "/config/fence_lock/";
constexpr std::string_view records_folder = "/var/lib/pvc/fences/";
constexpr duration guard_time = 2s;      // what a command or a write rests on may be so old
constexpr duration way_of_answers = 1s;  // and the lock may have gone while that was on its way
constexpr duration one_sequence = 180s;  // from the first power-off to the last
constexpr duration lies_for_long = 5s;   // a board that boots
constexpr duration next_probe = 11min;
constexpr duration answers_apart = 5s;  // of two that say off (rulings 40, 76)
constexpr int clocks_agree = 95;        // per cent: how far clocks may drift

// --- who has the lock ---

constexpr std::string_view below_state = "/daemonstate/";

void follow_fence_lock(judge& of, const seen_change& seen) {
    if (seen.writer != nullptr && seen.what.what == recorded_kind::create && seen.suffix.starts_with(below_state)) {
        of.state<fences_seen>().marking[seen.what.path] = seen.writer->number;
    }
    if (!seen.what.path.starts_with(fence_lock_prefix) || !is_lock_child(seen.what.path)) {
        return;
    }
    auto& all = of.state<fences_seen>();
    const std::string place(sequence_of(seen.what.path));
    if (seen.what.what == recorded_kind::create) {
        all.lock[place] = seen.writer == nullptr ? 0 : seen.writer->number;
        all.queued[all.lock[place]] = of.world.now();
    } else if (seen.what.what == recorded_kind::remove) {
        if (const auto found = all.lock.find(place); found != all.lock.end()) {
            if (found == all.lock.begin()) {
                all.had_lock[found->second] = of.world.now();
            }
            all.lock.erase(found);
        }
    }
}

bool has_or_had_lock(const judge& of, const member& one) {
    const auto& all = of.state<fences_seen>();
    const auto had = all.had_lock.find(one.number);
    const duration late = one.node.connector.link().latency + one.node.connector.link().write_answer_delay;
    return has_fence_lock(of, one) ||
           (had != all.had_lock.end() && of.world.now() - had->second <= guard_time + way_of_answers + late);
}

// --- what is true of a node ---

void follow_heartbeats(judge& of, const seen_change& seen) {
    constexpr std::string_view nodes = "/nodes/";
    const std::string& path = seen.what.path;
    if (path.starts_with(nodes) && path.ends_with("/keepalive") && seen.what.what == recorded_kind::set) {
        of.state<fences_seen>().beat[path.substr(nodes.size(), path.rfind('/') - nodes.size())] = of.world.now();
    }
    if (path.starts_with(nodes) && path.ends_with("/daemonstate") && seen.what.data == "run") {
        of.state<fences_seen>().said_run[path.substr(nodes.size(), path.rfind('/') - nodes.size())] = of.world.now();
    }
    if (path.starts_with(nodes) && path.ends_with("/daemonstate")) {
        auto& all = of.state<fences_seen>();
        const std::string node = path.substr(nodes.size(), path.rfind('/') - nodes.size());
        const bool is_there = seen.what.what != recorded_kind::remove;
        const bool is_dead = is_there && (seen.what.data == "dead" || seen.what.data == "fenced");
        if (is_dead) {
            all.dead.insert(node);
        } else if (all.dead.erase(node) > 0) {
            all.was_dead[node] = of.world.now();
        }
    }
}

time_point last_beat(const judge& of, const std::string& node) {
    const auto& beats = of.state<fences_seen>().beat;
    const auto found = beats.find(node);
    return found == beats.end() ? time_point{} : found->second;
}

// A reference node that boots says `run`, and beats later.
time_point last_sign(const judge& of, const std::string& node) {
    const auto& said = of.state<fences_seen>().said_run;
    const auto found = said.find(node);
    return found == said.end() ? last_beat(of, node) : std::max(found->second, last_beat(of, node));
}

// It is off, or was since it last lived.
bool was_off(judge& of, const std::string& node) {
    const auto& all = of.state<fences_seen>().went_off;
    const auto found = all.find(node);
    return !is_machine_on(of.world, node) || (found != all.end() && found->second >= last_beat(of, node));
}

// Since then, and too short a time for a probe to have told.
bool is_unprobed(const judge& of, const std::map<std::string, time_point>& since, const std::string& node,
                 duration at_least) {
    const auto found = since.find(node);
    const duration age = found == since.end() ? duration{} : of.world.now() - found->second;
    return found != since.end() && age > at_least && age < next_probe;
}

// Two boards that answer in each other's place since before this daemon began: each is one of its own, and it has never
// seen which was where.
bool has_never_seen_its_own(const judge& of, const member* by, const std::string& node) {
    const auto& powers = powers_of(of.world);
    const auto led = powers.leads_to.find(node);
    const auto back = led == powers.leads_to.end() ? led : powers.leads_to.find(led->second);
    const auto since = powers.led_since.find(node);
    return by != nullptr && back != powers.leads_to.end() && back->second == node && since != powers.led_since.end() &&
           of.of(*by).started > since->second;
}

// Boards that nobody could see through, by name; `by`: who fences.
std::string excuse_of_board(judge& of, const std::string& node, const member* by) {
    auto& powers = powers_of(of.world);
    const sim_bmc* const board = board_of(of.world, node);
    const auto lied = powers.lied.find(node);
    const bool has_just_lied = lied != powers.lied.end() && lied->second.second - lied->second.first > lies_for_long &&
                               of.world.now() - lied->second.second <= 2 * guard_time;
    if (has_just_lied ||
        (board != nullptr && board->is_booting && is_unprobed(of, powers.trait_since, node, lies_for_long))) {
        return "a board that since its last probe says off of a running machine for more than 5 s";
    }
    // It said off while that was true, and goes on: two answers, without a break.
    if (board != nullptr && board->is_booting && was_off(of, node)) {
        return "a board that boots with its node, which has lost its power since its last heartbeat";
    }
    // Who asked for its name meanwhile asks that board until the next probe.
    const bool is_led = std::ranges::any_of(powers.led_to, [&](const auto& one) {
        return (one.first == node || one.second == node) && is_unprobed(of, powers.led_since, one.first, -1ns);
    });
    if (!is_led && has_never_seen_its_own(of, by, node)) {
        return "a board that is another's since before the fencer's daemon began";
    }
    return is_led ? "a board that is another's since the last probe" : "";
}

bool is_excused(judge& of, const std::string& node, const member* by = nullptr) {
    const std::string why = excuse_of_board(of, node, by);
    if (!why.empty()) {
        ++of.transitions["excused: " + why];
    }
    return !why.empty();
}

// By ruling 76 two true answers are enough: who is switched on after the second one cannot be known to be, for as long
// as that stands in place of the throws, and as what an order rests on may be old.
bool is_on_since_it_was_seen_off(judge& of, const std::string& by, const std::string& node) {
    const auto& all = of.state<fences_seen>().said_off;
    const auto found = all.find({by, node});
    if (found == all.end() || found->second.first < last_sign(of, node)) {
        return false;
    }
    const auto& [first, last] = found->second;
    const bool is_excused = last - first >= answers_apart && of.world.now() - last <= 2 * guard_time;
    if (is_excused) {
        ++of.transitions["excused: a node that is on since its board said off for the second time"];
    }
    return is_excused;
}

// What the fencer has on its disk about the fence of a node as it is now.
struct proof_found {
    bool is_there = false;
    bool is_synced = false;
    bool is_word = false;  // an operator's
};

proof_found proof_of(judge& of, const member& writer, const std::string& node) {
    proof_found found;
    const auto beat = of.world.ensemble.exists("/nodes/" + node + "/keepalive");
    const std::int64_t heartbeat_id = beat ? beat->mzxid : 0;
    for (const auto& [path, text] : writer.node.host.storage.files) {
        if (!path.starts_with(records_folder) || !path.ends_with(".json")) {
            continue;
        }
        const auto record = model::parse_fence_record(text);
        if (record && record->node == node && record->proof && record->proof->keepalive_id == heartbeat_id) {
            found.is_there = true;
            found.is_synced = found.is_synced || writer.node.host.storage.is_synced(path);
            found.is_word = found.is_word || record->proof->kind == model::fence_proof_kind::operator_word;
        }
    }
    return found;
}

// --- the rules ---

// A heartbeat is as old as the asker saw it move (ruling 9): with its next tick, an interval later. The order may begin
// two seconds after the read that it rests on.
int coordinators_left(judge& of, const member& asker, const std::string& without) {
    int left = 0;
    const auto& settings = asker.node.settings;
    const auto limit = std::chrono::seconds((settings.fence_intervals + 1) * settings.keepalive_interval) + guard_time +
                       asker.node.connector.link().lag;
    for (const auto& name : settings.coordinators) {
        const bool is_run = of.world.ensemble.get("/nodes/" + name + "/daemonstate").value_or("") == "run";
        left += name != without && is_run && of.world.now() - last_beat(of, name) <= limit ? 1 : 0;
    }
    return left;
}

void power_off_is_sent(judge& of, const std::string& by, const std::string& node) {
    member* const asker = of.world.find(by);
    if (asker == nullptr) {
        return;
    }
    ++of.transitions["fence off"];
    const duration age = of.world.now() - last_sign(of, node);
    const auto& settings = asker->node.settings;
    const auto limit = std::chrono::seconds(settings.fence_intervals * settings.keepalive_interval);
    const duration late = asker->node.connector.link().lag + guard_time;
    const bool is_on = is_machine_on(of.world, node) && !is_on_since_it_was_seen_off(of, by, node);
    if (is_on && age > late && age < limit && !is_excused(of, node, asker)) {
        of.say("living_not_fenced",
               fmt::format("{} switches {} off, whose last sign of life was {:.1f} s ago", by, node, seconds(age)));
    }
    if (!has_or_had_lock(of, *asker)) {
        of.say("one_fencer", fmt::format("{} switches {} off, and does not have the fence lock", by, node));
    }
    // It is counted before the first of a sequence (ruling 39), which is of one lock.
    auto& first = of.state<fences_seen>().first_off[{by, node}];
    const bool is_first = first == time_point{} || of.world.now() - first > one_sequence ||
                          last_beat(of, node) > first || of.state<fences_seen>().queued[asker->number] > first;
    first = is_first ? of.world.now() : first;
    const auto& all = settings.coordinators;
    const bool is_coordinator = std::ranges::find(all, node) != all.end();
    if (is_first && is_coordinator && is_on &&
        coordinators_left(of, *asker, node) * 2 <= static_cast<int>(all.size()) && !is_excused(of, node, asker)) {
        of.say("majority_stays", fmt::format("{} switches {} off, and {} of {} coordinators would be left", by, node,
                                             coordinators_left(of, *asker, node), all.size()));
    }
}

// By whose heartbeat, however its clock goes. Who has no power is marked at once (76).
void only_the_dead_are_marked(judge& of, const seen_change& seen) {
    constexpr std::string_view nodes = "/nodes/";
    const std::string& path = seen.what.path;
    const bool is_mark = seen.writer != nullptr && path.starts_with(nodes) && path.ends_with("/daemonstate") &&
                         seen.what.what == recorded_kind::set && seen.what.data == "dead";
    if (!is_mark || !of.world.has_boards) {
        return;
    }
    const std::string node = path.substr(nodes.size(), path.rfind('/') - nodes.size());
    const auto& settings = seen.writer->node.settings;
    const auto limit = std::chrono::seconds(settings.fence_intervals * settings.keepalive_interval);
    const duration age = of.world.now() - last_sign(of, node);
    const bool may_have_no_power = was_off(of, node) || is_on_since_it_was_seen_off(of, seen.writer->name(), node);
    if (age < limit * clocks_agree / 100 && !may_have_no_power && !is_excused(of, node, seen.writer)) {
        of.say("living_not_fenced", fmt::format("{} marks {} dead, whose last sign of life was {:.1f} s ago",
                                                seen.writer->name(), node, seconds(age)));
    }
}

void follow_life(judge& of, const seen_change& seen) {
    only_the_dead_are_marked(of, seen);
    follow_heartbeats(of, seen);
}

void listen_to_power(judge& of) {
    if (!of.world.has_boards) {
        return;
    }
    powers_of(of.world).on_command.emplace_back(
        [&of](const std::string& by, const std::string& node, const std::string& verb) {
            if (verb == "off") {
                power_off_is_sent(of, by, node);
            }
        });
    powers_of(of.world).on_answer.emplace_back(
        [&of](const std::string& by, const std::string& node, bool is_off, time_point at) {
            auto& all = of.state<fences_seen>().said_off;
            if (!is_off) {
                all.erase({by, node});
                return;
            }
            all.try_emplace({by, node}, at, at).first->second.second = at;
        });
    of.world.on_power_loss.emplace_back(
        [&of](const std::string& node) { of.state<fences_seen>().went_off[node] = of.world.now(); });
}

// Ruling 37: who has the lock acts on a valid proof in the store as on a record of his own.
proof_found stored_proof_of(judge& of, const member& writer, const std::string& node) {
    const std::string root = "/nodes/" + node;
    const auto key = of.world.ensemble.exists(root + "/fenceproof");
    const auto state = of.world.ensemble.exists(root + "/daemonstate");
    const auto beat = of.world.ensemble.exists(root + "/keepalive");
    const auto said = model::parse_fence_proof(of.world.ensemble.get(root + "/fenceproof").value_or(""));
    if (!key || !state || !beat || !said || state->mzxid > key->mzxid || beat->mzxid > key->mzxid) {
        return {};
    }
    const member* const whose = of.world.find(said->coordinator);
    return whose == nullptr || whose == &writer ? proof_found() : proof_of(of, *whose, node);
}

bool rests_on_lie(judge& of, const member& writer, const std::string& node) {
    auto& all = of.state<fences_seen>().excused;
    const auto found = all.find(node);
    const bool was_excused = found != all.end() && found->second >= last_sign(of, node);
    if (!was_excused && is_excused(of, node, &writer)) {
        all[node] = of.world.now();
        return true;
    }
    return was_excused;
}

void proof_comes_first(judge& of, const std::string& what, const member& writer, const std::string& node) {
    const proof_found own = proof_of(of, writer, node);
    const proof_found proof = own.is_there ? own : stored_proof_of(of, writer, node);
    if (!proof.is_there || !proof.is_synced) {
        of.say("fence_has_proof", fmt::format("{} {}, and has no record of a proof{}", writer.name(), what,
                                              proof.is_there ? " that is on its disk" : ""));
    } else if (!proof.is_word && of.world.has_boards && !was_off(of, node) && !rests_on_lie(of, writer, node)) {
        of.say("fence_has_proof",
               fmt::format("{} {}, which has been on since its last heartbeat", writer.name(), what));
    }
}

// The dead node's own client.
bool is_address_of(judge& of, const std::string& node, const std::string& address) {
    if (const member* const one = of.world.find(node); one != nullptr) {
        const std::string& network = one->node.settings.storage_address;
        return address.starts_with(network.substr(0, network.find('/')) + ":");
    }
    const auto& all = of.world.foreigners;
    const auto found = std::ranges::find(all, node, [](const auto& one) { return one->settings.name; });
    return found != all.end() &&
           address.starts_with(foreign_address(static_cast<std::size_t>(found - all.begin())) + ":");
}

// Somebody's, on a disk of a machine that the dead node had and nobody who lives executes: what a guest that died
// elsewhere, or another host, has left there (storage.md 6.4: whoever owns it).
bool is_left_by(judge& of, const std::string& node, const std::string& image) {
    const auto& numbers = guests_of(of.world).disks;
    const auto number = std::ranges::find_if(numbers, [&](std::int64_t one) { return guest_image(one) == image; });
    if (number == numbers.end()) {
        return false;
    }
    const std::string list = of.world.ensemble.get("/nodes/" + node + "/runningdomains").value_or("");
    const bool was_there = of.world.ensemble.get(guest_key(*number, "/node")).value_or("") == node ||
                           list.find(pvc::to_text(guest_id(*number))) != std::string::npos;
    const bool is_alive = std::ranges::any_of(of.world.members, [&](const auto& one) {
        return one->name() != node && one->node.settings.hypervisor && one->node.guests().executes(guest_id(*number));
    });
    const auto others = of.world.foreign_machines();
    return was_there && !is_alive && std::ranges::none_of(others, [&](const sim_machine_guests* one) {
               return one->name != node && one->executes(guest_id(*number));
           });
}

// It says that the machine is where it is: a migration to the dead node that did not come about. Of another node only
// where its daemon may go on: one that is dead without a proof may still send it, and the keys alone tell that.
bool has_it(judge& of, const member& writer, std::string_view path, std::string_view node) {
    constexpr std::size_t before = std::string_view("/domains/").size();
    const auto id = parse_uuid(path.substr(before, path.rfind('/') - before));
    member* const one = of.world.find(node);
    const bool may_go_on =
        node == writer.name() || value_of(of, "/nodes/" + std::string(node) + "/daemonstate") != "dead";
    return id && one != nullptr && may_go_on && one->node.settings.hypervisor &&
           one->node.guests().guest(*id).is_there();
}

// A task of this node that is no fence moves the machine, under a lock that says so: a flush or its undoing. The target
// asks who has it.
bool moves_for_another_task(const judge& of, const member& writer, const std::string& machine) {
    return std::ranges::any_of(of.world.ensemble.children(machine + "state"), [&](const std::string& name) {
        const std::string holder = value_of(of, machine + "state/" + name);
        return holder.starts_with(writer.name() + ':') && holder.find(":fence:") == std::string::npos;
    });
}

// After a failed fence: the record names the machine's clients of Ceph, and what the dead node's one writes is refused.
bool is_proven_by_storage(judge& of, const member& writer, const std::string& node, std::string_view path) {
    constexpr std::size_t before = std::string_view("/domains/").size();
    const std::string id(path.substr(before, path.rfind('/') - before));
    const auto has_clients = [&id](const model::fence_machine& one) { return one.id == id && !one.clients.empty(); };
    const auto& disk = writer.node.host.storage;
    bool is_recorded = false;
    for (const auto& [file, text] : disk.files) {
        if (file.starts_with(records_folder) && disk.is_synced(file)) {
            const auto record = model::parse_fence_record(text);
            is_recorded =
                is_recorded || (record && record->node == node && std::ranges::any_of(record->machines, has_clients));
        }
    }
    const member* const one = of.world.find(node);
    const std::string& network = one == nullptr ? node : one->node.settings.storage_address;
    return is_recorded && value_of(of, "/nodes/" + node + "/daemonstate") == "dead" &&
           of.world.hardware.rbd.is_blocklisted(network.substr(0, network.find('/')) + ":0/1");
}

void follow_machine(judge& of, const seen_change& seen) {
    const std::string& path = seen.what.path;
    const auto end = path.rfind('/') + 1;
    const std::string key = path.substr(end);
    if (!path.starts_with("/domains/") || (key != "state" && key != "lastnode")) {
        return;
    }
    auto& one = of.state<fences_seen>().machines[path.substr(0, end)];
    if (one.zxid != seen.what.zxid) {
        one.before = one.now;
        one.zxid = seen.what.zxid;
    }
    one.now[key] = seen.what.what == recorded_kind::remove ? std::string() : seen.what.data;
}

// 10.5 a2: it was migrating to that node, from one that has truly been off since, and has not come there. Nobody sends
// it any more; and a daemon that stands still there may start it only by a write that rests on the keys as they were.
bool never_arrived(judge& of, const seen_change& seen, const std::string& machine, const std::string& node) {
    const auto found = of.state<fences_seen>().machines.find(machine);
    if (found == of.state<fences_seen>().machines.end()) {
        return false;
    }
    const auto& keys = found->second;
    const auto& then = keys.zxid == seen.what.zxid ? keys.before : keys.now;
    const auto state = then.find("state");
    const auto sender = then.find("lastnode");
    const bool was_migrating = state != then.end() && (state->second == "migrate" || state->second == "migrate-live" ||
                                                       state->second == "unmigrate");
    if (!was_migrating || sender == then.end() || sender->second == node || !was_off(of, sender->second)) {
        return false;
    }
    const proof_found own = proof_of(of, *seen.writer, sender->second);
    const proof_found proof = own.is_there ? own : stored_proof_of(of, *seen.writer, sender->second);
    member* const receiver = of.world.find(node);
    const auto id = parse_uuid(machine.substr(std::string_view("/domains/").size(), to_text(uuid()).size()));
    const bool is_there = receiver == nullptr || !id || !receiver->node.settings.hypervisor ||
                          receiver->node.guests().guest(*id).is_there();
    return proof.is_synced && !is_there;
}

void consequences_have_proof(judge& of, const seen_change& seen) {
    constexpr std::string_view domains = "/domains/";
    follow_machine(of, seen);
    auto& all = of.state<fences_seen>();
    const std::string& path = seen.what.path;
    if (path.starts_with(domains) && path.ends_with("/node") && seen.what.what != recorded_kind::remove) {
        const std::string before = std::exchange(all.node_of[path], seen.what.data);
        const std::string state = of.world.ensemble.get("/nodes/" + before + "/daemonstate").value_or("");
        const std::string machine = path.substr(0, path.size() - std::string_view("node").size());
        // One that is to stay off is begun by nobody.
        const std::string wanted = of.world.ensemble.get(machine + "state").value_or("");
        const bool is_to_be_off = wanted == "stop" || wanted == "disable" || wanted == "fail";
        if (!is_to_be_off && seen.writer != nullptr && !before.empty() && before != seen.what.data &&
            (state == "fenced" || state == "dead") && has_fence_lock(of, *seen.writer) &&
            !has_it(of, *seen.writer, path, seen.what.data) && !moves_for_another_task(of, *seen.writer, machine)) {
            ++of.transitions["fence recovered a machine"];
            if (!is_proven_by_storage(of, *seen.writer, before, path) && !never_arrived(of, seen, machine, before)) {
                proof_comes_first(of, "takes a machine of " + before, *seen.writer, before);
            }
        }
        return;
    }
    if (seen.writer == nullptr || seen.suffix != "/daemonstate" || seen.what.what != recorded_kind::set) {
        return;
    }
    const std::string node = path.substr(7, path.rfind('/') - 7);
    if (node != seen.writer->name() && (seen.what.data == "fenced" || seen.what.data == "dead")) {
        ++of.transitions["fence " + seen.what.data];
        if (seen.what.data == "fenced") {
            proof_comes_first(of, "writes `fenced` of " + node, *seen.writer, node);
        }
    }
}

// A recovery that nobody ended, or a node that was left as it was marked.
std::optional<std::string> nothing_is_forgotten(const judge& of) {
    for (const auto& name : of.world.ensemble.children("/nodes")) {
        const std::string root = "/nodes/" + name;
        // A reference node that is back leaves it to its operator.
        const bool is_foreign_and_back = of.world.find(name) == nullptr && value_of(of, root + "/daemonstate") == "run";
        if (value_of(of, root + "/domainstate") == "fence-flush" && !is_foreign_and_back) {
            return root + "/domainstate is fence-flush";
        }
    }
    return std::nullopt;
}

constexpr rule fence_rules[] = {
    {.name = "fence_has_proof",
     .meaning = "no consequence of a fence without a synced record of a proof that is true",
     .on_change = consequences_have_proof},
    {.name = "living_not_fenced",
     .meaning = "nobody is marked dead or switched off whose heartbeat is younger than the fence limit",
     .on_begin = listen_to_power,
     .on_change = follow_life},
    {.name = "majority_stays", .meaning = "a majority of coordinators is left in run by every power-off"},
    {.name = "one_fencer",
     .meaning = "who switches a node off has the fence lock, or had it two seconds ago",
     .on_change = follow_fence_lock},
};

constexpr progress fence_progress[] = {
    {"nothing_forgotten", "no recovery is left half done", nothing_is_forgotten},
};

}  // namespace

bool has_fence_lock(const judge& of, const member& one) {
    const auto& lock = of.state<fences_seen>().lock;
    return !lock.empty() && lock.begin()->second == one.number;
}

bool is_of_fencer(const judge& of, const seen_change& seen) {
    static constexpr std::array<std::string_view, 11> figures{
        "/fenceproof", "/runningdomains", "/domainscount", "/cpuload", "/vcpualloc",        "/memtotal",
        "/memused",    "/memfree",        "/memalloc",     "/memprov", "/monitoring_health"};
    const std::string_view data = seen.what.data;
    const bool is_word = (seen.suffix == "/daemonstate" && (data == "dead" || data == "fenced")) ||
                         (seen.suffix == "/routerstate" && data == "secondary") ||
                         (seen.suffix == "/domainstate" && (data == "fence-flush" || data == "flushed"));
    // Its own child of the write lock under which a node is marked; whoever made it may take it away at any time.
    if (seen.writer != nullptr && is_lock_child(seen.what.path) && seen.suffix.starts_with(below_state)) {
        const auto& marking = of.state<fences_seen>().marking;
        const auto made = marking.find(seen.what.path);
        return has_or_had_lock(of, *seen.writer) || (seen.what.what == recorded_kind::remove && made != marking.end() &&
                                                     made->second == seen.writer->number);
    }
    // Without the lock, as the power-on that it is about, and the word that ends it: of coordinators alone.
    if (seen.writer != nullptr && seen.suffix == "/fencepower") {
        const auto& all = seen.writer->node.settings.coordinators;
        return seen.what.what != recorded_kind::remove && std::ranges::find(all, seen.writer->name()) != all.end();
    }
    return seen.writer != nullptr && has_fence_lock(of, *seen.writer) && seen.what.what == recorded_kind::set &&
           (is_word || std::ranges::find(figures, seen.suffix) != figures.end());
}

bool may_break_for_fence(judge& of, const member& by, const std::string& image, const std::string& address) {
    if (!has_or_had_lock(of, by)) {
        return false;
    }
    // The look that it rests on may be older than the node's return, or its removal.
    const auto& was_dead = of.state<fences_seen>().was_dead;
    auto names = of.world.ensemble.children("/nodes");
    std::ranges::copy(std::views::keys(was_dead), std::back_inserter(names));
    return std::ranges::any_of(names, [&](const std::string& name) {
        const std::string state = of.world.ensemble.get("/nodes/" + name + "/daemonstate").value_or("");
        const auto left = was_dead.find(name);
        const bool has_just_left =
            left != was_dead.end() && of.world.now() - left->second <= guard_time + way_of_answers;
        return (state == "fenced" || state == "dead" || has_just_left) &&
               (is_address_of(of, name, address) || is_left_by(of, name, image));
    });
}

bool only_one_can_write(judge& of, std::string_view two) {
    const auto& rbd = of.world.hardware.rbd;
    for (const auto number : guests_of(of.world).disks) {
        const uuid id = guest_id(number);
        if (two.find(" run " + of.world.hardware.centre.name_of(id) + " at ") == std::string_view::npos) {
            continue;
        }
        std::size_t able = 0;
        for (const auto& one : of.world.members) {
            if (one->node.settings.hypervisor && one->node.guests().executes(id)) {
                const std::string& network = one->node.settings.storage_address;
                const auto state = value_of(of, one->root() + "/daemonstate");
                const auto lied = of.state<fences_seen>().excused.find(one->name());
                const bool was_lied_of = state == "fenced" && lied != of.state<fences_seen>().excused.end() &&
                                         lied->second >= last_sign(of, one->name());
                const bool is_refused = (state == "dead" || was_lied_of) &&
                                        rbd.is_blocklisted(network.substr(0, network.find('/')) + ":0/1");
                able += is_refused ? 0U : 1U;
            }
        }
        const auto others = of.world.foreign_machines();
        able += static_cast<std::size_t>(
            std::ranges::count_if(others, [&](const sim_machine_guests* one) { return one->executes(id); }));
        return able <= 1;
    }
    return false;
}

void add_fence_rules(registry& to) {
    to.add(fence_rules);
    to.add(fence_progress);
}

}  // namespace pvc::sim
