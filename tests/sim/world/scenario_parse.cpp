#include "sim/world/scenario.hpp"

#include "pvcnoded/base/text.hpp"
#include "sim/world/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>

namespace pvc::sim {

namespace {

constexpr std::string_view outcome_marker = "outcome";
constexpr std::size_t nodes_max = 20;

std::optional<int> parse_int(std::string_view text) {
    int value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

struct parser {
    scenario out;
    int line = 0;
    bool has_started = false;

    [[nodiscard]] failure wrong(std::string_view expected, std::string_view got) const {
        return failure(errc::invalid, fmt::format("line {}", line),
                       fmt::format("expected {}, got \"{}\"", expected, ascii_only(got.substr(0, 80))));
    }
    [[nodiscard]] bool knows(std::string_view node) const {
        return std::ranges::find(out.world.nodes, node, &node_settings::name) != out.world.nodes.end() ||
               std::ranges::find(out.world.foreign, node) != out.world.foreign.end();
    }

    result<void> nodes(std::string_view rest, bool are_coordinators) {
        while (!rest.empty()) {
            const std::string name(next_word(rest));
            if (knows(name) || out.world.nodes.size() == nodes_max) {
                return wrong(fmt::format("at most {} nodes, each once", nodes_max), name);
            }
            node_settings node;
            node.name = name;
            node.coordinators.clear();
            out.world.nodes.push_back(std::move(node));
            if (are_coordinators) {
                coordinators.push_back(name);
            }
        }
        return {};
    }
    std::vector<std::string> coordinators;

    // Coordinators that behave as the reference does, and run machines as it does.
    result<void> references(std::string_view rest) {
        while (!rest.empty()) {
            const std::string name(next_word(rest));
            if (knows(name) || out.world.foreign.size() == nodes_max) {
                return wrong(fmt::format("at most {} nodes, each once", nodes_max), name);
            }
            out.world.foreign.push_back(name);
            coordinators.push_back(name);
        }
        out.world.has_foreign_guests = true;
        return {};
    }

    // "setting hv1 keepalive_interval 2"; "all" for every node.
    result<void> setting(std::string_view rest) {
        const std::string_view node = next_word(rest);
        const std::string_view key = next_word(rest);
        if (node != "all" && !knows(node)) {
            return wrong("a node or `all`", node);
        }
        const auto number = parse_int(rest);
        const bool is_on = rest == "on";
        const auto apply = [&](node_settings& s) {
            if (key == "keepalive_interval" && number && *number > 0) {
                s.keepalive_interval = *number;
            } else if (key == "fence_intervals" && number && *number >= 0) {
                s.fence_intervals = *number;
            } else if (key == "suicide_intervals" && number && *number >= 0) {
                s.suicide_intervals = *number;
            } else if (key == "failed_fence" && (rest == "migrate" || rest == "none")) {
                s.recovers_after_failure = rest == "migrate";
            } else if (key == "node_log_lines" && number && *number > 0) {
                s.node_log_lines = *number;
            } else if (key == "schema_limit" && number) {
                s.schema_limit = std::string(rest);
            } else if (key == "zookeeper_logging" && (is_on || rest == "off")) {
                s.zookeeper_logging = is_on;
            } else if (key == "api" && (is_on || rest == "off")) {
                s.api = is_on;
            } else if (key == "hypervisor" && (is_on || rest == "off")) {
                s.hypervisor = is_on;
            } else if (key == "storage" && (is_on || rest == "off")) {
                s.storage = is_on;
            } else if (key == "networking" && (is_on || rest == "off")) {
                s.networking = is_on;
            } else if (key == "other_names" && (is_on || rest == "off")) {
                s.has_other_names = is_on;
            } else if (key == "sriov" && (is_on || rest == "off")) {
                s.sriov.clear();
                if (is_on) {
                    s.sriov.push_back({"ens8", 2, {}});
                }
            } else if (key == "debug" && (is_on || rest == "off")) {
                s.debug = is_on;
            } else {
                return false;
            }
            return true;
        };
        for (auto& one : out.world.nodes) {
            if ((node == "all" || one.name == node) && !apply(one)) {
                return wrong(
                    "keepalive_interval, fence_intervals, suicide_intervals, node_log_lines, schema_limit N, "
                    "failed_fence migrate|none, or "
                    "zookeeper_logging, api, hypervisor, storage, networking, other_names, sriov, debug on|off",
                    fmt::format("{} {}", key, rest));
            }
        }
        return {};
    }

    // "guest 1 runs hv2", "guest 1 there hv2", "guest 1 off", "guest 1 state = migrate"
    result<condition> ask_guest(condition asked, std::string_view rest) {
        const auto number = parse_int(next_word(rest));
        const auto word = next_word(rest);
        const auto what = next_word(rest);
        asked.guest = number.value_or(0);
        if (word == "off" && what.empty()) {
            asked.what = condition::kind::guest_off;
        } else if ((word == "runs" || word == "there") && knows(what) && rest.empty()) {
            asked.what = word == "runs" ? condition::kind::guest_runs : condition::kind::guest_there;
            asked.node = std::string(what);
        } else if (what == "=") {
            asked.what = condition::kind::guest_key;
            asked.path = "/" + std::string(word);
            asked.text = std::string(rest);
        } else {
            return wrong("guest N runs NODE, there NODE, off, or KEY = VALUE", word);
        }
        return number ? result<condition>(asked) : wrong("the number of a machine", rest);
    }

    result<condition> ask(std::string_view rest) {
        condition asked;
        std::string_view first = next_word(rest);
        if (first == "not") {
            asked.is_negated = true;
            first = next_word(rest);
        }
        if (first.starts_with('/')) {
            asked.path = std::string(first);
            const auto word = next_word(rest);
            if (word == "=") {
                asked.what = condition::kind::value;
                asked.text = std::string(rest);
                return asked;
            }
            asked.what = word == "exists" ? condition::kind::exists : condition::kind::missing;
            return word == "exists" || word == "missing" ? result<condition>(asked)
                                                         : wrong("`= VALUE`, `exists` or `missing`", word);
        }
        if (first == "guest") {
            return ask_guest(asked, rest);
        }
        if (first == "all" && rest == "is well") {
            asked.what = condition::kind::all_well;
            return asked;
        }
        if (!knows(first)) {
            return wrong("a node of this scenario, `guest N`, `all is well`, or a path", first);
        }
        asked.node = std::string(first);
        const auto word = next_word(rest);
        if (word == "link" || word == "address") {
            return ask_link(asked, word, rest);
        }
        if (word == "chain") {
            return ask_chain(asked, rest);
        }
        asked.text = std::string(rest);
        if (word == "power") {
            asked.what = condition::kind::power_is;
            return rest == "on" || rest == "off" ? result<condition>(asked) : wrong("power on|off", rest);
        }
        static constexpr std::array words{
            std::pair("runs", condition::kind::runs),        std::pair("is", condition::kind::has_role),
            std::pair("state", condition::kind::has_state),  std::pair("ended", condition::kind::ended),
            std::pair("logged", condition::kind::logged),    std::pair("beats", condition::kind::beats),
            std::pair("wrote", condition::kind::wrote),      std::pair("called", condition::kind::called),
            std::pair("has", condition::kind::has_addresses)};
        const auto found = std::ranges::find_if(words, [word](const auto& one) { return word == one.first; });
        if (found == words.end()) {
            return wrong(
                "runs, beats, is ROLE, state STATE, ended [STATUS], has ADDRESSES, link NAME up|gone, address A on "
                "DEVICE|gone, chain NAME = RULES|gone, power on|off, or logged, wrote, called TEXT [N times]",
                word);
        }
        asked.what = found->second;
        static constexpr std::array places{"all", "none", "brupstream", "brcluster", "brstorage", "lo"};
        if (asked.what == condition::kind::has_addresses && std::ranges::find(places, asked.text) == places.end()) {
            return wrong("all, none, brupstream, brcluster, brstorage or lo", asked.text);
        }
        const bool counts = asked.what == condition::kind::logged || asked.what == condition::kind::wrote ||
                            asked.what == condition::kind::called;
        return counts ? ask_times(asked) : result<condition>(asked);
    }

    // "hv1 link vmbr1001 up", "hv1 link vmbr1001 gone", "hv1 address 10.1.1.1/24 on vmbr1001", "… gone"
    result<condition> ask_link(condition asked, std::string_view word, std::string_view rest) {
        asked.text = std::string(next_word(rest));
        if (word == "link" && (rest == "up" || rest == "gone")) {
            asked.what = rest == "up" ? condition::kind::link_is_up : condition::kind::link_is_gone;
            return asked;
        }
        const auto place = next_word(rest);
        if (word == "address" && parse_host_address(asked.text) &&
            ((place == "on" && !rest.empty()) || (place == "gone" && rest.empty()))) {
            asked.what = condition::kind::address_is_there;
            asked.path = std::string(rest);
            return asked;
        }
        return wrong("link NAME up|gone, or address ADDRESS/LENGTH on DEVICE|gone", asked.text);
    }

    // "hv1 chain vxlan1001-in = count-in, ssh", "hv1 chain vxlan1001-in gone"
    result<condition> ask_chain(condition asked, std::string_view rest) {
        if (std::ranges::find(out.world.foreign, asked.node) != out.world.foreign.end()) {
            return wrong("a node that is none of the reference: those have no packet filter", asked.node);
        }
        asked.text = std::string(next_word(rest));
        const auto word = next_word(rest);
        if (word == "gone" && rest.empty()) {
            asked.what = condition::kind::chain_is_gone;
            return asked;
        }
        asked.what = condition::kind::chain_is;
        asked.path = std::string(rest);
        return word == "=" ? result<condition>(asked) : wrong("chain NAME = RULES, or chain NAME gone", asked.text);
    }

    // "hv1 logged a line 2 times"
    result<condition> ask_times(condition asked) {
        if (std::ranges::find(out.world.foreign, asked.node) != out.world.foreign.end()) {
            return wrong("a node that is none of the reference: of those nothing is recorded", asked.node);
        }
        std::string_view text = asked.text;
        if (text.ends_with(" times")) {
            text = trim(text.substr(0, text.rfind(' ')));
            const auto space = text.rfind(' ');
            const auto number = parse_int(space == std::string_view::npos ? text : text.substr(space + 1));
            if (!number || *number < 0) {
                return wrong("a number before `times`", text);
            }
            asked.times = static_cast<std::size_t>(*number);
            asked.text = std::string(space == std::string_view::npos ? std::string_view() : text.substr(0, space));
        }
        return asked.text.empty() ? wrong("a text", "") : result<condition>(asked);
    }

    // "CONDITION within 10s"
    result<scenario_step> timed(scenario_step step, std::string_view rest, std::string_view word) {
        const auto at = rest.rfind(fmt::format(" {} ", word));
        if (at == std::string_view::npos) {
            return wrong(fmt::format("`CONDITION {} DURATION`", word), rest);
        }
        const auto time = parse_duration(trim(rest.substr(at + word.size() + 2)));
        if (!time) {
            return wrong("a duration like 1.5s or 20ms", rest.substr(at + word.size() + 2));
        }
        PVC_TRY(step.asked, ask(rest.substr(0, at)));
        step.time = *time;
        return step;
    }

    result<void> instruction(std::string_view text) {
        std::string_view rest = text;
        const auto word = next_word(rest);
        if (word == "nodes" || word == "hypervisors") {
            return nodes(rest, word == "nodes");
        }
        if (word == "reference" || word == "reference-1.0.3") {
            out.world.has_late_foreign = word != "reference";
            return references(rest);
        }
        if (word == "setting") {
            return setting(rest);
        }
        if (word == "boards") {
            out.world.boards = rest.empty();
            return out.world.boards ? result<void>() : wrong("`boards` alone", text);
        }
        if (word == "schema") {
            const auto number = next_word(rest);
            const auto version = parse_int(number);
            const bool is_none = number == "none" && rest.empty();
            out.world.keeps_schema = rest == "kept";
            if (!is_none && (!version || *version < 0 || *version > 15 || !(rest.empty() || rest == "kept"))) {
                return wrong("a schema version from 0 to 15, perhaps `kept`, or none", text);
            }
            out.world.schema = is_none ? std::nullopt : version;
            return {};
        }
        if (word == "migration-time" || word == "migration-reply") {
            const auto time = parse_duration(rest);
            if (!time || *time <= duration::zero()) {
                return wrong("a duration like 1.5s or 20ms", rest);
            }
            (word == "migration-time" ? out.world.migration_time : out.world.migration_reply) = *time;
            return {};
        }
        if (word == "whole") {
            out.has_whole_outcome = rest == "outcome";
            return out.has_whole_outcome ? result<void>() : wrong("`whole outcome`", text);
        }
        if (word == "shuffle") {
            const auto seed = parse_int(rest);
            if (!seed) {
                return wrong("a seed", rest);
            }
            out.world.seed = static_cast<std::uint64_t>(*seed);
            out.world.shuffle = true;
            return {};
        }
        return step(text, word, rest);
    }

    result<void> step(std::string_view text, std::string_view word, std::string_view rest) {
        scenario_step next;
        next.line = line;
        if (word == "wait") {
            const auto time = parse_duration(rest);
            if (!time || *time < duration::zero()) {
                return wrong("a duration like 1.5s or 20ms", rest);
            }
            next.what = scenario_step::kind::wait;
            next.time = *time;
        } else if (word == "until") {
            next.what = scenario_step::kind::until;
            PVC_TRY(next, timed(next, rest, "within"));
        } else if (word == "hold") {
            next.what = scenario_step::kind::hold;
            PVC_TRY(next, timed(next, rest, "for"));
        } else if (word == "expect") {
            next.what = scenario_step::kind::expect;
            PVC_TRY(next.asked, ask(rest));
        } else {
            auto parsed = parse_action(text);
            if (!parsed) {
                return failure(errc::invalid, fmt::format("line {}", line), parsed.error().text());
            }
            if (!parsed->node.empty() && !knows(parsed->node) && !parsed->kind->may_name_nobody) {
                return wrong("a node of this scenario", parsed->node);
            }
            next.deed = *std::move(parsed);
        }
        out.steps.push_back(std::move(next));
        return {};
    }
};

}  // namespace

result<scenario> parse_scenario(std::string_view text) {
    parser p;
    p.out.world.shuffle = false;
    std::size_t at = 0;
    while (at < text.size()) {
        const auto end = std::min(text.find('\n', at), text.size());
        std::string_view line = trim(text.substr(at, end - at));
        ++p.line;
        const std::size_t line_begins = at;
        at = end + 1;
        if (line.starts_with('#')) {
            if (p.out.title.empty()) {
                p.out.title = std::string(trim(line.substr(1)));
            }
            continue;
        }
        line = trim(line);
        if (line == outcome_marker) {
            p.out.outcome_at = line_begins;
            std::string_view rest = at < text.size() ? text.substr(at) : std::string_view();
            while (!rest.empty()) {
                const auto stop = std::min(rest.find('\n'), rest.size());
                std::string_view one = rest.substr(0, stop);
                one.remove_suffix(one.ends_with('\r') ? 1 : 0);
                p.out.outcome.emplace_back(one);
                rest.remove_prefix(std::min(stop + 1, rest.size()));
            }
            break;
        }
        if (line.empty()) {
            continue;
        }
        auto done = p.instruction(line);
        if (!done) {
            return done.error();
        }
    }
    if (p.out.world.nodes.empty()) {
        return failure(errc::invalid, "scenario", "it names no nodes (`nodes hv1 hv2 hv3`)");
    }
    if (p.out.outcome_at == 0) {
        p.out.outcome_at = text.size();
    }
    int number = 0;
    for (auto& node : p.out.world.nodes) {
        node.storage_address = fmt::format("10.254.0.{}/24", ++number);
        node.coordinators = p.coordinators;
    }
    return std::move(p.out);
}

}  // namespace pvc::sim
