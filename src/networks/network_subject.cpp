#include "network_subject.hpp"

#include "function_subject.hpp"
#include "link_statistics.hpp"
#include "network_table.hpp"
#include "pvcnoded/networks/network_subjects.hpp"
#include "pvcnoded/policy/networks/gateway_addresses.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace pvc::networks {

namespace {

// What a row is, in a word.
std::string_view state_of(const network_row& row) {
    if (row.is_gone) {
        return "being removed";
    }
    if (!row.wanted) {
        return "unusable";
    }
    if (!row.trouble.empty()) {
        return "failing";
    }
    if (!row.plan) {
        return "new";
    }
    if (row.plan->is_refused) {
        return "refused";
    }
    if (!row.plan->is_right()) {
        return "being changed";
    }
    return row.memory.was_right ? "up" : "incomplete";
}

core::explained_value text_or_none(std::string text) {
    return text.empty() ? core::explained_value() : core::explained_value(std::move(text));
}

// The gateway that somebody shall have, and whether it is this node by now: a conflict or a refusal leaves it to
// nobody.
void add_gateway(core::explained_fields& out, std::string_view address_field, std::string_view here_field,
                 const std::string& bridge, const std::optional<host_address>& gateway,
                 const role_addresses& addresses) {
    const auto where = gateway ? std::optional(policy::placed_address{bridge, *gateway}) : std::nullopt;
    const bool is_known = where && addresses.knows(*where);
    out.emplace_back(address_field, text_or_none(is_known ? gateway->text() : std::string()));
    out.emplace_back(here_field, is_known && addresses.has(*where));
}

std::vector<core::explained_fields> function_rows(const function_cards& functions, std::size_t most) {
    std::vector<core::explained_fields> rows;
    for (auto& one : functions.differences()) {
        if (rows.size() < most) {
            rows.push_back({{"function", one.function},
                            {"setting", text_or_none(one.setting)},
                            {"wanted", text_or_none(one.wanted)},
                            {"seen", text_or_none(one.seen)},
                            {"why", text_or_none(one.why)}});
        }
    }
    return rows;
}

// What the plan says beside its steps: also what no step can put right.
std::vector<core::explained_fields> remark_rows(const policy::host_plan& plan) {
    std::vector<core::explained_fields> rows;
    for (const auto& one : plan.remarks) {
        rows.push_back({{"severity", std::string(one.is_error ? "error" : "warning")},
                        {"message", std::string(to_text(one.which))},
                        {"text", one.text}});
    }
    return rows;
}

core::explained_fields row_fields(std::uint32_t vni, const network_row& row, const told_remarks& remarks,
                                  const role_addresses& addresses) {
    core::explained_fields out{{"vni", static_cast<double>(vni)}, {"state", std::string(state_of(row))}};
    out.emplace_back("type",
                     row.type ? core::explained_value(std::string(to_text(*row.type))) : core::explained_value());
    out.emplace_back("mtu",
                     row.plan ? core::explained_value(static_cast<double>(row.plan->mtu)) : core::explained_value());
    const auto wanted = row.wanted.value_or(model::client_network());
    add_gateway(out, "ip4_gateway", "ip4_gateway_is_here", wanted.bridge(), wanted.ip4.gateway_address(), addresses);
    add_gateway(out, "ip6_gateway", "ip6_gateway_is_here", wanted.bridge(), wanted.ip6.gateway_address(), addresses);
    std::string why = row.trouble;
    for (const auto& about :
         {fmt::format("keys of network {}", vni), fmt::format("network {}", vni), overlap_remarks(vni)}) {
        for (const auto& one : remarks.of(about)) {
            why += (why.empty() ? "" : "; ") + one.text;
        }
    }
    const auto own = fmt::format("network {}: ", vni);
    for (const auto& one : remarks.of(std::string(gateways_remarks))) {
        if (one.text.starts_with(own)) {
            why += (why.empty() ? "" : "; ") + one.text;
        }
    }
    out.emplace_back("why", text_or_none(std::move(why)));
    return out;
}

}  // namespace

