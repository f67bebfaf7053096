// Matches on a field of bits: the state of a connection, the flags of TCP. Specification: networking.md 7.3.
#pragma once

#include "acl_cursor.hpp"
#include "acl_rule.hpp"
#include "pvcnoded/model/packet_filter.hpp"

namespace pvc::policy {

// What follows `ct state` and `tcp flags`. False: it does not fit.
[[nodiscard]] bool read_ct_state(acl_cursor& in, acl_rule& rule);
[[nodiscard]] bool read_tcp_flags(acl_cursor& in, acl_rule& rule, const model::load_payload& field);

}  // namespace pvc::policy
