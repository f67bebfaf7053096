// Fencing, migration and intervals (config.md 5.4, 5.5), with the conditions of node-lifecycle.md 10.4 and 10.8.
#include "pvcnoded/base/board_account.hpp"
#include "pvcnoded/config/intervals.hpp"
#include "readers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace pvc::config {

namespace {

using std::chrono::seconds;

// The two places in which the manuals put the intervals, merged per key (config.md 4).
class interval_sections {
public:
    interval_sections(section& system, section& fencing)
        : first_(system.child("intervals")), second_(fencing.child("intervals")) {}

    setting<int> read(std::string_view key, presence code, range allowed, int fallback) {
        const bool in_first = first_.look_up(key) != nullptr;
        const bool in_second = second_.look_up(key) != nullptr;
        if (!in_first && !in_second) {
            return home().integer(key, code, allowed, fallback);
        }
        auto value = first_.integer(key, presence::optional, allowed, fallback);
        auto other = second_.integer(key, presence::optional, allowed, fallback);
        if (in_first && in_second && value.given && other.given && value.value != other.value) {
            first_.report(severity::warning, value.line, value.path,
                          fmt::format("differs from {} (line {}); expected one value, got {} and {}, using {}",
                                      other.path, other.line, value.value, other.value, value.value));
        }
        return in_first ? value : other;
    }

    // With the reference's spelling of the key, which only counts where the manuals' is absent.
    setting<int> read_with_alias(std::string_view key, std::string_view alias, presence code, range allowed,
                                 int fallback) {
        const bool has_key = first_.look_up(key) != nullptr || second_.look_up(key) != nullptr;
        const bool has_alias = first_.look_up(alias) != nullptr || second_.look_up(alias) != nullptr;
        if (!has_alias) {
            return read(key, code, allowed, fallback);
        }
        auto by_alias = read(alias, presence::optional, allowed, fallback);
        first_.report(
            severity::warning, by_alias.line, by_alias.path,
            fmt::format("another name of {0}{1}; expected {0}, got {2}", key, has_key ? ", ignored" : "", alias));
        return has_key ? read(key, code, allowed, fallback) : by_alias;
    }

    void finish() const {
        first_.finish();
        second_.finish();
    }

private:
    // Where a key that is nowhere is missed.
    section& home() { return first_.exists() || !second_.exists() ? first_ : second_; }

