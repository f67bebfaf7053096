#include "pvcnoded/policy/networks/firewall.hpp"

#include "pvcnoded/base/assert.hpp"
#include "pvcnoded/base/text.hpp"
#include "pvcnoded/policy/networks/acl.hpp"
#include "rule_tag.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace pvc::policy {

using model::client_network;

namespace {

constexpr std::string_view forward = "forward";
constexpr std::string_view input = "input";

// What a host offers to the guests of a network, and nothing else of it. {}: the network's bridge.
constexpr std::array<std::pair<std::string_view, std::string_view>, 9> host_rules{
    {{"icmp", "ip protocol icmp iifname \"{}\" counter accept"},
     {"icmp6", "ip6 nexthdr ipv6-icmp iifname \"{}\" counter accept"},
     {"dns-tcp", "tcp dport 53 iifname \"{}\" counter accept"},
     {"dns-udp", "udp dport 53 iifname \"{}\" counter accept"},
     {"dhcp", "udp dport 67 iifname \"{}\" counter accept"},
     {"ntp", "udp dport 123 iifname \"{}\" counter accept"},
     {"dhcp6", "ip6 nexthdr udp udp dport 547 iifname \"{}\" counter accept"},
     {"metadata", "tcp dport 80 iifname \"{}\" counter accept"},
     {"others", "iifname \"{}\" counter drop"}}};

constexpr std::string_view any_bridge = "vmbr0";

std::string chain_of(const client_network& network, acl_direction direction) {
    return fmt::format("{}-{}", network.base(), to_text(direction));
}

// As the directory of the files has them, so that both ways to load them give one table.
std::string file_name(const client_network& network) {
    return fmt::format("{}.nft", network.vni);
}

// One network after the other is added to the chains that all share, and to its own.
class firewall_writer {
public:
    firewall_writer(const refused_rules& refused_before, const nft_knowledge& nft)
        : refused_before_(refused_before), nft_(nft) {
        wanted.chains.push_back({std::string(forward), model::filter_hook::forward, {}});
        wanted.chains.push_back({std::string(input), model::filter_hook::input, {}});
    }

    void add(const client_network& network) {
        network_ = &network;
        chain_in_ = {chain_of(network, acl_direction::in), model::filter_hook::none, {}};
        chain_out_ = {chain_of(network, acl_direction::out), model::filter_hook::none, {}};
        text_ = fmt::format("# Client network {}: written by pvcnoded, and anew with each change.\n", network.vni);
        for (const auto* chain : {&chain_in_, &chain_out_}) {
            text_ += fmt::format("add chain inet filter {}\n", chain->name);
        }
        add_own(chain_in_, "count-in", "counter", {model::count_packet{}});
        add_own(chain_out_, "count-out", "counter", {model::count_packet{}});
        for (std::size_t at = 0; at < host_rules.size(); ++at) {
            const auto& [name, text] = host_rules[at];
            add_own(wanted.chains[1], name, fmt::format(fmt::runtime(text), network.bridge()), host_expressions(at));
        }
        add_ways(network.ip6, "ip6");
        add_ways(network.ip4, "ip");
        add_acls(chain_in_, acl_direction::in, network.acls_in);
        add_acls(chain_out_, acl_direction::out, network.acls_out);
        wanted.files.push_back({file_name(network), std::move(text_)});
        wanted.chains.push_back(std::move(chain_in_));
        wanted.chains.push_back(std::move(chain_out_));
    }

    wanted_filter wanted;

private:
    void write(const wanted_chain& chain, std::string_view text) {
        text_ += fmt::format("add rule inet filter {} {}\n", chain.name, text);
    }

    static std::vector<model::filter_expression> expressions_of(std::string_view text) {
        auto parsed = parse_acl(text);
        PVC_ASSERT(parsed.is_accepted() && parsed.ahead.empty());
        return std::move(parsed.body);
    }

