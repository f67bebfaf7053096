// After a live call that failed: who has the guest? Exactly one copy stays, and none is destroyed or resumed without
// proof. Specification: vm-domains.md 8.7.
#include "domain/migration.hpp"
#include "domain/others.hpp"
#include "domain/power.hpp"
#include "domain/rbd.hpp"

#include "pvcnoded/base/planted.hpp"
#include "pvcnoded/model/domain_payloads.hpp"

#include <algorithm>

// Scopes, locks and deadlines keep the callable they are given until its coroutine has ended.
// NOLINTBEGIN(cppcoreguidelines-avoid-capturing-lambda-coroutines)

namespace pvc::node {

using namespace std::chrono_literals;
using model::guest_class;
using model::vm_state;

namespace {

constexpr duration look_again = 2s;
constexpr duration halted_patience = 10s;
constexpr duration ask_again = 5s;
constexpr duration unknown_patience = 10s;
constexpr duration own_patience = 60s;
constexpr duration resume_limit = 30s;
constexpr duration guard = 2s;

async::awaitable<remote_answer> ask_target(operation& op, const std::string& target) {
    if (is_planted(defect::target_not_asked)) {
        co_return remote_answer::absent;
    }
    auto daemon = co_await op.s.zk.get(op.s.limit(), model::node_path(target, "/daemonstate"));
    if (daemon && model::daemon_state_or_fallback(daemon->data) == model::daemon_state::fenced) {
        co_return remote_answer::absent;
    }
    const remote_answer answer = co_await ask(op, target);
    // A hypervisor that is not there says nothing about guests that outlive it.
    co_return answer == remote_answer::refused ? remote_answer::silent : answer;
}

// The guarded read before a copy is resumed: still this migration, or ours again.
async::awaitable<std::optional<boot_time>> may_resume(operation& op, const std::string& target) {
    auto read = co_await op.table.read(op.row);
    if (!read || !op.s.zk.is_connected()) {
        co_return std::nullopt;
    }
    const bool is_this_migration =
        policy::is_migration(op.row.state) && op.row.node != nullptr && *op.row.node == target;
    const bool is_ours = op.row.is_owner && op.row.state == vm_state::start;
    co_return is_this_migration || is_ours ? std::optional(*read) : std::nullopt;
}

// The local half stands, the target does not have it. It may have run there and ended: then this memory is stale.
async::awaitable<std::optional<resolution>> resume_local(operation& op, const std::string& target) {
    auto volumes = co_await stored_volumes(op);
    if (!volumes) {
        co_return std::nullopt;
    }
    const bool is_clean = volumes->empty() || co_await locks_are_ours(op, *volumes);
    if (!is_clean) {
        op.error("a disk of it is locked by another host: what is left of it here is stale, destroying it");
        const auto gone = co_await destroy(op);
        co_return gone == power_result::off ? std::optional(resolution::ended) : std::nullopt;
    }
    const auto proof = co_await may_resume(op, target);
    if (!proof) {
        co_return std::nullopt;  // looked at again, with the view as it is now
    }
    auto resumed = co_await op.machine.resume(op.id, *proof + guard, op.now() + resume_limit);
    if (!resumed) {
        op.warning("resuming it after a broken migration: " + resumed.error().text);
    }
    const auto local = co_await op.ask_class();
    co_return resumed&& local == guest_class::alive ? std::optional(resolution::clean_failure) : std::nullopt;
}

bool is_still_wanted(const operation& op, const std::string& target) {
    const bool is_this = policy::is_migration(op.row.state) && op.row.node != nullptr && *op.row.node == target;
    const bool is_done = op.row.state == vm_state::start && op.row.node != nullptr && *op.row.node == target;
    const bool is_ours = op.row.is_owner && op.row.state == vm_state::start;
    return op.row.is_present && (is_this || is_done || is_ours);
}

async::awaitable<resolution> destroyed_local(operation& op, std::string why) {
    op.info(std::move(why));
    const auto gone = co_await destroy(op);
    co_return gone == power_result::off ? resolution::moved : resolution::let_go;
}

}  // namespace

async::awaitable<result<std::vector<std::string>>> stored_volumes(operation& op) {
    PVC_CO_TRY(auto xml, co_await op.s.zk.get(op.s.limit(), op.key("/xml")));
    auto rbdlist = co_await op.s.zk.get(op.s.limit(), op.key("/rbdlist"));
    if (!rbdlist && rbdlist.error().code() != errc::not_found) {
        co_return rbdlist.error();
    }
    auto parsed = model::parse_domain_xml(xml.data);
    co_return model::rbd_volumes(rbdlist ? rbdlist->data : std::string(), parsed ? *parsed : model::domain_xml{});
}

async::awaitable<resolution> resolve(operation& op, std::string target) {
    const time_point began = op.now();
    bool told = false;
    for (;;) {
        auto fresh = co_await op.table.read(op.row);
        const operation::view seen = op.present();
        const auto local = co_await op.ask_class();
        if (op.must_end() && op.now() - began > unknown_patience) {
            co_return resolution::let_go;
        }
        if (!fresh && fresh.error().code() != errc::not_found) {
            co_await op.wait_news(seen, look_again, "ZooKeeper, to resolve a migration");
            continue;
        }
        if (!local) {
            co_await op.wait_news(seen, look_again, "libvirt, to resolve a migration");
            continue;
        }
        if (!is_still_wanted(op, target)) {
            if (*local == guest_class::incoming) {
                op.warning("it was recovered elsewhere meanwhile: destroying what is left of it here");
                co_await destroy(op);
            }
            co_return resolution::overtaken;
        }
        const remote_answer remote = co_await ask_target(op, target);
        const bool has_it =
            remote == remote_answer::alive || remote == remote_answer::halted || remote == remote_answer::incoming;
        const auto again = co_await op.ask_class();
        if (again != local) {
            continue;  // it moved while the target was asked
        }
        duration pause = look_again;
        switch (*local) {
            case guest_class::alive:
            case guest_class::paused:
                if (remote == remote_answer::alive ||
                    (*local == guest_class::paused && remote == remote_answer::halted)) {
                    co_return co_await destroyed_local(
                        op, "it runs on node " + shown(target) + ": destroying the copy here");
                }
                if (remote == remote_answer::absent) {
                    co_return resolution::clean_failure;
                }
                if (remote == remote_answer::silent) {
                    co_return resolution::unanswered;
                }
                if (op.now() - began >= halted_patience) {
                    op.error("a copy that does not run is left on node " + shown(target) + "; this one goes on");
                    co_return resolution::kept_without_proof;
                }
                break;
            case guest_class::absent:
                if (has_it) {
                    co_return resolution::moved;
                }
                if (remote == remote_answer::absent) {
                    co_return resolution::ended;
                }
                if (op.now() - began >= unknown_patience) {
                    co_return resolution::let_go;
                }
                break;
            case guest_class::incoming:
                if (remote == remote_answer::alive || remote == remote_answer::halted) {
                    co_return co_await destroyed_local(
                        op, "it runs on node " + shown(target) + ": removing what is left here");
                }
                if (remote == remote_answer::absent && op.row.state == vm_state::start && !op.row.is_owner) {
                    co_return co_await destroyed_local(op, "it had arrived on node " + shown(target) +
                                                               " and ended there: what is left of it here is stale");
                }
                if (remote == remote_answer::absent) {
                    const auto end = co_await resume_local(op, target);
                    if (end) {
                        co_return *end;
                    }
                } else if (remote == remote_answer::silent) {
                    pause = ask_again;
                    if (!std::exchange(told, true)) {
                        op.error("it stands between here and node " + shown(target) +
                                 ", which does not answer: nothing is " + "done until it does");
                    }
                    if (op.must_end()) {
                        co_return resolution::let_go;
                    }
                }
                break;
            case guest_class::ending: break;
        }
        co_await op.wait_news(seen, pause, "another look at both sides of a migration");
    }
}

async::awaitable<void> await_receiver(operation& op, std::string target, operation::view handed) {
    constexpr duration receiver_patience = 10s;
    constexpr duration last_patience = 3s;  // of a daemon that stops: the receiver may be reading just now
    const time_point begun = op.now();
    const auto until = [&] { return begun + (op.must_end() ? last_patience : receiver_patience); };
    const auto stands = [&op, &handed, &target] {
        return op.row.is_present && op.row.node != nullptr && *op.row.node == target && op.present() == handed &&
               (policy::is_migration(op.row.state) || op.row.state == vm_state::stop);
    };
    while (stands() && op.now() < until()) {
        co_await op.wait(until(), "the receiver to take over");
    }
    if (!stands()) {
        co_return;
    }
    op.warning("its new node did not take over within " +
               std::to_string(std::chrono::duration_cast<std::chrono::seconds>(until() - begun).count()) +
               " s, doing it in its place");
    co_await write_taken_over(op);
}

// A node that is not there is no place to start it: better back than off.
async::awaitable<bool> target_runs(operation& op, std::string target) {
    auto daemon = co_await op.s.zk.get(op.s.limit(), model::node_path(target, "/daemonstate"));
    co_return daemon&& model::parse_daemon_state(daemon->data) == model::daemon_state::run;
}

// A reference receiver that is still busy with the hand-over drops its own `start`, and nothing would start the
// machine: the same state once more makes it look again (vm-domains.md 0, fact 1; hazard H02).
async::awaitable<void> see_it_start(operation& op, std::string target) {
    constexpr duration start_patience = 10s;
    auto list =
        op.s.watches.add(model::node_path(target, "/runningdomains"), zookeeper::watch_kind::data, op.here.changed);
    const time_point until = op.now() + start_patience;
    const auto is_pending = [&] {
        const bool is_there = list->known() && list->present() && model::lists_domain(list->data(), op.id);
        return !op.must_end() && op.row.is_present && op.row.state == vm_state::start && !op.row.is_owner &&
               op.row.node != nullptr && *op.row.node == target && !is_there;
    };
    auto fresh = co_await op.table.read(op.row);
    while (fresh && is_pending() && op.now() < until) {
        co_await op.wait(until, "its new node to start it");
    }
    if (!fresh || !is_pending()) {
        co_return;
    }
    const bool is_running = co_await target_runs(op, target);
    if (!is_running) {
        co_return;
    }
    op.info("node " + shown(target) + " has not started it yet, asking once more");
    co_await op.write_state(vm_state::start);
}

async::awaitable<void> hand_over(operation& op) {
    std::string target;
    // A receiver of the reference starts what it is handed without a look at who else has it.
    const operation::view began_with = op.present();
    release_rules rules;
    rules.ask_after = 15s;
    rules.receiver = op.row.node != nullptr ? *op.row.node : std::string();
    const auto elsewhere = co_await wait_released(
        op, rules, [&] { return !op.must_end() && op.row.is_present && op.present() == began_with; });
    if (elsewhere.what != release_outcome::kind::clear) {
        co_return;  // changed: the tables look again
    }
    auto done = co_await with_migration_locks(op, op.now() + 30s, [&op, &target]() -> async::awaitable<void> {
        auto fresh = co_await op.table.read(op.row);
        if (!fresh || op.row.is_owner || !policy::is_migration(op.row.state) || op.row.node == nullptr) {
            co_return;
        }
        // A libvirt that has fallen silent has not told of what came since: its own word, now.
        const auto here = co_await op.ask_class();
        if (here != guest_class::absent) {
            op.pause(1s);
            co_return;
        }
        write_journal(op, "sender", *op.row.node, "offline");
        const write_result written = co_await write_hand_over(op);
        if (written == write_result::written) {
            op.state("it ended on its way: handed over to be started there");
            target = *op.row.node;
            co_await await_receiver(op, target, op.present());
        }
    });
    if (!done && done.error().code() != errc::not_found) {
        op.warning("handing it over: " + done.error().text());
        op.pause(1s);
    }
    remove_journal(op);
    if (!target.empty()) {
        co_await see_it_start(op, target);
    }
}

async::awaitable<void> resolve_sent(operation& op) {
    if (op.row.node == nullptr) {
        co_return;
    }
    const std::string target = *op.row.node;
    op.warning("a migration to node " + shown(target) + " broke, looking who has it");
    const resolution end = co_await resolve(op, target);
    switch (end) {
        case resolution::moved:
            op.here.is_adopted = false;
            co_await op.set_listed(false);
            co_await end_console(op);
            if (policy::is_migration(op.row.state)) {
                co_await await_receiver(op, target, op.present());
            }
            break;
        case resolution::ended:
            co_await op.set_listed(false);
            co_await end_console(op);
            co_await hand_over(op);
            break;
        default: break;  // the tables see what is there now
    }
    if (end != resolution::let_go) {
        remove_journal(op);
    }
}

async::awaitable<void> resolve_own(operation& op) {
    const time_point until = op.here.class_since + own_patience;
    const auto stands = [&op] {
        return !op.must_end() && op.row.is_present && op.row.is_owner && op.row.state == vm_state::start &&
               op.is_guest(guest_class::incoming);
    };
    while (stands() && op.now() < until) {
        co_await op.wait(until, "the end of a migration that began before");
    }
    bool told = false;
    while (stands()) {
        auto others = co_await read_others(op);
        std::vector<std::string> names;
        if (others) {
            for (const auto& one : *others) {
                if (one.daemon != model::daemon_state::fenced) {
                    names.push_back(one.name);
                }
            }
            const auto answers = co_await ask_all(op, names);
            const auto is = [&](remote_answer wanted) {
                return std::ranges::any_of(answers, [&](const auto& one) { return one.second == wanted; });
            };
            bool is_silent = is(remote_answer::silent);
            for (const auto& one : *others) {
                const auto found = answers.find(one.name);
                is_silent =
                    is_silent || (found != answers.end() && found->second == remote_answer::refused && one.lists_it);
            }
            if (!stands()) {
                co_return;
            }
            if (is(remote_answer::alive)) {
                op.error("it stands here between two nodes and runs on another: destroying what is left here");
                co_await destroy(op);
                co_return;
            }
            if (!is_silent && !is(remote_answer::halted) && !is(remote_answer::incoming)) {
                const auto end = co_await resume_local(op, op.node.self());
                if (end) {
                    co_return;
                }
            } else if (!std::exchange(told, true)) {
                op.error("it stands here between two nodes, and not every other node says that it does not have it");
            }
        }
        co_await op.wait_news(op.present(), ask_again, "another question to all other nodes");
    }
}

}  // namespace pvc::node

// NOLINTEND(cppcoreguidelines-avoid-capturing-lambda-coroutines)
