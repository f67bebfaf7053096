// Virtual functions of network cards (networking.md 4): what clients do with their keys, what befalls their drivers,
// and that the drivers follow the keys, and never the other way round.
//
// A node is given half a minute from the last change of a function's keys, from what somebody did to its driver, and
// from anything else that disturbed it.
#include "pvcnoded/base/text.hpp"
#include "pvcnoded/policy/domains/domain_table.hpp"
#include "pvcnoded/policy/networks/function_plan.hpp"
#include "sim/subjects/domains/guests.hpp"
#include "sim/subjects/networks/networks.hpp"
#include "sim/world/chaos.hpp"
#include "sim/world/judge.hpp"
#include "sim/world/words.hpp"

#include <fmt/format.h>

#include <array>

namespace pvc::sim {

using namespace std::chrono_literals;

namespace {

constexpr duration for_a_function = 30s;
constexpr std::string_view functions_suffix = "/sriov/vf/";

bool has_functions(const cluster& world) {
    return !world.members.empty() && !world.members.front()->node.settings.sriov.empty();
}

std::uint64_t where_functions_are(cluster& world) {
    return has_functions(world) ? 1 : 0;
}

std::string path_of(const member& one, std::string_view number) {
    return fmt::format("/nodes/{}{}ens8v{}", one.name(), functions_suffix, number);
}

// ---- clients

// "0 set vlan_id 101", "0 use 1", "0 use nobody", "0 free": as the API does, in one transaction.
void change_function(cluster& world, const action& what, member& target) {
    std::string_view rest = what.value;
    const std::string root = path_of(target, next_word(rest));
    const auto word = next_word(rest);
    if (!world.ensemble.exists(root)) {
        return;
    }
    if (word == "set") {
        const std::string key(next_word(rest));
        world.ensemble.put(root + "/config/" + key, std::string(rest));
    } else if (word == "use") {
        const auto number = parse_integer(rest);
        world.ensemble.put({{root + "/used", "True"},
                            {root + "/used_by", to_text(guest_id(number.value_or(999)))},
                            {root + "/mac", "52:54:00:00:00:01"}});
    } else if (word == "free") {
        world.ensemble.put({{root + "/used", "False"},
                            {root + "/used_by", ""},
                            {root + "/mac", world.ensemble.get(root + "/phy_mac").value_or("")}});
    }
}

void draw_function(drawing& from, action& out) {
    static constexpr std::array keys{"vlan_id 101",        "vlan_id 0",        "vlan_id 5000",  "vlan_id \xff",
                                     "vlan_qos 3",         "tx_rate_max 1000", "tx_rate_max 0", "tx_rate_min 500",
                                     "tx_rate_min 0",      "trust True",       "trust False",   "spoof_check False",
                                     "link_state disable", "link_state auto",  "link_state on", "query_rss True"};
    const auto number = from.random.below(2);
    switch (from.random.below(5)) {
        case 0: out.value = fmt::format("{} use {}", number, from.random.below(4) + 1); return;
        case 1: out.value = fmt::format("{} free", number); return;
        default: out.value = fmt::format("{} set {}", number, from.one_of(keys));
    }
}

// ---- what befalls drivers

void refuse_functions(cluster& world, const action& what, member& target) {
    target.node.functions.broken.insert_or_assign("set", failure(errc::refused, "set", "Invalid argument"));
    world.lasting(what, &target, true, [&target] { target.node.functions.broken.clear(); });
}

void hide_functions(cluster& world, const action& what, member& target) {
    target.node.functions.broken.insert_or_assign("look", failure(errc::io, "look", "Input/output error"));
    world.lasting(what, &target, true, [&target] { target.node.functions.broken.clear(); });
}

void hang_functions(cluster& world, const action& what, member& target) {
    target.node.functions.hang();
    world.lasting(what, &target, true, [&world, &target] {
        target.node.functions.end_hang();
        // A call that was asked meanwhile ends at its deadline, and a start waits for it.
        constexpr duration longest_call = std::chrono::seconds(60);
        if (target.node.is_running() && !target.node.is_ready()) {
            world.disturb(target, longest_call);
        }
    });
}

// "0": somebody with `ip link set … vf`.
void tamper_with_function(cluster& world, const action& what, member& target) {
    const auto number = parse_integer(what.value).value_or(0);
    if (auto* const one = target.node.functions.function("ens8", static_cast<int>(number))) {
        one->vlan = model::function_vlan{7, 0};
        one->trust = !one->trust.value_or(false);
        target.node.network.lose_events();
    }
    world.disturb(target, std::nullopt);
}

void heal_functions(cluster& /*world*/, member& one) {
    one.node.functions.end_faults();
}

constexpr action_kind actions_on_functions[] = {
    {.name = "function",
     .takes = "nv",
     .meaning = "a client does to the virtual function of that number: set KEY VALUE; use MACHINE; free",
     .on_member = change_function,
     .chance = drawn{.eighths = 6,
                     .favour = [](cluster& world) { return 4 * where_functions_are(world); },
                     .arguments = draw_function}},
    {.name = "refuse-functions",
     .takes = "n",
     .meaning = "drivers refuse every setting of virtual functions",
     .can_last = true,
     .on_member = refuse_functions,
     .chance = drawn{.favour = where_functions_are}},
    {.name = "hide-functions",
     .takes = "n",
     .meaning = "drivers do not tell of their virtual functions",
     .can_last = true,
     .on_member = hide_functions,
     .chance = drawn{.favour = where_functions_are}},
    {.name = "hang-functions",
     .takes = "n",
     .meaning = "what drivers of virtual functions are asked is not answered, and done later",
     .can_last = true,
     .on_member = hang_functions,
     .chance = drawn{.favour = where_functions_are}},
    {.name = "tamper-with-function",
     .takes = "nv",
     .meaning = "somebody gives the virtual function of that number another VLAN, beside its keys",
     .on_member = tamper_with_function,
     .chance =
         drawn{.favour = where_functions_are,
               .arguments = [](drawing& from, action& out) { out.value = std::to_string(from.random.below(2)); }}},
};

// ---- what must hold

struct function_changes {
    std::map<std::string, time_point, std::less<>> when;   // by the path of the function, of its keys
    std::map<std::string, std::string, std::less<>> user;  // likewise: who it was used by
    std::map<std::string, bool, std::less<>> used;         // likewise: whether it was then
};

std::string key_of(const cluster& world, const std::string& machine, const char* name) {
    return world.ensemble.get("/domains/" + machine + name).value_or("");
}

// A machine that exists, and does not belong to another node in a state that lasts.
bool has_user(const cluster& world, const std::string& node, const std::string& machine) {
    const auto home = key_of(world, machine, "/node");
    const auto state = model::parse_vm_state(key_of(world, machine, "/state"));
    const bool is_elsewhere = !home.empty() && home != node && state && !policy::is_migration(*state);
    return world.ensemble.exists("/domains/" + machine) && !is_elsewhere;
}

bool belongs_to(const cluster& world, const std::string& node, const std::string& machine) {
    return key_of(world, machine, "/node") == node && key_of(world, machine, "/state") == "start";
}

// "ens8v0/config/vlan_id"; empty: it is none.
std::string_view function_key_of(const seen_change& seen) {
    return seen.suffix.starts_with(functions_suffix) ? seen.suffix.substr(functions_suffix.size()) : std::string_view();
}

void look_at_change(judge& of, const seen_change& seen) {
    const auto key = function_key_of(seen);
    if (key.empty()) {
        return;
    }
    auto& state = of.state<function_changes>();
    const auto path =
        seen.what.path.substr(0, seen.what.path.size() - key.size() + std::min(key.find('/'), key.size()));
    state.when.insert_or_assign(path, of.world.now());
    const bool is_set = seen.what.what == recorded_kind::set;
    if (seen.writer != nullptr && is_set && key.find("/config/") != std::string_view::npos) {
        of.say("function_keys", seen.writer->name() + " changed " + seen.what.path + ", which is the clients'");
    }
    if (seen.writer != nullptr && is_set && key.ends_with("/used")) {
        const auto user = state.user.find(path);
        const bool is_free = seen.what.data != "True";
        if (is_free && user != state.user.end() && has_user(of.world, seen.writer->name(), user->second)) {
            of.say("function_users",
                   seen.writer->name() + " freed " + path + ", whose machine exists and may be of this node");
        }
    }
    if (seen.writer != nullptr && is_set && key.ends_with("/used_by") && !seen.what.data.empty()) {
        const auto user = state.user.find(path);
        if (!belongs_to(of.world, seen.writer->name(), seen.what.data)) {
            of.say("function_users",
                   seen.writer->name() + " gave " + path + " to a machine that does not belong here and run");
        } else if (user != state.user.end() && state.used[path] && user->second != seen.what.data &&
                   has_user(of.world, seen.writer->name(), user->second)) {
            of.say("function_users",
                   seen.writer->name() + " took " + path + " from a machine that may be of this node");
        }
    }
    if (key.ends_with("/used_by")) {
        state.used.insert_or_assign(path, of.world.ensemble.get(path + "/used") == "True");
        state.user.insert_or_assign(path, seen.what.data.empty() ? "nobody" : seen.what.data);
    }
}

policy::function_keys stored_keys(const memory_ensemble& tree, const std::string& path) {
    const auto read = [&](const char* key) { return tree.get(path + "/config/" + key); };
    return {read("vlan_id"),     read("vlan_qos"),   read("tx_rate_min"), read("tx_rate_max"),
            read("spoof_check"), read("link_state"), read("trust"),       read("query_rss")};
}

// What a driver does not do as the keys say; empty: nothing.
std::string wrong_function(const judge& of, member& one) {
    const auto now = of.world.now();
    for (int number = 0; number < 2; ++number) {
        const auto* const function = one.node.functions.function("ens8", number);
        const std::string path = path_of(one, std::to_string(number));
        const auto& when = of.state<function_changes>().when;
        const auto changed = when.find(path);
        if (function == nullptr || (changed != when.end() && now - changed->second < for_a_function)) {
            continue;
        }
        if (!of.world.ensemble.exists(path)) {
            return path + " is not there";
        }
        for (const auto& wanted : policy::parse_function(path, stored_keys(of.world.ensemble, path)).settings) {
            if (policy::shown_of(*function, wanted) != wanted) {
                return path + " is not set to " + model::to_text(wanted);
            }
        }
    }
    return "";
}

void functions_follow(judge& of) {
    if (!has_functions(of.world)) {
        return;
    }
    for (const auto& one : of.world.members) {
        const bool is_judged = one->node.is_running() && one->node.is_ready() && !one->node.is_paused() &&
                               of.world.is_calm(*one) && of.world.now() - one->calm_from > for_a_function;
        const auto wrong = is_judged ? wrong_function(of, *one) : std::string();
        if (!wrong.empty()) {
            of.say("functions_follow", wrong);
        }
    }
}

std::optional<std::string> functions_are_set(const judge& of) {
    if (!has_functions(of.world)) {
        return std::nullopt;
    }
    for (const auto& one : of.world.members) {
        if (auto wrong = wrong_function(of, *one); !wrong.empty()) {
            return wrong;
        }
    }
    return std::nullopt;
}

constexpr rule function_rules[] = {
    {.name = "function_keys",
     .meaning = "a daemon changes no setting of a virtual function once it has keys",
     .on_change = look_at_change},
    {.name = "function_users",
     .meaning =
         "no virtual function is freed whose machine exists, and belongs here or is on its way; and only a machine "
         "that belongs here, in start, is given one",
     .on_change = nullptr},
    {.name = "functions_follow",
     .meaning = "on a calm node virtual functions are as their keys say within 30 s",
     .on_tenth_second = functions_follow},
};

constexpr progress function_progress[] = {
    {"functions", "every virtual function is as its keys say", functions_are_set},
};

constexpr subject_part function_part{.heal_member = heal_functions};

constexpr bool is_of_clients(const seen_change& seen) {
    const auto key = function_key_of(seen);
    return seen.what.what == recorded_kind::set &&
           (key.ends_with("/used") || key.ends_with("/used_by") || key.ends_with("/mac"));
}
constexpr key_rules function_keys_of_clients{.needs_version = is_of_clients};

constexpr planted_mistake function_mistakes[] = {
    {defect::function_written_back, "function_written_back", "function-of-a-client-is-set-and-freed"},
    {defect::function_claim_ignored, "function_claim_ignored", "function-follows-a-machine-that-is-moved"},
};

}  // namespace

void add_functions(registry& to) {
    to.add(function_part);
    to.add(function_keys_of_clients);
    to.add(actions_on_functions);
    to.add(function_rules);
    to.add(function_progress);
    to.add(function_mistakes);
}

}  // namespace pvc::sim
