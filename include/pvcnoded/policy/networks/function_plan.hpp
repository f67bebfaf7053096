// Virtual functions of network cards: what is to be made of a card at the start, which keys its functions get, what
// their keys want of the driver, and where that differs from what the driver shows. Pure.
//
// Keys lead and the driver follows: once a function has its keys nothing of what the driver shows is ever written back
// into them. Specification: networking.md 4.1 to 4.3 (cases 13 to 20, 100); zookeeper-schema.md 6.3.
#pragma once

#include "pvcnoded/config/node_config.hpp"
#include "pvcnoded/model/key_value.hpp"
#include "pvcnoded/model/network_change.hpp"
#include "pvcnoded/model/virtual_functions.hpp"
#include "pvcnoded/policy/networks/host_plan.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace pvc::policy {

// ---- 4.1: at the start

struct card_preparation {
    std::optional<int> functions;  // to be made
    std::vector<network_remark> remarks;
};
// `now`: how many functions the card has; a failure: it cannot be said (not_found: it has no such thing as functions).
[[nodiscard]] card_preparation prepare_card(const config::sriov_device& card, const result<int>& now);
// What follows: the size of the card's frames, if one is configured.
[[nodiscard]] std::vector<model::network_change> changes_of_card(const config::sriov_device& card);

// ---- 4.2: keys

// Where they are: `root` is "/nodes/<node>/sriov".
[[nodiscard]] std::string card_path(const std::string& root, const std::string& card);
[[nodiscard]] std::string function_path(const std::string& root, const std::string& function);

// The three keys of a card, its own one first.
[[nodiscard]] std::vector<model::key_value> keys_of_card(const std::string& root, const config::sriov_device& card,
                                                         const model::physical_function& seen);
// All keys of a function, parents before children. Empty: it has no address on the PCI bus that could be found.
[[nodiscard]] std::vector<model::key_value> keys_of_function(const std::string& root, const config::sriov_device& card,
                                                             const model::physical_function& seen,
                                                             const model::virtual_function& function);

[[nodiscard]] bool is_configured(const config::node_config& config, std::string_view card);
// A function whose card is not configured (any more). `card`: what its key `pf` says; where there is no such key, its
// name tells.
[[nodiscard]] bool is_obsolete(const config::node_config& config, const std::string& function,
                               const std::optional<std::string>& card);

// ---- 4.3: settings

// What is stored below `config`; empty: there is no such key.
struct function_keys {
    std::optional<std::string> vlan_id;
    std::optional<std::string> vlan_qos;
    std::optional<std::string> tx_rate_min;
    std::optional<std::string> tx_rate_max;
    std::optional<std::string> spoof_check;
    std::optional<std::string> link_state;
    std::optional<std::string> trust;
    std::optional<std::string> query_rss;
};
struct wanted_function {
    std::vector<model::function_setting> settings;  // one of a kind; what cannot be used is left out
    std::vector<std::string> remarks;               // each with its key
};
[[nodiscard]] wanted_function parse_function(const std::string& path, const function_keys& stored);

// What was done to a function, by kind of setting: a driver need not show what it was given, and is not asked for it
// again and again then.
class function_memory {
public:
    void applied(const model::function_setting& what);
    // A look after that.
    void seen(const model::virtual_function& function);
    [[nodiscard]] bool needs(const model::function_setting& wanted, const model::virtual_function& function) const;
    // Whether what is wanted was there, and is no more: somebody else changed it.
    [[nodiscard]] bool was_applied(const model::function_setting& wanted) const;

private:
    struct entry {
        model::function_setting value;
        bool is_seen = false;
        std::optional<model::function_setting> shown;  // by the first look after
    };
    std::map<std::size_t, entry> entries_;
};

// What the driver shows of that kind of setting.
[[nodiscard]] std::optional<model::function_setting> shown_of(const model::virtual_function& function,
                                                              const model::function_setting& kind);
// What has to be set, in order: where a smaller rate is raised, the limit comes first.
[[nodiscard]] std::vector<model::function_setting> plan_function(const wanted_function& wanted,
                                                                 const model::virtual_function& function,
                                                                 const function_memory& known);
// What a driver that does not have that setting does by itself: off, none, no limit, auto.
[[nodiscard]] bool is_plain(const model::function_setting& setting);

}  // namespace pvc::policy
