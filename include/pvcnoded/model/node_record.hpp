// Registration of a node (zookeeper-schema.md 10; it goes before node-lifecycle.md 3.7): the keys that the first start
// creates and those that a later start rewrites. One transaction each.
#pragma once

#include "pvcnoded/model/key_value.hpp"
#include "pvcnoded/model/node_payloads.hpp"
#include "pvcnoded/model/schema.hpp"
#include "pvcnoded/model/states.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace pvc::model {

// What a node says of itself. Texts become ASCII, except the IPMI ones: peers use those as they are to fence us.
struct node_facts {
    std::string node;
    daemon_mode mode = daemon_mode::hypervisor;
    static_data statics;
    std::string pvc_version;
    std::string ipmi_hostname;
    std::string ipmi_username;
    std::string ipmi_password;
    std::int64_t now_s = 0;  // Unix seconds, wall clock
    int latest_schema = 0;   // what is advertised; the active version is the table's
};

// Every key of a new record, in the order in which it is created: parents first, only keys of the table's version, and
// `/selfreset off`.
[[nodiscard]] std::vector<key_value> new_node_record(const schema& table, const node_facts& facts);

// The paths of that record, to be read before existing_node_updates().
[[nodiscard]] std::vector<std::string> node_record_paths(const schema& table, std::string_view node);

struct node_record_updates {
    std::vector<key_update> sets;
    std::vector<key_value> creates;  // parents first
};

// What a later start writes: the nine keys of node-lifecycle.md 3.7, both schema numbers, whatever is missing, and
// repairs that clients need: `selfreset` back to off, figures that are no numbers to 0, an empty `domainstate` to
// `flushed`, tokens of `runningdomains` that are no UUIDs removed. `domainstate`, `runningdomains`, `keepalive` and
// good figures are left alone. Keys that others write too carry the version read: a conflict means read again.
[[nodiscard]] node_record_updates existing_node_updates(const schema& table, const node_facts& facts,
                                                        const stored_values& existing);

}  // namespace pvc::model
