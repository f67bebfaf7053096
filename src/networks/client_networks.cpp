#include "client_networks.hpp"

#include "pvcnoded/base/planted.hpp"
#include "pvcnoded/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pvc::networks {

namespace {

constexpr duration note_limit = std::chrono::milliseconds(250);  // a record that cannot be written costs no network
constexpr duration longest_for_names = std::chrono::seconds(3);  // nor does a disk
// Where they were read before: what is not there may be named since, which is seldom.
constexpr duration longest_for_new_names = std::chrono::milliseconds(200);
constexpr duration longest_for_note = std::chrono::seconds(10);  // while a record is being written nothing is wrong

std::string name_of(std::uint32_t vni) {
    return fmt::format("network {}", vni);
}

// Somebody made a link of the name before this daemon could: without what shows that now it would be taken for its own.
void forget_coming(policy::own_bases& all, const std::string& name) {
    const auto found = all.find(name);
    if (found != all.end() && found->second.index == policy::recorded_base::coming) {
        all.erase(found);
    }
}

}  // namespace

void client_networks::want(const stored_networks& all) {
    ++wants_;
    is_told_ = true;
    for (const auto& [vni, stored] : all) {
        auto& row = rows_[vni];
        if (std::exchange(row.stored, stored) == stored && !row.is_gone) {
            continue;
        }
        remarks_.tell("keys of " + name_of(vni), remarks_on_keys(vni, row, *stored));
        if (stored->network != row.wanted || row.is_gone) {
            row.pause.succeeded();  // what failed was another wish
            row.wish = wants_;
            row.wished = node_.clock().now();
        }
        if (std::exchange(row.is_gone, false)) {
            row.memory.was_right = false;  // what is missing now this daemon took away
        }
        row.wanted = stored->network;
        row.as_managed = stored->as_managed;
        row.usable = row.wanted ? row.wanted : row.usable;
    }
    for (auto& [vni, row] : rows_) {
        if (!all.contains(vni) && !std::exchange(row.is_gone, true)) {
            row.wanted.reset();
            row.standing.reset();
            row.pause.succeeded();
            remarks_.forget("keys of " + name_of(vni));
        }
    }
}

void client_networks::set_named(policy::named_links names, names_known how, std::uint64_t wishes) {
    names_of_ = wishes;
    are_names_known_ = are_names_known_ || how == names_known::all;
    names_known_ = how;
    whose_.named = std::move(names.names);
    whose_.masters = std::move(names.masters);
}

bool client_networks::waits_for_names(std::uint32_t vni, const network_row& row,
                                      const model::network_state& seen) const {
    const duration longest =
        names_known_ == names_known::until_disk_answers ? longest_for_new_names : longest_for_names;
    if (row.wish <= names_of_ || node_.clock().now() >= row.wished + longest) {
        return false;
    }
    const auto is_unknown = [&](std::string_view prefix) {
        const auto* link = seen.find(fmt::format("{}{}", prefix, vni));
        return link != nullptr && whose_.find(*link) == nullptr;
    };
    // What is not there is made, unless it is named.
    const auto* bridge = seen.find(fmt::format("vmbr{}", vni));
    const bool is_made = bridge == nullptr || (row.wanted && seen.find(row.wanted->base()) == nullptr);
    const bool may_be_new =
        names_known_ != names_known::all || node_.clock().now() < row.wished + longest_for_new_names;
    return (is_made && may_be_new) || is_unknown("vxlan") || is_unknown("vlan") ||
           (bridge != nullptr && policy::index_of(bridges_.known(), vni) != bridge->index);
}

network_row* client_networks::find(std::uint32_t vni) {
    const auto found = rows_.find(vni);
    return found == rows_.end() ? nullptr : &found->second;
}

std::set<std::uint32_t> client_networks::refused() const {
    std::set<std::uint32_t> all;
    for (const auto& [vni, row] : rows_) {
        if (row.wanted && row.plan && row.plan->is_refused) {
            all.insert(vni);
        }
    }
    return all;
}

