// What clients last asked of each virtual machine, by whatever way they write it, and that no daemon says otherwise.
// Commands through /cmd/domains ask for locks and devices, never for a state: nothing to follow there.
#include "sim/subjects/domains/guest_rules.hpp"
#include "sim/subjects/fencing/fence_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace pvc::sim {

using namespace std::chrono_literals;

namespace {

bool is_one_of(std::string_view word, std::span<const std::string_view> words) {
    return std::ranges::find(words, word) != words.end();
}

bool is_migration(std::string_view state) {
    return state == "migrate" || state == "migrate-live" || state == "unmigrate";
}

// A client that writes it wants the machine off.
bool wants_off(std::string_view state) {
    static constexpr std::array<std::string_view, 8> words{"stop",   "shutdown",  "disable", "delete",
                                                           "mirror", "provision", "restore", "import"};
    return is_one_of(state, words);
}

// What a daemon may make of a word that a client wrote (vm-domains.md 3, 6, 8; node-lifecycle.md 8).
bool may_answer(std::string_view word, std::string_view answer) {
    if (word == answer) {
        return true;
    }
    if (word == "start") {
        return answer == "fail" || answer == "shutdown" || is_migration(answer);  // the last two: a node is emptied
    }
    if (word == "restart") {
        return answer == "start" || answer == "fail";
    }
    if (word == "shutdown") {
        return answer == "stop";
    }
    // Of one that was off before it was moved, what it was.
    return is_migration(word) ? answer == "start" || answer == "fail" || wants_off(answer) : !wants_off(word);
}

// A flush takes along what is restarted and has nothing to end any more: that is a start.
bool may_take_along(std::string_view word, std::string_view answer, member& writer, std::string_view root) {
    const auto id = parse_uuid(root.substr(domains_prefix.size()));
    return word == "restart" && may_answer("start", answer) && id && !writer.node.guests().executes(*id);
}

// A client's `start` was answered in peace: a node of ours runs it since then.
bool has_been_started(const judge& of, const wish_seen& wish, std::string_view root) {
    constexpr duration least = 2s;
    constexpr duration most = 40s;  // before that there may have been trouble
    const duration age = of.world.now() - wish.since;
    const auto id = parse_uuid(root.substr(domains_prefix.size()));
    return id && wish.is_clients && wish.state == "start" && age >= least && age <= most &&
           std::ranges::any_of(of.world.members, [&](const auto& one) {
               return one->node.settings.hypervisor && is_undisturbed(of, *one) && one->node.guests().executes(*id);
           });
}

void client_writes(wish_seen& wish, const recorded_change& change) {
    // A client that moves a machine writes its state again as it found it, and `migrate` of what is to run on. Neither
    // is a word on whether it shall run.
    const bool is_placed = wish.placed_zxid == change.zxid && wish.state == change.data;
    if (is_migration(change.data)) {
        // Who asks to move what is off (the reference's flush) may get it off or running (8.4 R6).
        wish.is_known = wish.is_known && wish.is_on;
    } else if (!is_placed) {
        wish.is_on = change.data == "start" || change.data == "restart";
        wish.is_known = wish.is_on || wants_off(change.data);
        wish.is_parked = false;
    }
    wish.is_clients = wish.is_clients || !is_placed;
}

}  // namespace

void clients_have_the_last_word(judge& of, const seen_change& seen) {
    if (!of.state<wishes_seen>().overwritten.empty() && of.state<wishes_seen>().overwritten_zxid != seen.what.zxid) {
        of.say("clients_word", of.state<wishes_seen>().overwritten);
    }
    const std::string_view path = seen.what.path;
    if (!path.starts_with(domains_prefix) || seen.what.what == recorded_kind::check) {
        return;
    }
    const auto slash = path.find('/', domains_prefix.size());
    const std::string root(path.substr(0, slash));
    if (slash == std::string_view::npos) {
        if (seen.what.what == recorded_kind::remove) {
            of.state<wishes_seen>().wishes.erase(root);
        }
        return;
    }
    const auto suffix = path.substr(slash);
    if (suffix == "/node") {
        of.state<wishes_seen>().wishes[root].placed_zxid = seen.what.zxid;
    } else if (suffix == "/node_autostart" && seen.writer != nullptr && seen.what.data == "True") {
        of.state<wishes_seen>().wishes[root].is_mark_over = false;
    } else if (suffix == "/node_autostart" && seen.writer != nullptr &&
               !of.state<wishes_seen>().wishes[root].is_mark_over) {
        // An unflush that starts what a flush had shut down, or a start that needs no other.
        if (!std::exchange(of.state<wishes_seen>().overwritten, {}).empty()) {
            of.state<wishes_seen>().wishes[root].is_on = true;
        }
    }
    if (suffix != "/state" || seen.what.what == recorded_kind::remove) {
        return;
    }
    wish_seen& wish = of.state<wishes_seen>().wishes[root];
    if (seen.writer != nullptr) {
        if (wish.is_clients && !may_answer(wish.state, seen.what.data) &&
            !may_take_along(wish.state, seen.what.data, *seen.writer, root)) {
            of.state<wishes_seen>().overwritten = fmt::format("{} wrote `{}` over the `{}` of a client: {}",
                                                              seen.writer->name(), seen.what.data, wish.state, root);
            of.state<wishes_seen>().overwritten_zxid = seen.what.zxid;
        }
        // A recovery that has nowhere to go marks it, in the same transaction: it starts again once there is somewhere.
        if (seen.what.data == "stop" && wish.is_on && has_fence_lock(of, *seen.writer)) {
            of.state<wishes_seen>().overwritten.clear();
            wish.is_parked = true;
        }
        wish.is_parked = (wish.is_parked && seen.what.data == "stop") || seen.what.data == "shutdown" ||
                         (wish.is_parked && seen.what.data == "stop");
        wish.is_clients = wish.is_clients && wish.state == seen.what.data;
    } else if (seen.what.owner >= cluster::first_foreign_number) {
        wish.is_clients = false;
        wish.is_known = false;  // the reference overwrites what it likes
    } else {
        wish.is_mark_over = wish.is_mark_over || has_been_started(of, wish, root);
        client_writes(wish, seen.what);
    }
    wish.state = seen.what.data;
    wish.since = of.world.now();
}

