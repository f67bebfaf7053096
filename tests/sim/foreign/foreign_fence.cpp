// tidy-allow-file(sleep): its waits are on the simulated clock
#include "sim/foreign/foreign_fence.hpp"

#include "pvcnoded/base/text.hpp"
#include "pvcnoded/base/uuid.hpp"
#include "sim/foreign/foreign_lock.hpp"

#include <charconv>

namespace pvc::sim {

using namespace std::chrono_literals;

namespace {

constexpr int throws = 6;
constexpr duration no_limit_of_power = 100'000s;
constexpr duration before_machine = 70ms;  // the commands about its disks
constexpr std::string_view said_on = "Chassis Power is on";
constexpr std::string_view said_off = "Chassis Power is off";

std::int64_t whole_number(std::string_view text) {
    std::int64_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

}  // namespace

foreign_fence::foreign_fence(foreign_state& node, starter run_apart)
    : node_(node), run_apart_(std::move(run_apart)), programs_(node.clock) {
    programs_.add(node.settings.boards);
}

async::awaitable<std::string> foreign_fence::word(std::string path) const {
    const auto stored = co_await node_.session.read(std::move(path));
    co_return stored ? stored->data : std::string();
}

async::awaitable<void> foreign_fence::look_for_dead() {
    const auto& settings = node_.settings;
    const std::string maintenance = co_await word("/config/maintenance");
    if (!settings.is_coordinator || maintenance == "true") {
        co_return;
    }
    if (is_late()) {
        if (!is_monitoring_) {
            is_monitoring_ = true;
            run_apart_("fence monitor", [this] { return monitor(); });
        }
        co_return;
    }
    for (const auto& name : co_await node_.session.children("/nodes")) {
        const bool is_dead = co_await is_silent(name);
        if (is_dead) {
            co_await mark(name);
        }
    }
}

async::awaitable<bool> foreign_fence::is_silent(std::string name) const {
    const auto& settings = node_.settings;
    const std::string state = co_await word("/nodes/" + name + "/daemonstate");
    const std::string beat = co_await word("/nodes/" + name + "/keepalive");
    const auto limit = static_cast<std::int64_t>(settings.fence_intervals) * settings.keepalive_interval;
    co_return state == "run" && !beat.empty() && whole_number(beat) < unix_seconds(node_.clock.wall_now()) - limit;
}

// In a thread of its own, which ends with the fences of this look.
async::awaitable<void> foreign_fence::monitor() {
    const std::string schema = co_await word("/schema/version");
    if (schema == "15") {
        foreign_lock lock(node_.session, node_.random, "/config/fence_lock", model::lock_kind::exclusive);
        const bool has = co_await lock.acquire(std::chrono::seconds(node_.settings.keepalive_interval - 1));
        if (has) {
            for (const auto& name : co_await node_.session.children("/nodes")) {
                const bool is_dead = co_await is_silent(name);
                if (is_dead) {
                    co_await fence_alone(name);
                }
            }
            co_await lock.release();
        }
    }
    is_monitoring_ = false;
}

// The lock of its state is held until all is over.
async::awaitable<void> foreign_fence::fence_alone(std::string name) {
    const std::string path = "/nodes/" + name + "/daemonstate";
    foreign_lock lock(node_.session, node_.random, path, model::lock_kind::exclusive);
    const bool has = co_await lock.acquire(std::nullopt);
    if (has && co_await word(path) != "dead") {
        co_await node_.session.write(path, "dead");
        co_await fence(name);
    }
    co_await lock.release();
}

async::awaitable<void> foreign_fence::mark(std::string name) {
    const std::string path = "/nodes/" + name + "/daemonstate";
    foreign_lock lock(node_.session, node_.random, path, model::lock_kind::exclusive);
    const bool has = co_await lock.acquire(std::nullopt);
    if (has && co_await word(path) != "dead") {
        run_apart_("fence", [this, name] { return fence(name); });
        co_await node_.session.write(path, "dead");
    }
    co_await lock.release();
}

async::awaitable<void> foreign_fence::fence(std::string name) {
    const std::string root = "/nodes/" + name;
    const duration interval = std::chrono::seconds(node_.settings.keepalive_interval);
    for (int i = 0; i < throws; ++i) {
        co_await node_.pass(interval, "a saving throw");
        const std::string state = co_await word(root + "/daemonstate");
        if (state != "dead") {
            co_return;
        }
    }
    const bool success = co_await switch_off_and_on(name);
    co_await node_.pass(interval, "the pause after a power cycle");
    if (success) {
        co_await node_.session.write(root + "/daemonstate", "fenced");
    }
    // Whether it was one or not is looked up in the configured list.
    if (co_await word(root + "/daemonmode") == "coordinator") {
        co_await node_.session.write(root + "/routerstate", "secondary");
        if (co_await word(foreign_primary_key) == name) {
            co_await node_.session.write(foreign_primary_key, "none");
        }
    }
    if (success) {
        co_await recover(name);
    }
    if (is_late()) {
        co_await reset_figures(name);
    }
}

async::awaitable<void> foreign_fence::reset_figures(std::string name) {
    std::vector<model::key_value> keys;
    for (const auto* suffix : {"runningdomains", "domainscount", "cpuload", "vcpualloc", "memtotal", "memused",
                               "memfree", "memalloc", "memprov"}) {
        keys.push_back({"/nodes/" + name + '/' + suffix, "0"});
    }
    keys.push_back({"/nodes/" + name + "/monitoring_health", "None"});
    co_await node_.session.write(std::move(keys));
}

async::awaitable<foreign_fence::answer> foreign_fence::power(std::vector<std::string> access, std::string verb) {
    async::command what;
    what.arguments = std::move(access);
    what.environment.emplace_back("IPMI_PASSWORD", co_await word(what.arguments.back()));
    what.arguments.pop_back();
    what.arguments.insert(what.arguments.end(), {"chassis", "power", std::move(verb)});
    async::process_limits limits;
    limits.time = no_limit_of_power;
    const auto ended = co_await programs_.run(std::move(what), limits);
    answer out;
    if (ended) {
        const auto* const code = std::get_if<async::exited>(&ended->how);
        out = {code == nullptr ? 1 : code->code, std::string(trim(ended->output))};
    }
    co_return out;
}

async::awaitable<bool> foreign_fence::switch_off_and_on(std::string name) {
    const std::string root = "/nodes/" + name;
    // The last one is where the password stands.
    const std::vector<std::string> access{"ipmitool",
                                          "-I",
                                          "lanplus",
                                          "-H",
                                          co_await word(root + "/ipmihostname"),
                                          "-U",
                                          co_await word(root + "/ipmiusername"),
                                          root + "/ipmipassword"};
    const answer off = co_await power(access, "off");
    co_await node_.pass(5s, "the pause after a power-off");
    co_await power(access, "status");
    co_await power(access, "on");
    co_await node_.pass(2s, "the pause after a power-on");
    const answer last = co_await power(access, "status");
    // 1.0.3 compares what it heard in between with a text that no board prints.
    co_return last.text == said_off || (!is_late() && off.status == 0 && last.text == said_on);
}

// The last of those with the most free memory, as it compares.
async::awaitable<std::string> foreign_fence::choose_target(std::string but) {
    std::string best;
    std::int64_t most = -1;
    for (const auto& name : co_await node_.session.children("/nodes")) {
        const std::string root = "/nodes/" + name;
        const std::string state = co_await word(root + "/daemonstate");
        const std::string domains = co_await word(root + "/domainstate");
        const std::int64_t free = whole_number(co_await word(root + "/memfree"));
        if (name != but && state == "run" && domains == "ready" && free > most) {
            most = free;
            best = name;
        }
    }
    co_return best;
}

async::awaitable<void> foreign_fence::recover(std::string name) {
    const std::string root = "/nodes/" + name;
    const std::string list = co_await word(root + "/runningdomains");
    co_await node_.session.write(root + "/domainstate", "fence-flush");
    for (const auto one : split_blanks(list)) {
        const auto id = parse_uuid(one);
        const std::string domain = "/domains/" + std::string(one);
        if (!id || !co_await node_.session.read(domain + "/state")) {
            continue;
        }
        co_await node_.pass(before_machine, "the locks of its disks");
        const bool is_free = !node_.settings.break_locks || node_.settings.break_locks(*id);
        const std::string target = is_free ? co_await choose_target(name) : std::string();
        if (!target.empty()) {
            std::vector<model::key_value> keys;
            keys.push_back({domain + "/state", "start"});
            keys.push_back({domain + "/node", target});
            keys.push_back({domain + "/lastnode", name});
            co_await node_.session.write(std::move(keys));
        }
    }
    co_await node_.session.write(root + "/domainstate", "flushed");
}

}  // namespace pvc::sim