    // Of the rule at this place for this network's bridge. Only the name of the bridge is another for each: the text is
    // read once, with a name that stands for all.
    [[nodiscard]] std::vector<model::filter_expression> host_expressions(std::size_t place) const {
        static const auto parsed = [] {
            std::vector<std::vector<model::filter_expression>> all;
            for (const auto& [name, text] : host_rules) {
                all.push_back(expressions_of(fmt::format(fmt::runtime(text), any_bridge)));
            }
            return all;
        }();
        auto mine = parsed[place];
        for (auto& one : mine) {
            if (auto* const found = std::get_if<model::compare>(&one);
                found != nullptr && std::string_view(found->with).starts_with(any_bridge)) {
                const std::size_t size = found->with.size();  // of every name: it is filled up with zeros
                found->with = network_->bridge();
                found->with.resize(size);
            }
        }
        return mine;
    }

    // One of those that come with every network: what is loaded is what the text that is written says.
    void add_own(wanted_chain& to, std::string_view name, const std::string& text,
                 std::vector<model::filter_expression> says, const std::optional<model::give_verdict>& jump = {}) {
        wanted_rule one;
        one.rule.expressions = std::move(says);
        if (jump) {
            one.rule.expressions.emplace_back(*jump);
        }
        one.rule.tag = tag_of(fmt::format("{} =", network_->vni), name, one.rule.expressions);
        write(to, jump ? text + " jump " + jump->chain : text);
        to.rules.push_back(std::move(one));
    }

    // What is on its way into the network, and out of it.
    void add_ways(const model::network_family& family, std::string_view word) {
        if (!family.gateway || !family.network) {
            return;
        }
        const auto network = family.network->text();
        for (const auto* chain : {&chain_in_, &chain_out_}) {
            const bool is_in = chain == &chain_in_;
            const auto text = fmt::format("{} {} {} counter", word, is_in ? "daddr" : "saddr", network);
            add_own(wanted.chains[0], fmt::format("{}-{}", word, is_in ? "in" : "out"), text, expressions_of(text),
                    model::give_verdict{model::filter_verdict::jump, chain->name});
        }
    }

    void add_acls(wanted_chain& to, acl_direction direction, const std::vector<model::network_acl>& acls) {
        for (const auto& acl : acls) {
            acl_name name{network_->vni, direction, acl.name};
            auto parsed = parse_acl(acl.rule);
            if (!parsed.is_accepted()) {
                add_beyond(to, acl.rule, std::move(name), parsed);
                continue;
            }
            wanted_rule one;
            one.rule.expressions = std::move(parsed.ahead);
            one.rule.expressions.emplace_back(model::count_packet{});
            std::ranges::move(parsed.body, std::back_inserter(one.rule.expressions));
            one.rule.tag =
                tag_of(fmt::format("{} {}", network_->vni, to_text(direction)), acl.name, one.rule.expressions);
            if (const auto found = refused_before_.find(one.rule.tag); found != refused_before_.end()) {
                refuse(std::move(name), "the kernel refuses it: " + shown(found->second), false);
                continue;
            }
            write(to, acl.rule.empty() ? "counter" : "counter " + acl.rule);
            one.acl = std::move(name);
            to.rules.push_back(std::move(one));
        }
    }

    // What only nft knows, once nft has taken it.
    void add_beyond(wanted_chain& to, const std::string& text, acl_name name, const parsed_acl& parsed) {
        const auto is_known = [this](const std::string& chain) {
            return std::ranges::find(nft_.static_chains, chain) != nft_.static_chains.end();
        };
        if (!parsed.is_beyond || !std::ranges::all_of(parsed.chains, is_known)) {
            refuse(std::move(name), parsed.problem, parsed.is_beyond);
            return;
        }
        const std::string rule = "counter " + text;
        std::string tag = tag_of(fmt::format("{} {}", network_->vni, to_text(name.direction)), name.name, rule);
        const bool is_usable = nft_.unusable.empty();
        if (!is_usable && !nft_.in_force.contains(tag)) {
            refuse(std::move(name), fmt::format("{}; {}", parsed.problem, nft_.unusable), true);
            return;
        }
        const auto verdict = nft_.verdicts.find(text);
        const bool is_judged = verdict != nft_.verdicts.end();
        if (!is_judged && is_usable) {
            wanted.unjudged.push_back(text);
            if (!nft_.in_force.contains(tag)) {
                return;  // what was taken once stays until it is known to be bad
            }
        }
        const auto refused = nft_.refused_rules.find(fmt::format("{} {}", to.name, rule));
        const bool is_refused = refused != nft_.refused_rules.end();
        if (is_refused || (is_judged && !verdict->second.empty())) {
            refuse(std::move(name),
                   fmt::format("{}; nft says: {}", parsed.problem, is_refused ? refused->second : verdict->second),
                   true);
            return;
        }
        write(to, rule);
        wanted.needs_nft = true;
        to.rules.push_back({{{}, std::move(tag)}, std::move(name)});
    }

