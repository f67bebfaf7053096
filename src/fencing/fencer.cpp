#include "pvcnoded/fencing/fencer.hpp"

#include "fencer_part.hpp"
#include "zookeeper_away.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pvc::fencing {

using namespace std::chrono_literals;

namespace {

constexpr std::array<policy::fence_end, 9> all_ends{
    policy::fence_end::passed,       policy::fence_end::abandoned, policy::fence_end::held_back,
    policy::fence_end::unrecordable, policy::fence_end::failed,    policy::fence_end::done,
    policy::fence_end::handed_on,    policy::fence_end::node_back, policy::fence_end::gone};

}  // namespace

async::awaitable<result<void>> fencer::prepare(core::preparation in) {
    in.attempt.spawn("fence records", [this] { return ledgers_.run(); });
    co_return result<void>();
}

async::awaitable<void> fencer::end(time_point /*deadline*/) {
    co_await ledgers_.flush();
}

std::unique_ptr<core::session_part> fencer::begin(core::session& s) {
    return std::make_unique<fencer_part>(s, *this);
}

void fencer::report(std::vector<std::string>& lines) const {
    if (part_ == nullptr) {
        lines.emplace_back("fencing: no session with ZooKeeper");
        return;
    }
    part_->report(lines);
}

void fencer::put_metrics(core::metrics_sheet& sheet) const {
    for (const auto end : all_ends) {
        const std::string name(policy::to_text(end));
        sheet.counter("fence_attempts_total", "how often this node began to fence another, or went on with it",
                      counts_->attempts.at(static_cast<std::size_t>(end)), {{"outcome", name}});
    }
    const bool has_part = part_ != nullptr;
    const auto oldest = has_part ? part_->oldest_dead() : std::nullopt;
    sheet.gauge("fence_attempts_under_way", "nodes that this one is fencing",
                has_part ? static_cast<double>(part_->attempts_under_way()) : 0.0);
    sheet.gauge("fence_nodes_down", "nodes that are dead or fenced",
                has_part ? static_cast<double>(part_->dead()) : 0.0);
    sheet.gauge("fence_oldest_down_seconds", "for how long this node has seen one of them so, at most",
                oldest ? core::metric_seconds(*oldest) : 0.0);
    recovery_->put_metrics(sheet);
}

std::shared_ptr<core::awaited_explanation> fencer::confirm_fence(core::fence_word word, time_point until) {
    constexpr duration before_limit = 500ms;  // who asks is told what it was that took so long
    auto said = std::make_shared<core::awaited_explanation>();
    if (part_ == nullptr) {
        said->give(zookeeper_away(word.node));
    } else {
        part_->confirm(std::move(word), until - before_limit, said);
    }
    return said;
}

std::shared_ptr<core::awaited_explanation> fencer::retry_fence(std::string node, std::string by) {
    auto said = std::make_shared<core::awaited_explanation>();
    said->give(part_ == nullptr ? zookeeper_away(node) : part_->retry(node, by));
    return said;
}

// ---- of a session ---------------------------------------------------------------------------------------------------

