#include "pvcnoded/ctl/tables.hpp"

#include "pvcnoded/base/text.hpp"
#include "pvcnoded/base/utf8.hpp"
#include "tame.hpp"

#include <fmt/format.h>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <array>
#include <ctime>
#include <vector>

namespace pvc::ctl {

namespace json = boost::json;

namespace {

// One line of it.
std::string tame_line(std::string_view text) {
    std::string line = tame(text);
    std::ranges::replace_if(line, [](char c) { return is_ascii_control(c); }, ' ');
    return line;
}

// A whole number of seconds and more in the units of people: "42.1 s", "3 min 5 s", "2 h 10 min", "5 d 3 h".
std::string age_text(double seconds) {
    constexpr double most = 1e12;
    if (!(seconds >= 0 && seconds < most)) {
        return "-";
    }
    const auto whole = static_cast<std::int64_t>(seconds);
    if (whole < 60) {
        return fmt::format("{:.1f} s", seconds);
    }
    if (whole < 3600) {
        return fmt::format("{} min {} s", whole / 60, whole % 60);
    }
    if (whole < 86400) {
        return fmt::format("{} h {} min", whole / 3600, whole / 60 % 60);
    }
    return fmt::format("{} d {} h", whole / 86400, whole / 3600 % 24);
}

// How late something was.
std::string delay_text(double seconds) {
    constexpr double most = 1e9;
    return seconds >= 0 && seconds < most ? fmt::format("{:.0f} ms", seconds * 1000) : "-";
}

// What is looked for may be missing, or of another kind.
class reader {
public:
    explicit reader(const json::value* from) : object_(from == nullptr ? nullptr : from->if_object()) {}
    explicit reader(const json::object& from) : object_(&from) {}

    [[nodiscard]] bool exists() const { return object_ != nullptr; }
    [[nodiscard]] const json::value* value(std::string_view name) const {
        return object_ == nullptr ? nullptr : object_->if_contains(json::string_view(name.data(), name.size()));
    }
    [[nodiscard]] reader child(std::string_view name) const { return reader(value(name)); }
    [[nodiscard]] std::vector<json::value> items(std::string_view name) const {
        const json::value* found = value(name);
        const json::array* list = found == nullptr ? nullptr : found->if_array();
        return list == nullptr ? std::vector<json::value>() : std::vector<json::value>(list->begin(), list->end());
    }
    [[nodiscard]] std::string text(std::string_view name) const {
        const json::value* found = value(name);
        if (found == nullptr || found->is_null()) {
            return "-";
        }
        if (const json::string* text = found->if_string()) {
            return tame_line({text->data(), text->size()});
        }
        return tame_line(json::serialize(*found));
    }
    [[nodiscard]] bool has(std::string_view name) const {
        const json::value* found = value(name);
        return found != nullptr && !found->is_null();
    }
    [[nodiscard]] bool is_true(std::string_view name) const {
        const json::value* found = value(name);
        return found != nullptr && found->is_bool() && found->get_bool();
    }
    [[nodiscard]] double number(std::string_view name) const {
        const json::value* found = value(name);
        json::error_code code;
        const double got = found != nullptr && found->is_number() ? found->to_number<double>(code) : -1.0;
        return code ? -1.0 : got;
    }
    [[nodiscard]] std::string age(std::string_view name) const { return age_text(number(name)); }

private:
    const json::object* object_;
};

enum class look { plain, good, doubtful, bad };

class page {
public:
    explicit page(bool coloured) : coloured_(coloured) {}