    void refuse(acl_name acl, std::string reason, bool is_beyond) {
        text_ += fmt::format("# left out: {} {}: {}\n", to_text(acl.direction), shown(acl.name), reason);
        wanted.refused.push_back({std::move(acl), std::move(reason), is_beyond});
    }

    const refused_rules& refused_before_;
    const nft_knowledge& nft_;
    const client_network* network_ = nullptr;
    wanted_chain chain_in_;
    wanted_chain chain_out_;
    std::string text_;
};

}  // namespace

std::string_view to_text(acl_direction direction) {
    return direction == acl_direction::in ? "in" : "out";
}

std::string refused_acl::text() const {
    return fmt::format("network {}: ACL {} {} is left out: {}", acl.vni, to_text(acl.direction), shown(acl.name),
                       reason);
}

wanted_filter firewall_of(std::span<const client_network> networks, const refused_rules& refused_before,
                          const nft_knowledge& nft) {
    std::map<std::string, const client_network*> managed;
    for (const auto& one : networks) {
        if (one.type == model::network_type::managed) {
            managed.emplace(file_name(one), &one);
        }
    }
    firewall_writer writer(refused_before, nft);
    for (const auto& [name, one] : managed) {
        writer.add(*one);
    }
    return std::move(writer.wanted);
}

std::set<std::string, std::less<>> made_by_nft(const wanted_filter& wanted) {
    std::set<std::string, std::less<>> tags;
    for (const auto& chain : wanted.chains) {
        for (const auto& one : chain.rules) {
            if (one.rule.expressions.empty()) {
                tags.insert(one.rule.tag);
            }
        }
    }
    return tags;
}

std::optional<acl_name> acl_of(const wanted_filter& wanted, const model::filter_change& change) {
    const auto* const added = std::get_if<model::add_rule>(&change);
    if (added == nullptr) {
        return std::nullopt;
    }
    const auto chain = std::ranges::find(wanted.chains, added->chain, &wanted_chain::name);
    if (chain == wanted.chains.end()) {
        return std::nullopt;
    }
    const auto rule =
        std::ranges::find(chain->rules, added->rule.tag, [](const wanted_rule& one) { return one.rule.tag; });
    return rule == chain->rules.end() ? std::nullopt : rule->acl;
}

bool is_own_tag(std::string_view tag) {
    return tag.starts_with(tag_begin);
}

std::string chain_text(std::string_view name, model::filter_hook hook) {
    const auto where = hook == model::filter_hook::forward ? forward : input;
    return fmt::format(
        "add chain inet filter {}{}\n", name,
        hook == model::filter_hook::none ? "" : fmt::format(" {{ type filter hook {} priority 0; }}", where));
}

namespace {

constexpr std::string_view added_rule = "add rule inet filter ";

std::string base_text() {
    std::string text =
        "add table inet filter\n"
        "delete table inet filter\n"
        "add table inet filter\n";
    return text + chain_text(forward, model::filter_hook::forward) + chain_text(input, model::filter_hook::input);
}

std::string include_of(std::string_view dynamic_directory, std::string_view folder) {
    return fmt::format("include \"{}/nft/{}/*\"\n", dynamic_directory, folder);
}

}  // namespace

std::string base_file(std::string_view dynamic_directory) {
    return "# The packet filter of this node: written by pvcnoded. Loading it replaces this table alone.\n" +
           base_text() + include_of(dynamic_directory, "static") + include_of(dynamic_directory, "networks");
}

std::vector<std::pair<std::string_view, std::string_view>> rules_in(std::string_view file) {
    std::vector<std::pair<std::string_view, std::string_view>> all;
    for (auto line : split(file, '\n')) {
        if (line.starts_with(added_rule)) {
            line.remove_prefix(added_rule.size());
            const auto end = std::min(line.find(' '), line.size());
            all.emplace_back(line.substr(0, end), line.substr(std::min(end + 1, line.size())));
        }
    }
    return all;
}

