#include "pvcnoded/control/answers.hpp"

#include "answer_parts.hpp"
#include "pvcnoded/base/text.hpp"
#include "pvcnoded/config/load.hpp"
#include "pvcnoded/core/log_follower.hpp"

#include <boost/json/array.hpp>

#include <algorithm>

namespace pvc::control {

namespace json = boost::json;
using protocol::problem;

namespace {

// A tree or a list that is longer is cut off, and says so: the loop has other things to do.
constexpr std::size_t tasks_max = 5000;
constexpr std::size_t machines_max = 5000;
constexpr std::size_t followers_max = 4;
constexpr std::size_t records_a_batch = 200;
constexpr std::size_t subject_bytes_max = 64;
// What somebody set at night is not what fills the disk in the morning.
constexpr duration level_time = std::chrono::hours(1);

double seconds(duration time) {
    return answer_seconds(time);
}

json::value seconds(const std::optional<duration>& time) {
    return time ? json::value(seconds(*time)) : json::value();
}

json::value text_or_null(const std::string& text) {
    return text.empty() ? json::value() : json::value(text);
}

json::object object_of(const async::task_view& seen) {
    json::object out{{"id", seen.id},
                     {"depth", seen.depth},
                     {"name", seen.name},
                     {"age_s", seconds(seen.age)},
                     {"can_be_cancelled", seen.can_be_cancelled}};
    if (seen.wait) {
        out["waits_for"] = seen.wait->what;
        out["waits_since_s"] = seconds(seen.wait->since);
        out["at_most_s"] = seconds(seen.wait->at_most);
        out["is_idle"] = seen.wait->is_idle;
    } else {
        out["waits_for"] = nullptr;
    }
    json::array locks;
    for (const auto& lock : seen.locks) {
        locks.emplace_back(lock);
    }
    out["locks"] = std::move(locks);
    return out;
}

json::object object_of(const core::machine_view& seen) {
    json::object out{{"uuid", to_text(seen.id)},
                     {"name", text_or_null(seen.name)},
                     {"state", seen.state},
                     {"state_age_s", seconds(seen.state_age)},
                     {"node", text_or_null(seen.node)},
                     {"guest", text_or_null(seen.guest)},
                     {"is_listed", seen.is_listed},
                     {"operation", nullptr}};
    if (!seen.doing) {
        return out;
    }
    json::object doing{
        {"name", seen.doing->name}, {"waits_for", seen.doing->waits_for}, {"at_most_s", seconds(seen.doing->at_most)}};
    json::array answers;
    for (const auto& [said, next] : seen.doing->answers) {
        answers.push_back(json::object{{"answer", said}, {"next", next}});
    }
    doing["answers"] = std::move(answers);
    out["operation"] = std::move(doing);
    return out;
}

// Empty: it is not there, or no text.
std::optional<std::string> text_parameter(const protocol::request& asked, std::string_view name) {
    const json::value* found = asked.parameters.if_contains(json::string_view(name.data(), name.size()));
    const json::string* text = found == nullptr ? nullptr : found->if_string();
    return text == nullptr ? std::nullopt : std::optional(std::string(text->data(), text->size()));
}

class log_feed final : public feed {
public:
    explicit log_feed(core::log_hub& log) : from_(log) {}

