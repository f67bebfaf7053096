// The record of a migration on this host's disk: written, read by the daemon after this one, tidied up.
#include "manager.hpp"
#include "operations/holder.hpp"
#include "operations/migration.hpp"

namespace pvc::domains {

namespace {

constexpr unsigned directory_mode = 0755;

std::string directory_of(const core::node_context& node) {
    return node.config->directories.dynamic + "/migrations";
}

std::string path_of(const core::node_context& node, const uuid& id) {
    return directory_of(node) + "/" + to_text(id);
}

}  // namespace

async::awaitable<void> migration_records::carry_out(uuid id, std::optional<std::string> text) {
    if (!text) {
        auto removed = co_await node_.port.host.remove_file(path_of(node_, id));
        ignore(removed, "an old record names another state and changes nothing");
        co_return;
    }
    auto made = co_await node_.port.host.make_directory(directory_of(node_), directory_mode, "");
    ignore(made, "writing the file says what is wrong");
    auto written = co_await node_.port.host.replace_file(path_of(node_, id), std::move(*text));
    if (!written) {
        node_.log.warning(message::migration_record,
                          "the record of its migration on disk was not written: " + written.error().text(),
                          to_text(id));
    }
}

async::awaitable<void> migration_records::run() {
    for (;;) {
        while (pending_.empty()) {
            co_await work_.wait(async::wait_note::work("records of migrations"));
        }
        const auto [id, wanted] = *pending_.begin();
        co_await carry_out(id, wanted.text);
        const auto found = pending_.find(id);
        if (found != pending_.end() && found->second.number == wanted.number) {
            pending_.erase(found);
        }
    }
}

void write_journal(operation& op, std::string_view role, std::string peer, std::string_view step) {
    op.here.migration.has_record = true;
    op.records.write(op.id, {std::string(role), std::move(peer), op.row.created, op.row.state_changed,
                             std::string(step), policy::previous_last_node(seen_of(op), op.here.migration)});
}

void remove_journal(operation& op) {
    op.here.migration.has_record = false;
    op.records.remove(op.id);
}

std::optional<policy::journal_entry> read_journal(const core::node_context& node, const uuid& id) {
    auto text = node.port.host.read_file(path_of(node, id));
    return text ? policy::parse_journal(*text) : std::nullopt;
}

// A daemon of this node that died in the middle of a migration left a note.
void manager::note_journal(domain_row& row) {
    local_domain& here = *row.here;
    if (std::exchange(here.migration.has_read_journal, true) || !policy::is_migration(row.state) ||
        row.stable.known()) {
        return;
    }
    const auto entry = read_journal(node, row.id);
    if (entry && policy::is_of_this_migration(*entry, seen_of(parts, row))) {
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
    const auto names = parts.node.port.host.list_files(directory_of(parts.node));
    std::vector<uuid> ids;
    for (const auto& name : names ? *names : std::vector<std::string>{}) {
        if (const auto id = parse_uuid(name)) {
            ids.push_back(*id);
        }
    }
    for (const auto& id : ids) {
        const auto entry = read_journal(parts.node, id);
        domain_row* row = parts.table.find(id);
        if (entry && row != nullptr && policy::was_going_off(*entry, seen_of(parts, *row))) {
            // It ended as it should, and nobody was told: the tables hand it over (8.6, "dies in S8").
            if (!row->here) {
                row->here = std::make_unique<local_domain>(*row);
            }
            row->here->migration.was_going_off = true;
            row->here->migration.has_record = true;
            parts.table.mark(*row);
            continue;
        }
        if (entry && row != nullptr && policy::may_be_handed_over(*entry, seen_of(parts, *row))) {
            if (!row->here) {
                row->here = std::make_unique<local_domain>(*row);
            }
            row->here->migration.has_record = true;
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
        parts.records.remove(id);
    }
}

}  // namespace pvc::domains
