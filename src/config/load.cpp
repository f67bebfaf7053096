#include "pvcnoded/config/load.hpp"

#include "readers.hpp"

#include <fmt/format.h>

namespace pvc::config {

namespace {

// The mapping `pvc` of the root, or null with the reason reported (config.md 1, "Root").
const yaml_entry* pvc_of(const yaml_node& root, diagnostics& problems) {
    if (root.kind != yaml_kind::mapping) {
        problems.add(severity::fatal, 1,
                     fmt::format("not a mapping; expected a mapping with the key pvc, got {}", value_text(root, true)));
        return nullptr;
    }
    const auto* pvc = root.find("pvc");
    const int first_line = root.entries.empty() ? 1 : root.entries.front().line;
    if (pvc == nullptr && root.find("path") != nullptr && root.find("subsystem") != nullptr &&
        root.find("cluster") != nullptr) {
        problems.add(
            severity::fatal, first_line,
            "this is a PVC 1.0 file (pvc.conf); expected a pvcnoded.yaml with the key pvc, got path, subsystem "
            "and cluster");
        return nullptr;
    }
    for (const auto& entry : root.entries) {
        if (entry.key != "pvc") {
            problems.add(severity::warning, entry.line,
                         fmt::format("{}: unknown key, ignored; expected only pvc here", printable(entry.key)));
        }
    }
    if (pvc == nullptr) {
        problems.add(severity::fatal, first_line, "pvc: missing; expected a mapping");
        return nullptr;
    }
    if (pvc->value->kind != yaml_kind::mapping && is_left_empty(*pvc->value)) {
        problems.add(severity::fatal, pvc->line,
                     fmt::format("pvc: missing; expected a mapping, got {}", value_text(*pvc->value, true)));
        return nullptr;
    }
    if (pvc->value->kind != yaml_kind::mapping) {
        problems.add(severity::fatal, pvc->line,
                     fmt::format("pvc: not a mapping; expected a mapping, got {}", value_text(*pvc->value, true)));
        return nullptr;
    }
    return pvc;
}

void check_mode(const host_facts& facts, diagnostics& problems) {
    if (!facts.who_can_change.empty() && facts.others_can_change != changeable_file::accepted) {
        const bool is_refused = facts.others_can_change == changeable_file::refused;
        problems.add(is_refused ? severity::fatal : severity::warning, 0,
                     fmt::format("others could change it{}; expected file and folder to belong to root or to the "
                                 "running user and to be writable by nobody else, got {}",
                                 is_refused ? "" : ", a daemon would refuse it", facts.who_can_change));
    }
    constexpr unsigned readable_by_group_or_others = 0044;
    if (!facts.file_mode || (*facts.file_mode & readable_by_group_or_others) == 0) {
        return;
    }
    // As PVC's own deployment tool leaves it: who is in that group may read it by becoming root as well.
    constexpr unsigned deployed_mode = 0640;
    if (*facts.file_mode == deployed_mode && facts.is_of_root_and_sudo) {
        problems.add(severity::info, 0,
                     "readable by group sudo, as the deployment tool of PVC leaves it, and holds passwords; mode 0600 "
                     "is enough for the daemon");
        return;
    }
    problems.add(severity::warning, 0,
                 fmt::format("readable by group or others, and holds passwords; expected mode 0600, got {:04o}",
                             *facts.file_mode));
}

void read_all(section& pvc, const host_facts& facts, node_config& config) {
    read_identity(pvc, config);
    auto cluster = pvc.child("cluster", presence::required);
    auto coordinator = pvc.child("coordinator");
    auto system = pvc.child("system");
    auto configuration = system.child("configuration");
    auto networking = configuration.child("networking", only_if(config.functions.networking, presence::required));
    auto directories = configuration.child("directories");
    auto logging = configuration.child("logging");
    auto hypervisor = configuration.child("hypervisor");
    auto recovery = configuration.child("fencing");
    auto control = configuration.child("control");
    auto metrics = configuration.child("metrics");
    auto storage = configuration.child("storage");
    auto health = configuration.child("health");

    read_coordinators(cluster, config);
    read_networking(cluster, networking, config);
    cluster.finish();
    read_databases(coordinator, config);
    read_system(system, facts, config);
    read_directories(directories, facts, config);
    read_logging(logging, config);
    read_hypervisor(hypervisor, config);
    read_recovery(recovery, config);
    read_control(control, config);
    read_metrics(metrics, config);
    read_storage(storage, facts, config);
    read_health(health, facts, config);
    configuration.finish();
    system.finish();
    pvc.finish();
}

}  // namespace

loaded load_text(std::string_view text, std::string_view file_name, std::string_view hostname,
                 const host_facts& facts) {
    loaded out;
    reading shared{diagnostics(std::string(file_name)), {"pvc"}};
    if (const auto root = parse_yaml(text, shared.problems)) {
        check_mode(facts, shared.problems);
        if (const auto* entry = pvc_of(*root, shared.problems)) {
            node_config config;
            config.file = file_name;
            derive_identity(hostname, config);
            section pvc(shared, entry->value.get(), "pvc", entry->line);
            read_all(pvc, facts, config);
            if (!shared.problems.has_fatal()) {
                out.config = std::move(config);
            }
        }
    }
    out.diagnostics = shared.problems.take();
    out.known_keys.assign(shared.known_keys.begin(), shared.known_keys.end());
    return out;
}

}  // namespace pvc::config
