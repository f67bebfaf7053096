// pvcnoded: wires the real adapters to the daemon and runs it on one thread.
#include "against_host.hpp"
#include "build_id.hpp"
#include "ceph_helper_program.hpp"
#include "options.hpp"
#include "process_metrics.hpp"
#include "pvcnoded/async/adapter/posix_process.hpp"
#include "pvcnoded/async/adapter/real_loop.hpp"
#include "pvcnoded/async/adapter/signal_source.hpp"
#include "pvcnoded/async/adapter/thread_offload.hpp"
#include "pvcnoded/base/text.hpp"
#include "pvcnoded/control/answers.hpp"
#include "pvcnoded/control/metrics.hpp"
#include "pvcnoded/control/serving.hpp"
#include "pvcnoded/hypervisor/adapter/libvirt_hypervisor.hpp"
#include "pvcnoded/netlink/adapter/kernel_addresses.hpp"
#include "pvcnoded/netlink/adapter/kernel_counters.hpp"
#include "pvcnoded/netlink/adapter/kernel_functions.hpp"
#include "pvcnoded/netlink/adapter/kernel_packet_filter.hpp"
#include "pvcnoded/netlink/adapter/kernel_stack.hpp"
#include "pvcnoded/node/daemon.hpp"
#include "pvcnoded/policy/membership/schema_rules.hpp"
#include "pvcnoded/power/adapter/ipmitool_board.hpp"
#include "pvcnoded/services/adapter/file_log_output.hpp"
#include "pvcnoded/services/adapter/inotify_console_files.hpp"
#include "pvcnoded/services/adapter/linux_host.hpp"
#include "pvcnoded/services/adapter/linux_tcp.hpp"
#include "pvcnoded/services/adapter/sd_notifier.hpp"
#include "pvcnoded/services/adapter/spawned_talker.hpp"
#include "pvcnoded/services/adapter/systemctl.hpp"
#include "pvcnoded/services/adapter/unix_sockets.hpp"
#include "pvcnoded/zookeeper/adapter/c_client.hpp"
#include "standard_streams.hpp"

#include <malloc.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace {

using namespace pvc;

std::optional<std::string> variable(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr || *value == '\0' ? std::nullopt : std::optional<std::string>(value);
}

std::string host_name() {
    if (auto given = variable("PVCD_HOSTNAME")) {
        return *given;
    }
    char name[256] = {};
    if (gethostname(name, sizeof name - 1) != 0) {
        return "localhost";
    }
    return name;
}

std::uint64_t seed() {
    std::uint64_t value = 0;
    if (getrandom(&value, sizeof value, 0) != static_cast<ssize_t>(sizeof value)) {
        value = static_cast<std::uint64_t>(getpid());
    }
    return value;
}

bool has_watchdog_device() {
    struct stat unused{};
    return stat("/dev/watchdog", &unused) == 0 || stat("/dev/watchdog0", &unused) == 0;
}

config::loaded load_configuration(bool is_told, config::changeable_file others_can_change) {
    config::environment from;
    from.config_file = variable("PVCD_CONFIG_FILE");
    from.hostname = host_name();
    if (from.config_file && is_told) {
        app::say(STDOUT_FILENO, "Loading configuration from file \"" + *from.config_file + "\"");
    }
    config::host_facts facts;
    facts.watchdog_device = has_watchdog_device();
    facts.others_can_change = others_can_change;
    return config::load_file(from, facts);
}

int print_comparison(const config::node_config& config) {
    const auto compared = app::compare_with_host(config);
    if (!compared) {
        app::say(STDERR_FILENO, compared.error().text());
        return node::exit_status::environment;
    }
    for (const auto& line : compared->warnings) {
        app::say(STDERR_FILENO, "warning: " + line);
    }
    for (const auto& line : compared->lines) {
        app::say(STDOUT_FILENO, line);
    }
    return compared->is_possible ? node::exit_status::orderly : node::exit_status::environment;
}

