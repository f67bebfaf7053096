#include "sim/world/chaos.hpp"

#include "sim/world/guests.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

namespace pvc::sim {

namespace {

using k = action_kind;

// What random runs do not draw: the opposites (they come by themselves), and what a run begins and ends with.
constexpr std::array never_drawn{k::start,           k::resume,        k::mend,         k::end_silence,
                                 k::release_answers, k::start_servers, k::thaw_servers, k::heal};

constexpr bool is_of_guests(k kind) {
    return (kind >= k::define_guest && kind <= k::fail_migration) ||
           (kind >= k::stop_libvirtd && kind <= k::few_threads);
}

// Each doubling between the two is equally likely. Whole milliseconds, and whole numbers throughout: what the
// mathematics library makes of a logarithm may differ between machines.
duration between(random_source& random, duration least, duration most) {
    const auto low = static_cast<std::uint64_t>(least / 1ms);
    const auto high = static_cast<std::uint64_t>(most / 1ms);
    const auto first = static_cast<std::uint64_t>(std::bit_width(low)) - 1;
    const auto last = static_cast<std::uint64_t>(std::bit_width(high)) - 1;
    const std::uint64_t base = std::uint64_t{1} << (first + random.below(last - first + 1));
    return std::chrono::milliseconds(std::clamp(base + random.below(base), low, high));
}

}  // namespace

chaos::chaos(cluster& world, random_source random, const std::vector<action_kind>& kinds, bool always_dense)
    : world_(world), random_(random), timer_(world.loop.clock()) {
    // What befalls virtual machines is drawn from a stream of its own: a cluster without them goes as it would.
    random_source of_guests = random_.split("guests");
    for (const auto& info : all_actions()) {
        if (is_of_guests(info.kind)) {
            if (!world_.guests.empty() && info.kind != k::define_guest && of_guests.below(4) != 0) {
                // Most faults are meant for them.
                const std::uint64_t all = world_.foreign_machines().empty() ? 4 : 16;
                const std::uint64_t favour = info.kind == k::place_guest ? all : 1;
                mix_.push_back({info.kind, favour * (1 + of_guests.below(8))});
                total_weight_ += mix_.back().weight;
            }
            continue;
        }
        if (info.kind == k::pause_with_answer) {
            // From a stream of its own: what came later leaves the others as they were.
            random_source of_answers = random_.split("answers over a pause");
            const bool is_named = std::ranges::find(kinds, info.kind) != kinds.end();
            if (is_named || (of_answers.below(2) == 0 && kinds.empty())) {
                mix_.push_back({info.kind, 1 + of_answers.below(4)});
                total_weight_ += mix_.back().weight;
            }
            continue;
        }
        const bool is_possible = std::ranges::find(never_drawn, info.kind) == never_drawn.end() &&
                                 (kinds.empty() || std::ranges::find(kinds, info.kind) != kinds.end());
        // Kinds that were asked for by name are all on.
        const bool is_on = random_.below(2) == 0 || !kinds.empty();
        const std::uint64_t weight = 1 + random_.below(8);
        if (is_possible && is_on) {
            mix_.push_back({info.kind, weight});
            total_weight_ += weight;
        }
    }
    const bool is_dense = random_.below(8) == 0 || always_dense;
    mean_gap_ = is_dense ? between(random_, 2s, 30s) : between(random_, 10s, 600s);
    if (!world_.foreign_machines().empty()) {
        mean_gap_ = is_dense ? between(random_, 2s, 20s) : between(random_, 10s, 60s);
    }
    plan_next();
}

bool chaos::is_drawn(action_kind kind) {
    return std::ranges::find(never_drawn, kind) == never_drawn.end();
}

std::string chaos::text() const {
    std::string out = "mean gap " + duration_text(mean_gap_) + ":";
    for (const auto& one : mix_) {
        out += fmt::format(" {}*{}", info_of(one.kind).name, one.weight);
    }
    return out;
}

void chaos::plan_next() {
    next_ = world_.now() + std::chrono::milliseconds(1 + random_.below(static_cast<std::uint64_t>(mean_gap_ / 500us)));
    if (mix_.empty()) {
        next_ = time_point::max();
    }
    for (const auto& one : follow_ups_) {
        next_ = std::min(next_, one.at);
    }
    timer_.arm(next_, [] {});
}

duration chaos::some_time(duration least, duration most) {
    return between(random_, least, most);
}

const std::string& chaos::some_node() {
    const std::uint64_t all = world_.members.size() + world_.foreigners.size();
    const std::uint64_t which = random_.below(all);
    return which < world_.members.size() ? world_.members[which]->name()
                                         : world_.foreigners[which - world_.members.size()]->settings.name;
}

// One of ours: the reference does not repair its record.
const std::string& chaos::some_member() {
    return world_.members[random_.below(world_.members.size())]->name();
}

// A node that runs virtual machines.
const std::string& chaos::some_host() {
    const bool is_ours = world_.foreign_machines().empty() || random_.below(2) == 0;
    return is_ours ? some_member() : world_.foreigners.front()->settings.name;
}

void chaos::perform(const action& what) {
    const auto done = world_.perform(what);
    ignore(done, "its node was drawn from the cluster's own");
}

void chaos::act() {
    if (world_.now() < next_) {
        return;
    }
    bool followed = false;
    for (auto one = follow_ups_.begin(); one != follow_ups_.end();) {
        if (one->at <= world_.now()) {
            const action what = std::move(one->what);
            one = follow_ups_.erase(one);
            perform(what);
            followed = true;
        } else {
            ++one;
        }
    }
    if (!followed && !mix_.empty()) {
        perform(draw());
    }
    plan_next();
}

void chaos::take_back() {
    follow_ups_.clear();
    for (const auto& [path, value] : to_restore_) {
        world_.ensemble.put(path, value);
    }
    to_restore_.clear();
}

action& chaos::follow_up(duration delay, action_kind kind) {
    follow_ups_.push_back({world_.now() + delay, action(kind)});
    return follow_ups_.back().what;
}

action chaos::draw() {
    std::uint64_t at = random_.below(total_weight_);
    auto chosen = mix_.begin();
    while (at >= chosen->weight) {
        at -= chosen->weight;
        ++chosen;
    }
    action out;
    out.what = chosen->kind;
    const auto& info = info_of(out.what);
    if (info.takes.starts_with('n')) {
        out.node = some_node();
    }
    if (info.can_last) {
        out.lasts = some_time(50ms, 60s);
    }
    // Half of what strikes a process does so in the middle of something.
    if (random_.below(2) == 0) {
        out.after_steps = random_.below(400);
    }
    switch (out.what) {
        case k::terminate: follow_up(some_time(1s, 120s), k::start).node = out.node; break;
        case k::upgrade:
            if (!world_.foreigners.empty()) {
                out.what = k::drop;  // the script does not follow another version
                break;
            }
            out.number = 10 + static_cast<std::int64_t>(random_.below(6));
            break;
        case k::latency:
        case k::answer_delay:
        case k::watch_delay:
        case k::lag: out.amount = some_time(2ms, 5s); break;
        case k::slow_services: out.amount = some_time(10ms, 10s); break;
        case k::step_clock: out.amount = random_.below(2) == 0 ? some_time(1s, 24h) : -some_time(1s, 24h); break;
        case k::suspend: out.amount = some_time(1s, 300s); break;
        case k::drift: out.number = static_cast<std::int64_t>(random_.below(20'001)) - 10'000; break;
        case k::put: draw_put(out); break;
        case k::put_big:
            out.path = "/nodes/" + some_member() + (random_.below(2) == 0 ? "/staticdata" : "/ipmihostname");
            out.number = static_cast<std::int64_t>(random_.below(400'000));
            break;
        case k::remove: {
            static constexpr std::array suffixes{"/staticdata",  "/memfree",     "/cpuload",     "/keepalive",
                                                 "/routerstate", "/domainstate", "/daemonstate", "/ipmihostname"};
            out.path = random_.below(5) == 0 ? "/config/primary_node"
                                             : "/nodes/" + some_member() + suffixes[random_.below(suffixes.size())];
            break;
        }
        case k::maintenance: out.value = random_.below(2) == 0 ? "on" : "off"; break;
        case k::hold_lock:
        case k::break_lock: out.path = random_.below(2) == 0 ? "/schema/version" : "/config/primary_node"; break;
        case k::add_domains:
            // Few: every start of every node looks at each.
            out.number =
                world_.ensemble.children("/domains").size() < 30 ? static_cast<std::int64_t>(random_.below(8)) : 0;
            break;
        case k::set_guest: {
            static constexpr std::array states{"start", "start", "start", "stop", "shutdown", "restart", "disable"};
            out.number = some_guest();
            out.value = states[random_.below(states.size())];
            // Whatever it was set to, it is to run again later.
            action& back = follow_up(some_time(5s, 120s), k::set_guest);
            back.number = out.number;
            back.value = "start";
            break;
        }
        case k::place_guest: {
            static constexpr std::array ways{"migrate", "migrate", "move", "migrate-live", "unmigrate", "flush"};
            out.node = some_host();
            out.number = some_guest();
            out.value = ways[random_.below(ways.size())];
            if (random_.below(2) == 0) {
                disturb_migration(out.number);
            }
            if (random_.below(4) == 0) {
                break_reply(out.number, out.node);
            }
            break;
        }
        case k::order_node: {
            // Most are ready most of the time, so that there is somewhere to go.
            out.node = some_member();
            out.value = random_.below(2) == 0 ? "ready" : "flush";
            action& back = follow_up(some_time(100ms, 120s), k::order_node);
            back.node = out.node;
            back.value = "ready";
            break;
        }
        case k::undefine_guest: {
            static constexpr std::array kinds{"acpi", "acpi", "hang", "dirty"};
            out.number = some_guest();
            action& back = follow_up(some_time(2s, 30s), k::define_guest);
            back.number = out.number;
            back.node = some_host();
            back.value = kinds[random_.below(kinds.size())];
            action& start = follow_up(some_time(31s, 60s), k::set_guest);
            start.number = out.number;
            start.value = "start";
            break;
        }
        case k::method_of_guest: {
            static constexpr std::array methods{"none", "live", "shutdown", "garbage"};
            out.number = some_guest();
            out.value = methods[random_.below(methods.size())];
            break;
        }
        case k::lose_key: {
            // Those that have a default; the others say what the machine is.
            static constexpr std::array keys{"lastnode", "node_autostart",    "migration_method", "failedreason",
                                             "vnc",      "migrate_sync_lock", "consolelog",       "stats"};
            out.number = some_guest();
            out.value = keys[random_.below(keys.size())];
            break;
        }
        case k::few_threads: out.number = 1 + static_cast<std::int64_t>(random_.below(3)); break;
        case k::fail_call:
        case k::hang_call:
        case k::delay_call:
        case k::late_call: draw_call(out); break;
        case k::power_off_guest:
        case k::crash_guest: out.number = some_guest(); break;
        case k::fail_migration: {
            static constexpr std::array steps{"connect", "prepare", "copy", "reply", "reply-gone"};
            out.number = some_guest();
            out.value = steps[random_.below(steps.size())];
            break;
        }
        default: break;
    }
    return out;
}

// The answer is an error, and who has the machine then can hardly be asked; the sender may not live to hear it.
void chaos::break_reply(std::int64_t number, const std::string& target) {
    action& fault = follow_up(1ms, k::fail_migration);
    fault.number = number;
    fault.value = "reply";
    static constexpr std::array kinds{k::cut_hypervisor, k::cut_hypervisor, k::stop_libvirtd, k::pause};
    action& silence = follow_up(some_time(500ms, 8s), kinds[random_.below(kinds.size())]);
    silence.node = target;
    silence.lasts = some_time(16s, 60s);
    const auto sender = std::ranges::find_if(world_.members, [&](const auto& one) {
        return one->node.settings.hypervisor && one->node.guests().executes(guest_id(number));
    });
    if (sender != world_.members.end() && random_.below(2) == 0) {
        action& end = follow_up(some_time(8s, 40s), k::kill);
        end.node = (*sender)->name();
        end.lasts = some_time(50ms, 10s);
    }
}

// Something strikes in the middle of it.
void chaos::disturb_migration(std::int64_t number) {
    static constexpr std::array kinds{k::power_off_guest, k::crash_guest,   k::stop_libvirtd, k::kill_libvirtd,
                                      k::cut_hypervisor,  k::kill,          k::power_off,     k::expire,
                                      k::pause,           k::set_guest,     k::place_guest,   k::fail_call,
                                      k::terminate,       k::undefine_guest};
    action& blow = follow_up(some_time(100ms, 8s), kinds[random_.below(kinds.size())]);
    const auto& info = info_of(blow.what);
    blow.number = number;
    if (info.takes.starts_with('n')) {
        blow.node = some_host();
    }
    if (info.can_last) {
        blow.lasts = some_time(50ms, 60s);
    }
    blow.after_steps = random_.below(200);
    if (blow.what == k::set_guest) {
        static constexpr std::array states{"stop", "shutdown", "restart", "disable", "start"};
        blow.value = states[random_.below(states.size())];
    } else if (blow.what == k::place_guest) {
        blow.value = random_.below(2) == 0 ? "flush" : "move";
    } else if (blow.what == k::fail_call) {
        draw_call(blow);
    } else if (blow.what == k::terminate) {
        const std::string node = blow.node;
        follow_up(some_time(9s, 120s), k::start).node = node;
    }
}

void chaos::draw_call(action& out) {
    static constexpr std::array calls{"create", "destroy", "shutdown",        "resume", "list",     "survey",
                                      "status", "migrate", "abort_migration", "ask",    "live_xml", "progress"};
    out.value = calls[random_.below(calls.size())];
    out.amount = some_time(50ms, 30s);
}

std::int64_t chaos::some_guest() {
    // All may have been removed; then it befalls nobody.
    return world_.guests.empty() ? 1 : world_.guests[random_.below(world_.guests.size())];
}

// A client's mistakes: words that mean nothing, words that mean something else, in keys of everybody.
void chaos::draw_put(action& out) {
    const std::string record = "/nodes/" + some_member();
    static constexpr std::array states{"dead", "fenced", "dead", "fenced"};
    static constexpr std::array garbage{"", "garbage", "\xff\xfe", "-1", "99999999999999999999", "none", "run"};
    switch (random_.below(6)) {
        case 0:
            out.path = record + "/daemonstate";
            out.value = states[random_.below(states.size())];
            if (!world_.guests.empty()) {
                out.value = "dead";  // who calls a living node fenced takes the proof that its machines have ended away
            }
            break;
        case 1:
            out.path = record + "/routerstate";
            out.value = garbage[random_.below(garbage.size())];
            break;
        case 2:
            out.path = record + (random_.below(2) == 0 ? "/staticdata" : "/ipmihostname");
            out.value = garbage[random_.below(garbage.size())];
            break;
        case 3:
            out.path = record + "/keepalive";
            out.value = garbage[random_.below(garbage.size())];
            break;
        case 4:
            out.path = "/config/primary_node";
            out.value = garbage[random_.below(garbage.size())];
            break;
        default: {
            out.path = "/schema/version";
            const std::string now = world_.ensemble.get(out.path).value_or("10");
            out.value = garbage[random_.below(4)];
            out.after_steps = 0;
            if (to_restore_.empty()) {
                to_restore_.emplace_back(out.path, now);
            }
            action& correction = follow_up(some_time(1s, 60s), k::put);
            correction.path = out.path;
            correction.value = to_restore_.front().second;
            break;
        }
    }
}

}  // namespace pvc::sim