std::map<std::uint32_t, int> client_networks::mtus_to_write() const {
    std::map<std::uint32_t, int> all;
    for (const auto& [vni, row] : rows_) {
        if (row.wanted && row.plan && row.plan->mtu_to_write) {
            all.emplace(vni, *row.plan->mtu_to_write);
        }
    }
    return all;
}

std::optional<time_point> client_networks::next_try() const {
    std::optional<time_point> first = sweep_pause_.until();
    for (const auto& [vni, row] : rows_) {
        // One that waits is seen again when they were read, or then.
        if (row.wanted && row.wish > names_of_) {
            const bool may_be_new = node_.clock().now() < row.wished + longest_for_new_names;
            const duration longest = may_be_new ? longest_for_new_names : longest_for_names;
            first = std::min(first.value_or(time_point::max()), row.wished + longest);
        }
        if (row.wanted && row.waits_for_note) {
            first = std::min(first.value_or(time_point::max()), *row.waits_for_note + longest_for_note);
        }
        if (row.pause.until()) {
            first = std::min(first.value_or(time_point::max()), *row.pause.until());
        }
        if (row.wanted && row.settings) {
            first = std::min(first.value_or(time_point::max()), row.settings->when + settings_every);
        }
    }
    return first;
}

// Steps of one network do not touch another's links, so that one look serves all.
async::awaitable<bool> client_networks::settle(const model::network_state& seen) {
    if (!is_told_) {
        co_return false;
    }
    const std::uint64_t wants = wants_;
    has_renamed_ = false;
    whose_.bases = bridges_.bases();
    whose_.bridges = bridges_.known();
    with_machines_ = policy::bridges_of_machines(work_.config(), seen);
    tell_foreign(seen);
    bool has_changed = false;
    // Rows come and go while steps are carried out.
    std::vector<std::uint32_t> gone;
    std::vector<std::uint32_t> wanted;
    for (const auto& [vni, row] : rows_) {
        (row.is_gone ? gone : wanted).push_back(vni);
    }
    for (const auto vni : gone) {
        const bool changed = co_await remove_row(vni, seen);
        has_changed = has_changed || changed;
    }
    if (!is_swept_ && (are_names_known_ || is_planted(defect::swept_unread))) {
        const bool changed = co_await sweep(seen);
        has_changed = has_changed || changed;
    }
    co_await announce_bases(seen);
    bool is_any_held = false;
    for (const auto vni : wanted) {
        auto* row = find(vni);
        if (row != nullptr && row->wanted && waits_for_names(vni, *row, seen)) {
            is_any_held = true;
            row->settings.reset();
            continue;
        }
        if (row != nullptr) {
            row->wish = 0;
        }
        const bool changed = co_await settle_row(vni, seen);
        has_changed = has_changed || changed;
    }
    record_links(seen);
    note_reach(seen);
    settled_ = is_any_held ? settled_ : wants;
    co_return has_changed;
}

async::awaitable<result<void>> client_networks::carry_out(std::uint32_t vni, std::vector<model::network_change> steps) {
    std::vector<model::network_change> left;
    auto done = co_await work_.carry_out(std::move(steps), &left);
    auto* row = find(vni);
    if (row != nullptr && row->wanted && !done && done.error().code() != errc::timed_out) {
        auto rest = policy::steps_without_base(*row->wanted, left);
        ignore(co_await work_.carry_out(std::move(rest)), "all of it is tried again");
        row = find(vni);
    }
    if (row == nullptr) {
        co_return done;
    }
    if (done) {
        row->pause.succeeded();
        row->trouble.clear();
    } else {
        row->pause.failed(node_.clock().now());
        row->trouble = done.error().text();
    }
    co_return done;
}

// "": its base can be made or used. One that this daemon did not make becomes a port of its bridge: without that in the
// files the daemon after this one would take it for what a daemon had made, and delete it with its network. One that
// works on the device of before is made anew on another one: without that in the files it is nobody's after that,
// should the device change once more.
std::string client_networks::why_not_yet(const policy::network_plan& plan, const model::network_state& seen) const {
    for (const auto& [name, base] : plan.bases) {
        if (bridges_.has_written(name)) {
            continue;
        }
        const bool is_taken = std::ranges::any_of(plan.steps, [&name](const model::network_change& step) {
            const auto* const port = std::get_if<model::set_master>(&step);
            return port != nullptr && port->name == name && !port->master.empty();
        });
        const auto* there = seen.find(name);
        if (!base.is_own && is_taken) {
            return name + " was there, and is not used before that could be noted";
        }
        if (base.index == policy::recorded_base::coming && there != nullptr && there->is_running) {
            return name + " is on another device, and is not made anew before that could be noted";
        }
    }
    return {};
}

