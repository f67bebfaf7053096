#include "sim/zookeeper/memory_tree.hpp"

#include "pvcnoded/base/assert.hpp"

#include <cstdio>

namespace pvc::sim {

using kind = zookeeper::operation::kind;

namespace {

std::string with_sequence(const std::string& path, std::int32_t sequence) {
    char digits[16];
    std::snprintf(digits, sizeof digits, "%010d", sequence);
    return path + digits;
}

// The server refuses to remove them before it looks at anything else.
bool is_the_servers_own(std::string_view path) {
    return path == "/" || path == "/zookeeper" || path == "/zookeeper/quota" || path == "/zookeeper/config";
}

}  // namespace

// Of the wall clock of all servers, as of every machine (sim_timers).
constexpr std::chrono::milliseconds first_moment = std::chrono::seconds(1'700'000'000);

std::string_view parent_of(std::string_view path) {
    const auto slash = path.rfind('/');
    return slash == 0 || slash == std::string_view::npos ? std::string_view("/") : path.substr(0, slash);
}

std::string_view last_part_of(std::string_view path) {
    return path.substr(path.rfind('/') + 1);
}

zookeeper::node_stat memory_tree::node::stat() const {
    zookeeper::node_stat out;
    out.czxid = czxid;
    out.mzxid = mzxid;
    out.pzxid = pzxid;
    out.ctime = ctime;
    out.mtime = mtime;
    out.ephemeral_owner = ephemeral_owner;
    out.version = version;
    out.child_count = static_cast<std::int32_t>(children.size());
    // The server keeps the number of creations and shows creations + removals.
    out.cversion = creations * 2 - out.child_count;
    return out;
}

memory_tree::memory_tree() {
    nodes_.emplace("/", node{});
    nodes_["/"].children.emplace("zookeeper");
    nodes_["/zookeeper"].children = {"config", "quota"};
    nodes_["/zookeeper/quota"];
    nodes_["/zookeeper/config"];
}

const memory_tree::node* memory_tree::find(std::string_view path) const {
    const auto at = nodes_.find(path);
    return at == nodes_.end() ? nullptr : &at->second;
}

memory_tree::node* memory_tree::find_mutable(std::string_view path) {
    const auto at = nodes_.find(path);
    return at == nodes_.end() ? nullptr : &at->second;
}

result<void> memory_tree::create(std::int64_t zxid, tree_change& one, std::size_t place) {
    node* parent = find_mutable(parent_of(one.path));
    if (parent == nullptr) {
        return failure(errc::not_found, one.path, "no parent");
    }
    std::string path = one.is_sequential ? with_sequence(one.path, parent->creations) : one.path;
    if (find(path) != nullptr) {
        return failure(errc::already_exists, one.path);
    }
    if (parent->ephemeral_owner != 0) {
        return failure(errc::invalid, one.path, "an ephemeral node has no children");
    }
    undo_.push_back({.place = place, .parent_pzxid = parent->pzxid});
    parent->children.emplace(last_part_of(path));
    parent->creations += 1;
    parent->pzxid = zxid;
    node fresh;
    fresh.data = one.data;
    fresh.czxid = fresh.mzxid = fresh.pzxid = zxid;
    fresh.ctime = fresh.mtime = when_;
    fresh.ephemeral_owner = one.ephemeral_owner;
    one.stat = fresh.stat();
    one.path = std::move(path);
    nodes_.emplace(one.path, std::move(fresh));
    return {};
}

result<void> memory_tree::remove(std::int64_t zxid, tree_change& one, std::size_t place) {
    if (is_the_servers_own(one.path)) {
        return failure(errc::invalid, one.path);
    }
    const auto at = nodes_.find(one.path);
    if (at == nodes_.end()) {
        return failure(errc::not_found, one.path);
    }
    node& target = at->second;
    if (one.version != zookeeper::any_version && one.version != target.version) {
        return failure(errc::version_conflict, one.path);
    }
    if (!target.children.empty()) {
        return failure(errc::not_empty, one.path);
    }
    node& parent = *find_mutable(parent_of(one.path));
    one.ephemeral_owner = target.ephemeral_owner;
    one.stat = target.stat();
    undo_.push_back({.place = place, .parent_pzxid = parent.pzxid, .removed = std::move(target)});
    parent.children.erase(parent.children.find(last_part_of(one.path)));
    parent.pzxid = zxid;
    nodes_.erase(at);
    return {};
}

result<void> memory_tree::apply_one(std::int64_t zxid, tree_change& one, std::size_t place) {
    if (one.what == kind::create) {
        return create(zxid, one, place);
    }
    if (one.what == kind::remove) {
        return remove(zxid, one, place);
    }
    node* target = find_mutable(one.path);
    if (target == nullptr) {
        return failure(errc::not_found, one.path);
    }
    if (one.version != zookeeper::any_version && one.version != target->version) {
        return failure(errc::version_conflict, one.path);
    }
    if (one.what == kind::set) {
        undo_.push_back({place, std::move(target->data), target->version, target->mzxid, target->mtime});
        target->data = one.data;
        target->version += 1;
        target->mzxid = zxid;
        target->mtime = when_;
    }
    one.ephemeral_owner = target->ephemeral_owner;
    one.stat = target->stat();
    return {};
}

void memory_tree::take_back(undo_step& step, const tree_change& change) {
    if (change.what == kind::set) {
        node& target = *find_mutable(change.path);
        target.data = std::move(step.data);
        target.version = step.version;
        target.mzxid = step.mzxid;
        target.mtime = step.mtime;
        return;
    }
    node* parent = find_mutable(parent_of(change.path));
    PVC_ASSERT(parent != nullptr);
    parent->pzxid = step.parent_pzxid;
    if (change.what == kind::create) {
        nodes_.erase(change.path);
        parent->children.erase(parent->children.find(last_part_of(change.path)));
        parent->creations -= 1;
    } else {
        parent->children.emplace(last_part_of(change.path));
        nodes_.emplace(change.path, *std::move(step.removed));
    }
}

result<void> memory_tree::apply(std::int64_t zxid, std::chrono::milliseconds when, std::vector<tree_change>& writes) {
    undo_.clear();
    when_ = first_moment + when;
    zxid_ = zxid;  // a refused transaction has a number too
    for (std::size_t place = 0; place < writes.size(); ++place) {
        auto done = apply_one(zxid, writes[place], place);
        if (!done) {
            for (auto step = undo_.rbegin(); step != undo_.rend(); ++step) {
                take_back(*step, writes[step->place]);
            }
            return done;
        }
    }
    return {};
}

std::map<std::string, std::string> memory_tree::dump() const {
    std::map<std::string, std::string> out;
    for (const auto& [path, one] : nodes_) {
        if (path != "/" && path != "/zookeeper" && !path.starts_with("/zookeeper/")) {
            out.emplace(path, one.data);
        }
    }
    return out;
}

}  // namespace pvc::sim
