#include "sim/zookeeper/memory_ensemble.hpp"

#include "pvcnoded/base/assert.hpp"
#include "sim/zookeeper/memory_connection.hpp"

namespace pvc::sim {

namespace {

using kind = zookeeper::operation::kind;

recorded_kind recorded(kind what) {
    switch (what) {
        case kind::create: return recorded_kind::create;
        case kind::set: return recorded_kind::set;
        case kind::remove: return recorded_kind::remove;
        case kind::check: break;
    }
    return recorded_kind::check;
}

}  // namespace

std::string_view to_text(recorded_kind kind) {
    switch (kind) {
        case recorded_kind::create: return "create";
        case recorded_kind::set: return "set";
        case recorded_kind::remove: return "remove";
        case recorded_kind::check: return "check";
        case recorded_kind::open_session: return "open session";
        case recorded_kind::close_session: return "close session";
        case recorded_kind::expire_session: return "expire session";
    }
    return "unknown";
}

std::string recorded_change::text() const {
    std::string out(to_text(what));
    if (!path.empty()) {
        out += ' ' + path;
    }
    if (what == recorded_kind::create || what == recorded_kind::set) {
        out += " = " + data;
    }
    return out;
}

memory_ensemble::memory_ensemble(async::timers& clock, ensemble_settings settings)
    : clock_(clock), settings_(settings) {}

memory_ensemble::~memory_ensemble() {
    for (const auto& one : connections()) {
        one->ensemble_gone();
    }
    for (memory_link* link : links_) {
        link->ensemble_gone();
    }
}

std::optional<std::string> memory_ensemble::get(std::string_view path) const {
    const auto* found = tree_.find(path);
    return found == nullptr ? std::nullopt : std::optional(found->data);
}

std::optional<zookeeper::node_stat> memory_ensemble::exists(std::string_view path) const {
    const auto* found = tree_.find(path);
    return found == nullptr ? std::nullopt : std::optional(found->stat());
}

std::vector<std::string> memory_ensemble::children(std::string_view path) const {
    const auto* found = tree_.find(path);
    return found == nullptr ? std::vector<std::string>()
                            : std::vector<std::string>(found->children.begin(), found->children.end());
}

result<zookeeper::node_stat> memory_ensemble::set(const std::string& path, const std::string& data,
                                                  std::int32_t version, std::int64_t session) {
    std::vector<tree_change> writes;
    writes.push_back({kind::set, path, data, version});  // a list would copy it once more
    if (auto done = write(session, writes); !done) {
        return std::move(done).error();
    }
    return writes.front().stat;
}

result<std::string> memory_ensemble::create(const std::string& path, const std::string& data,
                                            zookeeper::create_mode mode, std::int64_t session) {
    const bool is_ephemeral = mode != zookeeper::create_mode::persistent;
    PVC_ASSERT(!is_ephemeral || has_session(session));
    std::vector<tree_change> writes{{kind::create, path, data, zookeeper::any_version,
                                     mode == zookeeper::create_mode::ephemeral_sequential, is_ephemeral ? session : 0}};
    if (auto done = write(session, writes); !done) {
        return std::move(done).error();
    }
    return std::move(writes.front().path);
}

result<void> memory_ensemble::remove(const std::string& path, std::int32_t version, std::int64_t session) {
    std::vector<tree_change> writes{{kind::remove, path, {}, version}};
    return write(session, writes);
}

result<void> memory_ensemble::commit(const zookeeper::transaction& what, std::int64_t session) {
    std::vector<tree_change> writes;
    for (const auto& one : what.operations()) {
        writes.push_back({one.what, one.path, one.data, one.version});
    }
    return write(session, writes);
}

void memory_ensemble::put(const std::string& path, const std::string& data) {
    if (tree_.find(path) != nullptr) {
        PVC_ASSERT(set(path, data));
        return;
    }
    const std::string parent(parent_of(path));
    if (tree_.find(parent) == nullptr) {
        put(parent, "");
    }
    PVC_ASSERT(create(path, data));
}

void memory_ensemble::put(const std::map<std::string, std::string>& values) {
    for (const auto& [path, data] : values) {
        put(path, data);
    }
}

void memory_ensemble::remove_tree(const std::string& path) {
    for (const auto& name : children(path)) {
        remove_tree(path == "/" ? path + name : path + '/' + name);
    }
    if (tree_.find(path) != nullptr && path != "/") {
        PVC_ASSERT(remove(path));
    }
}

// --- sessions
// ---------------------------------------------------------------------------------------------------------

std::int64_t memory_ensemble::open_session(std::optional<duration> timeout) {
    return add_session(timeout).id;
}

memory_ensemble::session& memory_ensemble::add_session(std::optional<duration> timeout, std::uint32_t owner) {
    auto fresh = std::make_unique<session>(clock_);
    fresh->id = ++last_session_;
    fresh->owner = owner;
    fresh->timeout = timeout;
    session& out = *fresh;
    sessions_.emplace(out.id, std::move(fresh));
    tree_.advance(tree_.zxid() + 1);
    owners_[out.id] = owner;
    record({clock_.now(), tree_.zxid(), out.id, recorded_kind::open_session, {}, {}, false, {}, owner});
    touch(out);
    watch_over(out);
    return out;
}

memory_ensemble::session* memory_ensemble::find_session(std::int64_t id) {
    const auto at = sessions_.find(id);
    return at == sessions_.end() ? nullptr : at->second.get();
}

void memory_ensemble::touch(session& one) {
    one.heard = clock_.now();
}

void memory_ensemble::watch_over(session& one) {
    if (!one.timeout) {
        return;
    }
    one.expiry.arm(one.heard + *one.timeout, [this, id = one.id] {
        session* found = find_session(id);
        if (found == nullptr || is_frozen_ || !is_up_) {
            return;  // thaw() and start() come back to it
        }
        if (found->heard + *found->timeout <= clock_.now()) {
            end_session(id, recorded_kind::expire_session);
        } else {
            watch_over(*found);
        }
    });
}

void memory_ensemble::end_session(std::int64_t id, recorded_kind how) {
    const auto at = sessions_.find(id);
    if (at == sessions_.end()) {
        return;
    }
    const auto ended = std::move(at->second);
    sessions_.erase(at);
    ended->expiry.disarm();
    std::vector<tree_change> removals;
    for (const auto& path : ended->ephemerals) {
        removals.push_back({kind::remove, path, {}, zookeeper::any_version});
    }
    const auto removed = write(id, removals);
    PVC_ASSERT(removed);
    record({clock_.now(), tree_.zxid(), id, how, {}, {}, false, {}, ended->owner});
    owners_.erase(id);
    if (auto connection = ended->connection.lock()) {
        connection->break_now(in_flight::lost, "connection lost");
    }
}

void memory_ensemble::close_session(std::int64_t id) {
    end_session(id, recorded_kind::close_session);
}

void memory_ensemble::expire_session(std::int64_t id) {
    end_session(id, recorded_kind::expire_session);
}

std::vector<std::int64_t> memory_ensemble::sessions() const {
    std::vector<std::int64_t> out;
    for (const auto& [id, one] : sessions_) {
        out.push_back(id);
    }
    return out;
}

// --- faults
// -----------------------------------------------------------------------------------------------------------

void memory_ensemble::stop() {
    is_up_ = false;
    for (const auto& one : connections()) {
        one->break_now(in_flight::lost, "connection lost");
    }
}

void memory_ensemble::start() {
    is_up_ = true;
    up_since_ = clock_.now();
    for (const auto& [id, one] : sessions_) {
        touch(*one);
        watch_over(*one);
    }
}

void memory_ensemble::freeze() {
    is_frozen_ = true;
}

void memory_ensemble::thaw() {
    is_frozen_ = false;
    up_since_ = clock_.now();
    for (const std::int64_t id : sessions()) {
        session* one = find_session(id);
        if (one != nullptr && one->timeout && one->heard + *one->timeout <= clock_.now()) {
            end_session(id, recorded_kind::expire_session);
        } else if (one != nullptr) {
            watch_over(*one);
        }
    }
    for (const auto& one : connections()) {
        one->flow();
    }
}

// --- writes and what they leave behind
// --------------------------------------------------------------------------------

result<void> memory_ensemble::write(std::int64_t by, std::vector<tree_change>& writes) {
    for (memory_link* link : links_) {
        link->before_write();
    }
    const std::int64_t zxid = tree_.zxid() + 1;
    auto done = tree_.apply(zxid, server_time(), writes);
    if (!done) {
        return done;
    }
    const auto writer = owners_.find(by);
    const std::uint32_t owner_of_writer = writer == owners_.end() ? 0 : writer->second;
    for (auto& one : writes) {
        session* owner = one.ephemeral_owner == 0 ? nullptr : find_session(one.ephemeral_owner);
        if (owner != nullptr && one.what == kind::create) {
            owner->ephemerals.insert(one.path);
        } else if (owner != nullptr && one.what == kind::remove) {
            owner->ephemerals.erase(one.path);
        }
        // Of the many checks of a heartbeat only those of locks and of machines are of interest to an observer.
        const bool is_dull = one.what == kind::check && !keeps_trace_ && one.path.find("lock__") == std::string::npos &&
                             !one.path.starts_with("/domains/");
        if (is_dull) {
            continue;
        }
        told_.when = clock_.now();
        told_.zxid = zxid;
        told_.session = by;
        told_.what = recorded(one.what);
        told_.is_ephemeral = one.ephemeral_owner != 0;
        told_.expected = one.version;
        told_.owner = owner_of_writer;
        told_.path.swap(one.path);
        told_.data.swap(one.data);
        record(told_);
        told_.path.swap(one.path);
        told_.data.swap(one.data);
    }
    const bool may_fire = is_watched(writes);
    for (memory_link* link : links_) {
        link->after_write(zxid, writes, may_fire);
    }
    return {};
}

bool memory_ensemble::is_watched(const std::vector<tree_change>& changes) const {
    for (const auto& one : changes) {
        if (one.what == kind::check) {
            continue;
        }
        if (watched_.contains(one.path) || (one.what != kind::set && watched_.contains(parent_of(one.path)))) {
            return true;
        }
    }
    return false;
}

void memory_ensemble::record(const recorded_change& change) {
    for (const auto& observer : observers_) {
        observer(change);
    }
    if (keeps_trace_) {
        trace_.push_back(change);
    }
}

std::vector<recorded_change> memory_ensemble::trace_of(std::int64_t session) const {
    std::vector<recorded_change> out;
    for (const auto& one : trace_) {
        if (one.session == session) {
            out.push_back(one);
        }
    }
    return out;
}

std::vector<std::shared_ptr<memory_connection>> memory_ensemble::connections() {
    std::vector<std::shared_ptr<memory_connection>> out;
    std::erase_if(connections_, [&out](const auto& weak) {
        auto one = weak.lock();
        if (one) {
            out.push_back(one);
        }
        return !one;
    });
    return out;
}

std::size_t memory_ensemble::watches(std::string_view path) const {
    std::size_t count = 0;
    for (const auto& weak : connections_) {
        if (const auto one = weak.lock()) {
            count += one->watches(path);
        }
    }
    return count;
}

}  // namespace pvc::sim
