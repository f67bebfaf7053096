#include "pvcnoded/policy/networks/function_use.hpp"

#include "pvcnoded/base/planted.hpp"
#include "pvcnoded/model/domain_xml.hpp"
#include "pvcnoded/model/virtual_functions.hpp"
#include "pvcnoded/policy/domains/domain_table.hpp"

#include <algorithm>
#include <utility>

namespace pvc::policy {

namespace {

// However it is spelled.
bool is_one_of(const std::vector<std::string>& domains, const std::string& used_by) {
    if (std::ranges::find(domains, used_by) != domains.end()) {
        return true;
    }
    const auto id = parse_any_uuid(used_by);
    return id && std::ranges::find(domains, to_text(*id)) != domains.end();
}

// Whoever has it by the keys.
enum class claimant : std::uint8_t {
    nobody,   // not used, or by a machine that does not exist
    gone,     // a machine that belongs to another node, in a state that lasts, and does not run here
    local,    // a machine that belongs to this node
    unclear,  // anything else: a machine that moves, or of which too little is known
};

const function_machine* find_machine(const function_view& now, const uuid& id) {
    const auto found = now.machines.find(id);
    return found == now.machines.end() ? nullptr : &found->second;
}

claimant claimant_of(const function_view& now, const function_use& one, const std::optional<uuid>& user) {
    if (!one.is_used) {
        return claimant::nobody;
    }
    if (now.domains == nullptr) {
        return claimant::unclear;
    }
    if (!is_one_of(*now.domains, one.used_by)) {
        return claimant::nobody;
    }
    const auto* const machine = user ? find_machine(now, *user) : nullptr;
    if (machine == nullptr || !machine->node || machine->node->empty()) {
        return claimant::unclear;
    }
    if (*machine->node == now.self) {
        return claimant::local;
    }
    const bool is_settled =
        machine->state && *machine->state != model::vm_state::unknown && !is_migration(*machine->state);
    return is_settled && now.running && !now.running->contains(*user) ? claimant::gone : claimant::unclear;
}

// A machine that has it by its XML, runs here and shall; the first that is not its user.
const named_function* find_name(const function_machine& machine, const std::string& function) {
    const auto found = std::ranges::find(machine.names, function, &named_function::name);
    return found == machine.names.end() ? nullptr : &*found;
}

bool takes(const function_view& now, const uuid& id, const function_machine& machine, const std::string& function) {
    return now.running && now.running->contains(id) && machine.node == now.self &&
           machine.state == model::vm_state::start && find_name(machine, function) != nullptr;
}

std::optional<function_change> wanted_change(const function_view& now, const function_use& one) {
    const auto user = parse_any_uuid(one.used_by);
    const auto who = claimant_of(now, one, user);
    if (who == claimant::unclear) {
        return std::nullopt;
    }
    function_change change;
    change.function = one.name;
    change.was_used = one.is_used;
    change.used_by = one.used_by;
    change.written = one.written;
    if (who == claimant::gone || who == claimant::local) {
        change.user = {*user, find_machine(now, *user)->written, 0};
    }
    const auto taker = std::ranges::find_if(now.machines, [&](const auto& machine) {
        return takes(now, machine.first, machine.second, one.name) && !(one.is_used && user == machine.first);
    });
    if (taker != now.machines.end() && one.is_whole) {
        const bool is_claimed = who == claimant::local && !is_planted(defect::function_claim_ignored);
        change.what = is_claimed ? function_change::kind::contest : function_change::kind::take;
        change.taker = {taker->first, taker->second.written, taker->second.xml_written};
        change.mac = find_name(taker->second, one.name)->mac;
        return change;
    }
    return one.is_used && who != claimant::local ? std::optional(std::move(change)) : std::nullopt;
}

}  // namespace

named_functions functions_of_machine(std::string_view xml) {
    named_functions named;
    const auto view = model::parse_domain_xml(xml);
    if (!view) {
        named.trouble = view.error().text();
        return named;
    }
    for (const auto& interface : view->interfaces) {
        const bool is_new = std::ranges::find(named.all, interface.function, &named_function::name) == named.all.end();
        if (model::parse_function_name(interface.function) && is_new) {
            named.all.push_back({interface.function, model::is_mac_address(interface.mac) ? interface.mac : ""});
        }
    }
    return named;
}

std::vector<function_change> wanted_changes(const function_view& now) {
    std::vector<function_change> all;
    for (const auto& one : now.functions) {
        if (auto change = wanted_change(now, one)) {
            all.push_back(*std::move(change));
        }
    }
    return all;
}

void function_changes::see(time_point now, const function_view& all) {
    std::map<std::string, waiting> still;
    again_.reset();
    if (all.domains == nullptr && std::ranges::any_of(all.functions, &function_use::is_used)) {
        again_ = now + patience;
    }
    for (auto& change : wanted_changes(all)) {
        const auto before = waiting_.find(change.function);
        const bool is_same = before != waiting_.end() && before->second.change == change;
        const time_point due = is_same ? before->second.due : now + patience;
        const std::string name = change.function;
        still.emplace(name, waiting{std::move(change), due});
    }
    waiting_ = std::move(still);
}

std::vector<function_change> function_changes::due(time_point now) const {
    std::vector<function_change> all;
    for (const auto& [name, one] : waiting_) {
        if (one.due <= now && one.change.what != function_change::kind::contest) {
            all.push_back(one.change);
        }
    }
    return all;
}

std::vector<function_change> function_changes::contested(time_point now) const {
    std::vector<function_change> all;
    for (const auto& [name, one] : waiting_) {
        if (one.due <= now && one.change.what == function_change::kind::contest) {
            all.push_back(one.change);
        }
    }
    return all;
}

void function_changes::failed(const std::string& function, time_point now) {
    const auto found = waiting_.find(function);
    if (found != waiting_.end()) {
        found->second.due = now + patience;
    }
}

std::optional<time_point> function_changes::next(time_point now) const {
    std::optional<time_point> first = again_;
    for (const auto& [name, one] : waiting_) {
        // What is contested waits for somebody else, once it was said.
        if (one.change.what != function_change::kind::contest || one.due > now) {
            first = std::min(first.value_or(time_point::max()), one.due);
        }
    }
    return first;
}

}  // namespace pvc::policy