std::optional<std::string> against_the_wish(const judge& of, std::int64_t number) {
    const auto found = of.state<wishes_seen>().wishes.find(guest_root(number));
    if (found == of.state<wishes_seen>().wishes.end() || !found->second.is_known) {
        return std::nullopt;
    }
    const wish_seen& wish = found->second;
    if (wish.is_on && !wish.is_parked && wants_off(wish.state)) {
        return fmt::format("machine {} is in `{}`, and no client wants it off", number, wish.state);
    }
    if (!wish.is_on && (wish.state == "start" || wish.state == "restart")) {
        return fmt::format("machine {} is in `{}`, and clients want it off", number, wish.state);
    }
    return std::nullopt;
}

namespace {

// Only a flush writes it, of what is to run and has nowhere to go (node-lifecycle.md 8.1; README ruling 78).
void nobody_is_switched_off_needlessly(judge& of, const seen_change& seen) {
    const std::string_view path = seen.what.path;
    if (seen.writer == nullptr || seen.what.data != "shutdown" || !path.starts_with(domains_prefix) ||
        !path.ends_with("/state")) {
        return;
    }
    const auto& tree = of.world.ensemble;
    const std::string root(path.substr(0, path.rfind('/')));
    const std::string limit = tree.get(root + "/node_limit").value_or("");
    const auto is_allowed = [&limit](const std::string& node) {
        return limit.empty() || ("," + limit + ",").find("," + node + ",") != std::string::npos;
    };
    for (const auto& node : tree.children("/nodes")) {
        const bool is_ready = tree.get("/nodes/" + node + "/daemonstate").value_or("") == "run" &&
                              tree.get("/nodes/" + node + "/domainstate").value_or("") == "ready";
        if (is_ready && node != seen.writer->name() && is_allowed(node)) {
            of.say("needless_shutdown",
                   fmt::format("{} shuts {} down, and node {} is in run and ready", seen.writer->name(), root, node));
        }
    }
}

// Each daemon's log, from where it was read last: how often it told of one guest's doing in this minute.
struct guests_told {
    struct log {
        std::size_t read = 0;
        time_point since{};
        std::map<std::string, int, std::less<>> lines;
    };
    std::map<std::uint32_t, log> logs;
};

// A daemon that begins anew tells the first of each kind once more: the limit has room for a few.
void guests_fill_no_log(judge& of) {
    constexpr int most = 10;
    constexpr std::array<std::string_view, 2> words{" - the guest rebooted", " - I/O error of a disk: "};
    for (const auto& one : of.world.members) {
        auto& log = of.state<guests_told>().logs[one->number];
        const std::string& text = one->node.standard_output->text();
        if (of.world.now() - log.since >= 60s) {
            log.since = of.world.now();
            log.lines.clear();
        }
        std::size_t at = std::min(log.read, text.size());
        log.read = text.size();
        for (auto end = text.find('\n', at); end != std::string::npos; at = end + 1, end = text.find('\n', at)) {
            const auto line = std::string_view(text).substr(at, end - at);
            for (const auto& word : words) {
                const auto found = line.find(word);
                if (found != std::string_view::npos &&
                    ++log.lines[std::string(line.substr(line.rfind(' ', found)))] > most) {
                    of.say("guests_fill_no_log",
                           fmt::format("{} tells more than {} times a minute:{}", one->name(), most, line));
                }
            }
        }
        log.read = at;
    }
}

constexpr rule wish_rules[] = {
    {.name = "needless_shutdown",
     .meaning = "nobody is switched off needlessly: a flush shuts down only what no node in run and ready may have",
     .on_change = nobody_is_switched_off_needlessly},
    {.name = "guests_fill_no_log",
     .meaning = "what a guest does over and over is not told each time",
     .on_tenth_second = guests_fill_no_log},
    {.name = "clients_word",
     .meaning = "no daemon overwrites what a client asked for, or ends in `stop` by itself",
     .on_change = clients_have_the_last_word},
};

}  // namespace

void add_wish_rules(registry& to) {
    to.add(wish_rules);
}

}  // namespace pvc::sim
