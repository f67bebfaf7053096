// What the packet filter of a machine holds, read by the tags and the expressions of its rules, and what it shall hold
// by the keys below /networks. Nothing here asks the policy that the daemon makes it of, but for the texts of ACLs.
#include "pvcnoded/base/text.hpp"
#include "pvcnoded/policy/networks/acl.hpp"
#include "sim/subjects/networks/filter.hpp"
#include "sim/world/judge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <set>
#include <tuple>

namespace pvc::sim {

namespace {

// A rule by its tag: "pvc1 1001 in ssh 0123456789abcdef".
struct told_rule {
    std::uint32_t vni = 0;
    std::string_view kind;  // "=": one that comes with the network; "in", "out": an ACL
    std::string_view name;
    const std::vector<model::filter_expression>* says = nullptr;
};

std::optional<told_rule> read_rule(const model::filter_rule& rule) {
    std::string_view rest = rule.tag;
    const auto word = [&rest] {
        const auto end = std::min(rest.find(' '), rest.size());
        const auto one = rest.substr(0, end);
        rest.remove_prefix(std::min(end + 1, rest.size()));
        return one;
    };
    const bool is_own = word() == "pvc1";
    const auto vni = parse_integer(word());
    const auto kind = word();
    const auto space = rest.rfind(' ');
    if (!is_own || !vni || space == std::string_view::npos) {
        return std::nullopt;
    }
    return told_rule{static_cast<std::uint32_t>(*vni), kind, rest.substr(0, space), &rule.expressions};
}

constexpr std::array<std::string_view, 9> host_rule_names{"icmp", "icmp6", "dns-tcp",  "dns-udp", "dhcp",
                                                          "ntp",  "dhcp6", "metadata", "others"};

bool compares_with(const told_rule& rule, std::string_view bytes) {
    return std::ranges::any_of(*rule.says, [&](const auto& one) {
        const auto* const found = std::get_if<model::compare>(&one);
        return found != nullptr && found->with.size() > 1 && bytes.starts_with(found->with);
    });
}

model::give_verdict verdict_of(const told_rule& rule) {
    const auto* const found = rule.says->empty() ? nullptr : std::get_if<model::give_verdict>(&rule.says->back());
    return found == nullptr ? model::give_verdict{model::filter_verdict::return_to, "none"} : *found;
}

std::string bytes_of(const host_address& of) {
    if (of.address.is_v6()) {
        const auto bytes = of.address.to_v6().to_bytes();
        return {bytes.begin(), bytes.end()};
    }
    const auto bytes = of.address.to_v4().to_bytes();
    return {bytes.begin(), bytes.end()};
}

// A rule's tag holds the beginning of a long name.
bool is_name_of(std::string_view told, std::string_view name) {
    constexpr std::size_t longest = 100;
    return told == name || (told.size() >= longest && name.starts_with(told));
}

// What one chain shall hold, one rule after the other; says where it does not.
class chain_reader {
public:
    chain_reader(const sim_filter_chain& chain, const std::set<std::uint32_t>& in_flux) : name_(chain.name) {
        for (const auto& rule : chain.rules) {
            const auto told = read_rule(rule.is);
            if (!told) {
                wrong = name_ + " has a rule of nobody";
            } else if (!in_flux.contains(told->vni)) {
                rules_.push_back(*told);
            }
        }
    }

    const told_rule* next(std::uint32_t vni, std::string_view kind, std::string_view name) {
        const bool is_it = at_ < rules_.size() && rules_[at_].vni == vni && rules_[at_].kind == kind &&
                           is_name_of(rules_[at_].name, name);
        return is_it ? &rules_[at_++] : nullptr;
    }
    // Names that begin alike are the same in a tag: what it says tells them apart.
    [[nodiscard]] bool is_next(std::uint32_t vni, std::string_view kind, std::string_view name,
                               const std::vector<model::filter_expression>& says) const {
        return at_ < rules_.size() && rules_[at_].vni == vni && rules_[at_].kind == kind &&
               is_name_of(rules_[at_].name, name) && *rules_[at_].says == says;
    }
    void expect(std::uint32_t vni, std::string_view name, const std::function<bool(const told_rule&)>& says) {
        const auto* const found = next(vni, "=", name);
        if (found == nullptr || !says(*found)) {
            fail(fmt::format("{} {}", vni, name));
        }
    }
    void fail(const std::string& expected) {
        if (wrong.empty()) {
            wrong = fmt::format("{} does not have {} as its rule {}", name_, expected, at_ + 1);
        }
    }
    void end() {
        if (wrong.empty() && at_ < rules_.size()) {
            wrong = fmt::format("{} has {} {} {} beyond what it shall", name_, rules_[at_].vni, rules_[at_].kind,
                                rules_[at_].name);
        }
    }

