// The firewall of client networks: what table `inet filter` shall hold, and the files that say the same to the nft
// program. Pure. Every rule has a tag that tells which one it is and changes with what it says, so that a look at the
// kernel shows what differs (filter_plan.hpp). Specification: networking.md 7.1, 7.2, 7.4 (cases 41 to 46, 48, 49, 52,
// 54); ruling 35.
#pragma once

#include "pvcnoded/model/client_network.hpp"
#include "pvcnoded/model/packet_filter.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pvc::policy {

enum class acl_direction : std::uint8_t { in, out };
[[nodiscard]] std::string_view to_text(acl_direction direction);

struct acl_name {
    std::uint32_t vni = 0;
    acl_direction direction = acl_direction::in;
    std::string name;
    friend auto operator<=>(const acl_name&, const acl_name&) = default;
};

struct wanted_rule {
    model::filter_rule rule;      // with its tag; without expressions it is one that only nft knows, and in the files
    std::optional<acl_name> acl;  // empty: one that comes with every network
    friend bool operator==(const wanted_rule&, const wanted_rule&) = default;
};

struct wanted_chain {
    std::string name;
    model::filter_hook hook = model::filter_hook::none;
    std::vector<wanted_rule> rules;
    friend bool operator==(const wanted_chain&, const wanted_chain&) = default;
};

// An ACL that is left out; the others are as they would be without it.
struct refused_acl {
    acl_name acl;
    std::string reason;      // one line
    bool is_beyond = false;  // nft may know its words
    // "network 1001: ACL in ssh is left out: at 11: expected …"
    [[nodiscard]] std::string text() const;
    friend bool operator==(const refused_acl&, const refused_acl&) = default;
};

struct network_file {
    std::string name;  // "1001.nft"
    std::string text;
    friend bool operator==(const network_file&, const network_file&) = default;
};

// What is known of the words beyond those that this daemon loads itself.
struct nft_knowledge {
    std::map<std::string, std::string, std::less<>> verdicts;       // by text: what nft says against it; "": nothing
    std::map<std::string, std::string, std::less<>> refused_rules;  // by chain and text: within all of it only
    std::vector<std::string> static_chains;                         // that files in static/ make
    std::string unusable;  // why nft cannot be asked, or what it last said to all of it; "": it can
    std::set<std::string, std::less<>> in_force;  // tags of rules that it has made: these need it no more
};

struct wanted_filter {
    std::vector<wanted_chain> chains;  // the two base chains, then those of the networks
    std::vector<network_file> files;   // one a network, in the order of their names
    std::vector<refused_acl> refused;
    std::vector<std::string> unjudged;  // texts of ACLs, neither applied nor refused before nft was asked
    bool needs_nft = false;             // for some of the rules there are no expressions
    friend bool operator==(const wanted_filter&, const wanted_filter&) = default;
};

// What the kernel refused, by the tags of the rules: for as long as they say the same, they are left out.
using refused_rules = std::map<std::string, std::string, std::less<>>;

// Of the managed ones of `networks`, in any order; of two with one VNI the first. On any thread; 1000 networks with 10
// ACLs each take some 40 ms, and a plan for them 10.
[[nodiscard]] wanted_filter firewall_of(std::span<const model::client_network> networks,
                                        const refused_rules& refused_before, const nft_knowledge& nft = {});

// Tags of those for which nft is needed.
[[nodiscard]] std::set<std::string, std::less<>> made_by_nft(const wanted_filter& wanted);

// The ACL whose rule a change adds: whom to leave out when the kernel refuses it.
[[nodiscard]] std::optional<acl_name> acl_of(const wanted_filter& wanted, const model::filter_change& change);

// "add chain inet filter vxlan1001-in": a line of nft's language.
[[nodiscard]] std::string chain_text(std::string_view name, model::filter_hook hook);
// Of a file of a network: its rules in order, each with its chain, in nft's language.
[[nodiscard]] std::vector<std::pair<std::string_view, std::string_view>> rules_in(std::string_view file);

// One of this daemon's, of whatever version.
[[nodiscard]] bool is_own_tag(std::string_view tag);

// "<directory>/nft/base.nft": table, base chains, what the administrator and the networks add. The nft program that
// loads it replaces this one table.
[[nodiscard]] std::string base_file(std::string_view dynamic_directory);

// A file of the administrator's: what was read is what is loaded.
struct static_file {
    std::string name;
    std::string text;
    std::string included;  // what the files said that it includes: nft reads these itself
    friend bool operator==(const static_file&, const static_file&) = default;
};

// A text for the nft program, which loads it in one batch: what base_file() says, with files as they were read.
// `tables`: of others, as `ip6 mine`, that go first.
[[nodiscard]] std::string nft_text(std::span<const std::string> tables, std::span<const static_file> files);
// The same with the networks' files as they shall be: all of it.
[[nodiscard]] std::string nft_text(const wanted_filter& wanted, std::span<const std::string> tables,
                                   std::span<const static_file> files);
// The same with these ACLs in place of networks, each where a packet that is forwarded comes to it: for a dry run.
[[nodiscard]] std::string nft_trial(std::span<const std::string> acls, std::span<const std::string> tables,
                                    std::span<const static_file> files);

// The least that nft must have made of it: all its chains, with as many rules. Nothing more can be told from rules that
// have no tags, and static files add to both.
[[nodiscard]] bool has_at_least(const wanted_filter& wanted, const model::filter_state& seen);

// nft says it of a line of what it was given ("/dev/stdin:37:1-60: Error: …"; `source`: /dev/stdin, or the path of the
// file); anything else it says of itself.
[[nodiscard]] std::optional<std::size_t> line_that_nft_refuses(std::string_view said, std::string_view source);

// The rule ("vxlan1001-in counter masquerade") of that line of what an nft_text() gave, where it is that of an ACL
// which only nft knows: of several the first that nft names is the guilty one.
[[nodiscard]] std::optional<std::string> acl_in_line(std::string_view loaded, std::size_t line,
                                                     const nft_knowledge& nft);

// Which static file that line is of, and which of its lines.
struct static_place {
    std::size_t file = 0;
    std::size_t line = 0;
    friend bool operator==(const static_place&, const static_place&) = default;
};
[[nodiscard]] std::optional<static_place> place_in_files(std::size_t line, std::span<const std::string> tables,
                                                         std::span<const static_file> files);

// What a text of nft makes (static files): tables, as "inet extra", and chains of table `inet filter`. A reader of
// words, no parser: what it finds is looked up before anything is done with it.
struct static_names {
    std::vector<std::string> tables;
    std::vector<std::string> chains;
    std::vector<std::string> included;  // paths as they are written; what these files make is not in here
    std::string objection;              // why it may not be loaded at all; empty: nothing is known against it
};
[[nodiscard]] static_names names_in(std::string_view text);

}  // namespace pvc::policy