void fencer_part::report(std::vector<std::string>& lines) const {
    const auto self = observer();
    const auto why = policy::why_not_judging(self);
    lines.push_back(why.empty() ? "fencing: silent nodes are judged" : "fencing: nobody is judged: " + why);
    for (const auto& [node, one] : runs_) {
        lines.push_back(fmt::format("node {} is being fenced ({}), for {} s: {}{}", node, one->machine().stage(),
                                    (node_.clock().now() - one->begun()) / 1s,
                                    one->step().reason.empty() ? "begins" : "waits for ", one->step().reason));
    }
    const auto all = all_seen();
    for (const auto& verdict : policy::judge_nodes(self, all)) {
        if (verdict.what != policy::node_verdict::well && !runs_.contains(verdict.name)) {
            const auto memory = memories_.find(verdict.name);
            const bool waits = memory != memories_.end() && memory->second.not_before > node_.clock().now();
            const std::string outlook =
                waits ? "this node could not write the record of its fence" : policy::outlook_of(verdict);
            lines.push_back(fmt::format("node {} is {}{}{}", verdict.name, to_text(verdict.what),
                                        outlook.empty() ? "" : ": ", outlook));
        }
    }
    for (const auto& [node, look] : closer_) {
        const auto state = session_.others.daemon_state(node);
        const auto memory = memories_.find(node);
        if (!look.dead_since || !state || runs_.contains(node)) {
            continue;
        }
        const time_point now = node_.clock().now();
        const auto found = std::ranges::find(all, node, &policy::node_seen::name);
        const auto victim = found == all.end() ? std::nullopt : victim_of(*found);
        const auto known = memory == memories_.end() ? policy::fence_memory() : memory->second;
        const auto outlook = !victim || !why.empty()  ? std::string()
                             : !look.left_off.empty() ? "left off until somebody switches it on: " + look.left_off
                                                      : policy::outlook_of(node, *victim, known, now);
        lines.push_back(fmt::format("node {} is {}, down for {} s{}{}{}", node, to_text(*state),
                                    (now - *look.dead_since) / 1s, outlook.empty() ? "" : ": ", outlook,
                                    look.are_records_unread ? "; the records of its fences here cannot be read" : ""));
    }
}

std::size_t fencer_part::dead() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(closer_, [](const auto& entry) { return entry.second.dead_since.has_value(); }));
}

std::optional<duration> fencer_part::oldest_dead() const {
    std::optional<duration> oldest;
    for (const auto& [node, look] : closer_) {
        if (look.dead_since) {
            oldest = std::max(oldest.value_or(duration::zero()), node_.clock().now() - *look.dead_since);
        }
    }
    return oldest;
}

// ---- machines of nodes that are down --------------------------------------------------------------------------------

void fencer_part::want_machines(duration no_older_than) {
    const bool is_young = machines_read_ && node_.clock().now() - *machines_read_ < no_older_than;
    if (is_young || are_machines_wanted_) {
        return;
    }
    are_machines_wanted_ = true;
    scope_->spawn("machines of nodes", [this] { return count_machines(); });
}

namespace {

bool is_in_running_state(std::string_view text) {
    for (const auto state : {model::vm_state::start, model::vm_state::restart, model::vm_state::migrate,
                             model::vm_state::migrate_live, model::vm_state::unmigrate, model::vm_state::shutdown}) {
        if (text == to_text(state)) {
            return true;
        }
    }
    return false;
}

}  // namespace

async::awaitable<void> fencer_part::count_machines() {
    constexpr std::size_t batch = 100;
    struct ending {
        fencer_part& part;
        ~ending() {
            part.are_machines_wanted_ = false;
            part.machines_read_ = part.node_.clock().now();
            part.changed_.notify();
        }
    };
    const ending guard{*this};
    const auto all = co_await session_.zk.children(session_.limit(), std::string(model::key_path::domains));
    if (!all) {
        co_return;
    }
    std::map<std::string, machines_of> found;
    for (std::size_t from = 0; from < all->names.size(); from += batch) {
        const std::size_t to = std::min(from + batch, all->names.size());
        std::vector<zookeeper::read_wish> wishes;
        for (std::size_t at = from; at < to; ++at) {
            wishes.push_back({.path = model::domain_path(all->names[at], model::domain_key::node)});
            wishes.push_back({.path = model::domain_path(all->names[at], model::domain_key::state)});
        }
        const auto got = co_await session_.zk.read_together(session_.limit(), std::move(wishes));
        for (std::size_t at = from; at < to; ++at) {
            const auto& node = got[2 * (at - from)];
            const auto& state = got[2 * (at - from) + 1];
            if (!node && node.error().code() != errc::not_found) {
                co_return;  // what could not be read is no change
            }
            if (node) {
                auto& of = found[node->data];
                of.running += state && is_in_running_state(state->data) ? 1U : 0U;
                of.hash ^= std::hash<std::string>()(all->names[at]);
            }
        }
    }
    machines_ = std::move(found);
}

}  // namespace pvc::fencing