    async::awaitable<json::object> next() override {
        const auto got = co_await from_.next(records_a_batch);
        json::array records;
        for (const auto& one : got.records) {
            const auto when = std::chrono::duration_cast<std::chrono::microseconds>(one.when.time_since_epoch());
            records.push_back(json::object{{"time_us", when.count()},
                                           {"level", core::to_text(one.level)},
                                           {"subject", text_or_null(one.prefix)},
                                           {"text", one.text}});
        }
        co_return json::object{{"records", std::move(records)}, {"missed", got.missed}};
    }

private:
    core::log_follower from_;
};

}  // namespace

process_memory parse_process_status(std::string_view text) {
    process_memory found;
    for (const auto line : split(text, '\n')) {
        const auto parts = split_blanks(line);
        const auto value = parts.size() == 3 && parts[2] == "kB" ? parse_integer(parts[1]) : std::nullopt;
        if (!value || *value < 0) {
            continue;
        }
        if (parts[0] == "VmRSS:") {
            found.resident_kib = *value;
        } else if (parts[0] == "VmHWM:") {
            found.highest_resident_kib = *value;
        } else if (parts[0] == "RssAnon:") {
            found.private_kib = *value;
        }
    }
    return found;
}

reply answers::to(const protocol::request& asked, const asker& who) const {
    if (asked.name == "status") {
        return status();
    }
    if (asked.name == "tasks") {
        return tasks();
    }
    if (asked.name == "tasks cancel") {
        return cancel_task(asked, who);
    }
    if (asked.name == "vm list") {
        return machines();
    }
    if (asked.name == "vm show") {
        return machine(asked);
    }
    if (asked.name == "daemon") {
        return process();
    }
    if (asked.name == "ready") {
        return ready();
    }
    if (asked.name == "config show") {
        return settings();
    }
    if (asked.name == "log level") {
        return log_level(asked, who);
    }
    if (asked.name == "log follow") {
        return log_follow();
    }
    if (asked.name.starts_with("explain ")) {
        return explain(asked);
    }
    if (asked.name == "fence list" || asked.name == "fence show" || asked.name == "fence probe") {
        return fence(asked);
    }
    if (asked.name == "fence confirm") {
        return confirm_fence(asked, who);
    }
    if (asked.name == "fence retry") {
        return retry_fence(asked, who);
    }
    return refuse(problem::unknown_request, "nobody here answers to \"" + shown(asked.name) + "\"");
}

protocol::answer answers::status() const {
    const auto& node = daemon_.context();
    const auto seen = daemon_.view();
    const auto& phase = policy::info_of(seen.phase);
    const bool is_stopping = node.stopping.value();
    protocol::answer said;
    json::object& out = said.result;
    out["node"] = node.self();
    out["implementation"] = daemon_.implementation();
    out["mode"] = model::to_text(node.mode);
    out["uptime_s"] = seconds(seen.uptime);
    out["state"] = is_stopping ? "stopping" : node.started ? "running" : "starting";
    out["phase"] = json::object{
        {"number", phase.number}, {"name", phase.name}, {"age_s", seconds(seen.phase_age)}, {"attempt", seen.attempts}};
    out["maintenance"] = node.maintenance;
    out["role"] = model::to_text(node.role.now());
    out["schema_version"] = node.schema_version.value();
    out["heartbeat"] = heartbeat();
    out["zookeeper"] = zookeeper();
    out["subjects"] = reports();
    return said;
}

json::object answers::heartbeat() const {
    const auto& node = daemon_.context();
    json::object out{{"age_s", nullptr}, {"interval_s", node.times.keepalive.count()}, {"dead_after_s", nullptr}};
    if (node.heartbeat_sent) {
        out["age_s"] = seconds(node.heartbeat_age());
    }
    if (node.times.fence > 0) {
        out["dead_after_s"] = node.times.dead_after().count();
    }
    return out;
}

json::object answers::zookeeper() const {
    const auto& node = daemon_.context();
    const auto seen = daemon_.view();
    json::object out{{"state", "none"}, {"sessions", node.sessions_opened}, {"outage_s", seconds(seen.outage_age)}};
    if (seen.session) {
        const auto& now = *seen.session;
        out["state"] = zookeeper::to_text(now.now);
        out["session_age_s"] = seconds(seen.session_age);
        out["timeout_s"] = seconds(duration(now.timeout));
        out["connections"] = now.connections;
        out["reason"] = text_or_null(now.reason);
        // Of this state: while connected the connection lives, and each heartbeat proves it anew.
        out["contact_age_s"] =
            now.contact == boot_time{} ? json::value() : json::value(seconds(node.clock().boot_now() - now.contact));
    }
    return out;
}

// Each subject by itself: one that is added later is told of without a change here.
json::array answers::reports() const {
    json::array all;
    for (const auto& one : daemon_.subjects()) {
        const auto* teller = dynamic_cast<const core::reporter*>(one.get());
        if (teller == nullptr) {
            continue;
        }
        std::vector<std::string> lines;
        teller->report(lines);
        json::array told;
        // In the log a line names its subject; here that is said already.
        const std::string prefix = std::string(one->name()) + ": ";
        for (const std::string_view line : lines) {
            told.emplace_back(line.substr(line.starts_with(prefix) ? prefix.size() : 0));
        }
        all.push_back(json::object{{"name", one->name()}, {"lines", std::move(told)}});
    }
    return all;
}

protocol::answer answers::tasks() const {
    std::vector<async::task_view> all;
    const bool is_complete = daemon_.view_tasks(all, tasks_max);
    json::array tasks;
    tasks.reserve(all.size());
    for (const auto& one : all) {
        tasks.push_back(object_of(one));
    }
    protocol::answer said;
    said.result = {{"tasks", std::move(tasks)}, {"is_complete", is_complete}};
    return said;
}

protocol::answer answers::machines() const {
    std::vector<core::machine_view> all;
    bool is_complete = true;
    bool has_any = false;
    for (const auto* one : core::all_that_are<core::machine_reporter>(daemon_.subjects())) {
        has_any = true;
        is_complete = one->report_machines(all, machines_max) && is_complete;
    }
    if (!has_any) {
        return refuse(problem::not_found, "this node has no virtual machines: enable_hypervisor is off");
    }
    json::array list;
    list.reserve(all.size());
    for (const auto& one : all) {
        list.push_back(object_of(one));
    }
    protocol::answer said;
    said.result = {{"machines", std::move(list)}, {"is_complete", is_complete}};
    return said;
}

protocol::answer answers::machine(const protocol::request& asked) const {
    const json::value* which = asked.parameters.if_contains("vm");
    if (which == nullptr || !which->is_string()) {
        return refuse(problem::bad_request, "the parameter \"vm\" is missing: a name or a UUID");
    }
    const std::string_view name(which->get_string().data(), which->get_string().size());
    for (const auto* one : core::all_that_are<core::machine_reporter>(daemon_.subjects())) {
        if (const auto seen = one->report_machine(name)) {
            protocol::answer said;
            said.result = {{"machine", object_of(*seen)}};
            return said;
        }
    }
    return refuse(problem::not_found, "no virtual machine \"" + shown(name) + "\" belongs to this node or runs here");
}

protocol::answer answers::process() const {
    const auto text = host_.read_file("/proc/self/status");
    const process_memory memory = text ? parse_process_status(*text) : process_memory();
    std::vector<async::task_view> all;
    const bool is_complete = daemon_.view_tasks(all, tasks_max);
    const auto waiting = std::ranges::count_if(all, [](const auto& one) { return one.wait.has_value(); });
    const auto& node = daemon_.context();
    protocol::answer said;
    said.result = {{"implementation", daemon_.implementation()},
                   {"pid", node.machine.pid},
                   {"uptime_s", seconds(daemon_.view().uptime)},
                   {"tasks", all.size()},
                   {"tasks_waiting", waiting},
                   {"tasks_complete", is_complete},
                   {"resident_kib", memory.resident_kib},
                   {"highest_resident_kib", memory.highest_resident_kib},
                   {"private_kib", memory.private_kib}};
    add_figures(said.result);
    return said;
}

void answers::add_figures(json::object& out) const {
    const auto& node = daemon_.context();
    const auto seen = daemon_.view();
    json::array sinks;
    for (const auto* one : node.log.sinks()) {
        sinks.push_back(json::object{{"name", one->name()}, {"queued", one->queued()}, {"dropped", one->dropped()}});
    }
    out["log_sinks"] = std::move(sinks);
    out["log_followers"] = node.log.followers();
    out["sessions"] = node.sessions_opened;
    out["watches"] = seen.watches;
    out["watch_bytes"] = seen.watch_bytes;
    out["loop_delay_s"] = nullptr;
    out["highest_loop_delay_s"] = nullptr;
    out["pool_threads"] = nullptr;
    out["pool_waiting"] = nullptr;
    if (around_) {
        const surroundings around = around_();
        out["loop_delay_s"] = seconds(around.loop_delay);
        out["highest_loop_delay_s"] = seconds(around.highest_loop_delay);
        out["pool_threads"] = around.pool_threads;
        out["pool_waiting"] = around.pool_waiting;
    }
}

// For whoever upgrades one node after the other: does this one do its work again, and is nothing half done?
protocol::answer answers::ready() const {
    const auto& node = daemon_.context();
    const auto seen = daemon_.view();
    std::vector<std::string> reasons;
    if (node.stopping.value()) {
        reasons.emplace_back("the daemon stops");
    } else if (!node.started) {
        const auto& phase = policy::info_of(seen.phase);
        reasons.push_back("the daemon starts: phase S" + std::to_string(phase.number) + ", " + std::string(phase.name));
    }
    if (!seen.session || seen.session->now != zookeeper::link::connected) {
        reasons.emplace_back("ZooKeeper is not connected");
    }
    if (!node.heartbeat_sent) {
        reasons.emplace_back("no heartbeat was acknowledged yet");
    } else if (node.heartbeat_age() >= 2 * node.times.keepalive) {
        const auto age = std::chrono::duration_cast<std::chrono::seconds>(node.heartbeat_age()).count();
        reasons.push_back("the last heartbeat was acknowledged " + std::to_string(age) + " s ago");
    }
    for (const auto* one : core::all_that_are<core::readiness_reporter>(daemon_.subjects())) {
        one->report_unready(reasons);
    }
    json::array all(reasons.begin(), reasons.end());
    protocol::answer said;
    said.result = {{"is_ready", all.empty()}, {"reasons", std::move(all)}};
    return said;
}

protocol::answer answers::settings() const {
    const auto& config = *daemon_.context().config;
    json::object all;
    for (const auto& [name, value] : config::effective_settings(config)) {
        all[name] = value;
    }
    protocol::answer said;
    said.result = {{"file", config.file}, {"settings", std::move(all)}};
    return said;
}

json::object answers::levels() const {
    const auto& node = daemon_.context();
    const time_point now = node.clock().now();
    json::array set;
    for (const auto& one : node.log.levels().settings()) {
        if (one.until > now) {
            set.push_back(json::object{{"subject", text_or_null(one.subject)},
                                       {"level", core::to_text(one.detail)},
                                       {"left_s", seconds(one.until - now)}});
        }
    }
    return {{"configured", core::to_text(node.log.levels().configured())}, {"set", std::move(set)}};
}

protocol::answer answers::log_level(const protocol::request& asked, const asker& who) const {
    auto& log = daemon_.context().log;
    // What it does not know could be a slip of the pen: then it would be for all.
    for (const auto& [name, value] : asked.parameters) {
        if ((name != "level" && name != "subject") || !value.is_string()) {
            return refuse(problem::bad_request, "the parameters are the texts \"level\" and \"subject\"");
        }
    }
    const auto level = text_parameter(asked, "level");
    const auto subject = text_parameter(asked, "subject");
    if (!level && !subject) {
        protocol::answer said;
        said.result = levels();
        return said;
    }
    if (!who.may_change) {
        return refuse(problem::refused, "only root and the user of the daemon may change what is logged");
    }
    const auto detail = core::parse_log_detail(level.value_or(""));
    if (!detail && level != "default") {
        return refuse(problem::bad_request,
                      "the level is \"" + shown(level.value_or("")) + "\", not error, warning, info, debug or default");
    }
    if (subject && (subject->empty() || subject->size() > subject_bytes_max)) {
        return refuse(problem::bad_request, "the subject is not a text of 1 to 64 bytes");
    }
    const auto set = log.set_level(subject.value_or(""), detail, level_time, name_of(who));
    if (!set) {
        const failure why = set.error();
        const bool is_missing = why.code() == errc::not_found;
        return refuse(is_missing ? problem::not_found : problem::busy, why.cause());
    }
    protocol::answer said;
    said.result = levels();
    return said;
}

reply answers::log_follow() const {
    auto& log = daemon_.context().log;
    if (log.followers() >= followers_max) {
        return refuse(problem::busy, std::to_string(followers_max) + " follow the log already; try again later");
    }
    // The first answer comes at once, so that who asks knows that it goes on.
    protocol::answer said;
    said.result = {{"records", json::array()}, {"missed", 0}};
    return {std::move(said), std::make_unique<log_feed>(log)};
}

}  // namespace pvc::control
