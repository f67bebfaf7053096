// What a client network leaves behind. A link goes only if it is exactly what this daemon would have made, and nobody
// else uses it. Order: nothing passes any more, then the bridge, then what it stood on.
#include "own_links.hpp"
#include "pvcnoded/base/planted.hpp"
#include "pvcnoded/base/text.hpp"
#include "pvcnoded/policy/networks/client_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace pvc::policy {

namespace {

using model::network_link;
using model::network_type;

// Any but those that the kernel makes by itself. Where nobody wants a network there are no guests whose routers would
// advertise anything, so that other than in a network that is wanted a lifetime excuses nothing.
bool has_address(const model::network_state& seen, const network_link& link) {
    const auto all = seen.addresses_of(link.index);
    return std::ranges::any_of(all, [](const model::link_address& one) {
        const auto& address = one.address.address;
        return address.is_v4() || !address.to_v6().is_link_local();
    });
}

// The links of one network that is gone.
class network_remains {
public:
    network_remains(std::uint32_t vni, const own_links& links, const model::network_state& seen, int own_bridge)
        : vni_(vni), links_(links), seen_(seen), bridge_(seen.find(bridge_name(vni))), own_bridge_(own_bridge) {
        // Its own one by the record, whatever that is called by now; never another network's.
        if (const auto* own = own_bridge > 0 ? seen.find(own_bridge) : nullptr; own != nullptr) {
            bridge_ = own;
        } else if (bridge_ != nullptr && links.network_of(*bridge_) != 0) {
            bridge_ = nullptr;
        }
        if (bridge_ != nullptr && !links.is_bridge(*bridge_)) {
            bridge_ = nullptr;
        }
        find_owner();
    }

    void add_base(network_type type) {
        const auto* link = can_have(vni_, type) ? links_.find_base(vni_, type) : nullptr;
        if (link == nullptr || !(links_.is_base(*link, vni_, type) || links_.is_base_of_before(*link, vni_, type))) {
            return;
        }
        const bool is_with_foreign = is_foreign_ && link->master == bridge_->index && links_.recorded(*link) == nullptr;
        if (links_.is_own_base(*link, vni_) && !is_with_foreign && !links_.is_named(link->name)) {
            bases_.push_back(link);
        } else if (bridge_ != nullptr && link->master == bridge_->index) {
            used_ = link;
        }
        const auto* known = links_.recorded(*link);
        if (known != nullptr && known->is_own && links_.is_named(link->name)) {
            named_ = link;
        }
    }

    void plan(network_plan& into) const {
        const auto* bridge = is_foreign_ ? nullptr : bridge_;
        const auto* user = find_user(bridge);
        if (const auto address = user == nullptr ? given_address(bridge) : std::string(); !address.empty()) {
            into.left.insert(vni_);
            into.remarks.push_back({message::network_left_alone, false,
                                    fmt::format("network {} is gone, but {} has {}, which somebody gave to it: its "
                                                "links stay until that is gone",
                                                vni_, bridge->name, address)});
            return;
        }
        if (is_named_ && bridge_->index == own_bridge_) {
            into.left.insert(vni_);
            into.remarks.push_back({message::network_left_alone, false,
                                    fmt::format("network {} is gone, but the network configuration of this host names "
                                                "{}, which a node daemon made: its links stay",
                                                vni_, bridge_->name)});
            return;
        }
        if (user != nullptr) {
            into.left.insert(vni_);
            into.remarks.push_back(
                {message::network_left_alone, false,
                 fmt::format("network {} is gone, but {} uses its links: they stay", vni_, user->name)});
            return;
        }
        auto& steps = into.steps;
        if (bridge != nullptr && bridge->is_up) {
            steps.emplace_back(model::set_down{bridge->name});
        }
        for (const auto* base : bases_) {
            if (base->is_up) {
                steps.emplace_back(model::set_down{base->name});
            }
            if (base->master != 0) {
                steps.emplace_back(model::set_master{base->name, ""});
            }
        }
        if (bridge != nullptr) {
            steps.emplace_back(model::delete_link{bridge->name});
        }
        for (const auto* base : bases_) {
            steps.emplace_back(model::delete_link{base->name});
        }
        if (steps.empty() && named_ != nullptr) {  // what else there is goes first
            into.left.insert(vni_);
            into.remarks.push_back({message::network_left_alone, false,
                                    fmt::format("network {} is gone, but the network configuration of this host names "
                                                "{}, which a node daemon made: it stays",
                                                vni_, named_->name)});
        }
    }

private:
    // A bridge of such a name alone is anybody's if it has addresses, STP, which none of ours has, or a port that leads
    // out; one with its base if it has what no daemon gives it; and nobody recorded it.
    void find_owner() {
        if (bridge_ == nullptr) {
            return;
        }
        // Whoever made it: somebody has written it down for his own by now.
        is_named_ = links_.is_named(bridge_->name);
        if (bridge_->index == own_bridge_) {
            is_foreign_ = is_named_;
            return;
        }
        const bool has_base = links_.has_base(*bridge_, vni_, network_type::managed) ||
                              links_.has_base(*bridge_, vni_, network_type::bridged);
        is_foreign_ = !links_.why_kept_bridge(*bridge_, vni_).empty() ||
                      !links_.why_foreign_bridge(*bridge_, vni_).empty() || (!has_base && has_address(seen_, *bridge_));
    }
    [[nodiscard]] bool is_own(const network_link* link) const {
        return std::ranges::find(bases_, link) != bases_.end();
    }
    // A base that stays loses nothing with a bridge of the network's own.
    [[nodiscard]] bool is_released(const network_link* link) const {
        return link == used_ && (bridge_->index == own_bridge_ || links_.recorded(*link) != nullptr);
    }

