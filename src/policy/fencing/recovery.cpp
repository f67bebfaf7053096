#include "pvcnoded/policy/fencing/recovery.hpp"

#include "pvcnoded/base/planted.hpp"
#include "pvcnoded/base/text.hpp"
#include "pvcnoded/model/ceph_blocklist.hpp"
#include "pvcnoded/policy/domains/domain_table.hpp"

#include <algorithm>
#include <utility>

namespace pvc::policy {

using model::daemon_state;
using model::vm_state;
using write_kind = recovery_ask::write::kind;

namespace {

constexpr std::chrono::hours blocked_for{24};

// Where it lives next to its dead node it was at home there, or at neither.
std::string last_node_after(const guest_keys& keys, const std::string& target, const std::string& dead) {
    if (keys.last_node.empty()) {
        return target == dead ? std::string() : dead;
    }
    return keys.last_node == target ? std::string() : keys.last_node;
}

struct recovery_in_words {
    std::string operator()(const recovery_ask::nothing& /*what*/) const { return "nothing"; }
    std::string operator()(const recovery_ask::time& /*what*/) const { return "wait"; }
    std::string operator()(const recovery_ask::guarded_read& /*what*/) const { return "read"; }
    std::string operator()(const recovery_ask::others& /*what*/) const { return "ask the others"; }
    std::string operator()(const recovery_ask::target& what) const { return what.is_again ? "plan again" : "plan"; }
    std::string operator()(const recovery_ask::clear_locks& what) const {
        return what.blocked.empty() ? "clear locks" : "clear locks, of blocked clients too";
    }
    std::string operator()(const recovery_ask::prove_silent& /*what*/) const { return "prove by storage"; }
    std::string operator()(const recovery_ask::record& /*what*/) const { return "record the proof"; }
    std::string operator()(const recovery_ask::blocklist& what) const { return "blocklist " + what.address; }
    std::string operator()(const recovery_ask::blocklisted& /*what*/) const { return "read the blocklist"; }
    std::string operator()(const recovery_ask::write& what) const {
        switch (what.what) {
            case write_kind::stopped: return "write stop";
            case write_kind::stays: return "write start on " + what.node + ", where it is";
            case write_kind::moves: return "write start on " + what.node + ", last on " + what.last_node;
            case write_kind::parks: return "write stop and autostart";
            case write_kind::revives: return "write start again on " + what.node;
        }
        return {};
    }
    std::string operator()(const recovery_ask::runs& what) const { return "see it run on " + what.node; }
};

}  // namespace

std::string to_text(const recovery_ask::any& what) {
    return std::visit(recovery_in_words(), what);
}

struct guest_recovery::context {
    const recovery_said::any& said;
    time_point now;
    std::vector<fence_entry::guest>& notes;

