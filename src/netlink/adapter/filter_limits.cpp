#include "pvcnoded/netlink/filter_limits.hpp"

#include "adapter/filter_sets.hpp"
#include "adapter/routing_socket.hpp"
#include "pvcnoded/netlink/filter_replies.hpp"

#include <algorithm>
#include <cerrno>

namespace pvc::netlink {

namespace {

constexpr std::size_t register_size = 16;
constexpr std::size_t expressions_max = 128;  // of the kernel
constexpr std::size_t chain_name_max = 255;
constexpr std::size_t log_prefix_max = 127;

std::optional<std::string> objection_to_name(const std::string& name) {
    if (name.empty() || name.find('\0') != std::string::npos) {
        return error_text(EINVAL);
    }
    return name.size() > chain_name_max ? std::optional(error_text(ERANGE)) : std::nullopt;
}

bool fits(const std::string& value) {
    return !value.empty() && value.size() <= register_size;
}

struct fits_into_a_message {
    bool operator()(const model::mask_bits& one) const { return fits(one.mask); }
    bool operator()(const model::compare& one) const { return fits(one.with); }
    bool operator()(const model::in_range& one) const { return fits(one.first) && one.first.size() == one.last.size(); }
    bool operator()(const model::in_set& one) const {
        const std::size_t size = key_size(one.kind);
        const bool may_be_shorter = one.kind == model::set_kind::interface_name;
        return !one.elements.empty() && std::ranges::all_of(one.elements, [&](const model::set_element& each) {
            return fits(each.first) && fits(each.last) &&
                   (may_be_shorter || (each.first.size() == size && each.last.size() == size));
        });
    }
    bool operator()(const model::log_packet& one) const {
        return one.prefix.size() <= log_prefix_max && one.prefix.find('\0') == std::string::npos;
    }
    bool operator()(const model::give_verdict& one) const {
        const bool has_target = one.what == model::filter_verdict::jump || one.what == model::filter_verdict::go_to;
        return !has_target || !objection_to_name(one.chain);
    }
    template <class Other>
    bool operator()(const Other& /*one*/) const {
        return true;
    }
};

std::optional<std::string> objection_to_rule(const model::filter_rule& rule) {
    const bool fit = rule.expressions.size() <= expressions_max && rule.tag.size() <= tag_max &&
                     std::ranges::all_of(rule.expressions, [](const model::filter_expression& one) {
                         return std::visit(fits_into_a_message(), one);
                     });
    return fit ? std::nullopt : std::optional(error_text(EINVAL));
}

struct objections {
    std::optional<std::string> operator()(const model::make_chain& one) const { return objection_to_name(one.name); }
    std::optional<std::string> operator()(const model::flush_chain& one) const { return objection_to_name(one.name); }
    std::optional<std::string> operator()(const model::delete_chain& one) const { return objection_to_name(one.name); }
    std::optional<std::string> operator()(const model::add_rule& one) const {
        auto found = objection_to_name(one.chain);
        return found ? found : objection_to_rule(one.rule);
    }
    // Without a handle the kernel would delete all rules of the chain.
    std::optional<std::string> operator()(const model::delete_rule& one) const {
        return one.handle == 0 ? std::optional<std::string>("a rule without a handle") : objection_to_name(one.chain);
    }
    template <class Table>
    std::optional<std::string> operator()(const Table& /*one*/) const {
        return std::nullopt;
    }
};

}  // namespace

std::optional<std::string> objection_to(const model::filter_change& change) {
    return std::visit(objections(), change);
}

}  // namespace pvc::netlink