network_subject::network_subject(core::node_context& node, const network_ports& outside, role_addresses& addresses,
                                 const function_cards& functions, network_counts& counts,
                                 std::shared_ptr<bridge_record> bridges)
    : node_(node),
      addresses_(addresses),
      functions_(functions),
      counts_(counts),
      bridges_(std::move(bridges)),
      keeper_(node, outside.stack, counts, *bridges_),
      firewall_(node, outside.filter, outside.processes, counts),
      dhcp_folders_(node) {
    keeper_.on_look = [this](const model::network_state& seen) { addresses_.on_look(seen); };
    keeper_.on_networks = [this](const std::vector<model::client_network>& networks) {
        addresses_.set_gateways(policy::gateway_addresses(networks, *node_.config, keeper_.clients().reach()));
    };
    keeper_.on_filtered = [this](std::vector<model::client_network> networks) {
        firewall_.want(std::move(networks));
        dhcp_folders_.want(dhcp_networks_of(keeper_.clients().rows()));
    };
    keeper_.are_filtered = [this] { return firewall_.is_settled(); };
    firewall_.on_settled = [this] { keeper_.filter_settled(); };
}

// Until they are there, one line each; once in the life of the daemon.
void network_subject::tell_what_is_missing() {
    if (std::exchange(counts_.has_told_missing, true)) {
        return;
    }
    for (const auto* what : {"DHCP and DNS for client networks", "the metadata service"}) {
        node_.log.warning(message::network_part_missing, fmt::format("this build does not have {}", what));
    }
}

async::awaitable<result<void>> network_subject::prepare(core::preparation in) {
    switch (in.phase) {
        case policy::phase::host_networking:
            tell_what_is_missing();
            in.attempt.spawn("record of bridges", [this] { return bridges_->run(); });
            in.attempt.spawn("names of the host's links", [this] { return keeper_.follow_names(); });
            co_await keeper_.set_up_host();
            in.attempt.spawn("links", [this] { return keeper_.run(); });
            in.attempt.spawn("firewall", [this] { return firewall_.run(); });
            in.attempt.spawn("files of the firewall", [this] { return firewall_.keep_files(); });
            in.attempt.spawn("directories for DHCP", [this] { return dhcp_folders_.run(); });
            break;
        case policy::phase::sysctl: co_await keeper_.finish_host(); break;
        case policy::phase::dns_service_off: co_await stop_dnsmasq(); break;
        default: break;
    }
    co_return result<void>();
}

// It would hold the ports of the client networks' own ones.
async::awaitable<void> network_subject::stop_dnsmasq() {
    const std::string unit = "dnsmasq.service";
    auto stopped = co_await node_.port.services.stop(unit);
    if (!stopped) {
        node_.log.info(unit + " was not stopped: " + stopped.error().text());
    }
}

std::unique_ptr<core::session_part> network_subject::begin(core::session& s) {
    return std::make_unique<network_table>(s, keeper_, firewall_);
}

void network_subject::report(std::vector<std::string>& lines) const {
    lines.push_back(fmt::format(
        "networks: {} client networks; {} changes of links, {} failures, {} repairs, {} looks "
        "since the start",
        keeper_.clients().rows().size(), counts_.changes, counts_.failures, counts_.repairs, counts_.looks));
    for (const auto& [unit, text] : keeper_.host().troubles()) {
        lines.push_back("networks: " + text);
    }
    lines.push_back(fmt::format("firewall: {}; {} rules, {} ACLs left out, {} batches since the start{}{}",
                                firewall_.state(), firewall_.rule_count(), firewall_.wanted().refused.size(),
                                counts_.filter_changes, firewall_.trouble().empty() ? "" : "; ", firewall_.trouble()));
    for (const auto& [vni, row] : keeper_.clients().rows()) {
        if (!row.trouble.empty()) {
            lines.push_back(fmt::format("networks: network {}: {}", vni, row.trouble));
        }
    }
}