    template <class T>
    [[nodiscard]] const T* said_as() const {
        return std::get_if<T>(&said);
    }
};

recovery_step guest_recovery::ask(context& c, recovery_ask::any what, at which, duration limit,
                                  std::string_view reason) {
    where = which;
    return {std::move(what), c.now + limit, reason};
}

recovery_step guest_recovery::read(context& c, at which) {
    return ask(c, recovery_ask::guarded_read{}, which, recovery_limits::read, "its keys and those of the dead node");
}

recovery_step guest_recovery::finish(context& c, guest_end how, std::string words) {
    where = at::over;
    end = how;
    why = std::move(words);
    fence_entry::guest entry{.id = id, .step = why, .locks = {}, .clients = {}, .target = wanted.node};
    entry.zxid = zxid;
    entry.end = how;
    entry.ran = ran;
    c.notes.push_back(std::move(entry));
    return {};
}

// From the beginning: something was another in between.
recovery_step guest_recovery::again(context& c) {
    if (++tries > recovery_limits::tries) {
        return finish(c, guest_end::kept, "its keys, or what was planned, changed again and again");
    }
    is_cleared = is_proven_silent = false;
    planned = {};
    return ask(c, recovery_ask::time{}, at::pausing, recovery_limits::pause, "another attempt");
}

// ---- what a read shows ----------------------------------------------------------------------------------------------

recovery_step guest_recovery::judge(context& c, const recovery_said::read& said) {
    if (!said.victim) {
        return again(c);
    }
    const bool stands = said.victim->state_id == mark_id && said.victim->heartbeat_id == heartbeat_id;
    if ((said.victim->is_gone || !stands) && !is_planted(defect::fence_blind_to_return)) {
        return finish(c, guest_end::node_back, "its node is back");
    }
    if (!said.has_lock) {
        return finish(c, guest_end::abandoned, "the fence lock is lost");
    }
    if (!said.guest) {
        return finish(c, guest_end::left_alone, "its keys are gone");
    }
    // What was asked for may have been written, though nobody said so.
    const bool is_parked_already = where == at::reading && tries > 0 && wanted.what == write_kind::parks &&
                                   said.guest->state == vm_state::stop && said.guest->autostart &&
                                   said.guest->state_id == said.guest->autostart_id;
    const bool is_wanted = where == at::reading && tries > 0 && wanted.what != write_kind::stopped &&
                           said.guest->state == vm_state::start && said.guest->node == wanted.node &&
                           !wanted.node.empty() && wanted.node != dead_node;
    if (is_wanted || is_parked_already) {
        zxid = said.guest->state_id;
        return finish_written(c);
    }
    if (where == at::reading) {
        keys = *said.guest;
        return decide(c);
    }
    const bool is_same =
        said.guest->state_id == keys.state_id && said.guest->state == keys.state && said.guest->node == keys.node;
    if (!is_same) {
        return again(c);
    }
    if (where == at::reading_again) {
        return disks_read(c);
    }
    if (where == at::reading_client) {
        return ask(c, recovery_ask::blocklist{client, blocked_for}, at::blocklisting, recovery_limits::read * 2,
                   "its last client to be kept from writing");
    }
    return ask(c, wanted, at::writing, recovery_limits::write, "where it runs to be written");
}

// Row a.
recovery_step guest_recovery::decide(context& c) {
    is_reviving = false;
    if (is_to_run(keys.state)) {
        if (keys.node != dead_node && !is_planted(defect::fence_list_trusted)) {
            return finish(c, guest_end::left_alone, "it belongs to " + shown(keys.node));
        }
        // It had just come from there: half of it may be left, which must not go on in place of what ran since.
        if (!keys.listed_by.empty()) {
            return ask(c, recovery_ask::others{}, at::asking_others, recovery_limits::others,
                       "the hypervisors of all other nodes, as one of them lists it");
        }
        return deal_with_disks(c);
    }
    if (is_migration(keys.state)) {
        if (is_planted(defect::fence_moves_blindly)) {
            return deal_with_disks(c);
        }
        return ask(c, recovery_ask::others{}, at::asking_others, recovery_limits::others,
                   "the hypervisors of all other nodes, as it was migrating");
    }
    if (keys.state == vm_state::shutdown && keys.node == dead_node) {
        if (!keys.listed_by.empty()) {
            return finish(c, guest_end::left_alone, shown(keys.listed_by.front()) + " lists it");
        }
        wanted = {write_kind::stopped, {}, {}};
        return read(c, at::reading_last);
    }
    const bool is_parked = keys.state == vm_state::stop && keys.autostart && keys.state_id == keys.autostart_id &&
                           keys.state_id > proof_id && keys.node == dead_node;
    if (may_revive && is_parked) {
        is_reviving = true;
        return deal_with_disks(c);
    }
    return finish(c, guest_end::left_alone, "its state is " + std::string(model::to_text(keys.state)));
}

// Row a2: who has it keeps it, and its locks.
recovery_step guest_recovery::asked_others(context& c, const recovery_said::others& said) {
    if (!said.is_known) {
        return again(c);
    }
    std::string lives_on;
    std::string unclear;
    int lives = 0;
    bool is_dead_there = false;
    for (const auto& one : said.nodes) {
        const bool had_it = one.node == keys.node || one.node == keys.last_node;
        switch (one.answer) {
            case remote_answer::absent: break;
            case remote_answer::alive:
            case remote_answer::halted:
                ++lives;
                lives_on = one.node;
                is_dead_there = one.daemon == daemon_state::dead;
                break;
            case remote_answer::refused:
            case remote_answer::hanging:
            case remote_answer::silent: {
                const bool is_off = one.daemon == daemon_state::fenced && !one.lists_it;
                const bool is_excused = is_off || may_be_silent({one.daemon, one.lists_it, had_it}, one.answer);
                unclear = is_excused ? unclear : shown(one.node) + " does not say whether it has it";
                break;
            }
            case remote_answer::shut_off:
            case remote_answer::ending:
            case remote_answer::being_made:
            case remote_answer::incoming: unclear = shown(one.node) + " has a part of it"; break;
        }
    }
    if (lives > 1) {
        return finish(c, guest_end::kept, "more than one node has it");
    }
    if (lives == 1 && lives_on == keys.node) {
        return finish(c, guest_end::left_alone, "it lives on " + shown(lives_on) + ", where it belongs");
    }
    if (lives == 1 && keys.node != dead_node) {
        return finish(c, guest_end::kept, shown(lives_on) + " has it, whose daemon goes on with it");
    }
    // Its keys are all that tells that it is on its way: without them it would be proven by its client there, who may
    // still send it here.
    const bool may_be_received = proof == fence_proof::storage || proof == fence_proof::none;
    if (lives == 1 && is_dead_there && may_be_received && !is_planted(defect::fence_moves_blindly)) {
        return finish(c, guest_end::kept,
                      "without proof that " + shown(lives_on) + " is off, which has it and may still send it");
    }
    if (lives == 1) {
        wanted = {write_kind::stays, lives_on, keys.last_node == lives_on ? std::string() : keys.last_node};
        return read(c, at::reading_last);
    }
    if (!unclear.empty()) {
        return finish(c, guest_end::kept, std::move(unclear));
    }
    return deal_with_disks(c);
}

// ---- row b ----------------------------------------------------------------------------------------------------------

recovery_step guest_recovery::deal_with_disks(context& c) {
    if (!keys.unreadable.empty()) {
        return finish(c, guest_end::kept, "its definition cannot be read: " + keys.unreadable);
    }
    if (proof == fence_proof::storage && (!keys.are_all_rbd || keys.volumes.empty())) {
        return finish(c, guest_end::kept, "without proof that its node is off, as not all of its disks are in Ceph");
    }
    // Whoever it is sent to has a client of his own, which nobody kept from writing.
    const bool is_sent = is_migration(keys.state) && keys.node != dead_node;
    if (proof == fence_proof::storage && is_sent && !is_planted(defect::fence_moves_blindly)) {
        return finish(c, guest_end::kept, "without proof that its node is off, which may still send it");
    }
    if (proof == fence_proof::none) {
        return finish(c, guest_end::kept, "without proof that its node is off");
    }
    if (keys.volumes.empty()) {
        is_cleared = true;
        return choose(c);
    }
    return proof == fence_proof::storage ? ask_for_target(c, at::choosing_first) : read(c, at::reading_again);
}

recovery_step guest_recovery::disks_read(context& c) {
    if (proof == fence_proof::storage && !is_proven_silent) {
        return ask(c, recovery_ask::prove_silent{keys.volumes, before}, at::proving, recovery_limits::locks,
                   "proof that nobody can write to its disks");
    }
    return ask(c, recovery_ask::clear_locks{keys.volumes, blocked}, at::clearing, recovery_limits::locks,
               "the locks on its disks to be broken");
}

// What nobody takes is not stopped either: where its node was not switched off nobody looks for what was parked.
recovery_step guest_recovery::chosen_first(context& c, const planned_guest& said) {
    planned = said;
    return said.what == planned_guest::kind::placed ? read(c, at::reading_again)
                                                    : finish(c, guest_end::kept, said.reason);
}

recovery_step guest_recovery::proven(context& c, const recovery_said::proven& said) {
    using kind = recovery_said::proven::kind;
    fence_entry::guest entry{.id = id, .step = "proof by storage", .clients = said.clients};
    if (!said.clients.empty()) {
        before = {keys.volumes, said.clients};
        entry.volumes = keys.volumes;
    }
    if (said.what == kind::proven) {
        return ask(c, recovery_ask::record{std::move(entry)}, at::recording, recovery_limits::read,
                   "the proof to be on the disk");
    }
    if (!said.clients.empty()) {
        entry.step = "clients of its disks";
        c.notes.push_back(std::move(entry));
    }
    switch (said.what) {
        case kind::refused: return finish(c, guest_end::kept, said.reason);
        case kind::no_ceph: return finish(c, guest_end::needs_ceph, said.reason);
        case kind::proven:
        case kind::changed: break;
    }
    return again(c);
}

recovery_step guest_recovery::cleared(context& c, const recovery_said::cleared& said) {
    using kind = recovery_said::cleared::kind;
    c.notes.push_back({.id = id, .step = "locks", .locks = said.locks, .clients = {}, .target = {}});
    switch (said.what) {
        case kind::clear: is_cleared = true; return choose(c);
        case kind::refused: return finish(c, guest_end::kept, said.reason);
        case kind::no_ceph: return finish(c, guest_end::needs_ceph, said.reason);
        case kind::not_understood:
            if (said.address.empty() || blocked.size() >= recovery_limits::clients) {
                return finish(c, guest_end::kept, said.reason);
            }
            client = said.address;
            return read(c, at::reading_client);
        case kind::changed: break;
    }
    return again(c);
}

// What was put there by the command counts once it is seen.
recovery_step guest_recovery::looked_at_blocklist(context& c, const recovery_said::blocklist_read& said) {
    if (said.error) {
        return finish(c, guest_end::kept, "the blocklist of Ceph cannot be read: " + *said.error);
    }
    const bool is_there = std::ranges::any_of(
        said.addresses, [this](const std::string& one) { return model::is_same_client(one, client); });
    if (!is_there && !is_planted(defect::fence_block_unseen)) {
        return finish(c, guest_end::kept, shown(client) + " does not come to be on the blocklist of Ceph");
    }
    c.notes.push_back({.id = id, .step = "blocklisted by command", .locks = {}, .clients = {client}, .target = {}});
    blocked.push_back(client);
    return read(c, at::reading_again);
}

// ---- rows c and d ---------------------------------------------------------------------------------------------------

recovery_step guest_recovery::ask_for_target(context& c, at which) {
    const bool prefers = is_migration(keys.state) && keys.node != dead_node;
    return ask(c, recovery_ask::target{prefers ? keys.node : std::string(), std::exchange(is_plan_wrong, false)}, which,
               recovery_limits::target, "a node that takes it");
}

recovery_step guest_recovery::choose(context& c) {
    const bool is_chosen = proof == fence_proof::storage && planned.what == planned_guest::kind::placed;
    return is_chosen ? chosen(c, planned_guest(planned)) : ask_for_target(c, at::choosing);
}

recovery_step guest_recovery::chosen(context& c, const planned_guest& said) {
    planned = said;
    switch (said.what) {
        case planned_guest::kind::placed:
            wanted = {is_reviving ? write_kind::revives : write_kind::moves, said.node,
                      last_node_after(keys, said.node, dead_node)};
            break;
        case planned_guest::kind::nobody:
            if (is_reviving) {
                return finish(c, guest_end::parked, said.reason);
            }
            wanted = {write_kind::parks, {}, {}};
            break;
        case planned_guest::kind::no_room:
        case planned_guest::kind::no_figures:
        case planned_guest::kind::silent: return finish(c, guest_end::kept, said.reason);
    }
    return read(c, at::reading_last);
}

recovery_step guest_recovery::written(context& c, const fence_said::written& said) {
    if (said.how != fence_said::written::end::written) {
        is_plan_wrong = said.how == fence_said::written::end::overtaken;
        return again(c);
    }
    zxid = said.zxid;
    return finish_written(c);
}

recovery_step guest_recovery::finish_written(context& c) {
    if (wanted.what == write_kind::stopped) {
        return finish(c, guest_end::stopped, "it was being shut down");
    }
    if (wanted.what == write_kind::parks) {
        return finish(c, guest_end::parked, planned.reason);
    }
    fence_entry::guest entry{
        .id = id, .step = to_text(recovery_ask::any(wanted)), .locks = {}, .clients = {}, .target = wanted.node};
    entry.zxid = zxid;
    c.notes.push_back(std::move(entry));
    end = guest_end::recovered;
    return ask(c, recovery_ask::runs{wanted.node}, at::watching, recovery_limits::runs, "it to run there");
}

// A state of later (`fail`, a client's word) is said by whoever wrote it.
recovery_step guest_recovery::watched(context& c, const recovery_said::seen_to_run& said) {
    ran = said.is;
    if (said.is || said.is_changed) {
        return finish(c, guest_end::recovered, said.is ? "it runs" : "its state was changed before it was seen to run");
    }
    return finish(c, guest_end::unseen, "it was not seen to run");
}

// ---- resumption -----------------------------------------------------------------------------------------------------

recovery_step guest_recovery::resume(const recovery_said::any& said, time_point now,
                                     std::vector<fence_entry::guest>& notes) {
    context c{said, now, notes};
    // What was not answered in time has failed, or nobody knows.
    const auto said_or = [&c]<class T>(T otherwise) {
        const auto* const is = c.said_as<T>();
        return is != nullptr ? *is : otherwise;
    };
    switch (where) {
        case at::begin:
        case at::pausing: return read(c, at::reading);
        case at::reading:
        case at::reading_again:
        case at::reading_client:
        case at::reading_last: return judge(c, said_or(recovery_said::read{}));
        case at::asking_others: return asked_others(c, said_or(recovery_said::others{}));
        case at::choosing_first:
            return chosen_first(c, said_or(planned_guest{planned_guest::kind::no_figures, {}, "no figures of nodes"}));
        case at::proving:
            return proven(c, said_or(recovery_said::proven{
                                 recovery_said::proven::kind::refused, "Ceph does not answer in time", {}}));
        case at::recording:
            if (const auto done = said_or(recovery_said::done{"the disk does not answer in time"}); done.error) {
                return finish(c, guest_end::kept, "the proof could not be recorded: " + *done.error);
            }
            is_proven_silent = true;
            return read(c, at::reading_again);
        case at::clearing:
            return cleared(c, said_or(recovery_said::cleared{
                                  recovery_said::cleared::kind::refused, "Ceph does not answer in time", {}, {}}));
        case at::blocklisting: {
            const auto done = said_or(recovery_said::done{"Ceph does not answer in time"});
            return done.error ? finish(c, guest_end::kept, shown(client) + " could not be blocklisted: " + *done.error)
                              : ask(c, recovery_ask::blocklisted{}, at::looking_at_blocklist, recovery_limits::read * 2,
                                    "the blocklist of Ceph");
        }
        case at::looking_at_blocklist:
            return looked_at_blocklist(c, said_or(recovery_said::blocklist_read{{}, "no answer in time"}));
        case at::choosing:
            return chosen(c, said_or(planned_guest{planned_guest::kind::no_figures, {}, "no figures of nodes"}));
        case at::writing: return written(c, said_or(fence_said::written{}));
        case at::watching: return watched(c, said_or(recovery_said::seen_to_run{}));
        case at::over: break;
    }
    return {};
}

}  // namespace pvc::policy
