// Every payload parser: the first byte selects one, the rest is the text. What was read must survive the round trip.
// Covers: src/model/scalar.cpp src/model/states.cpp src/model/node_payloads.cpp src/model/node_record.cpp
// Covers: src/model/json_text.cpp
#include "fuzz_support.hpp"
#include "pvcnoded/base/text.hpp"
#include "pvcnoded/base/utf8.hpp"
#include "pvcnoded/model/json_text.hpp"
#include "pvcnoded/model/node_payloads.hpp"
#include "pvcnoded/model/node_record.hpp"
#include "pvcnoded/model/scalar.hpp"
#include "pvcnoded/model/states.hpp"

#include <boost/json.hpp>

#include <array>
#include <cmath>
#include <string_view>

using namespace pvc::model;
using pvc::valid_utf8;

namespace {

void maintenance(std::string_view text) {
    PVC_ASSERT(!parse_maintenance(text) || parse_boolean(text) == true);
    PVC_ASSERT(parse_maintenance(maintenance_text(parse_maintenance(text))) == parse_maintenance(text));
}

void boolean(std::string_view text) {
    if (const auto value = parse_boolean(text)) {
        PVC_ASSERT(parse_boolean(boolean_text(*value)) == value);
    }
}

void integer(std::string_view text) {
    const auto value = integer_or(text, 7);
    PVC_ASSERT(integer_or(std::to_string(value), 8) == value);
    PVC_ASSERT(value == 7 || integer_or(text, 8) == value);
}

void number(std::string_view text) {
    const auto value = parse_float(text);
    if (!value) {
        return;
    }
    PVC_ASSERT(std::isfinite(*value));
    const auto load = cpu_load_text(*value);
    const auto read = parse_float(load);
    PVC_ASSERT(read && cpu_load_text(*read) == load && load.size() <= 312 && *read >= 0);
    PVC_ASSERT(parse_float(json_number(*value)) == value);
}

// Every stored word, and the fallback for any other.
template <class State>
void state(std::string_view text, std::optional<State> (*parse)(std::string_view),
           State (*or_fallback)(std::string_view)) {
    const auto known = parse(text);
    PVC_ASSERT(!known || (to_text(*known) == text && or_fallback(text) == *known));
    PVC_ASSERT(known || or_fallback(text) == or_fallback("no such word"));
}

void any_state(std::string_view text) {
    state<daemon_state>(text, parse_daemon_state, daemon_state_or_fallback);
    state<router_state>(text, parse_router_state, router_state_or_fallback);
    state<domain_state>(text, parse_domain_state, domain_state_or_fallback);
    state<vm_state>(text, parse_vm_state, vm_state_or_fallback);
    const auto mode = parse_daemon_mode(text);
    PVC_ASSERT(!mode || to_text(*mode) == text);
}

void running_domains(std::string_view text) {
    const auto uuids = parse_running_domains(text);
    PVC_ASSERT(parse_running_domains(running_domains_text(uuids)) == uuids);
    PVC_ASSERT(std::ranges::all_of(uuids, is_uuid) && running_domains_text(uuids).size() <= text.size());
}

void statics(std::string_view text) {
    const auto data = parse_static_data(text);
    if (!data) {
        return;
    }
    // Exactly four ASCII tokens; what was ASCII stays as it was.
    const auto written = static_data_text(*data);
    const auto read = parse_static_data(written);
    PVC_ASSERT(read && pvc::fuzz::is_printable_ascii(written) && pvc::split_blanks(written).size() == 4);
    PVC_ASSERT(static_data_text(*read) == written && (!pvc::fuzz::is_printable_ascii(text) || *read == *data));
}

void self_reset(std::string_view text) {
    const auto lease = parse_self_reset(text);
    PVC_ASSERT(parse_self_reset(self_reset_text(lease)) == lease && (!lease || lease->count() > 0));
}

void primary(std::string_view text) {
    const auto node = parse_primary_node(text);
    PVC_ASSERT(parse_primary_node(primary_node_text(node)) == node && node != "");
}

void health(std::string_view text) {
    const auto value = parse_health(text);
    PVC_ASSERT(parse_health(health_text(value)) == value && value.value_or(0) >= 0 && value.value_or(0) <= 100);
}

void comma_list(std::string_view text) {
    const auto items = parse_comma_list(text);
    PVC_ASSERT(parse_comma_list(comma_list_text(items)) == items && comma_list_text(items).size() <= text.size());
}

// Our JSON means the same to everybody, and is ASCII on one line.
void json(std::string_view text) {
    const auto written = json_object().add("text", text).add_raw("list", json_array().add(text).text()).text();
    PVC_ASSERT(std::ranges::all_of(written, [](char c) { return c >= 0x20; }));
    PVC_ASSERT(written.size() <= 12 * text.size() + 40);
    const auto read = boost::json::parse(written);
    PVC_ASSERT(std::string_view(read.at("text").as_string()) == valid_utf8(text));
    PVC_ASSERT(read.at("list").at(0) == read.at("text"));
}

// A text in every key of a node's record: one start repairs what must be repaired, the next finds nothing more to do.
void record(std::string_view text) {
    const auto version = text.empty() ? 0 : static_cast<unsigned char>(text.front()) % (highest_schema + 1);
    const auto table = *schema::of(version);
    node_facts facts;
    facts.node = "hv1";
    stored_values stored;
    for (const auto& path : node_record_paths(table, facts.node)) {
        stored[path] = {std::string(text), 1};
    }
    const auto updates = existing_node_updates(table, facts, stored);
    PVC_ASSERT(updates.creates.empty());
    for (const auto& set : updates.sets) {
        PVC_ASSERT(stored.contains(set.path) && set.value.size() <= text.size() + 64);
        stored[set.path].value = set.value;
    }
    for (const auto& set : existing_node_updates(table, facts, stored).sets) {
        PVC_ASSERT(stored[set.path].value == set.value);
    }
}

constexpr std::array parsers = {maintenance, integer,         number,     any_state,  any_state, any_state,
                                any_state,   running_domains, statics,    self_reset, primary,   health,
                                record,      boolean,         comma_list, json};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    auto rest = pvc::fuzz::text_of(data, size);
    if (size > 0) {
        const auto selector = pvc::fuzz::take_byte(rest);
        parsers[selector % parsers.size()](rest);
    }
    return 0;
}