int check_configuration(const app::options& options) {
    // It may still lie where it is written: only a daemon refuses it.
    const config::loaded loaded =
        load_configuration(false, options.trusted ? config::changeable_file::accepted : config::changeable_file::told);
    std::string remarks;
    bool is_faultless = true;
    for (const auto& one : loaded.diagnostics) {
        remarks += one.message() + '\n';
        is_faultless = is_faultless && one.level == config::severity::info;
    }
    if (!loaded.config) {
        app::print(STDERR_FILENO, remarks);
        return loaded.missing_variable ? node::exit_status::environment : node::exit_status::configuration;
    }
    const auto limit = variable("PVCD_SCHEMA_LIMIT");
    const auto parsed = policy::parse_schema_limit(limit ? std::optional<std::string_view>(*limit) : std::nullopt);
    if (!parsed) {
        remarks += parsed.error().text() + '\n';
    }
    app::print(STDERR_FILENO, remarks);
    if (!parsed || (options.strict && !is_faultless)) {
        return node::exit_status::configuration;
    }
    if (options.against_host) {
        return print_comparison(*loaded.config);
    }
    std::string settings;
    for (const auto& [name, value] : config::effective_settings(*loaded.config)) {
        settings += name + " = " + value + '\n';
    }
    app::print(STDOUT_FILENO, settings);
    return node::exit_status::orderly;
}

// Signals to calls, until cancelled.
async::awaitable<void> follow_signals(async::signal_source& signals, node::daemon& daemon) {
    for (;;) {
        const int number = co_await signals.next();
        switch (number) {
            case SIGHUP: daemon.reopen_logs(); break;
            case SIGUSR1: daemon.log_tasks(); break;
            default: daemon.request_stop(std::string("signal ") + sigabbrev_np(number)); break;
        }
    }
}

// A value of hundreds of KiB is read once in a while (somebody's mistake in a key): what it took goes back to the
// system, and pool threads share one arena with the loop.
void bound_heap() {
    mallopt(M_MMAP_THRESHOLD, 64 * 1024);
    mallopt(M_TRIM_THRESHOLD, 128 * 1024);
    mallopt(M_ARENA_MAX, 2);
}