// It is being noted, and that is no trouble yet.
bool client_networks::waits_for_note(network_row& row, const std::string& not_noted) const {
    if (not_noted.empty() || bridges_.is_noted() || !row.trouble.empty()) {
        row.waits_for_note.reset();
        return false;
    }
    row.waits_for_note = row.waits_for_note.value_or(node_.clock().now());
    const bool is_too_long = node_.clock().now() >= *row.waits_for_note + longest_for_note;
    if (is_too_long) {
        row.waits_for_note.reset();
    }
    return !is_too_long;
}

async::awaitable<bool> client_networks::settle_row(std::uint32_t vni, const model::network_state& seen) {
    auto* row = find(vni);
    if (row == nullptr || !row->wanted) {
        co_return false;
    }
    const auto before = row->plan;
    row->type = row->wanted->type;
    row->has_links = true;
    row->memory.own_bridge = policy::index_of(bridges_.known(), vni);
    note_settings(*row, seen);
    const bool was_refused = row->plan && row->plan->is_refused;
    row->plan = policy::plan_network(*row->wanted, work_.config(), seen, row->memory, whose_);
    const auto plan = *row->plan;
    if (!plan.is_right()) {
        row->settings.reset();
    }
    const bool is_refused = plan.is_refused && !was_refused;
    const bool renames = std::ranges::any_of(
        plan.steps, [](const auto& one) { return std::holds_alternative<model::rename_link>(one); });
    if (has_renamed_ && (renames || is_refused)) {
        row->plan = before;  // what was seen under its names another network has called back
        co_return true;
    }
    wants_names_ = wants_names_ || (plan.is_refused && !was_refused);
    auto said = plan.remarks;
    const bool is_due = row->pause.is_over(node_.clock().now());
    bool has_changed = false;
    const bool was_right = row->memory.was_right;
    const auto not_noted = plan.steps.empty() ? std::string() : why_not_yet(plan, seen);
    const bool waits = waits_for_note(*row, not_noted);
    if (plan.is_right()) {
        row->standing = row->wanted;
    } else if (plan.is_refused && plan.stays && !row->standing) {  // a daemon before this one had it so
        row->standing = *plan.stays == model::network_type::managed ? row->as_managed : std::nullopt;
    }
    auto last = std::exchange(row->done, {});
    if (plan.steps.empty()) {
        row->memory = plan.next;
        row->pause.succeeded();
        row->trouble.clear();
        if (row->memory.was_right && !was_right && !changed_settings(*row->wanted).empty()) {
            // Somebody made the bridge too small for IPv6, and this daemon large again, between two looks.
            row->memory.bridge = 0;
            row->memory.was_right = false;
            row->pause.failed(node_.clock().now());
        }
    } else if (is_due && !not_noted.empty() && !waits) {
        row->pause.failed(node_.clock().now());
        row->trouble = not_noted;
    } else if (is_due && !waits) {
        for (const auto& what : plan.damage) {
            ++work_.counts().repairs;
            damages_.tell(message::network_damaged, name_of(vni) + ": " + what + ", repairing it");
        }
        auto steps = plan.steps;
        if (is_planted(defect::base_no_port)) {
            std::erase_if(steps, [](const auto& one) { return std::holds_alternative<model::set_master>(one); });
        }
        auto done = co_await carry_out(vni, std::move(steps));
        row = find(vni);
        if (row == nullptr) {
            co_return true;
        }
        has_changed = done.has_value() && last != plan.steps;
        has_renamed_ = has_renamed_ || (done && renames);
        if (done) {
            row->done = plan.steps;
            row->memory = plan.next;
        } else {
            // Which settings were made is not known: they are made again, which is no repair.
            row->memory.bridge = 0;
            row->memory.was_right = false;
        }
    }
    if (!row->trouble.empty()) {
        said.push_back({message::network_failed, true, name_of(vni) + ": " + row->trouble + ", trying again"});
    }
    add_consequences(vni, *row, said);
    add_strange_addresses(vni, *row, seen, said);
    remarks_.tell(name_of(vni), std::move(said));
    co_return has_changed;
}

