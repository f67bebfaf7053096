#include "pvcnoded/node/daemon.hpp"
#include "pvcnoded/base/planted.hpp"

#include "pvcnoded/node/coordinator.hpp"
#include "pvcnoded/node/domain_state.hpp"
#include "pvcnoded/node/domains.hpp"
#include "pvcnoded/node/keepalive.hpp"
#include "pvcnoded/node/log_shipper.hpp"
#include "pvcnoded/node/watchdog.hpp"
#include "pvcnoded/policy/keepalive_rules.hpp"
#include "pvcnoded/policy/outage.hpp"

#include <fmt/format.h>
#include <boost/asio/this_coro.hpp>

namespace pvc::node {

using namespace std::chrono_literals;

namespace {

constexpr duration start_again_after = 2s;
constexpr duration last_log_lines = 1s;
constexpr duration last_shipped_lines = 5s;
constexpr duration isolation_check = 1s;

}  // namespace

daemon::daemon(ports& outside) : port_(outside), log_(outside.clock, outside.pool), context_(outside, log_) {}

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
    for (const auto& line : lines) {
        log_.info(line, "tasks");
    }
}

void daemon::enter(policy::phase which) {
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
        group.spawn("watchdog",
                    [this] { return feed_watchdog(port_, [this] { return beat_ != nullptr && beat_->is_stuck(); }); });
        group.spawn("isolation", [this] { return watch_isolation(); });
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

// One pass from S0 to the end. Everything that was opened since S1 is closed when it returns, but for the lock file.
async::awaitable<daemon::verdict> daemon::attempt() {
    ++attempts_;
    enter(policy::phase::configuration);
    if (auto bad = load_configuration()) {
        co_return *std::move(bad);
    }
    verdict end;
    co_await async::with_task_group("attempt", [&](async::task_group& group) -> async::awaitable<void> {
        enter(policy::phase::directories);
        auto made = co_await make_directories();
        if (made) {
            made = take_lock_file();
        }
        if (!made) {
            port_.complain(made.error().text());
            end = {next_step::leave, exit_status::environment, made.error().text()};
            group.cancel();
            co_return;
        }
        enter(policy::phase::logger);
        co_await open_logs(group);
        const bool stopped = co_await unless_stopped("start-up", [this] { return start_services(); });
        if (stopped) {
            end = {};
        } else {
            if (context_.config->functions.hypervisor) {
                domains_ = std::make_unique<domains>(context_);
                group.spawn("hypervisor", [this] { return domains_->run_hypervisor(); });
            }
            end = co_await run_sessions();
        }
        if (shipper_) {
            const bool may_wait = end.next == next_step::leave && !is_cut_off_;
            co_await shipper_->flush(port_.clock.now() + (may_wait ? last_shipped_lines : duration(0)));
        }
        log_.set_observer(nullptr);
        co_await log_.flush(port_.clock.now() + last_log_lines);
        group.cancel();
    });
    domains_.reset();
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
    session s(context_, *client);
    if (context_.started) {
        s.table = *model::schema::of(context_.schema_version.value());
    }
    keepalive beat(s);
    beat.set_domains(domains_.get());
    coordinator roles(s);
    domain_state_actor orders(s, beat, domains_.get());
    beat_ = &beat;
    orders_ = &orders;
    verdict end{next_step::start_again, exit_status::orderly, "session lost"};
    std::exception_ptr error;
    try {
        co_await async::with_task_group("session", [&](async::task_group& group) -> async::awaitable<void> {
            group.spawn("zookeeper", [&]() -> async::awaitable<void> {
                co_await client->run();
                end.reason = client->state().value().reason;
                if (context_.started) {
                    end.next = next_step::new_session;
                }
                group.cancel();
            });
            group.spawn("outage", [&] { return tell_outage(*client); });
            group.spawn("watches", [&] { return s.watches.run(); });
            group.spawn("locks", [&] { return s.locks.run(); });
            const bool stopped = co_await unless_stopped(
                "work", [&]() -> async::awaitable<void> { end = co_await work(s, beat, roles, group); });
            if (stopped) {
                end = {};
            }
            if (context_.registered && end.next == next_step::leave) {
                co_await terminate(s, beat, roles);
            }
            group.cancel();
        });
    } catch (...) {
        error = std::current_exception();
    }
    beat_ = nullptr;
    orders_ = nullptr;
    if (error) {
        std::rethrow_exception(error);
    }
    if (context_.stopping.value()) {
        end = {};
    }
    co_return end;
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

// An isolated primary: nobody hears its heartbeats, and a fencer may soon hand the role over. It gives the role up by
// itself, whatever the session is doing (node-lifecycle.md 4, "Isolated primary").
async::awaitable<void> daemon::watch_isolation() {
    for (;;) {
        if (context_.role != model::router_state::primary) {
            co_await context_.became_primary.wait(async::wait_note::work("the primary role"));
        }
        co_await async::sleep_for(port_.clock, isolation_check, "the next look at the heartbeat's age");
        if (!context_.config || context_.role != model::router_state::primary ||
            is_planted(defect::isolation_unnoticed)) {
            continue;
        }
        const auto limit = policy::isolation_limit(context_.times);
        if (limit && context_.heartbeat_sent && context_.heartbeat_age() > *limit) {
            context_.role = model::router_state::secondary;
            log_.error(message::role_isolated,
                       fmt::format("no heartbeat was acknowledged for {} s: gave up the primary role",
                                   std::chrono::duration_cast<std::chrono::seconds>(*limit).count()));
        }
    }
}

}  // namespace pvc::node
