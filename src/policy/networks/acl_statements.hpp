// What an ACL does with a packet: count, log, limit, and the verdict. Specification: networking.md 7.3, 7.4.
#pragma once

#include "acl_cursor.hpp"
#include "acl_rule.hpp"

#include <cstdint>

namespace pvc::policy {

enum class statement_outcome : std::uint8_t { read, decided, failed, unknown };
// `decided`: it was a verdict. `unknown`: the next word begins no statement.
[[nodiscard]] statement_outcome read_statement(acl_cursor& in, acl_rule& rule);
// What follows `comment`: it is for people, and ends the rule.
[[nodiscard]] bool read_comment(acl_cursor& in);

}  // namespace pvc::policy
