#include "network_acls.hpp"

#include "pvcnoded/base/planted.hpp"
#include "pvcnoded/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <tuple>

namespace pvc::model {

namespace {

constexpr std::size_t longest_rule = 1025;  // one more than any that can be used
constexpr std::size_t most_acls = 4096;     // of one direction
constexpr std::size_t most_remarks = 4;     // of one direction
constexpr std::int64_t last_order = std::numeric_limits<std::int64_t>::max();

struct ordered_acl {
    std::int64_t order = last_order;
    bool has_rule = false;
    network_acl acl;
};

// "0" up; nothing of another form.
std::optional<std::int64_t> parse_order(std::string_view text) {
    const auto number = parse_integer(trim(text));
    return number && *number >= 0 ? number : std::nullopt;
}

}  // namespace

std::vector<network_acl> read_acls(std::string_view network, std::string_view folder,
                                   const std::map<std::string, std::string, std::less<>>& keys,
                                   std::vector<std::string>& remarks) {
    std::map<std::string_view, ordered_acl> found;
    std::size_t bad = 0;
    for (auto one = keys.lower_bound(folder); one != keys.end() && one->first.starts_with(folder); ++one) {
        const auto rest = std::string_view(one->first).substr(folder.size());
        const auto slash = rest.find('/');
        const auto name = rest.substr(0, slash);
        const auto key = slash == std::string_view::npos ? std::string_view() : rest.substr(slash);
        if (name.empty() || (key != "/rule" && key != "/order")) {
            continue;
        }
        auto& acl = found[name];
        acl.acl.name = name;
        if (key == "/rule") {
            acl.has_rule = true;
            acl.acl.rule = std::string_view(one->second).substr(0, longest_rule);
        } else if (const auto order = parse_order(one->second)) {
            acl.order = is_planted(defect::acls_by_text) ? one->second.front() : *order;
        } else if (++bad <= most_remarks) {
            remarks.push_back(fmt::format("/networks/{}{}{}/order: expected a number from 0 up, got \"{}\"; it is last",
                                          shown(network), folder, shown(name), shown(one->second)));
        }
    }
    if (bad > most_remarks) {
        remarks.push_back(fmt::format("/networks/{}{}: {} more without a number from 0 up as their order",
                                      shown(network), folder, bad - most_remarks));
    }
    std::vector<ordered_acl> all;
    for (auto& [name, acl] : found) {
        if (acl.has_rule) {
            all.push_back(std::move(acl));
        }
    }
    std::ranges::sort(all, {}, [](const ordered_acl& one) { return std::tie(one.order, one.acl.name); });
    if (all.size() > most_acls) {
        remarks.push_back(fmt::format("/networks/{}{}: expected at most {} rules, got {}; the last ones are left out",
                                      shown(network), folder, most_acls, all.size()));
        all.resize(most_acls);
    }
    std::vector<network_acl> acls;
    acls.reserve(all.size());
    for (auto& one : all) {
        acls.push_back(std::move(one.acl));
    }
    return acls;
}

}  // namespace pvc::model