int run(config::changeable_file others_can_change) {
    random_source random(seed());
    async::real_loop loop;
    // A log disk or a pipe that hangs must not make the exit hang: half a second, then its thread is left behind.
    async::thread_offload pool(loop.context(), {.farewell = std::chrono::milliseconds(500)});
    async::posix_process processes(loop.context(), loop.clock());
    async::signal_source signals(loop.context());
    services::systemctl manager(processes);
    services::linux_host host(pool, loop.clock());
    services::inotify_console_files consoles(loop.context(), pool, loop.clock());
    services::spawned_talker talker(loop.context(), loop.clock(), processes);
    storage::ceph_helper ceph(talker, loop.clock());
    hypervisor::libvirt_options libvirt;
    // For tests: a hypervisor in another place, and the peers' ({} is the peer's name).
    libvirt.local_uri = variable("PVCD_LIBVIRT_URI").value_or(libvirt.local_uri);
    libvirt.remote_uri = variable("PVCD_LIBVIRT_REMOTE_URI").value_or(libvirt.remote_uri);
    hypervisor::libvirt_hypervisor hypervisor(loop.context(), loop.clock(), libvirt);
    services::sd_notifier notifier(std::getenv("NOTIFY_SOCKET"));
    // Apart from the pool: its threads may all hang in a log disk, and then no name would be looked up.
    async::thread_offload zookeeper_lane(loop.context(), {.threads = 8, .farewell = std::chrono::milliseconds(500)});
    // Likewise: where the kernel hangs with one link it hangs with all of them. Each port bounds itself: changes and
    // looks, addresses, counters and speeds, virtual functions have a thread each, so none waits for another's.
    async::thread_offload links_lane(loop.context(), {.threads = 6, .farewell = std::chrono::milliseconds(500)});
    async::thread_offload filter_lane(loop.context(), {.threads = 2, .farewell = std::chrono::milliseconds(500)});
    zookeeper::c_connector zookeeper(loop.clock(), zookeeper_lane, random.split("zookeeper"),
                                     [&loop] { loop.check_pause(); });
    const async::real_loop::pause_observer pauses(loop, [&](boot_time before) { zookeeper.on_pause(before); });

    core::platform platform{.clock = loop.clock(),
                            .pool = pool,
                            .zookeeper = zookeeper,
                            .services = manager,
                            .host = host,
                            .notifier = notifier,
                            .random = random.split("daemon")};
    node::process process{
        .load_configuration =
            [is_first = true, others_can_change]() mutable {
                return load_configuration(std::exchange(is_first, false), others_can_change);
            },
        .complain = [](const std::string& line) { app::say(STDERR_FILENO, line); },
        .open_log_file = [](const std::string& path) { return std::make_shared<services::file_log_output>(path); },
        .standard_output = std::make_shared<services::stdout_log_output>(STDOUT_FILENO),
        .standard_error = std::make_shared<services::stdout_log_output>(STDERR_FILENO),
        .standard_output_is_journal = app::is_journal(STDOUT_FILENO, std::getenv("JOURNAL_STREAM")),
        .loop_turns = [&loop] { return loop.turns(); },
        .give_memory_back = [] { ::malloc_trim(0); },
        .schema_limit = variable("PVCD_SCHEMA_LIMIT"),
        .implementation = app::implementation_text()};
    node::subject_ports outside;
    outside.domains.emplace(domains::domain_ports{hypervisor, ceph, consoles});
    outside.ceph.emplace(ceph::ceph_ports{ceph, app::ceph_helper_program(), processes});
    netlink::kernel_stack stack(loop.context().get_executor(), loop.clock(), links_lane);
    netlink::kernel_addresses addresses(loop.clock(), links_lane);
    netlink::kernel_counters counters(loop.clock(), links_lane);
    netlink::kernel_functions functions(loop.clock(), links_lane, processes);
    netlink::kernel_packet_filter filter(loop.context().get_executor(), loop.clock(), filter_lane);
    outside.networks.emplace(networks::network_ports{stack, addresses, counters, functions, filter, processes});
    power::ipmitool_board board(processes, loop.clock());
    outside.fencing.emplace(fencing::fence_ports{board});
    outside.role.emplace(role::role_ports{processes});
    node::daemon daemon(platform, std::move(process), node::all_subjects(outside));
    services::unix_sockets sockets(loop.context(), pool, loop.clock());
    const control::answers answers(daemon, host, [&]() -> control::surroundings {
        return {loop.last_delay(), loop.delays().longest(), pool.threads(), pool.waiting()};
    });
    control::server server(
        sockets, loop.clock(), daemon.context().log,
        [&](const protocol::request& asked, const control::asker& who) { return answers.to(asked, who); });
    services::linux_tcp tcp(loop.context(), loop.clock());
    const app::process_metrics own_metrics(loop, pool, host);
    const control::web_pages pages(daemon, {&own_metrics});
    control::web_server web(tcp, loop.clock(), daemon.context().log,
                            [&](std::string_view path) { return pages.at(path); });
    int status = node::exit_status::environment;
    loop.run("main", [&]() -> async::awaitable<void> {
        co_await async::with_task_group("main", [&](async::task_group& group) -> async::awaitable<void> {
            group.spawn("signals", [&] { return follow_signals(signals, daemon); });
            group.spawn("control", [&] { return control::serve_questions(server, daemon); });
            group.spawn("metrics", [&] { return control::serve_metrics(web, daemon); });
            status = co_await daemon.run();
            group.cancel();
        });
    });
    return status;
}

}  // namespace

int main(int argc, char** argv) {
    app::repair_standard_streams();
    async::ignore_broken_pipes();
    const app::options options = app::parse_options({argv + 1, argv + argc});
    if (!options.problem.empty()) {
        app::print(STDERR_FILENO, options.problem + '\n');
        return 2;
    }
    switch (options.what) {
        case app::mode::help: app::print(STDOUT_FILENO, app::help_text()); return 0;
        case app::mode::version: app::print(STDOUT_FILENO, app::version_text()); return 0;
        case app::mode::check_configuration: return check_configuration(options);
        case app::mode::run: break;
    }
    if (!variable("PVCD_CONFIG_FILE")) {
        app::print(STDERR_FILENO, "PVCD_CONFIG_FILE is not set; it must name the configuration file\n");
        return node::exit_status::environment;
    }
    bound_heap();
    try {
        return run(options.trusted ? config::changeable_file::accepted : config::changeable_file::refused);
    } catch (const std::exception& error) {
        // Before the loop turns, or a broken invariant of a library: say why, and let the supervisor start us again.
        app::print(STDERR_FILENO, std::string("pvcnoded cannot go on: ") + error.what() + '\n');
        return node::exit_status::environment;
    }
}
