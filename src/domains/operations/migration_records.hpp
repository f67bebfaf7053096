// The records of migrations on this host's disk, written behind the operations' backs: a disk that hangs holds up no
// domain. Of each domain only the newest wish counts; what a session leaves undone is done in the next.
#pragma once

#include "pvcnoded/async/wakeup.hpp"
#include "pvcnoded/base/uuid.hpp"
#include "pvcnoded/core/node_context.hpp"
#include "pvcnoded/policy/domains/migration_journal.hpp"

#include <map>
#include <optional>
#include <string>

namespace pvc::domains {

class migration_records {
public:
    explicit migration_records(core::node_context& node) : node_(node) {}

    void write(const uuid& id, const policy::journal_entry& entry) { wish(id, policy::to_text(entry)); }
    void remove(const uuid& id) { wish(id, std::nullopt); }
    // One after another, until cancelled.
    async::awaitable<void> run();

private:
    struct pending {
        std::optional<std::string> text;  // none: removed
        std::uint64_t number = 0;
    };
    void wish(const uuid& id, std::optional<std::string> text) {
        pending_[id] = {std::move(text), ++last_number_};
        work_.notify();
    }
    async::awaitable<void> carry_out(uuid id, std::optional<std::string> text);

    core::node_context& node_;
    std::map<uuid, pending> pending_;
    std::uint64_t last_number_ = 0;
    async::wakeup work_;
};

}  // namespace pvc::domains
