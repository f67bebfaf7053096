// Commands about one virtual machine as clients up to 0.9.80 write them into /cmd/domains, and the answers to them.
// Specification: vm-domains.md 14, node-lifecycle.md 13, zookeeper-schema.md 6.9.
#pragma once

#include "pvcnoded/base/uuid.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pvc::model {

enum class domain_verb : std::uint8_t { flush_locks, attach_device, detach_device };
[[nodiscard]] std::string_view to_text(domain_verb verb);

// A longer text is no command that anybody means: a device takes a few hundred bytes.
inline constexpr std::size_t command_bytes_max = 128UL * 1024;
// Of an answer; the end of a longer one is cut, as clients look at its first word.
inline constexpr std::size_t answer_bytes_max = 256UL * 1024;

struct domain_command {
    domain_verb verb = domain_verb::flush_locks;
    std::optional<uuid> id;  // empty: it names no domain, so it is addressed to nobody
    std::string device;      // of the other two: the XML element, blank runs made one space
    std::string fault;       // why it can only fail; empty: well-formed

    friend bool operator==(const domain_command&, const domain_command&) = default;
};

// Empty: no command of ours (no text, an answer, another consumer's word).
[[nodiscard]] std::optional<domain_command> parse_domain_command(std::string_view text);

// "success-<text>" or "failure-<text>".
[[nodiscard]] std::string command_answer(bool is_done, std::string_view text);

}  // namespace pvc::model
