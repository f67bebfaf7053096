#include "pvcnoded/policy/networks/function_plan.hpp"

#include "pvcnoded/base/text.hpp"
#include "pvcnoded/model/scalar.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace pvc::policy {

namespace {

constexpr std::int64_t vlan_max = 4094;
constexpr std::int64_t qos_max = 7;
constexpr std::int64_t rate_max = 4'294'967'295;

std::string switch_text(std::optional<bool> reported) {
    return std::string(model::boolean_text(reported.value_or(false)));
}

// Of one key each; what is wrong is said, and leaves its setting out.
class reader {
public:
    reader(const std::string& path, std::vector<std::string>& remarks) : path_(path), remarks_(remarks) {}

    std::optional<std::uint32_t> number(std::string_view key, const std::optional<std::string>& stored,
                                        std::int64_t most) const {
        const auto value = stored ? parse_integer(*stored) : std::optional<std::int64_t>(0);
        if (value && *value >= 0 && *value <= most && (!stored || stored->front() != '+')) {
            return static_cast<std::uint32_t>(*value);
        }
        say(key, fmt::format("a number from 0 to {}", most), *stored);
        return std::nullopt;
    }
    static bool is_on(const std::optional<std::string>& stored) { return stored == "True"; }
    std::optional<model::function_link> link(const std::optional<std::string>& stored) const {
        const auto value = model::parse_function_link(stored.value_or("auto"));
        if (!value) {
            say("link_state", "auto, enable or disable", *stored);
        }
        return value;
    }
    void say(std::string_view key, std::string_view expected, std::string_view got) const {
        remarks_.push_back(
            fmt::format("{}/config/{}: expected {}, got `{}`: it is not applied", path_, key, expected, shown(got)));
    }

private:
    const std::string& path_;
    std::vector<std::string>& remarks_;
};

std::string mtu_text(const config::sriov_device& card, const model::physical_function& seen) {
    return std::to_string(card.mtu.value_or(seen.mtu));
}

}  // namespace

card_preparation prepare_card(const config::sriov_device& card, const result<int>& now) {
    card_preparation plan;
    if (!now) {
        const bool is_missing = now.error().code() == errc::not_found;
        plan.remarks.push_back({message::sriov_card, false,
                                is_missing
                                    ? card.phy + ": there is no such network card, or it does not support SR-IOV"
                                    : card.phy + ": its virtual functions cannot be counted: " + now.error().text()});
    } else if (card.vf_count && *now == 0 && *card.vf_count != 0) {
        plan.functions = card.vf_count;
    } else if (card.vf_count && *now != *card.vf_count) {
        plan.remarks.push_back(
            {message::sriov_count, false,
             fmt::format("{} has {} virtual functions, and not the {} of vfcount: they stay as they are, as machines "
                         "may use them",
                         card.phy, *now, *card.vf_count)});
    }
    return plan;
}

std::vector<model::network_change> changes_of_card(const config::sriov_device& card) {
    if (!card.mtu) {
        return {};
    }
    return {model::set_mtu{card.phy, *card.mtu}, model::set_up{card.phy}};
}

std::string card_path(const std::string& root, const std::string& card) {
    return root + "/pf/" + card;
}

std::string function_path(const std::string& root, const std::string& function) {
    return root + "/vf/" + function;
}

std::vector<model::key_value> keys_of_card(const std::string& root, const config::sriov_device& card,
                                           const model::physical_function& seen) {
    const std::string path = card_path(root, card.phy);
    const auto count = card.vf_count.value_or(static_cast<int>(seen.functions.size()));
    return {{path, ""}, {path + "/mtu", mtu_text(card, seen)}, {path + "/vfcount", std::to_string(count)}};
}

std::vector<model::key_value> keys_of_function(const std::string& root, const config::sriov_device& card,
                                               const model::physical_function& seen,
                                               const model::virtual_function& function) {
    const auto pci = model::parse_pci_address(function.pci);
    if (!pci) {
        return {};
    }
    const std::string path = function_path(root, model::to_text(model::function_name{card.phy, function.index}));
    const auto vlan = function.vlan.value_or(model::function_vlan());
    const auto rate = function.rate.value_or(model::function_rate());
    const auto link = function.link_state.value_or(model::function_link::automatic);
    return {{path, ""},
            {path + "/pf", card.phy},
            {path + "/mtu", mtu_text(card, seen)},
            {path + "/mac", function.mac},
            {path + "/phy_mac", function.mac},
            {path + "/config", ""},
            {path + "/config/vlan_id", std::to_string(vlan.id)},
            {path + "/config/vlan_qos", std::to_string(vlan.qos)},
            {path + "/config/tx_rate_min", std::to_string(rate.min)},
            {path + "/config/tx_rate_max", std::to_string(rate.max)},
            {path + "/config/spoof_check", switch_text(function.spoof_check)},
            {path + "/config/link_state", std::string(model::to_text(link))},
            {path + "/config/trust", switch_text(function.trust)},
            {path + "/config/query_rss", switch_text(function.query_rss)},
            {path + "/pci", ""},
            {path + "/pci/domain", pci->domain},
            {path + "/pci/bus", pci->bus},
            {path + "/pci/slot", pci->slot},
            {path + "/pci/function", pci->function},
            {path + "/used", std::string(model::boolean_text(false))},
            {path + "/used_by", ""}};
}

