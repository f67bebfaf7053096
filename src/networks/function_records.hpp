// The keys of cards and virtual functions below this node's entry, as far as this node writes them: each in one
// transaction that does nothing where somebody else was there first. Lives as long as its session.
// Specification: networking.md 4.2, 4.4; zookeeper-schema.md 6.3.
#pragma once

#include "function_cards.hpp"
#include "pvcnoded/core/session.hpp"
#include "pvcnoded/policy/networks/function_use.hpp"

#include <set>
#include <string>
#include <vector>

namespace pvc::networks {

class function_records {
public:
    // Both outlive it.
    function_records(core::session& s, function_cards& cards) : session_(s), cards_(cards) {}

    // Enters what is not there yet, and brings cards up to date once in a session. `known`: what there is now.
    struct present {
        std::vector<std::string> cards;
        std::map<std::string, std::optional<std::string>> functions;  // with the card that its key says
    };
    async::awaitable<void> settle(present known);
    [[nodiscard]] std::optional<time_point> next_try() const { return pause_.until(); }

    // Frees a function, or gives it to the machine that has it, unless anything that this rests on was written since.
    // False: to be tried again.
    async::awaitable<bool> change_user(policy::function_change what);

private:
    async::awaitable<result<void>> settle_all(present known);
    async::awaitable<result<void>> write_card(config::sriov_device card);
    async::awaitable<result<void>> create_all(std::vector<model::key_value> keys);
    async::awaitable<result<void>> remove(std::string path);
    async::awaitable<result<std::vector<std::string>>> paths_below(std::string path);
    async::awaitable<result<void>> change_user_now(policy::function_change what);
    // Adds checks that the keys of that machine are what was seen.
    async::awaitable<result<void>> guard(zookeeper::transaction& write, policy::function_change::guard machine,
                                         bool with_xml);
    // That the user does not exist; else already_exists, or why it cannot be said.
    async::awaitable<result<void>> prove_absent(std::string used_by);
    [[nodiscard]] std::string root() const;

    core::session& session_;
    function_cards& cards_;
    std::set<std::string> written_;  // cards, in this session
    retry_pause pause_;
};

}  // namespace pvc::networks