    std::string wrong;

private:
    std::string name_;
    std::vector<told_rule> rules_;
    std::size_t at_ = 0;
};

struct stored_acl {
    std::int64_t order = std::numeric_limits<std::int64_t>::max();
    std::string name;
    std::string rule;
};

std::vector<stored_acl> acls_of(const memory_ensemble& tree, std::uint32_t vni, std::string_view direction) {
    std::vector<stored_acl> all;
    const auto folder = fmt::format("/networks/{}/firewall_rules/{}", vni, direction);
    if (!tree.exists(folder)) {
        return all;
    }
    for (const auto& name : tree.children(folder)) {
        if (auto rule = tree.get(folder + "/" + name + "/rule")) {
            stored_acl one{.name = name, .rule = *std::move(rule)};
            const auto order = parse_integer(tree.get(folder + "/" + name + "/order").value_or("-"));
            one.order = order && *order >= 0 ? *order : one.order;
            all.push_back(std::move(one));
        }
    }
    std::ranges::sort(all, {}, [](const stored_acl& one) { return std::tie(one.order, one.name); });
    return all;
}

// Bridges of managed networks that the daemon of a machine noted as its own, and that still stand.
std::set<std::uint32_t> own_bridges_of(const sim_node& node) {
    constexpr std::string_view record = "/run/pvc/client-bridges";
    std::set<std::uint32_t> all;
    const auto& seen = node.kernel.state();
    for (auto file = node.host.files.lower_bound(std::string(record));
         file != node.host.files.end() && file->first.starts_with(record); ++file) {
        for (const auto line : split(file->second, '\n')) {
            const auto words = split_blanks(line);
            const auto vni = words.size() == 3 && words[2] == "m" ? parse_integer(words[0]) : std::nullopt;
            const auto* const bridge = vni ? seen.find(fmt::format("vmbr{}", *vni)) : nullptr;
            if (bridge != nullptr && bridge->kind == "bridge" && parse_integer(words[1]) == bridge->index) {
                all.insert(static_cast<std::uint32_t>(*vni));
            }
        }
    }
    return all;
}

// Half a minute: that long a daemon may take after anything.
constexpr duration after_a_bridge = std::chrono::seconds(30);

// It goes on as what it was before, as the device of what it is to be is not there.
bool waits_for_device(const sim_node& node, const model::client_network& network) {
    const bool is_managed = network.type == model::network_type::managed;
    const auto& seen = node.kernel.state();
    const auto* lower = seen.find(is_managed ? node.settings.cluster_device : node.settings.bridge_device);
    // Or what it stands on is on the device of before, which is told: see rules.cpp.
    const auto* base = seen.find(network.base());
    if (base != nullptr && lower != nullptr && base->lower != lower->index &&
        node.logged(network.base() + " is there and is not ")) {
        return true;
    }
    return (lower == nullptr || !lower->is_up) &&
           seen.find(fmt::format("{}{}", is_managed ? "vlan" : "vxlan", network.vni)) != nullptr;
}

class filter_reader {
public:
    filter_reader(const judge& of, const member& one) : of_(of), one_(one), table_(one.node.filter_table) {
        for (const auto& network : networks_of(of.world)) {
            if (!is_settled(of, network.vni) || waits_for_device(one.node, network) ||
                is_nobodys_base(one.node, network)) {
                in_flux_.insert(network.vni);
            } else if (network.type == model::network_type::managed) {
                networks_.emplace(std::to_string(network.vni) + ".nft", network);
            }
        }
        for (const auto& [vni, when] : of.state<network_changes>().when) {
            const auto number = model::vni_of(vni, "");
            if (number && !is_settled(of, *number)) {
                in_flux_.insert(*number);
            }
        }
        find_left();
    }
    // Nothing is left out, or depends on more than the table and the keys.
    [[nodiscard]] bool is_all() const { return in_flux_.empty() && left_.empty(); }

