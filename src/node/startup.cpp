// Start-up phases S0 to S5: everything before ZooKeeper.
#include "pvcnoded/base/text.hpp"
#include "pvcnoded/core/log_shipper.hpp"
#include "pvcnoded/node/daemon.hpp"
#include "pvcnoded/node/watchdog.hpp"
#include "pvcnoded/policy/membership/schema_rules.hpp"
#include "pvcnoded/services/unit_readiness.hpp"

#include <fmt/format.h>

namespace pvc::node {

using namespace std::chrono_literals;

namespace {
constexpr duration open_limit = 5s;
}

std::optional<daemon::verdict> daemon::load_configuration() {
    config::loaded loaded = process_.load_configuration();
    if (!loaded.config) {
        std::vector<std::string> problems;
        for (const auto& problem : loaded.diagnostics) {
            problems.push_back(problem.message());
        }
        return refuse(
            std::move(problems),
            {next_step::leave, loaded.missing_variable ? exit_status::environment : exit_status::configuration,
             "the configuration is not valid"});
    }
    auto limit = policy::parse_schema_limit(
        process_.schema_limit ? std::optional<std::string_view>(*process_.schema_limit) : std::nullopt);
    if (!limit) {
        process_.complain(limit.error().text());
        return verdict{next_step::leave, exit_status::configuration, "PVCD_SCHEMA_LIMIT is not valid"};
    }
    context_.schema_limit = *limit;
    context_.config = std::make_shared<const config::node_config>(*std::move(loaded.config));
    remarks_ = std::move(loaded.diagnostics);
    adopt_configuration();
    return std::nullopt;
}

// Only the first reading of a process ends it. A later one may meet a file that is half written, on a node that waits
// for its cluster: it goes on with what it had.
std::optional<daemon::verdict> daemon::refuse(std::vector<std::string> problems, verdict end) {
    for (const auto& problem : problems) {
        process_.complain(problem);
    }
    if (!context_.config) {
        return end;
    }
    troubles_.push_back(end.reason + ", going on with the last one that was" +
                        (problems.empty() ? "" : ": " + problems.front()) +
                        (problems.size() > 1 ? fmt::format(" (and {} more)", problems.size() - 1) : ""));
    remarks_.clear();
    adopt_configuration();
    return std::nullopt;
}

void daemon::adopt_configuration() {
    context_.machine = port_.host.facts();
    context_.mode = context_.config->mode == config::node_mode::coordinator ? model::daemon_mode::coordinator
                                                                            : model::daemon_mode::hypervisor;
    context_.times.keepalive = context_.config->keepalive_interval;
    context_.times.fence = context_.config->fence_intervals;
    context_.times.suicide = context_.config->suicide_intervals;
    port_.notifier.send(fmt::format(
        "WATCHDOG_USEC={}",
        std::chrono::duration_cast<std::chrono::microseconds>(policy::watchdog_limit(context_.times)).count()));
}

async::awaitable<result<void>> daemon::make_directories() {
    const auto plan =
        policy::directories_to_create(context_.config->directories.dynamic, context_.config->directories.log);
    result<void> outcome;
    bool is_told = false;
    // In the order of the plan: parents first.
    for (const auto& directory : plan) {
        auto made = co_await port_.host.make_directory(directory.path, directory.mode, directory.owner);
        if (made) {
            continue;
        }
        const bool hangs = made.error().code() == errc::timed_out;
        const failure problem = std::move(made).error().during("creating directories");
        if (!directory.is_needed && !std::exchange(is_told, true)) {
            troubles_.push_back(problem.text() + ", going on without it");
        } else if (directory.is_needed && outcome) {
            outcome = problem;
        }
        if (hangs) {
            break;  // each of the others would take as long
        }
    }
    co_return outcome;
}

result<void> daemon::take_lock_file() {
    if (lock_file_) {
        return {};
    }
    const std::string path = context_.config->directories.dynamic + "/pvcnoded.lock";
    auto taken = port_.host.lock(path);
    if (!taken) {
        if (taken.error().code() == errc::refused) {
            const bool is_daemon = taken.error().cause().find_first_not_of("0123456789") == std::string::npos;
            return failure(errc::refused, path,
                           (is_daemon ? "pvcnoded is already running as process " : "it is locked by process ") +
                               taken.error().cause());
        }
        return taken.error();
    }
    lock_file_ = *std::move(taken);
    return {};
}

// What `pvcversion` does not tell, as it names the release that clients shall take this node for.
async::awaitable<void> daemon::note_implementation() {
    auto noted = co_await port_.host.replace_file(context_.config->directories.dynamic + "/implementation",
                                                  process_.implementation + "\n");
    if (!noted) {
        log_.info("the file `implementation` was not written: " + noted.error().text());
    }
}

core::log_hub::outputs daemon::wanted_logs() {
    const auto& logging = context_.config->logging;
    core::log_hub::outputs wanted;
    wanted.debug = context_.config->debug;
    wanted.standard_style = {logging.colours, logging.dates, process_.standard_output_is_journal};
    wanted.file_style = {logging.colours, logging.dates, false};
    if (logging.stdout_) {
        wanted.standard = process_.standard_output;
    }
    if (!logging.stdout_ && !logging.file && !logging.zookeeper) {
        wanted.errors = process_.standard_error;
    }
    return wanted;
}

async::awaitable<void> daemon::open_log_file(core::log_hub::outputs& wanted) {
    const std::string path = context_.config->directories.log + "/pvc.log";
    wanted.file = process_.open_log_file(path);
    auto opened = co_await port_.pool.run<bool>(port_.clock, port_.clock.now() + open_limit, path,
                                                [file = wanted.file]() -> result<bool> {
                                                    auto done = file->reopen();
                                                    return done ? result<bool>(true) : result<bool>(done.error());
                                                });
    if (!opened) {
        // The sink tries again with what is to be written.
        troubles_.push_back(std::move(opened).error().during("opening the log file").text() + ", trying again");
        if (!context_.config->logging.stdout_) {
            wanted.errors = process_.standard_error;
        }
    }
}

async::awaitable<void> daemon::open_logs(async::task_group& scope) {
    core::log_hub::outputs wanted = wanted_logs();
    if (context_.config->logging.file) {
        co_await open_log_file(wanted);
    }
    log_.configure(std::move(wanted), scope);
    start_shipping(scope);  // from the first line on
    log_.state(fmt::format("pvcnoded starts on {} ({}, {}, kernel {}, {} CPUs), as {}", context_.self(),
                           context_.config->fqdn, config::mode_text(context_.config->mode),
                           context_.machine.kernel_release, context_.machine.cpus, process_.implementation));
    scope.spawn("implementation note", [this] { return note_implementation(); });
    tell_remarks();
}

// What was found before there was a log.
void daemon::tell_remarks() {
    for (const auto& remark : remarks_) {
        if (!told_remarks_.insert(remark.located()).second) {
            continue;  // in a pass before this one
        }
        if (remark.level == config::severity::info) {
            log_.info(remark.located());
        } else if (remark.level == config::severity::error) {
            log_.error(message::config_error, remark.located());
        } else {
            log_.warning(message::config_warning, remark.located());
        }
    }
    for (auto& trouble : std::exchange(troubles_, {})) {
        log_.warning(message::start_degraded, std::move(trouble));
    }
    if (context_.times.suicide > 0) {
        log_.error(message::config_selfreset,
                   "suicide_intervals is set, but this build has no self-reset: selfreset stays off");
    }
}

void daemon::start_shipping(async::task_group& scope) {
    const auto& logging = context_.config->logging;
    if (!logging.zookeeper) {
        return;
    }
    core::shipping_settings settings;
    settings.node = context_.self();
    settings.pid = context_.machine.pid;
    settings.style = {logging.colours, logging.dates, false};
    settings.lines_max = static_cast<std::size_t>(logging.node_log_lines);
    for (const auto& server : context_.config->zookeeper_servers) {
        settings.connection.servers.push_back({server.host, server.port});
    }
    settings.connection.chroot = context_.config->zookeeper_chroot;
    // Each attempt of this process ships by itself, and its locks must not be called as those of the one before.
    shipper_ = std::make_unique<core::log_shipper>(port_.zookeeper, port_.clock,
                                                   port_.random.split("log shipping").split(attempts_), settings);
    log_.set_observer([this](const log_record& record) { shipper_->push(record); });
    scope.spawn("log shipping", [this]() -> async::awaitable<void> {
        co_await async::with_task_group("log shipping", [this](async::task_group& group) -> async::awaitable<void> {
            group.spawn("schema version", [this]() -> async::awaitable<void> {
                async::wakeup changed;
                const async::latest<int>::observer watch(context_.schema_version, changed);
                for (;;) {
                    shipper_->set_schema_version(context_.schema_version.value());
                    co_await changed.wait(async::wait_note::work("a change of the schema version"));
                }
            });
            co_await shipper_->run();
        });
    });
}

// S3 to S5.
async::awaitable<std::optional<daemon::verdict>> daemon::before_zookeeper() {
    for (const auto which : {policy::phase::host_networking, policy::phase::sysctl, policy::phase::services}) {
        own_step own;
        if (which == policy::phase::services) {
            own = [this] { return start_services(); };
        }
        if (auto end = co_await pass(which, own, nullptr)) {
            co_return end;
        }
    }
    co_return std::nullopt;
}

async::awaitable<result<void>> daemon::start_services() {
    policy::node_functions functions;
    functions.hypervisor = context_.config->functions.hypervisor;
    functions.networking = context_.config->functions.networking;
    functions.storage = context_.config->functions.storage;
    functions.api = context_.config->functions.api;
    functions.external_health = context_.config->health.mode == config::health_mode::external;
    const auto units = policy::services_to_start(context_.self(), context_.mode, functions);
    auto outcomes = co_await services::start_and_wait(port_.services, port_.clock, units);
    for (const auto& unit : outcomes) {
        if (unit.active) {
            log_.ok(unit.text());
        } else {
            log_.warning(message::service_failed, unit.text() + ", going on");
        }
    }
    co_return result<void>();
}

}  // namespace pvc::node
