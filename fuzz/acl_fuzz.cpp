// What clients store as the text of an ACL. An input is the ACL's name, a newline, and the text (in which a newline
// may be). Covers: src/policy/networks/acl*.cpp, rule_tag.cpp, firewall.cpp
#include "fuzz_support.hpp"
#include "pvcnoded/policy/networks/acl.hpp"
#include "pvcnoded/policy/networks/firewall.hpp"

#include <string>
#include <variant>

using namespace pvc::model;
using namespace pvc::policy;

// Whatever is compared is as long as what is loaded, or for names as much of it as is asked for.
struct expression_checker {
    std::size_t loaded = 0;
    bool is_name = false;

    void load(std::size_t length, bool of_name = false) {
        loaded = length;
        is_name = of_name;
    }
    [[nodiscard]] bool fits(const std::string& bytes) const {
        return loaded > 0 && (bytes.size() == loaded || (is_name && !bytes.empty() && bytes.size() < loaded));
    }
    void operator()(const load_meta& one) {
        const bool of_name = one.key == meta_key::in_name || one.key == meta_key::out_name;
        load(of_name ? 16 : one.key == meta_key::mark ? 4 : one.key == meta_key::in_type ? 2 : 1, of_name);
    }
    void operator()(const load_payload& one) {
        PVC_ASSERT(one.length > 0 && one.length <= 16 && one.offset + one.length <= 40);
        load(one.length);
    }
    void operator()(const load_ct_state& /*one*/) { load(4); }
    void operator()(const mask_bits& one) const { PVC_ASSERT(one.mask.size() == loaded); }
    void operator()(const compare& one) const { PVC_ASSERT(fits(one.with)); }
    void operator()(const in_range& one) const {
        PVC_ASSERT(one.first.size() == loaded && one.last.size() == loaded && one.first <= one.last);
    }
    void operator()(const in_set& one) const {
        PVC_ASSERT(!one.elements.empty());
        const set_element* before = nullptr;
        for (const auto& element : one.elements) {
            PVC_ASSERT(element.first.size() == loaded && element.last.size() == loaded);
            PVC_ASSERT(element.first <= element.last && (before == nullptr || before->last < element.first));
            PVC_ASSERT(one.is_interval || element.first == element.last);
            before = &element;
        }
    }
    void operator()(const limit_rate& one) const { PVC_ASSERT(one.rate > 0 && one.unit > 0 && one.burst > 0); }
    void operator()(const log_packet& one) const {
        PVC_ASSERT(one.prefix.size() < 128 && pvc::fuzz::is_one_line(one.prefix));
        PVC_ASSERT(one.level.value_or(0) < 8);
    }
    void operator()(const reject_packet& one) const { PVC_ASSERT(one.type <= 2 && one.code <= 13); }
    void operator()(const count_packet& /*one*/) const {}
    void operator()(const give_verdict& one) const { PVC_ASSERT(one.chain.empty()); }
};

static void check(const parsed_acl& parsed) {
    if (!parsed.is_accepted()) {
        PVC_ASSERT(parsed.ahead.empty() && parsed.body.empty());
        PVC_ASSERT(parsed.problem.size() <= 300 && pvc::fuzz::is_one_line(parsed.problem));
        return;
    }
    PVC_ASSERT(!parsed.is_beyond && parsed.ahead.size() <= 2 && parsed.body.size() <= longest_acl);
    for (const auto* part : {&parsed.ahead, &parsed.body}) {
        expression_checker checker;
        for (const auto& one : *part) {
            std::visit(checker, one);
        }
    }
}

// More blanks between words change nothing.
static std::string with_more_blanks(std::string_view text) {
    std::string more = " ";
    bool is_quoted = false;
    for (const char c : text) {
        is_quoted = is_quoted != (c == '"');
        more += c;
        if (c == ' ' && !is_quoted) {
            more += ' ';
        }
    }
    return more;
}

static void check_firewall(std::string_view name, std::string_view text) {
    client_network network;
    network.vni = 7;
    network.acls_in = {{std::string(name), std::string(text)}, {"last", "drop"}};
    nft_knowledge nft;
    nft.unusable = "nobody asks nft";
    const auto wanted = firewall_of({&network, 1}, {}, nft);
    // What nft alone can judge is one line of its trial, and of the file once nft has taken it.
    const auto unjudged = firewall_of({&network, 1}, {});
    for (const auto& one : unjudged.unjudged) {
        PVC_ASSERT(pvc::fuzz::is_one_line(one));
        nft_knowledge taken;
        taken.verdicts.emplace(one, "");
        const auto with = firewall_of({&network, 1}, {}, taken);
        PVC_ASSERT(with.needs_nft && with.refused.empty() && with.files[0].text.find(one) != std::string::npos);
    }
    PVC_ASSERT(wanted.files.size() == 1 && wanted.chains.size() == 4);
    PVC_ASSERT(wanted.chains[2].rules.size() + wanted.refused.size() == 3);
    for (const auto& rule : wanted.chains[2].rules) {
        PVC_ASSERT(rule.rule.tag.size() <= 200 && is_own_tag(rule.rule.tag));
    }
    auto rest = std::string_view(wanted.files[0].text);
    std::size_t lines = 0;
    while (!rest.empty()) {
        const auto line = pvc::fuzz::take_until(rest, '\n');
        PVC_ASSERT(line.starts_with("# ") || line.starts_with("add chain inet filter ") ||
                   line.starts_with("add rule inet filter "));
        const bool is_comment = line.starts_with("#");
        PVC_ASSERT(is_comment || line.find_first_of("$\\\r") == std::string_view::npos);
        ++lines;
    }
    PVC_ASSERT(lines == 16);  // what it is, two chains, 11 rules, this one or why not, the last one
    if (!wanted.refused.empty()) {
        PVC_ASSERT(pvc::fuzz::is_one_line(wanted.refused[0].text()));
        return;
    }
    // As it is when the kernel refuses it.
    const auto refused = firewall_of({&network, 1}, {{wanted.chains[2].rules[1].rule.tag, "no\nadd table ip evil"}});
    PVC_ASSERT(refused.refused.size() == 1 && refused.files[0].text.find("\nadd table") == std::string::npos);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    auto text = pvc::fuzz::text_of(data, size);
    const auto name = pvc::fuzz::take_until(text, '\n');
    const auto parsed = parse_acl(text);
    check(parsed);
    const auto again = parse_acl(text);
    PVC_ASSERT(again.ahead == parsed.ahead && again.body == parsed.body && again.problem == parsed.problem);
    const auto wide = with_more_blanks(text);
    if (wide.size() <= longest_acl) {
        const auto same = parse_acl(wide);
        PVC_ASSERT(same.is_accepted() == parsed.is_accepted() && same.is_beyond == parsed.is_beyond);
        PVC_ASSERT(same.ahead == parsed.ahead && same.body == parsed.body);
    }
    check_firewall(name, text);
    return 0;
}