    // On the bridge of a bridged network, where nobody of the cluster has one: the host may be reached by it. "": none.
    [[nodiscard]] std::string given_address(const network_link* bridge) const {
        const bool is_bridged = bridge != nullptr && links_.has_base(*bridge, vni_, network_type::bridged) &&
                                !is_planted(defect::foreign_bridge_taken);
        const auto there = is_bridged ? seen_.addresses_of(bridge->index) : std::vector<model::link_address>();
        const auto found = std::ranges::find_if(there, is_given);
        return found == there.end() ? std::string() : found->address.text();
    }

    // Something beside its own links that would lose what it stands on or is a port of, or that has one as its port.
    [[nodiscard]] const network_link* find_user(const network_link* bridge) const {
        std::vector<const network_link*> users;
        if (bridge != nullptr) {
            users = seen_.ports_of(bridge->index);
            std::ranges::copy(seen_.standing_on(bridge->index), std::back_inserter(users));
        }
        for (const auto* base : bases_) {
            std::ranges::copy(seen_.standing_on(base->index), std::back_inserter(users));
            const auto* master = seen_.find(base->master);
            if (master != nullptr && master != bridge) {
                users.push_back(master);
            }
        }
        const auto other =
            std::ranges::find_if(users, [&](const network_link* one) { return !is_own(one) && !is_released(one); });
        return other == users.end() ? nullptr : *other;
    }

    std::uint32_t vni_;
    const own_links& links_;
    const model::network_state& seen_;
    const network_link* bridge_;
    int own_bridge_;
    std::vector<const network_link*> bases_;
    bool is_foreign_ = false;              // the bridge is
    bool is_named_ = false;                // likewise, by the host's own configuration
    const network_link* used_ = nullptr;   // a port of the bridge that was there before the network
    const network_link* named_ = nullptr;  // a base of its own that the host's own configuration names by now
};

const network_link* seen_base(const model::network_state& seen, std::uint32_t vni, network_type type) {
    return seen.find(base_name(vni, type));
}

// All that would go if no network were there any more.
std::vector<const network_link*> links_without_networks(const config::node_config& config,
                                                        const model::network_state& seen, const own_bridges& own,
                                                        const whose_links& whose) {
    std::vector<const network_link*> all;
    for (const auto& step : plan_sweep({}, config, seen, own, whose).steps) {
        const auto* gone = std::get_if<model::delete_link>(&step);
        if (const auto* link = gone == nullptr ? nullptr : seen.find(gone->name)) {
            all.push_back(link);
        }
    }
    return all;
}

bool is_on_record(const network_link& link, const own_bridges& own, const whose_links& whose) {
    const auto* base = whose.find(link);
    return (base != nullptr && base->index != recorded_base::coming) || has_index(own, link.index);
}

// What somebody may have given to a link, and goes with it: "vmbr7 has 192.0.2.1/24, routes and a traffic filter"; "":
// nothing.
std::string what_goes_with(const network_link& link, const model::network_state& seen) {
    std::vector<std::string> all;
    for (const auto& one : seen.addresses_of(link.index)) {
        if (is_given(one)) {
            all.push_back(one.address.text());
        }
    }
    const auto is_over_it = [&](const model::link_route& one) { return one.link == link.index; };
    if (std::ranges::any_of(seen.link_routes(), is_over_it)) {
        all.emplace_back("routes that lead over it");
    }
    if (link.has_traffic_filter) {
        all.emplace_back("a traffic filter");
    }
    return all.empty() ? std::string() : fmt::format("{} has {}", link.name, join(all, ", "));
}

// As no daemon runs, whether it is gone is not known.
std::string in_case_of(const std::string& remark) {
    constexpr std::string_view is_gone = " is gone, but ";
    const auto at = remark.find(is_gone);
    return at == std::string::npos ? "left alone for now: " + remark
                                   : fmt::format("if {} is gone: left alone for now: {}", remark.substr(0, at),
                                                 remark.substr(at + is_gone.size()));
}

// Those whose number one of the names has.
std::set<std::uint32_t> numbers_of_links(const model::network_state& seen) {
    std::set<std::uint32_t> numbers;
    for (const auto& link : seen.links()) {
        for (const auto* prefix : {"vmbr", "vxlan", "vlan"}) {
            if (const auto vni = model::vni_of(link.name, prefix)) {
                numbers.insert(*vni);
            }
        }
    }
    return numbers;
}

}  // namespace

