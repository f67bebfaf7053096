#include "operations/others.hpp"

#include "pvcnoded/async/task_group.hpp"
#include "pvcnoded/model/domain_payloads.hpp"

#include <algorithm>

namespace pvc::domains {

using namespace std::chrono_literals;

namespace {
constexpr duration peer_answer_limit = 5s;

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

async::awaitable<remote_answer> ask_node(operation& op, std::string node, std::optional<time_point> until) {
    using hypervisor::call_error;
    const time_point deadline = std::min(op.now() + peer_answer_limit, until.value_or(time_point::max()));
    auto status = co_await op.hv.ask(op.address_of(node), op.id, deadline);
    if (status) {
        co_return policy::answer_of(*status);
    }
    switch (status.error().code) {
        case call_error::no_domain: co_return remote_answer::absent;
        case call_error::refused: co_return remote_answer::refused;
        case call_error::hanging: co_return remote_answer::hanging;
        default: co_return remote_answer::silent;
    }
}

async::awaitable<std::map<std::string, remote_answer>> ask_all(operation& op, std::vector<std::string> nodes) {
    std::map<std::string, remote_answer> answers;
    co_await async::with_task_group("questions", [&](async::task_group& group) -> async::awaitable<void> {
        for (const auto& node : nodes) {
            group.spawn(node, [&op, &answers, node]() -> async::awaitable<void> {
                const remote_answer answer = co_await ask_node(op, node);
                answers[node] = answer;
            });
        }
        co_return;
    });
    co_return answers;
}

}  // namespace pvc::domains
