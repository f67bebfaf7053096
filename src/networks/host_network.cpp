#include "host_network.hpp"

#include "pvcnoded/base/planted.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace pvc::networks {

namespace {
constexpr duration tell_again = std::chrono::minutes(1);
constexpr duration rules_limit = std::chrono::seconds(5);
constexpr duration rules_every = std::chrono::seconds(60);             // of a firewall there may be many
constexpr duration ports_note_limit = std::chrono::milliseconds(250);  // a full disk keeps no device out of its bridge
const std::string ip4_forwarding = "net/ipv4/ip_forward";
const std::string ip6_forwarding(policy::ipv6_forwarding_key);

// Addresses that go from a device: whoever gave them to it is to find them.
std::string what_goes(const policy::host_unit& unit) {
    std::string text;
    for (const auto& step : unit.steps) {
        const auto* gone = std::get_if<model::remove_address>(&step);
        if (gone == nullptr) {
            continue;
        }
        const auto is_its_place = [&](const model::network_change& other) {
            const auto* added = std::get_if<model::add_address>(&other);
            return added != nullptr && added->address == gone->address && added->device != gone->device;
        };
        const auto place = std::ranges::find_if(unit.steps, is_its_place);
        text += fmt::format("{}{} goes from {}{}", text.empty() ? ": " : ", ", gone->address.text(), gone->device,
                            place == unit.steps.end() ? std::string() : " to " + model::device_of(*place));
    }
    return text;
}

}  // namespace

std::optional<time_point> host_network::next_try() const {
    std::optional<time_point> first = forwarding_pause_.until();
    for (const auto& [unit, one] : troubles_) {
        if (const auto until = one.pause.until()) {
            first = first ? std::min(first, until) : until;
        }
    }
    return first;
}

std::map<std::string, std::string> host_network::troubles() const {
    std::map<std::string, std::string> all;
    for (const auto& [unit, one] : troubles_) {
        all.emplace(unit, one.text);
    }
    return all;
}

std::optional<std::string> host_network::setting(const std::string& key) const {
    auto read = work_.stack().sysctl(key);
    return read ? std::optional(*std::move(read)) : std::nullopt;
}

// A port that is to be made is noted before: else a daemon that dies right after leaves one that nobody takes out when
// the device is another one. So is a bridge: else the daemon after it takes it for somebody's, and carries no settings
// of the device to it.
async::awaitable<void> host_network::make_plan(const model::network_state& seen) {
    auto ports = policy::ports_after_look(record_.ports(), work_.config(), seen);
    auto made = policy::made_after_look(record_.made(), seen);
    plan_ = policy::plan_host(work_.config(), seen, ports);
    if (!is_planted(defect::new_bridge_hears_routers)) {
        plan_ = policy::with_router_settings(
            std::move(plan_), seen, made, [this](const std::string& key) { return setting(key); },
            policy::sysctl_settings(policy::core_devices_of(work_.config())));
    }
    if (const auto read = work_.stack().sysctl(ip6_forwarding); !read && read.error().code() == errc::not_found) {
        plan_.remarks.push_back(policy::remark_without_ipv6());
    }
    const auto are_there = ports;
    for (const auto& unit : plan_.units) {
        ports = policy::with_ports_of(std::move(ports), unit.steps, seen);
        policy::note_made(made, unit, policy::made_when::before);
    }
    const bool is_waited_for = ports != are_there || made != record_.made();
    record_.update_made(std::move(made));
    record_.update_ports(std::move(ports));
    if (is_waited_for) {
        co_await record_.noted_by(node_.clock().now() + ports_note_limit);
    }
}

void host_network::note_made(const policy::host_unit& unit, policy::made_when when) {
    auto made = record_.made();
    policy::note_made(made, unit, when);
    record_.update_made(std::move(made));
}

async::awaitable<bool> host_network::settle(const model::network_state& seen) {
    co_await make_plan(seen);
    const auto units = plan_.units;
    co_await tell_rules(seen);
    auto lost = policy::routes_lost(unmoved_, plan_, seen);
    std::ranges::move(lost.remarks, std::back_inserter(plan_.remarks));
    unmoved_ = std::move(lost.next);
    auto said = plan_.remarks;
    std::erase_if(troubles_, [&](const auto& one) {
        return std::ranges::find(units, one.first, &policy::host_unit::what) == units.end();
    });
    bool has_changed = false;
    std::map<std::string, std::vector<model::network_change>> done;
    ignore(set_up_.take_due(node_.clock().now()), "how often it was set up the damages tell");
    const bool was_right = std::exchange(was_right_, plan_.is_right() && !plan_.waits_for_carrier);
    for (const auto& unit : units) {
        if (troubles_.contains(unit.needs)) {
            troubles_[unit.what] = {{}, unit.what + ": left as it is as long as " + unit.needs + " cannot be set"};
            said.push_back({message::network_host, true, troubles_[unit.what].text});
            continue;
        }
        if (was_right) {
            ++work_.counts().repairs;
            damages_.tell(message::network_damaged,
                          "host network: " + unit.what + " is not as it was, setting it up again" + what_goes(unit));
        }
        auto& failed = troubles_[unit.what];
        if (failed.pause.is_over(node_.clock().now())) {
            std::vector<std::string> settings_left;  // a host that is out of reach for them could not be helped
            auto outcome = co_await work_.carry_out_or_undo(unit.steps, seen, &settings_left);
            for (const auto& one : outcome ? settings_left : std::vector<std::string>()) {
                node_.log.error(
                    message::network_host,
                    fmt::format("host network: {}: {}, the rest of it is set up all the same", unit.what, one));
            }
            if (outcome) {
                if (set_up_.is_first(unit.what, node_.clock().now())) {
                    node_.log.info("host network: " + unit.what + " is set up");
                }
                troubles_.erase(unit.what);
                note_made(unit, policy::made_when::afterwards);
                const auto last = done_.find(unit.what);
                has_changed = has_changed || last == done_.end() || last->second != unit.steps;
                done.insert_or_assign(unit.what, unit.steps);
                continue;
            }
            note_made(unit, policy::made_when::failed);
            failed.text = unit.what + ": " + outcome.error().text();
            failed.pause.failed(node_.clock().now());
        }
        said.push_back({message::network_host, true, failed.text + ", it is as it was before and tried again"});
    }
    remarks_.tell("host", std::move(said));
    done_ = std::move(done);
    if (!has_changed) {
        co_await keep_addresses(seen);
    }
    co_return has_changed;
}

