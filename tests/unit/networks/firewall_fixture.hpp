// A node whose packet filter is looked at, and clients that write ACLs.
#pragma once

#include "unit/networks/network_fixture.hpp"

#include <utility>
#include <variant>

namespace pvc::node {

class firewall_fixture : public network_fixture {
protected:
    using texts = std::vector<std::string>;

    // With IPv4 alone; as the API does it.
    void put_filtered(int vni) {
        put_network(vni, {{"/ip4_network", fmt::format("10.1.{}.0/24", vni % 256)},
                          {"/ip4_gateway", fmt::format("10.1.{}.1", vni % 256)},
                          {"/firewall_rules", ""},
                          {"/firewall_rules/in", ""},
                          {"/firewall_rules/out", ""}});
    }
    void put_acl(int vni, const std::string& name, const std::string& order, const std::string& rule) {
        change(vni, {{"/firewall_rules/" + name, ""},
                     {"/firewall_rules/" + name + "/order", order},
                     {"/firewall_rules/" + name + "/rule", rule}});
    }
    void remove_acl(int vni, const std::string& name) {
        ensemble.remove_tree(fmt::format("/networks/{}/firewall_rules/{}", vni, name));
    }
    // "1001 = icmp", "1001 in ssh": the rules of a chain, without what tells of their contents.
    static texts rules(const sim_node& node, std::string_view chain) {
        texts all;
        if (const auto* const found = node.filter_table.find(chain)) {
            for (const auto& one : found->rules) {
                all.push_back(name_of(one.is.tag));
            }
        }
        return all;
    }
    static std::string name_of(const std::string& tag) {
        return tag.starts_with("pvc1 ") ? tag.substr(5, tag.rfind(' ') - 5) : "another's " + tag;
    }
    // By chain and name.
    static std::map<std::string, std::uint64_t> handles(const sim_node& node, const texts& chains) {
        std::map<std::string, std::uint64_t> all;
        for (const auto& chain : chains) {
            for (const auto& one : node.filter_table.find(chain)->rules) {
                all.emplace(chain + " " + name_of(one.is.tag), one.handle);
            }
        }
        return all;
    }
    // Everything that a network of put_filtered() has, with these ACLs into it.
    static bool has_all(const sim_node& node, int vni, const texts& acls = {}) {
        const auto number = std::to_string(vni);
        texts in{number + " = count-in"};
        for (const auto& one : acls) {
            in.push_back(fmt::format("{} in {}", vni, one));
        }
        const auto count = [&](std::string_view chain) {
            return std::ranges::count_if(rules(node, chain),
                                         [&](const std::string& one) { return one.starts_with(number + " = "); });
        };
        return rules(node, "vxlan" + number + "-in") == in && !rules(node, "vxlan" + number + "-out").empty() &&
               count("input") == 9 && count("forward") == 2;
    }
    // What a network has of which nothing is known but that it is there.
    static bool has_remains(const sim_node& node, int vni) {
        const auto number = std::to_string(vni);
        return rules(node, "vxlan" + number + "-in") == texts{number + " = count-in"} &&
               rules(node, "vxlan" + number + "-out") == texts{number + " = count-out"} &&
               rules(node, "forward").empty() && rules(node, "input").size() == 9;
    }
    static std::string file(const sim_node& node, const std::string& name) {
        const auto found = node.host.files.find("/run/pvc/nft/" + name);
        return found == node.host.files.end() ? "missing" : found->second;
    }
    static std::size_t commits(const sim_node& node) {
        return static_cast<std::size_t>(std::ranges::count_if(
            node.filter.calls, [](const std::string& one) { return one.starts_with("commit "); }));
    }
    // Says yes to the change that adds a rule whose name begins so.
    static std::function<bool(const model::filter_change&)> adds(std::string begin) {
        return [begin = std::move(begin)](const model::filter_change& change) {
            const auto* const added = std::get_if<model::add_rule>(&change);
            return added != nullptr && name_of(added->rule.tag).starts_with(begin);
        };
    }
    static bool is_rebuild(const std::vector<model::filter_change>& batch) {
        return std::ranges::any_of(batch,
                                   [](const auto& one) { return std::holds_alternative<model::delete_table>(one); });
    }
    // As another daemon left it: no rule has a tag.
    static std::vector<model::filter_change> anothers_table() {
        return {model::make_table{}, model::make_chain{"forward", model::filter_hook::forward},
                model::make_chain{"vxlan9-in", model::filter_hook::none},
                model::add_rule{"vxlan9-in", {{model::count_packet{}}, ""}, 0, false},
                model::add_rule{
                    "forward",
                    {{model::count_packet{}, model::give_verdict{model::filter_verdict::jump, "vxlan9-in"}}, ""},
                    0,
                    false}};
    }
    static void put_anothers_table(sim_node& node) {
        const auto made = node.filter_table.commit(anothers_table(), std::nullopt);
        EXPECT_TRUE(made && !*made);
    }
};

}  // namespace pvc::node