async::awaitable<bool> client_networks::remove_row(std::uint32_t vni, const model::network_state& seen) {
    auto* row = find(vni);
    if (row == nullptr || !row->is_gone || !row->pause.is_over(node_.clock().now())) {
        co_return false;
    }
    if (is_planted(defect::network_left)) {
        rows_.erase(vni);
        co_return false;
    }
    const auto plan = policy::plan_removal(vni, work_.config(), seen, own_bridge_of(vni, seen), whose_);
    if (plan.steps.empty() && !plan.remarks.empty()) {
        remarks_.tell(name_of(vni), plan.remarks);  // something uses its links: looked at again with the next change
        co_return false;
    }
    if (plan.steps.empty() && work_.stack().has_late_changes() && !is_planted(defect::late_link_forgotten)) {
        row->pause.failed(node_.clock().now());  // a link of it may be made yet
        co_return false;
    }
    if (plan.steps.empty()) {
        remarks_.forget(name_of(vni));
        if (row->has_links) {
            node_.log.info(name_of(vni) + " is removed");
        }
        rows_.erase(vni);
        co_return false;
    }
    row->has_links = true;
    auto done = co_await carry_out(vni, plan.steps);
    row = find(vni);
    if (row != nullptr && !done) {
        auto said = plan.remarks;
        said.push_back({message::network_failed, true, name_of(vni) + ": " + row->trouble + ", trying again"});
        remarks_.tell(name_of(vni), std::move(said));
    }
    co_return done.has_value();
}

int client_networks::own_bridge_of(std::uint32_t vni, const model::network_state& seen) const {
    const auto row = rows_.find(vni);
    const int known = row == rows_.end() ? 0 : row->second.memory.bridge;
    if (known < 0) {  // the last plan made it
        const auto* link = seen.find(fmt::format("vmbr{}", vni));
        return link == nullptr ? 0 : link->index;
    }
    const int recorded = policy::index_of(bridges_.known(), vni);
    return recorded != 0 ? recorded : known;
}

// The next look tells of what was made now.
void client_networks::note_reach(const model::network_state& seen) {
    std::set<std::uint32_t> known;
    for (const auto& [vni, row] : rows_) {
        if (row.wanted && !(row.plan && row.plan->is_refused)) {
            known.insert(vni);
        }
    }
    reach_ = policy::reach_of_host(known, work_.config(), seen, bridges_.known());
}

// Also those of networks that are gone, until they are removed.
void client_networks::record_links(const model::network_state& seen) {
    policy::own_bridges taken;
    policy::own_bases bases;
    auto before = bridges_.bases();
    for (const auto& [vni, row] : rows_) {
        if (row.wanted && row.plan) {
            forget_coming(before, row.plan->foreign_base);
        }
        if (row.type && row.plan && row.plan->next.own_bridge != 0) {
            taken[vni] = {row.plan->next.own_bridge, *row.type == model::network_type::managed};
        }
        for (const auto& [name, base] : row.plan && !row.plan->is_refused ? row.plan->bases : policy::own_bases()) {
            // Also of one that is removed by now: that a base is only used was planned on this look.
            if (row.wanted || !base.is_own) {
                bases.emplace(name, base);
            }
        }
    }
    if (work_.stack().has_late_changes() && !is_planted(defect::late_link_forgotten)) {
        for (const auto& [name, base] : before) {
            if (base.index == policy::recorded_base::coming) {
                bases.emplace(name, base);  // it may be made yet, whoever wants it by then
            }
        }
    }
    bridges_.update(policy::after_look(bridges_.known(), taken, seen), policy::bases_after_look(before, bases, seen));
    whose_.bases = bridges_.bases();
    whose_.bridges = bridges_.known();
}

