#include "sim/foreign/foreign_daemon.hpp"

#include "pvcnoded/model/node_payloads.hpp"
#include "sim/foreign/foreign_hand_over.hpp"
#include "sim/foreign/foreign_lock.hpp"
#include "sim/network/sim_kernel.hpp"

// Scopes keep the callable they are given until its coroutine has ended.

namespace pvc::sim {

using namespace std::chrono_literals;
using model::daemon_state;
using model::domain_state;
using model::router_state;

namespace {

constexpr duration connect_limit = 15s;
constexpr duration restart_delay = 2s;
constexpr duration poll_interval = 500ms;
constexpr duration network_poll = 200ms;
constexpr int role_polls = 240;

std::string_view text_of(const foreign_session::stored& value) {
    return value ? std::string_view(value->data) : std::string_view();
}

}  // namespace

foreign_daemon::foreign_daemon(const foreign_settings& settings, async::timers& clock, zookeeper::connector& connector,
                               random_source random)
    : session_(connector, clock, settings.timings.new_session),
      random_(random),
      state_{.settings = settings, .clock = clock, .session = session_, .random = random_, .running_domains = {}},
      keepalive_(state_),
      health_(state_) {}

void foreign_daemon::request_stop() {
    stop_.notify();
}

void foreign_daemon::run_apart(std::string name, std::function<async::awaitable<void>()> body) {
    tasks_->spawn(std::move(name), std::move(body));
}

async::awaitable<void> foreign_daemon::run() {
    co_await async::with_task_group("daemon", [this](async::task_group& group) -> async::awaitable<void> {
        tasks_ = &group;
        co_await start_up();
        co_await stop_.wait(async::wait_note::work("a terminating signal"));
        co_await terminate();
        group.cancel();
    });
}

async::awaitable<void> foreign_daemon::start_up() {
    const auto& settings = state_.settings;
    if (settings.networking) {
        co_await state_.pass(settings.timings.links_settle, "the links");
    }
    co_await state_.pass(settings.timings.services_settle, "the services");
    run_apart("zookeeper", [this] { return session_.run(); });
    run_apart("callbacks", [this] { return session_.dispatch(); });
    // The reference ends here and is started again by the service manager.
    for (;;) {
        const bool is_connected = co_await session_.wait_connected(connect_limit);
        if (is_connected) {
            break;
        }
        co_await async::sleep_for(state_.clock, restart_delay, "the service manager");
    }
    co_await state_.pass(settings.timings.connect, "the first request");
    co_await load_schema();
    handles_signals_ = true;
    co_await register_node();
    if (settings.level == reference_level::v1_0_3) {
        co_await async::sleep_for(state_.clock, 5s, "the pause after the node's entry");
    }
    if (settings.is_coordinator) {
        co_await claim_vacant_role();
    }
    co_await state_.pass(settings.timings.objects, "the objects of the cluster");
    watch_everything();
    if (settings.networking && settings.gateways) {
        co_await make_bridges();  // before the first machine
        run_apart("networks", [this] { return follow_networks(); });
    }
    if (settings.boards) {
        fence_.emplace(state_, [this](std::string name, foreign_fence::body what) {
            run_apart(std::move(name), std::move(what));
        });
        keepalive_.after_tick = [this] { return fence_->look_for_dead(); };
    }
    co_await health_.load();
    run_apart("keepalive", [this] { return keepalive_.run(); });
    run_apart("health", [this] { return health_.run(); });
    if (settings.machines != nullptr) {
        foreign_migration_times times;
        times.shutdown_limit = 20s;
        machines_.emplace(session_, random_.split("machines"), *settings.machines, settings.name, times);
        machines_->refuse_start = settings.refuse_start;
        machines_->on_list = [this](const std::string& text) { state_.running_domains = text; };
        run_apart("machines", [this] { return machines_->run_all(); });
    }
    is_ready_ = true;
}

async::awaitable<void> foreign_daemon::load_schema() {
    const bool is_old = state_.settings.level == reference_level::v0_9_82;
    const stored active = co_await session_.read(state_.own("/activeschema"));
    if (!active) {
        const stored version = co_await session_.read("/schema/version");
        // Rolled back for a node without a record, and not noticed.
        co_await session_.write(state_.own("/activeschema"), version ? version->data : std::string("0"));
    }
    co_await session_.write(state_.own("/latestschema"), is_old ? "10" : "15");
}

async::awaitable<void> foreign_daemon::register_node() {
    const auto& settings = state_.settings;
    const bool is_old = settings.level == reference_level::v0_9_82;
    const std::string mode(
        model::to_text(settings.is_coordinator ? model::daemon_mode::coordinator : model::daemon_mode::hypervisor));
    const std::string role(model::to_text(settings.is_coordinator ? router_state::secondary : router_state::client));
    const stored before = co_await session_.read(state_.own(""));
    std::vector<model::key_value> keys;
    const auto add = [&](std::string_view suffix, std::string value) {
        keys.push_back({state_.own(suffix), std::move(value)});
    };
    add("", mode);
    if (!before) {
        add("/keepalive", std::to_string(unix_seconds(state_.clock.wall_now())));
    }
    add("/daemonmode", mode);
    add("/daemonstate", "init");
    if (!before) {
        add("/domainstate", "flushed");
    }
    add("/routerstate", role);
    add("/staticdata", settings.static_data);
    add("/pvcversion", is_old ? "0.9.82" : "1.0.3");
    add("/ipmihostname", settings.name + "-lom");
    add("/ipmiusername", "admin");
    add("/ipmipassword", "Passw0rd");
    if (!before) {
        for (const auto* suffix : {"/memtotal", "/memused", "/memfree", "/memalloc", "/memprov", "/vcpualloc"}) {
            add(suffix, "0");
        }
        add("/cpuload", "0.0");
        add("/runningdomains", settings.figures.running_domains);
        add("/domainscount", "0");
        add("/networkscount", "0");
    }
    co_await session_.write(std::move(keys));
}

async::awaitable<void> foreign_daemon::claim_vacant_role() {
    const stored primary = co_await session_.read(foreign_primary_key);
    if (!model::parse_primary_node(primary ? std::optional<std::string_view>(primary->data) : std::nullopt)) {
        co_await session_.write(foreign_primary_key, state_.settings.name);
    }
}

// Of each network that is there, whatever its keys say.
async::awaitable<void> foreign_daemon::make_bridges() {
    sim_kernel& kernel = *state_.settings.kernel;
    std::set<std::string> wanted;
    for (const auto& vni : co_await session_.children("/networks")) {
        wanted.insert("vmbr" + vni);
    }
    for (const auto& bridge : bridges_) {
        if (!wanted.contains(bridge)) {
            ignore(kernel.apply(model::delete_link{bridge}), "its network is gone");
        }
    }
    for (const auto& bridge : wanted) {
        if (!kernel.has_device(bridge)) {
            ignore(kernel.apply(model::make_bridge{bridge}), "a name may be no device's");
        }
    }
    bridges_ = std::move(wanted);
}

async::awaitable<void> foreign_daemon::follow_networks() {
    for (;;) {
        co_await async::sleep_for(state_.clock, network_poll, "news of networks");
        co_await make_bridges();
    }
}

void foreign_daemon::watch_everything() {
    session_.watch(state_.own("/daemonstate"), [this](const stored& value) { return on_daemon_state(value); });
    session_.watch(state_.own("/routerstate"), [this](const stored& value) { return on_role(value); });
    session_.watch(state_.own("/domainstate"), [this](const stored& value) { return on_domain_state(value); });
    session_.watch(state_.own("/runningdomains"), [this](const stored& value) { return on_running_domains(value); });
    session_.watch(foreign_primary_key, [this](const stored& value) { return on_primary(value); });
}

async::awaitable<void> foreign_daemon::on_daemon_state(stored value) {
    state_.daemon = model::daemon_state_or_fallback(text_of(value));
    co_return;
}

async::awaitable<void> foreign_daemon::on_running_domains(stored value) {
    state_.running_domains = text_of(value);
    co_return;
}

async::awaitable<void> foreign_daemon::on_role(stored value) {
    state_.role = model::router_state_or_fallback(text_of(value));
    if (!state_.settings.is_coordinator || !state_.settings.networking) {
        co_return;
    }
    if (state_.role == router_state::takeover) {
        run_apart("takeover", [this] { return take_over(state_); });
    } else if (state_.role == router_state::relinquish) {
        if (state_.daemon == daemon_state::run || state_.daemon == daemon_state::shutdown) {
            run_apart("relinquish", [this] { return relinquish(state_); });
        } else {
            co_await state_.write_role(router_state::secondary);
        }
    }
}

async::awaitable<void> foreign_daemon::on_primary(stored value) {
    const auto& settings = state_.settings;
    co_await state_.pass(settings.timings.reaction, "a watch handler");
    if (!settings.is_coordinator) {
        if (settings.level == reference_level::v0_9_82) {
            co_await state_.write_role(router_state::client);
        }
        co_return;
    }
    if (!settings.networking || !value) {
        co_return;
    }
    const auto primary = model::parse_primary_node(value->data);
    if (!primary) {
        if (state_.daemon == daemon_state::run && state_.role == router_state::secondary) {
            co_await contend(value->stat.version);
        }
    } else if (*primary == settings.name && state_.role == router_state::secondary) {
        co_await state_.pass(settings.timings.transition_delay, "the delay before a takeover");
        co_await state_.write_role(router_state::takeover);
    } else if (*primary != settings.name && state_.role == router_state::primary) {
        if (const auto early = settings.timings.tick_after_name) {
            run_apart("tick", [this, early] { return tick_after(*early); });
        }
        co_await state_.pass(settings.timings.transition_delay, "the delay before a relinquishment");
        co_await state_.write_role(router_state::relinquish);
    }
}

async::awaitable<void> foreign_daemon::tick_after(duration time) {
    co_await state_.pass(time, "a tick at a bad moment");
    co_await keepalive_.tick_early();
}

// On the callback task, which also has to bring the news that a predecessor is gone: who is not first times out.
async::awaitable<void> foreign_daemon::contend(std::int32_t version) {
    foreign_lock lock(session_, random_, foreign_primary_key, model::lock_kind::exclusive);
    const bool has_lock = co_await lock.acquire(state_.timings().contention_limit);
    if (!has_lock) {
        co_return;
    }
    const stored now = co_await session_.read(foreign_primary_key);
    if (now && now->stat.version == version) {
        co_await session_.write(foreign_primary_key, state_.settings.name);
    }
    co_await lock.release();
}

async::awaitable<void> foreign_daemon::on_domain_state(stored value) {
    const auto wanted = model::domain_state_or_fallback(text_of(value));
    if (wanted != domain_state::flush && wanted != domain_state::unflush) {
        co_return;
    }
    while (has_job_) {
        co_await job_done_.wait(async::wait_note::work("the end of a flush"));
    }
    has_job_ = true;
    run_apart("flush", [this, wanted] { return job(wanted); });
}

async::awaitable<void> foreign_daemon::job(domain_state wanted) {
    std::vector<model::key_value> keys;
    if (wanted == domain_state::flush) {
        co_await state_.pass(state_.timings().flush, "the start of a flush");
        keys.push_back({state_.own("/runningdomains"), ""});
        keys.push_back({state_.own("/domainstate"), "flushed"});
    } else {
        co_await state_.pass(state_.timings().unflush, "the start of an unflush");
        keys.push_back({state_.own("/domainstate"), "ready"});
    }
    co_await session_.write(std::move(keys));
    has_job_ = false;
    job_done_.notify();
}

async::awaitable<void> foreign_daemon::terminate() {
    co_await session_.write(state_.own("/daemonstate"), "shutdown");
    while (has_job_) {
        co_await async::sleep_for(state_.clock, poll_interval, "the end of a flush");
    }
    co_await give_up_role();
    co_await keepalive_.stop();
    co_await keepalive_.tick();
    co_await state_.pass(state_.timings().last_steps, "the last steps");
    if (state_.settings.level == reference_level::v0_9_82) {
        co_await session_.write(state_.own("/monitoring_health"), "None");
    } else {
        co_await session_.write(state_.own("/network_stats"), "{}");
    }
    co_await session_.write(state_.own("/daemonstate"), "stop");
}

async::awaitable<void> foreign_daemon::give_up_role() {
    const auto nodes = co_await session_.children("/nodes");
    if (state_.role != router_state::primary || nodes.size() < 2) {
        co_return;
    }
    co_await session_.write(foreign_primary_key, "none");
    for (int i = 0; i < role_polls && state_.role != router_state::secondary; ++i) {
        co_await async::sleep_for(state_.clock, poll_interval, "the new primary");
    }
}

}  // namespace pvc::sim
