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

result<tree_change> memory_tree::create(std::int64_t zxid, const tree_write& one, std::vector<undo_step>& undo) {
    node* parent = find_mutable(parent_of(one.path));
    if (parent == nullptr) {
        return failure(errc::not_found, one.path, "no parent");
    }
    const std::string path = one.is_sequential ? with_sequence(one.path, parent->creations) : one.path;
    if (find(path) != nullptr) {
        return failure(errc::already_exists, one.path);
    }
    if (parent->ephemeral_owner != 0) {
        return failure(errc::invalid, one.path, "an ephemeral node has no children");
    }
    undo.push_back({kind::create, path, {}, parent->pzxid});
    parent->children.emplace(last_part_of(path));
    parent->creations += 1;
    parent->pzxid = zxid;
    node fresh;
    fresh.data = one.data;
    fresh.czxid = fresh.mzxid = fresh.pzxid = zxid;
    fresh.ephemeral_owner = one.ephemeral_owner;
    tree_change change{kind::create, path, one.data, one.ephemeral_owner, fresh.stat()};
    nodes_.emplace(path, std::move(fresh));
    return change;
}

result<tree_change> memory_tree::remove(std::int64_t zxid, const tree_write& one, std::vector<undo_step>& undo) {
    if (is_the_servers_own(one.path)) {
        return failure(errc::invalid, one.path);
    }
    node* target = find_mutable(one.path);
    if (target == nullptr) {
        return failure(errc::not_found, one.path);
    }
    if (one.version != zookeeper::any_version && one.version != target->version) {
        return failure(errc::version_conflict, one.path);
    }
    if (!target->children.empty()) {
        return failure(errc::not_empty, one.path);
    }
    node& parent = *find_mutable(parent_of(one.path));
    tree_change change{kind::remove, one.path, {}, target->ephemeral_owner, target->stat()};
    undo.push_back({kind::remove, one.path, *target, parent.pzxid});
    parent.children.erase(parent.children.find(last_part_of(one.path)));
    parent.pzxid = zxid;
    nodes_.erase(one.path);
    return change;
}

result<tree_change> memory_tree::apply_one(std::int64_t zxid, const tree_write& one, std::vector<undo_step>& undo) {
    if (one.what == kind::create) {
        return create(zxid, one, undo);
    }
    if (one.what == kind::remove) {
        return remove(zxid, one, undo);
    }
    node* target = find_mutable(one.path);
    if (target == nullptr) {
        return failure(errc::not_found, one.path);
    }
    if (one.version != zookeeper::any_version && one.version != target->version) {
        return failure(errc::version_conflict, one.path);
    }
    if (one.what == kind::set) {
        node was;
        was.data = std::move(target->data);
        was.version = target->version;
        was.mzxid = target->mzxid;
        undo.push_back({kind::set, one.path, std::move(was), 0});
        target->data = one.data;
        target->version += 1;
        target->mzxid = zxid;
    }
    return tree_change{one.what, one.path, one.data, target->ephemeral_owner, target->stat()};
}

void memory_tree::take_back(const undo_step& step) {
    node* parent = find_mutable(parent_of(step.path));
    PVC_ASSERT(parent != nullptr);
    if (step.what == kind::create) {
        nodes_.erase(step.path);
        parent->children.erase(parent->children.find(last_part_of(step.path)));
        parent->creations -= 1;
        parent->pzxid = step.parent_pzxid;
    } else if (step.what == kind::remove) {
        parent->children.emplace(last_part_of(step.path));
        parent->pzxid = step.parent_pzxid;
        nodes_.emplace(step.path, step.was);
    } else {
        node& target = *find_mutable(step.path);
        target.data = step.was.data;
        target.version = step.was.version;
        target.mzxid = step.was.mzxid;
    }
}

result<std::vector<tree_change>> memory_tree::apply(std::int64_t zxid, const std::vector<tree_write>& writes) {
    std::vector<undo_step> undo;
    std::vector<tree_change> changes;
    changes.reserve(writes.size());
    for (const auto& one : writes) {
        auto done = apply_one(zxid, one, undo);
        if (!done) {
            for (auto step = undo.rbegin(); step != undo.rend(); ++step) {
                take_back(*step);
            }
            zxid_ = zxid;  // a refused transaction has a number too
            return done.error();
        }
        changes.push_back(*std::move(done));
    }
    zxid_ = zxid;
    return changes;
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
