// The sections of the file, one function each: what they read goes into `config`, what is wrong into the section's
// reading. Derived values are made where their inputs are read.
#pragma once

#include "pvcnoded/config/load.hpp"
#include "section.hpp"

#include <cstdint>
#include <string_view>

namespace pvc::config {

// 6.1: host name, short name, domain, number.
void derive_identity(std::string_view hostname, node_config& config);
[[nodiscard]] std::uint64_t number_in(std::string_view short_name);  // 0: it has none; saturates
// 5.1: node, debug, functions.
void read_identity(section& pvc, node_config& config);
// cluster.coordinators, and from it 6.2 and 6.3. Needs the identity.
void read_coordinators(section& cluster, node_config& config);
// 5.2 without coordinators, 5.7 without storage, and from them 6.5 and 6.6. Needs identity and functions.
void read_networking(section& cluster, section& networking, node_config& config);
// 5.3. Needs the functions.
void read_databases(section& coordinator, node_config& config);
// 5.4 and 5.5, with what follows for fencing and self-reset.
void read_system(section& system, const host_facts& facts, node_config& config);
// 5.6.
void read_directories(section& directories, const host_facts& facts, node_config& config);
void read_logging(section& logging, node_config& config);
// 5.7, storage. Needs the functions.
void read_storage(section& storage, const host_facts& facts, node_config& config);
// 5.8a.
void read_hypervisor(section& hypervisor, node_config& config);
void read_recovery(section& fencing, node_config& config);
void read_control(section& control, node_config& config);
// 5.8b.
void read_metrics(section& metrics, node_config& config);
// 5.8.
void read_health(section& health, const host_facts& facts, node_config& config);

// Rules that several sections share.
extern const text_rule any_text;
extern const text_rule non_empty_text;
extern const text_rule secret_text;
extern const text_rule path_rule;
extern const text_rule device_rule;
inline constexpr range mtu_range{68, 65535};

// Warns if a directory that was given, or is the default, is not there.
void check_directory(const section& in, const host_facts& facts, const setting<std::string>& directory);

}  // namespace pvc::config