std::map<std::uint32_t, machine_bridge> bridges_of_machines(const config::node_config& config,
                                                            const model::network_state& seen) {
    const whose_links nobodys;
    const own_links links(config, seen, nobodys);
    std::map<std::uint32_t, machine_bridge> all;
    for (const auto& link : seen.links()) {
        const auto vni = model::vni_of(link.name, "vmbr");
        if (!vni || !links.is_bridge(link) || links.is_name_of_host(link.name)) {
            continue;
        }
        machine_bridge found;
        bool has_machine = false;
        bool leads_out = false;
        for (const auto* port : seen.ports_of(link.index)) {
            const bool is_vxlan = port->name == base_name(*vni, network_type::managed);
            const bool is_vlan = port->name == base_name(*vni, network_type::bridged);
            found.has_vxlan = found.has_vxlan || is_vxlan;
            found.has_vlan = found.has_vlan || is_vlan;
            has_machine = has_machine || is_machine_port(*port);
            leads_out = leads_out || !(is_vxlan || is_vlan || is_guest_port(*port));
        }
        if (has_machine && !(leads_out && has_address(seen, link))) {
            all.emplace(*vni, found);
        }
    }
    return all;
}

std::vector<model::network_change> steps_without_base(const model::client_network& network,
                                                      std::span<const model::network_change> left) {
    std::vector<model::network_change> steps;
    if (left.empty() || model::device_of(left.front()) != network.base()) {
        return steps;
    }
    std::ranges::copy_if(left, std::back_inserter(steps),
                         [&](const auto& one) { return model::device_of(one) == network.bridge(); });
    return steps;
}

// Also of the type that it had before it became one of the other, which may have been refused.
network_plan plan_removal(std::uint32_t vni, const config::node_config& config, const model::network_state& seen,
                          int own_bridge, const whose_links& whose) {
    const own_links links(config, seen, whose);
    network_remains remains(vni, links, seen, own_bridge);
    remains.add_base(network_type::managed);
    remains.add_base(network_type::bridged);
    network_plan plan;
    remains.plan(plan);
    return plan;
}

network_plan plan_sweep(const std::set<std::uint32_t>& known, const config::node_config& config,
                        const model::network_state& seen, const own_bridges& own, const whose_links& whose) {
    const own_links links(config, seen, whose);
    network_plan plan;
    auto numbers = numbers_of_links(seen);
    for (const auto& [vni, one] : own) {
        numbers.insert(vni);
    }
    for (const auto& [name, one] : whose.bases) {
        const auto vlan = model::vni_of(name, "vlan");
        numbers.insert(vlan ? *vlan : model::vni_of(name, "vxlan").value_or(0));
    }
    numbers.erase(0);
    for (const auto vni : numbers) {
        if (!known.contains(vni)) {
            network_remains remains(vni, links, seen, index_of(own, vni));
            remains.add_base(network_type::managed);
            remains.add_base(network_type::bridged);
            remains.plan(plan);
        }
    }
    return plan;
}

std::vector<std::string> kept_bridges(const std::set<std::uint32_t>& known, const config::node_config& config,
                                      const model::network_state& seen, const own_bridges& own,
                                      const whose_links& whose) {
    const own_links links(config, seen, whose);
    std::vector<std::string> all;
    for (const auto vni : numbers_of_links(seen)) {
        const auto* bridge = seen.find(bridge_name(vni));
        if (bridge == nullptr || known.contains(vni) || !links.is_bridge(*bridge) || links.is_named(bridge->name) ||
            has_index(own, bridge->index)) {
            continue;
        }
        if (auto why = links.why_kept_bridge(*bridge, vni); !why.empty()) {
            all.push_back(fmt::format("{} ({})", bridge->name, why));
        }
    }
    return all;
}

