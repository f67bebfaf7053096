// Names of numbers as nft takes them: services and protocols as Debian's netbase lists them, types of ICMP, states of
// connections, flags, levels of the log. Compiled in, so that a rule means the same on every node.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace pvc::policy {

[[nodiscard]] std::optional<std::uint32_t> port_of(std::string_view service);
[[nodiscard]] std::optional<std::uint32_t> protocol_of(std::string_view name);
[[nodiscard]] std::optional<std::uint32_t> icmp_type_of(std::string_view name);
[[nodiscard]] std::optional<std::uint32_t> icmp6_type_of(std::string_view name);
[[nodiscard]] std::optional<std::uint32_t> family_of(std::string_view name);  // NFPROTO_*
[[nodiscard]] std::optional<std::uint32_t> ct_state_of(std::string_view name);
[[nodiscard]] std::optional<std::uint32_t> tcp_flag_of(std::string_view name);
[[nodiscard]] std::optional<std::uint32_t> log_level_of(std::string_view name);
[[nodiscard]] std::optional<std::uint32_t> seconds_of(std::string_view unit);
// Codes of `reject with icmp`, `icmpv6`, `icmpx`.
[[nodiscard]] std::optional<std::uint32_t> icmp_code_of(std::string_view name);
[[nodiscard]] std::optional<std::uint32_t> icmp6_code_of(std::string_view name);
[[nodiscard]] std::optional<std::uint32_t> icmpx_code_of(std::string_view name);
[[nodiscard]] bool is_letter(char c);
[[nodiscard]] bool is_word_of_nft(std::string_view word);  // of its grammar
// nft takes it for a text without quotes: it begins as a name does, and is no word of nft's grammar.
[[nodiscard]] bool is_plain_word(std::string_view word);

}  // namespace pvc::policy
