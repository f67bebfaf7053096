#include "function_machines.hpp"

#include "pvcnoded/base/text.hpp"

#include <algorithm>

namespace pvc::networks {

namespace {

bool is_read(const std::unique_ptr<zookeeper::watched>& one) {
    return one && one->known() && !one->is_outdated();
}

bool is_there(const std::unique_ptr<zookeeper::watched>& one) {
    return is_read(one) && one->present();
}

}  // namespace

// Of a list that is being read again, the old one.
std::set<uuid> function_machines::running() const {
    std::set<uuid> all;
    if (running_ && running_->present()) {
        for (const auto word : split_blanks(running_->data())) {
            if (const auto id = parse_uuid(word)) {
                all.insert(*id);
            }
        }
    }
    return all;
}

function_machines::key function_machines::follow_key(const uuid& id, const char* name) {
    return session_.watches.add(model::domain_path(to_text(id), name), zookeeper::watch_kind::data, changed_);
}

void function_machines::follow_xml(const uuid& id, machine& one) {
    if (!one.xml) {
        one.xml = follow_key(id, model::domain_key::xml);
    }
    if (!is_there(one.xml)) {
        one.named = {};
        one.named_at = 0;
    } else if (one.xml->stat().mzxid != one.named_at) {
        one.named = policy::functions_of_machine(one.xml->data());
        one.named_at = one.xml->stat().mzxid;
        if (!one.named.trouble.empty()) {
            session_.node.log.debug(one.xml->path() + " names no virtual function: " + one.named.trouble);
        }
    }
}

void function_machines::follow(const policy::function_view& now) {
    if (now.functions.empty()) {
        running_.reset();
        machines_.clear();
        return;
    }
    if (!running_) {
        running_ =
            session_.watches.add(session_.own(model::node_key::running_domains), zookeeper::watch_kind::data, changed_);
    }
    const auto here = running();
    std::set<uuid> users;
    for (const auto& one : now.functions) {
        const auto id = parse_any_uuid(one.used_by);
        const bool exists = id && now.domains != nullptr && std::ranges::binary_search(*now.domains, to_text(*id));
        if (one.is_used && id && (exists || (now.domains == nullptr && machines_.contains(*id)))) {
            users.insert(*id);
        }
    }
    std::erase_if(machines_, [&](const auto& one) { return !here.contains(one.first) && !users.contains(one.first); });
    for (const auto& id : here) {
        follow_xml(id, machines_[id]);
    }
    for (const auto& id : users) {
        machines_[id];
    }
    for (auto& [id, one] : machines_) {
        if (!here.contains(id)) {
            one.xml.reset();
            one.named = {};
            one.named_at = 0;
        }
        const bool has_function = std::ranges::any_of(one.named.all, [&](const policy::named_function& named) {
            return std::ranges::find(now.functions, named.name, &policy::function_use::name) != now.functions.end();
        });
        if (!has_function && !users.contains(id)) {
            one.node.reset();
            one.state.reset();
        } else if (!one.node) {
            one.node = follow_key(id, model::domain_key::node);
            one.state = follow_key(id, model::domain_key::state);
        }
    }
}

void function_machines::put(policy::function_view& now) const {
    if (is_there(running_)) {
        now.running = running();
    }
    for (const auto& [id, one] : machines_) {
        if (!is_there(one.node) || !is_there(one.state)) {
            continue;
        }
        auto& seen = now.machines[id];
        seen.node = one.node->data();
        seen.state = model::parse_vm_state(one.state->data());
        seen.written = std::max(one.node->stat().mzxid, one.state->stat().mzxid);
        if (is_there(one.xml) && one.named_at == one.xml->stat().mzxid) {
            seen.names = one.named.all;
            seen.xml_written = one.named_at;
        }
    }
}

bool function_machines::is_settled() const {
    const auto is_done = [](const key& one) { return !one || is_read(one); };
    return is_done(running_) && std::ranges::all_of(machines_, [&](const auto& one) {
               return is_done(one.second.node) && is_done(one.second.state) && is_done(one.second.xml);
           });
}

}  // namespace pvc::networks
