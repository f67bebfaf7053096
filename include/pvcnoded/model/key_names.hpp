// The names of keys below a node's and a domain's entry, as node_path, domain_path and session::own() take them. Each
// begins with "/". What else the schema has, and in which versions, is in its table (schema_table.cpp). Specification:
// zookeeper-schema.md 5, 6.
#pragma once

#include <string_view>

namespace pvc::model {

// Whole paths, which exist in every version.
namespace key_path {
inline constexpr std::string_view schema_version = "/schema/version";
inline constexpr std::string_view config = "/config";
inline constexpr std::string_view maintenance = "/config/maintenance";
inline constexpr std::string_view primary_node = "/config/primary_node";
inline constexpr std::string_view primary_sync_lock = "/config/primary_node/sync_lock";
inline constexpr std::string_view fence_lock = "/config/fence_lock";
inline constexpr std::string_view upstream_ip = "/config/upstream_ip";
inline constexpr std::string_view migration_target_selector = "/config/migration_target_selector";
inline constexpr std::string_view nodes = "/nodes";
inline constexpr std::string_view domains = "/domains";
inline constexpr std::string_view networks = "/networks";
inline constexpr std::string_view logs = "/logs";
}  // namespace key_path

namespace node_key {
inline constexpr const char* active_schema = "/activeschema";
inline constexpr const char* cpu_load = "/cpuload";
inline constexpr const char* daemon_state = "/daemonstate";
inline constexpr const char* domains_count = "/domainscount";
inline constexpr const char* domain_state = "/domainstate";
inline constexpr const char* keepalive = "/keepalive";
inline constexpr const char* latest_schema = "/latestschema";
inline constexpr const char* mem_alloc = "/memalloc";
inline constexpr const char* mem_free = "/memfree";
inline constexpr const char* mem_prov = "/memprov";
inline constexpr const char* mem_total = "/memtotal";
inline constexpr const char* mem_used = "/memused";
inline constexpr const char* monitoring_health = "/monitoring_health";
inline constexpr const char* monitoring_plugins = "/monitoring_plugins";
inline constexpr const char* network_stats = "/network_stats";
inline constexpr const char* pvc_version = "/pvcversion";
inline constexpr const char* router_state = "/routerstate";
inline constexpr const char* running_domains = "/runningdomains";
inline constexpr const char* self_reset = "/selfreset";
inline constexpr const char* vcpu_alloc = "/vcpualloc";
}  // namespace node_key

namespace domain_key {
inline constexpr const char* console_log = "/consolelog";
inline constexpr const char* failed_reason = "/failedreason";
inline constexpr const char* last_node = "/lastnode";
inline constexpr const char* migrate_sync_lock = "/migrate_sync_lock";
inline constexpr const char* migration_max_downtime = "/migration_max_downtime";
inline constexpr const char* migration_method = "/migration_method";
inline constexpr const char* node = "/node";
inline constexpr const char* node_autostart = "/node_autostart";
inline constexpr const char* node_limit = "/node_limit";
inline constexpr const char* node_selector = "/node_selector";
inline constexpr const char* rbd_list = "/rbdlist";
inline constexpr const char* state = "/state";
inline constexpr const char* stats = "/stats";
inline constexpr const char* vnc = "/vnc";
inline constexpr const char* xml = "/xml";
}  // namespace domain_key

}  // namespace pvc::model
