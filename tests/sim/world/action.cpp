#include "sim/world/action.hpp"

#include "pvcnoded/base/assert.hpp"
#include "pvcnoded/base/text.hpp"
#include "sim/world/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace pvc::sim {

using namespace std::chrono_literals;

namespace {

using k = action_kind;

constexpr std::uint64_t steps_max = 1'000'000;
constexpr std::int64_t hours_max = 20'000;  // of one duration: a script of many still fits the clock

constexpr std::array<action_info, action_kinds> table{{
    {k::start, "start", "n", false, "the machine and its daemon start"},
    {k::terminate, "terminate", "n", false, "SIGTERM: the daemon stops in order"},
    {k::kill, "kill", "n", true, "SIGKILL; with `for`: it is started again then"},
    {k::power_off, "power-off", "n", true, "the power fails; what was not on the disk is lost"},
    {k::pause, "pause", "n", true, "SIGSTOP of the process"},
    {k::pause_with_answer, "pause-with-answer", "n", true,
     "SIGSTOP while the answer to its next request lies in the socket"},
    {k::resume, "resume", "n", false, "SIGCONT"},
    {k::upgrade, "upgrade", "ni", false, "stops in order and starts again, able to follow this schema version"},
    {k::cut, "cut", "n", true, "connections to ZooKeeper break, new ones are refused"},
    {k::mend, "mend", "n", false, "new connections are possible again"},
    {k::drop, "drop", "n", false, "the connection to ZooKeeper breaks once"},
    {k::silence, "silence", "n", true, "nothing arrives in either direction, and nobody is told"},
    {k::end_silence, "end-silence", "n", false, "what was sent meanwhile arrives"},
    {k::expire, "expire", "n", false, "the servers end the node's sessions"},
    {k::close_session, "close-session", "n", false, "somebody closes the node's session with its id"},
    {k::latency, "latency", "nd", true, "the way to ZooKeeper and back takes so long"},
    {k::answer_delay, "answer-delay", "nd", true, "answers to writes come so late"},
    {k::watch_delay, "watch-delay", "nd", true, "watch events come so late"},
    {k::lag, "lag", "nd", true, "the node's server is so far behind the leader"},
    {k::hold_answers, "hold-answers", "n", true, "requests arrive and are done; nothing is answered"},
    {k::release_answers, "release-answers", "n", false, "the answers come now"},
    {k::drop_next, "drop-next", "n", false, "the connection breaks before the next write is done"},
    {k::lose_answer, "lose-answer", "n", false, "the next write is done, and the connection breaks before its answer"},
    {k::step_clock, "step-clock", "nd", false, "the wall clock jumps"},
    {k::drift, "drift", "ni", true, "the machine's clock runs so many ppm too fast"},
    {k::suspend, "suspend", "nd", false, "the machine sleeps so long: only boot time and wall clock go on"},
    {k::hang_disk, "hang-disk", "n", true, "writes to the disk do not come back"},
    {k::break_disk, "break-disk", "n", true, "the disk is full: writes fail"},
    {k::break_log, "break-log", "n", true, "log outputs fail"},
    {k::fill_pool, "fill-pool", "n", true, "the offload pool takes nothing more"},
    {k::break_services, "break-services", "n", true, "the service manager does not answer"},
    {k::slow_services, "slow-services", "nd", true, "every answer of the service manager takes so long"},
    {k::break_figures, "break-figures", "n", true, "memory and load cannot be read"},
    {k::stop_libvirtd, "stop-libvirtd", "n", true, "SIGSTOP of libvirtd: its calls hang"},
    {k::kill_libvirtd, "kill-libvirtd", "n", true, "libvirtd ends; guests go on"},
    {k::cut_hypervisor, "cut-hypervisor", "n", true, "no migration and no question passes between it and others"},
    {k::break_storage, "break-storage", "n", true, "locks of disks can be neither listed nor broken from there"},
    {k::break_names, "break-names", "n", true, "names of other machines cannot be resolved: no migration, no question"},
    {k::few_threads, "few-threads", "ni", true, "so many questions to other hypervisors at a time, the rest wait"},
    {k::stop_servers, "stop-servers", "", true, "no quorum: all connections break, none is possible"},
    {k::start_servers, "start-servers", "", false, "the servers are back"},
    {k::freeze_servers, "freeze-servers", "", true, "the leader pauses: nothing is answered"},
    {k::thaw_servers, "thaw-servers", "", false, "it goes on"},
    {k::put, "put", "pv", false, "somebody writes a key"},
    {k::put_big, "put-big", "pi", false, "somebody writes so many bytes into a key"},
    {k::remove, "delete", "p", false, "somebody deletes a key with everything below"},
    {k::make_primary, "make-primary", "n", false, "a client wants this node as primary"},
    {k::maintenance, "maintenance", "v", true, "a client sets maintenance mode on or off"},
    {k::hold_lock, "hold-lock", "p", true, "a client takes the exclusive lock of a key"},
    {k::break_lock, "break-lock", "p", false, "somebody deletes all locks of a key"},
    {k::add_domains, "add-domains", "i", false, "clients define so many virtual machines"},
    {k::define_guest, "define-guest", "niv", false,
     "a client defines machine N of this kind (acpi, hang, dirty, off; also: diskless) there"},
    {k::set_guest, "set-guest", "iv", false, "a client sets the state of machine N, as soon as its lock is free"},
    {k::place_guest, "place-guest", "niv", false,
     "a client moves machine N there: migrate, migrate-live, move, flush (without a lock); unmigrate: back home"},
    {k::order_node, "order-node", "nv", false, "a client wants the node empty (flush) or back (ready)"},
    {k::undefine_guest, "undefine-guest", "i", false, "a client stops machine N and removes its keys"},
    {k::method_of_guest, "method-of-guest", "iv", false,
     "a client sets how machine N migrates: none, live or shutdown"},
    {k::lose_key, "lose-key", "iv", false, "somebody deletes this key of machine N"},
    {k::power_off_guest, "power-off-guest", "i", false, "the guest of machine N powers off by itself"},
    {k::crash_guest, "crash-guest", "i", false, "the process of machine N is killed"},
    {k::fail_call, "fail-call", "nv", false,
     "the next call of this name to the node's libvirtd fails (create, destroy)"},
    {k::hang_call, "hang-call", "nv", false, "the next call of this name does nothing and is never answered"},
    {k::delay_call, "delay-call", "ndv", false, "the next call of this name takes so long"},
    {k::late_call, "late-call", "ndv", false,
     "the next call of this name is answered so late, with what was so before"},
    {k::fail_migration, "fail-migration", "iv", false,
     "the next migration of machine N fails at connect, prepare, copy, reply or reply-gone"},
    {k::heal, "heal", "", false, "every fault ends, every machine is on"},
}};

constexpr bool is_in_order() {
    for (std::size_t i = 0; i < table.size(); ++i) {
        if (static_cast<std::size_t>(table[i].kind) != i) {
            return false;
        }
    }
    return true;
}
static_assert(is_in_order());

template <class Number>
std::optional<Number> parse_number(std::string_view text) {
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

failure expected(const action_info& info, std::string_view what, std::string_view got) {
    return failure(errc::invalid, std::string(info.name), fmt::format("expected {}, got \"{}\"", what, got));
}

// The words behind the arguments: "for 10s", "after 5 steps".
result<void> parse_suffix(const action_info& info, std::string_view rest, action& out) {
    while (!rest.empty()) {
        const auto word = next_word(rest);
        const auto argument = next_word(rest);
        if (word == "for" && info.can_last) {
            out.lasts = parse_duration(argument);
            if (!out.lasts || *out.lasts < duration::zero()) {
                return expected(info, "a duration after `for`", argument);
            }
        } else if (word == "after") {
            const auto steps = parse_number<std::uint64_t>(argument);
            if (!steps || next_word(rest) != "steps") {
                return expected(info, "`after N steps`", argument);
            }
            out.after_steps = *steps;
        } else {
            return expected(info, info.can_last ? "`for DURATION` or `after N steps`" : "`after N steps`", word);
        }
    }
    return {};
}

result<void> parse_argument(const action_info& info, char kind, std::string_view& rest, action& out) {
    if (kind == 'v') {
        // To the end of the line, but for `after N steps`; `for` belongs to the value unless the kind can last.
        const auto after = rest.ends_with(" steps") ? rest.rfind(" after ") : std::string_view::npos;
        const auto lasts = info.can_last ? rest.find(" for ") : std::string_view::npos;
        const auto end = std::min({after, lasts, rest.size()});
        out.value = std::string(trim(rest.substr(0, end)));
        rest = rest.substr(end);
        return {};
    }
    const auto word = next_word(rest);
    if (word.empty()) {
        return expected(info,
                        kind == 'n'   ? "a node"
                        : kind == 'd' ? "a duration"
                        : kind == 'p' ? "a path"
                                      : "a number",
                        "the end of the line");
    }
    if (kind == 'n') {
        out.node = std::string(word);
    } else if (kind == 'p') {
        if (!word.starts_with('/')) {
            return expected(info, "a path that begins with /", word);
        }
        out.path = std::string(word);
    } else if (kind == 'd') {
        const auto time = parse_duration(word);
        if (!time) {
            return expected(info, "a duration like 1.5s or 20ms", word);
        }
        out.amount = *time;
    } else {
        const auto number = parse_number<std::int64_t>(word);
        if (!number) {
            return expected(info, "a number", word);
        }
        out.number = *number;
    }
    return {};
}

// What a script may ask for without the simulation itself giving way.
result<void> check_bounds(const action_info& info, const action& what) {
    struct bounds {
        action_kind kind;
        std::int64_t least;
        std::int64_t most;
    };
    static constexpr bounds numbers[] = {
        {k::put_big, 0, 10'000'000},   {k::add_domains, 0, 20'000}, {k::define_guest, 1, 99},
        {k::set_guest, 1, 99},         {k::place_guest, 1, 99},     {k::undefine_guest, 1, 99},
        {k::method_of_guest, 1, 99},   {k::lose_key, 1, 99},        {k::few_threads, 1, 99},
        {k::power_off_guest, 1, 99},   {k::crash_guest, 1, 99},     {k::fail_migration, 1, 99},
        {k::drift, -500'000, 500'000}, {k::upgrade, 10, 15}};
    for (const auto& one : numbers) {
        if (one.kind == what.what && (what.number < one.least || what.number > one.most)) {
            return expected(info, fmt::format("{} to {}", one.least, one.most), std::to_string(what.number));
        }
    }
    if (what.what != k::step_clock && what.amount < duration::zero()) {
        return expected(info, "a time that is not negative", duration_text(what.amount));
    }
    if (what.after_steps > steps_max) {
        return expected(info, fmt::format("at most {} steps", steps_max), std::to_string(what.after_steps));
    }
    if (what.what == k::order_node && what.value != "flush" && what.value != "ready") {
        return expected(info, "flush or ready", what.value);
    }
    if (what.what == k::maintenance && what.value != "on" && what.value != "off") {
        return expected(info, "on or off", what.value);
    }
    const std::string_view path = what.path;
    const bool is_odd = path.ends_with('/') || path.find("//") != std::string_view::npos ||
                        (std::string(path) + "/").find("/./") != std::string_view::npos ||
                        (std::string(path) + "/").find("/../") != std::string_view::npos || path == "/zookeeper" ||
                        path.starts_with("/zookeeper/");
    if (!path.empty() && is_odd) {
        return expected(info, "the path of a key of the cluster", path);
    }
    return {};
}

}  // namespace

std::span<const action_info> all_actions() {
    return table;
}

const action_info& info_of(action_kind kind) {
    return table[static_cast<std::size_t>(kind)];
}

std::string to_text(const action& what) {
    const auto& info = info_of(what.what);
    std::string line(info.name);
    for (const char kind : info.takes) {
        line += ' ';
        switch (kind) {
            case 'n': line += what.node; break;
            case 'd': line += duration_text(what.amount); break;
            case 'i': line += std::to_string(what.number); break;
            case 'p': line += what.path; break;
            default: line += what.value; break;
        }
    }
    if (what.lasts) {
        line += " for " + duration_text(*what.lasts);
    }
    if (what.after_steps > 0) {
        line += fmt::format(" after {} steps", what.after_steps);
    }
    return line;
}

result<action> parse_action(std::string_view line) {
    std::string_view rest = line;
    const auto name = next_word(rest);
    const auto found = std::ranges::find(table, name, &action_info::name);
    if (found == table.end()) {
        return failure(errc::invalid, ascii_only(name.substr(0, 40)), "no such action (`pvcnoded-sim list` has all)");
    }
    action out;
    out.what = found->kind;
    for (const char kind : found->takes) {
        PVC_TRY([[maybe_unused]] const auto done, [&]() -> result<bool> {
            auto parsed = parse_argument(*found, kind, rest, out);
            return parsed ? result<bool>(true) : result<bool>(parsed.error());
        }());
    }
    auto suffix = parse_suffix(*found, trim(rest), out);
    if (suffix) {
        suffix = check_bounds(*found, out);
    }
    if (!suffix) {
        return suffix.error();
    }
    return out;
}

std::string duration_text(duration time) {
    const auto count = time.count();
    if (count % 1'000'000'000 == 0) {
        return fmt::format("{}s", count / 1'000'000'000);
    }
    if (count % 1'000'000 == 0) {
        return fmt::format("{}ms", count / 1'000'000);
    }
    return fmt::format("{}ns", count);
}

std::optional<duration> parse_duration(std::string_view text) {
    const auto unit_at = text.find_first_not_of("+-0123456789.");
    if (unit_at == 0 || unit_at == std::string_view::npos) {
        return std::nullopt;
    }
    const auto unit = text.substr(unit_at);
    const std::int64_t scale = unit == "ns"    ? 1
                               : unit == "us"  ? 1'000
                               : unit == "ms"  ? 1'000'000
                               : unit == "s"   ? 1'000'000'000
                               : unit == "min" ? 60'000'000'000
                               : unit == "h"   ? 3'600'000'000'000
                                               : 0;
    std::string_view digits = text.substr(0, unit_at);
    const bool is_negative = digits.starts_with('-');
    if (is_negative || digits.starts_with('+')) {
        digits.remove_prefix(1);
    }
    const auto point = digits.find('.');
    const auto whole = parse_number<std::int64_t>(digits.substr(0, point));
    if (scale == 0 || !whole || *whole < 0 || *whole > hours_max * 3'600'000'000'000 / scale) {
        return std::nullopt;
    }
    std::int64_t total = *whole * scale;
    if (point != std::string_view::npos) {
        std::int64_t part = scale;
        for (const char c : digits.substr(point + 1)) {
            if (c < '0' || c > '9') {
                return std::nullopt;
            }
            part /= 10;
            total += (c - '0') * part;
        }
    }
    return duration(is_negative ? -total : total);
}

}  // namespace pvc::sim
