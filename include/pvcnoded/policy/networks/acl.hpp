// The text of an ACL as what the kernel's packet filter is given: the words of nft's rules that this daemon knows, with
// their meaning, so that a text which nft loads too does the same there. Pure and total: whatever a client stored is a
// list of expressions or one line that says where it is wrong. Specification: networking.md 7.3 (recipes), 7.4 (cases
// 45, 47 to 49, 52).
#pragma once

#include "pvcnoded/model/packet_filter.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace pvc::policy {

inline constexpr std::size_t longest_acl = 1024;  // bytes

struct parsed_acl {
    // The rule, in order: `ahead`, the counter that stands in front of every ACL, `body`. Ahead of the counter is what
    // a `reject with …` needs to be true of a packet: nft puts it there.
    std::vector<model::filter_expression> ahead;
    std::vector<model::filter_expression> body;
    // "at 11: expected a port or the name of a service, got "nosuch"": printable, one line, at most 200 bytes. Empty:
    // it is accepted; else there are no expressions.
    std::string problem;
    // There is nothing wrong with its characters, and nft may know what is not known here.
    bool is_beyond = false;
    std::vector<std::string> chains;  // of such a one: where it leads to, which must be chains of static files

    [[nodiscard]] bool is_accepted() const { return problem.empty(); }
};

[[nodiscard]] parsed_acl parse_acl(std::string_view text);

// The names that stand for a port, and those that stand for a protocol: Debian's, of netbase, which nft asks.
[[nodiscard]] std::vector<std::string_view> names_of_services();
[[nodiscard]] std::vector<std::string_view> names_of_protocols();

}  // namespace pvc::policy
