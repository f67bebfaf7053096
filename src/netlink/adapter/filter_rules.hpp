// A rule as the kernel takes it: its expressions, and the anonymous sets that it looks into. Made by libnftnl, which
// checks no sizes: objection_to() does, and comes first (netlink/filter_limits.hpp). Specification: networking.md 7.3.
#pragma once

#include "pvcnoded/model/packet_filter.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

struct nftnl_rule;
struct nftnl_set;

namespace pvc::netlink {

struct free_nftnl {
    void operator()(const nftnl_rule* one) const;
    void operator()(const nftnl_set* one) const;
};
using kernel_rule = std::unique_ptr<nftnl_rule, free_nftnl>;
using kernel_set = std::unique_ptr<nftnl_set, free_nftnl>;

// An anonymous set: what makes it, and its elements in parts that fit into a message each.
struct rule_set {
    kernel_set made;
    std::vector<kernel_set> elements;
};

struct rule_parts {
    std::vector<rule_set> sets;  // before the rule
    kernel_rule rule;            // without its place
};

// `next_set` is counted up with each set: within a batch every one has a number of its own.
[[nodiscard]] rule_parts parts_of(const model::filter_rule& rule, std::uint32_t& next_set);

}  // namespace pvc::netlink
