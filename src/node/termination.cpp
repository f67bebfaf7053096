// The orderly stop (node-lifecycle.md 5.2). Steps for parts that do not exist yet are absent, not empty.
#include "pvcnoded/base/planted.hpp"
#include "pvcnoded/model/node_payloads.hpp"
#include "session_state.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace pvc::node {

using namespace std::chrono_literals;

namespace {

constexpr duration step_limit = 5s;
constexpr duration good_bye_patience = 1500ms;

// It acts for the cluster while the daemon runs, and has a turn of its own in the stop.
template <class Part>
bool acts_until(const Part& one, const stop_row& its_turn) {
    return one.name == its_turn.subject && one.part->is_of_one_schema();
}

// Sets own daemonstate, whoever wrote it last. With a version that is known the first request is the write already: a
// server that stands still carries it out when it goes on, and nobody takes this node for dead. Errors: those of a
// broken session, not_found.
async::awaitable<result<void>> write_state(core::session& s, model::daemon_state state, bool with_lease,
                                           time_point deadline, std::optional<std::int32_t> known = {}) {
    const std::string key = s.own(model::node_key::daemon_state);
    for (int attempt = 0; attempt < 5; ++attempt) {
        std::optional<std::int32_t> version = std::exchange(known, std::nullopt);
        if (!version) {
            auto stored = co_await s.zk.get(deadline, key);
            if (!stored) {
                co_return stored.error();
            }
            version = stored->stat.version;
        }
        zookeeper::transaction write;
        write.set(key, std::string(model::to_text(state)), *version);
        if (with_lease) {
            write.overwrite(s.own(model::node_key::self_reset), model::self_reset_text(std::nullopt));
        }
        auto done = co_await s.zk.commit(deadline, std::move(write));
        if (done) {
            co_return result<void>();
        }
        const errc code = done.error().code();
        if (code == errc::not_found && with_lease) {
            with_lease = false;
            continue;
        }
        if (code != errc::version_conflict && code != errc::outcome_unknown) {
            co_return done.error();
        }
    }
    co_return failure(errc::version_conflict, key, "somebody keeps writing it");
}

async::awaitable<void> write_last_values(core::session& s) {
    zookeeper::transaction write;
    if (auto health = s.table.path("node.monitoring.health", s.node.self())) {
        write.overwrite(*health, "None");
    }
    if (auto statistics = s.table.path("node.network.stats", s.node.self())) {
        write.overwrite(*statistics, "{}");
    }
    auto done = co_await s.zk.commit(s.limit(step_limit), std::move(write));
    if (!done) {
        s.node.log.warning(message::stop_figures, "the last figures were not written: " + done.error().text());
    }
}

}  // namespace

// False: nobody can be told, and nobody is waited for.
async::awaitable<bool> daemon::announce_stop(session_state& now) {
    core::session& s = now.s;
    const auto cut_off = [this](const failure& why) {
        log_.warning(message::stop_without_zookeeper, "stopping without ZooKeeper: " + why.text());
        is_cut_off_ = true;
    };
    if (!s.zk.is_connected()) {
        // One that breaks just now may be back at once; nobody waits longer for a daemon that cannot say good-bye.
        auto back = co_await s.zk.wait_connected(s.limit(good_bye_patience));
        if (!back) {
            cut_off(back.error());
            co_return false;
        }
    }
    // A server that answers nothing for so long is as good as away; a slow one is not left without a good-bye.
    const auto until = s.limit(step_limit);
    auto announced = co_await write_state(s, model::daemon_state::shutdown, false, until, now.beat.state_version());
    const bool is_silent = !announced && context_.clock().now() >= until;
    if (!announced && (is_silent || !s.zk.is_connected())) {
        cut_off(announced.error());
        co_return false;
    }
    if (!announced) {
        // Somebody deleted the record, or keeps writing the key: the role is handed over all the same.
        log_.warning(message::stop_shutdown_unwritten,
                     "the state `shutdown` was not written: " + announced.error().text() + ", going on");
    }
    co_return true;
}

async::awaitable<void> daemon::terminate(session_state& now) {
    core::session& s = now.s;
    context_.status("stopping: leaving the cluster");
    const bool is_heard = co_await announce_stop(now);
    if (!is_heard) {
        co_return;
    }
    co_await async::with_task_group("stop of the subjects", [&](async::task_group& group) -> async::awaitable<void> {
        if (!s.others.is_followed()) {
            group.spawn("peers", [&s] { return s.others.run(); });  // the stop came before that
        }
        const auto stop = [&](const stop_row& row) -> async::awaitable<void> {
            for (auto& one : now.parts) {
                if (one.name == row.subject) {
                    co_await within("stop of " + one.name, row.limit,
                                    [&one](time_point until) { return one.part->stop(until); });
                }
            }
        };
        auto next = assembly_.stops.begin();
        // A flush may take minutes: until its own turn comes, the role goes on by its rules.
        co_await async::with_task_group("before the last", [&](async::task_group& acting) -> async::awaitable<void> {
            const auto has_its_turn = [&](const stop_row& row) {
                return std::ranges::any_of(now.parts, [&](const auto& one) { return acts_until(one, row); });
            };
            const auto last = std::ranges::find_if(assembly_.stops, has_its_turn);
            for (auto& one : now.parts) {
                if (context_.started && last != assembly_.stops.end() && acts_until(one, *last)) {
                    acting.spawn(one.name, [&one] { return one.part->run(); });
                }
            }
            for (; next != last; ++next) {
                co_await stop(*next);
            }
            acting.cancel();
        });
        for (; next != assembly_.stops.end(); ++next) {
            co_await stop(*next);
        }
        group.cancel();
    });
    now.beat.hold();
    if (context_.started) {  // a node that never ran has no last figures (AC09)
        co_await now.beat.last_tick();
    }
    co_await write_last_values(s);
    if (is_planted(defect::stop_not_written)) {
        co_return;
    }
    auto stopped = co_await write_state(s, model::daemon_state::stop, true, s.limit(step_limit));
    if (!stopped) {
        log_.warning(message::stop_unwritten, "the state `stop` was not written: " + stopped.error().text());
    } else {
        log_.ok("left the cluster");
    }
    context_.registered = false;
}

}  // namespace pvc::node