// Nothing tells when they change: they are looked at at the start, whenever something is to be done, and as long as
// something is said of them.
async::awaitable<void> host_network::tell_rules(const model::network_state& seen) {
    const std::string about = "rules of the host";
    const bool is_quiet = plan_.units.empty() && remarks_.of(about).empty();
    if (rules_told_ && (is_quiet || node_.clock().now() - *rules_told_ < rules_every)) {
        co_return;
    }
    auto rules = co_await work_.stack().device_rules(node_.clock().now() + rules_limit);
    if (!rules) {
        co_return;  // of what could not be seen nothing is said; it is tried with the next look
    }
    std::vector<policy::rule_of_host> all;
    for (auto& one : *rules) {
        all.push_back({std::move(one.device), std::move(one.text)});
    }
    remarks_.tell(about, policy::remarks_of_rules(work_.config(), plan_, seen, all));
    rules_told_ = node_.clock().now();
}

// What is refused, is refused again with the next look: nothing hangs on it.
async::awaitable<void> host_network::keep_addresses(const model::network_state& seen) {
    const auto steps = policy::addresses_to_keep(work_.config(), seen, kept_);
    for (const auto& one : steps) {
        std::vector<model::network_change> step{one};
        auto done = co_await work_.carry_out(std::move(step));
        if (done) {
            kept_.insert(seen.find(one.name)->index);
        }
    }
}

// Of these the way of packets hangs: they are looked at with each look, as routing daemons change them (README ruling
// 81).
bool host_network::is_of_forwarding(const std::string& key) {
    return key == ip4_forwarding || key.ends_with("/forwarding") || key.ends_with("/accept_ra");
}

// Who changes it all the time is told of once a minute.
void host_network::tell_changed(const model::set_sysctl& one) {
    const auto found = was_right_by_key_.find(one.key);
    if (found == was_right_by_key_.end()) {
        return;
    }
    ++work_.counts().repairs;
    const time_point now = node_.clock().now();
    if (found->second == time_point::min() || now - found->second >= tell_again) {
        found->second = now;
        node_.log.warning(message::network_damaged,
                          fmt::format("host network: somebody changed {}, setting it to {} again", one.key, one.value));
    }
}

async::awaitable<void> host_network::apply_settings(std::optional<model::network_state> seen) {
    auto all = seen ? policy::advertisement_settings(work_.config(), *seen) : std::vector<policy::sysctl_setting>();
    std::ranges::move(policy::sysctl_settings(policy::core_devices_of(work_.config())), std::back_inserter(all));
    if (std::exchange(are_settings_made_, true) && is_planted(defect::forwarding_unwatched)) {
        co_return;
    }
    const auto wanted = policy::sysctls_to_set(all, [this](const std::string& key) { return setting(key); });
    // Without accept_ra, routes that somebody advertises would go with it: the next look comes back to it.
    bool may_forward_ipv6 = seen.has_value();
    std::vector<policy::network_remark> said;
    bool has_failed = false;  // of those of forwarding: no event tells when they can be set
    for (const auto& one : wanted) {
        if (one.key == ip6_forwarding && !may_forward_ipv6) {
            continue;
        }
        tell_changed(one);
        std::vector<model::network_change> step{one};
        auto done = co_await work_.carry_out(std::move(step));
        if (!done) {
            may_forward_ipv6 = may_forward_ipv6 && !one.key.ends_with("/accept_ra");
            has_failed = has_failed || is_of_forwarding(one.key);
            said.push_back({message::network_setting, true, done.error().text()});
        }
    }
    for (const auto& one : all) {
        const bool is_wrong = std::ranges::find(wanted, one.key, &model::set_sysctl::key) != wanted.end();
        if (!setting(one.key)) {
            was_right_by_key_.erase(one.key);  // a link that comes has what new links have: nobody changed it
        } else if (!is_wrong && !one.key.ends_with("/accept_ra")) {
            was_right_by_key_.try_emplace(one.key, time_point::min());
        }
    }
    if (has_failed) {
        forwarding_pause_.failed(node_.clock().now());
    } else {
        forwarding_pause_.succeeded();
    }
    remarks_.tell("kernel settings", std::move(said));
}

}  // namespace pvc::networks
