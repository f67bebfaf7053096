#include "firewall_keeper.hpp"

#include "pvcnoded/base/planted.hpp"
#include "pvcnoded/base/text.hpp"
#include "pvcnoded/policy/networks/filter_copies.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace pvc::networks {

using namespace std::chrono_literals;

namespace {

constexpr duration between_filter_looks = 100ms;
constexpr int share_of_filter_looks = 10;
constexpr duration longest_between_filter_looks = 1s;
constexpr duration filter_commit_limit = 10s;
constexpr int most_rounds = 8;
constexpr std::size_t least_until_look = 1000;
constexpr duration between_damage = 60s;
constexpr duration between_keeping = 10s;
constexpr duration longest_judging = 2s;
constexpr duration longest_first_judging = 20s;  // what was loaded before this start is in force for so long
constexpr std::size_t most_told_others = 64;
constexpr int most_copies_looked_for = 10;  // of tables that look the same, until it is told again

}  // namespace

firewall_keeper::firewall_keeper(core::node_context& node, netlink::packet_filter& filter,
                                 async::process_runner& processes, network_counts& counts)
    : node_(node),
      filter_(filter),
      counts_(counts),
      remarks_(node.log),
      files_(node, remarks_),
      loader_(node, processes, files_.folder()),
      copies_(node, loader_) {}

void firewall_keeper::want(std::vector<model::client_network> networks) {
    if (networks_ == networks) {
        return;  // told again
    }
    const bool are_others = !networks_ || !std::ranges::equal(*networks_, networks, {}, &model::client_network::vni,
                                                              &model::client_network::vni);
    ++wants_;
    networks_ = std::move(networks);
    is_stale_ = true;
    was_right_ = false;
    pause_.succeeded();  // what failed was another wish
    loader_.forget_refusal(are_others);
    changed_.notify();
}

std::string_view firewall_keeper::state() const {
    if (!trouble().empty()) {
        return "failing";
    }
    if (!networks_) {
        return "waiting for the networks";
    }
    return was_right_ ? "right" : "being changed";
}

std::size_t firewall_keeper::rule_count() const {
    std::size_t all = 0;
    for (const auto& chain : wanted_.chains) {
        all += chain.rules.size();
    }
    return all;
}

async::awaitable<void> firewall_keeper::run() {
    const auto watch = filter_.watch(changed_);
    for (;;) {
        const bool are_files_others = co_await loader_.look_at_files();
        if (are_files_others) {
            is_stale_ = true;
            was_right_ = false;
            must_look_ = true;
        }
        for (const auto& one : loader_.take_lost_tables()) {
            must_load_ = true;
            ++counts_.repairs;
            node_.log.warning(message::network_damaged,
                              fmt::format("firewall: table {} of a static file was gone, making it again", one));
        }
        if (pause_.is_over(node_.clock().now()) && must_look_) {
            must_look_ = false;
            co_await settle();
        }
        co_await copies_.keep_again();
        const time_point next = std::min(pause_.until().value_or(time_point::max()), loader_.next_look());
        const bool is_notified =
            co_await changed_.wait_until(node_.clock(), next, "a change of networks, of a table or of static files");
        if (is_notified) {
            loader_.tables_changed();
        }
        must_look_ = must_look_ || is_notified || pause_.until();
        const duration pause = std::clamp<duration>(look_time_ * share_of_filter_looks, between_filter_looks,
                                                    longest_between_filter_looks);
        co_await async::sleep_for(node_.clock(), pause, "what changes together");
    }
}

async::awaitable<void> firewall_keeper::settle() {
    for (int round = 0; round < most_rounds; ++round) {
        const bool again = co_await converge();
        if (!again) {
            co_return;
        }
    }
    changed_.notify();
}

async::awaitable<void> firewall_keeper::refresh() {
    is_stale_ = loader_.take_files_changed() || is_stale_;
    if (!std::exchange(is_stale_, false)) {
        co_return;
    }
    was_right_ = false;  // what differs now is our own wish
    const auto make = [this] {
        return policy::firewall_of(networks_.value_or(std::vector<model::client_network>()), refused_,
                                   loader_.knowledge());
    };
    co_await loader_.judge_files();
    wanted_ = make();
    if (!wanted_.unjudged.empty()) {
        // What is left is judged once this is loaded: it holds nothing else up.
        const bool are_all_judged = co_await loader_.judge(
            wanted_.unjudged, node_.clock().now() + (was_right_once_ ? longest_judging : longest_first_judging));
        wanted_ = make();
        if (!are_all_judged) {
            is_stale_ = true;
            changed_.notify();
        }
    }
    are_files_stale_ = true;
    tell_acls(false);
}

// What static files made in this boot looks like the host's own.
std::string firewall_keeper::others_in(const model::filter_state& seen) {
    const bool may_be_of_files = loader_.has_any_files() && (policy::is_of_daemons(seen) || loader_.has_loaded_files());
    return may_be_of_files || is_planted(defect::firewall_not_kept) ? std::string() : policy::rules_of_others(seen);
}

