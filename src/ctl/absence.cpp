#include "pvcnoded/ctl/absence.hpp"

#include "pvcnoded/base/text.hpp"
#include "pvcnoded/ctl/program.hpp"

#include <algorithm>
#include <array>
#include <ctime>
#include <fstream>
#include <map>

namespace pvc::ctl {

namespace json = boost::json;

namespace {

using namespace std::chrono_literals;

constexpr std::size_t file_bytes_max = 4096;
constexpr std::chrono::milliseconds systemctl_limit = 2s;
constexpr std::string_view unit_name = "pvcnoded.service";

std::optional<std::string> read_start(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::string text(file_bytes_max, '\0');
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    if (file.gcount() <= 0) {
        return std::nullopt;
    }
    text.resize(static_cast<std::size_t>(file.gcount()));
    return text;
}

std::int64_t since_boot_ns() {
    timespec now{};
    ::clock_gettime(CLOCK_BOOTTIME, &now);  // tidy-allow(clock): no daemon and no loop here; the note is in this clock
    return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

// "<boot id> <boot time ns> <mzxid> <role>", as the daemon writes it; null: there is none, or no such text.
json::value heartbeat_of(const traces& found) {
    const std::string text = found.note.value_or("");
    const auto parts = split_blanks(text);
    const auto sent = parts.size() == 4 ? parse_integer(parts[1]) : std::nullopt;
    if (!sent) {
        return nullptr;
    }
    const bool is_of_this_boot = parts[0] == found.boot_id;
    json::object out{{"age_s", nullptr}, {"role", parts[3]}, {"is_of_this_boot", is_of_this_boot}};
    if (is_of_this_boot && *sent > 0 && *sent <= found.boot_ns) {
        const std::int64_t whole_ms = (found.boot_ns - *sent) / 1'000'000;
        out["age_s"] = static_cast<double>(whole_ms) / 1000.0;
    }
    return out;
}

json::value unit_of(const traces& found) {
    if (!found.unit) {
        return nullptr;
    }
    std::map<std::string_view, std::string_view> values;
    for (const std::string_view line : split(*found.unit, '\n')) {
        const auto at = line.find('=');
        if (at != std::string_view::npos) {
            values.insert_or_assign(line.substr(0, at), line.substr(at + 1));
        }
    }
    if (values["ActiveState"].empty()) {
        return nullptr;  // no systemd, or not one that understands
    }
    json::object out{{"name", unit_name}};
    static constexpr std::array<std::pair<std::string_view, std::string_view>, 5> names{
        {{"load_state", "LoadState"},
         {"active_state", "ActiveState"},
         {"sub_state", "SubState"},
         {"result", "Result"},
         {"since", "StateChangeTimestamp"}}};
    for (const auto& [name, property] : names) {
        const auto value = values[property];
        out[name] = value.empty() ? json::value() : json::value(value);
    }
    const auto status = parse_integer(values["ExecMainStatus"]);
    out["exit_status"] = status ? json::value(*status) : json::value();
    return out;
}

}  // namespace

json::object describe(const traces& found) {
    json::object out{{"state", "absent"}, {"heartbeat", heartbeat_of(found)}, {"unit", unit_of(found)}};
    if (out["unit"].is_null()) {
        out["unit_problem"] = found.unit ? "systemctl says nothing of it" : found.unit_problem;
    } else {
        out["unit_problem"] = nullptr;
    }
    return out;
}

traces look_for_traces(const std::string& socket) {
    traces found;
    const auto slash = socket.rfind('/');
    found.note = read_start((slash == std::string::npos ? std::string(".") : socket.substr(0, slash)) + "/heartbeat");
    found.boot_id = trim(read_start("/proc/sys/kernel/random/boot_id").value_or(""));
    found.boot_ns = since_boot_ns();
    const auto said = run_program(
        {"systemctl", "show", "--no-pager", "--property=" + std::string(unit_properties), std::string(unit_name)},
        systemctl_limit, {"LC_ALL=C"});
    if (said && said->status == 0) {
        found.unit = said->out;
    } else {
        const auto first_line = [](const std::string& text) { return text.substr(0, text.find('\n')); };
        found.unit_problem = said ? "systemctl: " + first_line(said->err) : said.error().text();
    }
    return found;
}

}  // namespace pvc::ctl
