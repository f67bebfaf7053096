// In which order, and why. A bridge gets its settings before it is up, so that it never takes an address or a route of
// an advertisement. The base is a port before it is up, so that nothing arrives that the bridge does not see. What is
// there and right is not touched; what carries guests is never taken down.
#include "pvcnoded/policy/networks/client_plan.hpp"

#include "bridge_repairs.hpp"
#include "own_links.hpp"
#include "pvcnoded/base/planted.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace pvc::policy {

namespace {

using model::network_link;
using model::network_type;

constexpr int vxlan_overhead = 50;
constexpr int smallest_mtu = 68;  // of any link
constexpr int mtu_of_ipv6 = 1280;
constexpr int mtu_if_unknown = 1500;
constexpr int index_not_known = -1;

class network_planner {
public:
    network_planner(const model::client_network& wanted, const config::node_config& config,
                    const model::network_state& seen, const network_memory& known, const whose_links& whose)
        : wanted_(wanted),
          config_(config),
          seen_(seen),
          known_(known),
          links_(config, seen, whose),
          bridge_name_(wanted.bridge()),
          base_name_(wanted.base()),
          other_name_(base_name(wanted.vni, other_type(wanted.type))),
          bridge_(seen.find(bridge_name_)),
          base_(seen.find(base_name_)),
          lower_(seen.find(links_.lower_name(wanted.type))) {}

    network_plan make() {
        if (call_links_again()) {
            return std::move(plan_);
        }
        if (!is_ours()) {
            plan_.is_refused = true;
            return std::move(plan_);
        }
        find_base_of_before();
        find_other_base();
        if (auto why = why_not_other_type(); !why.empty() && !is_planted(defect::change_without_end)) {
            plan_.is_refused = true;
            remark(message::network_refused, true, std::move(why));
            return std::move(plan_);
        }
        choose_mtu();
        // Nothing is taken apart before what comes in its place is there.
        if (other_ != nullptr && before_ == nullptr && lower_ != nullptr) {
            make_base();
            set_base_mtu();
        }
        plan_settings();
        remove_base_of_before();
        remove_other_base();
        plan_base();
        put_ports_back();
        plan_bridge_link();
        note_bases();
        plan_lost_settings();
        drop_learnt_addresses();
        plan_.next.mtu = possible_mtu_;
        plan_.next.was_right = plan_.steps.empty() && base_ != nullptr && can_base_be_up_;
        return std::move(plan_);
    }

private:
    [[nodiscard]] bool is_managed() const { return wanted_.type == network_type::managed; }
    void remark(message which, bool is_error, std::string text) {
        plan_.remarks.push_back({which, is_error, fmt::format("network {}: {}", wanted_.vni, text)});
    }
    bool refuse(std::string why) {
        remark(message::network_refused, true, std::move(why));
        return false;
    }
    void damage(std::string what) {
        if (known_.was_right) {
            plan_.damage.push_back(std::move(what));
        }
    }
    void damage_of_mtu(const network_link* link) {
        if (link != nullptr && link->mtu != possible_mtu_ && known_.mtu == possible_mtu_) {
            damage(fmt::format("{} had MTU {}", link->name, link->mtu));
        }
    }
    template <class Step>
    void add(Step step) {
        plan_.steps.emplace_back(std::move(step));
    }
    void set_of(const std::string& family_and_device, std::string_view key, std::string value) {
        add(model::set_sysctl{fmt::format("net/ipv6/conf/{}/{}", family_and_device, key), std::move(value)});
    }

    bool call_links_again();
    bool is_ours();
    bool is_free_to_make();
    bool is_number_free();
    [[nodiscard]] bool is_taken_over() const;
    void find_base_of_before();
    void find_other_base();
    [[nodiscard]] std::string why_not_other_type() const;
    void choose_mtu();
    [[nodiscard]] std::string limit_of_networks() const;
    void plan_settings();
    void plan_lost_settings();
    void set_bridge();
    [[nodiscard]] bool has_lost_ipv6(const network_link* link) const;
    void remove_base_of_before();
    void remove_base(const network_link& which);
    void remove_other_base();
    void make_base();
    void set_base_mtu();
    void plan_base();
    void put_ports_back();
    void plan_bridge_link();
    void drop_learnt_addresses();
    void note_bases();

