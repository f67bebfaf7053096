// What clients last asked of each virtual machine, by whatever way they write it, and that no daemon says otherwise.
// Commands through /cmd/domains ask for locks and devices, never for a state: nothing to follow there.
#include "sim/subjects/domains/guest_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace pvc::sim {

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
        if (wish.is_clients && !may_answer(wish.state, seen.what.data)) {
            of.state<wishes_seen>().overwritten = fmt::format("{} wrote `{}` over the `{}` of a client: {}",
                                                              seen.writer->name(), seen.what.data, wish.state, root);
            of.state<wishes_seen>().overwritten_zxid = seen.what.zxid;
        }
        wish.is_parked = seen.what.data == "shutdown" || (wish.is_parked && seen.what.data == "stop");
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

constexpr rule wish_rules[] = {
    {.name = "clients_word",
     .meaning = "no daemon overwrites what a client asked for, or ends in `stop` by itself",
     .on_change = clients_have_the_last_word},
};

}  // namespace

void add_wish_rules(registry& to) {
    to.add(wish_rules);
}

}  // namespace pvc::sim
