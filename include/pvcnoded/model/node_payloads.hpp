// Texts of single node keys and of the primary's name (zookeeper-schema.md 6.1 and 6.2): staticdata, runningdomains,
// selfreset, primary_node. Readers are total.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pvc::model {

// 8-4-4-4-12 hexadecimal digits, in either case.
[[nodiscard]] bool is_uuid(std::string_view text);

// /nodes/<n>/runningdomains: UUIDs separated by blanks. Tokens that are no UUIDs (the reference's initial "0") and
// repetitions are dropped; the order is kept.
[[nodiscard]] std::vector<std::string> parse_running_domains(std::string_view text);
// Joined by single blanks; "" for none.
[[nodiscard]] std::string running_domains_text(const std::vector<std::string>& uuids);

// /nodes/<n>/staticdata: "16 5.10.0-26-amd64 GNU/Linux x86_64".
struct static_data {
    std::string cpu_count;  // logical CPUs, decimal
    std::string kernel;     // release
    std::string operating_system;
    std::string machine;

    friend bool operator==(const static_data&, const static_data&) = default;
};

// The first four tokens; empty if there are fewer.
[[nodiscard]] std::optional<static_data> parse_static_data(std::string_view text);
// Exactly four ASCII tokens: blanks inside one become "_", an empty one "unknown".
[[nodiscard]] std::string static_data_text(const static_data& data);

// /nodes/<n>/selfreset: "off", or "armed <B>" with the lease B in whole seconds (node-lifecycle.md 10.8). Empty = off;
// whatever cannot be read is off too, for then it proves nothing.
using self_reset_lease = std::optional<std::chrono::seconds>;
[[nodiscard]] self_reset_lease parse_self_reset(std::string_view text);
[[nodiscard]] std::string self_reset_text(self_reset_lease lease);

// /config/primary_node: a node name; "none", "", "None" and a missing key mean that nobody is.
[[nodiscard]] std::optional<std::string> parse_primary_node(std::optional<std::string_view> stored);
// The name, or "none".
[[nodiscard]] std::string primary_node_text(const std::optional<std::string>& node);

}  // namespace pvc::model