    const model::client_network& wanted_;
    const config::node_config& config_;
    const model::network_state& seen_;
    const network_memory& known_;
    own_links links_;
    std::string bridge_name_;
    std::string base_name_;
    std::string other_name_;
    const network_link* bridge_;
    const network_link* base_;
    const network_link* lower_;
    // Its base on a device that was configured before: another one comes instead.
    const network_link* before_ = nullptr;
    const network_link* other_ = nullptr;  // the base that it had as a network of the other type
    bool are_settings_made_ = false;
    bool is_base_made_ = false;
    bool is_base_mtu_set_ = false;
    bool is_port_added_ = false;  // a bridge whose MTU nobody set follows its ports: it is told after the last of them
    bool can_base_be_up_ = false;
    bool is_base_left_ = false;  // on a device that was configured before, as somebody uses it
    int possible_mtu_ = 0;
    network_plan plan_;
};

// By the record it is this network's bridge, or its base, whatever somebody called it since (README ruling 79): all
// that machines and rules know is its name.
bool network_planner::call_links_again() {
    const auto* own = known_.own_bridge > 0 ? seen_.find(known_.own_bridge) : nullptr;
    const bool is_elsewhere = own != nullptr && own != bridge_;
    plan_.steps = is_elsewhere ? links_.renames(*own, wanted_.vni) : std::vector<model::network_change>();
    if (!plan_.steps.empty()) {
        plan_.damage.push_back(fmt::format("{} was called {}", bridge_name_, own->name));
    } else if (const auto* base = links_.renamed_base(wanted_.vni, wanted_.type)) {
        add(model::rename_link{base_name_, base->index});
        plan_.damage.push_back(fmt::format("{} was called {}", base_name_, base->name));
    } else {
        return false;
    }
    plan_.next = known_;
    return true;
}

// Nothing is done to a network whose links would be, or stand in the way of, somebody else's.
bool network_planner::is_ours() {
    if (!can_have(wanted_.vni, wanted_.type)) {
        return refuse("a bridged network has a number from 1 to 4094");
    }
    if (links_.lower_name(wanted_.type).empty()) {
        find_other_base();
        return refuse("bridge_device is not configured");
    }
    for (const auto& name : {bridge_name_, base_name_}) {
        const auto* link = seen_.find(name);
        if (links_.is_name_of_host(name) || (link != nullptr && links_.is_of_host(*link))) {
            return refuse(name + " is a link of this host's own network");
        }
        if (const auto* other = links_.called(name)) {
            return refuse(name + " is another name of " + other->name);
        }
    }
    if (bridge_ != nullptr && !links_.is_bridge(*bridge_)) {
        return refuse(bridge_name_ + " is there and is no bridge");
    }
    if (const auto of = bridge_ == nullptr ? 0 : links_.network_of(*bridge_); of != 0 && of != wanted_.vni) {
        return refuse(fmt::format("{} is the bridge of network {}, which somebody called so", bridge_name_, of));
    }
    if (base_ != nullptr && !links_.is_base(*base_, wanted_.vni, wanted_.type) &&
        !links_.is_base_of_before(*base_, wanted_.vni, wanted_.type)) {
        if (auto other = links_.other_port_of_vxlan(*base_, wanted_); !other.empty()) {
            return refuse(fmt::format("{} is VXLAN {}, and not as FRR needs it for EVPN: it has {}", base_name_,
                                      wanted_.vni, other));
        }
        return refuse(fmt::format("{} is there and is not {} {} on {}", base_name_, is_managed() ? "VXLAN" : "VLAN",
                                  wanted_.vni, links_.lower_name(wanted_.type)));
    }
    if (base_ != nullptr && !is_taken_over()) {
        if (auto why = links_.why_foreign(*base_, wanted_.vni); !why.empty()) {
            plan_.foreign_base = base_name_;
            return refuse(fmt::format("{} is a link of this host's own: {}", base_name_, why));
        }
        const auto other = own_links::changeable_settings(*base_);
        if (!other.empty() && !links_.is_own_base(*base_, wanted_.vni)) {
            return refuse(
                fmt::format("{} is VXLAN {}, and not as FRR needs it for EVPN: it has {}, and nothing shows "
                            "that it is this network's",
                            base_name_, wanted_.vni, other));
        }
    }
    if (bridge_ != nullptr && known_.bridge != bridge_->index && known_.own_bridge != bridge_->index) {
        if (auto why = links_.what_of_others(*bridge_, wanted_); !why.empty()) {
            return refuse(fmt::format("{} is somebody else's: it has {}", bridge_name_, why));
        }
    }
    return is_free_to_make() && is_number_free();
}

// What is there and on record stays this network's own, whoever names it by now.
bool network_planner::is_free_to_make() {
    auto why = bridge_ == nullptr ? links_.why_not_made(bridge_name_) : std::string();
    if (why.empty() && base_ == nullptr) {
        why = links_.why_base_not_made(wanted_.vni, wanted_.type);
        plan_.foreign_base = why.empty() ? std::string() : base_name_;
    }
    return why.empty() || refuse(std::move(why));
}

// On record as this network's own, or as one that it uses and that is in its bridge already.
bool network_planner::is_taken_over() const {
    const auto* known = links_.recorded(*base_);
    const bool is_port = bridge_ != nullptr && base_->master == bridge_->index;
    return known != nullptr && known->index != recorded_base::coming && (known->is_own || is_port);
}

// The kernel has each VLAN of a device, and each VNI of a port, once, whatever its name.
bool network_planner::is_number_free() {
    for (const auto& link : seen_.links()) {
        const bool is_vlan = !is_managed() && link.kind == "vlan" && lower_ != nullptr && link.lower == lower_->index &&
                             link.vlan_id == wanted_.vni;
        const bool is_vxlan = is_managed() && link.kind == "vxlan" && link.vxlan && link.vxlan->vni == wanted_.vni &&
                              link.vxlan->port == model::vxlan_settings().port;
        if ((is_vlan || is_vxlan) && link.name != base_name_) {
            return refuse(
                fmt::format("{} {} is there already as {}", is_managed() ? "VXLAN" : "VLAN", wanted_.vni, link.name));
        }
    }
    return true;
}

// The device in the configuration is another one: as soon as that is there, the base is made anew on it. Until then it
// stays, as it may work.
void network_planner::find_base_of_before() {
    if (base_ == nullptr || lower_ == nullptr || base_->lower == lower_->index) {
        return;
    }
    const auto above = seen_.standing_on(base_->index);
    const auto why =
        above.empty() ? links_.why_base_not_made(wanted_.vni, wanted_.type) : above.front()->name + " stands on it";
    if (!why.empty()) {
        remark(message::network_left_alone, false,
               fmt::format("{} is not made anew on {}, as {}", base_name_, lower_->name, why));
        is_base_left_ = true;
        return;
    }
    before_ = std::exchange(base_, nullptr);
}

void network_planner::find_other_base() {
    const auto* link = seen_.find(other_name_);
    const auto type = other_type(wanted_.type);
    if (link == nullptr || !can_have(wanted_.vni, type) ||
        !(links_.is_base(*link, wanted_.vni, type) || links_.is_base_of_before(*link, wanted_.vni, type))) {
        return;  // somebody else's: nobody minds
    }
    if ((link->master != 0 && (bridge_ == nullptr || link->master != bridge_->index)) ||
        !seen_.standing_on(link->index).empty()) {
        remark(message::network_left_alone, false,
               fmt::format("{}, of the type that it had before, is used by others and stays", other_name_));
        return;
    }
    if ((!links_.is_own_base(*link, wanted_.vni) || links_.is_named(other_name_)) && link->master == 0) {
        return;  // nothing shows that it was this network's
    }
    other_ = link;
    if (link->master != 0) {
        plan_.stays = type;
    }
}

// What has to be there before a network of the other type is taken apart, as its machines go on using that until then;
// "": all of it.
std::string network_planner::why_not_other_type() const {
    if (other_ == nullptr) {
        return {};
    }
    const auto& cluster = config_.networks.cluster;
    const auto* carrier = seen_.find(cluster.bridge);
    const auto there = carrier == nullptr ? std::vector<model::link_address>() : seen_.addresses_of(carrier->index);
    std::string what;
    if (lower_ == nullptr) {
        what = fmt::format("device {} is missing", links_.lower_name(wanted_.type));
    } else if (!lower_->is_up) {
        what = fmt::format("device {} is down", lower_->name);
    } else if (is_managed() && !cluster.address) {
        what = "this node has no address in the cluster network";
    } else if (is_managed() &&
               std::ranges::find(there, *cluster.address, &model::link_address::address) == there.end()) {
        what = fmt::format("{} is not on {} yet", cluster.address->text(), cluster.bridge);
    }
    return what.empty() ? what
                        : fmt::format("it cannot become a {} one: {}: it stays as it was, with {}",
                                      to_text(wanted_.type), what, other_name_);
}

void network_planner::choose_mtu() {
    int most = config_.networks.cluster.mtu - vxlan_overhead;
    if (!is_managed()) {
        most = config_.bridges.mtu ? *config_.bridges.mtu : lower_ != nullptr ? lower_->mtu : mtu_if_unknown;
    }
    most = std::max(most, smallest_mtu);
    plan_.mtu = static_cast<int>(std::min<std::int64_t>(wanted_.mtu.value_or(most), most));
    if (!wanted_.has_mtu_text) {
        plan_.mtu_to_write = plan_.mtu;
    }
    possible_mtu_ = plan_.mtu;
    std::string limit = limit_of_networks();
    if (lower_ == nullptr) {
        remark(
            message::network_device_missing, true,
            fmt::format("device {} is missing: {} is made when it comes", links_.lower_name(wanted_.type), base_name_));
    } else if (const int room = std::max(is_managed() ? lower_->mtu - vxlan_overhead : lower_->mtu, smallest_mtu);
               plan_.mtu > room) {  // the kernel refuses more
        possible_mtu_ = room;
        limit = fmt::format("{} has {}", lower_->name, lower_->mtu);
    }
    const std::int64_t asked = wanted_.mtu.value_or(plan_.mtu);
    if (asked > possible_mtu_ && !limit.empty()) {
        remark(message::network_mtu, false,
               fmt::format("MTU {} is not possible: {}, so {} is set", asked, limit, possible_mtu_));
    }
}

// What keeps the MTU as small as it is, whatever the device below carries now; "": nothing that is known.
std::string network_planner::limit_of_networks() const {
    if (is_managed()) {
        return fmt::format("the cluster network has {}, of which VXLAN takes {}", config_.networks.cluster.mtu,
                           vxlan_overhead);
    }
    const auto& trunk = config_.bridges;
    if (trunk.mtu) {
        return fmt::format("{} {}", trunk.mtu_is_configured ? "bridge_mtu is" : trunk.device + " is to have",
                           *trunk.mtu);
    }
    return lower_ == nullptr ? std::string() : fmt::format("{} has {}", lower_->name, lower_->mtu);
}

// The bridge, and what it shall do and not do of its own accord; nobody can see whether it was told already.
void network_planner::plan_settings() {
    const bool is_known = bridge_ != nullptr && (known_.bridge == bridge_->index || known_.bridge == index_not_known);
    plan_.next.bridge = bridge_ == nullptr ? index_not_known : bridge_->index;
    plan_.next.own_bridge = bridge_ == nullptr ? 0 : bridge_->index;
    if (bridge_ == nullptr) {
        damage("bridge " + bridge_name_ + " was gone");
        add(model::make_bridge{bridge_name_, model::own_bridge_address(config_.node, wanted_.vni)});
    } else if (!is_known) {
        damage("bridge " + bridge_name_ + " was another one");
        // Its neighbours know it by that: no port shall change it.
        if (bridge_->hardware != model::hardware_address()) {
            add(model::set_hardware{bridge_name_, bridge_->hardware});
        }
    }
    are_settings_made_ = !is_known || other_ != nullptr;
    plan_.next.had_ipv6 = has_ipv6_on_bridge(wanted_);
    if (are_settings_made_) {
        set_bridge();
    } else {
        for (auto& one : bridge_repairs(wanted_, *bridge_, seen_, known_, plan_.next)) {
            if (!one.what.empty()) {
                damage(std::move(one.what));
            }
            std::ranges::move(one.steps, std::back_inserter(plan_.steps));
        }
    }
}

// A link that is too small for IPv6 has no settings of it, and has those of any new link when it is large enough again.
bool network_planner::has_lost_ipv6(const network_link* link) const {
    return link != nullptr && link->mtu < mtu_of_ipv6 && possible_mtu_ >= mtu_of_ipv6;
}

void network_planner::plan_lost_settings() {
    // Until somebody sets its size a bridge is as small as its smallest port.
    const bool has_small_port =
        std::ranges::any_of(known_.ports, [&](const auto& port) { return has_lost_ipv6(seen_.find(port.first)); });
    if (has_lost_ipv6(bridge_) || has_lost_ipv6(base_) || (has_small_port && is_port_added_)) {
        set_bridge();
    }
    if (!is_managed() && has_lost_ipv6(base_)) {
        set_of(base_name_, "disable_ipv6", "1");
    }
}

void network_planner::set_bridge() {
    if (is_managed() && bridge_ != nullptr && !has_ipv6_on_bridge(wanted_)) {
        set_of(bridge_name_, "disable_ipv6", "0");  // it may have been of a bridged network
    }
    for (auto& one : settings_of_bridge(wanted_)) {
        add(std::move(one));
    }
}

void network_planner::remove_base_of_before() {
    if (before_ != nullptr) {
        remove_base(*before_);
    }
}

// Before the new base is a port: the two would be one network for a moment.
void network_planner::remove_other_base() {
    if (other_ == nullptr) {
        return;
    }
    if (!links_.is_own_base(*other_, wanted_.vni) || links_.is_named(other_name_)) {
        add(model::set_master{other_name_, ""});  // it was there before, or is the host's by now
        return;
    }
    remove_base(*other_);
}

void network_planner::remove_base(const network_link& which) {
    if (which.is_up) {
        add(model::set_down{which.name});
    }
    if (which.master != 0) {
        add(model::set_master{which.name, ""});
    }
    add(model::delete_link{which.name});
}

void network_planner::make_base() {
    if (base_ != nullptr || lower_ == nullptr || std::exchange(is_base_made_, true)) {
        return;
    }
    if (other_ == nullptr && before_ == nullptr) {
        damage(base_name_ + " was gone");
    }
    if (is_managed()) {
        add(model::make_vxlan{base_name_, lower_->name, wanted_.vni});
    } else {
        add(model::make_vlan{base_name_, lower_->name, static_cast<std::uint16_t>(wanted_.vni)});
    }
}

void network_planner::set_base_mtu() {
    if (std::exchange(is_base_mtu_set_, true) || (base_ != nullptr && base_->mtu == possible_mtu_)) {
        return;
    }
    damage_of_mtu(base_);
    add(model::set_mtu{base_name_, possible_mtu_});
    is_port_added_ = true;
}

void network_planner::plan_base() {
    if (lower_ == nullptr) {
        return;
    }
    make_base();
    if (auto other = base_ == nullptr ? std::string() : own_links::changeable_settings(*base_); !other.empty()) {
        damage(base_name_ + " had " + other);
        add(model::plain_vxlan{base_name_});
    }
    if (!is_managed() && (base_ == nullptr || are_settings_made_)) {
        set_of(base_name_, "disable_ipv6", "1");
    }
    const bool is_port = base_ != nullptr && bridge_ != nullptr && base_->master == bridge_->index;
    if (!is_port) {
        if (base_ != nullptr && bridge_ != nullptr) {
            damage(base_name_ + " was no port of " + bridge_name_);
        }
        add(model::set_master{base_name_, bridge_name_});
        is_port_added_ = true;
    }
    set_base_mtu();
    // A VLAN is not up while its device is down; who looks after that one brings it up, and then this is planned again.
    can_base_be_up_ = is_managed() || is_base_left_ || lower_->is_up;
    if (can_base_be_up_ && (base_ == nullptr || !base_->is_up)) {
        if (base_ != nullptr) {
            damage(base_name_ + " was down");
        }
        add(model::set_up{base_name_});
    }
}

// Where its bridge was deleted, or somebody took it out. One that is a port of another bridge by now was moved by
// somebody who knew what for.
void network_planner::put_ports_back() {
    auto& ports = plan_.next.ports;
    if (bridge_ != nullptr) {
        for (const auto* port : seen_.ports_of(bridge_->index)) {
            if (is_guest_port(*port) && !links_.is_of_host(*port)) {
                ports.emplace(port->index, port->name);
            }
        }
    }
    for (const auto& [index, name] : known_.ports) {
        const auto* port = seen_.find(index);
        const bool is_left = port != nullptr && port->name == name && port->master == 0 && is_guest_port(*port) &&
                             !links_.is_of_host(*port);
        if (is_left) {
            add(model::set_master{name, bridge_name_, index});
            is_port_added_ = true;
            ports.emplace(index, name);
            plan_.damage.push_back(fmt::format("{} was no port of {}", name, bridge_name_));
        }
    }
}

void network_planner::plan_bridge_link() {
    if (bridge_ == nullptr || is_port_added_ || bridge_->mtu != possible_mtu_) {
        if (!is_port_added_) {  // else it may follow from that
            damage_of_mtu(bridge_);
        }
        add(model::set_mtu{bridge_name_, possible_mtu_});
    }
    if (bridge_ != nullptr && bridge_->is_arp_off) {
        damage("ARP was off on " + bridge_name_);
        add(model::set_arp_on{bridge_name_});
    }
    if (bridge_ == nullptr || !bridge_->is_up) {
        if (bridge_ != nullptr) {
            damage("bridge " + bridge_name_ + " was down");
        }
        add(model::set_up{bridge_name_});
    }
    if (are_settings_made_) {
        add(model::tx_checksum_off{bridge_name_});
    }
}

// What the record is to say of them. What is made now has no index yet.
void network_planner::note_bases() {
    if (base_ != nullptr) {
        const auto* known = links_.recorded(*base_);
        plan_.bases[base_name_] = {base_->index,
                                   known != nullptr ? known->is_own : links_.is_own_base(*base_, wanted_.vni)};
    } else if (lower_ != nullptr) {
        plan_.bases[base_name_] = {};
    }
}

// The gateways of a managed network are the primary's alone; what a bridge took from an advertisement of one, before
// its settings were made, would stay for as long as it was said to be good.
void network_planner::drop_learnt_addresses() {
    if (bridge_ == nullptr || !is_managed()) {
        return;
    }
    for (const auto& one : seen_.addresses_of(bridge_->index)) {
        const auto& address = one.address.address;
        if (address.is_v6() && !one.is_permanent && one.is_global() && !address.to_v6().is_link_local()) {
            add(model::remove_address{bridge_name_, one.address});
        }
    }
}

}  // namespace

network_plan plan_network(const model::client_network& wanted, const config::node_config& config,
                          const model::network_state& seen, const network_memory& known, const whose_links& whose) {
    return network_planner(wanted, config, seen, known, whose).make();
}

}  // namespace pvc::policy