// Each table that is another one is told of at once; the same one again after a minute, as damage is.
async::awaitable<void> firewall_keeper::keep_others(const model::filter_state& seen) {
    const auto others = others_in(seen);
    if (others.empty()) {
        co_return;
    }
    if (told_others_.size() >= most_told_others) {
        told_others_.clear();
    }
    auto told = told_others_[policy::content_of(seen)];
    const bool is_over = node_.clock().now() >= told.until;
    const bool is_own = (policy::is_of_daemons(seen) || (own_table_ && *own_table_ == seen.table)) &&
                        !is_planted(defect::own_damage_kept);
    if (seen.table == told.table && (!is_over || (told.is_kept && !is_own))) {
        co_return;
    }
    told.again = is_over ? 0 : told.again + 1;
    if (told.again > most_copies_looked_for) {
        co_return;  // somebody makes it all the time, and damage is counted
    }
    const auto kept = is_own ? firewall_copies::outcome{.is_kept = true} : co_await copies_.keep();
    told.table = seen.table;
    told.is_kept = kept.is_kept;
    if (is_over) {
        told.until = node_.clock().now() + (kept.is_kept ? between_damage : between_keeping);
    }
    told_others_[policy::content_of(seen)] = told;
    if (!is_over && !kept.is_new) {
        co_return;
    }
    node_.log.warning(
        message::network_firewall,
        is_own ? fmt::format("firewall: in table inet filter, which is that of client networks, somebody made {}: that "
                             "goes, as the table is made right again; put rules of the host into a table of another "
                             "name",
                             others)
               : fmt::format("firewall: table inet filter of this host has {}: all of it is replaced by what client "
                             "networks need, and what the host had {}; put rules of the host into a table of another "
                             "name",
                             others, kept.where));
}

// Nobody else may change it, and the kernel tells nobody when that program has ended.
void firewall_keeper::tell_owner(const model::filter_state& seen) {
    was_right_ = false;
    own_table_.reset();
    forget_last();
    std::string who;
    if (seen.owner != 0) {
        const auto name = node_.port.host.read_file(fmt::format("/proc/{}/comm", seen.owner));
        who = name ? fmt::format(": process {} ({})", seen.owner, shown(name->substr(0, name->find('\n'))))
                   : fmt::format(": that with netlink port {}", seen.owner);
    }
    pause_.succeeded();  // looked at again after the shortest pause
    failed("table inet filter belongs to another running program (flags owner)" + who +
           ": nobody else may change it, and guests of client networks have no filter here until that program has "
           "ended or taken a table of another name");
}

// Somebody may do that all the time: then it is told once a minute.
void firewall_keeper::tell_damage(const model::filter_state& seen) {
    if (!std::exchange(was_right_, false)) {
        return;
    }
    ++counts_.repairs;
    const time_point now = node_.clock().now();
    if (now < tell_damage_again_) {
        ++untold_damage_;
        return;
    }
    const auto before = std::exchange(untold_damage_, 0);
    tell_damage_again_ = now + between_damage;
    node_.log.warning(message::network_damaged,
                      fmt::format("firewall: {}{}",
                                  seen.has_table ? "somebody changed table inet filter, making it right again"
                                                 : "table inet filter was gone, making it again",
                                  before == 0 ? "" : fmt::format(" ({} times more since this was said last)", before)));
}

async::awaitable<bool> firewall_keeper::converge() {
    const std::uint64_t wants = wants_;
    const time_point begun = node_.clock().now();
    auto seen = co_await filter_.look(begun + filter_look_limit);
    look_time_ = node_.clock().now() - begun;
    if (!seen) {
        failed(policy::filter_unseen(seen.error()));
        co_return false;
    }
    if ((seen->flags & model::owned_table) != 0) {
        tell_owner(*seen);
        co_return false;
    }
    co_await keep_others(*seen);
    if (!networks_ && seen->has_table) {
        goes_well();
        co_return false;
    }
    co_await refresh();
    if (wanted_.needs_nft || loader_.can_load_files() || loader_.is_load_due() || is_held(*seen)) {
        const bool again = co_await converge_by_nft(*seen, wants);
        co_return again;
    }
    bool is_all_own = false;
    if (!loader_.has_files()) {
        is_all_own = co_await loader_.remove_tables();
    }
    tell_nft();
    auto plan = is_all_own ? local_plan(*seen) : std::nullopt;
    if (!plan) {
        // Of what static files made sets and the like are not seen: all of it goes with them.
        must_rebuild_ = must_rebuild_ || may_hold_files_;
        forget_last();
        plan = policy::plan_filter(wanted_, *seen, must_rebuild_);
    }
    if (plan->changes.empty()) {
        is_right(wants, seen->table);
        must_load_ = false;
        if (is_all_own && !last_) {
            remember({"", {}, seen->table, {}, policy::nft_marks()});  // what nft shall add comes beside it
        } else if (last_) {
            loader_.note_in_force(policy::made_by_nft(wanted_));
        }
        co_return false;
    }
    tell_damage(*seen);
    const bool again = co_await commit(*plan, seen->generation);
    co_return again;
}

