// What a daemon notes on its own disk of a migration that it takes part in, so that the daemon after it knows which
// side it was. One line: "1 <role> <peer> <czxid> <mzxid of state> <step> <previous lastnode>". A hint only: missing or
// garbled changes nothing but a wait.
#pragma once

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

}  // namespace pvc::policy