std::shared_ptr<core::awaited_explanation> network_subject::explain(time_point /*until*/) {
    constexpr std::size_t most = 2000;
    core::explanation out;
    const auto& host = keeper_.host();
    const bool is_host_right =
        host.plan().is_right() && std::ranges::none_of(host.plan().remarks, &policy::network_remark::is_error);
    out.facts = {{"host_is_right", is_host_right},
                 {"network_count", static_cast<double>(keeper_.clients().rows().size())},
                 {"firewall", std::string(firewall_.state())},
                 {"firewall_trouble", text_or_none(firewall_.trouble())},
                 {"firewall_rules", static_cast<double>(firewall_.rule_count())}};
    std::vector<core::explained_fields> pending;
    for (const auto& unit : host.plan().units) {
        const auto troubles = host.troubles();
        const auto trouble = troubles.find(unit.what);
        for (const auto& step : unit.steps) {
            pending.push_back({{"unit", unit.what},
                               {"step", model::to_text(step)},
                               {"why", text_or_none(trouble == troubles.end() ? std::string() : trouble->second)}});
        }
    }
    for (const auto& one : host.plan().missing) {
        pending.push_back({{"unit", std::string("device ") + one}, {"step", std::string("wait for it")}, {"why", {}}});
    }
    out.lists.emplace_back("host", std::move(pending));
    out.lists.emplace_back("host_remarks", remark_rows(host.plan()));
    std::vector<core::explained_fields> networks;
    std::vector<core::explained_fields> steps;
    for (const auto& [vni, row] : keeper_.clients().rows()) {
        if (networks.size() < most) {
            networks.push_back(row_fields(vni, row, keeper_.remarks(), addresses_));
        }
        for (const auto& step : row.plan ? row.plan->steps : std::vector<model::network_change>()) {
            if (steps.size() < most) {
                steps.push_back({{"vni", static_cast<double>(vni)}, {"step", model::to_text(step)}});
            }
        }
    }
    out.lists.emplace_back("networks", std::move(networks));
    out.lists.emplace_back("steps", std::move(steps));
    std::vector<core::explained_fields> left_out;
    for (const auto& one : firewall_.wanted().refused) {
        if (left_out.size() < most) {
            left_out.push_back({{"vni", static_cast<double>(one.acl.vni)},
                                {"direction", std::string(to_text(one.acl.direction))},
                                {"acl", one.acl.name},
                                {"why", one.reason}});
        }
    }
    out.lists.emplace_back("acls_left_out", std::move(left_out));
    out.lists.emplace_back("functions", function_rows(functions_, most));
    auto said = std::make_shared<core::awaited_explanation>();
    said->give(std::move(out));
    return said;
}

void network_subject::put_metrics(core::metrics_sheet& sheet) const {
    double up = 0;
    double failing = 0;
    for (const auto& [vni, row] : keeper_.clients().rows()) {
        const auto state = state_of(row);
        up += state == "up" ? 1 : 0;
        failing += state == "failing" || state == "incomplete" || state == "refused" || state == "unusable" ? 1 : 0;
    }
    sheet.gauge("networks_up", "Client networks whose links are as they shall be.", up);
    sheet.gauge("networks_failing", "Client networks that cannot be set up, or are refused.", failing);
    sheet.gauge("network_host_pending", "Parts of the host's own network that are not as they shall be.",
                static_cast<double>(keeper_.host().plan().units.size() + keeper_.host().plan().missing.size()));
    sheet.counter("network_changes_total", "Changes that were made to links, addresses and their settings.",
                  counts_.changes);
    sheet.counter("network_change_failures_total", "Changes that the kernel refused.", counts_.failures);
    sheet.gauge("firewall_right", "1: the packet filter is as the client networks want it.",
                firewall_.state() == "right" ? 1 : 0);
    sheet.gauge("firewall_acls_left_out", "ACLs of client networks that cannot be used.",
                static_cast<double>(firewall_.wanted().refused.size()));
    sheet.counter("firewall_changes_total", "Batches that the packet filter took.", counts_.filter_changes);
    sheet.gauge("sriov_functions", "Virtual functions of network cards that have keys.",
                static_cast<double>(functions_.functions()));
    sheet.gauge("sriov_functions_failing", "Virtual functions with a setting that cannot be used, or was refused.",
                static_cast<double>(functions_.failing()));
    sheet.counter("sriov_changes_total", "Settings that drivers of virtual functions were given.",
                  counts_.function_changes);
    sheet.counter("sriov_change_failures_total", "Settings that they refused.", counts_.function_failures);
    sheet.counter("sriov_repairs_total", "Settings that somebody changed beside the keys, and that were put right.",
                  counts_.function_repairs);
    sheet.counter("sriov_releases_total",
                  "Virtual functions that were set free, as their machine was gone or elsewhere.",
                  counts_.function_releases);
    sheet.counter("network_repairs_total", "What somebody took away from client networks, and was made again.",
                  counts_.repairs);
}

void add_network_subjects(core::subjects& to, core::node_context& node, network_ports outside, network_counts& counts) {
    auto bridges = std::make_shared<bridge_record>(node);
    auto addresses = std::make_unique<role_addresses>(node, outside.addresses, outside.stack, bridges);
    auto functions = std::make_unique<function_subject>(node, outside.functions, outside.stack, counts);
    to.push_back(std::make_unique<network_subject>(node, outside, *addresses, functions->cards(), counts, bridges));
    to.push_back(std::move(functions));
    to.push_back(std::move(addresses));
    to.push_back(std::make_unique<link_statistics>(node, outside.counters));
}

}  // namespace pvc::networks