    [[nodiscard]] std::string wrong() {
        if (table_.flags() != 0) {
            return "the table is dormant, or somebody else's";
        }
        for (const auto& chain : table_.chains()) {
            if (auto text = wrong_with(chain); !text.empty()) {
                return text;
            }
        }
        for (const auto& [file, network] : networks_) {
            for (const auto* direction : {"-in", "-out"}) {
                if (table_.find(network.base() + direction) == nullptr) {
                    return network.base() + direction + " is not there";
                }
            }
        }
        return table_.find("forward") == nullptr || table_.find("input") == nullptr ? "a chain with a hook is missing"
                                                                                    : "";
    }

private:
    // Those who have rules are to have all of them.
    void find_left() {
        auto& stood = of_.state<filter_looks>().left;
        for (const auto vni : own_bridges_of(one_.node)) {
            const auto name = std::to_string(vni) + ".nft";
            if (networks_.contains(name) || in_flux_.contains(vni)) {
                continue;
            }
            stood.insert_or_assign({one_.number, vni}, of_.world.now());
            left_.insert(vni);
            model::client_network without_addresses;
            without_addresses.vni = vni;
            if (table_.find(without_addresses.base() + "-in") != nullptr) {
                networks_.emplace(name, without_addresses);
            }
        }
        for (const auto& [who, when] : stood) {
            if (who.first == one_.number && !left_.contains(who.second) && of_.world.now() - when <= after_a_bridge) {
                in_flux_.insert(who.second);
            }
        }
    }

    std::string wrong_with(const sim_filter_chain& chain) {
        chain_reader reader(chain, in_flux_);
        if (chain.name == "input") {
            for (const auto& [file, network] : networks_) {
                read_input(reader, network);
            }
        } else if (chain.name == "forward") {
            for (const auto& [file, network] : networks_) {
                read_ways(reader, network, network.ip6, "ip6");
                read_ways(reader, network, network.ip4, "ip");
            }
        } else {
            const auto name = std::string_view(chain.name);
            const auto dash = std::min(name.rfind('-'), name.size());
            const auto vni = model::vni_of(name.substr(0, dash), "vxlan");
            if (vni && in_flux_.contains(*vni)) {
                return "";
            }
            const auto network = vni ? networks_.find(std::to_string(*vni) + ".nft") : networks_.end();
            if (network == networks_.end()) {
                return chain.name + " is a chain of no network";
            }
            read_acls(reader, network->second.vni, name.substr(dash + 1));
        }
        reader.end();
        return reader.wrong;
    }

    static void read_input(chain_reader& from, const model::client_network& network) {
        std::string bridge = network.bridge();
        bridge.resize(16, '\0');
        for (const auto name : host_rule_names) {
            const auto verdict = name == "others" ? model::filter_verdict::drop : model::filter_verdict::accept;
            from.expect(network.vni, name, [&](const told_rule& rule) {
                return compares_with(rule, bridge) && verdict_of(rule).what == verdict;
            });
        }
    }

    static void read_ways(chain_reader& from, const model::client_network& network, const model::network_family& family,
                          const std::string& word) {
        if (!family.gateway || !family.network) {
            return;
        }
        for (const auto* direction : {"-in", "-out"}) {
            from.expect(network.vni, word + direction, [&](const told_rule& rule) {
                const auto verdict = verdict_of(rule);
                return compares_with(rule, bytes_of(*family.network)) && verdict.what == model::filter_verdict::jump &&
                       verdict.chain == network.base() + direction;
            });
        }
    }