void firewall_keeper::is_right(std::uint64_t wants, std::uint64_t table) {
    own_table_ = table;
    must_rebuild_ = false;
    goes_well();
    tell_acls(true);
    was_right_ = wants == wants_;
    was_right_once_ = was_right_once_ || networks_.has_value();
    if (std::exchange(are_files_stale_, false)) {
        std::map<std::string, std::string> texts{{"base.nft", policy::base_file(node_.config->directories.dynamic)}};
        for (const auto& one : wanted_.files) {
            texts.emplace("networks/" + one.name, one.text);
        }
        files_.want(std::move(texts));
    }
    settled(wants);
}

async::awaitable<bool> firewall_keeper::commit(const policy::filter_plan& plan, std::uint32_t generation) {
    if (is_planted(defect::filter_in_halves)) {
        const auto half = plan.changes.begin() + static_cast<std::ptrdiff_t>(plan.changes.size() / 2);
        auto first = co_await filter_.commit({plan.changes.begin(), half}, generation,
                                             node_.clock().now() + filter_commit_limit);
        ignore(std::move(first), "a planted defect");
        auto second = co_await filter_.commit({half, plan.changes.end()}, std::nullopt,
                                              node_.clock().now() + filter_commit_limit);
        co_return second.has_value();
    }
    const time_point begun = node_.clock().now();
    auto done = co_await filter_.commit(plan.changes, generation, begun + filter_commit_limit);
    if (!done && done.error().code() == errc::version_conflict && ++conflicts_ <= most_conflicts) {
        co_return true;  // somebody else changed some table meanwhile
    }
    if (!done) {
        conflicts_ = 0;
        failed("it cannot be changed: " + done.error().text());
        co_return false;
    }
    if (*done) {
        co_return take_refusal(plan, **done);
    }
    conflicts_ = 0;
    must_rebuild_ = false;
    may_hold_files_ = may_hold_files_ && !plan.is_rebuild;
    ++counts_.filter_changes;
    node_.log.debug(fmt::format("firewall: {} changes in one batch of {} ms{}", plan.changes.size(),
                                (node_.clock().now() - begun) / 1ms, plan.is_rebuild ? ", all of it anew" : ""));
    co_return true;
}

// Nothing of the batch was done. Without the rule of an ACL it can be; anything else is tried with a table made anew.
bool firewall_keeper::take_refusal(const policy::filter_plan& plan, const netlink::batch_refusal& refusal) {
    ++counts_.failures;
    const auto* change = refusal.change < plan.changes.size() ? &plan.changes[refusal.change] : nullptr;
    if (change != nullptr && policy::acl_of(wanted_, *change)) {
        leave_out(std::get<model::add_rule>(*change).rule.tag, refusal.cause);
        return true;
    }
    if (!plan.is_rebuild) {
        must_rebuild_ = true;
        return true;
    }
    failed(
        fmt::format("the kernel refuses change {} of {}: {}", refusal.change + 1, plan.changes.size(), refusal.cause));
    return false;
}

// However many there are: who forgot one that is still wanted would ask for it again, and never come to an end.
void firewall_keeper::leave_out(std::string tag, std::string cause) {
    refused_.insert_or_assign(std::move(tag), std::move(cause));
    is_stale_ = true;
    if (refused_.size() < std::max(refused_until_look_, least_until_look)) {
        return;
    }
    std::set<std::string, std::less<>> known;
    for (const auto& chain : policy::firewall_of(*networks_, {}).chains) {
        for (const auto& one : chain.rules) {
            known.insert(one.rule.tag);
        }
    }
    std::erase_if(refused_, [&](const auto& one) { return !known.contains(one.first); });
    refused_until_look_ = 2 * refused_.size();
}

void firewall_keeper::goes_well() {
    conflicts_ = 0;
    trouble_.clear();
    remarks_.tell("firewall", {});
    pause_.succeeded();
}

void firewall_keeper::failed(std::string why) {
    pause_.failed(node_.clock().now());
    trouble_ = std::move(why);
    remarks_.tell("firewall", {{message::network_firewall, true, "firewall: " + trouble_ + ", trying again"}});
    settled(wants_);
}

void firewall_keeper::settled(std::uint64_t wants) {
    settled_ = wants;
    settles_.set(settles_.value() + 1);
    if (on_settled) {
        on_settled();
    }
}

// That one is taken again is said once it is so.
void firewall_keeper::tell_acls(bool are_others_in_force) {
    std::set<std::string> told;
    for (const auto& one : wanted_.refused) {
        const auto about = fmt::format("ACL {} {} {}", one.acl.vni, to_text(one.acl.direction), one.acl.name);
        told.insert(about);
        remarks_.tell(about, {{message::network_acl, true, one.text()}});
    }
    if (!are_others_in_force) {
        told_acls_.merge(told);
        return;
    }
    for (const auto& about : told_acls_) {
        if (!told.contains(about)) {
            remarks_.tell(about, {});
        }
    }
    told_acls_ = std::move(told);
}

}  // namespace pvc::networks
