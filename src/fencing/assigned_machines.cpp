#include "assigned_machines.hpp"

#include "pvcnoded/model/domain_payloads.hpp"
#include "pvcnoded/policy/domains/domain_table.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace pvc::fencing {

using namespace std::chrono_literals;

namespace {

using answered = result<zookeeper::read_reply>;

// So many are asked for before a heartbeat may have its turn, and so many definitions are in memory at once.
constexpr std::size_t keys_at_once = 256;
constexpr std::size_t statistics_at_once = 16;
constexpr duration definition_validity = 10min;
// A machine that was started, or sent here, so long ago has touched what it uses: the rest is its node's to promise
// again.
constexpr duration touching = 10min;

std::optional<model::vm_state> to_be_recovered(const answered& state) {
    const auto is = state ? std::optional(model::vm_state_or_fallback(state->data)) : std::nullopt;
    return is && (policy::is_to_run(*is) || policy::is_migration(*is)) ? is : std::nullopt;
}

// In the order of `ids`.
async::awaitable<result<std::vector<answered>>> read_of_each(core::session& s, std::vector<uuid> ids, std::string key,
                                                             time_point until) {
    std::vector<answered> out;
    for (std::size_t first = 0; first < ids.size(); first += keys_at_once) {
        std::vector<zookeeper::read_wish> wishes;
        for (const auto& id : std::span(ids).subspan(first, std::min(keys_at_once, ids.size() - first))) {
            wishes.push_back({.path = model::domain_path(to_text(id), key)});
        }
        auto answers = co_await s.zk.read_together(until, std::move(wishes));
        if (const auto trouble = unread_of(answers)) {
            co_return *trouble;
        }
        out.insert(out.end(), std::make_move_iterator(answers.begin()), std::make_move_iterator(answers.end()));
    }
    co_return out;
}

}  // namespace

std::optional<failure> unread_of(const std::vector<answered>& answers) {
    const auto found =
        std::ranges::find_if(answers, [](const auto& one) { return !one && one.error().code() != errc::not_found; });
    return found == answers.end() ? std::nullopt : std::optional(found->error());
}

async::awaitable<result<std::vector<owned_machine>>> running_machines(core::session& s, std::set<std::string> nodes,
                                                                      std::set<uuid> but, time_point until) {
    PVC_CO_TRY(const auto all, co_await s.zk.children(until, std::string(model::key_path::domains)));
    std::vector<uuid> ids;
    for (const auto& one : all.names) {
        if (const auto id = parse_uuid(one); id && !but.contains(*id)) {
            ids.push_back(*id);
        }
    }
    PVC_CO_TRY(const auto owners, co_await read_of_each(s, ids, model::domain_key::node, until));
    std::vector<owned_machine> found;
    std::vector<uuid> owned;
    for (std::size_t i = 0; i < ids.size(); ++i) {
        if (owners[i] && nodes.contains(owners[i]->data)) {
            found.push_back({ids[i], owners[i]->data});
            owned.push_back(ids[i]);
        }
    }
    PVC_CO_TRY(const auto states, co_await read_of_each(s, owned, model::domain_key::state, until));
    std::vector<owned_machine> out;
    for (std::size_t i = 0; i < found.size(); ++i) {
        if (const auto is = to_be_recovered(states[i])) {
            found[i].state_id = states[i]->stat.mzxid;
            found[i].state_at = states[i]->stat.mtime;
            found[i].is_migrating = policy::is_migration(*is);
            out.push_back(std::move(found[i]));
        }
    }
    co_return out;
}

bool assigned_machines::is_known(const uuid& id) const {
    const auto found = definitions_.find(id);
    return found != definitions_.end() && session_.node.clock().now() - found->second.read_at < definition_validity;
}

async::awaitable<result<std::vector<policy::assigned_machine>>> assigned_machines::read(std::set<std::string> nodes,
                                                                                        std::set<uuid> but,
                                                                                        std::chrono::milliseconds now,
                                                                                        time_point until) {
    PVC_CO_TRY(auto machines, co_await running_machines(session_, std::move(nodes), std::move(but), until));
    std::erase_if(machines,
                  [now](const owned_machine& one) { return now - one.state_at > touching && !one.is_migrating; });
    std::erase_if(definitions_, [this](const auto& one) { return !is_known(one.first); });
    std::vector<policy::assigned_machine> out;
    for (std::size_t first = 0; first < machines.size(); first += statistics_at_once) {
        const auto count = std::min(statistics_at_once, machines.size() - first);
        const auto part = std::span(machines).subspan(first, count);
        PVC_CO_TRY(auto some, co_await read_part({part.begin(), part.end()}, until));
        out.insert(out.end(), std::make_move_iterator(some.begin()), std::make_move_iterator(some.end()));
    }
    co_return out;
}

async::awaitable<result<std::vector<policy::assigned_machine>>> assigned_machines::read_part(
    std::vector<owned_machine> part, time_point until) {
    std::vector<zookeeper::read_wish> wishes;
    std::vector<uuid> unknown;
    for (const auto& one : part) {
        wishes.push_back({.path = model::domain_path(to_text(one.id), model::domain_key::stats)});
    }
    for (const auto& one : part) {
        if (!is_known(one.id)) {
            wishes.push_back({.path = model::domain_path(to_text(one.id), model::domain_key::xml)});
            unknown.push_back(one.id);
        }
    }
    const auto answers = co_await session_.zk.read_together(until, std::move(wishes));
    if (const auto trouble = unread_of(answers)) {
        co_return *trouble;
    }
    for (std::size_t i = 0; i < unknown.size(); ++i) {
        auto& known = definitions_[unknown[i]];
        known = {.read_at = session_.node.clock().now()};
        const auto& xml = answers[part.size() + i];
        if (const auto parsed = model::parse_domain_xml(xml ? xml->data : std::string())) {
            known.memory = parsed->memory_mib;
            known.is_set_aside = xml->data.find("<hugepages") != std::string::npos;
        }
    }
    std::vector<policy::assigned_machine> out;
    for (std::size_t i = 0; i < part.size(); ++i) {
        const auto& known = definitions_[part[i].id];
        const auto& stats = answers[i];
        // Older than its state: of the node that it was on before. A machine that migrates is on the other one.
        const bool is_there = stats && stats->stat.mzxid > part[i].state_id && !part[i].is_migrating;
        const auto touched = is_there ? policy::memory_touched(stats->data) : std::nullopt;
        const bool is_all_off = is_there && known.is_set_aside;
        out.push_back({part[i].id, part[i].node, known.memory, is_all_off ? known.memory : touched.value_or(0)});
    }
    co_return out;
}

}  // namespace pvc::fencing
