#include "pvcnoded/model/node_record.hpp"

#include "pvcnoded/base/text.hpp"
#include "pvcnoded/model/scalar.hpp"

#include <algorithm>
#include <array>

namespace pvc::model {

namespace {

// How a later start treats a key that is there.
enum class later : std::uint8_t {
    keep,
    rewrite,           // only this node writes it
    rewrite_checked,   // others write it too: conditional
    repair_number,     // set again if clients could not read it
    repair_empty,      // conditional
    repair_domains,    // conditional
    rewrite_if_other,  // only if it says something else
};

struct record_key {
    std::string_view id;
    later treatment;
};

// The order of section 10.
constexpr std::array record = {
    record_key{"node.name", later::rewrite},
    record_key{"node.keepalive", later::repair_number},
    record_key{"node.mode", later::rewrite},
    record_key{"node.data.active_schema", later::rewrite},
    record_key{"node.data.latest_schema", later::rewrite},
    record_key{"node.data.static", later::rewrite},
    record_key{"node.data.pvc_version", later::rewrite},
    record_key{"node.running_domains", later::repair_domains},
    record_key{"node.count.provisioned_domains", later::repair_number},
    record_key{"node.count.networks", later::repair_number},
    record_key{"node.state.daemon", later::rewrite_checked},
    record_key{"node.state.router", later::rewrite_checked},
    record_key{"node.state.domain", later::repair_empty},
    record_key{"node.cpu.load", later::repair_number},
    record_key{"node.vcpu.allocated", later::repair_number},
    record_key{"node.memory.total", later::repair_number},
    record_key{"node.memory.used", later::repair_number},
    record_key{"node.memory.free", later::repair_number},
    record_key{"node.memory.allocated", later::repair_number},
    record_key{"node.memory.provisioned", later::repair_number},
    record_key{"node.ipmi.hostname", later::rewrite},
    record_key{"node.ipmi.username", later::rewrite},
    record_key{"node.ipmi.password", later::rewrite},
    record_key{"node.sriov", later::keep},
    record_key{"node.sriov.pf", later::keep},
    record_key{"node.sriov.vf", later::keep},
    record_key{"node.monitoring.plugins", later::keep},
    record_key{"node.monitoring.data", later::keep},
    record_key{"node.monitoring.health", later::keep},
    record_key{"node.network.stats", later::keep},
    record_key{"node.selfreset", later::rewrite_if_other},
};

std::string initial_value(std::string_view id, const schema& table, const node_facts& facts) {
    const bool coordinator = facts.mode == daemon_mode::coordinator;
    const auto is = [id](std::string_view other) { return id == other; };
    if (is("node.name") || is("node.mode")) {
        return std::string(to_text(facts.mode));
    }
    if (is("node.keepalive")) {
        return std::to_string(facts.now_s);
    }
    if (is("node.data.active_schema")) {
        return std::to_string(table.version());
    }
    if (is("node.data.latest_schema")) {
        return std::to_string(facts.latest_schema);
    }
    if (is("node.data.static")) {
        return static_data_text(facts.statics);
    }
    if (is("node.data.pvc_version")) {
        return ascii_only(facts.pvc_version);
    }
    if (is("node.state.daemon")) {
        return std::string(to_text(daemon_state::init));
    }
    if (is("node.state.router")) {
        return std::string(to_text(coordinator ? router_state::secondary : router_state::client));
    }
    if (is("node.state.domain")) {
        return std::string(to_text(domain_state::flushed));
    }
    if (is("node.ipmi.hostname")) {
        return facts.ipmi_hostname;
    }
    if (is("node.ipmi.username")) {
        return facts.ipmi_username;
    }
    if (is("node.ipmi.password")) {
        return facts.ipmi_password;
    }
    if (is("node.cpu.load")) {
        return cpu_load_text(0);
    }
    if (is("node.network.stats")) {
        return "{}";
    }
    if (is("node.selfreset")) {
        return self_reset_text(std::nullopt);
    }
    const bool figure = id.starts_with("node.count.") || id.starts_with("node.memory.") || is("node.vcpu.allocated");
    return figure ? "0" : "";
}

bool is_readable_number(std::string_view id, std::string_view text) {
    return id == "node.cpu.load" ? parse_float(text).has_value() : parse_integer(trim(text)).has_value();
}

void add_update(std::vector<key_update>& sets, const record_key& key, std::string path, std::string wanted,
                const stored_value& stored) {
    switch (key.treatment) {
        case later::keep: return;
        case later::rewrite: sets.push_back({std::move(path), std::move(wanted), std::nullopt}); return;
        case later::rewrite_checked: sets.push_back({std::move(path), std::move(wanted), stored.version}); return;
        case later::repair_number:
            if (!is_readable_number(key.id, stored.value)) {
                sets.push_back({std::move(path), std::move(wanted), std::nullopt});
            }
            return;
        case later::repair_empty:
            if (is_no_value(stored.value)) {
                sets.push_back({std::move(path), std::move(wanted), stored.version});
            }
            return;
        case later::repair_domains: {
            auto cleaned = running_domains_text(parse_running_domains(stored.value));
            if (cleaned != stored.value) {
                sets.push_back({std::move(path), std::move(cleaned), stored.version});
            }
            return;
        }
        case later::rewrite_if_other:
            if (stored.value != wanted) {
                sets.push_back({std::move(path), std::move(wanted), std::nullopt});
            }
            return;
    }
}

}  // namespace

std::vector<key_value> new_node_record(const schema& table, const node_facts& facts) {
    std::vector<key_value> keys;
    for (const auto& key : record) {
        if (auto path = table.path(key.id, facts.node)) {
            keys.push_back({*std::move(path), initial_value(key.id, table, facts)});
        }
    }
    return keys;
}

std::vector<std::string> node_record_paths(const schema& table, std::string_view node) {
    std::vector<std::string> paths;
    for (const auto& key : record) {
        if (auto path = table.path(key.id, node)) {
            paths.push_back(*std::move(path));
        }
    }
    return paths;
}

node_record_updates existing_node_updates(const schema& table, const node_facts& facts, const stored_values& existing) {
    node_record_updates updates;
    for (const auto& key : record) {
        auto path = table.path(key.id, facts.node);
        if (!path) {
            continue;
        }
        auto wanted = initial_value(key.id, table, facts);
        const auto stored = existing.find(*path);
        if (stored == existing.end()) {
            updates.creates.push_back({*std::move(path), std::move(wanted)});
        } else {
            add_update(updates.sets, key, *std::move(path), std::move(wanted), stored->second);
        }
    }
    return updates;
}

}  // namespace pvc::model