std::vector<std::string> links_to_sweep(const config::node_config& config, const model::network_state& seen,
                                        const own_bridges& own, const whose_links& whose) {
    std::vector<std::string> all;
    for (const auto* link : links_without_networks(config, seen, own, whose)) {
        if (!is_on_record(*link, own, whose)) {
            all.push_back(link->name);
        }
    }
    return all;
}

std::vector<std::string> foreign_links(const config::node_config& config, const model::network_state& seen,
                                       const own_bridges& own, const whose_links& whose) {
    const own_links links(config, seen, whose);
    std::vector<std::string> all;
    for (const auto vni : numbers_of_links(seen)) {
        for (const auto type : {network_type::bridged, network_type::managed}) {
            const auto* base = can_have(vni, type) ? seen_base(seen, vni, type) : nullptr;
            const auto* known = base == nullptr ? nullptr : links.recorded(*base);
            const bool is_recorded = known != nullptr && known->index != recorded_base::coming;
            if (base == nullptr || links.is_of_host(*base) || is_recorded) {
                continue;
            }
            if (!links.is_base(*base, vni, type) && !links.is_base_of_before(*base, vni, type)) {
                all.push_back(fmt::format("{} (it is not as a network's)", base->name));
            } else if (auto why = links.why_foreign(*base, vni); !why.empty()) {
                all.push_back(fmt::format("{} ({})", base->name, why));
            }
        }
        const auto* bridge = seen.find(bridge_name(vni));
        const bool is_bridge_recorded = bridge != nullptr && has_index(own, bridge->index);
        if (bridge != nullptr && !is_bridge_recorded && !links.is_of_host(*bridge)) {
            if (!links.is_bridge(*bridge)) {
                all.push_back(bridge->name + " (it is no bridge)");
            } else if (auto why = links.why_foreign_bridge(*bridge, vni); !why.empty()) {
                all.push_back(fmt::format("{} ({})", bridge->name, why));
            }
        }
    }
    for (const auto& link : seen.links()) {
        for (const auto& name : link.alt_names) {
            for (const auto* prefix : {"vmbr", "vxlan", "vlan"}) {
                if (model::vni_of(name, prefix)) {
                    all.push_back(fmt::format("{} (it is another name of {})", name, link.name));
                }
            }
        }
    }
    std::ranges::move(links.numbers_above(), std::back_inserter(all));
    std::ranges::move(links.named_and_not_there(), std::back_inserter(all));
    std::ranges::sort(all);
    return all;
}

std::vector<std::string> dead_links(const config::node_config& config, const model::network_state& seen,
                                    const whose_links& whose) {
    return own_links(config, seen, whose).dead_above();
}

std::vector<std::string> describe_sweep(const config::node_config& config, const model::network_state& seen,
                                        const own_bridges& own, const whose_links& whose, bool are_names_known) {
    std::vector<std::string> lines;
    if (const auto swept = links_to_sweep(config, seen, own, whose); !swept.empty()) {
        lines.push_back((are_names_known ? "if no client network has such a number: would remove, as left by a node "
                                           "daemon: "
                                         : "left by a node daemon, and left alone as long as what this host's own "
                                           "configuration names is not known: ") +
                        join(swept, ", "));
    }
    std::vector<std::string> recorded;
    std::vector<std::string> with_them;
    for (const auto* link : links_without_networks(config, seen, own, whose)) {
        if (is_on_record(*link, own, whose)) {
            recorded.push_back(link->name);
        }
        if (auto more = what_goes_with(*link, seen); !more.empty()) {
            with_them.push_back(std::move(more));
        }
    }
    if (!recorded.empty() && are_names_known) {
        lines.push_back("if its network is gone by then: would remove, each as the record of node daemons has it: " +
                        join(recorded, ", "));
    }
    if (!with_them.empty() && are_names_known) {
        lines.push_back("what would go with these links: " + join(with_them, "; "));
    }
    for (const auto& one : plan_sweep({}, config, seen, own, whose).remarks) {
        lines.push_back(in_case_of(one.text));
    }
    for (const auto& one : kept_bridges({}, config, seen, own, whose)) {
        lines.push_back("left alone, unless a client network has its number: " + one);
    }
    std::ranges::move(dead_links(config, seen, whose), std::back_inserter(lines));
    for (const auto& one : foreign_links(config, seen, own, whose)) {
        lines.push_back("left alone, though a client network may want its name: " + one);
    }
    return lines;
}

}  // namespace pvc::policy
