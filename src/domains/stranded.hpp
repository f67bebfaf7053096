// A receiver whose sender will never send: looked for among the answers of all nodes, and taken back. The decision is
// policy::follow. Specification: README ruling 30, vm-domains.md 8.4 (R6).
#pragma once

#include "operations/operation.hpp"
#include "pvcnoded/policy/domains/stranded_migration.hpp"

#include <string>
#include <vector>

namespace pvc::domains {

class stranded_search {
public:
    explicit stranded_search(operation& op) : op_(op) {}

    // After everybody was asked. True: the migration was taken back, nobody is waited for any more.
    async::awaitable<bool> look(std::vector<policy::holding_node> nodes);

private:
    // Who contends for the locks of the migration, and when one of its keys was written last. Empty: it cannot be read.
    async::awaitable<std::optional<policy::stranded_look>> read_keys();
    async::awaitable<result<void>> take_back();

    operation& op_;
    policy::stranded_sender sender_;
    bool is_taken_back_ = false;
};

}  // namespace pvc::domains