    void row(std::string_view name, const std::string& value, look how = look::plain) {
        text_ += fmt::format("{:<15} {}\n", name, coloured(value, how));
    }
    void line(const std::string& text) { text_ += text + '\n'; }
    [[nodiscard]] std::string coloured(const std::string& text, look how) const {
        const char* code = how == look::good ? "32" : how == look::doubtful ? "33" : "31";
        return !coloured_ || how == look::plain ? text : fmt::format("\x1b[{}m{}\x1b[0m", code, text);
    }
    [[nodiscard]] std::string take() { return std::move(text_); }

private:
    bool coloured_;
    std::string text_;
};

// Columns as wide as their widest cell, the last one as it is.
std::string columns(const std::vector<std::vector<std::string>>& rows) {
    std::vector<std::size_t> widths(rows.front().size(), 0);
    const auto width_of = [](const std::string& cell) {
        return static_cast<std::size_t>(std::ranges::count_if(cell, [](char c) { return !is_continuation(c); }));
    };
    for (const auto& row : rows) {
        for (std::size_t at = 0; at < row.size(); ++at) {
            widths[at] = std::max(widths[at], width_of(row[at]));
        }
    }
    std::string text;
    for (const auto& row : rows) {
        for (std::size_t at = 0; at + 1 < row.size(); ++at) {
            text += row[at] + std::string(widths[at] - width_of(row[at]) + 2, ' ');
        }
        text += row.back() + '\n';
    }
    return text;
}

std::string head_page(const reader& from, bool is_coloured) {
    page out(is_coloured);
    const auto phase = from.child("phase");
    const auto beat = from.child("heartbeat");
    const auto zookeeper = from.child("zookeeper");
    const std::string state = from.text("state");
    const bool is_running = state == "running";
    out.row("node", from.text("node"));
    out.row("version", from.text("implementation"));
    out.row("up for", from.age("uptime_s"));
    out.row("state",
            is_running ? state
                       : fmt::format("{}, phase S{}: {}, since {} (attempt {})", state, phase.text("number"),
                                     phase.text("name"), phase.age("age_s"), phase.text("attempt")),
            is_running ? look::good : look::doubtful);
    out.row("mode", from.text("mode"));
    out.row("role", from.text("role"));
    out.row("maintenance", from.is_true("maintenance") ? "on" : "off",
            from.is_true("maintenance") ? look::doubtful : look::plain);
    const bool is_old = beat.number("age_s") < 0 || beat.number("age_s") > 2 * beat.number("interval_s");
    out.row("heartbeat",
            beat.has("age_s") ? fmt::format("{} ago (every {} s; dead after {} s)", beat.age("age_s"),
                                            beat.text("interval_s"), beat.text("dead_after_s"))
                              : "none yet",
            is_old ? look::bad : look::good);
    const std::string link = zookeeper.text("state");
    // Connected never: it is not open yet.
    const std::string_view how = zookeeper.number("connections") == 0 ? "being built" : "open";
    std::string words = zookeeper.has("session_age_s")
                            ? fmt::format("{}, session {} for {} (number {})", link, how,
                                          zookeeper.age("session_age_s"), zookeeper.text("sessions"))
                            : link;
    words += zookeeper.has("reason") ? ", " + zookeeper.text("reason") : "";
    words += zookeeper.has("outage_s") ? ", away for " + zookeeper.age("outage_s") : "";
    out.row("zookeeper", words, link == "connected" ? look::good : look::bad);
    out.row("schema", from.text("schema_version"));
    return out.take();
}

std::string subjects_page(const reader& from) {
    page out(false);
    for (const auto& one : from.items("subjects")) {
        const reader subject(&one);
        std::string name = subject.text("name");
        for (const auto& line : subject.items("lines")) {
            const json::string* text = line.if_string();
            out.row(name, text == nullptr ? "-" : tame_line({text->data(), text->size()}));
            name.clear();
        }
    }
    return out.take();
}

std::string tasks_page(const reader& from) {
    constexpr double depth_max = 40;
    page out(false);
    for (const auto& one : from.items("tasks")) {
        const reader task(&one);
        const auto depth = static_cast<std::size_t>(std::clamp(task.number("depth"), 0.0, depth_max));
        std::string line =
            fmt::format("{:>7}{} {}{}  ({})", task.text("id"), task.is_true("can_be_cancelled") ? '*' : ' ',
                        std::string(depth * 2, ' '), task.text("name"), task.age("age_s"));
        if (task.has("waits_for")) {
            line += fmt::format("  {}waits for {} since {}", task.is_true("is_idle") ? "idle, " : "",
                                task.text("waits_for"), task.age("waits_since_s"));
            line += task.has("at_most_s") ? fmt::format(", at most {} more", task.age("at_most_s")) : "";
        }
        for (const auto& lock : task.items("locks")) {
            const json::string* text = lock.if_string();
            line += text == nullptr ? "" : "  holds " + tame_line({text->data(), text->size()});
        }
        out.line(line);
    }
    if (!from.is_true("is_complete")) {
        out.line("(there are more)");
    }
    return out.take();
}

std::string cancelled_page(const reader& from) {
    page out(false);
    out.line(fmt::format("task {} ({}) {}", from.text("id"), from.text("name"),
                         from.is_true("has_ended") ? "has ended" : "was told to end, and still does"));
    return out.take();
}

// "heartbeat_age_s" is shown as "heartbeat age", in units of people.
std::string field_title(std::string_view name) {
    std::string title(name.ends_with("_s") ? name.substr(0, name.size() - 2) : name);
    std::ranges::replace(title, '_', ' ');
    return tame_line(title);
}

std::string field_text(const reader& from, std::string_view name) {
    const json::value* found = from.value(name);
    if (found != nullptr && found->is_bool()) {
        return found->get_bool() ? "yes" : "no";
    }
    return name.ends_with("_s") && from.has(name) ? from.age(name) : from.text(name);
}

// The columns of the first object are those of all.
std::string list_of_objects(const json::array& all) {
    const json::object* first = all.empty() ? nullptr : all.front().if_object();
    if (first == nullptr || first->empty()) {
        return "(none)\n";
    }
    std::vector<std::vector<std::string>> rows(1);
    for (const auto& column : *first) {
        rows.front().push_back(field_title(column.key()));
        std::ranges::transform(rows.front().back(), rows.front().back().begin(),
                               [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
    }
    for (const auto& one : all) {
        const reader row(&one);
        auto& cells = rows.emplace_back();
        for (const auto& column : *first) {
            cells.push_back(field_text(row, column.key()));
        }
    }
    return columns(rows);
}

// Facts first, then each list: of whatever is explained.
std::string explained_page(const json::object& result) {
    const reader from(result);
    page out(false);
    std::string lists;
    for (const auto& one : result) {
        if (const json::array* list = one.value().if_array()) {
            lists += fmt::format("\n{}:\n{}", field_title(one.key()), list_of_objects(*list));
        } else {
            out.row(field_title(one.key()), field_text(from, one.key()));
        }
    }
    return out.take() + lists;
}

std::string machines_page(const reader& from) {
    std::vector<std::vector<std::string>> rows{{"NAME", "STATE", "FOR", "GUEST", "NODE", "OPERATION"}};
    for (const auto& one : from.items("machines")) {
        const reader machine(&one);
        const auto doing = machine.child("operation");
        std::string operation = "-";
        if (doing.exists()) {
            operation = fmt::format("{}: waits for {}", doing.text("name"), doing.text("waits_for"));
            operation += doing.has("at_most_s") ? fmt::format(", at most {} more", doing.age("at_most_s")) : "";
        }
        rows.push_back({machine.has("name") ? machine.text("name") : machine.text("uuid"), machine.text("state"),
                        machine.age("state_age_s"), machine.text("guest"), machine.text("node"), operation});
    }
    return columns(rows) + (from.is_true("is_complete") ? "" : "(there are more)\n");
}

std::string machine_page(const reader& machine) {
    page out(false);
    out.row("name", machine.text("name"));
    out.row("uuid", machine.text("uuid"));
    out.row("state", fmt::format("{}, for {}", machine.text("state"), machine.age("state_age_s")));
    out.row("node", machine.text("node"));
    out.row("guest", machine.text("guest"));
    out.row("running list", machine.is_true("is_listed") ? "yes" : "no");
    const auto doing = machine.child("operation");
    if (!doing.exists()) {
        out.row("operation", "none");
        return out.take();
    }
    out.row("operation", doing.text("name"));
    out.row("waits for", doing.text("waits_for") +
                             (doing.has("at_most_s") ? fmt::format(", at most {} more", doing.age("at_most_s")) : ""));
    for (const auto& one : doing.items("answers")) {
        const reader answer(&one);
        out.row("  if", fmt::format("{}: {}", answer.text("answer"), answer.text("next")));
    }
    return out.take();
}

std::string daemon_page(const reader& from) {
    page out(false);
    out.row("version", from.text("implementation"));
    out.row("process", from.text("pid"));
    out.row("up for", from.age("uptime_s"));
    out.row("tasks", fmt::format("{}, {} of them wait", from.text("tasks"), from.text("tasks_waiting")));
    out.row("memory", fmt::format("{} KiB resident (at most {}), {} KiB of it private", from.text("resident_kib"),
                                  from.text("highest_resident_kib"), from.text("private_kib")));
    out.row("loop", fmt::format("{} late in the last second, at most {}", delay_text(from.number("loop_delay_s")),
                                delay_text(from.number("highest_loop_delay_s"))));
    std::string name = "log";
    for (const auto& one : from.items("log_sinks")) {
        const reader sink(&one);
        const bool has_lost = sink.number("dropped") > 0;
        out.row(name,
                fmt::format("{}: {} lines wait, {} lost", sink.text("name"), sink.text("queued"), sink.text("dropped")),
                has_lost ? look::doubtful : look::plain);
        name.clear();
    }
    out.row("log followers", from.text("log_followers"));
    out.row("threads", fmt::format("{}, {} calls wait for one", from.text("pool_threads"), from.text("pool_waiting")));
    out.row("sessions", from.text("sessions"));
    out.row("watches", fmt::format("{} ({} bytes)", from.text("watches"), from.text("watch_bytes")));
    return out.take();
}

std::string ready_page(const reader& from, bool is_coloured) {
    page out(is_coloured);
    if (from.is_true("is_ready")) {
        out.line(out.coloured("ready", look::good));
        return out.take();
    }
    std::string name = "not ready";
    for (const auto& one : from.items("reasons")) {
        const json::string* text = one.if_string();
        out.row(name, text == nullptr ? "-" : tame_line({text->data(), text->size()}), look::bad);
        name.clear();
    }
    if (!name.empty()) {
        out.line(name);
    }
    return out.take();
}

std::string levels_page(const reader& from) {
    page out(false);
    out.row("configured", from.text("configured"));
    for (const auto& one : from.items("set")) {
        const reader setting(&one);
        out.row(setting.has("subject") ? setting.text("subject") : "all",
                fmt::format("{}, for {} more", setting.text("level"), setting.age("left_s")));
    }
    return out.take();
}

std::string settings_page(const reader& from) {
    page out(false);
    const json::value* found = from.value("settings");
    if (const json::object* all = found == nullptr ? nullptr : found->if_object()) {
        for (const auto& one : *all) {
            const reader value(*all);
            out.line(fmt::format("{} = {}", tame_line(one.key()), value.text(one.key())));
        }
    }
    return out.take();
}

std::string check_page(const reader& from, bool is_coloured) {
    page out(is_coloured);
    for (const auto& one : from.items("remarks")) {
        const json::string* text = one.if_string();
        out.line(text == nullptr ? "-" : tame_line({text->data(), text->size()}));
    }
    const bool is_good = from.is_true("is_good");
    out.line(fmt::format("{}: {}", from.text("file"),
                         is_good ? out.coloured("good", look::good) : out.coloured("not good", look::bad)));
    return out.take();
}

std::string absent_page(const reader& from, bool is_coloured) {
    page out(is_coloured);
    out.row("state", "no pvcnoded listens", look::bad);
    const auto beat = from.child("heartbeat");
    if (!beat.exists()) {
        out.row("heartbeat", "none is noted");
    } else if (beat.has("age_s")) {
        out.row("heartbeat", fmt::format("{} ago, the last one that was acknowledged (role {})", beat.age("age_s"),
                                         beat.text("role")));
    } else {
        out.row("heartbeat", beat.is_true("is_of_this_boot") ? "none was acknowledged" : "before this boot");
    }
    const auto unit = from.child("unit");
    if (!unit.exists()) {
        out.row("unit", from.text("unit_problem"));
        return out.take();
    }
    std::string text = fmt::format("{}: {} ({})", unit.text("name"), unit.text("active_state"), unit.text("sub_state"));
    text += unit.has("since") ? ", since " + unit.text("since") : "";
    text += fmt::format(", result {}, exit status {}", unit.text("result"), unit.text("exit_status"));
    out.row("unit", unit.text("load_state") == "not-found" ? unit.text("name") + " is not installed" : text);
    return out.take();
}

std::string time_text(std::int64_t microseconds) {
    const std::time_t seconds = microseconds / 1'000'000;
    std::tm local{};
    ::localtime_r(&seconds, &local);
    std::array<char, 32> text{};
    std::strftime(text.data(), text.size(), "%Y/%m/%d %H:%M:%S", &local);
    return fmt::format("{}.{:03}", text.data(), microseconds / 1000 % 1000);
}

}  // namespace

std::string table(std::string_view command, const json::object& result, bool coloured) {
    const reader from(result);
    if (command == "status") {
        return head_page(from, coloured) + subjects_page(from);
    }
    if (command == "tasks") {
        return tasks_page(from);
    }
    if (command == "tasks cancel") {
        return cancelled_page(from);
    }
    if (command == "vm list") {
        return machines_page(from);
    }
    if (command == "vm show") {
        return machine_page(from.child("machine"));
    }
    if (command == "daemon") {
        return daemon_page(from);
    }
    if (command == "ready") {
        return ready_page(from, coloured);
    }
    if (command == "log level") {
        return levels_page(from);
    }
    if (command == "config show") {
        return settings_page(from);
    }
    if (command == "config check") {
        return check_page(from, coloured);
    }
    if (command.starts_with("explain ") || command.starts_with("fence ")) {
        return explained_page(result);
    }
    if (command == "absent") {
        return absent_page(from, coloured);
    }
    return json_text(result);
}

std::string task_name(const json::object& tasks, std::int64_t id) {
    for (const auto& one : reader(tasks).items("tasks")) {
        const reader task(&one);
        const json::value* number = task.value("id");
        if (number != nullptr && number->is_int64() && number->get_int64() == id) {
            return task.text("name");
        }
    }
    return {};
}

std::string log_lines(const json::object& result, bool coloured) {
    const reader from(result);
    page out(coloured);
    for (const auto& one : from.items("records")) {
        const reader record(&one);
        const json::value* time = record.value("time_us");
        const bool has_time = time != nullptr && time->is_int64() && time->get_int64() >= 0;
        const std::string level = record.text("level");
        const look how = level == "error" ? look::bad : level == "warning" ? look::doubtful : look::plain;
        out.line(fmt::format("{} {} {}{}", has_time ? time_text(time->get_int64()) : "-",
                             out.coloured(fmt::format("{:<7}", level), how),
                             record.has("subject") ? record.text("subject") + " - " : "", record.text("text")));
    }
    if (from.number("missed") > 0) {
        out.line(out.coloured(fmt::format("({} records were missed: read too slowly)", from.text("missed")),
                              look::doubtful));
    }
    return out.take();
}

std::string log_json_lines(const json::object& result) {
    const reader from(result);
    std::string text;
    for (const auto& one : from.items("records")) {
        if (const auto* record = one.if_object()) {
            text += json_text(*record);
        }
    }
    if (from.number("missed") > 0) {
        text += json_text({{"missed", *from.value("missed")}});
    }
    return text;
}

std::string live_page(const json::object& status, const json::object& machines, bool coloured) {
    const reader from(status);
    const reader list(machines);
    std::string text = head_page(from, coloured) + '\n';
    if (list.has("machines")) {
        text += machines_page(list) + '\n';
    }
    return text + subjects_page(from);
}

std::string screen_of(std::string_view text, std::size_t rows) {
    auto lines = split(text, '\n');
    while (!lines.empty() && lines.back().empty()) {
        lines.pop_back();
    }
    const std::size_t most = std::max<std::size_t>(rows, 2) - 1;  // the last row would scroll
    std::string out = "\x1b[H";
    for (std::size_t at = 0; at < std::min(lines.size(), most); ++at) {
        const bool is_cut = at + 1 == most && lines.size() > most;
        out += is_cut ? fmt::format("({} more lines)", lines.size() - at) : std::string(lines[at]);
        out += "\x1b[K\n";
    }
    return out + "\x1b[J";
}

}  // namespace pvc::ctl
