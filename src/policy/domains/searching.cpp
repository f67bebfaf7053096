#include "pvcnoded/policy/domains/receiving.hpp"

#include <algorithm>

namespace pvc::policy {

using namespace std::chrono_literals;

namespace {
constexpr duration question_every = 10s;
constexpr duration complain_every = 60s;
constexpr duration fenced_settle = 60s;          // the recovery of a fenced node goes first
constexpr duration fenced_settle_listed = 600s;  // while that recovery is being retried
}  // namespace

void searching::begin(time_point now) {
    next = now + question_every;
    complain_at = now + complain_every;
}

step searching::finish(finding what) {
    where = at::over;
    found = what;
    others.clear();
    holders.clear();
    is_unclear = is_somewhere = false;
    return over();
}

step searching::ask(context& c) {
    next = c.now + question_every;
    where = at::reading;
    return {ask::others{}, time_point::max(), "the other nodes"};
}

step searching::ask_nodes(context& c) {
    const auto& read = c.answer_as<others_read>();
    if (!read.is_known) {
        return finish(finding::unclear);
    }
    others = read.nodes;
    holders.clear();
    is_unclear = is_somewhere = false;
    ask::nodes who;
    for (const auto& one : others) {
        if (one.daemon == model::daemon_state::fenced) {
            const time_point since = fenced_since.try_emplace(one.name, c.now).first->second;
            is_unclear = is_unclear || c.now - since < (one.lists_it ? fenced_settle_listed : fenced_settle);
            continue;
        }
        fenced_since.erase(one.name);
        who.names.push_back(one.name);
    }
    where = at::asking;
    return {std::move(who), time_point::max(), "the hypervisors of all other nodes"};
}

void searching::weigh_one(const context& c, const other_node& one, remote_answer answer) {
    if (answer == remote_answer::absent) {
        return;
    }
    if (!is_no_answer(answer)) {  // off counts too: a creation in progress may show so
        const bool runs = answer == remote_answer::alive;
        holders.push_back({one.name, one.daemon, runs ? holding::runs : holding::other});
        is_somewhere = true;
        return;
    }
    const bool had_it = one.name == c.seen.last_node || one.name == c.seen.stable.node;
    if (!may_be_silent({one.daemon, one.lists_it, had_it}, answer)) {
        is_unclear = true;
        silent = one.name;
        holders.push_back({one.name, one.daemon, holding::unknown});
    }
}

step searching::weigh(context& c) {
    for (const auto& one : others) {
        if (const auto answer = c.answer_as<nodes_asked>().of(one.name)) {
            weigh_one(c, one, *answer);
        }
    }
    const bool is_there = std::ranges::count(holders, holding::runs, &holding_node::what) == 1;
    if (is_there) {
        where = at::comparing;
        return {ask::stranded_keys{}, time_point::max(), "whether it is being sent"};
    }
    sender = {};
    return finish(is_somewhere ? finding::somewhere : is_unclear ? finding::unclear : finding::nowhere);
}

step searching::compare(context& c) {
    const auto& keys = c.answer_as<keys_compared>();
    sender = keys.is_known ? follow(sender, {holders, keys.is_contended, keys.changed}, c.now) : stranded_sender();
    if (!is_stranded(sender, c.now)) {
        return finish(finding::somewhere);
    }
    where = at::taking_back;
    return {ask::take_back{sender.node, sender.changed}, time_point::max(), "to leave it where it is"};
}

step searching::resume(context& c) {
    switch (where) {
        case at::reading: return ask_nodes(c);
        case at::asking: return weigh(c);
        case at::comparing: return compare(c);
        case at::taking_back:
            if (c.wrote()) {
                c.error(message::migration_stranded,
                        "node " + sender.node +
                            " runs it and has not begun to send it for 120 s: it stays there (was its daemon "
                            "restarted meanwhile?)");
                return finish(finding::taken_back);
            }
            sender = c.answer_as<write_end>() == write_end::overtaken ? stranded_sender() : sender;
            return finish(finding::somewhere);
        case at::begin:
        case at::over: break;
    }
    return over();
}

void searching::complain(context& c) {
    if (c.now < complain_at) {
        return;
    }
    complain_at = c.now + complain_every;
    if (found == finding::somewhere) {
        c.warning(message::migration_awaited, "it should come here, and has not come yet: another node still has it");
        return;
    }
    const std::string why = silent.empty() ? "the other nodes could not all be asked"
                                           : "node " + silent + " does not say whether it runs there";
    c.error(message::migration_no_sender, "it should come here, but nobody sends it: " + why);
}

}  // namespace pvc::policy
