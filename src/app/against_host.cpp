#include "against_host.hpp"

#include "pvcnoded/async/adapter/real_loop.hpp"
#include "pvcnoded/async/adapter/thread_offload.hpp"
#include "pvcnoded/base/text.hpp"
#include "pvcnoded/core/heartbeat_note.hpp"
#include "pvcnoded/netlink/adapter/kernel_packet_filter.hpp"
#include "pvcnoded/netlink/adapter/kernel_stack.hpp"
#include "pvcnoded/networks/names_of_host.hpp"
#include "pvcnoded/policy/networks/client_plan.hpp"
#include "pvcnoded/policy/networks/filter_plan.hpp"
#include "pvcnoded/policy/networks/gateway_addresses.hpp"
#include "pvcnoded/policy/networks/host_plan.hpp"
#include "pvcnoded/policy/networks/router_settings.hpp"
#include "pvcnoded/services/adapter/linux_host.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <utility>

namespace pvc::app {

using namespace std::chrono_literals;

namespace {

std::vector<model::set_sysctl> settings_to_set(const config::node_config& config, const model::network_state& seen,
                                               const policy::host_plan& plan, const policy::setting_reader& read) {
    auto all = policy::advertisement_settings(config, policy::with_ports_of(plan, seen));
    std::ranges::move(policy::sysctl_settings(policy::core_devices_of(config)), std::back_inserter(all));
    auto steps = policy::sysctls_to_set(all, policy::read_after(plan, read));
    std::vector<model::set_sysctl> once;
    std::ranges::copy_if(steps, std::back_inserter(once),
                         [&](const auto& one) { return std::ranges::find(once, one) == once.end(); });
    return once;
}

// What cannot be read says nothing here as at a start; that it cannot be is told.
std::optional<std::string> read_record(services::host& host, const std::string& path, host_comparison& out) {
    auto text = host.read_file(path);
    if (!text && text.error().code() != errc::not_found) {
        out.warnings.push_back(text.error().text());
    }
    return text ? std::optional(*std::move(text)) : std::nullopt;
}

struct recorded_links {
    policy::own_bridges bridges;
    policy::own_bases bases;
    policy::host_ports ports;
};

recorded_links links_of_record(services::host& host, const config::node_config& config, const std::string& boot_id,
                               const model::network_state& seen, host_comparison& out) {
    recorded_links own;
    bool is_whole = true;
    for (std::size_t part = 0; part < policy::record_files_max; ++part) {
        const auto path = config.directories.dynamic + "/" + policy::record_name(part);
        const std::size_t before = out.warnings.size();
        const auto text = read_record(host, path, out);
        is_whole = is_whole && out.warnings.size() == before;
        if (!text) {
            break;
        }
        if (const auto ignored = policy::add_record(own.bridges, own.bases, *text, boot_id, &own.ports);
            !ignored.empty()) {
            is_whole = false;
            out.warnings.push_back(path + ": " + ignored + ", ignored: links in bridges of networks stay with them");
        }
    }
    if (!is_whole) {
        own.bases = policy::with_unknown_bases(std::move(own.bases), seen);
    }
    return own;
}

// What a start decides before ZooKeeper is read (networking.md 6 "Stale addresses").
policy::leftover_lines leftovers_of(const config::node_config& config, services::host& host,
                                    std::span<const policy::placed_address> found, boot_time now,
                                    host_comparison& out) {
    const auto boot_id = host.facts().boot_id;
    const auto text = read_record(host, core::heartbeat_note_path(config), out);
    const auto noted = core::role_of_note(text ? core::parse_heartbeat_note(*text) : std::nullopt, boot_id, now);
    policy::leftover_view view;
    view.was_primary = noted.was_primary;
    view.heartbeat_age = noted.beat ? std::optional<duration>(now - *noted.beat) : std::nullopt;
    view.times = {config.keepalive_interval, config.fence_intervals, config.suicide_intervals};
    return policy::describe_leftovers(view, found);
}

// The host's own rules in the table of client networks: what static files made in this boot is none of them.
std::string replaced_rules(const config::node_config& config, services::host& host,
                           const result<model::filter_state>& filter) {
    if (!filter || (filter->flags & model::owned_table) != 0) {
        return {};
    }
    const std::string folder = config.directories.dynamic + "/nft";
    const auto names = host.list_files(folder + "/static");
    const bool has_files = names && std::ranges::any_of(*names, [](const auto& one) { return !one.starts_with("."); });
    const bool may_be_of_files =
        has_files && (policy::is_of_daemons(*filter) || host.read_file(folder + "/static-tables").has_value());
    return may_be_of_files ? std::string() : policy::rules_of_others(*filter);
}

void add_rules(const config::node_config& config, const policy::host_plan& plan, const model::network_state& seen,
               const result<std::vector<netlink::device_rule>>& rules, host_comparison& out) {
    std::vector<policy::rule_of_host> all;
    for (const auto& one : rules ? *rules : std::vector<netlink::device_rule>()) {
        all.push_back({one.device, one.text});
    }
    if (!rules) {
        out.warnings.push_back(rules.error().text());
    }
    for (const auto& one : policy::remarks_of_rules(config, plan, seen, all)) {
        out.warnings.push_back(one.text);
    }
}

bool has_nft() {
    return std::ranges::any_of(std::array{"/usr/sbin/nft", "/sbin/nft", "/usr/bin/nft", "/usr/local/sbin/nft"},
                               [](const char* path) { return ::access(path, X_OK) == 0; });
}

}  // namespace

result<host_comparison> compare_with_host(const config::node_config& configured) {
    host_comparison out;
    if (!configured.functions.networking) {
        out.lines.emplace_back("enable_networking is False: nothing would be changed");
        return out;
    }
    async::real_loop loop;
    async::thread_offload pool(loop.context());
    netlink::kernel_stack stack(loop.context().get_executor(), loop.clock(), pool);
    netlink::kernel_packet_filter packet_filter(loop.context().get_executor(), loop.clock(), pool);
    result<model::network_state> seen = failure(errc::unavailable, "links");
    result<std::vector<netlink::device_rule>> rules = std::vector<netlink::device_rule>();
    result<model::filter_state> filter = failure(errc::unavailable, "the packet filter");
    loop.run("look", [&]() -> async::awaitable<void> {
        const time_point until = loop.clock().now() + 10s;
        seen = co_await stack.look(until);
        filter = co_await packet_filter.look(until);
        rules = co_await stack.device_rules(until);
    });
    if (!seen) {
        return std::move(seen).error().during("looking at the links of this host");
    }
    const auto config = policy::with_own_names(configured, policy::names_to_resolve(configured, *seen));
    services::linux_host host(pool, loop.clock());
    auto own = links_of_record(host, config, host.facts().boot_id, *seen, out);
    const policy::setting_reader read = [&stack](const std::string& key) -> std::optional<std::string> {
        auto value = stack.sysctl(key);
        return value ? std::optional(*std::move(value)) : std::nullopt;
    };
    const auto plan = policy::with_router_settings(policy::plan_host(config, *seen, own.ports), *seen, {}, read,
                                                   policy::sysctl_settings(policy::core_devices_of(config)));
    for (const auto& remark : plan.remarks) {
        out.warnings.push_back(remark.text);
        out.is_possible = out.is_possible && !remark.is_error;
    }
    add_rules(config, plan, *seen, rules, out);
    for (const auto& unit : plan.units) {
        for (const auto& step : unit.steps) {
            out.lines.push_back(unit.what + ": would " + model::to_text(step));
        }
    }
    for (const auto& one : plan.missing) {
        out.is_possible = false;
        out.lines.push_back("device " + one + " is not there: what needs it would be done when it comes");
    }
    for (const auto& one : settings_to_set(config, *seen, plan, read)) {
        out.lines.push_back("kernel settings: would " + model::to_text(one));
    }
    policy::whose_links whose{std::move(own.bases), {}, own.bridges};
    bool are_names_known = false;
    loop.run("names", [&]() -> async::awaitable<void> {
        auto names = co_await networks::names_of_host(host);
        are_names_known = names.is_whole();
        if (!are_names_known) {
            const auto kept = co_await networks::kept_names(host);
            names.unread += kept.unread.empty() ? "" : "; and of before: " + kept.unread;
            names.named.add(kept.named);
            out.warnings.push_back(networks::unread_words(names));
        }
        whose.named = std::move(names.named.names);
        whose.masters = std::move(names.named.masters);
    });
    const auto found = policy::found_of_primary(config, *seen, own.bridges, are_names_known ? &whose : nullptr);
    auto leftovers = leftovers_of(config, host, found, loop.clock().boot_now(), out);
    auto leaving = policy::describe_leaving(config, found, *seen);
    std::ranges::copy(leaving.lost, std::back_inserter(out.warnings));
    std::ranges::move(leftovers.changes, std::back_inserter(out.lines));
    if (const auto others = replaced_rules(config, host, filter); !others.empty()) {
        out.lines.push_back("firewall: would replace all of table inet filter, which has " + others +
                            ": put rules of the host into a table of another name" +
                            (has_nft() ? "" : "; nft is not installed, so that what is there would not be kept"));
    }
    if (!filter) {
        out.warnings.push_back("firewall: " + policy::filter_unseen(filter.error()));
    }
    if (const auto key = stack.sysctl(std::string(policy::ipv6_forwarding_key));
        !key && key.error().code() == errc::not_found) {
        out.warnings.push_back(policy::remark_without_ipv6().text);
    }
    if (filter && (filter->flags & model::owned_table) != 0) {
        out.warnings.push_back(
            fmt::format("firewall: table inet filter belongs to another running program (flags owner{}): client "
                        "networks would have no filter until that program has ended",
                        filter->owner == 0 ? "" : fmt::format(", process {}", filter->owner)));
    }
    if (out.lines.empty()) {
        out.lines.emplace_back("nothing would be changed");
    }
    if (!leftovers.condition.empty()) {
        out.lines.push_back(std::move(leftovers.condition));
    }
    std::ranges::copy(leaving.waiting, std::back_inserter(out.lines));
    std::ranges::move(policy::describe_sweep(config, *seen, own.bridges, whose, are_names_known),
                      std::back_inserter(out.lines));
    return out;
}

}  // namespace pvc::app