    section first_;
    section second_;
};

struct interval_settings {
    setting<int> keepalive;
    setting<int> fence;
    setting<int> suicide;
};

interval_settings read_intervals(section& system, section& fencing, node_config& config) {
    interval_sections sections(system, fencing);
    interval_settings out;
    out.keepalive = sections.read("keepalive_interval", presence::defaulted, {1, 3600}, 5);
    out.fence = sections.read("fence_intervals", presence::defaulted, {0, 1000}, 6);
    out.suicide = sections.read_with_alias("suicide_intervals", "suicide_interval", presence::defaulted, {0, 1000}, 0);
    constexpr range day{1, 86400};
    config.vm_shutdown_timeout = seconds(sections.read("vm_shutdown_timeout", presence::optional, day, 180).value);
    config.monitoring_interval = seconds(sections.read("monitoring_interval", presence::optional, day, 60).value);
    sections.finish();
    config.keepalive_interval = seconds(out.keepalive.value);
    config.fence_intervals = out.fence.value;
    config.suicide_intervals = out.suicide.value;
    return out;
}

intervals times_of(const interval_settings& settings) {
    return {seconds(settings.keepalive.value), settings.fence.value, settings.suicide.value};
}

void check_intervals(const section& in, const interval_settings& intervals) {
    const auto& [keepalive, fence, suicide] = intervals;
    const auto product = times_of(intervals).dead_after().count();
    if (fence.value != 0 && product < 10) {
        in.report(
            severity::warning, fence.line, fence.path,
            fmt::format("a node counts as dead after {} s; expected keepalive_interval times fence_intervals to be "
                        "at least 10 s, got {} ({}, line {}) times {}",
                        product, keepalive.value, keepalive.path, keepalive.line, fence.value));
    }
    if (suicide.value != 0 && fence.value != 0 && suicide.value > fence.value) {
        in.report(severity::warning, suicide.line, suicide.path,
                  fmt::format("greater than {} (line {}); expected at most {}, got {}", fence.path, fence.line,
                              fence.value, suicide.value));
    }
}

// The lease that heartbeats may publish (node-lifecycle.md 10.8), or an error line saying why there is none.
void derive_self_reset(const section& in, const interval_settings& intervals, const host_facts& facts,
                       node_config& config) {
    const auto& suicide = intervals.suicide;
    if (suicide.value == 0) {
        return;
    }
    const auto times = times_of(intervals);
    if (!facts.watchdog_device) {
        in.report(severity::error, suicide.line, suicide.path,
                  "self-reset cannot be proven to other nodes; expected a kernel watchdog device, got none");
    }
    const auto lease = publishable_lease(times);
    if (!lease) {
        in.report(severity::error, suicide.line, suicide.path,
                  fmt::format("self-reset comes too late to be waited for; expected a lease of at most {} s "
                              "(keepalive_interval times (fence_intervals + 6)), got {} s",
                              times.fenced_after().count(), self_reset_lease(times)->count()));
    }
    if (facts.watchdog_device && lease) {
        config.self_reset_lease = lease;
    }
}

void read_actions(section actions, const interval_settings& intervals, node_config& config) {
    constexpr std::array<std::string_view, 1> words{"migrate"};
    const auto action = [](const setting<std::string>& word) {
        return word.value == "migrate" ? fence_action::migrate : fence_action::none;
    };
    config.fencing.successful = action(actions.word("successful_fence", presence::defaulted, words, "migrate", true));
    const auto failed = actions.word("failed_fence", presence::defaulted, words, "none", true);
    config.fencing.failed = action(failed);
    actions.finish();
    const auto& [keepalive, fence, suicide] = intervals;
    if (config.fencing.failed == fence_action::migrate && (suicide.value == 0 || suicide.value > fence.value)) {
        config.fencing.failed = fence_action::none;
        actions.report(
            severity::error, failed.line, failed.path,
            fmt::format("migrate is not safe without self-reset, treated as None; expected {} (line {}) to be "
                        "from 1 to fence_intervals ({}), got {}",
                        suicide.path, suicide.line, fence.value, suicide.value));
    }
}

void read_ipmi(section ipmi, node_config& config) {
    const std::string host = config.node + "-lom" + (config.domain.empty() ? "" : "." + config.domain);
    constexpr text_rule any_secret{"not a string", "a string", nullptr, true};
    const auto hostname = ipmi.text("host", presence::defaulted, non_empty_text, host);
    config.ipmi.host = hostname.value;
    const auto user = ipmi.text("user", presence::defaulted, any_text, "null");
    config.ipmi.user = user.value;
    const auto password = ipmi.text("pass", presence::defaulted, any_secret, "null");
    config.ipmi.pass = secret(password.value);
    config.ipmi.cipher_suite = ipmi.optional_integer("cipher_suite", presence::optional, {0, 17}, true, {}).value;
    // No reason not to start: what no board can have keeps others from fencing this node.
    const auto doubt = [&](const setting<std::string>& what, const std::string& trouble, std::string_view expected) {
        if (what.given && !trouble.empty()) {
            ipmi.report(severity::warning, what.line, what.path,
                        fmt::format("{}, no node could fence this one with it; expected {}", trouble, expected));
        }
    };
    doubt(hostname, trouble_with_board_host(hostname.value), "a host name or an address");
    doubt(user, trouble_with_board_user(user.value), "at most 16 bytes");
    doubt(password, trouble_with_board_password(password.value), "at most 20 bytes");
    ipmi.finish();
}

}  // namespace

void read_system(section& system, const host_facts& facts, node_config& config) {
    auto fencing = system.child("fencing");
    const auto intervals = read_intervals(system, fencing, config);
    check_intervals(system, intervals);
    derive_self_reset(system, intervals, facts, config);
    read_actions(fencing.child("actions"), intervals, config);
    read_ipmi(fencing.child("ipmi"), config);
    fencing.finish();

    auto migration = system.child("migration");
    constexpr std::array<std::string_view, 5> selectors{"mem", "memprov", "vcpus", "load", "vms"};
    config.target_selector = migration.word("target_selector", presence::defaulted, selectors, "mem").value;
    migration.finish();
}

}  // namespace pvc::config
