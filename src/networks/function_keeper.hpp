// What ZooKeeper has of this node's virtual functions: a part of the session. It follows their keys and the list of all
// machines, enters functions that have no keys yet, gives drivers what the keys say, and writes who uses them where
// nobody else does. A change is taken up 100 ms after it was seen, with all others of that time; while a key is being
// read anew, nothing is. Specification: networking.md 4.2 to 4.4.
#pragma once

#include "function_machines.hpp"
#include "function_records.hpp"
#include "pvcnoded/core/subject.hpp"
#include "pvcnoded/policy/networks/function_use.hpp"

#include <array>
#include <map>
#include <memory>
#include <string>

namespace pvc::networks {

class function_keeper final : public core::session_part {
public:
    // All outlive it.
    function_keeper(core::session& s, function_cards& cards, netlink::network_stack& stack, network_counts& counts);

    async::awaitable<void> run() override;
    async::awaitable<void> wait_loaded(time_point deadline) override;

private:
    struct watched_function {
        std::vector<std::unique_ptr<zookeeper::watched>> keys;
        // Empty: there is no such key.
        [[nodiscard]] std::optional<std::string> text(std::size_t key) const;
        [[nodiscard]] bool is_settled() const;
    };
    void follow_list();
    [[nodiscard]] bool is_settled() const;
    // All functions that are here have their keys.
    [[nodiscard]] bool is_complete() const;
    // The active schema has the keys.
    [[nodiscard]] bool has_keys() const;
    async::awaitable<void> follow();
    async::awaitable<void> follow_links();
    async::awaitable<void> pass();
    // Without machines.
    [[nodiscard]] policy::function_view view() const;
    async::awaitable<void> settle_users();
    void tell_contested();
    async::awaitable<void> write_back(std::string name, std::string stored);
    [[nodiscard]] std::optional<time_point> next_try() const;

    core::session& session_;
    function_cards& cards_;
    netlink::network_stack& stack_;
    network_counts& counts_;
    function_records records_;
    async::wakeup changed_;
    std::unique_ptr<zookeeper::watched> card_list_;
    std::unique_ptr<zookeeper::watched> function_list_;
    std::unique_ptr<zookeeper::watched> domain_list_;
    std::map<std::string, watched_function> functions_;
    function_machines machines_;
    policy::function_changes changes_;
    time_point told_{};                     // until then: what is contested
    async::latest<bool> is_loaded_{false};  // all that is here was given what its keys say, once
};

}  // namespace pvc::networks
