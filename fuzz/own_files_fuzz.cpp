// Files about links: the record of those of client networks, which a crash or anybody may have left in any state, and
// what the host's own configuration names.
// Covers: src/policy/networks/own_bridges.cpp src/policy/networks/bound_lines.cpp src/policy/networks/ifupdown.cpp
// Covers: src/policy/networks/named_links.cpp src/policy/networks/ini_links.cpp
#include "fuzz_support.hpp"
#include "pvcnoded/policy/networks/ifupdown.hpp"
#include "pvcnoded/policy/networks/ini_links.hpp"
#include "pvcnoded/policy/networks/own_bridges.hpp"

using namespace pvc::policy;

static void check_record(std::string_view text) {
    constexpr std::string_view boot = "b";
    constexpr std::size_t limit = 60'000;
    own_bridges bridges;
    own_bases bases;
    host_ports ports;
    further_notes further;
    const auto said = add_record(bridges, bases, text, boot, &ports, &further);
    PVC_ASSERT(said.size() < 1000);
    own_bridges again;
    own_bases bases_again;
    host_ports ports_again;
    further_notes further_again;
    for (const auto& part : record_texts(bridges, bases, boot, limit, ports, further)) {
        PVC_ASSERT(add_record(again, bases_again, part, boot, &ports_again, &further_again).empty());
    }
    PVC_ASSERT(again == bridges && bases_again == bases && ports_again == ports && further_again == further);
}

// What was named counts after a restart as it did before, as far as it is kept.
static void check_kept(const names_in_file& found) {
    named_links all;
    all.add(found);
    const auto kept = names_text(all);
    PVC_ASSERT(names_text(parse_names(kept)) == kept);
    for (const auto& one : all.names) {
        PVC_ASSERT(one.starts_with('/') || is_range(one) || is_in_range(one, one));
    }
}

static void check_names(std::string_view text) {
    const auto found = parse_ifupdown(text);
    std::size_t size = 0;
    const auto look_at = [&size](const std::string& one) {
        PVC_ASSERT(one.find_first_of(" \t\n") == std::string::npos);
        size += one.size();
    };
    for (const auto& one : found.names) {
        look_at(one);
    }
    PVC_ASSERT(size <= 3 * text.size());  // a VLAN in a list of ports by its usual name too, and ranges in brackets
    for (const auto& one : found.ports) {
        constexpr std::size_t brackets = 2;  // of a range
        PVC_ASSERT(one.name.size() <= longest_link_name + brackets && can_be_link_name(one.master));
    }
    size = 0;
    for (const auto* all : {&found.sources, &found.folders}) {
        for (const auto& one : *all) {
            look_at(one.path);
            PVC_ASSERT(one.line > 0);
        }
    }
    PVC_ASSERT(size <= text.size());
    check_kept(found);
}

static void check_programs(std::string_view text) {
    for (const auto& found : {parse_netdev(text), parse_network_file(text), parse_keyfile(text)}) {
        check_kept(found);
    }
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto text = pvc::fuzz::text_of(data, size);
    check_record(text);
    check_names(text);
    check_programs(text);
    return 0;
}