async::awaitable<void> client_networks::announce_bases(const model::network_state& seen) {
    auto bases = bridges_.bases();
    for (const auto& [vni, row] : rows_) {
        const auto* base = row.wanted ? seen.find(row.wanted->base()) : nullptr;
        const auto* lower = row.wanted ? seen.find(row.wanted->type == model::network_type::managed
                                                       ? work_.config().networks.cluster.device
                                                       : work_.config().bridges.device)
                                       : nullptr;
        // Of another device by now it may be made anew. One that nobody knows is noted before it is used: the network
        // may be gone before the next look, and a port of its bridge would be taken for what a daemon of before had
        // made.
        const bool is_known = base != nullptr && whose_.find(*base) != nullptr;
        if (!row.wanted || waits_for_names(vni, row, seen) ||
            (is_known && (lower == nullptr || base->lower == lower->index))) {
            continue;
        }
        // Only what a plan will make or use: what is recorded and not made would be forgotten with this look, and
        // recorded again.
        const auto plan = policy::plan_network(*row.wanted, work_.config(), seen, row.memory, whose_);
        for (const auto& [name, one] : plan.is_refused ? policy::own_bases() : plan.bases) {
            if (one.index == policy::recorded_base::coming || !one.is_own) {
                bases.insert_or_assign(name, one);
            }
        }
    }
    if (bases == bridges_.bases()) {
        co_return;
    }
    bridges_.update(bridges_.known(), std::move(bases));
    whose_.bases = bridges_.bases();
    co_await bridges_.noted_by(node_.clock().now() + note_limit);
}

// Once for as long as it stays the same.
void client_networks::tell_foreign(const model::network_state& seen) {
    const auto foreign = policy::foreign_links(work_.config(), seen, bridges_.known(), whose_);
    std::vector<policy::network_remark> said;
    if (!foreign.empty()) {
        said.push_back({message::network_left_alone, false,
                        fmt::format("links of this host have names of client networks: {}: they are left alone, and "
                                    "a network that needs one of these names is refused here",
                                    join(foreign, ", "))});
    }
    for (auto& one : policy::dead_links(work_.config(), seen, whose_)) {
        said.push_back({message::network_left_alone, false, std::move(one)});
    }
    remarks_.tell("links of this host", std::move(said));
}

async::awaitable<bool> client_networks::sweep(const model::network_state& seen) {
    if (!sweep_pause_.is_over(node_.clock().now())) {
        co_return false;
    }
    std::set<std::uint32_t> known;
    for (const auto& [vni, row] : rows_) {
        known.insert(vni);
    }
    const auto plan = policy::plan_sweep(known, work_.config(), seen, bridges_.known(), whose_);
    // What is still used goes when that has gone, as with networks that were removed before this daemon's eyes.
    for (const auto vni : plan.left) {
        auto& row = rows_[vni];
        row.is_gone = true;
        row.has_links = true;
        co_await remove_row(vni, seen);
    }
    std::vector<policy::network_remark> said;
    if (const auto kept = policy::kept_bridges(known, work_.config(), seen, bridges_.known(), whose_); !kept.empty()) {
        said.push_back({message::network_left_alone, false,
                        fmt::format("no client network has the number of these bridges of this host, and none left "
                                    "them: {}: they are left alone",
                                    join(kept, ", "))});
    }
    auto done = co_await work_.carry_out(plan.steps);
    if (done) {
        is_swept_ = plan.steps.empty();  // else another look tells what stays behind without them
        sweep_pause_.succeeded();
        for (const auto& one : plan.steps) {
            if (const auto* gone = std::get_if<model::delete_link>(&one)) {
                node_.log.info(gone->name + " is removed: its network is gone");
            }
        }
    } else {
        sweep_pause_.failed(node_.clock().now());
        said.push_back({message::network_failed, true,
                        "removing what networks left behind: " + done.error().text() + ", trying again"});
    }
    remarks_.tell("networks that are gone", std::move(said));
    co_return done && !plan.steps.empty();
}

}  // namespace pvc::networks
