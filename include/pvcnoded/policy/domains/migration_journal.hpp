// What a daemon notes on its own disk of a migration that it takes part in, so that the daemon after it knows which
// side it was. One line: "1 <role> <peer> <czxid> <mzxid of state> <step> <previous lastnode>". A hint only: missing or
// garbled changes nothing but a wait.
#pragma once

#include "pvcnoded/policy/domains/domain_seen.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pvc::policy {

struct journal_entry {
    std::string role;  // sender, receiver
    std::string peer;
    std::int64_t created = 0;        // czxid of the domain
    std::int64_t state_changed = 0;  // mzxid of its `state`
    std::string step;
    std::string last_node;

    friend bool operator==(const journal_entry&, const journal_entry&) = default;
};
[[nodiscard]] std::string to_text(const journal_entry& entry);
[[nodiscard]] std::optional<journal_entry> parse_journal(std::string_view text);

// What the record of a daemon before this one says about the domain as it is seen now.
// It was taking part in this very migration.
[[nodiscard]] bool is_of_this_migration(const journal_entry& entry, const domain_seen& seen);
// It died while it shut the guest down to move it, and the guest is off by now (8.6, "dies in S8").
[[nodiscard]] bool was_going_off(const journal_entry& entry, const domain_seen& seen);
// The same when it had just handed the guest over, or its session ended then: the tables see to what became of it.
[[nodiscard]] bool may_be_handed_over(const journal_entry& entry, const domain_seen& seen);
// It sent what stands here, half as it is, and somebody has given it to this node again, to run.
[[nodiscard]] bool may_be_given_back(const journal_entry& entry, const domain_seen& seen);
// A migration of it goes on here, or will.
[[nodiscard]] bool needs_record(const domain_seen& seen);

}  // namespace pvc::policy