    void read_acls(chain_reader& from, std::uint32_t vni, std::string_view direction) const {
        from.expect(vni, fmt::format("count-{}", direction), [](const told_rule& rule) {
            return rule.says->size() == 1 && std::holds_alternative<model::count_packet>(rule.says->front());
        });
        const auto acls = left_.contains(vni) ? std::vector<stored_acl>() : acls_of(of_.world.ensemble, vni, direction);
        for (const auto& acl : acls) {
            const auto parsed = policy::parse_acl(acl.rule);
            if (!parsed.is_accepted()) {
                continue;
            }
            auto says = parsed.ahead;
            says.emplace_back(model::count_packet{});
            says.insert(says.end(), parsed.body.begin(), parsed.body.end());
            const auto about = fmt::format("{} {} {}", vni, direction, acl.name);
            if (!from.is_next(vni, direction, acl.name, says) && was_refused(about, says)) {
                continue;
            }
            if (const auto* const found = from.next(vni, direction, acl.name)) {
                if (*found->says != says) {
                    from.fail(about + " as its text says");
                }
            } else {
                from.fail(about);
            }
        }
    }

    [[nodiscard]] bool was_refused(const std::string& about, const std::vector<model::filter_expression>& says) const {
        const auto& all = of_.state<filter_looks>().refused[one_.number];
        return std::ranges::any_of(all,
                                   [&](const auto& one) { return is_name_of(one.first, about) && one.second == says; });
    }

    const judge& of_;
    const member& one_;
    const sim_filter& table_;
    std::map<std::string, model::client_network> networks_;  // by the file's name: that is their order
    std::set<std::uint32_t> in_flux_;
    std::set<std::uint32_t> left_;  // with a bridge that is the daemon's own, and no network
};

// By VNI: the names of its rules in a chain that all share.
std::map<std::uint32_t, std::string> names_in(const sim_filter_chain& chain) {
    std::map<std::uint32_t, std::string> all;
    for (const auto& rule : chain.rules) {
        if (const auto told = read_rule(rule.is)) {
            all[told->vni] += std::string(told->name) + ' ';
        }
    }
    return all;
}

}  // namespace

std::string acl_of_rule(const model::filter_rule& rule) {
    const auto told = read_rule(rule);
    return told && told->kind != "=" ? fmt::format("{} {} {}", told->vni, told->kind, told->name) : "";
}

std::string wrong_with_filter(const judge& of, const member& one) {
    const std::pair now{one.node.filter_table.generation(), of.state<network_changes>().count};
    auto& right = of.state<filter_looks>().right;
    if (const auto known = right.find(one.number); known != right.end() && known->second == now) {
        return "";
    }
    filter_reader reader(of, one);
    auto wrong = reader.wrong();
    if (wrong.empty() && reader.is_all()) {
        right.insert_or_assign(one.number, now);
    }
    return wrong;
}

std::string torn_filter(const sim_filter& table) {
    const auto* const forward = table.find("forward");
    const auto* const input = table.find("input");
    if (forward == nullptr || input == nullptr) {
        return "a chain with a hook is missing";
    }
    std::set<std::uint32_t> networks;
    for (const auto& chain : table.chains()) {
        const auto name = std::string_view(chain.name);
        const auto dash = std::min(name.rfind('-'), name.size());
        const auto vni = model::vni_of(name.substr(0, dash), "vxlan");
        if (!vni) {
            continue;
        }
        networks.insert(*vni);
        const auto first = chain.rules.empty() ? std::nullopt : read_rule(chain.rules.front().is);
        if (!first || first->kind != "=") {
            return chain.name + " does not begin with its counter";
        }
        if (table.find(fmt::format("vxlan{}-in", *vni)) == nullptr ||
            table.find(fmt::format("vxlan{}-out", *vni)) == nullptr) {
            return chain.name + " stands alone";
        }
    }
    const auto hosts = names_in(*input);
    std::string all;
    for (const auto name : host_rule_names) {
        all.append(name).append(" ");
    }
    for (const auto vni : networks) {
        if (const auto found = hosts.find(vni); found == hosts.end() || found->second != all) {
            return fmt::format("input has but a part of the rules of {}", vni);
        }
    }
    const auto ways = names_in(*forward);
    for (const auto& [vni, names] : ways) {
        if (names != "ip6-in ip6-out " && names != "ip-in ip-out " && names != "ip6-in ip6-out ip-in ip-out ") {
            return fmt::format("forward has but a part of the rules of {}", vni);
        }
    }
    for (const auto* chain : {&hosts, &ways}) {
        for (const auto& [vni, names] : *chain) {
            if (!networks.contains(vni)) {
                return fmt::format("there are rules of {}, which has no chains", vni);
            }
        }
    }
    return "";
}

}  // namespace pvc::sim
