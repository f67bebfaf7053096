// The network cards with virtual functions of this machine, and what their drivers are asked: what is made of a card,
// what it shows, and the settings of its functions. It lives over all sessions, so that what was done to a driver that
// does not show it is not done again.
//
// A look that fails says nothing of the card: what was seen last stands. Only a kernel that says that there is no such
// card takes it away. Specification: networking.md 4.1, 4.3.
#pragma once

#include "link_work.hpp"
#include "pvcnoded/netlink/virtual_functions.hpp"
#include "pvcnoded/policy/networks/function_plan.hpp"
#include "told_remarks.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace pvc::networks {

class function_cards {
public:
    // All outlive it.
    function_cards(core::node_context& node, netlink::virtual_functions& driver, netlink::network_stack& stack,
                   network_counts& counts);

    // S3: makes the functions, before anything else is done to the links.
    async::awaitable<void> prepare();
    // Looks at the cards that are due; one that came since is prepared first.
    async::awaitable<void> look();
    // Something may have changed on this machine.
    void want_look() { is_look_wanted_ = true; }

    // Gives a function the settings that its keys say, as far as its card is here. `mtu`: of its link, once in a life.
    async::awaitable<void> settle(std::string name, std::string path, policy::function_keys stored,
                                  std::optional<std::string> mtu);
    // Those that have keys, ascending; what was known of others is forgotten.
    void keep(const std::vector<std::string>& names);

    // Null: it is not here.
    [[nodiscard]] const model::physical_function* seen(const std::string& card) const;
    [[nodiscard]] std::optional<time_point> next_try() const;
    [[nodiscard]] told_remarks& remarks() { return remarks_; }

    // A setting that is not as it shall be.
    struct difference {
        std::string function;
        std::string setting;
        std::string wanted;
        std::string seen;  // "": nothing
        std::string why;
    };
    [[nodiscard]] std::vector<difference> differences() const;
    [[nodiscard]] std::size_t functions() const { return rows_.size(); }
    [[nodiscard]] std::size_t failing() const;

private:
    struct card_row {
        bool is_prepared = false;
        bool is_due = true;  // to be looked at
        time_point looked{};
        std::optional<model::physical_function> seen;
        retry_pause pause;                         // of looks
        retry_pause setting_pause;                 // of a driver that does not answer
        std::set<std::string, std::less<>> lacks;  // settings, in words
    };
    struct function_row {
        std::optional<model::function_name> name;  // empty: the key is none of a function
        policy::wanted_function wanted;
        policy::function_memory memory;
        retry_pause pause;
        std::string trouble;
        bool has_mtu = false;
    };
    [[nodiscard]] bool is_due(const card_row& card) const;
    async::awaitable<void> prepare_one(const config::sriov_device& card);
    async::awaitable<void> look_at(const config::sriov_device& card);
    void take(const std::string& card, model::physical_function seen);
    void take_gone(const std::string& card);
    void forget_functions_of(const std::string& card, const model::physical_function* seen);
    async::awaitable<void> apply(std::string name, std::vector<model::function_setting> changes);
    // False: nothing more is asked of this driver now.
    bool take_outcome(function_row& row, const model::function_setting& setting, const result<void>& done);
    async::awaitable<void> set_mtu(std::string name, std::string mtu);
    [[nodiscard]] const model::virtual_function* function_of(const function_row& row) const;
    void tell(const std::string& name);
    void tell_lacks(const std::string& card);

    core::node_context& node_;
    netlink::virtual_functions& driver_;
    link_work work_;
    network_counts& counts_;
    told_remarks remarks_;
    std::map<std::string, card_row> cards_;
    std::map<std::string, function_row> rows_;  // by the name of the key
    bool is_look_wanted_ = false;
};

}  // namespace pvc::networks
