// The running lists of nodes (vm-domains.md 11.3).
#include "sim/subjects/domains/guest_rules.hpp"

#include <fmt/format.h>

namespace pvc::sim {

std::optional<bool> belongs_into_list(const judge& of, member& one, std::int64_t number) {
    if (!one.node.settings.hypervisor) {
        return std::nullopt;
    }
    const auto id = guest_id(number);
    const std::string& root = guest_root(number);
    const auto state = of.world.ensemble.get(root + "/state");
    if (!state) {
        return std::nullopt;
    }
    const sim_guest& guest = one.node.guests().guest(id);
    using model::guest_class;
    switch (guest.what()) {
        case guest_class::alive:
        case guest_class::ending: return true;
        case guest_class::paused:
            return guest.status().cause == model::pause_cause::starting_up ? std::nullopt : std::optional(true);
        case guest_class::incoming: return std::nullopt;  // which side it is shows in the daemon only
        default: break;
    }
    // One that ended by itself stays in the list until it runs again.
    const bool is_to_run =
        (*state == "start" || *state == "restart") && of.world.ensemble.get(root + "/node") == one.name();
    if (is_to_run) {
        return std::nullopt;
    }
    // A creation that was never answered may be carried out yet: it is waited for so long, and listed for a while more.
    constexpr duration longest_creation = 600s + 40s;
    const auto asked = one.node.guests().hangs_since("create " + of.world.hardware.centre.name_of(id));
    return asked && of.world.now() - *asked <= longest_creation ? std::nullopt : std::optional(false);
}

namespace {

std::string running_list(const judge& of, const member& one) {
    return of.world.ensemble.get(one.root() + "/runningdomains").value_or("");
}

bool is_listed(std::string_view list, std::int64_t number) {
    return list.find(std::string_view(guest_root(number)).substr(domains_prefix.size())) != std::string::npos;
}

// What is still there leaves the list too early: fence recovery would start it beside itself.
void lists_keep_what_is_there(judge& of, const seen_change& seen) {
    if (seen.suffix != "/runningdomains" || seen.writer == nullptr || seen.writer != seen.subject) {
        return;
    }
    const std::string list = running_list(of, *seen.writer);
    for (const auto number : guests_of(of.world).defined) {
        const std::pair key{seen.writer->number, number};
        if (is_listed(list, number)) {
            of.state<machines_seen>().listed.insert(key);
        } else if (of.state<machines_seen>().listed.erase(key) > 0 &&
                   belongs_into_list(of, *seen.writer, number) == true && is_undisturbed(of, *seen.writer)) {
            of.say("running_list", fmt::format("{} took machine {} off its running list, and still has it",
                                               seen.writer->name(), number));
        }
    }
}

void running_lists_are_true(judge& of) {
    constexpr duration written_within = 5s;
    auto& unlisted_since = of.state<machines_seen>().unlisted_since;
    for (const auto& one : of.world.members) {
        const bool counts = is_undisturbed(of, *one);
        const std::string list = counts ? running_list(of, *one) : std::string();
        for (const auto number : guests_of(of.world).defined) {
            const auto belongs = counts ? belongs_into_list(of, *one, number) : std::nullopt;
            const std::pair key{one->number, number};
            if (!belongs || *belongs == is_listed(list, number)) {
                unlisted_since.erase(key);
                continue;
            }
            const auto since = unlisted_since.try_emplace(key, of.world.now()).first->second;
            if (of.world.now() - since > written_within) {
                of.say("running_list", fmt::format("the running list of {} {} machine {}", one->name(),
                                                   *belongs ? "lacks" : "has", number));
            }
        }
    }
}

constexpr rule running_list_rules[] = {
    {.name = "running_list",
     .meaning = "a running list has what its node has, and nothing else (vm-domains.md 11.3)",
     .on_change = lists_keep_what_is_there,
     .on_second = running_lists_are_true},
};

}  // namespace

void add_running_list_rules(registry& to) {
    to.add(running_list_rules);
}

}  // namespace pvc::sim
