// What client networks have of the primary and of the packet filter: also those that are refused, or whose keys cannot
// be used. What becomes of both is said together with why.
#include "client_networks.hpp"

#include "pvcnoded/base/planted.hpp"
#include "pvcnoded/policy/networks/network_words.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pvc::networks {

namespace {

// Of which nothing is known but that it is there.
model::client_network without_addresses(std::uint32_t vni) {
    model::client_network one;
    one.vni = vni;
    return one;
}

}  // namespace

std::string overlap_remarks(std::uint32_t vni) {
    return fmt::format("overlaps of network {}", vni);
}

// A change of keys that cannot be used changes nothing: what was there stays, with its gateways and its rules.
std::vector<policy::network_remark> client_networks::remarks_on_keys(std::uint32_t vni, const network_row& row,
                                                                     const model::parsed_network& parsed) {
    const bool is_usable = parsed.network.has_value();
    std::vector<policy::network_remark> all;
    for (const auto& text : parsed.remarks) {
        const bool has_lost = is_usable && parsed.network->type == model::network_type::managed;
        all.push_back({message::network_value, !is_usable, text + (has_lost ? policy::lost_by_key(vni, text) : "")});
    }
    if (!is_usable && !all.empty()) {
        const auto* const stays = row.standing && !row.is_gone ? &*row.standing : nullptr;
        all.front().text += policy::words_of_unusable(vni, stays);
    }
    return all;
}

// Of what is refused: to the error, in one line.
void client_networks::add_consequences(std::uint32_t vni, const network_row& row,
                                       std::vector<policy::network_remark>& said) const {
    if (!row.wanted || !row.plan || !row.plan->is_refused) {
        return;
    }
    const auto error = std::ranges::find(said, message::network_refused, &policy::network_remark::which);
    if (error != said.end()) {
        error->text += policy::words_of_refusal(*row.wanted, served(vni, row));
    }
}

// Of a bridged network nobody of the cluster has an address there, but what a primary of before left.
void client_networks::add_strange_addresses(std::uint32_t vni, const network_row& row, const model::network_state& seen,
                                            std::vector<policy::network_remark>& said) const {
    const auto known = bridges_.known().find(vni);
    const bool may_be_gateways = known != bridges_.known().end() && known->second.has_gateways;
    if (!row.wanted || !row.plan || row.plan->is_refused || may_be_gateways) {
        return;
    }
    for (auto& text : policy::strange_addresses(*row.wanted, seen)) {
        said.push_back({message::network_left_alone, false, std::move(text)});
    }
}

std::set<std::uint32_t> client_networks::changing() const {
    std::set<std::uint32_t> all;
    for (const auto& [vni, row] : rows_) {
        if (row.wanted && row.standing && row.standing->type != row.wanted->type) {
            all.insert(vni);
        }
    }
    return all;
}

const model::client_network* client_networks::served(std::uint32_t vni, const network_row& row) const {
    if (row.is_gone) {
        return nullptr;
    }
    const bool is_refused = row.wanted && row.plan && row.plan->is_refused;
    if (row.standing && (!row.wanted || row.standing->type != row.wanted->type)) {
        // Its machines go on using it until the other type is there, or its keys can be used again, unless somebody has
        // another bridge in its place.
        const bool is_there = !is_refused || row.plan->stays || bridges_.known().contains(vni);
        return is_there ? &*row.standing : nullptr;
    }
    return row.wanted && !is_refused ? &*row.wanted : nullptr;
}

std::vector<model::client_network> client_networks::tell_gateways() {
    std::vector<model::client_network> all;
    for (const auto& [vni, row] : rows_) {
        if (const auto* const one = served(vni, row)) {
            all.push_back(*one);
        }
    }
    std::vector<policy::network_remark> conflicts;
    for (auto& one : policy::gateway_conflicts(all, work_.config(), reach_)) {
        conflicts.push_back({message::network_gateway_conflict, true, std::move(one.text)});
    }
    remarks_.tell(std::string(gateways_remarks), std::move(conflicts));
    tell_overlaps(all);
    return all;
}

// Of each network by itself: one may be over while others stay.
void client_networks::tell_overlaps(std::span<const model::client_network> all) {
    std::map<std::uint32_t, std::vector<policy::network_remark>> now;
    for (auto& one : policy::network_overlaps(all, work_.config(), reach_)) {
        now[one.inner].push_back({message::network_overlap, false, std::move(one.text)});
    }
    for (const auto vni : std::exchange(overlapping_, {})) {
        now.try_emplace(vni);
    }
    for (auto& [vni, said] : now) {
        if (!said.empty()) {
            overlapping_.insert(vni);
        }
        remarks_.tell(overlap_remarks(vni), std::move(said));
    }
}

std::vector<model::client_network> client_networks::filtered() const {
    const auto without = refused();
    const auto left = left_behind();
    std::vector<model::client_network> all;
    for (const auto& [vni, row] : rows_) {
        const bool is_usable = !row.is_gone && row.usable;
        const bool is_managed = is_usable && row.usable->type == model::network_type::managed;
        if (is_usable && (left.contains(vni) ? is_managed : !without.contains(vni))) {
            all.push_back(*row.usable);
        } else if (left.contains(vni)) {
            all.push_back(without_addresses(vni));
        }
    }
    for (const auto vni : left) {
        if (!rows_.contains(vni)) {
            all.push_back(without_addresses(vni));
        }
    }
    return all;
}

bool client_networks::is_kept_right(std::uint32_t vni) const {
    const auto row = rows_.find(vni);
    return row != rows_.end() && row->second.wanted && !(row->second.plan && row->second.plan->is_refused);
}

// What is in a VXLAN is of a managed network, whatever the network is to be by now; of what nothing is known may be.
bool client_networks::is_filtered_for_machines(std::uint32_t vni, const policy::machine_bridge& bridge) const {
    const auto row = rows_.find(vni);
    const bool is_known = row != rows_.end() && !row->second.is_gone;
    if (!is_known || !row->second.usable) {
        return bridge.has_vxlan || (is_known && !bridge.has_vlan);
    }
    const bool is_managed = row->second.usable->type == model::network_type::managed;
    return is_managed ? !is_kept_right(vni) : bridge.has_vxlan;
}

std::set<std::uint32_t> client_networks::left_behind() const {
    std::set<std::uint32_t> all;
    for (const auto& [vni, one] : bridges_.known()) {
        if (one.has_gateways && !is_kept_right(vni)) {
            all.insert(vni);
        }
    }
    for (const auto& [vni, bridge] : with_machines_) {
        if (is_filtered_for_machines(vni, bridge) && !is_planted(defect::refused_unfiltered)) {
            all.insert(vni);
        }
    }
    return all;
}

}  // namespace pvc::networks
