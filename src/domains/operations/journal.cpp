// The record of a migration on this host's disk: written, read by the daemon after this one, tidied up.
#include "manager.hpp"
#include "operations/holder.hpp"
#include "operations/migration.hpp"

namespace pvc::domains {

void write_journal(operation& op, std::string_view role, std::string peer, std::string_view step) {
    op.here.migration.has_record = true;
    op.migration_records.write(
        op.id, policy::to_text({std::string(role), std::move(peer), op.row.created, op.row.state_changed,
                                std::string(step), policy::previous_last_node(seen_of(op), op.here.migration)}));
}

void remove_journal(operation& op) {
    op.here.migration.has_record = false;
    op.migration_records.remove(op.id);
}

std::optional<policy::journal_entry> read_journal(const disk_records& records, const uuid& id) {
    const auto text = records.read(id);
    return text ? policy::parse_journal(*text) : std::nullopt;
}

// A daemon of this node that died in the middle of a migration left a note.
void manager::note_journal(domain_row& row) {
    local_domain& here = *row.here;
    const auto guest = observed.class_of(row.id);
    const bool is_migrating = policy::is_migration(row.state) && !row.stable.known();
    if (here.migration.has_read_journal || (!is_migrating && !guest)) {
        return;  // what half of it would be is known once its guest is
    }
    here.migration.has_read_journal = true;
    if (!is_migrating && guest != model::guest_class::incoming) {
        return;
    }
    const auto entry = read_journal(migration_records, row.id);
    const auto seen = seen_of(parts, row);
    if (entry && !is_migrating && policy::may_be_given_back(*entry, seen)) {
        here.migration.is_sent_by_us = true;
        here.migration.sent_to = entry->peer;
        node.log.info(
            "what stands here of it was sent to node " + shown(entry->peer) + " by the daemon before this one",
            shown(here.name));
    }
    if (entry && is_migrating && policy::is_of_this_migration(*entry, seen)) {
        here.migration.is_sent_by_us = entry->role == "sender";
        here.migration.sent_to = here.migration.is_sent_by_us ? entry->peer : "";
        here.migration.noted_last_node = entry->last_node;
        node.log.info("its migration was under way when the daemon before this one ended", shown(here.name));
    }
}

namespace {

// The receiver's mark in ZooKeeper, unless it is in use again.
async::awaitable<void> tidy_sync_value(core::session& s, const uuid& id) {
    const std::string key = model::domain_path(to_text(id), model::domain_key::migrate_sync_lock);
    auto stored = co_await s.zk.get(s.limit(), key);
    if (stored && stored->data == to_text(id)) {
        zookeeper::transaction what;
        what.set(key, "", stored->stat.version);
        auto done = co_await s.zk.commit(s.limit(), std::move(what));
        ignore(done, "a mark that nobody uses only looks untidy");
    }
}

}  // namespace

async::awaitable<void> tidy_journals(domain_parts& parts, core::session& s) {
    for (const auto& id : parts.migration_records.stored()) {
        const auto entry = read_journal(parts.migration_records, id);
        domain_row* row = parts.table.find(id);
        if (entry && row != nullptr && policy::was_going_off(*entry, seen_of(parts, *row))) {
            // It ended as it should, and nobody was told: the tables hand it over (8.6, "dies in S8").
            local_domain& here = parts.table.keep_here(*row);
            here.migration.was_going_off = true;
            here.migration.has_record = true;
            parts.table.mark(*row);
            continue;
        }
        if (entry && row != nullptr && policy::may_be_handed_over(*entry, seen_of(parts, *row))) {
            parts.table.keep_here(*row).migration.has_record = true;
            auto read = co_await parts.table.read(*row);
            row = parts.table.find(id);
            if (!read || (row != nullptr && row->here && row->here->is_handed_over)) {
                continue;
            }
        }
        if (!entry || row == nullptr || policy::needs_record(seen_of(parts, *row))) {
            continue;
        }
        if (entry->role == "receiver" && entry->created == row->created && !policy::is_migration(row->state)) {
            co_await tidy_sync_value(s, id);
        }
        parts.migration_records.remove(id);
    }
}

}  // namespace pvc::domains
