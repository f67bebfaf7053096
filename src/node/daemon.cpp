#include "pvcnoded/node/daemon.hpp"

#include "pvcnoded/core/log_shipper.hpp"
#include "pvcnoded/node/watchdog.hpp"
#include "pvcnoded/policy/membership/outage.hpp"
#include "session_state.hpp"

#include <fmt/format.h>
#include <boost/asio/this_coro.hpp>

namespace pvc::node {

using namespace std::chrono_literals;

namespace {

constexpr duration start_again_after = 2s;
constexpr duration last_log_lines = 1s;
constexpr duration last_acts = 5s;  // of a subject at the end of an attempt
// What one may take beyond its deadline. All limits of a stop, and this for each, stay below the unit's TimeoutStopSec.
constexpr duration late_stop = 11s;
constexpr duration last_shipped_lines = 5s;

}  // namespace

daemon::daemon(core::platform& outside, process around, assembly of)
    : port_(outside),
      process_(std::move(around)),
      assembly_(std::move(of)),
      log_(outside.clock, outside.pool),
      context_(outside, log_),
      begun_(outside.clock.now()),
      phase_since_(begun_) {
    for (const auto& row : assembly_.phases) {
        PVC_ASSERT(policy::is_for_subjects(row.in));
    }
}

daemon::~daemon() = default;

void daemon::request_stop(const std::string& why) {
    if (context_.stopping.value()) {
        return;
    }
    port_.notifier.send("STOPPING=1\nSTATUS=stopping: " + why);
    log_.state("stopping: " + why);
    context_.stopping.set(true);
}

void daemon::reopen_logs() {
    if (log_.reopen_files()) {
        log_.info("reopening the log file");
    }
}

void daemon::log_tasks() {
    if (!root_) {
        return;
    }
    std::vector<std::string> lines;
    root_->owner().root()->describe(lines);
    for (const auto* one : core::all_that_are<core::reporter>(subjects_)) {
        one->report(lines);
    }
    for (const auto& line : lines) {
        log_.info(line, "tasks");
    }
}

daemon_view daemon::view() const {
    const time_point now = port_.clock.now();
    daemon_view seen;
    seen.uptime = now - begun_;
    seen.phase = phase_;
    seen.phase_age = now - phase_since_;
    seen.attempts = attempts_;
    if (session_ != nullptr) {
        seen.session = session_->s.zk.state().value();
        seen.session_age = now - session_->begun;
        seen.watches = session_->s.watches.size();
        seen.watch_bytes = session_->s.zk.watch_bytes();
    }
    if (outage_) {
        seen.outage_age = now - outage_->since;
    }
    return seen;
}

bool daemon::view_tasks(std::vector<async::task_view>& all, std::size_t most) const {
    return !root_ || root_->owner().root()->view(all, most);
}

std::shared_ptr<async::task> daemon::find_task(std::uint64_t id) const {
    return root_ ? root_->owner().root()->find(id) : nullptr;
}

void daemon::enter(policy::phase which) {
    phase_ = which;
    phase_since_ = port_.clock.now();
    const auto& info = policy::info_of(which);
    port_.notifier.send(fmt::format("STATUS=S{}: {}", info.number, info.name));
    log_.debug(fmt::format("phase S{}: {}", info.number, info.name));
}

async::awaitable<bool> daemon::unless_stopped(std::string name, std::function<async::awaitable<void>()> body) {
    bool stopped = false;
    co_await async::with_task_group(std::move(name), [&](async::task_group& group) -> async::awaitable<void> {
        group.spawn("stop request", [&]() -> async::awaitable<void> {
            async::wakeup changed;
            const async::latest<bool>::observer watch(context_.stopping, changed);
            while (!context_.stopping.value()) {
                co_await changed.wait(async::wait_note::work("a stop request"));
            }
            stopped = true;
            group.cancel();
        });
        co_await body();
        group.cancel();
    });
    co_return stopped;
}

async::awaitable<int> daemon::run() {
    auto executor = co_await async::asio::this_coro::executor;
    root_ = executor.target<async::task_executor>()->owner();
    int status = exit_status::orderly;
    co_await async::with_task_group("daemon", [&](async::task_group& group) -> async::awaitable<void> {
        group.spawn("watchdog", [this] {
            return feed_watchdog(port_, process_.loop_turns, [this] { return beat_ != nullptr && beat_->is_stuck(); });
        });
        for (;;) {
            const verdict end = co_await attempt();
            status = end.status;
            if (end.next == next_step::leave || context_.stopping.value()) {
                break;
            }
            port_.notifier.send("STATUS=starting again: " + end.reason);
            co_await unless_stopped("pause before the next attempt", [this] {
                return async::sleep_for(port_.clock, start_again_after, "the next start-up attempt");
            });
        }
        group.cancel();
    });
    co_return status;
}

std::vector<core::subject*> daemon::who_takes_part(policy::phase which) const {
    std::vector<core::subject*> all;
    for (const auto& row : assembly_.phases) {
        for (const auto& one : subjects_) {
            if (row.in == which && one->name() == row.subject) {
                all.push_back(one.get());
            }
        }
    }
    return all;
}

std::optional<daemon::verdict> daemon::answer_to(policy::phase which, const failure& why) const {
    const auto& info = policy::info_of(which);
    verdict end;
    end.reason = fmt::format("S{} {}: {}", info.number, info.name, why.text());
    switch (policy::answer_to_failure(which, why.code())) {
        case policy::startup_answer::go_on: return std::nullopt;
        case policy::startup_answer::start_again: end.next = next_step::start_again; break;
        case policy::startup_answer::leave: end.status = exit_status::environment; break;
        case policy::startup_answer::leave_unconfigured: end.status = exit_status::configuration; break;
    }
    return end;
}

async::awaitable<std::optional<daemon::verdict>> daemon::pass(policy::phase which, own_step own,
                                                              core::session* in_session) {
    const auto subjects = who_takes_part(which);
    if (!own && subjects.empty()) {
        co_return std::nullopt;
    }
    enter(which);
    if (own) {
        const auto done = co_await own();
        if (auto end = done ? std::nullopt : answer_to(which, done.error())) {
            co_return end;
        }
    }
    for (auto* one : subjects) {
        auto* prepared = dynamic_cast<core::prepared_subject*>(one);
        PVC_ASSERT(prepared != nullptr);  // the table names who has nothing to prepare
        const auto done = co_await prepared->prepare({which, *scope_, in_session});
        if (auto end = done ? std::nullopt : answer_to(which, done.error())) {
            co_return end;
        }
    }
    co_return std::nullopt;
}

// In the reverse order of their making, each with a limit.
async::awaitable<void> daemon::end_subjects() {
    for (auto one = subjects_.rbegin(); one != subjects_.rend(); ++one) {
        if (auto* prepared = dynamic_cast<core::prepared_subject*>(one->get())) {
            co_await within("end of " + std::string((*one)->name()), last_acts,
                            [prepared](time_point until) { return prepared->end(until); });
        }
    }
}

// Runs it with a deadline, and cancels it some time after that.
async::awaitable<void> daemon::within(std::string name, duration limit,
                                      std::function<async::awaitable<void>(time_point)> what) {
    const time_point until = port_.clock.now() + limit;
    const std::string subject = name;
    co_await async::with_task_group(std::move(name), [&](async::task_group& group) -> async::awaitable<void> {
        group.cancel_at(until + late_stop);
        co_await what(until);
    });
    if (port_.clock.now() >= until + late_stop) {
        log_.warning(message::stop_subject_late,
                     fmt::format("{} was not over after {} s, going on without it", subject,
                                 std::chrono::duration_cast<std::chrono::seconds>(limit + late_stop).count()));
    }
}

// One pass from S0 to the end. Everything that was opened since S1 is closed when it returns, but for the lock file.
async::awaitable<daemon::verdict> daemon::attempt() {
    ++attempts_;
    enter(policy::phase::configuration);
    if (auto bad = load_configuration()) {
        co_return *std::move(bad);
    }
    verdict end;
    co_await async::with_task_group("attempt", [&](async::task_group& group) -> async::awaitable<void> {
        scope_ = &group;
        auto refused = co_await pass(
            policy::phase::directories,
            [this]() -> async::awaitable<result<void>> {
                auto made = co_await make_directories();
                made = made ? take_lock_file() : made;
                if (!made) {
                    process_.complain(made.error().text());
                }
                co_return made;
            },
            nullptr);
        if (refused) {
            end = *std::move(refused);
            group.cancel();
            co_return;
        }
        enter(policy::phase::logger);
        co_await open_logs(group);
        subjects_ = assembly_.make(context_);
        can_be_asked_.set(true);
        const bool stopped = co_await unless_stopped(
            "start-up", [&]() -> async::awaitable<void> { refused = co_await before_zookeeper(); });
        if (stopped) {
            end = {};
        } else {
            end = refused ? *std::move(refused) : co_await run_sessions();
        }
        co_await end_subjects();
        if (shipper_) {
            const bool may_wait = end.next == next_step::leave && !is_cut_off_;
            co_await shipper_->flush(port_.clock.now() + (may_wait ? last_shipped_lines : duration(0)));
        }
        log_.set_observer(nullptr);
        co_await log_.flush(port_.clock.now() + last_log_lines);
        group.cancel();
    });
    scope_ = nullptr;
    subjects_.clear();
    shipper_.reset();
    co_return end;
}

async::awaitable<daemon::verdict> daemon::run_sessions() {
    for (;;) {
        verdict end = co_await run_session();
        if (end.next != next_step::new_session) {
            context_.registered = context_.started = false;
            co_return end;
        }
        ++context_.sessions_lost;
        log_.error(message::session_lost, "ZooKeeper session lost (" + end.reason + "), building a new one");
        context_.status("ZooKeeper session lost: " + end.reason);
    }
}

async::awaitable<daemon::verdict> daemon::run_session() {
    zookeeper::connection_options options;
    for (const auto& server : context_.config->zookeeper_servers) {
        options.servers.push_back({server.host, server.port});
    }
    options.chroot = context_.config->zookeeper_chroot;
    auto client = port_.zookeeper.open(options);
    client->set_figures(&context_.requests);
    session_state now(context_, *client, subjects_);
    struct leaving {
        membership::keepalive*& beat;
        const session_state*& session;
        ~leaving() {
            beat = nullptr;
            session = nullptr;
        }
    };
    beat_ = &now.beat;
    session_ = &now;
    const leaving guard{beat_, session_};
    verdict end{next_step::start_again, exit_status::orderly, "session lost"};
    co_await async::with_task_group("session",
                                    [&](async::task_group& scope) { return run_session_scope(now, scope, end); });
    if (context_.stopping.value()) {
        end = {};
    }
    co_return end;
}

async::awaitable<void> daemon::run_session_scope(session_state& now, async::task_group& scope, verdict& end) {
    core::session& s = now.s;
    now.scope = &scope;
    scope.spawn("zookeeper", [&]() -> async::awaitable<void> {
        co_await s.zk.run();
        end.reason = s.zk.state().value().reason;
        if (context_.started) {
            end.next = next_step::new_session;
        }
        scope.cancel();
    });
    scope.spawn("outage", [&] { return tell_outage(s.zk); });
    scope.spawn("watches", [&] { return s.watches.run(); });
    scope.spawn("locks", [&] { return s.locks.run(); });
    const bool stopped = co_await unless_stopped("work", [&]() -> async::awaitable<void> { end = co_await work(now); });
    if (stopped) {
        end = {};
    }
    if (context_.registered && end.next == next_step::leave) {
        co_await terminate(now);
    }
    scope.cancel();
}

// Between two sessions the outage goes on. Before the first start is complete, each attempt says why it failed.
async::awaitable<void> daemon::tell_outage(zookeeper::client& client) {
    async::wakeup changed;
    const async::latest<zookeeper::session_state>::observer watch(client.state(), changed);
    for (;;) {
        const zookeeper::session_state& now = client.state().value();
        if (now.now == zookeeper::link::connected || !context_.started) {
            const bool is_worth_a_line = outage_ && outage_->told > duration::zero();
            if (is_worth_a_line && now.now == zookeeper::link::connected) {
                log_.ok(policy::outage_end_text(port_.clock.now() - outage_->since, context_.times.keepalive));
            }
            outage_.reset();
            co_await changed.wait(async::wait_note::work("a change of the connection to ZooKeeper"));
            continue;
        }
        if (!outage_) {
            outage_.emplace(outage_seen{port_.clock.now(), {}});
        }
        const time_point due = outage_->since + policy::next_outage_line(outage_->told);
        if (port_.clock.now() < due) {
            co_await changed.wait_until(port_.clock, due, "the end of an outage");
            continue;
        }
        outage_->told = port_.clock.now() - outage_->since;
        policy::outage seen{outage_->told, now.reason, {}};
        if (context_.heartbeat_sent) {
            seen.until_fenced = context_.times.dead_after() - context_.heartbeat_age();
        }
        log_.warning(message::zookeeper_away, policy::outage_text(seen));
        context_.status(policy::outage_text(seen));
    }
}

}  // namespace pvc::node
