#include "operations/others.hpp"

#include "pvcnoded/async/task_group.hpp"
#include "pvcnoded/base/planted.hpp"
#include "pvcnoded/model/domain_payloads.hpp"

#include <algorithm>
#include <set>

namespace pvc::domains {

using namespace std::chrono_literals;

namespace {
constexpr duration peer_answer_limit = 5s;
constexpr duration ask_peers_again = 5s;
constexpr duration read_again = 1s;

async::awaitable<void> read_other(operation& op, other_node& one, std::optional<failure>& trouble) {
    auto daemon = co_await op.s.zk.get(op.s.limit(), model::node_path(one.name, model::node_key::daemon_state));
    if (!daemon && daemon.error().code() != errc::not_found) {
        trouble = daemon.error();
        co_return;
    }
    auto running = co_await op.s.zk.get(op.s.limit(), model::node_path(one.name, model::node_key::running_domains));
    if (!running && running.error().code() != errc::not_found) {
        trouble = running.error();
        co_return;
    }
    one.daemon = model::daemon_state_or_fallback(daemon ? daemon->data : std::string());
    one.lists_it = running && model::lists_domain(running->data, op.id);
}

}  // namespace

bool may_be_a_node(std::string_view name) {
    return !name.empty() && name.find('/') == std::string_view::npos && name != "." && name != "..";
}

async::awaitable<result<std::vector<other_node>>> read_others(operation& op) {
    auto names = co_await op.s.zk.children(op.s.limit(), std::string(model::key_path::nodes));
    if (!names) {
        co_return names.error();
    }
    std::vector<other_node> all;
    for (auto& name : names->names) {
        if (name != op.node.self()) {
            all.push_back({std::move(name)});
        }
    }
    std::optional<failure> trouble;
    co_await async::with_task_group("other nodes", [&](async::task_group& group) -> async::awaitable<void> {
        for (auto& one : all) {
            group.spawn(one.name, [&op, &one, &trouble] { return read_other(op, one, trouble); });
        }
        co_return;
    });
    if (trouble) {
        co_return *trouble;
    }
    co_return all;
}

async::awaitable<remote_answer> ask(operation& op, std::string node, std::optional<time_point> until) {
    using hypervisor::call_error;
    const time_point deadline = std::min(op.now() + peer_answer_limit, until.value_or(time_point::max()));
    auto status = co_await op.hv.ask(op.address_of(node), op.id, deadline);
    if (status) {
        co_return policy::answer_of(*status);
    }
    switch (status.error().code) {
        case call_error::no_domain: co_return remote_answer::absent;
        case call_error::refused: co_return remote_answer::refused;
        default: co_return remote_answer::silent;
    }
}

async::awaitable<std::map<std::string, remote_answer>> ask_all(operation& op, std::vector<std::string> nodes) {
    std::map<std::string, remote_answer> answers;
    co_await async::with_task_group("questions", [&](async::task_group& group) -> async::awaitable<void> {
        for (const auto& node : nodes) {
            group.spawn(node, [&op, &answers, node]() -> async::awaitable<void> {
                const remote_answer answer = co_await ask(op, node);
                answers[node] = answer;
            });
        }
        co_return;
    });
    co_return answers;
}

async::awaitable<release_outcome> wait_released(operation& op, release_rules rules, std::function<bool()> goes_on) {
    using model::daemon_state;
    if (is_planted(defect::placement_unchecked)) {
        co_return release_outcome{release_outcome::kind::clear, {}};
    }
    const time_point began = op.now();
    time_point next_question = began + rules.ask_after;
    std::set<std::string> does_not_have_it;  // by its hypervisor's own word, for this wait
    std::map<std::string, std::unique_ptr<zookeeper::watched>> followed;
    bool told = false;
    time_point next_look_at_stopped = began;
    std::set<std::string> still_there;  // of nodes in `stop`
    for (;;) {
        auto others = co_await read_others(op);
        if (!goes_on()) {
            co_return release_outcome{};
        }
        if (!others) {
            co_await op.wait(op.now() + read_again, "the other nodes' running lists");
            if (!goes_on()) {
                co_return release_outcome{};
            }
            continue;
        }
        std::vector<std::string> holders;
        std::vector<std::string> stopped;
        for (const auto& one : *others) {
            if (one.name == rules.receiver) {
                continue;
            }
            const bool counts = one.daemon == daemon_state::run || one.daemon == daemon_state::init ||
                                one.daemon == daemon_state::shutdown ||
                                (rules.includes_stopped && one.daemon != daemon_state::fenced);
            if (one.lists_it && counts && !does_not_have_it.contains(one.name)) {
                holders.push_back(one.name);
            } else if (one.lists_it && !counts && one.daemon == daemon_state::stop) {
                stopped.push_back(one.name);
            }
        }
        // A node whose daemon was stopped in order may still run it. Only its own word counts, as it may as well be
        // off, unless the domain was seen to run there and has not been off since.
        if (!stopped.empty() && op.now() >= next_look_at_stopped) {
            next_look_at_stopped = op.now() + ask_peers_again;
            still_there.clear();
            const auto answers = co_await ask_all(op, stopped);
            for (const auto& [node, answer] : answers) {
                const bool ran_there = op.row.came_from != nullptr && *op.row.came_from == node;
                const bool is_silent = answer == remote_answer::refused || answer == remote_answer::silent;
                if (answer != remote_answer::absent && (!is_silent || ran_there)) {
                    still_there.insert(node);
                }
            }
            if (!goes_on()) {
                co_return release_outcome{};
            }
        }
        std::ranges::copy_if(stopped, std::back_inserter(holders),
                             [&](const auto& node) { return still_there.contains(node); });
        if (holders.empty()) {
            co_return release_outcome{release_outcome::kind::clear, {}};
        }
        if (!std::exchange(told, true)) {
            op.info("waiting: node " + holders.front() + " still has it in its running list");
        }
        if (op.now() >= next_question) {
            next_question = op.now() + ask_peers_again;
            const auto answers = co_await ask_all(op, holders);
            for (const auto& [node, answer] : answers) {
                if (answer == remote_answer::absent) {
                    does_not_have_it.insert(node);
                }
            }
            if (!goes_on()) {
                co_return release_outcome{};
            }
            if (std::ranges::all_of(holders, [&](const auto& one) { return does_not_have_it.contains(one); })) {
                continue;  // look at the lists once more: somebody else may have it by now
            }
        }
        const bool is_over = rules.give_up_after && op.now() >= began + *rules.give_up_after;
        if (is_over) {
            co_return release_outcome{release_outcome::kind::still_there, holders.front()};
        }
        for (const auto& holder : holders) {
            auto& key = followed[holder];
            if (!key) {
                key = op.s.watches.add(model::node_path(holder, model::node_key::running_domains),
                                       zookeeper::watch_kind::data, op.here.changed);
            }
        }
        time_point until = next_question;
        if (!stopped.empty()) {
            until = std::min(until, next_look_at_stopped);
        }
        if (rules.give_up_after) {
            until = std::min(until, began + *rules.give_up_after);
        }
        co_await op.wait(until, "another node to let go of it");
        if (!goes_on()) {
            co_return release_outcome{};
        }
    }
}

}  // namespace pvc::domains
