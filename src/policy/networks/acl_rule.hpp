// A rule that is being made of an ACL: its expressions, and what they already make sure of a packet, so that each
// protocol that a match needs is asked for once. Specification: networking.md 7.3.
#pragma once

#include "acl_cursor.hpp"
#include "acl_values.hpp"
#include "pvcnoded/model/packet_filter.hpp"
#include "pvcnoded/policy/networks/acl.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace pvc::policy {

inline constexpr std::uint8_t protocol_icmp = 1;  // IPPROTO_*
inline constexpr std::uint8_t protocol_tcp = 6;
inline constexpr std::uint8_t protocol_udp = 17;
inline constexpr std::uint8_t protocol_icmp6 = 58;
inline constexpr std::uint8_t protocol_sctp = 132;

// Why a rule cannot be made sure of what a match needs; empty: it can.
struct acl_conflict {
    std::string why;  // "tcp conflicts with udp, which is asked for before"
    // It was one of several: nft would take the last of them for the one.
    bool is_of_several = false;

    // False: the cursor knows why. What nft would misread is never given to it.
    [[nodiscard]] bool is_none_at(acl_cursor& in, const acl_token& begin) const {
        return why.empty() || in.refuse("at " + std::to_string(begin.at) + ": " + why, !is_of_several);
    }
};

class acl_rule {
public:
    // What is compared: one of the loads.
    using loaded = model::filter_expression;

    void add(model::filter_expression one) { body.push_back(std::move(one)); }
    void add_bits(loaded what, std::string mask, model::comparison how, std::string with);

    [[nodiscard]] acl_conflict need_family(std::uint8_t family);
    [[nodiscard]] acl_conflict need_protocol(std::uint8_t protocol);
    // The type of ICMP: of which family, only where the protocol is not asked for yet.
    [[nodiscard]] acl_conflict need_icmp(bool is_v6);
    void need_ether();
    // The same for a verdict, ahead of the rule.
    [[nodiscard]] acl_conflict need_ahead(std::optional<std::uint8_t> family, std::optional<std::uint8_t> protocol);

    // What a match says of the packet. `value`: the one; empty: one of several.
    void know_family(std::optional<std::uint8_t> value) { family_ = {value, !value, {}}; }
    void know_protocol(std::optional<std::uint8_t> value);
    [[nodiscard]] std::optional<std::uint8_t> family() const { return family_.value; }

    // False: these values cannot be compared so.
    bool add_match(acl_cursor& in, const acl_token& begin, loaded what, acl_operator how, const value_kind& kind,
                   const acl_values& values);

    std::vector<model::filter_expression> ahead;
    std::vector<model::filter_expression> body;

private:
    struct known {
        std::optional<std::uint8_t> value;
        bool is_one_of_several = false;
        // A protocol that was asked for before, though it cannot be both. nft goes on with neither, as behind several.
        std::optional<std::uint8_t> other;
    };
    using expressions = std::vector<model::filter_expression>;
    static acl_conflict need(known& what, model::meta_key key, std::uint8_t wanted, expressions& to);
    bool add_single(acl_cursor& in, const acl_token& begin, loaded what, acl_operator how, const acl_value& value);

    known family_;
    known protocol_;
    bool is_ether_ = false;
};

}  // namespace pvc::policy