bool is_configured(const config::node_config& config, std::string_view card) {
    return std::ranges::find(config.sriov.devices, card, &config::sriov_device::phy) != config.sriov.devices.end();
}

bool is_obsolete(const config::node_config& config, const std::string& function,
                 const std::optional<std::string>& card) {
    if (card) {
        return !is_configured(config, *card);
    }
    const auto name = model::parse_function_name(function);
    return !name || !is_configured(config, name->card);
}

wanted_function parse_function(const std::string& path, const function_keys& stored) {
    wanted_function wanted;
    const reader read(path, wanted.remarks);
    const auto vlan = read.number("vlan_id", stored.vlan_id, vlan_max);
    const auto qos = read.number("vlan_qos", stored.vlan_qos, qos_max);
    if (vlan && qos) {
        wanted.settings.emplace_back(model::function_vlan{*vlan, *qos});
    }
    const auto least = read.number("tx_rate_min", stored.tx_rate_min, rate_max);
    const auto most = read.number("tx_rate_max", stored.tx_rate_max, rate_max);
    if (least && most && *most != 0 && *least > *most) {
        read.say("tx_rate_min", fmt::format("at most tx_rate_max, which is {}", *most), std::to_string(*least));
    } else if (least && most) {
        wanted.settings.emplace_back(model::function_rate{*least, *most});
    }
    wanted.settings.emplace_back(model::function_spoof_check{reader::is_on(stored.spoof_check)});
    if (const auto link = read.link(stored.link_state)) {
        wanted.settings.emplace_back(*link);
    }
    wanted.settings.emplace_back(model::function_trust{reader::is_on(stored.trust)});
    wanted.settings.emplace_back(model::function_query_rss{reader::is_on(stored.query_rss)});
    return wanted;
}

void function_memory::applied(const model::function_setting& what) {
    entries_.insert_or_assign(what.index(), entry{what, false, {}});
}

void function_memory::seen(const model::virtual_function& function) {
    for (auto& [kind, one] : entries_) {
        if (!one.is_seen) {
            one.is_seen = true;
            one.shown = shown_of(function, one.value);
        }
    }
}

bool function_memory::was_applied(const model::function_setting& wanted) const {
    const auto found = entries_.find(wanted.index());
    return found != entries_.end() && found->second.value == wanted;
}

bool function_memory::needs(const model::function_setting& wanted, const model::virtual_function& function) const {
    const auto shown = shown_of(function, wanted);
    if (shown == wanted) {
        return false;
    }
    if (!was_applied(wanted)) {
        return true;
    }
    const auto& one = entries_.at(wanted.index());
    return one.is_seen && shown != one.shown;  // it was another one right after: somebody changed it
}

std::optional<model::function_setting> shown_of(const model::virtual_function& function,
                                                const model::function_setting& kind) {
    using setting = std::optional<model::function_setting>;
    struct shown {
        const model::virtual_function& of;
        setting operator()(const model::function_vlan& /*kind*/) const {
            return of.vlan ? setting(*of.vlan) : setting();
        }
        setting operator()(const model::function_rate& /*kind*/) const {
            return of.rate ? setting(*of.rate) : setting();
        }
        setting operator()(const model::function_spoof_check& /*kind*/) const {
            return of.spoof_check ? setting(model::function_spoof_check{*of.spoof_check}) : setting();
        }
        setting operator()(model::function_link /*kind*/) const {
            return of.link_state ? setting(*of.link_state) : setting();
        }
        setting operator()(const model::function_trust& /*kind*/) const {
            return of.trust ? setting(model::function_trust{*of.trust}) : setting();
        }
        setting operator()(const model::function_query_rss& /*kind*/) const {
            return of.query_rss ? setting(model::function_query_rss{*of.query_rss}) : setting();
        }
    };
    return std::visit(shown{function}, kind);
}

std::vector<model::function_setting> plan_function(const wanted_function& wanted,
                                                   const model::virtual_function& function,
                                                   const function_memory& known) {
    std::vector<model::function_setting> changes;
    for (const auto& one : wanted.settings) {
        if (!known.needs(one, function)) {
            continue;
        }
        if (const auto* const rate = std::get_if<model::function_rate>(&one)) {
            const auto now = function.rate.value_or(model::function_rate());
            if (rate->min > now.min && rate->max != now.max && function.rate) {
                changes.emplace_back(model::function_rate{now.min, rate->max});
            }
        }
        changes.push_back(one);
    }
    return changes;
}

bool is_plain(const model::function_setting& setting) {
    struct plain {
        bool operator()(const model::function_vlan& one) const { return one == model::function_vlan(); }
        bool operator()(const model::function_rate& one) const { return one == model::function_rate(); }
        bool operator()(model::function_link one) const { return one == model::function_link::automatic; }
        bool operator()(const model::function_spoof_check& one) const { return !one.is_on; }
        bool operator()(const model::function_trust& one) const { return !one.is_on; }
        bool operator()(const model::function_query_rss& one) const { return !one.is_on; }
    };
    return std::visit(plain{}, setting);
}

}  // namespace pvc::policy