namespace {

std::string head_of(std::span<const std::string> tables) {
    std::string text;
    for (const auto& one : tables) {
        text += fmt::format("delete table {}\n", one);
    }
    return text + base_text();
}

// A file may end in the middle of a line, and that with a backslash.
constexpr std::string_view end_of_file = "\n\n";

std::size_t lines_in(std::string_view text) {
    return static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

}  // namespace

std::string nft_text(std::span<const std::string> tables, std::span<const static_file> files) {
    std::string text = head_of(tables);
    for (const auto& one : files) {
        text += one.text;
        text += end_of_file;
    }
    return text;
}

std::string nft_text(const wanted_filter& wanted, std::span<const std::string> tables,
                     std::span<const static_file> files) {
    std::string text = nft_text(tables, files);
    for (const auto& one : wanted.files) {
        text += one.text;
    }
    return text;
}

std::string nft_trial(std::span<const std::string> acls, std::span<const std::string> tables,
                      std::span<const static_file> files) {
    constexpr std::string_view chain = "pvcnoded-trial";
    std::string text = nft_text(tables, files) +
                       fmt::format("add chain inet filter {0}\n{1}{2} counter jump {0}\n", chain, added_rule, forward);
    for (const auto& one : acls) {
        text += fmt::format("{}{} counter {}\n", added_rule, chain, one);
    }
    return text;
}

bool has_at_least(const wanted_filter& wanted, const model::filter_state& seen) {
    return seen.has_table && seen.flags == 0 && std::ranges::all_of(wanted.chains, [&seen](const wanted_chain& one) {
               const auto found = std::ranges::find(seen.chains, one.name, &model::seen_chain::name);
               return found != seen.chains.end() && found->rules.size() >= one.rules.size();
           });
}

std::optional<std::size_t> line_that_nft_refuses(std::string_view said, std::string_view source) {
    const std::string place = std::string(source) + ":";
    const auto at = said.find(place);
    if (at == std::string_view::npos || said.find("Error: ") == std::string_view::npos) {
        return std::nullopt;
    }
    const auto digits = said.substr(at + place.size());
    const auto number = parse_integer(digits.substr(0, digits.find(':')));
    return number && *number > 0 ? std::optional(static_cast<std::size_t>(*number)) : std::nullopt;
}

std::optional<std::string> acl_in_line(std::string_view loaded, std::size_t number, const nft_knowledge& nft) {
    constexpr std::string_view inserted_rule = "insert rule inet filter ";
    constexpr std::string_view place = "handle ";
    constexpr std::string_view counter = "counter ";
    const auto lines = split(loaded, '\n');
    if (number < 1 || number > lines.size()) {
        return std::nullopt;
    }
    auto line = lines[number - 1];
    const auto begin = line.starts_with(inserted_rule) ? inserted_rule : added_rule;
    if (!line.starts_with(begin) || !line.substr(begin.size()).starts_with("vxlan")) {
        return std::nullopt;
    }
    line.remove_prefix(begin.size());
    const auto chain = line.substr(0, line.find(' '));
    line.remove_prefix(std::min(chain.size() + 1, line.size()));
    if (line.starts_with(place)) {
        line.remove_prefix(place.size());
        line.remove_prefix(std::min(line.find(' '), line.size()));
        line.remove_prefix(std::min<std::size_t>(1, line.size()));
    }
    if (!line.starts_with(counter)) {
        return std::nullopt;
    }
    const auto text = line.substr(counter.size());
    if (!nft.verdicts.contains(text) && parse_acl(text).is_accepted()) {
        return std::nullopt;
    }
    return fmt::format("{} {}", chain, line);
}

std::optional<static_place> place_in_files(std::size_t line, std::span<const std::string> tables,
                                           std::span<const static_file> files) {
    std::size_t first = 1 + lines_in(head_of(tables));
    for (std::size_t at = 0; at < files.size(); ++at) {
        const std::size_t count = lines_in(files[at].text) + end_of_file.size();
        if (line >= first && line < first + count) {
            return static_place{at, line - first + 1};
        }
        first += count;
    }
    return std::nullopt;
}

}  // namespace pvc::policy
